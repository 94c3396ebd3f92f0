"""Where each advisor stands: the list's order first, then what contributed advisors ask for, with the reason told.

The list in the file is the order, outer first. An advisor that code or a plugin adds stands where its ``order``
(below 0 outside the list, from 0 inside it) or its constraints put it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from agentforge.advisor.advisor import Advisor
from agentforge.advisor.chain import Link
from agentforge.advisor.faults import AdvisorOrderError

__all__ = ("Placement", "arranged", "calls_tools", "name_of")


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an advisor wants to stand; each is also read as an attribute of the advisor of this name.

    ``order``: lower is outer. ``before`` and ``after``: names of advisors that must stand further in, or further out;
    those that are not in the chain do not matter. ``outermost`` and ``innermost``: at an end; of several that say so,
    their ``order`` decides.
    """

    order: int = 0
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    outermost: bool = False
    innermost: bool = False

    @classmethod
    def of(cls, advisor: Advisor) -> Placement:
        """What the advisor says of itself. Raises `AdvisorOrderError` for what contradicts itself."""
        found = cls(
            order=_whole(advisor, "order"),
            before=_names(advisor, "before"),
            after=_names(advisor, "after"),
            outermost=bool(getattr(advisor, "outermost", False)),
            innermost=bool(getattr(advisor, "innermost", False)),
        )
        if found.outermost and found.innermost:
            raise AdvisorOrderError(f"the advisor {name_of(advisor)!r} wants to be both outermost and innermost")
        return found


@dataclass(frozen=True, slots=True)
class _Wish:
    """``outer`` stands outside ``inner``, and why."""

    outer: int
    inner: int
    why: str
    listed: bool = False


def name_of(advisor: Advisor) -> str:
    """The name an advisor goes by: its ``name``, else its class's in small letters without ``Advisor``.

    >>> class TenantFilterAdvisor:
    ...     async def advise(self, run, request, chain): ...
    >>> name_of(TenantFilterAdvisor())
    'tenant_filter'
    """
    given = getattr(advisor, "name", None)
    if isinstance(given, str) and given:
        return given
    words = type(advisor).__name__.removesuffix("Advisor") or type(advisor).__name__
    return "".join(f"_{sign.lower()}" if sign.isupper() else sign for sign in words).strip("_")


def calls_tools(advisor: Advisor) -> bool:
    """Whether it is a tool advisor, of which a chain has one."""
    return bool(getattr(advisor, "calls_tools", False))


def arranged(listed: Sequence[Advisor], added: Iterable[Advisor] = ()) -> tuple[Link, ...]:
    """The chain of ``listed`` advisors, whose order stays, with the ``added`` ones in their places.

    At most one of them may run tools: `ToolCallingAdvisor`, or whatever says ``calls_tools = True``.

    Raises `AdvisorOrderError` for what is no advisor, for two tool advisors, and for wishes that contradict the list
    or one another, with both sides.
    """
    advisors = [*listed, *added]
    for each in advisors:
        if isinstance(each, type) or not callable(getattr(each, "advise", None)):
            what = each.__name__ if isinstance(each, type) else type(each).__name__
            step = f"Give an object: {what}(…)." if isinstance(each, type) else "It has no method 'advise'."
            raise AdvisorOrderError(f"{what} is no advisor", next_step=step)
    _refuse_second(advisors)
    names = _distinct_names(advisors)
    places = [Placement.of(each) for each in advisors]
    wishes = list(_wishes(names, places, len(listed)))
    order = _sorted(names, places, wishes, len(listed))
    return tuple(Link(advisors[at], names[at], _reason(at, names, places, len(listed))) for at in order)


def _wishes(names: list[str], places: list[Placement], listed: int) -> Iterator[_Wish]:
    for at in range(1, listed):
        yield _listed(names, at - 1, at)
    for at, place in enumerate(places):
        for other in range(len(names)):
            if other == at:
                continue
            if _is(names[other], place.before):
                yield _Wish(at, other, f"{names[at]!r} wants to stand before {names[other]!r}")
            if _is(names[other], place.after):
                yield _Wish(other, at, f"{names[at]!r} wants to stand after {names[other]!r}")
            if place.outermost and _outranks(at, other, places, outer=True):
                yield _Wish(at, other, f"{names[at]!r} wants to be outermost")
            if place.innermost and _outranks(at, other, places, outer=False):
                yield _Wish(other, at, f"{names[at]!r} wants to be innermost")
    yield from _by_order(names, places, listed)


