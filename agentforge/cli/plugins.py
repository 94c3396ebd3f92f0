"""``agentforge plugins``: what is installed and what each one brings; with ``--no-load`` from metadata alone."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentforge.cli.application import config_file, load, plugins_of
from agentforge.cli.console import Console
from agentforge.cli.text import table
from agentforge.cli.usage import Parser
from agentforge.errors import AgentForgeError

if TYPE_CHECKING:
    from agentforge.plugin import Plugins, PluginState

__all__ = ("arguments", "run")

_UNUSABLE = ("failed", "incompatible", "duplicate")


def arguments(parser: Parser) -> None:
    """``--load`` and ``--no-load``."""
    parser.add_argument(
        "--load",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="import every plugin and show its types, hooks, time and troubles (default: yes)",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """List the plugins; 1 when they were loaded and one cannot be used. Where there is a configuration, what it says of
    plugins holds as well; without loading them the environment alone switches them."""
    given = options.config or Path(config_file(options, console.environment)).is_file()
    plugins = _under_file(options, console) if options.load and given else plugins_of(console.environment)
    if options.load:
        plugins.load_all()
    states = plugins.states()
    if console.json:
        console.data([_data(state) for state in states])
    elif not states:
        console.say("no plugins are installed")
    else:
        _print(states, console, loaded=options.load)
    return 1 if options.load and any(state.state in _UNUSABLE for state in states) else 0


def _under_file(options: argparse.Namespace, console: Console) -> Plugins:
    """The plugins after the configuration has switched them; its faults are a matter of ``agentforge check``."""
    app = load(options, console)
    try:
        app.check()
    except AgentForgeError as error:
        console.say(f"warning: the configuration has faults, see agentforge check: {error.message}", style="yellow")
    try:
        return app.plugins
    except AgentForgeError:  # it could not even be read
        return plugins_of(console.environment)


def _data(state: PluginState) -> dict[str, Any]:
    return {
        "name": state.name,
        "distribution": state.distribution,
        "version": state.version,
        "state": state.state,
        "types": list(state.types),
        "hooks": list(state.hooks),
        "seconds": round(state.seconds, 4),
        "reason": state.reason,
    }


def _print(states: tuple[PluginState, ...], console: Console, *, loaded: bool) -> None:
    head = ("name", "distribution", "version", "state", "types")
    rows = [
        (state.name, state.distribution, state.version, state.state, ", ".join(state.types) or "-") for state in states
    ]
    if not loaded:
        console.out(table(head, rows))
    else:
        more = [(*row[:4], f"{state.seconds:.2f}", row[4]) for row, state in zip(rows, states, strict=True)]
        console.out(table((*head[:4], "seconds", "types"), more))
    for state in states:
        if loaded and state.hooks:
            console.out(f"{state.name} implements {', '.join(state.hooks)}")
        if state.reason:
            console.out(f"{state.name} {state.words}: {state.reason}")
