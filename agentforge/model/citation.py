"""Where a reply's words come from, as the provider says it: one form for what each provider says in its own."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ("Citation",)


@dataclass(frozen=True, slots=True)
class Citation:
    """A source that the provider names for its reply or for a part of it; ``None`` is what it does not say.

    ``url`` and ``title`` name the source, ``text`` is what stands in it. ``start`` and ``end`` are the place in the
    reply's text, in characters and ``end`` behind the last one: the words that the source is for, or the mark that
    stands for it. They are there together or not at all. Nothing of it was checked, so treat it as the reply's text.

    >>> reply = "It is sunny (yr.example)."
    >>> source = Citation("https://yr.example/oslo", "Oslo today", start=12, end=24)
    >>> reply[source.start : source.end]
    '(yr.example)'
    """

    url: str | None = None
    title: str | None = None
    text: str | None = None
    start: int | None = None
    end: int | None = None
