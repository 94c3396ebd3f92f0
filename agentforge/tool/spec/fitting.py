"""Which alternative of a union a value is meant for, where several take objects.

Told by what tells alternatives apart: constants, keys and types. Bounds and patterns are the validator's part.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from agentforge.model.exact_number import RoundedFloat

if TYPE_CHECKING:
    from agentforge.tool.spec.reshaping import Reshaper

__all__ = ("Fitting", "KnownFits")

KnownFits: TypeAlias = dict[tuple[int, int, bool, bool], tuple[Any, bool]]
"""Answers by the ids of value and schema; the value is kept too, as an id is its own only while the object lives."""

_TYPES: Mapping[type, tuple[str, ...]] = {
    str: ("string",),
    bool: ("boolean",),
    int: ("integer", "number"),
    float: ("number",),
    RoundedFloat: ("number",),
    type(None): ("null",),
    dict: ("object",),
    list: ("array",),
}


class Fitting:
    """Answers for one value; every pair of part and schema is looked at once, so that nested unions stay cheap.

    ``known`` holds the answers while the value is reshaped.
    """

    __slots__ = ("_known", "_reshaper")

    def __init__(self, reshaper: Reshaper, known: KnownFits) -> None:
        self._reshaper = reshaper
        self._known = known

    def fits(self, value: Any, schema: Any, *, reshaped: bool, alone: bool = True) -> bool:
        """Whether ``value`` fits as it is, or with ``reshaped`` once it is in shape. An object of declared properties
        has no others, unless it says so or does not stand ``alone`` (a part of ``allOf``)."""
        schema = self._reshaper.target(schema)
        if schema is None:
            return True
        key = (id(value), id(schema), reshaped, alone)
        known = self._known.get(key)
        if known is None:
            self._known[key] = (value, False)  # a circle that takes no step into the value fits nothing
            known = self._known[key] = (value, self._look(value, schema, reshaped, alone))
        return known[1]

    def _look(self, value: Any, schema: Mapping[str, Any], reshaped: bool, alone: bool) -> bool:
        if "const" in schema and schema["const"] != value:
            return False
        if "enum" in schema and value not in schema["enum"]:
            return False
        if "type" in schema and not self._has_type(value, schema, reshaped):
            return False
        parts = schema.get("allOf", ())
        if not all(self.fits(value, part, reshaped=reshaped, alone=False) for part in parts):
            return False
        # Keys that are declared beside alternatives are declared for each of them.
        of_part = alone and not parts and "properties" not in schema
        for key in ("anyOf", "oneOf"):
            if key in schema and not any(
                self.fits(value, one, reshaped=reshaped, alone=of_part) for one in schema[key]
            ):
                return False
        if isinstance(value, dict):
            return self._has_keys(value, schema, reshaped, alone and not parts)
        if isinstance(value, list):
            first, rest = self._reshaper.places(schema)
            return all(
                self.fits(item, first[index] if index < len(first) else rest, reshaped=reshaped)
                for index, item in enumerate(value)
            )
        return True

    def _has_type(self, value: Any, schema: Mapping[str, Any], reshaped: bool) -> bool:
        types = self._reshaper.types(schema)
        if reshaped and type(value) in (float, str):
            value = self._reshaper.number(value, types)
        return not types.isdisjoint(_TYPES.get(type(value), ()))

    def _has_keys(self, value: dict[str, Any], schema: Mapping[str, Any], reshaped: bool, closed: bool) -> bool:
        properties = schema.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        required = schema.get("required") or ()
        if any(key not in value for key in required):
            return False
        closed = closed and bool(properties) and "patternProperties" not in schema
        rest = schema.get("additionalProperties", not closed)
        for key, inner in value.items():
            if key not in properties:
                if rest is False or not self.fits(inner, rest, reshaped=reshaped):
                    return False
            elif reshaped and key not in required and self._reshaper.is_left_out(inner, properties[key]):
                continue
            elif not self.fits(inner, properties[key], reshaped=reshaped):
                return False
        return True
