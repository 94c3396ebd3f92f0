"""The strict form of one schema without alternatives: its type, its values, its properties or items, and in words what
the subset has no keyword for."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from agentforge.tool.spec.heads import Heads
from agentforge.tool.spec.merging import LOST, SchemaFaultError, fits_type, type_of, types_of, values_of
from agentforge.tool.spec.noting import Noting
from agentforge.tool.spec.patterns import refused_in_pattern
from agentforge.tool.spec.subset import SchemaSubset
from agentforge.tool.spec.types import fixed_array

__all__ = ("PlainSchemas", "described")

_NUMBERS = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"})
_KEYWORDS: Mapping[str, frozenset[str]] = {
    "string": frozenset({"minLength", "maxLength", "pattern", "format"})
    | {"contentEncoding", "contentMediaType", "contentSchema"},
    "integer": _NUMBERS,
    "number": _NUMBERS,
    "array": frozenset({"minItems", "maxItems", "uniqueItems", "contains", "minContains", "maxContains"})
    | {"unevaluatedItems"},
    "object": frozenset({"minProperties", "maxProperties", "propertyNames", "dependentRequired", "dependentSchemas"})
    | {"dependencies"},
}
_ALWAYS = ("not", "if", "then", "else")
_COMPLEX = frozenset({"object", "array"})
#: Values with which a keyword says nothing.
_IDLE: Mapping[str, Any] = {"uniqueItems": False, "minLength": 0, "minItems": 0, "minProperties": 0}


class PlainSchemas(Noting, ABC):
    """Compiles heads without alternatives; what is inside them goes to `schema`."""

    def __init__(self, heads: Heads, subset: SchemaSubset) -> None:
        super().__init__()
        self._heads = heads
        self._subset = subset

    @abstractmethod
    def schema(self, node: Any, path: tuple[str, ...], *, in_choice: bool = False) -> dict[str, Any]:
        """The strict form of any schema; ``in_choice``: it will be a branch of ``anyOf``."""

    def plain(self, head: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        """The strict form of a head without alternatives."""
        kinds = types_of(head)
        if not kinds:
            self.problem(path, "any_value", "any value is allowed, strict schemas need a type")
            return {}
        told: list[str] = []
        values = values_of(head)
        made: dict[str, Any] = {}
        if values is not None:
            self._values(made, values, "const" in head, path, told)
            if any(isinstance(value, (Mapping, list, tuple)) for value in values):
                self.problem(path, "refused", "objects and lists as values of an enum are not supported")
                return {}
        else:
            if "array" in kinds:
                head = self._array(made, head, path, told)
            if "object" in kinds:
                self._object(made, head, path)
        known = frozenset[str]().union(*(_KEYWORDS.get(kind, ()) for kind in kinds))
        for key, value in head.items():
            if key in known or key in _ALWAYS:
                self._keyword(made, key, value, path, told)
        description = self.description(head, path, told)
        if "null" in kinds and self._subset.null == "nullable" and len(kinds) > 1:
            made["nullable"] = True
            kinds = tuple(kind for kind in kinds if kind != "null")
        return self._typed(made, kinds, description)

    def _typed(self, made: dict[str, Any], kinds: tuple[str, ...], description: str) -> dict[str, Any]:
        """With the types as the subset takes them."""
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

    def _values(
        self, made: dict[str, Any], values: list[Any], is_const: bool, path: tuple[str, ...], told: list[str]
    ) -> None:
        if all(type_of(value) in self._subset.enum_types for value in values):
            if is_const and self._subset.const:
                made["const"] = values[0]
            else:
                made["enum"] = list(values)
            return
        told.append(f"one of: {', '.join(map(_json, values))}")
        self.notice(path, "told", "enum was moved into the description")

    def _keyword(self, made: dict[str, Any], key: str, value: Any, path: tuple[str, ...], told: list[str]) -> None:
        subset = self._subset
        if key in subset.allowed and self._is_taken(key, value):
            if key != "minItems" or subset.most_min_items is None or value <= subset.most_min_items:
                made[key] = value
                return
            made[key] = subset.most_min_items
        elif key in _IDLE and value == _IDLE[key]:
            return
        elif key in subset.left_out:
            self.notice(path, "left_out", f"{key} was left out")
            return
        elif key not in subset.told and key not in subset.allowed:
            self.problem(path, "refused", f"{key} is not supported")
            return
        told.append(f"{key}: {value if isinstance(value, str) else _json(value)}")
        reason = refused_in_pattern(value, subset) if key == "pattern" and isinstance(value, str) else None
        what = f"a pattern with {reason}" if reason and key in subset.allowed else key
        self.notice(path, "told", f"{what} was moved into the description")

    def _is_taken(self, key: str, value: Any) -> bool:
        if key == "format":
            return value in self._subset.formats
        if key == "pattern":
            return isinstance(value, str) and refused_in_pattern(value, self._subset) is None
        return isinstance(value, (int, float)) and not isinstance(value, bool)

    def description(self, head: Mapping[str, Any], path: tuple[str, ...], told: list[str] | None = None) -> str:
        """The description with what is told of the value in it."""
        told = [] if told is None else told
        for key, value in head.get(LOST, ()):
            if key == "oneOf":
                self.notice(path, "one_of", "oneOf was sent as anyOf")
            elif key == "presence":
                told.append(value)
                self.notice(path, "told", "which properties must be given was moved into the description")
            elif key in self._subset.left_out:
                self.notice(path, "left_out", f"{key} was left out")
            else:
                told.append(f"{key}: {value if isinstance(value, str) else _json(value)}")
                self.notice(path, "told", f"a second {key} was moved into the description")
        if head.get("default") is not None:
            told.append(f"default: {_json(head['default'])}")
        text = head.get("description", "")
        return f"{text} ({'; '.join(told)})" if text and told else text or "; ".join(told)

    # -- objects and lists -----------------------------------------------------------------------

    def _object(self, made: dict[str, Any], head: Mapping[str, Any], path: tuple[str, ...]) -> None:
        subset = self._subset
        properties: Mapping[str, Any] = head.get("properties") or {}
        self._check_closed(head, path)
        needed = head.get("required", ())
        for name in needed:
            if name not in properties:
                self.problem(path, "undeclared", f"{name} is required, but not declared")
        made["properties"] = converted = {}
        for name, inner in properties.items():
            place = (*path, "properties", name)
            if name in needed:
                converted[name] = self.schema(inner, place)
            elif not self._is_impossible(inner):
                wraps = subset.optional == "nullable" and not self._heads.takes_null(inner)
                found = self.schema(inner, place, in_choice=wraps)
                converted[name] = self._nullable(found) if wraps else found
        if not converted and path and not subset.empty_objects:
            self.problem(path, "empty_object", "an object without properties is not supported")
        if subset.optional == "nullable":
            made["required"] = list(converted)
        else:
            made["required"] = [name for name in converted if name in needed]
        if subset.says_closed:
            made["additionalProperties"] = False

    def _check_closed(self, head: Mapping[str, Any], path: tuple[str, ...]) -> None:
        if head.get("patternProperties"):
            self.problem(path, "refused", "patternProperties is not supported")
        if "additionalProperties" in head:
            if not self._is_impossible(head["additionalProperties"]):
                self.problem(path, "open_object", "further properties are allowed, strict objects are closed")
        elif path and not head.get("properties"):
            self.problem(
                path, "open_object", "an object without declared properties is open, strict objects are closed"
            )

    def _is_impossible(self, node: Any) -> bool:
        try:
            return self._heads.head(node) is None
        except SchemaFaultError:
            return False

    def _nullable(self, schema: dict[str, Any]) -> dict[str, Any]:
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

    def _array(
        self, made: dict[str, Any], head: dict[str, Any], path: tuple[str, ...], told: list[str]
    ) -> dict[str, Any]:
        """Convert the items; the head, changed where its fixed places become bounds."""
        places = head.get("prefixItems")
        if not isinstance(places, (list, tuple)) or not places:
            made["items"] = self._items(head.get("items", {}), (*path, "items"))
            return head
        rest = head.get("items")
        if "prefixItems" in self._subset.allowed:
            made["prefixItems"] = [
                self.schema(place, (*path, "prefixItems", str(index))) for index, place in enumerate(places)
            ]
            if rest is not None and rest is not True:
                made["items"] = rest if rest is False else self.schema(rest, (*path, "items"))
            return head
        return self._as_items(made, head, list(places), path, told)

    def _as_items(
        self, made: dict[str, Any], head: dict[str, Any], places: list[Any], path: tuple[str, ...], told: list[str]
    ) -> dict[str, Any]:
        """A list of fixed places as one of items: exact where all places are alike."""
        rest, longest = head.get("items"), head.get("maxItems")
        head = dict(head)
        if isinstance(rest, Mapping) and rest:
            places.append(rest)
        elif not isinstance(longest, int) or longest > len(places):
            head["maxItems"] = len(places)
            if rest is not False:
                self.notice(path, "narrowed", f"no more than the {len(places)} places that are declared can be filled")
        shape = fixed_array(places)
        if "description" in shape:  # places of several kinds
            self.notice(path, "order", "prefixItems was sent as items")
            text = shape["description"]
            head["description"] = f"{head['description']}\n{text}" if head.get("description") else text
        made["items"] = self._items(shape["items"], (*path, "items"))
        return head

    def _items(self, node: Any, path: tuple[str, ...]) -> dict[str, Any]:
        if node is False or self._says_nothing(node):
            self.problem(path[:-1], "any_value", "a list needs a type for its items")
            return {}
        return self.schema(node, path)

    def _says_nothing(self, node: Any) -> bool:
        return node is True or (isinstance(node, Mapping) and not node)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def described(schema: dict[str, Any], description: str) -> dict[str, Any]:
    """The schema with a description before its own."""
    own = schema.get("description")
    if not description or own == description:
        return schema
    return {**schema, "description": f"{description}\n{own}" if own else description}


def _of_types(made: Mapping[str, Any], kinds: list[str]) -> dict[str, Any]:
    """What of a schema of several types is about some of them."""
    keep = frozenset[str]().union(*(_KEYWORDS.get(kind, ()) for kind in kinds))
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
