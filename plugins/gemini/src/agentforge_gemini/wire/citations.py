"""The sources that a reply names: those of searches, maps and pages that the vendor read for it, and recited works.

The vendor counts bytes of UTF-8 within one part; ours are characters of the whole text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentforge.model import Citation

__all__ = ("citations_of",)

_KINDS = ("web", "retrievedContext", "maps", "image")


def citations_of(candidate: Mapping[str, Any], texts: Sequence[str]) -> Iterator[Citation]:
    """The sources in ``groundingMetadata`` and ``citationMetadata``; ``texts`` are those of the reply's parts, in which
    parts without text are empty. What is malformed is none."""
    grounding = candidate.get("groundingMetadata")
    if isinstance(grounding, Mapping):
        yield from _grounded(grounding, texts)
    recited = candidate.get("citationMetadata")
    if isinstance(recited, Mapping):
        for said in _mappings(recited.get("citations") or recited.get("citationSources")):
            yield from _placed(said, _word(said.get("uri")), _word(said.get("title")), None, texts)


def _grounded(grounding: Mapping[str, Any], texts: Sequence[str]) -> Iterator[Citation]:
    chunks = grounding.get("groundingChunks")
    sources = [_source(chunk) for chunk in chunks] if isinstance(chunks, list) else []
    named: set[int] = set()
    for support in _mappings(grounding.get("groundingSupports")):
        segment = support.get("segment")
        listed = support.get("groundingChunkIndices")
        for index in listed if isinstance(listed, list) else ():
            source = sources[index] if type(index) is int and 0 <= index < len(sources) else None
            if source is not None and isinstance(segment, Mapping):
                named.add(index)
                yield from _placed(segment, *source, texts)
    for index, source in enumerate(sources):
        if source is not None and index not in named:
            yield Citation(*source)


def _source(chunk: object) -> tuple[str | None, str | None, str | None] | None:
    for kind in _KINDS:
        said = chunk.get(kind) if isinstance(chunk, Mapping) else None
        if isinstance(said, Mapping):
            url, title, text = _word(said.get("uri")), _word(said.get("title")), _word(said.get("text"))
            return (url, title, text) if url or title or text else None
    return None


def _placed(
    said: Mapping[str, Any], url: str | None, title: str | None, text: str | None, texts: Sequence[str]
) -> Iterator[Citation]:
    if url is None and title is None and text is None:
        return
    part, begin, end = said.get("partIndex", 0), said.get("startIndex", 0), said.get("endIndex")
    place = _characters(part, begin, end, texts)
    yield Citation(url, title, text) if place is None else Citation(url, title, text, *place)


def _characters(part: object, begin: object, end: object, texts: Sequence[str]) -> tuple[int, int] | None:
    """The place in characters of the whole text."""
    if type(part) is not int or type(begin) is not int or type(end) is not int or not 0 <= part < max(len(texts), 1):
        return None
    before = sum(map(len, texts[:part]))
    # Streams count over all the pieces that they sent, whatever they call their part.
    content = "".join(texts[part:]).encode("utf-8", "replace")
    if not 0 <= begin <= end <= len(content):
        return None
    start = before + len(content[:begin].decode("utf-8", "ignore"))
    return start, start + len(content[begin:end].decode("utf-8", "ignore"))


def _mappings(value: object) -> Iterator[Mapping[str, Any]]:
    yield from (item for item in value if isinstance(item, Mapping)) if isinstance(value, list) else ()


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value and not value.isspace() else None
