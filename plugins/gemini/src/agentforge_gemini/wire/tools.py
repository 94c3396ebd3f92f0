"""The function declarations of a request: schemas in the form that the model takes, names fit for the vendor."""

from __future__ import annotations

from agentforge.model import Notice, ToolSpecification
from agentforge.provider import Endpoint, ToolBlock, alias_map, alias_of, dump_bytes, sent_schemas
from agentforge_gemini.rows import GeminiRow

__all__ = ("encode_tools",)


def encode_tools(tools: tuple[ToolSpecification, ...], endpoint: Endpoint[GeminiRow]) -> ToolBlock:
    """All tools as one JSON array. Raises `UnsupportedFeatureError` when two names collide on the wire, and for a tool
    whose schema has no form that the model takes."""
    pattern = endpoint.profile.tool_name_pattern
    notices: list[Notice] = []
    wire: list[dict[str, object]] = []
    key = "parametersJsonSchema" if endpoint.row.family(endpoint.model).json_schema else "parameters"
    sent = sent_schemas(tools, endpoint, notices)
    for tool, schema in zip(tools, sent, strict=True):
        item: dict[str, object] = {"name": alias_of(tool.name, pattern)}
        if tool.description:
            item["description"] = tool.description
        # A tool without parameters says nothing of them; older models refuse an object without properties.
        if schema.parameters.get("properties") or schema.parameters.get("additionalProperties"):
            item[key] = schema.parameters
        wire.append(item)
    aliases = alias_map((tool.name for tool in tools), pattern)
    # The mode that holds calls to their schemas is one for all of them.
    is_strict = any(schema.asked for schema in sent) or all(schema.strict for schema in sent)
    return ToolBlock(dump_bytes(wire), aliases, is_strict, tuple(notices))
