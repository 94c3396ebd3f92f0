"""The page of ``agentforge --help``: the commands, and the plugins that may bring more, from metadata alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentforge.cli.commands import COMMANDS

if TYPE_CHECKING:
    from agentforge.plugin import Found

__all__ = ("installed_plugins", "overview")


def installed_plugins() -> tuple[Found, ...]:
    """What the distributions' metadata says; none of them is imported. Metadata that cannot be read lists none."""
    from agentforge.plugin import discover

    try:
        return discover()
    except Exception:  # a broken installation of somebody else's is no reason to have no help
        return ()


def overview(options: str) -> str:
    """The page; ``options`` is what the parser says of its own."""
    usage, _, described = options.partition("\n")
    rows = [(f"{entry.name} {entry.form}".rstrip(), entry.summary) for entry in COMMANDS.values()]
    lines = [usage, "", "commands (agentforge COMMAND --help says more):", *_rows(rows)]
    plugins = [(f"{found.name} ...", f"{found.distribution} {found.version}") for found in installed_plugins()]
    if plugins:
        lines += ["", "plugins, whose commands run as agentforge PLUGIN COMMAND:", *_rows(plugins)]
    lines += ["", described.strip(), "", "exit code: 0 done, 1 the work found faults or failed, 2 wrong usage"]
    return "\n".join(lines)


def _rows(rows: list[tuple[str, str]]) -> list[str]:
    width = max(24, *(len(first) + 2 for first, _ in rows))
    return [f"  {first:{width}}{second}" for first, second in rows]
