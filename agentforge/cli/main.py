"""The program ``agentforge``: finds the command, runs it, and gives every way in which it can end its exit code."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Mapping, Sequence
from typing import TextIO

from agentforge.cli.commands import COMMANDS, CommandEntry, members_of
from agentforge.cli.console import Console, OutputClosed
from agentforge.cli.ending import ended_in_order
from agentforge.cli.faults import report
from agentforge.cli.logs import logs_on
from agentforge.cli.overview import installed_plugins, overview
from agentforge.cli.usage import HelpWanted, Parser, UsageError, add_common_options, near_miss, split
from agentforge.errors import ConfigurationError

__all__ = ("run",)

_DONE, _FAILED, _WRONG_USAGE, _INTERRUPTED = 0, 1, 2, 130


def run(
    argv: Sequence[str] | None = None,
    *,
    stdin: TextIO | None = None,
    stdout: TextIO | None = None,
    stderr: TextIO | None = None,
    environment: Mapping[str, str] | None = None,
) -> int:
    """Run one command line and return its exit code; never raises for what a user or a model did.

    ``argv`` are the words after the program's name; what is left out is the process's own.

    Returns:
        0 done, 1 the work found faults or failed, 2 wrong usage, 130 interrupted.
    """
    console = Console.of(stdin, stdout, stderr, environment)
    words = list(sys.argv[1:] if argv is None else argv)
    # Known before the words are understood, so that an error in them is shown in the form that was asked for.
    console.json = "--json" in words
    console.debug = "--debug" in words
    try:
        with logs_on(console), ended_in_order():
            code = _dispatch(words, console)
        console.flush()
        return code
    except HelpWanted as help_wanted:
        return _show(help_wanted.text, console)
    except OutputClosed:
        console.abandon()
        return _DONE
    except UsageError as error:
        report(error, console)
        return _WRONG_USAGE
    except KeyboardInterrupt:
        console.say("interrupted")
        return _INTERRUPTED
    except SystemExit as end:  # a plugin's command may end this way
        return _code_of(end, console)
    except (Exception, asyncio.CancelledError) as error:
        report(error, console)
        return _FAILED
    except BaseExceptionGroup as group:
        report(group, console)
        return _INTERRUPTED if group.subgroup(KeyboardInterrupt) is not None else _FAILED


def _dispatch(words: list[str], console: Console) -> int:
    before, name, rest = split(words)
    parser = Parser(prog="agentforge", usage="agentforge [OPTIONS] COMMAND ...", add_help=True)
    parser.add_argument("--version", action="store_true", help="show the version and end")
    add_common_options(parser)
    try:
        options = parser.parse_args(before)
    except HelpWanted as page:
        raise HelpWanted(overview(page.text)) from None
    if options.version:
        from agentforge import __version__

        return _show(f"agentforge {__version__}", console)
    if name is None:
        raise UsageError("agentforge: say which command", next_step="See agentforge --help.")
    if name in COMMANDS:
        return _run_command(COMMANDS[name], rest, options, console)
    if members_of(name):
        return _run_member(name, rest, options, console)
    found = installed_plugins()
    if name in {plugin.name for plugin in found}:
        from agentforge.cli.plugin_command import run_plugin_command

        # What stands before the plugin's name is the command's as well: these options go with every command.
        return run_plugin_command(name, before, rest, console)
    known = [*COMMANDS, *(command.split()[0] for command in COMMANDS), *(plugin.name for plugin in found)]
    step = near_miss(name, known) or "See agentforge --help."
    raise UsageError(f"agentforge: there is no command {name!r}", next_step=step)


def _run_member(group: str, words: list[str], options: argparse.Namespace, console: Console) -> int:
    members = members_of(group)
    between, name, rest = split(words)
    lines = "\n".join(f"  {entry.name} {entry.form:13} {entry.summary}" for entry in members.values())
    usage = f"agentforge {group} {'|'.join(members)} ..."
    parser = Parser(prog=f"agentforge {group}", usage=usage, description=f"commands:\n{lines}")
    add_common_options(parser)
    options = parser.parse_args(between, options)
    known = " | ".join(members)
    if name is None:
        raise UsageError(f"agentforge {group}: say which of its commands", next_step=f"One of {known}.")
    if name not in members:
        step = near_miss(name, members) or f"One of {known}."
        raise UsageError(f"agentforge {group}: there is no command {name!r}", next_step=step)
    return _run_command(members[name], rest, options, console)


def _run_command(entry: CommandEntry, words: list[str], options: argparse.Namespace, console: Console) -> int:
    parser = Parser(prog=f"agentforge {entry.name}", description=entry.summary)
    entry.add_arguments(parser)
    add_common_options(parser)
    options = parser.parse_args(words, options)
    console.json, console.debug = options.json, options.debug
    if entry.name == "chat" and not console.json:  # what is said in a conversation is for people
        return entry.run(options, console)
    with console.for_results():
        return entry.run(options, console)


def _show(text: str, console: Console) -> int:
    try:
        console.out(text.rstrip())
    except OutputClosed:
        console.abandon()
    except ConfigurationError as error:
        report(error, console)
        return _FAILED
    return _DONE


def _code_of(end: SystemExit, console: Console) -> int:
    if end.code is None:
        return _DONE
    if isinstance(end.code, int):
        return end.code
    console.say(str(end.code))
    return _FAILED
