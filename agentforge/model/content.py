"""The parts that messages are made of, and the opaque state that providers attach to them.

Order matters: providers that interleave reasoning, text and calls refuse a turn whose parts were moved.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

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


@dataclass(frozen=True, slots=True)
class ImageContent:
    """An image, by ``url`` or as ``data`` in base64 with its ``media_type``; exactly one of the two."""

    url: str | None = None
    data: str | None = None
    media_type: str = "image/png"
    detail: Literal["auto", "low", "high"] | None = None

    def __post_init__(self) -> None:
        _one_source(self.url, self.data, "image")


@dataclass(frozen=True, slots=True)
class AudioContent:
    """Sound, by ``url`` or as ``data`` in base64 with its ``media_type``; exactly one of the two."""

    url: str | None = None
    data: str | None = None
    media_type: str = "audio/wav"

    def __post_init__(self) -> None:
        _one_source(self.url, self.data, "audio")


@dataclass(frozen=True, slots=True)
class FileContent:
    """A file (PDF and the like), by ``url`` or as ``data`` in base64; exactly one of the two."""

    url: str | None = None
    data: str | None = None
    media_type: str = "application/pdf"
    name: str | None = None

    def __post_init__(self) -> None:
        _one_source(self.url, self.data, "file")


@dataclass(frozen=True, slots=True)
class ThinkingContent:
    """The model's reasoning. ``text`` may be empty where only a signature came; ``provider_state`` is replayed."""

    text: str
    provider_state: ProviderState | None = None


Content: TypeAlias = TextContent | ImageContent | AudioContent | FileContent | ThinkingContent


def _one_source(url: str | None, data: str | None, kind: str) -> None:
    if (url is None) == (data is None):
        raise ValueError(f"{kind} content needs exactly one of url and data")
