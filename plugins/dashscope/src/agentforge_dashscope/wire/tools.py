"""The tool block of a request: schemas completed and without references, names fit for the vendor. Strict tools have no
place in this form."""

from __future__ import annotations

from agentforge.model import Notice, ToolSpecification
from agentforge.provider import Endpoint, ToolBlock, alias_map, alias_of, dump_bytes, sent_schemas
from agentforge_dashscope.rows import DashScopeRow

__all__ = ("encode_tools",)


def encode_tools(tools: tuple[ToolSpecification, ...], endpoint: Endpoint[DashScopeRow]) -> ToolBlock:
    """All tools as one JSON array. Raises `UnsupportedFeatureError` when two names collide on the wire."""
    from agentforge.provider import inlined

    pattern = endpoint.profile.tool_name_pattern
    notices: list[Notice] = []
    wire: list[dict[str, object]] = []
    for tool, schema in zip(tools, sent_schemas(tools, endpoint, notices), strict=True):
        function: dict[str, object] = {"name": alias_of(tool.name, pattern)}
        if tool.description:
            function["description"] = tool.description
        function["parameters"] = inlined(schema.parameters)
        wire.append({"type": "function", "function": function})
    aliases = alias_map((tool.name for tool in tools), pattern)
    return ToolBlock(dump_bytes(wire), aliases, False, tuple(notices))
