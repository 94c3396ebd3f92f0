"""``agentforge PLUGIN COMMAND ...``: a plugin's own commands; only that plugin is imported, and only then."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentforge.cli.application import plugins_of
from agentforge.cli.console import Console
from agentforge.cli.usage import Parser, UsageError, add_common_options, near_miss, split

if TYPE_CHECKING:
    from agentforge.plugin import Command

__all__ = ("run_plugin_command",)


def run_plugin_command(plugin: str, before: Sequence[str], words: Sequence[str], console: Console) -> int:
    """Run a plugin's command with the words after its name, behind the options that stood ``before`` the plugin's.

    Raises `PluginError` for a plugin that cannot be used and `UsageError` for a command that it does not have.
    """
    from agentforge.plugin import PluginError

    plugins = plugins_of(console.environment)
    with console.for_results():
        plugins.load(plugin)
    state = plugins.state(plugin)
    if state is None or state.state != "active":
        raise PluginError(
            str(state),
            next_step=f"See agentforge plugins; repair or reinstall {getattr(state, 'distribution', plugin)}.",
        ) from (state.cause if state is not None else None)
    commands = {command.name: command for command in plugins.commands_of(plugin)}
    between, name, rest = split(words)
    if name is None and {"-h", "--help"} & set(between):
        console.out(_page(plugin, commands))
        return 0
    if not commands:
        raise UsageError(f"agentforge {plugin}: the plugin brings no commands", next_step="It brings bean types only.")
    listed = ", ".join(commands)
    if name is None:
        raise UsageError(f"agentforge {plugin}: say which of its commands", next_step=f"One of {listed}.")
    if name not in commands:
        step = near_miss(name, commands) or f"One of {listed}."
        raise UsageError(f"agentforge {plugin}: there is no command {name!r}", next_step=step)
    command = commands[name]
    if command.arguments is None:
        return int(command.run([*before, *between, *rest]) or 0)
    parser = Parser(prog=f"agentforge {plugin} {name}", description=command.summary)
    command.arguments(parser)
    add_common_options(parser)
    options = parser.parse_args([*before, *between, *rest])
    console.json, console.debug = options.json, options.debug
    with console.for_results():
        return int(command.run(options, console) or 0)


def _page(plugin: str, commands: dict[str, Command]) -> str:
    rows = [f"  {f'{command.name} {command.form}':25} {command.summary}" for command in commands.values()]
    return "\n".join((f"usage: agentforge {plugin} COMMAND ...", "", "commands:", *(rows or ["  none"])))
