"""The tool block of a request: flat, and ``strict`` always said, as a server that is not told tries it by itself."""

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
        function: dict[str, object] = {"type": "function", "name": alias_of(tool.name, pattern)}
        if tool.description:
            function["description"] = tool.description
        wire.append({**function, "parameters": schema.parameters, "strict": schema.strict})
    aliases = alias_map((tool.name for tool in tools), pattern)
    return ToolBlock(dump_bytes(wire), aliases, any(schema.asked for schema in schemas), tuple(notices))
