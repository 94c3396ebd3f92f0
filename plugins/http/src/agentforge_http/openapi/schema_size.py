"""How large a schema is, counted as the core does when it makes a tool of it: of how many parts, and how deep."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from agentforge_http.openapi.keywords import SUBSCHEMA, SUBSCHEMA_LISTS, SUBSCHEMA_MAPS

__all__ = ("SchemaSize", "size_of")

_ONE = (*SUBSCHEMA, "items", "additionalProperties")
_LISTS = (*SUBSCHEMA_LISTS, "prefixItems")
_NAMED = (*SUBSCHEMA_MAPS, "properties")


@dataclass(frozen=True, slots=True)
class SchemaSize:
    """The number of schemas that one consists of, and of its levels."""

    parts: int
    depth: int


def size_of(schema: Any) -> SchemaSize:
    """The size of a schema, not counting definitions.

    >>> size_of({"type": "object", "properties": {"a": {"items": {"type": "string"}}}})
    SchemaSize(parts=3, depth=3)
    """
    parts = depth = 0
    level = [schema] if isinstance(schema, dict) else []
    while level:
        depth += 1
        parts += len(level)
        level = [inner for node in level for inner in _inner(node) if isinstance(inner, dict)]
    return SchemaSize(parts, depth)


def _inner(node: dict[str, Any]) -> Iterator[Any]:
    for key in _ONE:
        if key in node:
            yield node[key]
    for key in _LISTS:
        if key in node:
            yield from node[key]
    for key in _NAMED:
        if key in node:
            yield from node[key].values()
