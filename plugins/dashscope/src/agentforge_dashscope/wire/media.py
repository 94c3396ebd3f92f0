"""The content of a message: one text, or a list of parts with one key each (``text``, ``image``, ``audio``, ``video``,
``file``).

A part that the endpoint cannot take is refused by default; where the policy says ``drop``, a line of text stands in
its place, so that the model knows something was there.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeAlias

from agentforge.model import AudioContent, Content, FileContent, ImageContent, Notice, TextContent, ThinkingContent
from agentforge_dashscope.wire.shape import DashScopeTurnShape

__all__ = ("WireContent", "content_of", "media_of", "text_content")

WireContent: TypeAlias = str | list[dict[str, str]]
"""A content as it is sent."""
_Media: TypeAlias = ImageContent | AudioContent | FileContent


def text_content(text: str, shape: DashScopeTurnShape) -> WireContent:
    """A content that is only text."""
    return [{"text": text}] if shape.multimodal else text


def content_of(parts: Iterable[Content], shape: DashScopeTurnShape, notices: list[Notice]) -> WireContent:
    """One text where the endpoint takes that and there is nothing else, else a list of parts. Raises
    `UnsupportedFeatureError` for what the endpoint cannot take."""
    made: list[dict[str, str]] = []
    for part in parts:
        if isinstance(part, TextContent):
            made.append({"text": part.text})
        elif not isinstance(part, ThinkingContent):
            made.append(_part(part, shape, notices))
    if not shape.multimodal and all("text" in part for part in made):
        return "".join(part["text"] for part in made)
    return made or [{"text": ""}]


def media_of(parts: Iterable[Content]) -> list[_Media]:
    """The parts that are no text."""
    return [part for part in parts if not isinstance(part, (TextContent, ThinkingContent))]


def _part(part: _Media, shape: DashScopeTurnShape, notices: list[Notice]) -> dict[str, str]:
    found = _lacking(part, shape)
    if found is not None:
        return {"text": shape.left_out(*found, notices)}
    source = part.url or f"data:{part.media_type};base64,{part.data}"
    if isinstance(part, ImageContent):
        if part.detail:
            _left_out("image_detail_left_out", f"the detail {part.detail!r} of an image", shape, notices)
        return {"image": source}
    if isinstance(part, AudioContent):
        return {"audio": source}
    if part.name:
        _left_out("file_name_left_out", f"the name {part.name!r} of a file", shape, notices)
    return {"video" if _is_video(part) else "file": source}


def _lacking(part: _Media, shape: DashScopeTurnShape) -> tuple[str, str] | None:
    """The feature that the endpoint lacks for this part, and in words."""
    if isinstance(part, ImageContent):
        return None if shape.images else ("images", "images")
    if isinstance(part, AudioContent):
        return None if shape.audio else ("audio", "audio")
    if not shape.files:
        return "files", "files"
    if part.data is not None and not _is_video(part):
        return "files", "files as data; it takes their address only"
    return None


def _is_video(part: FileContent) -> bool:
    return part.media_type.startswith("video/")


def _left_out(code: str, what: str, shape: DashScopeTurnShape, notices: list[Notice]) -> None:
    notices.append(Notice(code, f"{shape.vendor} has no place for {what}; it was left out"))
