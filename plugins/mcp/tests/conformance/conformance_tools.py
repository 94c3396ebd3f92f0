"""The tools that the server scenarios of the conformance suite call by name."""

from __future__ import annotations

import asyncio
import base64
import logging
from collections.abc import Sequence

from agentforge.model import (
    AudioContent,
    Content,
    FileContent,
    ImageContent,
    TextContent,
    ToolExecutionRequest,
    ToolSpecification,
)
from agentforge.tool import BoundTool, tool
from agentforge.tool.execution import Run, ToolContext, bound_tool_from

_PNG = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
_WAV = base64.b64encode(
    b"RIFF&\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0@\x1f\0\0\x80>\0\0\x02\0\x10\0data\x02\0\0\0\0\0"
).decode()

_SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def _file(uri: str, media_type: str, text: str) -> FileContent:
    return FileContent(data=base64.b64encode(text.encode()).decode(), media_type=media_type, name=uri)


class ConformanceTools:
    """One tool a scenario."""

    @tool("Gives a text.", effect="read")
    def test_simple_text(self) -> str:
        return "This is a simple text response for testing."

    @tool("Gives an image.", effect="read")
    def test_image_content(self) -> Content:
        return ImageContent(data=_PNG)

    @tool("Gives a sound.", effect="read")
    def test_audio_content(self) -> Content:
        return AudioContent(data=_WAV)

    @tool("Gives a file.", effect="read")
    def test_embedded_resource(self) -> Content:
        return _file("test://embedded-resource", "text/plain", "This is an embedded resource content.")

    @tool("Gives a text, an image and a file.", effect="read")
    def test_multiple_content_types(self) -> list[Content]:
        return [
            TextContent("Multiple content types test:"),
            ImageContent(data=_PNG),
            _file("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ]

    @tool("Fails.")
    def test_error_handling(self) -> str:
        raise RuntimeError("This tool intentionally returns an error for testing")

    @tool("Writes to the log.")
    def test_logging_tool(self) -> str:
        logging.getLogger(__name__).warning("this is for our own log")
        return "logged"

    @tool("Says how far it is.")
    async def test_tool_with_progress(self, context: ToolContext) -> str:
        for percent in (0, 50, 100):
            await context.notify("progress", f"{percent} percent", {"progress": percent, "total": 100})
            await asyncio.sleep(0.01)
        return "All is done."


_HEADERS = {
    "type": "object",
    "properties": {"region": {"type": "string", "x-mcp-header": "Region"}, "query": {"type": "string"}},
    "required": ["region", "query"],
}


class ChangingTools:
    """A list that another one of its tools changes."""

    def __init__(self) -> None:
        trigger = ToolSpecification("test_trigger_tool_change", "Changes the list of tools.")
        self._trigger = bound_tool_from(trigger, self._change)
        self._tools: tuple[BoundTool, ...] = (self._trigger,)

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        return self._tools

    def _change(self, request: ToolExecutionRequest) -> str:
        other = ToolSpecification(f"test_changed_{len(self._tools)}", "Came later.")
        self._tools = (*self._tools[:8], bound_tool_from(other, lambda request: "here"))
        return "changed"


class SchemaTools:
    """Tools whose schemas are not those that a signature makes."""

    def __init__(self) -> None:
        specification = ToolSpecification(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            _SCHEMA,  # type: ignore[arg-type]
        )
        headers = ToolSpecification("test_custom_headers", "Takes a value that a header repeats.", _HEADERS)  # type: ignore[arg-type]
        self._tools = tuple(
            bound_tool_from(each, lambda request: request.arguments, effect="read") for each in (specification, headers)
        )

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        return self._tools
