"""The sources that a reply names. Each stands on the block of text that it is for, so the place is that block.

A page of the web has an address, a document of the request only a title; what stands in the source is its words.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentforge.model import Citation

__all__ = ("citations_of",)


def citations_of(found: object, start: int, text: str) -> Iterator[Citation]:
    """The sources of one block, whose ``text`` begins at ``start`` of the reply's. What is malformed is none."""
    for said in found if isinstance(found, list) else ():
        if not isinstance(said, Mapping):
            continue
        url = _word(said.get("url")) or _word(said.get("source"))
        title = _word(said.get("title")) or _word(said.get("document_title"))
        quoted = _word(said.get("cited_text"))
        if url is None and title is None and quoted is None:
            continue
        yield Citation(url, title, quoted, start, start + len(text)) if text else Citation(url, title, quoted)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value and not value.isspace() else None
