"""The order in which beans are built, and the circles that make one impossible."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

__all__ = ("build_order", "circles")


def build_order(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Every bean after those it needs, otherwise in the given order; the graph must have no circle.

    >>> build_order({"assistant": ["model", "tools"], "model": [], "tools": ["model"]})
    ('model', 'tools', 'assistant')
    """
    done: dict[str, None] = {}
    for start in needs:
        # By hand, not by recursion: a chain of beans may be longer than Python's stack.
        waiting = [(start, iter(needs[start]))]
        while waiting:
            current, rest = waiting[-1]
            following = next((each for each in rest if each in needs and each not in done), None)
            if following is not None:
                waiting.append((following, iter(needs[following])))
            else:
                waiting.pop()
                done[current] = None
    return tuple(done)


def circles(needs: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, ...]]:
    """Ways from a bean back to itself, the bean at both ends; at least one of every knot of circles.

    >>> list(circles({"a": ["b"], "b": ["c"], "c": ["b"]}))
    [('b', 'c', 'b')]
    """
    done: set[str] = set()
    for start in needs:
        if start in done:
            continue
        path = [start]
        waiting = [iter(needs[start])]
        while waiting:
            following = next((each for each in waiting[-1] if each in needs and each not in done), None)
            if following is None:
                waiting.pop()
                done.add(path.pop())
            elif following in path:
                yield (*path[path.index(following) :], following)
            else:
                path.append(following)
                waiting.append(iter(needs[following]))
