"""Content of users and of results as blocks: texts, images and documents.

A part that the endpoint cannot take is refused by default; where the policy says ``drop``, a line of text stands in
its place, so that the model knows something was there. Empty texts are left out, as the API refuses them.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Iterator
from urllib.parse import unquote_to_bytes

from agentforge.model import AudioContent, Content, FileContent, ImageContent, Notice, TextContent, ThinkingContent
from agentforge_anthropic.wire.shape import MessagesTurnShape

__all__ = ("content_blocks", "is_said")

_IMAGES = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_TEXTUAL = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
_PDF = "application/pdf"


def is_said(part: Content) -> bool:
    """Whether a part of a user's message or of a result goes out at all.

    >>> is_said(TextContent(" ")), is_said(ImageContent(url="https://pics.example/a.png"))
    (False, True)
    """
    if isinstance(part, TextContent):
        return bool(part.text) and not part.text.isspace()
    return not isinstance(part, ThinkingContent)


def content_blocks(
    parts: Iterable[Content], shape: MessagesTurnShape, notices: list[Notice]
) -> Iterator[dict[str, object]]:
    """The blocks. Raises `UnsupportedFeatureError` for what the endpoint cannot take."""
    for part in parts:
        if not is_said(part):
            continue
        if isinstance(part, TextContent):
            yield {"type": "text", "text": part.text}
        elif isinstance(part, ImageContent):
            yield _image(part, shape, notices)
        elif isinstance(part, AudioContent):
            yield _note(shape.left_out("audio", "audio", notices))
        elif isinstance(part, FileContent):
            yield _document(part, shape, notices)


def _image(part: ImageContent, shape: MessagesTurnShape, notices: list[Notice]) -> dict[str, object]:
    if not shape.images:
        return _note(shape.left_out("images", "images", notices))
    url, media_type, data = _source(part)
    if url is not None:
        if not shape.image_urls:
            return _note(shape.left_out("image_urls", "images by URL; it takes data only", notices))
        return {"type": "image", "source": {"type": "url", "url": url}}
    media_type = "image/jpeg" if media_type == "image/jpg" else media_type
    if media_type not in _IMAGES:
        return _note(shape.left_out("images", f"images of the type {media_type!r}", notices))
    return {"type": "image", "source": {"type": "base64", "media_type": media_type, "data": data}}


def _document(part: FileContent, shape: MessagesTurnShape, notices: list[Notice]) -> dict[str, object]:
    if not shape.files:
        return _note(shape.left_out("files", "files", notices))
    url, media_type, data = _source(part)
    kind = media_type.partition(";")[0].strip()
    source: dict[str, object] | None = None
    if url is not None:
        if kind != _PDF:
            return _note(shape.left_out("file_urls", "files by URL that are no PDF", notices))
        source = {"type": "url", "url": url}
    elif kind == _PDF:
        source = {"type": "base64", "media_type": _PDF, "data": data}
    elif kind.startswith("text/") or kind in _TEXTUAL or kind.endswith(("+json", "+xml")):
        text = _text_of(data or "")
        if not text:
            what = "an empty text file" if text == "" else "a text file whose data is no base64 of UTF-8 text"
            return _note(shape.left_out("files", what, notices))
        source = {"type": "text", "media_type": "text/plain", "data": text}
    if source is None:
        return _note(shape.left_out("files", f"files of the type {kind!r}; it takes PDF and text", notices))
    block: dict[str, object] = {"type": "document", "source": source}
    if part.name:
        block["title"] = part.name
    return block


def _source(part: ImageContent | FileContent) -> tuple[str | None, str, str | None]:
    """The address that the provider fetches, or the type and the base64 of the data, those in a ``data:`` URL too."""
    if part.url is None or part.url[:5].lower() != "data:":
        return part.url, part.media_type, part.data
    head, _, data = part.url[5:].partition(",")
    media_type, *marks = head.split(";")
    if "base64" not in marks:
        data = base64.b64encode(unquote_to_bytes(data)).decode()
    return None, media_type or part.media_type, data


def _text_of(data: str) -> str | None:
    try:
        return base64.b64decode(data, validate=True).decode()
    except (binascii.Error, ValueError):
        return None


def _note(text: str) -> dict[str, object]:
    return {"type": "text", "text": text}
