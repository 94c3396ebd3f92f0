"""Which commands there are, and where: a command's module is imported only when it runs."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from agentforge.cli.console import Console
from agentforge.cli.usage import Parser

__all__ = ("COMMANDS", "CommandEntry", "members_of")


@dataclass(frozen=True, slots=True)
class CommandEntry:
    """A command: its words, how its arguments are written, what it does, and its module.

    The module has ``arguments(parser)``, which adds its arguments, and ``run(options, console)``, which gives the exit
    code.
    """

    name: str
    form: str
    summary: str
    module: str

    def add_arguments(self, parser: Parser) -> None:
        """Add the command's own arguments."""
        add: Callable[[Parser], None] = import_module(self.module).arguments
        add(parser)

    def run(self, options: argparse.Namespace, console: Console) -> int:
        """Do the work; the exit code is 0 when it is done and 1 when it found faults."""
        work: Callable[[argparse.Namespace, Console], int] = import_module(self.module).run
        return work(options, console)


_HERE = "agentforge.cli"
COMMANDS = {
    entry.name: entry
    for entry in (
        CommandEntry("init", "[DIR] [--plugin NAME]", "begin a project, or a plugin", f"{_HERE}.init"),
        CommandEntry("chat", "[TEXT]", "ask a question; without one, hold a session", f"{_HERE}.chat"),
        CommandEntry("check", "", "compile the configuration and report every fault", f"{_HERE}.check"),
        CommandEntry("explain", "[PATH]", "show the beans, who set which value, what a code means", f"{_HERE}.explain"),
        CommandEntry("doctor", "[--online]", "check the installation and the file together", f"{_HERE}.doctor"),
        CommandEntry("schema", "[-o FILE]", "write a JSON Schema of the configuration for editors", f"{_HERE}.schema"),
        CommandEntry("plugins", "[--no-load]", "list the installed plugins and what they bring", f"{_HERE}.plugins"),
        CommandEntry("models", "[--profiles]", "list the models, or the vendors that are known", f"{_HERE}.models"),
        CommandEntry("probe", "MODEL_BEAN [--write FILE]", "find out what a model really can", f"{_HERE}.probe"),
        CommandEntry("tools list", "", "list the tools that models are offered", f"{_HERE}.tools_list"),
        CommandEntry("tools show", "NAME", "show a tool as a model sees it", f"{_HERE}.tools_show"),
        CommandEntry("tools call", "NAME [JSON]", "call a tool as a model would", f"{_HERE}.tools_call"),
    )
}


def members_of(group: str) -> dict[str, CommandEntry]:
    """The commands of a group such as ``tools``, by their last word; none for a word that is no group."""
    return {name.split()[1]: entry for name, entry in COMMANDS.items() if name.startswith(f"{group} ")}
