"""Content parts in the Responses form: text, images and files, in a user's message or in a tool's result."""

from __future__ import annotations

from collections.abc import Iterable

from agentforge.model import AudioContent, Content, ImageContent, Notice, TextContent
from agentforge.provider import TurnShape, file_name_of
from agentforge_openai.wire.media import SentPart, audio_format, data_url, text_instead, text_or_parts

__all__ = ("content_of", "wire_part")


def content_of(parts: Iterable[Content], shape: TurnShape, notices: list[Notice]) -> str | list[dict[str, object]]:
    """One text where there is only text, else a list of parts."""
    return text_or_parts(parts, lambda part: wire_part(part, shape, notices))


def wire_part(part: SentPart, shape: TurnShape, notices: list[Notice]) -> dict[str, object]:
    """One part. Raises `UnsupportedFeatureError` for what the endpoint cannot take."""
    if isinstance(part, TextContent):
        return {"type": "input_text", "text": part.text}
    instead = text_instead(part, shape, notices, file_urls=True)
    if instead is not None:
        return {"type": "input_text", "text": instead}
    if isinstance(part, ImageContent):
        return {"type": "input_image", "detail": part.detail or "auto", "image_url": part.url or data_url(part)}
    if isinstance(part, AudioContent):
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": audio_format(part)}}
    named: dict[str, object] = {"filename": part.name} if part.name else {}
    if part.data is None:
        return {"type": "input_file", **named, "file_url": part.url}
    named.setdefault("filename", file_name_of(part.media_type))
    return {"type": "input_file", **named, "file_data": data_url(part)}
