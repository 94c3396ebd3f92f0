"""Messages as text for the model that summarises them: one JSON object a line, so that nothing said can pose as
anything but what was said."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from agentforge.model.content import AudioContent, FileContent, ImageContent, TextContent
from agentforge.model.messages import ChatMessage, SystemMessage, ToolExecutionResultMessage, UserMessage
from agentforge.model.tool_call import ToolExecutionRequest

__all__ = ("cut", "transcript_pieces")

#: What ends a line for some readers and may stand in JSON as it is.
_LINE_ENDS = {0x85: "\\u0085", 0x2028: "\\u2028", 0x2029: "\\u2029"}
_MEDIA = ((ImageContent, "[image]"), (AudioContent, "[sound]"), (FileContent, "[file]"))


def transcript_pieces(messages: Iterable[ChatMessage], max_chars: int) -> Iterator[str]:
    """The messages' lines in pieces of about ``max_chars``; a text of more than half of that is cut in its middle.
    Reasoning and what only a provider reads are left out."""
    piece: list[str] = []
    size = 0
    for message in messages:
        line = json.dumps(_plain(message, max_chars // 2), ensure_ascii=False).translate(_LINE_ENDS)
        if piece and size + len(line) > max_chars:
            yield "\n".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line) + 1
    if piece:
        yield "\n".join(piece)


def _plain(message: ChatMessage, max_chars: int) -> dict[str, Any]:
    texts: list[str] = []
    calls: list[dict[str, str]] = []
    for part in message.contents:
        if isinstance(part, TextContent):
            texts.append(part.text)
        elif isinstance(part, ToolExecutionRequest):
            calls.append({"tool": part.name, "arguments": cut(part.arguments, max_chars)})
        else:
            texts.extend(shown for kind, shown in _MEDIA if isinstance(part, kind))
    line: dict[str, Any] = {"from": _speaker(message), "text": cut("\n".join(texts), max_chars)}
    if isinstance(message, ToolExecutionResultMessage):
        line["tool"] = message.tool_name
        if message.is_error:
            line["failed"] = True
    if calls:
        line["calls"] = calls
    return line


def _speaker(message: ChatMessage) -> str:
    if isinstance(message, UserMessage):
        return message.name or "user"
    if isinstance(message, ToolExecutionResultMessage):
        return "tool"
    return "system" if isinstance(message, SystemMessage) else "assistant"


def cut(text: str, max_chars: int) -> str:
    """The text, its middle replaced by ``…`` where it is longer than that many characters."""
    if len(text) <= max_chars:
        return text
    tail = (max_chars - 1) // 3
    return f"{text[: max_chars - 1 - tail]}…{text[len(text) - tail :] if tail else ''}"
