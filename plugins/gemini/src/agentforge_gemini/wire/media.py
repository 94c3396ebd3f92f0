"""Content of users and of results as parts: texts, pictures, sound, documents, as data or by their address.

A part that the endpoint cannot take is refused by default; where the policy says ``drop``, a line of text stands in its
place, so that the model knows something was there. Empty texts are left out, as the API refuses them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from urllib.parse import unquote_to_bytes, urlsplit

from agentforge.model import AudioContent, Content, FileContent, ImageContent, Notice, TextContent, ThinkingContent
from agentforge_gemini.wire.shape import GeminiTurnShape

__all__ = ("content_parts", "file_line", "is_said", "media_part", "stands_in_result")

_IMAGES = frozenset({"image/png", "image/jpeg", "image/webp", "image/heic", "image/heif"})
#: What the result of a call can hold.
_IN_RESULTS = frozenset({"image/png", "image/jpeg", "image/webp", "application/pdf", "text/plain"})
_TEXTUAL = frozenset({"application/json", "application/xml", "application/yaml", "application/x-yaml"})
_PDF = "application/pdf"
#: The type by the ending of an address, where the one that was given is only the default.
_ENDINGS = {
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "webp": "image/webp",
    "heic": "image/heic",
    "heif": "image/heif",
    "mp3": "audio/mp3",
    "ogg": "audio/ogg",
    "flac": "audio/flac",
    "txt": "text/plain",
    "csv": "text/csv",
    "html": "text/html",
    "mp4": "video/mp4",
}
_DEFAULTS = frozenset({"image/png", "audio/wav", _PDF})


def is_said(part: Content) -> bool:
    """Whether a part of a user's message or of a result goes out at all.

    >>> is_said(TextContent("")), is_said(ImageContent(url="https://pics.example/a.png"))
    (False, True)
    """
    if isinstance(part, TextContent):
        return bool(part.text)
    return not isinstance(part, ThinkingContent)


def content_parts(
    parts: Iterable[Content], shape: GeminiTurnShape, notices: list[Notice]
) -> Iterator[dict[str, object]]:
    """The parts. Raises `UnsupportedFeatureError` for what the endpoint cannot take."""
    for part in parts:
        if not is_said(part):
            continue
        if isinstance(part, TextContent):
            yield {"text": part.text}
            continue
        if isinstance(part, FileContent) and part.name:
            yield {"text": file_line(part.name)}
        yield media_part(part, shape, notices)


def media_part(part: Content, shape: GeminiTurnShape, notices: list[Notice]) -> dict[str, object]:
    """A picture, sound or file, or the line of text in its place."""
    assert isinstance(part, (ImageContent, AudioContent, FileContent))
    url, kind, data = _source(part)
    left_out = _left_out(part, url, kind, shape, notices, is_empty=url is None and not data)
    if left_out is not None:
        return {"text": left_out}
    if url is not None:
        return {"fileData": {"mimeType": kind, "fileUri": url}}
    return {"inlineData": {"mimeType": kind, "data": data}}


def stands_in_result(made: Mapping[str, object]) -> bool:
    """Whether the result of a call can hold a part that `media_part` made."""
    data = made.get("inlineData")
    return isinstance(data, Mapping) and data.get("mimeType") in _IN_RESULTS


def file_line(name: str) -> str:
    """The line of text before a file, as the API has no place for its name."""
    return f"File {name}:"


def _left_out(
    part: ImageContent | AudioContent | FileContent,
    url: str | None,
    kind: str,
    shape: GeminiTurnShape,
    notices: list[Notice],
    *,
    is_empty: bool,
) -> str | None:
    if isinstance(part, ImageContent):
        feature, name, taken = "images", "images", kind in _IMAGES
    elif isinstance(part, AudioContent):
        feature, name, taken = "audio", "audio", kind.startswith("audio/")
    else:
        feature, name, taken = "files", "files", _is_document(kind)
    if not getattr(shape, feature):
        return shape.left_out(feature, name, notices)
    if url is not None and not shape.image_urls:
        return shape.left_out(f"{feature.removesuffix('s')}_urls", f"{name} by URL; it takes data only", notices)
    if is_empty:
        return shape.left_out(feature, f"{name} without data", notices)
    if not taken:
        return shape.left_out(feature, f"{name} of the type {kind!r}", notices)
    return None


def _is_document(kind: str) -> bool:
    return kind == _PDF or kind.startswith(("text/", "video/", "image/", "audio/"))


def _source(part: ImageContent | AudioContent | FileContent) -> tuple[str | None, str, str | None]:
    """The address that the vendor fetches, or the type and the base64 of the data, those in a ``data:`` URL too."""
    kind = part.media_type.partition(";")[0].strip().lower()
    url, data = part.url, part.data
    if url is not None and url[:5].lower() == "data:":
        head, _, data = url[5:].partition(",")
        said, *marks = head.split(";")
        if "base64" not in marks:
            from base64 import b64encode

            data = b64encode(unquote_to_bytes(data)).decode()
        url, kind = None, said.strip().lower() or kind
    if url is not None and kind in _DEFAULTS:
        kind = _ENDINGS.get(urlsplit(url).path.rpartition(".")[2].lower(), kind)
    if kind == "image/jpg":
        kind = "image/jpeg"
    if kind in _TEXTUAL or kind.endswith(("+json", "+xml")):
        kind = "text/plain"
    return url, kind, data
