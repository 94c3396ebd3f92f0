"""Schemas as they go into a request: completed, and in a strict form where that was asked for and is possible."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import Notice

__all__ = ("complete_schema", "make_strict")

_NAMED_MAPS = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_DATA = frozenset({"enum", "const", "default", "examples", "required"})


def complete_schema(schema: Mapping[str, object]) -> dict[str, object]:
    """A root object with ``properties`` and without ``$schema``; servers refuse anything less.

    >>> complete_schema({"$schema": "http://json-schema.org/draft-07/schema#"})
    {'type': 'object', 'properties': {}}
    """
    rest = {key: value for key, value in schema.items() if key not in ("$schema", "type", "properties")}
    kind, properties = schema.get("type"), schema.get("properties")
    return {
        "type": kind if kind is not None else "object",
        "properties": properties if properties is not None else {},
        **rest,
    }


def make_strict(
    schema: Mapping[str, object], what: str, refuses: frozenset[str], notices: list[Notice]
) -> dict[str, object] | None:
    """The schema in the strict subset, or ``None`` (with a notice) where it cannot be brought there."""
    from agentforge.tool.spec import strict_schema

    made = strict_schema(schema)
    if made.problems:
        notices.append(
            Notice(
                "not_strict",
                f"{what} was sent without strict: {'; '.join(made.problems)}",
                {"what": what, "problems": list(made.problems)},
            )
        )
        return None
    notices.extend(Notice("schema_narrowed", f"{what}: {text}", {"what": what}) for text in made.notices)
    removed: set[str] = set()
    held = dict(made.schema)
    if refuses:
        held = _without(held, refuses, removed)
    if removed:
        notices.append(
            Notice(
                "schema_keywords_removed",
                f"{what}: this vendor refuses {', '.join(sorted(removed))} in strict schemas; removed",
                {"what": what, "keywords": sorted(removed)},
            )
        )
    return held


def _without(node: Mapping[str, object], refuses: frozenset[str], removed: set[str]) -> dict[str, object]:
    """A copy without the refused keywords; names of properties and data values are no keywords."""
    made: dict[str, object] = {}
    for key, value in node.items():
        if key in refuses:
            removed.add(key)
        elif key in _NAMED_MAPS and isinstance(value, Mapping):
            made[key] = {
                name: _without(inner, refuses, removed) if isinstance(inner, Mapping) else inner
                for name, inner in value.items()
            }
        elif key in _DATA:
            made[key] = value
        elif isinstance(value, Mapping):
            made[key] = _without(value, refuses, removed)
        elif isinstance(value, (list, tuple)):
            made[key] = [_without(item, refuses, removed) if isinstance(item, Mapping) else item for item in value]
        else:
            made[key] = value
    return made
