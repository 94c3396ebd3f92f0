"""Exact coercion by schema: a parsed JSON value is brought into the shape that a JSON Schema asks for, or left alone.

Only what loses nothing is done (``2.0`` to 2, and where allowed ``"2"`` to 2); deciding whether the outcome is valid
is the validator's part. A value that needs no change is returned as the same object.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.tool.spec.coercion import number_from_text
from agentforge.tool.spec.walk import resolve_reference

__all__ = ("Reshaper",)

_DEPTH = 200
_NUMBERS = frozenset({"integer", "number"})


class Reshaper:
    """Reshapes values by ``schema``. ``text_to_number`` reads numbers from texts where only a number will do;
    ``drop_nulls`` leaves out nulls of optional properties that cannot be null."""

    __slots__ = ("_drop_nulls", "_root", "_text_to_number")

    def __init__(self, schema: Mapping[str, Any], *, text_to_number: bool, drop_nulls: bool) -> None:
        self._root = schema
        self._text_to_number = text_to_number
        self._drop_nulls = drop_nulls

    def reshape(self, value: Any) -> Any:
        """The value in shape; the same object when nothing was to be done."""
        return self._shape(value, self._root, 0)

    def _shape(self, value: Any, schema: Any, depth: int) -> Any:
        schema = self._target(schema)
        if schema is None or depth > _DEPTH:
            return value
        if isinstance(value, dict):
            value = self._object(value, schema, depth)
        elif isinstance(value, list):
            value = self._list(value, schema, depth)
        elif isinstance(value, (float, str)):
            value = self._number(value, self._types(schema, 0))
        for part in schema.get("allOf", ()):
            value = self._shape(value, part, depth + 1)
        branch = self._branch(value, schema)
        return value if branch is None else self._shape(value, branch, depth + 1)

    def _target(self, schema: Any) -> Mapping[str, Any] | None:
        """The schema behind references; what stands beside one (a description) decides nothing here."""
        for _ in range(_DEPTH):
            if not isinstance(schema, Mapping):
                return None
            reference = schema.get("$ref")
            if not isinstance(reference, str):
                return schema
            schema = resolve_reference(self._root, reference)
        return None

    def _object(self, value: dict[str, Any], schema: Mapping[str, Any], depth: int) -> dict[str, Any]:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        rest = schema.get("additionalProperties")
        required = schema.get("required") or ()
        changed: dict[str, Any] | None = None
        for key, inner in value.items():
            declared = properties.get(key, rest)
            if inner is None and self._drop_nulls and key in properties and key not in required:
                types = self._types(declared, 0)
                if types and "null" not in types:
                    changed = dict(value) if changed is None else changed
                    del changed[key]
                continue
            shaped = self._shape(inner, declared, depth + 1)
            if shaped is not inner:
                changed = dict(value) if changed is None else changed
                changed[key] = shaped
        return value if changed is None else changed

    def _list(self, value: list[Any], schema: Mapping[str, Any], depth: int) -> list[Any]:
        first = schema.get("prefixItems")
        first = first if isinstance(first, (list, tuple)) else ()
        rest = schema.get("items")
        shaped = [
            self._shape(inner, first[index] if index < len(first) else rest, depth + 1)
            for index, inner in enumerate(value)
        ]
        return shaped if any(new is not old for new, old in zip(shaped, value, strict=True)) else value

    def _number(self, value: float | str, types: frozenset[str]) -> Any:
        if isinstance(value, float):
            return int(value) if "integer" in types and "number" not in types and value.is_integer() else value
        if self._text_to_number and types & _NUMBERS and "string" not in types:
            found = number_from_text(value, integer="number" not in types)
            return value if found is None else found
        return value

    def _types(self, schema: Any, depth: int) -> frozenset[str]:
        """The JSON types a schema takes, over references and alternatives; empty when it does not say."""
        schema = self._target(schema)
        if schema is None or depth > _DEPTH:
            return frozenset()
        kind = schema.get("type")
        if isinstance(kind, str):
            return frozenset((kind,))
        if isinstance(kind, (list, tuple)):
            return frozenset(each for each in kind if isinstance(each, str))
        found: frozenset[str] = frozenset()
        for part in (*schema.get("anyOf", ()), *schema.get("oneOf", ())):
            types = self._types(part, depth + 1)
            if not types:
                return frozenset()
            found |= types
        return found

    def _branch(self, value: Any, schema: Mapping[str, Any]) -> Any:
        """The one alternative that takes objects (or lists), when the value is one; with several none is chosen."""
        wanted = "object" if isinstance(value, dict) else "array" if isinstance(value, list) else None
        if wanted is None:
            return None
        parts = (*schema.get("anyOf", ()), *schema.get("oneOf", ()))
        fitting = [part for part in parts if wanted in self._types(part, 0)]
        return fitting[0] if len(fitting) == 1 else None
