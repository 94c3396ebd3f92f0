"""The form of one schema without alternatives: its type, its values, its properties or items, and in words what the
subset has no keyword for."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from agentforge.tool.spec.heads import Heads
from agentforge.tool.spec.merging import LOST, SchemaFaultError, type_of, types_of, values_of
from agentforge.tool.spec.patterns import refused_in_pattern
from agentforge.tool.spec.subset import UNCHECKED, SchemaSubset
from agentforge.tool.spec.typed import KEYWORDS, TypedSchemas
from agentforge.tool.spec.types import fixed_array

__all__ = ("PlainSchemas", "described")

_ALWAYS = ("not", "if", "then", "else")
#: Values with which a keyword says nothing.
_IDLE: Mapping[str, Any] = {"uniqueItems": False, "minLength": 0, "minItems": 0, "minProperties": 0}


class PlainSchemas(TypedSchemas, ABC):
    """Compiles heads without alternatives; what is inside them goes to `schema`."""

    def __init__(self, heads: Heads, subset: SchemaSubset, strict: bool) -> None:
        super().__init__(subset, strict)
        self._heads = heads
        #: How many objects what is compiled now is inside of.
        self._level = 0

    @abstractmethod
    def schema(self, node: Any, path: tuple[str, ...], *, in_choice: bool = False) -> dict[str, Any]:
        """The form of any schema; ``in_choice``: it will be a branch of ``anyOf``."""

    def plain(self, head: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        """The form of a head without alternatives."""
        kinds = types_of(head)
        told: list[str] = []
        if not kinds:
            return self._without_type(head, path, told)
        if "object" in kinds and self._is_too_deep():
            self.notice(path, "widened", f"what is deeper than {self._level} objects was left out")
            return self.any_value(self.description(head, path), kinds)
        values = values_of(head)
        made: dict[str, Any] = {}
        if values is not None:
            self._values(made, values, "const" in head, path, told)
            if any(isinstance(value, (Mapping, list, tuple)) for value in values):
                if self._strict:
                    self.problem(path, "refused", "objects and lists as values of an enum are not supported")
                return self.any_value(self.description(head, path, told), kinds)
        else:
            if "array" in kinds:
                head = self._array(made, head, path, told)
            if "object" in kinds:
                self._object(made, head, path, told)
        known = frozenset[str]().union(*(KEYWORDS.get(kind, ()) for kind in kinds))
        for key, value in head.items():
            if key in known or key in _ALWAYS:
                self._keyword(made, key, value, path, told)
        description = self.description(head, path, told)
        return self.typed(made, self.with_null(made, kinds), description)

    def _without_type(self, head: dict[str, Any], path: tuple[str, ...], told: list[str]) -> dict[str, Any]:
        """The form of what may be of any type: its keywords hold for values of one only, which words can tell."""
        if self._strict:
            self.problem(path, "any_value", "any value is allowed, strict schemas need a type")
            return {}
        for key, value in head.items():
            if key in _ALWAYS or any(key in each for each in KEYWORDS.values()):
                self._in_words(key, value, path, told)
        return self.any_value(self.description(head, path, told))

    def _is_too_deep(self) -> bool:
        most = self._subset.limits.levels
        return not self._strict and most is not None and self._level >= most

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
        self.notice(path, "told", f"{'const' if is_const else 'enum'} was moved into the description")

    def _keyword(self, made: dict[str, Any], key: str, value: Any, path: tuple[str, ...], told: list[str]) -> None:
        subset = self._subset
        if key in subset.allowed and self._is_taken(key, value):
            if key != "minItems" or subset.most_min_items is None or value <= subset.most_min_items:
                made[key] = value
                return
            made[key] = subset.most_min_items
        elif key in _IDLE and value == _IDLE[key]:
            return
        self._in_words(key, value, path, told)

    def _in_words(self, key: str, value: Any, path: tuple[str, ...], told: list[str]) -> None:
        """A keyword that the subset has not: said in the description, left out, or a problem."""
        subset = self._subset
        if key in subset.told or (key in subset.allowed and key not in UNCHECKED):
            told.append(f"{key}: {value if isinstance(value, str) else _json(value)}")
            reason = refused_in_pattern(value, subset) if key == "pattern" and isinstance(value, str) else None
            what = f"a pattern with {reason}" if reason and key in subset.allowed else key
            self.notice(path, "told", f"{what} was moved into the description")
        elif key in subset.left_out or not self._strict:
            self.notice(path, "left_out", f"{key} was left out")
        else:
            self.problem(path, "refused", f"{key} is not supported")

    def _is_taken(self, key: str, value: Any) -> bool:
        if key == "format":
            return self._subset.formats is None or value in self._subset.formats
        if key == "pattern":
            return isinstance(value, str) and refused_in_pattern(value, self._subset) is None
        if key in UNCHECKED:
            return not _has_reference(value)  # it would lead elsewhere
        return (isinstance(value, (int, float)) and not isinstance(value, bool)) or key == "uniqueItems"

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

    def _object(self, made: dict[str, Any], head: Mapping[str, Any], path: tuple[str, ...], told: list[str]) -> None:
        subset = self._subset
        properties: Mapping[str, Any] = head.get("properties") or {}
        needed = head.get("required", ())
        undeclared = [str(name) for name in needed if name not in properties]
        for name in undeclared if self._strict else ():
            self.problem(path, "undeclared", f"{name} is required, but not declared")
        if undeclared and not self._strict:
            told.append(f"must be given, too: {', '.join(undeclared)}")
            self.notice(path, "told", "what is required, but not declared, was moved into the description")
        converted: dict[str, Any] = {}
        self._level += 1
        for name, inner in properties.items():
            place = (*path, "properties", name)
            if name in subset.refused_names:
                self.problem(place, "name", f"no property can have the name {name}")
            elif name in needed:
                converted[name] = self.schema(inner, place)
            elif not self._is_impossible(inner):
                wraps = subset.optional == "nullable" and not self._heads.takes_null(inner)
                found = self.schema(inner, place, in_choice=wraps)
                converted[name] = self.nullable(found) if wraps else found
        rest = self._rest(head, path, told)
        self._level -= 1
        if self._strict and not converted and path and not subset.empty_objects:
            self.problem(path, "empty_object", "an object without properties is not supported")
        if converted or self._strict or not path or rest is False:
            made["properties"] = converted
            all_needed = subset.optional == "nullable"
            made["required"] = [name for name in converted if all_needed or name in needed]
        if rest is not None:
            made["additionalProperties"] = rest

    def _rest(self, head: Mapping[str, Any], path: tuple[str, ...], told: list[str]) -> Any:
        """What is said of properties that are not declared: ``False`` for none, ``None`` for nothing."""
        subset = self._subset
        rest = head.get("additionalProperties", bool(path) and not head.get("properties"))
        patterns = head.get("patternProperties")
        if not patterns and self._is_impossible(rest):
            return False if subset.says_closed else None
        if patterns and self._strict:
            self.problem(path, "refused", "patternProperties is not supported")
        elif patterns:
            self._tell_patterns(patterns, path, told)
        if "additionalProperties" in subset.allowed:
            if patterns or self._says_nothing(rest):
                return True
            return self.schema(rest, (*path, "additionalProperties"))
        if self._strict and not self._is_impossible(rest):
            text = "further properties are allowed, strict objects are closed"
            if "additionalProperties" not in head:
                text = "an object without declared properties is open, strict objects are closed"
            self.problem(path, "open_object", text)
        if self._strict:
            return False if subset.says_closed else None
        self._tell_open(head, rest, path, told)
        return True if subset.says_closed else None

    def _tell_open(self, head: Mapping[str, Any], rest: Any, path: tuple[str, ...], told: list[str]) -> None:
        if self._says_nothing(rest):
            told.extend(["further keys are welcome"] if head.get("properties") and not self.says_open else ())
        elif not self._is_impossible(rest):
            words, is_all = self._kinds_in_words(rest)
            told.append(f"{'further keys' if head.get('properties') else 'keys'} of any name{words}")
            code, text = ("told", "moved into the description") if is_all else ("widened", "sent as no more than types")
            self.notice((*path, "additionalProperties"), code, f"additionalProperties was {text}")

    def _tell_patterns(self, patterns: Mapping[str, Any], path: tuple[str, ...], told: list[str]) -> None:
        for pattern, inner in patterns.items():
            told.append(f"keys that match {pattern}{self._kinds_in_words(inner)[0]}")
        self.notice(path, "widened", "patternProperties was sent as no more than types")

    def _kinds_in_words(self, node: Any) -> tuple[str, bool]:
        """The types of what stands under a key of any name, and whether that is all that it says."""
        try:
            found = self._heads.head(node, through=True)
        except SchemaFaultError:
            return "", False
        kinds = types_of(found) if found else ()
        words = f", each of type {' or '.join(kinds)}" if kinds else ""
        return words, found is not None and found.keys() == {"type"}

    def _is_impossible(self, node: Any) -> bool:
        try:
            return self._heads.head(node) is None
        except SchemaFaultError:
            return False

    def _array(
        self, made: dict[str, Any], head: dict[str, Any], path: tuple[str, ...], told: list[str]
    ) -> dict[str, Any]:
        """Convert the items; the head, changed where its fixed places become bounds."""
        places = head.get("prefixItems")
        if not isinstance(places, (list, tuple)) or not places:
            self._items(made, head.get("items", {}), (*path, "items"))
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
        self._items(made, shape["items"], (*path, "items"))
        return head

    def _items(self, made: dict[str, Any], node: Any, path: tuple[str, ...]) -> None:
        if not self._strict and self._is_impossible(node):
            node = False
            self.notice(path[:-1], "widened", "that a list must be empty was left out")
        elif self._strict and (node is False or self._says_nothing(node)):
            self.problem(path[:-1], "any_value", "a list needs a type for its items")
            made["items"] = {}
            return
        is_any = node is False or self._says_nothing(node)
        found = self.any_items() if is_any else self.schema(node, path)
        if found or self._strict:
            made["items"] = found

    def _says_nothing(self, node: Any) -> bool:
        return node is True or (isinstance(node, Mapping) and not node)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)


def _has_reference(value: Any) -> bool:
    if isinstance(value, Mapping):
        return "$ref" in value or any(map(_has_reference, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_has_reference, value))


def described(schema: dict[str, Any], description: str) -> dict[str, Any]:
    """The schema with a description before its own."""
    own = schema.get("description")
    if not description or own == description:
        return schema
    return {**schema, "description": f"{description}\n{own}" if own else description}
