"""Foreign schemas read as closed: what a schema does not declare is surplus, unless it says that more is welcome.

JSON Schema leaves an object open that does not say ``additionalProperties``; most authors mean a closed one. So an
object that declares properties, at the root or inside, takes no others. The keys of all its alternatives count as
declared, as which of them holds is the validator's to find out; an object inside that declares none is a free one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.tool.spec.walk import resolve_reference

__all__ = ("MAX_NAMES", "closed_schema")

MAX_NAMES = 200_000
"""How many declared keys are looked at, counted again wherever a definition is used."""

_WELCOMING = ("additionalProperties", "unevaluatedProperties", "$dynamicRef")
_ALTERNATIVES = ("allOf", "anyOf", "oneOf")
_CONDITIONAL = ("then", "else")
_NAMED = ("properties", "patternProperties")
_INNER = ("items", "additionalProperties", "additionalItems", "unevaluatedItems", "unevaluatedProperties")


def closed_schema(schema: Mapping[str, Any], *, tool: str) -> dict[str, Any]:
    """A copy of ``schema`` that refuses surplus keys; raises `ToolDeclarationError` for one that is too large.

    >>> schema = {"type": "object", "anyOf": [{"properties": {"a": {}}}, {"properties": {"b": {}}}]}
    >>> made = closed_schema(schema, tool="find")
    >>> made["properties"], made["additionalProperties"]
    ({'a': {}, 'b': {}}, False)
    """
    made: dict[str, Any] = _Closing(schema, tool).value(schema, is_root=True)
    return made


class _Closing:
    def __init__(self, root: Mapping[str, Any], tool: str) -> None:
        self._root = root
        self._tool = tool
        self._names = 0

    def value(self, node: Any, *, is_root: bool = False) -> Any:
        """A schema of a whole value: closed by all that it and its parts declare."""
        if not isinstance(node, Mapping):
            return node
        made = self.part(node)
        declared: dict[str, dict[str, Any]] = {"properties": {}, "patternProperties": {}}
        if "additionalProperties" in node:
            return made
        for part in self._parts(node, set()):
            if any(part.get(key, False) is not False for key in _WELCOMING):
                return made
            for key in _NAMED:
                names = part.get(key)
                if isinstance(names, Mapping):
                    self._count(len(names))
                    declared[key].update({name: {} for name in names})
        if not is_root and not any(declared.values()):
            return made
        if "$ref" in made:  # older dialects read nothing beside a reference
            made["allOf"] = [*made.get("allOf", ()), {"$ref": made.pop("$ref")}]
        for key in _NAMED:
            if declared[key]:
                made[key] = {**declared[key], **made.get(key, {})}
        return {**made, "additionalProperties": False}

    def part(self, node: Any) -> Any:
        """A schema of a part of a value (an alternative, a definition): only what is inside is closed."""
        if not isinstance(node, Mapping):
            return node
        made = dict(node)
        for key, inner in node.items():
            if key in ("$defs", "definitions", "dependentSchemas") and isinstance(inner, Mapping):
                made[key] = {name: self.part(each) for name, each in inner.items()}
            elif key in _NAMED and isinstance(inner, Mapping):
                made[key] = {name: self.value(each) for name, each in inner.items()}
            elif key in _ALTERNATIVES and isinstance(inner, (list, tuple)):
                made[key] = [self.part(each) for each in inner]
            elif key in _CONDITIONAL:
                made[key] = self.part(inner)
            elif key in ("prefixItems", "items") and isinstance(inner, (list, tuple)):
                made[key] = [self.value(each) for each in inner]
            elif key in _INNER:
                made[key] = self.value(inner)
        return made

    def _parts(self, node: Any, seen: set[str]) -> Iterator[Mapping[str, Any]]:
        """The schema with all that applies to the same value."""
        if not isinstance(node, Mapping):
            return
        self._count(1)
        yield node
        reference = node.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            seen.add(reference)
            yield from self._parts(resolve_reference(self._root, reference), seen)
        for key in _ALTERNATIVES:
            for part in node.get(key) or ():
                yield from self._parts(part, seen)
        for key in (*_CONDITIONAL, "if"):
            yield from self._parts(node.get(key), seen)
        dependent = node.get("dependentSchemas")
        for part in dependent.values() if isinstance(dependent, Mapping) else ():
            yield from self._parts(part, seen)

    def _count(self, names: int) -> None:
        self._names += names
        if self._names > MAX_NAMES:
            raise ToolDeclarationError(
                f"the schema of tool {self._tool!r} uses its definitions too often to be checked",
                tool=self._tool,
                next_step="Use a smaller schema.",
            )
