"""Two schemas that both hold of one value as one schema, wherever that says the same.

They come as *heads* (see `agentforge.tool.spec.heads`): without references, ``allOf`` and ``oneOf``. What both say in
ways that no single schema can say, such as two patterns, goes into ``LOST``, a list of keyword and value, for the
compiler to tell or to leave out with a notice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

__all__ = (
    "ANNOTATIONS",
    "LOST",
    "Head",
    "SchemaFaultError",
    "fits_type",
    "merge_plain",
    "same_value",
    "type_of",
    "types_of",
    "united",
    "values_of",
    "with_values",
)

Head: TypeAlias = dict[str, Any] | None
"""A head; ``None``: no value fits."""
LOST: Final = "\0lost"
"""The key of a head under which it lists what it could not carry; no JSON Schema has a keyword of that name."""
ANNOTATIONS = frozenset({"description", "default"})
"""What says something about a value without constraining it, as far as a model is told of it."""

_HIGHER = frozenset({"minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains"})
_LOWER = frozenset({"maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains"})
_OBJECT = ("properties", "patternProperties", "additionalProperties")
_LIST = ("items", "prefixItems")


class SchemaFaultError(Exception):
    """Why a schema has no strict form; ``code`` is stable."""

    def __init__(self, code: str, text: str) -> None:
        super().__init__(text)
        self.code = code


def merge_plain(a: dict[str, Any], b: dict[str, Any]) -> Head:
    """One head of two without alternatives; raises `SchemaFaultError` where there is none."""
    made = dict(a)
    for key, value in b.items():
        if key not in made:
            made[key] = value
        elif key not in _OBJECT and key not in _LIST and key not in ("type", "enum", "const"):
            made[key] = _both(key, made, value)
    if "type" in a and "type" in b:
        made["type"] = _common_types(a["type"], b["type"])
        if not made["type"]:
            return None
    first, second = values_of(a), values_of(b)
    if first is not None and second is not None:
        is_const = "const" in a or "const" in b
        made = with_values(made, [value for value in first if any(same_value(value, one) for one in second)], is_const)
    _merge_lists(made, a, b)
    if any(key in a for key in _OBJECT) and any(key in b for key in _OBJECT):
        _merge_objects(made, a, b)
    return _possible(made)


def united(heads: Sequence[dict[str, Any]], around: Mapping[str, Any]) -> Head:
    """One object that each of several takes: all their properties, of which those are required that all require, with
    the notes of ``around``; which belong together is told."""
    found: dict[str, list[Any]] = {}
    for head in heads:
        for name, inner in _named(head).items():
            known = found.setdefault(name, [])
            if inner not in known:
                known.append(inner)
    needed = [list(head.get("required", ())) for head in heads]
    common = [name for name in needed[0] if all(name in names for names in needed)] if needed else []
    sets = list(dict.fromkeys(" and ".join(name for name in names if name not in common) for names in needed))
    made: dict[str, Any] = {
        "type": ("object",),
        "properties": {name: each[0] if len(each) == 1 else {"anyOf": each} for name, each in found.items()},
        "required": common,
        **{key: around[key] for key in ANNOTATIONS if key in around},
    }
    if any(head.get("additionalProperties", False) is not False for head in heads):
        made["additionalProperties"] = True
    lost = [*around.get(LOST, ())]
    if len(sets) > 1:
        lost.append(("presence", "given must be " + " or ".join(names or "none of these" for names in sets)))
    return {**made, LOST: lost} if lost else made


def values_of(head: Mapping[str, Any]) -> list[Any] | None:
    """The values that an enum or a constant allows; ``None`` where neither is there."""
    found = list(head["enum"]) if isinstance(head.get("enum"), (list, tuple)) else None
    if "const" in head and (found is None or any(same_value(head["const"], one) for one in found)):
        return [head["const"]]
    return [] if "const" in head else found


def with_values(head: dict[str, Any], values: list[Any], is_const: bool) -> dict[str, Any]:
    """The head with these values allowed only."""
    rest = {key: value for key, value in head.items() if key not in ("enum", "const")}
    return {**rest, "const": values[0]} if is_const and len(values) == 1 else {**rest, "enum": values}


def types_of(head: Mapping[str, Any]) -> tuple[str, ...]:
    """The JSON types of the values that fit: as declared, else as its keywords let one guess."""
    values = values_of(head)
    declared: tuple[str, ...] = head.get("type", ())
    if values is not None:
        if not declared:
            return tuple(dict.fromkeys(type_of(value) for value in values))
        return tuple(kind for kind in declared if any(fits_type(value, kind) for value in values))
    if declared:
        return declared
    if any(key in head for key in _OBJECT):
        return ("object",)
    return ("array",) if any(key in head for key in _LIST) else ()


def fits_type(value: Any, kind: str) -> bool:
    """Whether a JSON value is of a JSON Schema type."""
    found = type_of(value)
    if kind == "integer":
        return found == "integer" or (found == "number" and float(value).is_integer())
    return found == kind or (kind == "number" and found == "integer")


def same_value(a: Any, b: Any) -> bool:
    """JSON's equality: 1 and 1.0 are one value, true and 1 are two."""
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, Mapping) and isinstance(b, Mapping):
        return a.keys() == b.keys() and all(same_value(a[key], b[key]) for key in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same_value(x, y) for x, y in zip(a, b, strict=True))
    return bool(a == b)


