"""What keeps a schema, as it stands, out of the strict subset that holds for every provider with a strict mode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.tool.spec.measure import beyond_limits, size_of
from agentforge.tool.spec.subset import PORTABLE
from agentforge.tool.spec.walk import subschemas

__all__ = ("check_portable_strict",)

_KNOWN = frozenset({"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "description"})
_SAYS_NOTHING = frozenset({"title", "$schema", "$comment"})


def check_portable_strict(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """What keeps ``schema`` out of the subset `PORTABLE`; empty when it is inside.

    `compile_schema` with that subset brings a schema there, where it can be brought.

    >>> check_portable_strict({"type": "object", "properties": {}, "required": [], "additionalProperties": False})
    ()
    """
    found: list[str] = []
    if schema.get("type") != "object":
        found.append("the root must be an object")
    if "anyOf" in schema:
        found.append("the root must not be a choice (anyOf)")
    left: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), schema)]
    while left:
        path, node = left.pop(0)
        _check(node, path, found)
        left.extend(((*path, *steps), inner) for steps, inner in subschemas(node))
    found.extend(f"the root: {text}" for text in beyond_limits(size_of(schema), PORTABLE.limits))
    return tuple(dict.fromkeys(found))


def _check(node: Mapping[str, Any], path: tuple[str, ...], found: list[str]) -> None:
    place = "/" + "/".join(path) if path else "the root"
    found.extend(f"{place}: {key} is not portable" for key in node if key not in _KNOWN | _SAYS_NOTHING)
    kind = node.get("type")
    kinds = [kind] if isinstance(kind, str) else list(kind) if isinstance(kind, (list, tuple)) else []
    if len(kinds) > 1 and {"object", "array"} & {*kinds}:
        found.append(f"{place}: a list of types with object or array in it is not portable")
    if "array" in kinds and not node.get("items"):
        found.append(f"{place}: a list needs a type for its items")
    properties = node.get("properties")
    if "object" not in kinds and not isinstance(properties, Mapping):
        if not kinds and not {"anyOf", "enum"} & node.keys():
            found.append(f"{place}: any value is allowed")
        return
    names = list(properties) if isinstance(properties, Mapping) else []
    if node.get("additionalProperties") is not False:
        found.append(f"{place}: additionalProperties must be false")
    missing = [name for name in names if name not in (node.get("required") or ())]
    if missing:
        found.append(f"{place}: not required: {', '.join(map(str, missing))}")
    if path and not names:
        found.append(f"{place}: an object without properties is not portable")
