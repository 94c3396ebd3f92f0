"""The keywords of JSON Schema that are kept, by where schemas stand in them and by what their values must be."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from sys import float_info
from typing import Any

__all__ = ("SILENT", "SUBSCHEMA", "SUBSCHEMA_LISTS", "SUBSCHEMA_MAPS", "usable")

SUBSCHEMA = frozenset(
    {"not", "if", "then", "else", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties"}
)
"""Keywords whose value is a schema."""
SUBSCHEMA_LISTS = frozenset({"allOf", "anyOf", "oneOf"})
"""Keywords whose value is a list of schemas."""
SUBSCHEMA_MAPS = frozenset({"patternProperties", "dependentSchemas"})
"""Keywords whose value holds schemas by name."""
SILENT = frozenset(
    {"title", "example", "examples", "externalDocs", "xml", "readOnly", "writeOnly", "discriminator"}
    | {"$comment", "$id", "id", "$schema", "$anchor", "$defs", "definitions", "$vocabulary", "contentSchema"}
    | {"allowEmptyValue", "collectionFormat", "in", "name"}
)
"""Keywords that say nothing about which values are good, or only to somebody else."""


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= float_info.max


def _is_count(value: Any) -> bool:
    return _is_number(value) and value >= 0 and float(value).is_integer()


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, str) for each in value)


def _anything(value: Any) -> bool:
    return True


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


@lru_cache(maxsize=2_000)
def _is_pattern(text: str) -> bool:
    """Whether the engine that checks arguments can work with it."""
    import jsonschema_rs

    for engine in (jsonschema_rs.RegexOptions(), jsonschema_rs.FancyRegexOptions()):
        try:
            jsonschema_rs.Draft202012Validator({"pattern": text}, pattern_options=engine)
        except ValueError:
            continue
        return True
    return False


_VALUES: Mapping[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("default", "const"), _anything),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _is_number),
    "multipleOf": lambda value: _is_number(value) and value > 0,
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _is_count),
    **dict.fromkeys(("minContains", "maxContains"), _is_count),
    **dict.fromkeys(("uniqueItems", "deprecated"), _is_boolean),
    "pattern": lambda value: isinstance(value, str) and len(value) <= 4_000 and _is_pattern(value),
    "dependentRequired": lambda value: isinstance(value, dict) and all(_is_texts(each) for each in value.values()),
}


def usable(key: str, value: Any) -> bool:
    """Whether a keyword is one of JSON Schema, and its value one that it may have."""
    check = _VALUES.get(key)
    return check is not None and check(value)