def _by_order(names: list[str], places: list[Placement], listed: int) -> Iterator[_Wish]:
    """Added advisors that name nothing stand outside the list with an order below 0, else inside it."""
    for at in range(listed, len(names)):
        place = places[at]
        if place.outermost or place.innermost or place.before or place.after:
            continue
        for other in range(listed):
            if places[other].outermost or places[other].innermost:
                continue
            if place.order < 0:
                yield _Wish(at, other, f"{names[at]!r} has the order {place.order}, which is outside the list")
            else:
                yield _Wish(other, at, f"{names[at]!r} has the order {place.order}, which is inside the list")


def _outranks(at: int, other: int, places: list[Placement], *, outer: bool) -> bool:
    """Whether of two that want the same end ``at`` gets it."""
    rival = places[other].outermost if outer else places[other].innermost
    if not rival:
        return True
    mine, theirs = places[at].order, places[other].order
    return (mine, at) < (theirs, other) if outer else (mine, at) > (theirs, other)


def _sorted(names: list[str], places: list[Placement], wishes: list[_Wish], listed: int) -> list[int]:
    """Every advisor behind those that must stand outside it; free choices go by order, then as they were given."""
    left = set(range(len(names)))
    made: list[int] = []
    while left:
        held = {wish.inner for wish in wishes if wish.outer in left and wish.inner in left}
        free = sorted(left - held, key=lambda at: (0 if at < listed else places[at].order, at))
        if not free:
            raise _conflict(names, [wish for wish in wishes if wish.outer in left and wish.inner in left])
        made.append(free[0])
        left.remove(free[0])
    return made


def _listed(names: list[str], outer: int, inner: int) -> _Wish:
    return _Wish(outer, inner, f"{names[outer]!r} is listed before {names[inner]!r}", listed=True)


def _conflict(names: list[str], wishes: list[_Wish]) -> AdvisorOrderError:
    """A circle of wishes, with the words of each; a stretch of the list is told as one."""
    way: list[_Wish] = []
    at = next(wish.inner for wish in wishes)
    # Everything left has a wish behind it: going back from one to the next comes round.
    behind = {wish.inner: wish for wish in reversed(wishes)}
    seen: list[int] = []
    while at not in seen:
        seen.append(at)
        way.append(behind[at])
        at = behind[at].outer
    circle = way[seen.index(at) :][::-1]
    first = min(range(len(circle)), key=lambda each: circle[each].outer)
    told: list[_Wish] = []
    for wish in (*circle[first:], *circle[:first]):
        if wish.listed and told and told[-1].listed:
            told[-1] = _listed(names, told[-1].outer, wish.inner)
        else:
            told.append(wish)
    words = ", and ".join(wish.why for wish in told)
    return AdvisorOrderError(
        f"advisors cannot be put in an order: {words}",
        next_step="Change the list, or what one of them says of its place.",
    )


def _refuse_second(advisors: Sequence[Advisor]) -> None:
    found = [name_of(each) for each in advisors if calls_tools(each)]
    if len(found) > 1:
        raise AdvisorOrderError(
            f"a chain has one tool advisor at most, and these are {len(found)}: {', '.join(map(repr, found))}",
            next_step="Take all but one of them out of the list.",
        )


def _distinct_names(advisors: Sequence[Advisor]) -> list[str]:
    """Each advisor's name; the second of a name gets a number, so that every place can be told from every other."""
    made: list[str] = []
    for each in advisors:
        name, number = name_of(each), 1
        while name in made:
            number += 1
            name = f"{name_of(each)}_{number}"
        made.append(name)
    return made


def _reason(at: int, names: list[str], places: list[Placement], listed: int) -> str:
    place = places[at]
    if at < listed:
        return f"place {at + 1} of the list"
    wants = []
    if place.outermost or place.innermost:
        wants.append("outermost" if place.outermost else "innermost")
    wants += [f"before {each!r}" for each in place.before if any(_is(name, (each,)) for name in names)]
    wants += [f"after {each!r}" for each in place.after if any(_is(name, (each,)) for name in names)]
    return f"added: {', '.join(wants)}" if wants else f"added with the order {place.order}"


def _is(name: str, wanted: tuple[str, ...]) -> bool:
    return name in wanted or re.sub(r"_\d+\Z", "", name) in wanted


def _whole(advisor: Advisor, name: str) -> int:
    value: Any = getattr(advisor, name, 0)
    if value is None:
        return 0
    if not isinstance(value, int) or isinstance(value, bool):
        raise AdvisorOrderError(f"{name!r} of the advisor {name_of(advisor)!r} is a whole number, not {value!r}")
    return value


def _names(advisor: Advisor, name: str) -> tuple[str, ...]:
    value: Any = getattr(advisor, name, ())
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, (tuple, list)) or not all(isinstance(each, str) for each in value):
        raise AdvisorOrderError(f"{name!r} of the advisor {name_of(advisor)!r} is a list of names, not {value!r}")
    return tuple(value)
