"""Texts for a terminal: what a model or a tool says is shown, and steers nothing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ("count", "indented", "is_text", "shorten", "table", "visible")

# Control characters but tab and line feed, marks that turn the direction of text, invisible ones, lone surrogates.
_STEERING = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff"
    "\ufff9-\ufffb\U000e0000-\U000e007f]"
)


def visible(text: str) -> str:
    r"""The text with all that could steer a terminal written out; tabs and line ends stay.

    >>> visible("red \x1b[31m, and \u202eback")
    'red \\x1b[31m, and \\u202eback'
    """
    return _STEERING.sub(_escape, text.replace("\r\n", "\n"))


def _escape(found: re.Match[str]) -> str:
    code = ord(found[0])
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def shorten(text: str, *, lines: int = 12, characters: int = 1_200) -> str:
    """At most so many lines and characters, and then how much was left out.

    >>> shorten("one two three", characters=7)
    'one two ... (6 more characters)'
    """
    kept = "\n".join(text[: characters + 1].split("\n")[:lines])[:characters]
    left = len(text) - len(kept)
    return f"{kept.rstrip()} ... ({count(left, 'more character')})" if left else text


def indented(text: str, indent: str = "   ") -> str:
    """The text with its further lines moved in, so that none of them looks like a line of ours."""
    return text.replace("\n", "\n" + indent)


def count(number: int, noun: str) -> str:
    """A number and its noun.

    >>> count(1, "bean"), count(2, "bean")
    ('1 bean', '2 beans')
    """
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def is_text(text: str) -> bool:
    """Whether it holds no bytes that were no text: Python keeps those as lone surrogates."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Columns under their heads; the last one is not padded.

    >>> print(table(("id", "type"), [("model", "scripted")]))
    id     type
    model  scripted
    """
    made = [tuple(visible(cell).replace("\n", " ") for cell in row) for row in (head, *rows)]
    widths = [max(_width(row[at]) for row in made) for at in range(len(head))]
    return "\n".join(
        "  ".join(cell + " " * (width - _width(cell)) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in made
    )


def _width(text: str) -> int:
    """How many columns a terminal takes for it: two for most East Asian characters."""
    from unicodedata import combining, east_asian_width

    return sum(0 if combining(one) else 2 if east_asian_width(one) in "WF" else 1 for one in text)
