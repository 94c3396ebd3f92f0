"""The tool block of a request: schemas in what the server keeps of them, names fit for the models' templates."""

from __future__ import annotations

from typing import Any

from agentforge.model import Notice, ToolSpecification
from agentforge.provider import Endpoint, ToolBlock, alias_map, alias_of, dump_bytes, sent_schemas

__all__ = ("encode_tools",)


def encode_tools(tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
    """All tools as one JSON array. Raises `UnsupportedFeatureError` when two names collide on the wire, and for a tool
    whose schema has no form here."""
    pattern = endpoint.profile.tool_name_pattern
    notices: list[Notice] = []
    wire: list[dict[str, object]] = []
    for tool, schema in zip(tools, sent_schemas(tools, endpoint, notices), strict=True):
        parameters = dict(schema.parameters)
        # The server drops a description of the whole of the parameters.
        description = _joined(tool.description, parameters.pop("description", None))
        function: dict[str, object] = {"name": alias_of(tool.name, pattern)}
        if description:
            function["description"] = description
        function["parameters"] = parameters
        wire.append({"type": "function", "function": function})
    aliases = alias_map((tool.name for tool in tools), pattern)
    return ToolBlock(dump_bytes(wire), aliases, False, tuple(notices))


def _joined(said: str | None, more: object) -> str | None:
    if not isinstance(more, str) or not more or (said and more in said):
        return said
    return f"{said}\n{more}" if said else more
