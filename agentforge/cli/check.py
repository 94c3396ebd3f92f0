"""``agentforge check``: compile the configuration and report every fault at once."""

from __future__ import annotations

import argparse

from agentforge.cli.application import compiled, config_file, load
from agentforge.cli.console import Console
from agentforge.cli.faults import diagnostic_data, error_data, report
from agentforge.cli.text import count, table
from agentforge.cli.usage import Parser
from agentforge.errors import AgentForgeError

__all__ = ("arguments", "run")


def arguments(parser: Parser) -> None:
    """It has none of its own."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Print the beans in the order in which they are built, or all faults; nothing is built."""
    file = config_file(options, console.environment)
    return _as_data(file, options, console) if console.json else _as_text(file, options, console)


def _as_text(file: str, options: argparse.Namespace, console: Console) -> int:
    try:
        app = compiled(options, console)
    except AgentForgeError as error:
        found = getattr(error, "diagnostics", None)
        report(error, console, closing=None if found is None else f"\n{file}: {count(len(found), 'fault')}")
        return 1
    beans = app.plan.beans
    console.out(f"{file}: {count(len(beans), 'bean')}, no faults")
    if beans:
        rows = [(bean.id, bean.type_name + (" (lazy)" if bean.lazy else "")) for bean in beans.values()]
        console.out(table(("id", "type"), rows))
    return 0


def _as_data(file: str, options: argparse.Namespace, console: Console) -> int:
    app = load(options, console)
    faults = []
    try:
        app.check()
    except AgentForgeError as error:
        found = getattr(error, "diagnostics", None)
        faults = [error_data(error)] if found is None else [diagnostic_data(one) for one in found]
    beans = [] if faults else [*app.plan.beans.values()]
    console.data(
        {
            "file": file,
            "ok": not faults,
            "beans": [
                {"id": bean.id, "type": bean.type_name, "lazy": bean.lazy, "place": str(bean.mark)} for bean in beans
            ],
            "faults": faults,
            "warnings": [] if faults else list(app.warnings),
        }
    )
    return 1 if faults else 0
