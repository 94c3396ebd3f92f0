"""Content of users and of results: one text, and the data of images beside it.

A part that the endpoint cannot take is refused by default; where the policy says ``drop``, a line of text stands in
its place, so that the model knows something was there.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from urllib.parse import unquote_to_bytes

from agentforge.model import AudioContent, Content, ImageContent, Notice, TextContent, ThinkingContent
from agentforge.provider import TurnShape

__all__ = ("text_and_images",)


def text_and_images(parts: Iterable[Content], shape: TurnShape, notices: list[Notice]) -> tuple[str, list[str]]:
    """The text, and images in base64. Raises `UnsupportedFeatureError` for what the endpoint cannot take."""
    texts: list[str] = []
    images: list[str] = []
    glue = ""
    for part in parts:
        if isinstance(part, TextContent):
            texts.append(part.text)
            continue
        if isinstance(part, ThinkingContent):
            continue
        glue = "\n"  # what was on both sides of it is no longer one text
        found = _data(part, shape, notices)
        if isinstance(found, bytes):
            images.append(found.decode())
        else:
            texts.append(found)
    return glue.join(texts), images


def _data(part: Content, shape: TurnShape, notices: list[Notice]) -> bytes | str:
    """The data in base64, or the line of text for a part that cannot be sent."""
    if isinstance(part, ImageContent):
        if not shape.images:
            return shape.left_out("images", "images", notices)
        if part.data is not None:
            return part.data.encode()
        data = _in_url(part.url or "")
        return shape.left_out("image_urls", "images by URL; it takes data only", notices) if data is None else data
    if isinstance(part, AudioContent):
        if not shape.audio:
            return shape.left_out("audio", "audio", notices)
        # Models that hear take sound where others take images.
        if part.data is not None:
            return part.data.encode()
        return shape.left_out("audio_urls", "audio by URL; it takes data only", notices)
    return shape.left_out("files", "files", notices)


def _in_url(url: str) -> bytes | None:
    """The data of a ``data:`` URL in base64; ``None`` for an address."""
    if url[:5].lower() != "data:":
        return None
    head, _, data = url[5:].partition(",")
    plain = unquote_to_bytes(data)
    return plain if "base64" in head.split(";")[1:] else base64.b64encode(plain)
