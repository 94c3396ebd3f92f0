"""A command that a plugin adds to the program; it runs as ``agentforge PLUGIN NAME ...``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

__all__ = ("Command",)


@dataclass(frozen=True, slots=True)
class Command:
    """``run`` gets the words after the command's name and returns the exit code: 0 done, 1 failed, 2 wrong usage."""

    name: str
    summary: str
    run: Callable[[Sequence[str]], int]
