"""Texts of strangers within bounds: descriptions that end at a sentence, names that every provider takes."""

from __future__ import annotations

import hashlib
import re

__all__ = ("MAX_DESCRIPTION", "argument_name", "one_line", "plain_text", "shortened")

MAX_DESCRIPTION = 1_000
"""How many characters of a description a model gets."""

_ARGUMENT = re.compile(r"[a-zA-Z_][a-zA-Z0-9_.-]{0,63}")
_OTHER = re.compile(r"[^a-zA-Z0-9_.-]+")
_SENTENCE = re.compile(r"[.!?]['\")\]]*\s|[。！？]|\n\s*\n")
_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]")


def plain_text(value: object) -> str:
    """The text without characters that nobody sees; anything but text is none."""
    return _UNSEEN.sub("", value.replace("\r\n", "\n")).strip() if isinstance(value, str) else ""


def one_line(text: str) -> str:
    """The text in one line, as reports and logs take it.

    >>> one_line("a\\r\\n  b\\x1b[2J")
    'a b[2J'
    """
    return " ".join(plain_text(text).split())


def shortened(text: str, limit: int = MAX_DESCRIPTION) -> str:
    """The text itself, or as many of its first sentences as fit, with a mark at the end.

    >>> shortened("One. Two. Three.", 11)
    'One. Two. …'
    """
    if len(text) <= limit:
        return text
    head = text[: limit - 1]
    ends = [match.end() for match in _SENTENCE.finditer(head)]
    cut = ends[-1] if ends and ends[-1] > limit // 3 else head.rfind(" ") if head.rfind(" ") > limit // 3 else limit - 2
    return f"{head[:cut].rstrip()} …"


def argument_name(name: str) -> str:
    """The name of an argument for a wire name: itself where every provider takes it, else a cleaned one.

    >>> argument_name("page"), argument_name("filter[status]")
    ('page', 'filter_status')
    """
    if _ARGUMENT.fullmatch(name):
        return name
    cleaned = _OTHER.sub("_", name).strip("_.-")
    if not cleaned:
        return f"value_{hashlib.sha256(name.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    if not (cleaned[0].isalpha() or cleaned[0] == "_"):
        cleaned = f"_{cleaned}"
    if len(cleaned) > 64:
        mark = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        cleaned = f"{cleaned[:55]}_{mark}"
    return cleaned
