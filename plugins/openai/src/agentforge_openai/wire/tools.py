"""The tool block of a request: schemas completed, strict where asked and possible, names fit for the vendor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model import Notice, ToolSpecification
from agentforge.provider import Endpoint, ToolBlock, alias_map, alias_of, dump_bytes, sent_schemas

__all__ = ("encode_tools", "written_out")


def written_out(schema: Mapping[str, object], endpoint: Endpoint[Any]) -> dict[str, object]:
    """The schema, with its definitions where they are referred to if the vendor's models read it better so."""
    if not endpoint.row.inlines_definitions:
        return dict(schema)
    from agentforge.provider import inlined

    return inlined(schema)


def encode_tools(tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
    """All tools as one JSON array. Raises `UnsupportedFeatureError` when two names collide on the wire."""
    pattern = endpoint.profile.tool_name_pattern
    notices: list[Notice] = []
    schemas = sent_schemas(tools, endpoint, notices)
    wire: list[dict[str, object]] = []
    for tool, schema in zip(tools, schemas, strict=True):
        function: dict[str, object] = {"name": alias_of(tool.name, pattern)}
        if tool.description:
            function["description"] = tool.description
        function["parameters"] = schema.parameters if schema.strict else written_out(schema.parameters, endpoint)
        if schema.strict or endpoint.row.sends_strict_false:
            function["strict"] = schema.strict
        wire.append({"type": "function", "function": function})
    aliases = alias_map((tool.name for tool in tools), pattern)
    return ToolBlock(dump_bytes(wire), aliases, any(schema.asked for schema in schemas), tuple(notices))
