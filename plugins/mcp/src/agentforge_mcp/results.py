"""What an MCP tool gave back, as a result of ours: text, pictures, sound and files for the model, the object for the
application, each thing once.

Takes the SDK's values by their fields and needs nothing of the SDK itself.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from typing import Any

from agentforge.errors import ToolExecutionError
from agentforge.masking import Secrets
from agentforge.model import AudioContent, Content, FileContent, ImageContent, TextContent
from agentforge.tool.execution import ToolExecutionResult
from agentforge_mcp.server_log import shown

__all__ = ("masked", "prompt_result", "resource_result", "result_of")

_NOTHING = "Success"
_MOST_PARTS = 1_000


def result_of(answer: Any, *, tool: str, max_bytes: int, keep_meta: bool = False) -> ToolExecutionResult:
    """The SDK's ``CallToolResult`` as a result. Raises `ToolExecutionError` with the text for the model where the
    server says that the call failed.

    Structured content is the result's object; the model is told it where no text says the same. ``_meta`` is dropped
    unless it is to be kept, as the attribute ``_meta``.
    """
    parts = _parts(answer.content, max_bytes)
    if answer.is_error:
        text = "\n".join(part.text for part in parts if isinstance(part, TextContent)).strip()
        said = text or "it gave no reason"
        raise ToolExecutionError(said, tool=tool)
    structured = answer.structured_content
    if structured is not None and not _said(parts, structured):
        parts.append(TextContent(_bounded(json.dumps(structured, ensure_ascii=False), max_bytes)))
    attributes = {"_meta": dict(answer.meta)} if keep_meta and answer.meta else {}
    return ToolExecutionResult(
        parts=_joined(parts) or [TextContent(_NOTHING)], result=structured, attributes=attributes
    )


def resource_result(answer: Any, *, max_bytes: int) -> ToolExecutionResult:
    """The SDK's ``ReadResourceResult``: the contents of a resource."""
    parts = _parts(answer.contents, max_bytes, _resource)
    return ToolExecutionResult(parts=_joined(parts) or [TextContent("The resource is empty.")])


def prompt_result(answer: Any, *, max_bytes: int) -> ToolExecutionResult:
    """The SDK's ``GetPromptResult``: each message with its role before it."""
    parts: list[Content] = []
    for message in answer.messages:
        parts.append(TextContent(f"{message.role}:"))
        parts.extend(_parts([message.content], max_bytes))
    return ToolExecutionResult(parts=_joined(parts) or [TextContent("The prompt is empty.")])


def masked(result: ToolExecutionResult, secrets: Secrets) -> ToolExecutionResult:
    """The result without what the server was given to keep, in texts and in the object."""
    if not secrets:
        return result
    parts = [
        TextContent(secrets.mask(each.text)) if isinstance(each, TextContent) else each for each in result.contents
    ]
    value = result.result
    if value is not None:
        written = json.dumps(value)
        if (without := secrets.mask(written)) != written:
            try:
                value = json.loads(without)
            except ValueError:
                value = None
    return ToolExecutionResult(parts=parts, result=value, attributes=result.attributes)


def _parts(
    blocks: Sequence[Any], max_bytes: int, made_of: Callable[[Any, int], tuple[Content, int]] | None = None
) -> list[Content]:
    left, parts = max_bytes, list[Content]()
    for at, block in enumerate(blocks):
        if not left or at == _MOST_PARTS:
            parts.append(TextContent(f"[cut: {len(blocks) - at:,} further parts are left out]"))
            break
        part, left = (made_of or _part)(block, left)
        parts.append(part)
    return parts


def _part(block: Any, left: int) -> tuple[Content, int]:
    """A content block as a part, and how many bytes there is room for after it."""
    if block.type == "text":
        return _text(block.text, left)
    if block.type in ("image", "audio"):
        return _data(block.data, block.mime_type, left)
    if block.type == "resource":
        return _resource(block.resource, left)
    about = f" ({block.mime_type})" if block.mime_type else ""
    more = f": {block.description}" if block.description else ""
    return _text(f"[resource {block.name}{about} at {block.uri}]{more}", left)


def _resource(resource: Any, left: int) -> tuple[Content, int]:
    text = getattr(resource, "text", None)
    if text is not None:
        return _text(text, left)
    return _data(resource.blob, resource.mime_type or "application/octet-stream", left, str(resource.uri))


def _text(text: str, left: int) -> tuple[Content, int]:
    made = _bounded(text, left)
    return TextContent(made), max(0, left - len(made.encode(errors="replace")))


def _data(data: str, media_type: str, left: int, uri: str | None = None) -> tuple[Content, int]:
    """Pictures, sound and documents as what they are; what no model takes, or does not fit, as a note."""
    kind, label = media_type.partition("/")[0], shown(media_type, 80)
    place = f" at {shown(uri, 200)}" if uri else ""
    if len(data) > left:
        return TextContent(f"[{label}{place} of {len(data) * 3 // 4:,} bytes: too large to be given here]"), left
    try:
        size = len(base64.b64decode(data, validate=True))
    except (binascii.Error, ValueError):
        return TextContent(f"[{label}{place}: its data is no base64]"), left
    if kind == "image":
        return ImageContent(data=data, media_type=media_type), left - len(data)
    if kind == "audio":
        return AudioContent(data=data, media_type=media_type), left - len(data)
    if media_type == "application/pdf":
        return FileContent(data=data, media_type=media_type, name=_file_name(uri)), left - len(data)
    return TextContent(f"[{label}{place} of {size:,} bytes]"), left


def _file_name(uri: str | None) -> str | None:
    name = (uri or "").rpartition("/")[2]
    return shown(name, 100) or None


def _bounded(text: str, left: int) -> str:
    """The text, cut where there is no more room, at a character and with a note."""
    if len(text) * 4 <= left:
        return text
    data = text.encode(errors="replace")
    if len(data) <= left:
        return text
    return f"{data[:left].decode(errors='ignore')}\n[cut: {len(data) - left:,} of {len(data):,} bytes are left out]"


def _said(parts: Iterable[Content], structured: Any) -> bool:
    """Whether a text is the structured value: as JSON, or the one value that a server put into an object; blanks at
    the end aside."""
    inner = next(iter(structured.values())) if isinstance(structured, dict) and len(structured) == 1 else structured
    values = {_canonical(structured), _canonical(inner)}
    for part in parts:
        if not isinstance(part, TextContent):
            continue
        if isinstance(inner, str) and part.text.rstrip() == inner.rstrip():
            return True
        try:
            if _canonical(json.loads(part.text)) in values:
                return True
        except (ValueError, RecursionError):
            pass
    return False


def _canonical(value: Any) -> str:
    return json.dumps(value, sort_keys=True)


def _joined(parts: Iterable[Content]) -> list[Content]:
    """Texts that follow one another as one, line by line: parts of text are read without anything between them."""
    made: list[Content] = []
    for is_text, group in groupby(parts, key=lambda part: isinstance(part, TextContent)):
        if is_text:
            made.append(TextContent("\n".join(part.text for part in group if isinstance(part, TextContent))))
        else:
            made.extend(group)
    return made