def type_of(value: Any) -> str:
    """The JSON type of a value, an integer apart from other numbers."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, int):
        return "integer"
    if isinstance(value, float):
        return "number"
    return "object" if isinstance(value, Mapping) else "array"


def _possible(head: dict[str, Any]) -> Head:
    """The head, or ``None`` where its values, types and bounds leave nothing."""
    values = values_of(head)
    if values is not None:
        kinds = head.get("type")
        if kinds is not None:
            kept = [value for value in values if any(fits_type(value, kind) for kind in kinds)]
            if len(kept) != len(values) or len(kept) == 0:
                head = with_values(head, kept, "const" in head)
            values = kept
        if not values:
            return None
    return head


def _common_types(a: tuple[str, ...], b: tuple[str, ...]) -> tuple[str, ...]:
    found = [kind for kind in a if kind in b or (kind == "integer" and "number" in b)]
    if "number" in a and "number" not in b and "integer" in b and "integer" not in found:
        found.append("integer")
    return tuple(found)


def _both(key: str, made: dict[str, Any], value: Any) -> Any:
    """What ``made`` and ``value`` say together for one keyword."""
    old = made[key]
    if key == LOST:
        return [*old, *value]
    if key == "required":
        return list(dict.fromkeys([*old, *value]))
    if key in ANNOTATIONS or same_value(old, value):
        return old
    numbers = _is_number(old) and _is_number(value)
    if key in _HIGHER and numbers:
        return max(old, value)
    if key in _LOWER and numbers:
        return min(old, value)
    if key == "uniqueItems":
        return old is True or value is True
    if key == "multipleOf" and isinstance(old, int) and isinstance(value, int) and old > 0 and value > 0:
        return math.lcm(old, value)
    made[LOST] = [*made.get(LOST, ()), (key, value)]
    return old


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _merge_lists(made: dict[str, Any], a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    if not (any(key in a for key in _LIST) and any(key in b for key in _LIST)):
        return
    if all(a.get(key) == b.get(key) for key in _LIST):
        return
    if "prefixItems" in a or "prefixItems" in b:
        raise SchemaFaultError("all_of", "allOf with lists of fixed places is not supported")
    made["items"] = _all(a["items"], b["items"])


def _merge_objects(made: dict[str, Any], a: Mapping[str, Any], b: Mapping[str, Any]) -> None:
    if "patternProperties" in a or "patternProperties" in b:
        raise SchemaFaultError("pattern_properties", "patternProperties is not supported")
    first, second = _named(a), _named(b)
    of_first: Callable[[str], Any] = lambda name: first.get(name, a.get("additionalProperties", True))  # noqa: E731
    of_second: Callable[[str], Any] = lambda name: second.get(name, b.get("additionalProperties", True))  # noqa: E731
    properties = {name: _all(of_first(name), of_second(name)) for name in dict.fromkeys([*first, *second])}
    made["properties"] = properties
    if "additionalProperties" in a or "additionalProperties" in b:
        made["additionalProperties"] = _all(a.get("additionalProperties", True), b.get("additionalProperties", True))


def _named(head: Mapping[str, Any]) -> Mapping[str, Any]:
    found = head.get("properties")
    return found if isinstance(found, Mapping) else {}


def _all(a: Any, b: Any) -> Any:
    """A schema that says what both say."""
    if a is False or b is False:
        return False
    if a is True or a == b:
        return b
    return a if b is True else {"allOf": [a, b]}
