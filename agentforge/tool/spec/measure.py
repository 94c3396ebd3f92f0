"""How large a compiled schema is, in what strict modes limit: for one schema, and for all of a request."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from agentforge.tool.spec.subset import SubsetLimits
from agentforge.tool.spec.walk import resolve_reference, subschemas

__all__ = ("SchemaSize", "beyond_limits", "beyond_request_limits", "size_of")


@dataclass(frozen=True, slots=True)
class SchemaSize:
    """What `SubsetLimits` counts, in one schema. Definitions are counted once, however often they are used; a level
    deep they are where they are used."""

    levels: int = 0
    properties: int = 0
    enum_values: int = 0
    characters: int = 0
    #: Values and characters of each enum of texts.
    enums: tuple[tuple[int, int], ...] = ()
    optionals: int = 0
    unions: int = 0


def size_of(schema: Mapping[str, Any]) -> SchemaSize:
    """The size of a compiled schema."""
    properties = values = characters = optionals = unions = 0
    enums: list[tuple[int, int]] = []
    for node in _nodes(schema):
        named = node.get("properties") or {}
        properties += len(named)
        optionals += len(named.keys() - set(node.get("required", ())))
        unions += sum("anyOf" in each or isinstance(each.get("type"), list) for each in named.values())
        characters += sum(map(len, named)) + sum(map(len, node.get("$defs") or ()))
        listed = node.get("enum", [node["const"]] if "const" in node else ())
        texts = [value if isinstance(value, str) else str(value) for value in listed]
        characters += sum(map(len, texts))
        values += len(node.get("enum", ()))
        if listed and isinstance(listed[0], str):
            enums.append((len(texts), sum(map(len, texts))))
    return SchemaSize(_levels(schema), properties, values, characters, tuple(enums), optionals, unions)


def beyond_limits(size: SchemaSize, limits: SubsetLimits) -> Iterator[str]:
    """What is too large, in words."""
    for found, most, what in (
        (size.properties, limits.properties, "properties"),
        (size.levels, limits.levels, "levels of objects"),
        (size.enum_values, limits.enum_values, "enum values"),
        (size.characters, limits.characters, "characters of names and values"),
        (size.optionals, limits.optionals, "optional properties"),
        (size.unions, limits.unions, "properties of several types"),
    ):
        if most is not None and found > most:
            yield f"{found:,} {what}, at most {most:,} are allowed"
    for values, characters in size.enums:
        if limits.long_enum is not None and values > limits.long_enum[0] and characters > limits.long_enum[1]:
            yield (
                f"an enum of {values:,} values with {characters:,} characters, at most {limits.long_enum[1]:,} are "
                f"allowed beyond {limits.long_enum[0]:,} values"
            )


def beyond_request_limits(sizes: Iterable[SchemaSize], limits: SubsetLimits) -> str | None:
    """What of all strict schemas of one request together is too much; ``None`` where they fit.

    >>> beyond_request_limits([SchemaSize(optionals=9)] * 3, SubsetLimits(optionals=24))
    '27 optional properties in all strict schemas, at most 24 are allowed'
    """
    listed = list(sizes)
    for found, most, what in (
        (len(listed), limits.tools, "strict tools"),
        (sum(size.optionals for size in listed), limits.optionals, "optional properties in all strict schemas"),
        (sum(size.unions for size in listed), limits.unions, "properties of several types in all strict schemas"),
    ):
        if most is not None and found > most:
            return f"{found:,} {what}, at most {most:,} are allowed"
    return None


def _nodes(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    left = [schema]
    while left:
        node = left.pop()
        yield node
        left.extend(inner for _, inner in subschemas(node))


def _levels(schema: Mapping[str, Any]) -> int:
    """How many objects are inside each other, at most, with each definition entered once on a way.

    Definitions that lead to each other are one group, of which all levels count: no way through it has more.
    """
    own: dict[str, int] = {}
    uses: dict[str, dict[str, int]] = {}

    def look(node: Mapping[str, Any], level: int, name: str) -> None:
        level += "properties" in node
        own[name] = max(own[name], level)
        reference = node.get("$ref")
        if isinstance(reference, str):
            uses[name][reference] = max(uses[name].get(reference, 0), level)
        for steps, inner in subschemas(node):
            if steps[0] != "$defs":
                look(inner, level, name)

    left = ["#"]
    while left:
        name = left.pop()
        target = resolve_reference(schema, name)
        if name in own or not isinstance(target, Mapping):
            continue
        own[name], uses[name] = 0, {}
        look(target, 0, name)
        left.extend(uses[name])
    return _longest(own, uses)


def _longest(own: Mapping[str, int], uses: Mapping[str, Mapping[str, int]]) -> int:
    below: dict[str, int] = {}
    for group in _groups(uses):
        members = set(group)
        if len(group) == 1 and group[0] not in uses.get(group[0], ()):
            name = group[0]
            found = [level + below.get(other, 0) for other, level in uses[name].items() if other in uses]
            below[name] = max([own[name], *found])
            continue
        whole = sum(own[name] for name in group)
        outside = [below[other] for name in group for other in uses[name] if other in uses and other not in members]
        below.update(dict.fromkeys(group, whole + max([0, *outside])))
    return below.get("#", 0)


def _groups(uses: Mapping[str, Mapping[str, int]]) -> list[list[str]]:
    """The definitions that lead to each other, together; those that a group leads to come before it."""
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []
    work: list[tuple[str, Iterator[str]]] = []

    def enter(name: str) -> None:
        order[name] = low[name] = len(order)
        stack.append(name)
        work.append((name, iter([other for other in uses[name] if other in uses])))

    for start in uses:
        if start not in order:
            enter(start)
        while work:
            name, others = work[-1]
            other = next(others, None)
            if other is None:
                work.pop()
                if work:
                    low[work[-1][0]] = min(low[work[-1][0]], low[name])
                if low[name] == order[name]:
                    at = stack.index(name)
                    found.append(stack[at:])
                    del stack[at:]
            elif other not in order:
                enter(other)
            elif other in stack:
                low[name] = min(low[name], order[other])
    return found
