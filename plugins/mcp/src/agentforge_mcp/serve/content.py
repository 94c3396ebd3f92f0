"""Tools and results in the protocol's words. Loads the SDK's types; imported only when a server starts."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from typing import Any

import mcp_types as types

from agentforge.model import AudioContent, Content, FileContent, ImageContent, TextContent
from agentforge.tool import BoundTool
from agentforge.tool.execution import ToolExecutionResult

__all__ = ("progress_of", "result_of", "tool_of")

_URI = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")


def tool_of(tool: BoundTool) -> types.Tool:
    """A tool as it is listed. Only what its declared effect says goes into the hints: nothing is made up."""
    specification = tool.specification
    schema = {"type": "object", **specification.parameters.schema}
    hints = None
    if tool.effect is not None:
        hints = types.ToolAnnotations(read_only_hint=tool.effect == "read")
    return types.Tool(
        name=tool.name,
        description=_sendable(specification.description) if specification.description else None,
        input_schema=schema,
        annotations=hints,
    )


def result_of(result: ToolExecutionResult) -> types.CallToolResult:
    """A result as it is sent: its parts, and the object where it is one of JSON."""
    return types.CallToolResult(
        content=[made for part in result.contents if (made := _block(part)) is not None],
        structured_content=None if result.is_error else _structured(result),
        is_error=result.is_error,
    )


def _structured(result: ToolExecutionResult) -> dict[str, Any] | None:
    """The object behind the text, read back from it: so it is what was converted, masked and capped."""
    value = result.result
    if value is None or isinstance(value, str | bytes | int | float | list | tuple):
        return None
    texts = [part.text for part in result.contents if type(part) is TextContent]
    if len(texts) != 1 or not texts[0].startswith("{"):
        return None
    text = _sendable(texts[0])
    try:
        found = json.loads(text, parse_constant=_refuse)
        if "\\u" in text:  # an escape may stand for half a character, which cannot be sent
            found = json.loads(_sendable(json.dumps(found, ensure_ascii=False)))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _sendable(text: str) -> str:
    """The text without halves of characters, which no message can carry."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _block(part: Content) -> types.ContentBlock | None:
    match part:
        case TextContent(text=text):
            return types.TextContent(text=_sendable(text))
        case ImageContent(data=str(data), media_type=kind):
            return types.ImageContent(data=data, mime_type=kind)
        case AudioContent(data=str(data), media_type=kind):
            return types.AudioContent(data=data, mime_type=kind)
        case FileContent(data=str(data), media_type=kind, name=name):
            return types.EmbeddedResource(resource=_resource(data, kind, name or "file"))
        case ImageContent(url=str(url)) | AudioContent(url=str(url)) | FileContent(url=str(url)):
            name = getattr(part, "name", None) or url.rpartition("/")[2] or url
            return types.ResourceLink(uri=_sendable(url), name=_sendable(name), mime_type=part.media_type)
    return None  # reasoning is for no one else


def _resource(data: str, kind: str, name: str) -> types.TextResourceContents | types.BlobResourceContents:
    uri = _sendable(name if _URI.match(name) else f"attachment:///{name}")
    if kind.startswith("text/") or kind in ("application/json", "application/xml"):
        try:
            return types.TextResourceContents(uri=uri, mime_type=kind, text=base64.b64decode(data).decode())
        except ValueError:
            pass  # no text after all
    return types.BlobResourceContents(uri=uri, mime_type=kind, blob=data)


def progress_of(details: Mapping[str, object]) -> tuple[float | None, float | None]:
    """The progress and the total that a notice's details hold, where they are numbers."""
    found = (details.get("progress"), details.get("total"))
    progress, total = (float(each) if type(each) in (int, float) else None for each in found)  # type: ignore[arg-type]
    return progress, total
