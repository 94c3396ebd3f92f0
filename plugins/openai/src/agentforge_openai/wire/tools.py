"""The tool block of a request: schemas completed, strict where asked and possible, names fit for the vendor."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from agentforge.model import Notice, ToolSpecification
from agentforge_openai.capabilities import Endpoint
from agentforge_openai.wire.json_text import dump_bytes
from agentforge_openai.wire.names import alias_map, alias_of

__all__ = ("ToolBlock", "complete_schema", "encode_tools", "make_strict")

_NAMED_MAPS = frozenset({"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"})
_DATA = frozenset({"enum", "const", "default", "examples", "required"})


@dataclass(frozen=True, slots=True)
class ToolBlock:
    """The encoded tools. ``aliases``: wire name to ours; ``strict``: whether any tool went out strict."""

    body: bytes
    aliases: Mapping[str, str]
    strict: bool
    notices: tuple[Notice, ...]


def encode_tools(tools: tuple[ToolSpecification, ...], endpoint: Endpoint) -> ToolBlock:
    """All tools as one JSON array. Raises `UnsupportedFeatureError` when two names collide on the wire."""
    pattern = endpoint.profile.tool_name_pattern
    notices: list[Notice] = []
    any_strict = False
    wire: list[dict[str, object]] = []
    for tool in tools:
        function: dict[str, object] = {"name": alias_of(tool.name, pattern)}
        if tool.description:
            function["description"] = tool.description
        parameters = complete_schema(tool.parameters.schema)
        held: dict[str, object] | None = None
        if tool.strict:
            held = make_strict(parameters, f"tool {tool.name!r}", endpoint.row.strict_refuses, notices)
        function["parameters"] = parameters if held is None else held
        if held is not None:
            any_strict = function["strict"] = True
        elif endpoint.row.sends_strict_false:
            function["strict"] = False
        wire.append({"type": "function", "function": function})
    aliases = alias_map((tool.name for tool in tools), pattern)
    return ToolBlock(dump_bytes(wire), aliases, any_strict, tuple(notices))


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
