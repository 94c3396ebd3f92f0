"""The tool block of a request: schemas completed, strict where asked and possible, names fit for the vendor."""

from __future__ import annotations

from typing import Any

from agentforge.model import Notice, ToolSpecification
from agentforge.provider import Endpoint, ToolBlock, alias_map, alias_of, dump_bytes, sent_schemas

__all__ = ("encode_tools",)


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
        function["parameters"] = schema.parameters
        if schema.strict or endpoint.row.sends_strict_false:
            function["strict"] = schema.strict
        wire.append({"type": "function", "function": function})
    aliases = alias_map((tool.name for tool in tools), pattern)
    return ToolBlock(dump_bytes(wire), aliases, any(schema.asked for schema in schemas), tuple(notices))
