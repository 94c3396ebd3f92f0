"""Schemas of a description as JSON Schema 2020-12 for the arguments of a tool.

What is written is a request: members that only an answer has (``readOnly``) are left out, ``null`` and exclusive bounds
take their present form, and a keyword that has no sense where it stands is left out with a note. Each definition is
translated once and put below ``$defs`` of the tools that need it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from agentforge_http.openapi.documents import Documents, Found
from agentforge_http.openapi.keywords import SILENT, SUBSCHEMA, SUBSCHEMA_LISTS, SUBSCHEMA_MAPS, usable
from agentforge_http.openapi.kinds import Choice, Kinds, Parent
from agentforge_http.openapi.schema_size import SchemaSize, size_of
from agentforge_http.openapi.schema_values import (
    ANNOTATIONS,
    Scope,
    bounds_of,
    encoding_of,
    enum_of,
    or_null,
    type_of,
    unwrapped,
)
from agentforge_http.openapi.texts import plain_text, shortened

__all__ = ("Dialect", "SchemaTranslator")

Dialect = Literal["2.0", "3.0", "3.1"]

_OWN = frozenset(
    {"$ref", "type", "nullable", "x-nullable", "description", "properties", "required", "enum", "format"}
    | {"contentEncoding", "contentMediaType", "items", "dependencies", "additionalItems"}
    | {"exclusiveMinimum", "exclusiveMaximum", "minimum", "maximum", "additionalProperties", "prefixItems"}
)
_BESIDE_REFERENCE = frozenset(
    {"$ref", "description", "default", "deprecated", "nullable", "x-nullable", "readOnly", "writeOnly", "title"}
)
_MAX_DEPTH = 64
_MAX_ANCESTORS = 100  # schemas that one inherits from; a chain without a bound would be walked for each of its links
_INNER = frozenset(
    {
        "properties",
        "items",
        "$ref",
        "prefixItems",
        "additionalProperties",
        "dependencies",
        *SUBSCHEMA,
        *SUBSCHEMA_LISTS,
        *SUBSCHEMA_MAPS,
    }
)


@dataclass(slots=True)
class _Definition:
    """A schema that is referred to; one that ``is_leaf`` is so plain that it stands wherever it is used."""

    name: str
    found: Found
    is_leaf: bool
    schema: Any = None
    scope: Scope = field(default_factory=Scope)
    size: SchemaSize = field(default_factory=lambda: SchemaSize(1, 1))


class SchemaTranslator:
    """Translates the schemas of one description."""

    def __init__(self, documents: Documents, dialect: Dialect) -> None:
        self._documents = documents
        self._dialect = dialect
        self._kinds = Kinds(documents)
        self._by_place: dict[tuple[str, str, bool], _Definition] = {}
        self._by_name: dict[str, _Definition] = {}
        #: Definitions that are used and not yet translated: a chain of them is no recursion.
        self._waiting: list[_Definition] = []
        self._depth = 0

    def translated(self, node: Any, document: str, scope: Scope) -> dict[str, Any]:
        """The schema of an argument; one that is only ``true`` or ``false`` is written as a mapping."""
        made = self._schema(node, document, scope)
        while self._waiting:
            definition = self._waiting.pop()
            definition.schema = self._schema(definition.found.value, definition.found.document, definition.scope)
            definition.size = size_of(definition.schema)
        if isinstance(made, bool):
            return {} if made else {"not": {}}
        return dict(made)

    def resolved(self, node: Any, document: str, scope: Scope) -> dict[str, Any]:
        """The same, with what a reference at its root leads to in the place of the reference."""
        made = self.translated(node, document, scope)
        if "$ref" in made and set(made) <= {"$ref", *ANNOTATIONS}:
            definition = self._by_name[made["$ref"].rpartition("/")[2]]
            if isinstance(definition.schema, dict):
                self._take(definition, scope)
                beside = {key: value for key, value in made.items() if key != "$ref"}
                return {**definition.schema, **beside}
        return made

    def definitions(self, names: Iterable[str], scope: Scope, most: int) -> tuple[dict[str, Any], SchemaSize]:
        """The definitions of these names and all that they use, and how large they are together; their faults and notes
        go to ``scope``. Those that come to more than ``most`` parts are not gathered to the end."""
        found: dict[str, Any] = {}
        parts = depth = 0
        waiting = sorted(names, reverse=True)
        while waiting and parts <= most:
            name = waiting.pop()
            if name in found or name not in self._by_name:  # a default may look like a reference
                continue
            definition = self._by_name[name]
            found[name] = definition.schema
            parts += definition.size.parts
            depth = max(depth, definition.size.depth)
            scope.faults.extend(definition.scope.faults)
            scope.notes.update(definition.scope.notes)
            scope.keywords |= definition.scope.keywords
            if self._is_circle(definition):
                scope.faults.append(f"its schema {name!r} refers to nothing but itself")
            waiting.extend(sorted(definition.scope.uses - found.keys(), reverse=True))
        return found, SchemaSize(parts, depth)

    def _is_circle(self, definition: _Definition) -> bool:
        """Whether a schema leads by references alone back to itself, so that it says nothing."""
        seen: set[str] = set()
        schema = definition.schema
        while isinstance(schema, dict) and "$ref" in schema:
            name = schema["$ref"].rpartition("/")[2]
            if name in seen:
                return True
            seen.add(name)
            schema = self._by_name[name].schema
        return False

    def _take(self, definition: _Definition, scope: Scope) -> None:
        """What is written out where a definition is used brings with it."""
        scope.uses |= definition.scope.uses
        scope.faults.extend(definition.scope.faults)
        scope.notes.update(definition.scope.notes)
        scope.keywords |= definition.scope.keywords

    # -- references ------------------------------------------------------------------------------

    def _reference(
        self, node: dict[str, Any], document: str, scope: Scope, read_only: frozenset[str], *, inherits: bool
    ) -> Any:
        found = self._documents.find(node["$ref"], document)
        if isinstance(found, str):
            scope.faults.append(found)
            return {}
        of_heir = isinstance(node, Parent)
        definition = self._definition(found, as_parent=inherits or of_heir, of_heir=of_heir)
        if len(node) == 1:
            return self._used(definition, scope)
        if self._dialect != "3.1":
            ignored = [key for key in node if key not in _BESIDE_REFERENCE and not key.startswith("x-")]
            if ignored:
                scope.note(f"beside a $ref, {', '.join(sorted(ignored))} has no meaning and was left out")
            node = {key: value for key, value in node.items() if key in _BESIDE_REFERENCE}
        nullable = node.get("nullable") is True or node.get("x-nullable") is True
        beside = self._keywords(
            {key: value for key, value in node.items() if key not in ("$ref", "nullable", "x-nullable")},
            document,
            scope,
            read_only,
        )
        made = self._used(definition, scope)
        if isinstance(made, bool):
            made = {} if made else {"not": {}}
        fits_in = "$ref" in made or set(beside) <= set(ANNOTATIONS)
        made = {**made, **beside} if fits_in else {"allOf": [made], **beside}
        return or_null(made) if nullable else made

    def _definition(self, found: Found, *, as_parent: bool, of_heir: bool) -> _Definition:
        """The definition of what a reference leads to: any of its kinds, unless it is meant ``as_parent``, and without
        the kinds that it lists where it is the parent ``of_heir``."""
        choice = None if as_parent else self._kinds.choice(found)
        found = (self._kinds.own(found) if of_heir else None) or found
        place = (found.document, found.pointer, choice is None)
        known = self._by_place.get(place)
        if known is not None:
            return known
        found = self._kinds.heir(found)
        if choice is not None:
            found = Found(choice, found.document, f"{found.pointer}_kinds")
        value = found.value
        is_leaf = not isinstance(value, dict) or not _INNER.intersection(value)
        definition = _Definition(self._name_of(found), found, is_leaf)
        self._by_place[place] = self._by_name[definition.name] = definition
        if is_leaf:
            definition.schema = self._schema(value, found.document, definition.scope)
        else:
            self._waiting.append(definition)
        return definition

    def _name_of(self, found: Found) -> str:
        steps = [step for step in re.split(r"[/#]", found.pointer) if step]
        last = steps[-1] if steps else re.split(r"[/\\]", found.document.partition("?")[0])[-1].partition(".")[0]
        name = re.sub(r"[^A-Za-z0-9_.-]+", "_", last.replace("~1", "_").replace("~0", "_")).strip("_") or "Schema"
        name = name[:64]
        number = 1
        unique = name
        while unique in self._by_name:
            number += 1
            unique = f"{name[:60]}_{number}"
        return unique

    def _used(self, definition: _Definition, scope: Scope) -> Any:
        if definition.is_leaf:
            self._take(definition, scope)
            return definition.schema if isinstance(definition.schema, bool) else dict(definition.schema)
        scope.uses.add(definition.name)
        return {"$ref": f"#/$defs/{definition.name}"}

    # -- schemas ---------------------------------------------------------------------------------

    def _schema(
        self,
        node: Any,
        document: str,
        scope: Scope,
        read_only: frozenset[str] = frozenset(),
        *,
        in_part: bool = False,
        inherits: bool = False,
    ) -> Any:
        if isinstance(node, bool):
            return node
        if not isinstance(node, dict):
            scope.note("a schema that is none was left out")
            return {}
        if isinstance(node.get("$ref"), str):
            return self._reference(node, document, scope, read_only, inherits=inherits)
        if self._depth > _MAX_DEPTH:
            scope.faults.append(f"a schema of it is nested deeper than {_MAX_DEPTH} levels")
            return {}
        self._depth += 1
        try:
            made = self._keywords(node, document, scope, read_only, in_part=in_part)
        finally:
            self._depth -= 1
        if node.get("nullable") is True or node.get("x-nullable") is True:
            made = or_null(made)
        return made

    def _keywords(
        self,
        node: Mapping[str, Any],
        document: str,
        scope: Scope,
        read_only: frozenset[str],
        *,
        in_part: bool = False,
    ) -> dict[str, Any]:
        made: dict[str, Any] = {}
        kind = type_of(node, made, scope)
        text = shortened(plain_text(node.get("description")))
        if text:
            made["description"] = text
        encoding_of(node, made)
        enum_of(node, kind, made, scope)
        bounds_of(node, made, scope)
        read_only = read_only | self._read_only_of(node, document)
        self._object(node, document, scope, read_only, made, in_part=in_part)
        self._list(node, document, scope, made)
        for key, value in node.items():
            if key in _OWN or key.startswith("x-"):
                continue
            if key in SUBSCHEMA:
                made[key] = self._schema(value, document, scope, in_part=True)
            elif key in SUBSCHEMA_LISTS:
                if isinstance(value, list) and value:
                    # A part of several is what is inherited; alone it is a reference with a description.
                    alone = len(value) == 1 and "properties" not in node
                    inherits = key == "allOf" and not alone and not isinstance(node, Choice)
                    is_choice = key != "allOf"
                    made[key] = [
                        # The older version has no word for null alone.
                        {"type": "null"}
                        if is_choice and part == {"nullable": True}
                        else self._schema(part, document, scope, read_only, in_part=True, inherits=inherits)
                        for part in value
                    ]
                else:
                    scope.keywords.add(key)
            elif key in SUBSCHEMA_MAPS:
                self._named(key, value, document, scope, made)
            elif key in SILENT:
                continue
            elif usable(key, value):
                made[key] = value
            else:
                scope.keywords.add(key)
                if key == "pattern":
                    scope.note(f"the pattern {str(value)[:60]!r} cannot be checked and was left out")
        return unwrapped(made)

    def _named(self, key: str, value: Any, document: str, scope: Scope, made: dict[str, Any]) -> None:
        if not isinstance(value, dict):
            scope.keywords.add(key)
            return
        named = {}
        for name, part in value.items():
            if key == "patternProperties" and not usable("pattern", name):
                scope.note(f"the pattern {name[:60]!r} cannot be checked and was left out")
                continue
            named[name] = self._schema(part, document, scope, in_part=key == "dependentSchemas")
        made[key] = named

    def _object(
        self,
        node: Mapping[str, Any],
        document: str,
        scope: Scope,
        read_only: frozenset[str],
        made: dict[str, Any],
        *,
        in_part: bool,
    ) -> None:
        properties = node.get("properties")
        declared: dict[str, Any] = {}
        if isinstance(properties, dict):
            for name, inner in properties.items():
                if name not in read_only:
                    declared[name] = self._schema(inner, document, scope)
            made["properties"] = declared
        elif properties is not None:
            scope.keywords.add("properties")
        required = node.get("required")
        if isinstance(required, list):
            texts = dict.fromkeys(name for name in required if isinstance(name, str))
            names = [name for name in texts if name not in read_only]
            if names:
                made["required"] = names
            if declared and not in_part and "allOf" not in node and "patternProperties" not in node:
                for name in names:  # an object takes only what it declares: what it asks for must be among it
                    declared.setdefault(name, {})
        elif required is not None:
            scope.keywords.add("required")
        further = node.get("additionalProperties")
        if isinstance(further, (bool, dict)):
            made["additionalProperties"] = self._schema(further, document, scope)
        elif further is not None:
            scope.keywords.add("additionalProperties")

    def _list(self, node: Mapping[str, Any], document: str, scope: Scope, made: dict[str, Any]) -> None:
        items, prefix, further = node.get("items"), node.get("prefixItems"), node.get("additionalItems")
        if isinstance(items, list):
            prefix, items = items, further if isinstance(further, (bool, dict)) else None
        if isinstance(prefix, list) and prefix:
            made["prefixItems"] = [self._schema(part, document, scope) for part in prefix]
        if isinstance(items, (bool, dict)):
            made["items"] = self._schema(items, document, scope)
        elif items is not None:
            scope.keywords.add("items")
        dependencies = node.get("dependencies")
        if isinstance(dependencies, dict):
            for name, value in dependencies.items():
                if isinstance(value, list):
                    made.setdefault("dependentRequired", {})[name] = [each for each in value if isinstance(each, str)]
                else:
                    made.setdefault("dependentSchemas", {})[name] = self._schema(value, document, scope, in_part=True)

    def _read_only_of(self, node: Mapping[str, Any], document: str) -> frozenset[str]:
        """The members that only an answer has, here and in the parts of the schema."""
        found: set[str] = set()
        stack: list[tuple[Any, str, int]] = [(node, document, 0)]
        seen: set[tuple[str, str]] = set()
        while stack and len(seen) < _MAX_ANCESTORS:
            part, where, depth = stack.pop()
            if not isinstance(part, dict):
                continue
            properties = part.get("properties")
            if isinstance(properties, dict):
                found |= {name for name, inner in properties.items() if self._only_read(inner, where)}
            for inner in part.get("allOf") or () if isinstance(part.get("allOf"), list) else ():
                stack.append((inner, where, depth + 1))
            if depth and isinstance(part.get("$ref"), str):
                target = self._documents.find(part["$ref"], where)
                if isinstance(target, Found) and (target.document, target.pointer) not in seen:
                    seen.add((target.document, target.pointer))
                    stack.append((target.value, target.document, depth + 1))
        return frozenset(found)

    def _only_read(self, node: Any, document: str) -> bool:
        if not isinstance(node, dict):
            return False
        if node.get("readOnly") is True:
            return True
        if isinstance(node.get("$ref"), str):
            found = self._documents.find(node["$ref"], document)
            return isinstance(found, Found) and isinstance(found.value, dict) and found.value.get("readOnly") is True
        return False
