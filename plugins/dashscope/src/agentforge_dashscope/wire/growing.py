"""A text that comes in pieces: each event brings what is new, or everything so far.

Both kinds answer the same questions, so that whoever fills them need not know which one it is; what they give for the
same text is the same. A piece that cannot be shown yet, as its last character is half or stands for one that is not
whole, is held back.
"""

from __future__ import annotations

from typing import Protocol

from agentforge.provider import HeldHalf, joined_text

__all__ = ("Appended", "Growing", "Replaced")

#: Where servers cut a text within a character: half of a surrogate pair, or what stands for bytes that are none yet.
_UNSURE = "\ufffd" + "".join(map(chr, range(0xD800, 0xDC00)))


class Growing(Protocol):
    """One text while it comes."""

    #: Whether what had been shown was changed afterwards.
    revised: bool

    def add(self, piece: str) -> str:
        """Take what an event says; what can be shown of it and was not."""

    def rest(self) -> str:
        """What was held back and nothing followed."""

    def text(self) -> str:
        """The text so far."""


class Appended:
    """Each piece is what is new.

    >>> text = Appended()
    >>> text.add("Hel"), text.add("lo"), text.text()
    ('Hel', 'lo', 'Hello')
    """

    __slots__ = ("_held", "_pieces")

    revised = False

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._held = HeldHalf()

    def add(self, piece: str) -> str:
        """Take what is new."""
        if not piece:
            return ""
        self._pieces.append(piece)
        return self._held.shown(piece) if piece[-1] >= "\ud800" or self._held.half else piece

    def rest(self) -> str:
        """What was held back and nothing followed."""
        return self._held.half

    def text(self) -> str:
        """The text so far."""
        return joined_text(self._pieces) if self._pieces else ""


class Replaced:
    """Each piece is everything so far. One that says nothing changes nothing, and one that changes what was shown
    counts: the text is the last one.

    >>> text = Replaced()
    >>> text.add("Hel"), text.add("Hello"), text.add(""), text.text()
    ('Hel', 'lo', '', 'Hello')
    """

    __slots__ = ("_shown", "_text", "revised")

    def __init__(self) -> None:
        self.revised = False
        self._text = ""
        self._shown = ""

    def add(self, piece: str) -> str:
        """Take everything so far."""
        if not piece:
            return ""
        self._text = piece
        before, self._shown = self._shown, piece.rstrip(_UNSURE) if piece[-1] >= "\ud800" else piece
        if not self._shown.startswith(before):
            self.revised = True
            return ""
        return self._shown[len(before) :]

    def rest(self) -> str:
        """What was held back and nothing followed."""
        return self._text[len(self._shown) :]

    def text(self) -> str:
        """The text so far."""
        return self._text
