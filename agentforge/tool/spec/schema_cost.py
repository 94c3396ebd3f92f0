"""What checking arguments against a stranger's schema may cost, found out before it is paid.

A schema of a kilobyte can have each of its parts refer twice to the next one; whoever checks a value against it is at
it for years, and nothing else runs meanwhile (threat S16). So the steps are counted first, without judging anything,
and no more of them than are allowed. Schemas without references cannot do that, and are not counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentforge.errors import ToolArgumentsError

__all__ = ("check_cost", "has_references", "is_cheap")

_STEPS = 30_000  # a tenth of a second
_STEPS_EACH = 20  # for each value in the arguments
_LISTS = ("allOf", "anyOf", "oneOf")
_ONES = ("not", "if", "then", "else")
_OF_VALUES = ("additionalProperties", "unevaluatedProperties", "propertyNames")
_OF_ITEMS = ("items", "contains", "additionalItems", "unevaluatedItems")


def check_cost(schema: Mapping[str, Any], arguments: Mapping[str, object], tool: str) -> None:
    """Raise `ToolArgumentsError` for arguments that take too long to check."""
    if not is_cheap(schema, arguments, _STEPS + _STEPS_EACH * _count(arguments)):
        raise ToolArgumentsError(
            f"the arguments of tool {tool!r} are too deep or too many for its schema",
            tool=tool,
            next_step="Call the tool again with simpler arguments.",
        )


def has_references(schema: object) -> bool:
    """Whether any part of it refers to another one."""
    level = [schema]
    while level:
        each = level.pop()
        if isinstance(each, Mapping):
            if "$ref" in each or "$dynamicRef" in each:
                return True
            level.extend(each.values())
        elif isinstance(each, list):
            level.extend(each)
    return False


def is_cheap(schema: Mapping[str, Any], value: object, steps: int) -> bool:
    """Whether checking the value takes no more than so many steps.

    >>> twice = {"anyOf": [{"$ref": "#/$defs/b"}, {"$ref": "#/$defs/b"}], "$defs": {"b": {"type": "string"}}}
    >>> is_cheap(twice, "x", 5), is_cheap(twice, "x", 4)
    (True, False)
    """
    todo: list[tuple[object, object]] = [(schema, value)]
    while todo:
        part, at = todo.pop()
        if isinstance(part, Mapping):
            steps -= 1
            if steps < 0:
                return False
            todo.extend((each, at) for each in _in_place(schema, part))
            if isinstance(at, Mapping):
                todo.extend(_of_members(part, at))
            elif isinstance(at, list):
                todo.extend(_of_items(part, at))
    return True


def _count(value: object) -> int:
    count, todo = 0, [value]
    while todo:
        each = todo.pop()
        count += 1
        if isinstance(each, Mapping):
            todo.extend(each.values())
        elif isinstance(each, list):
            todo.extend(each)
    return count


def _in_place(schema: Mapping[str, Any], part: Mapping[str, Any]) -> Iterator[object]:
    """What a value is checked against beside the part itself."""
    for key in ("$ref", "$dynamicRef"):
        if isinstance(reference := part.get(key), str):
            yield _target(schema, reference)
    for key in _LISTS:
        if isinstance(several := part.get(key), list):
            yield from several
    for key in _ONES:
        if key in part:
            yield part[key]
    for key in ("dependentSchemas", "dependencies"):
        if isinstance(named := part.get(key), Mapping):
            yield from named.values()


def _of_members(part: Mapping[str, Any], value: Mapping[str, object]) -> Iterator[tuple[object, object]]:
    if isinstance(named := part.get("properties"), Mapping):
        yield from ((named[name], inner) for name, inner in value.items() if name in named)
    others = [part[key] for key in _OF_VALUES if key in part]
    if isinstance(patterns := part.get("patternProperties"), Mapping):
        others += patterns.values()
    for each in others:
        yield from ((each, inner) for inner in value.values())


def _of_items(part: Mapping[str, Any], value: list[object]) -> Iterator[tuple[object, object]]:
    for key in ("prefixItems", "items"):
        if isinstance(several := part.get(key), list):
            yield from zip(several, value, strict=False)
    for key in _OF_ITEMS:
        if isinstance(part.get(key), Mapping):
            yield from ((part[key], inner) for inner in value)


def _target(schema: Mapping[str, Any], reference: str) -> object:
    """What a JSON pointer (``#/$defs/a``) leads to; references of other kinds are refused before."""
    node: object = schema
    for step in reference.removeprefix("#").split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if isinstance(node, Mapping):
            node = node.get(name)
        elif isinstance(node, list) and name.isdecimal() and int(name) < len(node):
            node = node[int(name)]
        else:
            return None
    return node
