"""``agentforge doctor``: the installation and the configuration, looked at together."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agentforge.cli.application import config_file, load, plugins_of
from agentforge.cli.console import Console
from agentforge.cli.finding import Finding
from agentforge.cli.text import count, indented
from agentforge.cli.usage import Parser
from agentforge.errors import AgentForgeError

if TYPE_CHECKING:
    from agentforge.container import AgentForge

__all__ = ("arguments", "run")

_STYLES = {"ok": "green", "warning": "yellow", "fault": "red"}


def arguments(parser: Parser) -> None:
    """``--online``."""
    parser.add_argument(
        "--online", action="store_true", help="also try the endpoints that beans call (one HEAD request, without keys)"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Say of everything whether it is well; 1 when there is a fault."""
    from agentforge.cli.doctor_installation import installation, plugin_findings

    found = list(installation())
    app = _app(options, console)
    if app is None:
        plugins = plugins_of(console.environment)
        plugins.load_all()
        found += plugin_findings(plugins, None)
        file = config_file(options, console.environment)
        step = "Name one with --config FILE, or begin a project with agentforge init."
        found.append(Finding("warning", "no-configuration", f"there is no file '{file}'", next_step=step))
    else:
        from agentforge.cli.doctor_configuration import configuration, secrets_of, used_plugins

        folder = Path(config_file(options, console.environment)).parent
        found += configuration(app, folder, online=options.online)
        console.secrets |= secrets_of(app)
        try:
            plugins = app.plugins
        except AgentForgeError:  # a file that cannot even be read, which is reported already
            plugins = plugins_of(console.environment)
        plugins.load_all()
        found += plugin_findings(plugins, used_plugins(app))
    _show(found, console)
    return 1 if any(finding.level == "fault" for finding in found) else 0


def _app(options: argparse.Namespace, console: Console) -> AgentForge | None:
    """The application context; ``None`` where nobody named a file and none is there."""
    file = config_file(options, console.environment)
    named = options.config or console.environment.get("AGENTFORGE_CONFIG")
    return load(options, console) if named or Path(file).exists() else None


def _show(found: Sequence[Finding], console: Console) -> None:
    counted = {level: sum(finding.level == level for finding in found) for level in _STYLES}
    if console.json:
        console.data({"ok": not counted["fault"], "findings": [finding.as_data() for finding in found]})
        return
    for finding in found:
        place = f" ({finding.where})" if finding.where else ""
        text = f"{finding.level:8} {finding.name}: {indented(finding.what, ' ' * 9)}{place}"
        console.out(console.secrets.mask(text))
        if finding.next_step:
            console.out(console.secrets.mask(f"         next: {finding.next_step}"))
    console.out(f"{count(counted['fault'], 'fault')}, {count(counted['warning'], 'warning')}")
