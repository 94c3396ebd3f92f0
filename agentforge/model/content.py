"""The parts that messages are made of, and the opaque state that providers attach to them.

Order matters: providers that interleave reasoning, text and calls refuse a turn whose parts were moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from agentforge.model.media_source import media_source

__all__ = (
    "AudioContent",
    "Content",
    "FileContent",
    "ImageContent",
    "ProviderState",
    "TextContent",
    "ThinkingContent",
)


@dataclass(frozen=True, slots=True)
class ProviderState:
    """What one provider wants back unchanged (signatures, encrypted reasoning), and no other may see.

    ``provider`` names who may read it, ``data`` is a JSON object and never interpreted by the core.
    """

    provider: str
    data: Mapping[str, object]

    def __hash__(self) -> int:
        return hash(self.provider)


@dataclass(frozen=True, slots=True)
class TextContent:
    """Text."""

    text: str
    provider_state: ProviderState | None = None


@dataclass(frozen=True, slots=True, init=False)
class ImageContent:
    """An image, by ``url`` or as ``data`` with its ``media_type``; exactly one of the two.

    ``data`` takes the bytes of a file, or a text in base64, and is kept in base64; ``url`` is an address that the
    provider fetches, or a ``data:`` URL. Raises ``ValueError`` for a text that is no base64, and for a path or a
    ``file:`` URL, which no provider can fetch: read the file and give its bytes. Say the ``media_type`` of all but PNG.

    >>> ImageContent(data=b"...", media_type="image/jpeg")
    ImageContent(url=None, data='Li4u', media_type='image/jpeg', detail=None)
    """

    url: str | None
    data: str | None
    media_type: str
    detail: Literal["auto", "low", "high"] | None

    def __init__(
        self,
        url: str | None = None,
        data: str | bytes | None = None,
        media_type: str = "image/png",
        detail: Literal["auto", "low", "high"] | None = None,
    ) -> None:
        _put_source(self, url, data, "image")
        object.__setattr__(self, "media_type", media_type)
        object.__setattr__(self, "detail", detail)


@dataclass(frozen=True, slots=True, init=False)
class AudioContent:
    """Sound, by ``url`` or as ``data`` with its ``media_type``; exactly one of the two.

    ``data`` takes the bytes of a file, or a text in base64, and is kept in base64; see `ImageContent`. Say the
    ``media_type`` of all but WAV.
    """

    url: str | None
    data: str | None
    media_type: str

    def __init__(self, url: str | None = None, data: str | bytes | None = None, media_type: str = "audio/wav") -> None:
        _put_source(self, url, data, "audio")
        object.__setattr__(self, "media_type", media_type)


@dataclass(frozen=True, slots=True, init=False)
class FileContent:
    """A file (PDF and the like), by ``url`` or as ``data`` with its ``media_type``; exactly one of the two.

    ``data`` takes the bytes of a file, or a text in base64, and is kept in base64; see `ImageContent`. Say the
    ``media_type`` of all but PDF, and the ``name``, which some providers want.
    """

    url: str | None
    data: str | None
    media_type: str
    name: str | None

    def __init__(
        self,
        url: str | None = None,
        data: str | bytes | None = None,
        media_type: str = "application/pdf",
        name: str | None = None,
    ) -> None:
        _put_source(self, url, data, "file")
        object.__setattr__(self, "media_type", media_type)
        object.__setattr__(self, "name", name)


@dataclass(frozen=True, slots=True)
class ThinkingContent:
    """The model's reasoning. ``text`` may be empty where only a signature came; ``provider_state`` is replayed."""

    text: str
    provider_state: ProviderState | None = None


Content: TypeAlias = TextContent | ImageContent | AudioContent | FileContent | ThinkingContent


def _put_source(part: object, url: str | None, data: str | bytes | None, kind: str) -> None:
    url, data = media_source(url, data, kind)
    object.__setattr__(part, "url", url)
    object.__setattr__(part, "data", data)
