"""Where a key belongs, and where a value came from, when that is not the place at which the fault is found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from agentforge.config.diagnostic import did_you_mean, nearest
from agentforge.config.nodes import MappingNode, Mark, ScalarNode

__all__ = ("blamed_mark", "keys_from_outside", "meant_key")

_QUOTED = re.compile(r"'([^'\n]+)'")


def meant_key(name: str, known: Sequence[str], inside: Mapping[str, Sequence[str]]) -> str:
    """The next step for a key that is none of ``known``; ``inside`` are the keys of settings that stand in a mapping
    below one of these, each with the names of the mappings.

    >>> meant_key("temperature", ["model", "defaults"], {"temperature": ["defaults"]})
    "Write it inside of 'defaults': 'defaults: {temperature: …}'."
    """
    near = nearest(name, [*known, *inside])
    if near is None or near in known:
        return did_you_mean(name, known)
    ways = " or ".join(f"'{key}: {{{near}: …}}'" for key in inside[near][:2])
    if near == name:
        return f"Write it inside of {' or '.join(map(repr, inside[near][:2]))}: {ways}."
    return f"Did you mean '{near}'? Write {ways}."


def blamed_mark(node: MappingNode, message: str, private: Iterable[str]) -> Mark | None:
    """The place of the one value of which a fault of the whole speaks: the message has the setting's name, and quotes
    its value or, of a mapping, a key in it. The settings that are ``private`` are not looked at."""
    quoted = set(_QUOTED.findall(message))
    found: list[Mark] = []
    for key, entry in node.entries.items():
        if key in private or not re.search(rf"\b{re.escape(key)}\b", message):
            continue
        inside = entry.node.entries if isinstance(entry.node, MappingNode) else {}
        found += [inner.key_mark for name, inner in inside.items() if name in quoted]
        values = [entry.node, *(inner.node for name, inner in inside.items() if name not in quoted)]
        found += [each.mark for each in values if isinstance(each, ScalarNode) and each.text in quoted]
    return found[0] if len(found) == 1 else None


def keys_from_outside(node: MappingNode) -> list[tuple[str, Mark]]:
    """The settings, in whole or in part, that the environment or the command line gave, each with its place."""
    found: list[tuple[str, Mark]] = []
    for key, entry in node.entries.items():
        inside = entry.node.entries.values() if isinstance(entry.node, MappingNode) else ()
        marks = [each.mark for each in (entry.node, *(inner.node for inner in inside)) if each.layer != "python"]
        found += [(key, mark) for mark in dict.fromkeys(marks) if not mark.in_file]
    return found
