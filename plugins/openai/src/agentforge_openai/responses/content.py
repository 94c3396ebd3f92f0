"""Content parts in this form: text, images and files, in a user's message or in a tool's result.

A part that the endpoint cannot take is refused by default; where the policy says ``drop``, a line of text stands in
its place, so that the model knows something was there.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentforge.model import AudioContent, Content, FileContent, ImageContent, Notice, TextContent, ThinkingContent
from agentforge.provider import TurnShape, file_name_of

__all__ = ("content_of", "wire_part")


def content_of(parts: Iterable[Content], shape: TurnShape, notices: list[Notice]) -> str | list[dict[str, object]]:
    """One text where there is only text, else a list of parts."""
    found = [part for part in parts if not isinstance(part, ThinkingContent)]
    if all(isinstance(part, TextContent) for part in found):
        return "".join(part.text for part in found if isinstance(part, TextContent))
    return [wire_part(part, shape, notices) for part in found]


def wire_part(
    part: TextContent | ImageContent | AudioContent | FileContent, shape: TurnShape, notices: list[Notice]
) -> dict[str, object]:
    """One part. Raises `UnsupportedFeatureError` for what the endpoint cannot take."""
    if isinstance(part, TextContent):
        return {"type": "input_text", "text": part.text}
    if isinstance(part, ImageContent):
        if not shape.images:
            return _instead(shape, "images", "images", notices)
        if part.url is not None and not shape.image_urls and not part.url.startswith("data:"):
            return _instead(shape, "image_urls", "images by URL; it takes data only", notices)
        url = part.url or f"data:{part.media_type};base64,{part.data}"
        return {"type": "input_image", "detail": part.detail or "auto", "image_url": url}
    if isinstance(part, AudioContent):
        if not shape.audio:
            return _instead(shape, "audio", "audio", notices)
        if part.data is None:
            return _instead(shape, "audio_urls", "audio by URL; it takes data only", notices)
        form = part.media_type.partition("/")[2].partition(";")[0]
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": {"mpeg": "mp3"}.get(form, form)}}
    if not shape.files:
        return _instead(shape, "files", "files", notices)
    named: dict[str, object] = {"filename": part.name} if part.name else {}
    if part.data is None:
        return {"type": "input_file", **named, "file_url": part.url}
    named.setdefault("filename", file_name_of(part.media_type))
    return {"type": "input_file", **named, "file_data": f"data:{part.media_type};base64,{part.data}"}


def _instead(shape: TurnShape, feature: str, what: str, notices: list[Notice]) -> dict[str, object]:
    return {"type": "input_text", "text": shape.left_out(feature, what, notices)}
