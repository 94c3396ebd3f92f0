"""Schemas for strict modes: the subset that providers can hold a model to (wire-facts section 12).

Strict modes want every object closed and every property required, so that optional ones become nullable; the nulls
that models then send are dropped again when arguments are bound. Keywords the subset lacks are moved into the
description and reported: arguments are always checked against the original schema, so nothing is lost.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agentforge.tool.spec.types import fixed_array

__all__ = ("StrictSchema", "strict_schema")

_MAX_PROPERTIES, _MAX_LEVELS, _MAX_ENUM, _MAX_CHARACTERS = 5000, 10, 1000, 120_000
_TOLD = ("minLength", "maxLength", "uniqueItems", "minProperties", "maxProperties", "minContains", "maxContains")
_DROPPED = (
    "not",
    "if",
    "then",
    "else",
    "dependentRequired",
    "dependentSchemas",
    "dependencies",
    "propertyNames",
    "contains",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentEncoding",
    "contentMediaType",
    "contentSchema",
)
_SILENT = frozenset({"$schema", "$id", "$comment", "$anchor", "examples", "example", "deprecated", "readOnly"})
_SILENT |= {"writeOnly", "title", "discriminator", "xml", "externalDocs"}
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})
_LOOK_AROUND = re.compile(r"\(\?<?[=!]")
_DEEPEST = 64


@dataclass(frozen=True, slots=True)
class StrictSchema:
    """``schema`` in the strict subset, if there are no ``problems``; with any, send the original as not strict.
    ``notices`` say what the strict form could not carry."""

    schema: dict[str, Any]
    problems: tuple[str, ...]
    notices: tuple[str, ...]


def strict_schema(schema: Mapping[str, Any]) -> StrictSchema:
    """The strict form of a tool's parameters; the argument is not changed.

    >>> made = strict_schema({"type": "object", "properties": {"a": {"type": "string"}}})
    >>> made.schema["required"], made.schema["properties"]["a"]["type"], made.problems
    (['a'], ['string', 'null'], ())
    """
    conversion = _Conversion()
    root = {"type": "object", "properties": {}} if schema.get("type") == "object" else {}
    made = conversion.convert({**root, **schema}, ())
    kind = made.get("type")
    if kind != "object" or "anyOf" in made:
        conversion.problem((), f"the root must be an object, not {'a choice' if 'anyOf' in made else repr(kind)}")
    conversion.check_totals(made)
    return StrictSchema(made, tuple(conversion.problems), tuple(conversion.notices))


class _Conversion:
    def __init__(self) -> None:
        self.problems: list[str] = []
        self.notices: list[str] = []
        self.properties = self.enum_values = self.characters = 0
        self.levels = 0

    def problem(self, path: tuple[str, ...], text: str) -> None:
        self.problems.append(f"{_place(path)}: {text}")

    def notice(self, path: tuple[str, ...], text: str) -> None:
        self.notices.append(f"{_place(path)}: {text}")

    def convert(self, node: Any, path: tuple[str, ...], level: int = 0) -> dict[str, Any]:
        if not isinstance(node, Mapping) or len(path) > _DEEPEST * 2:
            self.problem(path, "any value is allowed, strict schemas need a type")
            return {}
        made = {key: value for key, value in node.items() if key not in _SILENT}
        for key in ("$defs", "definitions"):
            if isinstance(made.get(key), Mapping):
                made[key] = {name: self.convert(inner, (*path, key, name)) for name, inner in made[key].items()}
        if "$ref" in made:
            return self._reference(made, path)
        nullable = made.pop("nullable", False) is True
        self._alternatives(made, path, level)
        self._tell(made, path)
        kinds = _kinds(made)
        if "object" in kinds or "properties" in made:
            self._object(made, path, level + 1)
        if "array" in kinds:
            self._array(made, path, level)
        self._count(made)
        if not kinds and not any(key in made for key in ("anyOf", "enum", "const", "properties")):
            self.problem(path, "any value is allowed, strict schemas need a type")
        return _nullable(made) if nullable else made

    def _reference(self, made: dict[str, Any], path: tuple[str, ...]) -> dict[str, Any]:
        definitions: dict[str, Any] = {key: made.pop(key) for key in ("$defs", "definitions") if key in made}
        beside = {key: value for key, value in made.items() if key == "description"}
        lost = set(made) - {"$ref", "description", "default"}
        if lost:
            self.notice(path, f"{', '.join(sorted(lost))} beside $ref was left out")
        if not beside:
            return {"$ref": made["$ref"], **definitions}
        return {"anyOf": [{"$ref": made["$ref"]}], **beside, **definitions}

    def _alternatives(self, made: dict[str, Any], path: tuple[str, ...], level: int) -> None:
        parts = made.pop("allOf", None)
        if isinstance(parts, (list, tuple)) and parts:
            if len(parts) == 1 and isinstance(parts[0], Mapping) and "$ref" not in parts[0]:
                for key, value in parts[0].items():
                    made.setdefault(key, copy.deepcopy(value))
            elif len(parts) == 1 and isinstance(parts[0], Mapping) and not ({"properties", "anyOf"} & made.keys()):
                made["anyOf"] = [dict(parts[0])]
            else:
                self.problem(path, "allOf is not supported")
        if "oneOf" in made:
            made["anyOf"] = [*made.get("anyOf", ()), *made.pop("oneOf")]
            self.notice(path, "oneOf was sent as anyOf")
        if isinstance(made.get("anyOf"), (list, tuple)):
            made["anyOf"] = [
                self.convert(part, (*path, "anyOf", str(index)), level) for index, part in enumerate(made["anyOf"])
            ]

    def _tell(self, made: dict[str, Any], path: tuple[str, ...]) -> None:
        """Move what the subset lacks into the description."""
        told: list[str] = []
        for key in _TOLD:
            if key in made:
                told.append(f"{key}: {json.dumps(made.pop(key), ensure_ascii=False, default=str)}")
                self.notice(path, f"{key} was moved into the description")
        if "default" in made:
            default = made.pop("default")
            if default is not None:
                told.append(f"default: {json.dumps(default, ensure_ascii=False, default=str)}")
        pattern = made.get("pattern")
        if isinstance(pattern, str) and _LOOK_AROUND.search(pattern):
            told.append(f"pattern: {made.pop('pattern')}")
            self.notice(path, "a pattern with look-around was moved into the description")
        if "format" in made and made["format"] not in _FORMATS:
            told.append(f"format: {made.pop('format')}")
            self.notice(path, "format was moved into the description")
        for key in _DROPPED:
            if key in made:
                del made[key]
                self.notice(path, f"{key} was left out")
        if told:
            text = made.get("description")
            made["description"] = f"{text} ({'; '.join(told)})" if isinstance(text, str) else "; ".join(told)

    def _object(self, made: dict[str, Any], path: tuple[str, ...], level: int) -> None:
        self.levels = max(self.levels, level)
        rest = made.get("additionalProperties", False)
        if rest is not False:
            self.problem(path, "further properties are allowed, strict objects are closed")
        if made.pop("patternProperties", None):
            self.problem(path, "patternProperties is not supported")
        properties = made.get("properties")
        if not isinstance(properties, Mapping):
            if "additionalProperties" not in made:
                self.problem(path, "an object without declared properties is open, strict objects are closed")
            properties = {}
        required = made.get("required")
        required = required if isinstance(required, (list, tuple)) else ()
        if level > _DEEPEST:
            properties = {}
        converted: dict[str, Any] = {}
        for name, inner in properties.items():
            converted[name] = self.convert(inner, (*path, "properties", name), level)
            if name not in required:
                converted[name] = _nullable(converted[name])
            self.characters += len(name)
        self.properties += len(converted)
        made["properties"] = converted
        made["required"] = list(converted)
        made["additionalProperties"] = False

    def _array(self, made: dict[str, Any], path: tuple[str, ...], level: int) -> None:
        if "prefixItems" in made:
            described = made.get("description")
            made.update(fixed_array(list(made.pop("prefixItems")), made.get("minItems", 0)))
            if described:
                order = made["description"] if made["description"] != described else ""
                made["description"] = f"{described}\n{order}".rstrip()
            self.notice(path, "prefixItems was sent as items")
        if not isinstance(made.get("items"), Mapping) or not made["items"]:
            self.problem(path, "a list needs a type for its items")
            return
        made["items"] = self.convert(made["items"], (*path, "items"), level)

    def _count(self, made: Mapping[str, Any]) -> None:
        values = made.get("enum")
        if isinstance(values, (list, tuple)):
            self.enum_values += len(values)
            self.characters += sum(len(str(value)) for value in values)

    def check_totals(self, made: Mapping[str, Any]) -> None:
        self.characters += sum(len(name) for name in made.get("$defs", ()))
        for found, most, what in (
            (self.properties, _MAX_PROPERTIES, "properties"),
            (self.levels, _MAX_LEVELS, "levels of objects"),
            (self.enum_values, _MAX_ENUM, "enum values"),
            (self.characters, _MAX_CHARACTERS, "characters of names and values"),
        ):
            if found > most:
                self.problem((), f"{found:,} {what}, at most {most:,} are allowed")


def _place(path: tuple[str, ...]) -> str:
    return "/" + "/".join(path) if path else "the root"


def _kinds(schema: Mapping[str, Any]) -> tuple[str, ...]:
    kind = schema.get("type")
    return tuple(kind) if isinstance(kind, (list, tuple)) else (kind,) if isinstance(kind, str) else ()


def _takes_null(schema: Mapping[str, Any]) -> bool:
    if "enum" in schema:
        return None in schema["enum"]
    return "null" in _kinds(schema) or any(_takes_null(part) for part in schema.get("anyOf", ()))


def _nullable(schema: dict[str, Any]) -> dict[str, Any]:
    if _takes_null(schema):
        return schema
    if "anyOf" in schema and not _kinds(schema):
        return {**schema, "anyOf": [*schema["anyOf"], {"type": "null"}]}
    kinds = _kinds(schema)
    if kinds and "object" not in kinds and not ({"enum", "const", "anyOf"} & schema.keys()):
        return {**schema, "type": [*kinds, "null"]}
    inner = dict(schema)
    outer = {"description": inner.pop("description")} if "description" in inner else {}
    return {"anyOf": [inner, {"type": "null"}], **outer}
