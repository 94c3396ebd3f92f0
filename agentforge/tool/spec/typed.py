"""How a subset says types: one, several, null, any; and what stands for that which a subset has no words for.

A strict form that lacks something would hold a model to too much, so there it is a problem. A schema that no model is
held to is advice, and advice that says less is still true: there the place becomes wider, with a notice.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from agentforge.tool.spec.merging import fits_type
from agentforge.tool.spec.noting import Noting
from agentforge.tool.spec.subset import SchemaSubset

__all__ = ("ALL_TYPES", "KEYWORDS", "TypedSchemas")

_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
KEYWORDS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format"})
    | {"contentEncoding", "contentMediaType", "contentSchema"},
    "integer": _NUMBERS,
    "number": _NUMBERS,
    "array": frozenset({"minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"})
    | {"unevaluatedItems"},
    "object": frozenset({"minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas"})
    | {"dependencies"},
}
"""The keywords that are about values of one type."""

_COMPLEX = frozenset({"object", "array"})
_WITHOUT_LISTS = ("string", "number", "boolean", "object", "null")
ALL_TYPES = ("string", "number", "boolean", "object", "array", "null")
"""The types of any JSON value."""


class TypedSchemas(Noting):
    """Writes types. ``strict``: a model is held to what is made here."""

    def __init__(self, subset: SchemaSubset, strict: bool) -> None:
        super().__init__()
        self._subset = subset
        self._strict = strict

    def any_value(self, description: str = "", kinds: Sequence[str] = ALL_TYPES) -> dict[str, Any]:
        """Any value of these types; no schema at all where a model is to be held to it."""
        if self._strict:
            return {}
        if self._subset.any_value and len(kinds) == len(ALL_TYPES):
            return {"description": description} if description else {}
        made: dict[str, Any] = {}
        if "object" in kinds and self.says_open:
            made["additionalProperties"] = True
        if "array" in kinds and (items := self.any_items()):
            made["items"] = items
        return self.typed(made, self.with_null(made, tuple(kinds)), description)

    def any_items(self) -> dict[str, Any]:
        """What is said of the items of a list of anything; where types must be said, lists in it are not thought of."""
        return {} if self._subset.any_value else self.any_value(kinds=_WITHOUT_LISTS)

    @property
    def says_open(self) -> bool:
        """Whether an object can say that it is open."""
        return self._subset.says_closed or "additionalProperties" in self._subset.allowed

    def with_null(self, made: dict[str, Any], kinds: tuple[str, ...]) -> tuple[str, ...]:
        """The types that are said as such: null may be a keyword of its own."""
        if "null" in kinds and self._subset.null == "nullable" and len(kinds) > 1:
            made["nullable"] = True
            return tuple(kind for kind in kinds if kind != "null")
        return kinds

    def typed(self, made: dict[str, Any], kinds: tuple[str, ...], description: str) -> dict[str, Any]:
        """The schema with the types as the subset takes them."""
        said = {"description": description} if description else {}
        nullable = {"nullable": made.pop("nullable")} if "nullable" in made else {}
        lists = self._subset.type_lists
        simple = tuple(kind for kind in kinds if kind not in _COMPLEX)
        if len(kinds) == 1 or lists == "all" or (lists == "scalars" and simple == kinds):
            return {"type": kinds[0] if len(kinds) == 1 else list(kinds), **said, **nullable, **made}
        groups = [[kind] for kind in kinds]
        if lists == "scalars" and simple:
            groups = [list(simple), *([kind] for kind in kinds if kind in _COMPLEX)]
        return {"anyOf": [_of_types(made, group) for group in groups], **said, **nullable}

    def nullable(self, schema: dict[str, Any]) -> dict[str, Any]:
        """The schema with null."""
        if not schema:
            return schema
        subset = self._subset
        if subset.null == "nullable":
            return {**schema, "nullable": True}
        if "anyOf" in schema:
            return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
        kind = schema.get("type")
        kinds = [kind] if isinstance(kind, str) else kind
        if kinds and "enum" not in schema and "const" not in schema:
            apart = {"all": {"object"}, "scalars": {*_COMPLEX}, "none": {*kinds}}[subset.type_lists]
            if apart.isdisjoint(kinds):
                return {**schema, "type": [*kinds, "null"]}
        inner = dict(schema)
        outer = {"description": inner.pop("description")} if "description" in inner else {}
        return {"anyOf": [inner, {"type": "null"}], **outer}


def _of_types(made: Mapping[str, Any], kinds: list[str]) -> dict[str, Any]:
    """What of a schema of several types is about some of them."""
    keep = frozenset[str]().union(*(KEYWORDS.get(kind, ()) for kind in kinds))
    if "object" in kinds:
        keep |= {"properties", "required", "additionalProperties"}
    if "array" in kinds:
        keep |= {"items", "prefixItems"}
    inner = {key: value for key, value in made.items() if key in keep}
    for key in ("enum", "const"):
        if key in made:
            listed = made["enum"] if key == "enum" else [made["const"]]
            if kinds != ["null"]:
                inner["enum"] = [value for value in listed if any(fits_type(value, kind) for kind in kinds)]
    return {"type": kinds[0] if len(kinds) == 1 else kinds, **inner}
