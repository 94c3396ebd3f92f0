"""The sources of a search that the provider made (``enable_search``): what it found, in its order. The marks in the
text (``[1]``, ``[ref_1]``) are its numbers; where they stand, it does not say."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from agentforge.model import Citation

__all__ = ("citations_of",)


def citations_of(results: Iterable[object]) -> tuple[Citation, ...]:
    """The sources, each once. What is malformed is none, and never an error.

    >>> citations_of([{"index": 1, "title": "Oslo today", "url": "https://yr.example/oslo", "site_name": "yr"}, 7])
    (Citation(url='https://yr.example/oslo', title='Oslo today', text=None, start=None, end=None),)
    """
    found: dict[Citation, None] = {}
    for item in results:
        if isinstance(item, Mapping):
            url, title = _word(item.get("url")), _word(item.get("title")) or _word(item.get("site_name"))
            if url is not None or title is not None:
                found[Citation(url, title)] = None
    return tuple(found)


def _word(value: object) -> str | None:
    return value if isinstance(value, str) and value and not value.isspace() else None
