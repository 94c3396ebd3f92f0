"""The tool block of a request: schemas completed, strict where asked and possible, names fit for the vendor."""

from __future__ import annotations

from typing import Any

from agentforge.model import Notice, ToolSpecification
from agentforge.provider import Endpoint, ToolBlock, alias_map, alias_of, complete_schema, dump_bytes, make_strict

__all__ = ("encode_tools",)


def encode_tools(tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
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
