"""A command that a plugin adds to the program; it runs as ``agentforge PLUGIN NAME ...``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

__all__ = ("Command",)


@dataclass(frozen=True, slots=True)
class Command:
    """``run`` returns the exit code: 0 done, 1 failed, 2 wrong usage.

    With ``arguments``, which adds the command's own to a parser, ``run`` gets the options, those of every command
    among them, and the console, as the program's own commands do: see `agentforge.cli`. Without, it gets the words
    after the command's name, and reads them itself. ``form`` is how the arguments are written, for the overview.
    """

    name: str
    summary: str
    run: Callable[..., int]
    form: str = ""
    arguments: Callable[[Any], None] | None = None
