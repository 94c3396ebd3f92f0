"""The strict subset that holds for every provider with a strict mode: seed B's table, as a check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.tool.spec.walk import resolve_reference, subschemas

__all__ = ("check_portable_strict",)

_LEVELS, _PROPERTIES = 5, 100
_REFUSED = ("oneOf", "allOf", "not", "if", "then", "else", "prefixItems")
_UNCHECKED = ("pattern", "format", "minLength", "maxLength", "minimum", "maximum", "minItems", "maxItems")


def check_portable_strict(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """What keeps ``schema`` out of the subset that all strict modes share; empty when it is inside.

    >>> check_portable_strict({"type": "object", "properties": {}, "required": [], "additionalProperties": False})
    ()
    """
    found: list[str] = []
    if schema.get("type") != "object":
        found.append("the root must be an object")
    if "anyOf" in schema:
        found.append("the root must not be a choice (anyOf)")
    total = [0]
    _check(schema, schema, (), 0, found, total, frozenset())
    if total[0] > _PROPERTIES:
        found.append(f"{total[0]} properties, at most {_PROPERTIES} are portable")
    return tuple(dict.fromkeys(found))


def _check(
    root: Mapping[str, Any],
    node: Mapping[str, Any],
    path: tuple[str, ...],
    level: int,
    found: list[str],
    total: list[int],
    inside: frozenset[str],
) -> None:
    place = "/" + "/".join(path) if path else "the root"
    reference = node.get("$ref")
    if isinstance(reference, str):
        target = resolve_reference(root, reference)
        if not isinstance(target, Mapping):
            found.append(f"{place}: {reference} is not inside the schema")
        elif reference not in inside:
            _check(root, target, path, level, found, total, inside | {reference})
        return
    found.extend(f"{place}: {key} is not portable" for key in (*_REFUSED, *_UNCHECKED) if key in node)
    properties = node.get("properties")
    kind = node.get("type")
    if kind == "object" or (isinstance(kind, (list, tuple)) and "object" in kind) or isinstance(properties, Mapping):
        level += 1
        names = list(properties) if isinstance(properties, Mapping) else []
        total[0] += len(names)
        if node.get("additionalProperties") is not False:
            found.append(f"{place}: additionalProperties must be false")
        missing = [name for name in names if name not in (node.get("required") or ())]
        if missing:
            found.append(f"{place}: not required: {', '.join(map(str, missing))}")
        if level > _LEVELS:
            found.append(f"{place}: more than {_LEVELS} levels of objects")
            return
    for steps, inner in subschemas(node):
        if steps[0] not in ("$defs", "definitions"):
            _check(root, inner, (*path, *steps), level, found, total, inside)
