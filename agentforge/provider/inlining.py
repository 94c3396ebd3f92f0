"""Schemas without references, for models that read what stands in its place better than what stands in ``$defs``.

A reference to what holds itself stays, as does one to anywhere else than the schema's own definitions, and so do
definitions as long as a reference is left. A schema that would grow beyond measure is sent as it is. All else stays as
it was declared, for vendors that pass every keyword on; for others there is `SchemaSubset`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ("inlined",)

_DEFINITIONS = ("$defs", "definitions")
#: Where values stand, which may look like schemas; and where names do, which may look like keywords.
_VALUES = frozenset({"const", "default", "enum", "example", "examples"})
_NAMED = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
#: What says nothing of which values fit, so that the nearer one counts.
_NOTES = frozenset(
    {"$comment", "default", "deprecated", "description", "example", "examples", "readOnly", "title", "writeOnly"}
)
_MOST_PARTS = 8_000


def inlined(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema with its own definitions where they are referred to; notes beside a reference go before theirs, and
    what else stands there holds as well.

    >>> inlined({"properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "string"}}})
    {'properties': {'a': {'type': 'string'}}}
    """
    if not any(name in schema for name in _DEFINITIONS):
        return dict(schema)
    known = {
        f"#/{place}/{name.replace('~', '~0').replace('/', '~1')}": definition
        for place in _DEFINITIONS
        if isinstance(found := schema.get(place), Mapping)
        for name, definition in found.items()
        if isinstance(name, str)
    }
    writer = _Writer(known)
    try:
        made: dict[str, Any] = writer.written(
            {name: value for name, value in schema.items() if name not in _DEFINITIONS}, ()
        )
    except (RecursionError, _TooLargeError):
        return dict(schema)
    if writer.left_some:
        made |= {name: schema[name] for name in _DEFINITIONS if name in schema}
    return made


class _TooLargeError(Exception):
    pass


class _Writer:
    def __init__(self, known: Mapping[str, Any]) -> None:
        self._known = known
        self._parts = 0
        self.left_some = False

    def written(self, node: Any, inside: tuple[str, ...]) -> Any:
        """The part with what it refers to; ``inside`` are the definitions that it is in."""
        self._parts += 1
        if self._parts > _MOST_PARTS:
            raise _TooLargeError
        if isinstance(node, (list, tuple)):
            return [self.written(each, inside) for each in node]
        if not isinstance(node, Mapping):
            return node
        reference = node.get("$ref")
        if not isinstance(reference, str):
            return self._members(node, inside)
        target = self._known.get(reference)
        if reference in inside or not isinstance(target, Mapping):
            self.left_some = True
            return dict(node)
        beside = self._members({name: value for name, value in node.items() if name != "$ref"}, inside)
        return _joined(self.written(target, (*inside, reference)), beside)

    def _members(self, node: Mapping[str, Any], inside: tuple[str, ...]) -> dict[str, Any]:
        made: dict[str, Any] = {}
        for name, value in node.items():
            if name in _VALUES:
                made[name] = value
            elif name in _NAMED and isinstance(value, Mapping):
                made[name] = {key: self.written(each, inside) for key, each in value.items()}
            else:
                made[name] = self.written(value, inside)
        return made


def _joined(target: dict[str, Any], beside: dict[str, Any]) -> dict[str, Any]:
    """A definition with what stands beside the reference to it: both hold."""
    beside = {name: value for name, value in beside.items() if value not in ({}, []) or name not in target}
    if any(name in target and target[name] != value for name, value in beside.items() if name not in _NOTES):
        return {**beside, "allOf": [target, *beside.get("allOf", ())]}
    return {**target, **beside}
