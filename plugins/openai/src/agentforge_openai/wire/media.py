"""Content parts of a user's message: text, images, sound and files in the wire's form.

A part that the endpoint cannot take is refused by default; where the policy says ``drop``, a line of text stands in
its place, so that the model knows something was there.
"""

from __future__ import annotations

from collections.abc import Iterable

from agentforge.model import AudioContent, Content, FileContent, ImageContent, Notice, TextContent, ThinkingContent
from agentforge.provider import file_name_of
from agentforge_openai.wire.shape import ChatTurnShape

__all__ = ("user_content", "wire_part")

_AUDIO_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav", "x-m4a": "m4a"}


def user_content(
    parts: Iterable[Content], shape: ChatTurnShape, notices: list[Notice]
) -> str | list[dict[str, object]]:
    """One text where there is only text (every server takes that), else a list of parts."""
    found = [part for part in parts if not isinstance(part, ThinkingContent)]
    if all(isinstance(part, TextContent) for part in found):
        return "".join(part.text for part in found if isinstance(part, TextContent))
    return [wire_part(part, shape, notices) for part in found]


def wire_part(
    part: TextContent | ImageContent | AudioContent | FileContent, shape: ChatTurnShape, notices: list[Notice]
) -> dict[str, object]:
    """One part. Raises `UnsupportedFeatureError` for what the endpoint cannot take."""
    if isinstance(part, TextContent):
        return {"type": "text", "text": part.text}
    if isinstance(part, ImageContent):
        if not shape.images:
            return _instead(shape, "images", "images", notices)
        if part.url is not None and not shape.image_urls and not part.url.startswith("data:"):
            return _instead(shape, "image_urls", "images by URL; it takes data only", notices)
        image: dict[str, object] = {"url": part.url or _data_url(part.media_type, part.data)}
        if part.detail:
            image["detail"] = part.detail
        return {"type": "image_url", "image_url": image}
    if isinstance(part, AudioContent):
        if not shape.audio:
            return _instead(shape, "audio", "audio", notices)
        if part.data is None:
            return _instead(shape, "audio_urls", "audio by URL; it takes data only", notices)
        subtype = part.media_type.partition("/")[2].partition(";")[0]
        form = _AUDIO_FORMATS.get(subtype, subtype)
        if shape.audio_formats is not None and form not in shape.audio_formats:
            taken = " and ".join(sorted(shape.audio_formats))
            return _instead(shape, "audio", f"audio of the type {part.media_type!r}; it takes {taken}", notices)
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": form}}
    if not shape.files:
        return _instead(shape, "files", "files", notices)
    if part.data is None:
        return _instead(shape, "file_urls", "files by URL; it takes data only", notices)
    name = part.name or file_name_of(part.media_type)
    return {"type": "file", "file": {"filename": name, "file_data": _data_url(part.media_type, part.data)}}


def _data_url(media_type: str, data: str | None) -> str:
    return f"data:{media_type};base64,{data}"


def _instead(shape: ChatTurnShape, feature: str, what: str, notices: list[Notice]) -> dict[str, object]:
    return {"type": "text", "text": shape.left_out(feature, what, notices)}
