"""Is a tool's schema one that can be worked with: an object at its root, bounded, and nothing fetched from anywhere.

Schemas may come from strangers (a remote server, an API description), so that size and references are bounded here,
before any of our walks and any validator sees them (threat S16).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ToolDeclarationError
from agentforge.tool.spec.walk import resolve_reference, subschemas

__all__ = ("MAX_SCHEMA_DEPTH", "MAX_SCHEMA_NODES", "check_schema")

MAX_SCHEMA_DEPTH = 64
"""How deep schemas may be nested."""
MAX_SCHEMA_NODES = 20_000
"""How many schemas one tool's schema may consist of."""
_CHOOSES = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "const", "enum", "if", "not", "oneOf"})


def check_schema(schema: Mapping[str, Any], *, tool: str) -> None:
    """Raise `ToolDeclarationError` for a schema that cannot be the parameters of ``tool``."""
    if not isinstance(schema, Mapping):
        raise _refused(tool, "", "is not a JSON object", "Give the parameters a schema of type object.")
    kind = schema.get("type")
    if kind != "object" and not (kind is None and isinstance(schema.get("properties"), Mapping)) and schema:
        if kind is None and not _CHOOSES.intersection(schema):
            raise _refused(tool, "", "has no type at its root", "Write {type: object, properties: …}.")
        raise _refused(tool, "", f"has the root type {kind!r}", "Put the value below a property of an object.")
    level: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), schema)]
    nodes = depth = 0
    while level:
        depth += 1
        nodes += len(level)
        if depth > MAX_SCHEMA_DEPTH:
            raise _refused(tool, "", f"is nested deeper than {MAX_SCHEMA_DEPTH} levels", "Use a flatter schema.")
        if nodes > MAX_SCHEMA_NODES:
            raise _refused(tool, "", f"has more than {MAX_SCHEMA_NODES:,} parts", "Use a smaller schema.")
        for path, node in level:
            _check_reference(schema, node, path, tool)
        level = [((*path, *steps), inner) for path, node in level for steps, inner in subschemas(node)]


def _check_reference(root: Mapping[str, Any], node: Mapping[str, Any], path: tuple[str, ...], tool: str) -> None:
    seen: set[str] = set()
    current: Any = node
    while isinstance(current, Mapping):
        reference = current.get("$ref", current.get("$dynamicRef"))
        if reference is None:
            return
        if not isinstance(reference, str) or not (reference == "#" or reference.startswith("#/")):
            raise _refused(
                tool,
                "/".join(path),
                f"has the reference {str(reference)[:200]!r}, which is not inside the schema",
                "References are never fetched: put the definition below $defs.",
            )
        if reference in seen:
            raise _refused(tool, "/".join(path), f"refers to itself by {reference!r}", "Remove the circle.")
        seen.add(reference)
        if len(seen) > MAX_SCHEMA_DEPTH:
            step = "Refer to the definition that is meant."
            raise _refused(tool, "/".join(path), f"has a chain of more than {MAX_SCHEMA_DEPTH} references", step)
        current = resolve_reference(root, reference)
        if current is None:
            raise _refused(
                tool, "/".join(path), f"refers to {reference!r}, which is not there", "Add the definition below $defs."
            )


def _refused(tool: str, path: str, fault: str, step: str) -> ToolDeclarationError:
    place = f" at {path}" if path else ""
    return ToolDeclarationError(f"the schema of tool {tool!r} {fault}{place}", tool=tool, next_step=step)
