"""What a question to a model showed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

__all__ = ("Found", "NoAnswer", "Skipped", "Status", "no", "refused", "unsure", "yes")

Status = Literal["yes", "no", "refused", "unsure", "skipped"]


@dataclass(frozen=True, slots=True)
class Found:
    """``status`` and, in ``note``, what it rests on. ``refused``: the endpoint said no, in the words of the note;
    ``unsure``: nothing can be said, for example as the model did not go along. With ``again`` the same question may
    give more at another try. ``lost`` says of a ``no`` that something is broken, which no profile can express."""

    status: Status
    note: str = ""
    again: bool = field(default=False, compare=False)
    lost: bool = field(default=False, compare=False)


def yes(note: str = "") -> Found:
    """It can."""
    return Found("yes", note)


def no(note: str, *, again: bool = False, lost: bool = False) -> Found:
    """It cannot, though it takes the request."""
    return Found("no", note, again, lost)


def refused(note: str) -> Found:
    """The endpoint does not take the request."""
    return Found("refused", note)


def unsure(note: str, *, again: bool = True) -> Found:
    """It cannot be said."""
    return Found("unsure", note, again)


class Skipped(Exception):  # noqa: N818 - no fault
    """There is no use in asking; the text says why."""


class NoAnswer(Exception):  # noqa: N818 - carries the error that is one
    """Nothing can be asked of this endpoint any more; ``error`` says why."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error
