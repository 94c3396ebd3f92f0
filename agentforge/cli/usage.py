"""Words of the command line: the options that every command has, and what is said when they make no sense."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

__all__ = ("HelpWanted", "Parser", "UsageError", "add_common_options", "near_miss", "split")

_WITH_VALUE = ("--config", "--profile", "--set")


class UsageError(Exception):
    """The command line makes no sense; ``next_step`` says what would."""

    code = "usage"

    def __init__(self, message: str, *, next_step: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.next_step = next_step


class HelpWanted(Exception):  # noqa: N818 - no fault
    """``--help`` was given; ``text`` is the page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Parser(argparse.ArgumentParser):
    """A parser that never writes and never exits: it raises `UsageError` or `HelpWanted`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=argparse.RawDescriptionHelpFormatter, **settings)
        #: What to say when there are words too many.
        self.surplus_hint: str | None = None

    def error(self, message: str) -> NoReturn:
        """Raise `UsageError` with the near miss of an option that does not exist."""
        _, unknown, words = message.partition("unrecognized arguments: ")
        step = f"See {self.prog} --help."
        if unknown:
            options = [option for action in self._actions for option in action.option_strings]
            first = words.split()[0].partition("=")[0]
            if first.startswith("-"):
                message = f"there is no option {first!r}"
                step = near_miss(first, options) or step
            else:
                message = f"there are words too many: {words}"
                step = self.surplus_hint or step
        raise UsageError(f"{self.prog}: {message}", next_step=step)

    def print_help(self, file: Any = None) -> None:
        """Raise `HelpWanted`."""
        raise HelpWanted(self.format_help())


def add_common_options(parser: Parser) -> None:
    """The options that stand before or after any command."""
    group = parser.add_argument_group("options of every command, before or after it")
    group.add_argument(
        "--config", metavar="FILE", help="the configuration (default: AGENTFORGE_CONFIG, else agentforge.yaml)"
    )
    group.add_argument(
        "--profile",
        metavar="NAME",
        action="append",
        help="lay NAME's file over the configuration; repeatable (default: AGENTFORGE_PROFILES)",
    )
    group.add_argument(
        "--set",
        metavar="PATH=VALUE",
        action="append",
        help="set one value, such as beans.model.model=NAME; repeatable",
    )
    group.add_argument("--json", action="store_true", help="write data for machines")
    group.add_argument("--debug", action="store_true", help="show the traceback of an error")


def split(words: Sequence[str]) -> tuple[list[str], str | None, list[str]]:
    """The options before the first word that is none, that word, and all after it.

    >>> split(["--set", "a=b", "chat", "--json"])
    (['--set', 'a=b'], 'chat', ['--json'])
    """
    at = 0
    while at < len(words):
        word = words[at]
        if word == "--":
            rest = list(words[at + 1 :])
            return list(words[:at]), rest[0] if rest else None, rest[1:]
        if not word.startswith("-") or word == "-":
            return list(words[:at]), word, list(words[at + 1 :])
        at += 2 if word in _WITH_VALUE else 1
    return list(words), None, []


def near_miss(name: str, known: Iterable[str]) -> str | None:
    """``Did you mean ...?``, when something known resembles the name."""
    from difflib import get_close_matches

    found = get_close_matches(name, list(known), 1)
    return f"Did you mean {found[0]!r}?" if found else None
