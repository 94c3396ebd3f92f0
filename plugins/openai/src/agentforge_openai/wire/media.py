"""Content parts of a user's message: text, images, sound and files in the wire's form; and what the Responses form has
alike: which parts the endpoint takes.

A part that the endpoint cannot take is refused by default; where the policy says ``drop``, a line of text stands in
its place, so that the model knows something was there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from agentforge.model import AudioContent, Content, FileContent, ImageContent, Notice, TextContent, ThinkingContent
from agentforge.provider import TurnShape, file_name_of
from agentforge_openai.wire.shape import ChatTurnShape

__all__ = (
    "SentPart",
    "audio_format",
    "data_url",
    "media_of",
    "text_instead",
    "text_or_parts",
    "user_content",
    "wire_part",
)

SentPart: TypeAlias = TextContent | ImageContent | AudioContent | FileContent
"""A part that has a form on the wire."""

_AUDIO_FORMATS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav", "x-m4a": "m4a"}


def user_content(
    parts: Iterable[Content], shape: ChatTurnShape, notices: list[Notice]
) -> str | list[dict[str, object]]:
    """One text where there is only text, else a list of parts."""
    return text_or_parts(parts, lambda part: wire_part(part, shape, notices))


def wire_part(part: SentPart, shape: ChatTurnShape, notices: list[Notice]) -> dict[str, object]:
    """One part. Raises `UnsupportedFeatureError` for what the endpoint cannot take."""
    if isinstance(part, TextContent):
        return {"type": "text", "text": part.text}
    by_url = shape.file_form == "document_url"
    instead = text_instead(part, shape, notices, file_urls=by_url, audio_formats=shape.audio_formats)
    if instead is not None:
        return {"type": "text", "text": instead}
    if isinstance(part, ImageContent):
        image: dict[str, object] = {"url": part.url or data_url(part)}
        if part.detail:
            image["detail"] = part.detail
        return {"type": "image_url", "image_url": image}
    if isinstance(part, AudioContent):
        return {"type": "input_audio", "input_audio": {"data": part.data, "format": audio_format(part)}}
    if by_url:
        named = {"document_name": part.name} if part.name else {}
        return {"type": "document_url", "document_url": part.url or data_url(part), **named}
    name = part.name or file_name_of(part.media_type)
    return {"type": "file", "file": {"filename": name, "file_data": data_url(part)}}


def text_or_parts(
    parts: Iterable[Content], encode: Callable[[SentPart], dict[str, object]]
) -> str | list[dict[str, object]]:
    """One text where there is only text (every server takes that), else a list of encoded parts."""
    found = [part for part in parts if not isinstance(part, ThinkingContent)]
    if all(isinstance(part, TextContent) for part in found):
        return "".join(part.text for part in found if isinstance(part, TextContent))
    return [encode(part) for part in found]


def text_instead(
    part: ImageContent | AudioContent | FileContent,
    shape: TurnShape,
    notices: list[Notice],
    *,
    file_urls: bool,
    audio_formats: frozenset[str] | None = None,
) -> str | None:
    """The line of text for a part that the endpoint cannot take; ``None`` for one that it takes. ``file_urls``: the
    form has files by URL; ``audio_formats`` are the forms of sound that are taken, where the vendor names them. Raises
    `UnsupportedFeatureError` unless the policy says ``drop``."""
    found: tuple[str, str] | None = None
    if isinstance(part, ImageContent):
        if not shape.images:
            found = "images", "images"
        elif part.url is not None and not shape.image_urls and not part.url.startswith("data:"):
            found = "image_urls", "images by URL; it takes data only"
    elif isinstance(part, AudioContent):
        if not shape.audio:
            found = "audio", "audio"
        elif part.data is None:
            found = "audio_urls", "audio by URL; it takes data only"
        elif audio_formats is not None and audio_format(part) not in audio_formats:
            taken = " and ".join(sorted(audio_formats))
            found = "audio", f"audio of the type {part.media_type!r}; it takes {taken}"
    elif not shape.files:
        found = "files", "files"
    elif part.data is None and not file_urls:
        found = "file_urls", "files by URL; it takes data only"
    return None if found is None else shape.left_out(*found, notices)


def audio_format(part: AudioContent) -> str:
    """The short name that these servers have for a form of sound.

    >>> audio_format(AudioContent(data="QUJD", media_type="audio/x-wav"))
    'wav'
    """
    subtype = part.media_type.partition("/")[2].partition(";")[0]
    return _AUDIO_FORMATS.get(subtype, subtype)


def data_url(part: ImageContent | FileContent) -> str:
    """The data of a part as a URL."""
    return f"data:{part.media_type};base64,{part.data}"


def media_of(parts: Iterable[Content]) -> list[ImageContent | AudioContent | FileContent]:
    """The parts that are no text."""
    return [part for part in parts if not isinstance(part, (TextContent, ThinkingContent))]
