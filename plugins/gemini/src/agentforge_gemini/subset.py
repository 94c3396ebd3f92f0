"""What Gemini takes of JSON Schema, as data: for ``parametersJsonSchema`` and ``responseJsonSchema``, and the older
part of OpenAPI's schemas for ``parameters`` and ``responseSchema``, where one unknown key fails the whole request.

Optional properties stay optional. What a subset has no key for is told in the description, so that the model knows of
it; arguments are always checked against the original schema.
"""

from __future__ import annotations

from agentforge.tool.spec import SchemaSubset

__all__ = ("JSON_SCHEMA", "OPEN_API")

_LENGTHS = frozenset({"minLength", "maxLength", "minProperties", "maxProperties"})
_NEVER = frozenset({"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "uniqueItems", "minContains", "maxContains"})
_BOUNDS = frozenset({"minimum", "maximum", "minItems", "maxItems"})

JSON_SCHEMA = SchemaSubset(
    name="gemini",
    allowed=_BOUNDS | {"additionalProperties", "format", "prefixItems"},
    told=_NEVER | _LENGTHS | {"pattern"},
    formats=frozenset({"date-time", "date", "time"}),
    const=False,
    enum_types=frozenset({"string", "integer", "number"}),
    any_value=True,
    optional="stay",
)
"""The vendor's list of keys that count: references and recursion (within optional properties), bounds, fixed places."""

OPEN_API = SchemaSubset(
    name="gemini-openapi",
    allowed=_BOUNDS | _LENGTHS | {"pattern", "format"},
    told=_NEVER,
    formats=frozenset({"date-time"}),
    references="inline",
    recursion=False,
    const=False,
    enum_types=frozenset({"string"}),
    type_lists="none",
    null="nullable",
    empty_objects=False,
    says_closed=False,
    optional="stay",
)
"""Schemas of the API itself: no references, enums of texts, ``nullable`` for null."""
