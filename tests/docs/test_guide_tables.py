"""The tables of the guides are whole: options, variables, hooks, commands and events are there once, and no others."""

from __future__ import annotations

import argparse
import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import fields
from pathlib import Path
from typing import get_args

import pytest

from agentforge.cli.commands import COMMANDS
from agentforge.cli.usage import Parser, add_common_options
from agentforge.config import BeanOptions
from agentforge.config.definition import ROOT_KEYS
from agentforge.model import ChatEvent
from agentforge.plugin import BeanContext, BeanType, PluginState, hooks
from agentforge.plugin.state import State
from agentforge.tool.execution import RunEvent, event_name

GUIDES = Path(__file__).parents[2] / "docs" / "guides"
NAME = re.compile(r"`([^`]+)`")


def table(text: str, head: str, number: int = 0) -> dict[str, str]:
    """The first or a further table whose head row begins so: the first cell's names, each with its row."""
    parts = text.split(f"\n{head}")
    assert len(parts) > number + 1, f"the page has no table {head!r}"
    made: dict[str, str] = {}
    for row in parts[number + 1].split("\n\n")[0].splitlines()[2:]:
        for name in NAME.findall(row.split("|")[1]):
            assert name not in made, f"{name!r} stands twice"
            made[name] = row
    return made


def options_of(add: Callable[[Parser], None]) -> list[str]:
    """How a parser's arguments are written, without what they take."""
    parser = Parser(add_help=False)
    add(parser)
    return [
        word
        for action in parser._actions
        if not isinstance(action, argparse._HelpAction)
        for word in (action.option_strings or [str(action.metavar)])
    ]


def first_words(names: Iterable[str]) -> list[str]:
    """The names without what follows them: ``--config FILE`` is ``--config``."""
    return [name.split()[0] for name in names]


# The page, the head of the table, which one of those with that head, and what must be in it.
CASES: dict[str, tuple[str, str, int, list[str]]] = {
    "keys of the root": ("configuration", "| key | holds |", 0, list(ROOT_KEYS)),
    "options of the container": (
        "configuration",
        "| option | default |",
        0,
        [each.name for each in fields(BeanOptions)],
    ),
    "hooks": ("plugins", "| hook |", 0, [name for name in hooks.__all__ if name.startswith("agentforge_")]),
    "fields of a bean type": ("plugins", "| `BeanType` |", 0, [each.name for each in fields(BeanType)]),
    "what a factory is told": ("plugins", "| attribute |", 0, [each.name for each in fields(BeanContext)]),
    "states of a plugin": ("plugins", "| state |", 0, list(get_args(State))),
    "options of every command": (
        "command-line",
        "| option | is |",
        0,
        [*options_of(add_common_options), "--help"],
    ),
    "options of chat": (
        "command-line",
        "| option | is |",
        1,
        options_of(COMMANDS["chat"].add_arguments),
    ),
    "data of a plugin": (
        "command-line",
        "| key with `--json` |",
        0,
        [each.name for each in fields(PluginState) if each.name != "cause"],
    ),
    "events": (
        "command-line",
        "| `event` |",
        0,
        sorted({event_name(object.__new__(kind)) for kind in (*get_args(ChatEvent), *get_args(RunEvent))}),
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_table_has_what_there_is(case: str) -> None:
    """Each thing of the code is a row, and each row is a thing of the code."""
    page, head, number, there = CASES[case]
    shown = table((GUIDES / f"{page}.md").read_text("utf-8"), head, number)

    assert sorted(first_words(shown)) == sorted(there)


@pytest.mark.parametrize("name", [name for name in hooks.__all__ if name.startswith("agentforge_")])
def test_a_hook_has_its_arguments(name: str) -> None:
    """In the order of its specification."""
    row = table((GUIDES / "plugins.md").read_text("utf-8"), "| hook |")[name]
    arguments = list(inspect.signature(getattr(hooks, name)).parameters)

    assert NAME.findall(row.split("|")[2]) == arguments


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_on_the_page(name: str) -> None:
    """As `--help` writes it."""
    entry = COMMANDS[name]

    assert f"| `agentforge {entry.name} {entry.form}".rstrip() + "` |" in (GUIDES / "command-line.md").read_text(
        "utf-8"
    )


def test_a_row_that_stands_twice_is_noticed() -> None:
    """So that a table cannot contradict itself."""
    assert table("\n| a | b |\n| --- | --- |\n| `x`, `y` | 1 |\n\n| `z` |", "| a |") == dict.fromkeys(
        ["x", "y"], "| `x`, `y` | 1 |"
    )
    with pytest.raises(AssertionError, match="'x' stands twice"):
        table("\n| a |\n| --- |\n| `x` |\n| `x` |", "| a |")
