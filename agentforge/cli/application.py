"""The application context of a command: which file, which layers, which bean."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from agentforge.cli.console import Console
from agentforge.cli.logs import log_level
from agentforge.cli.usage import near_miss
from agentforge.errors import ConfigurationError

if TYPE_CHECKING:
    from agentforge.container import AgentForge, Plan, PlannedBean
    from agentforge.plugin import Plugins

__all__ = ("HasPlan", "beans_of", "compiled", "config_file", "load", "one_bean", "plugins_of")


class HasPlan(Protocol):
    """An application, or anything else with a plan."""

    @property
    def plan(self) -> Plan:
        """What is built."""
        ...


def config_file(options: argparse.Namespace, environment: Mapping[str, str]) -> str:
    """The file: ``--config``, else AGENTFORGE_CONFIG, else ``agentforge.yaml``."""
    return options.config or environment.get("AGENTFORGE_CONFIG") or "agentforge.yaml"


def load(options: argparse.Namespace, console: Console) -> AgentForge:
    """The application context; nothing is read yet."""
    from agentforge.container import AgentForge

    return AgentForge.load(
        config_file(options, console.environment),
        profiles=options.profile,
        sets=tuple(options.set or ()),
        environment=console.environment,
    )


def compiled(options: argparse.Namespace, console: Console) -> AgentForge:
    """The application context after every check, its warnings said. Raises what `AgentForge.check` raises."""
    app = load(options, console)
    app.check()
    console.secrets |= app.plan.secrets
    console.loggers = app.plan.components.roots
    log_level(app.settings.log_level)
    for warning in app.warnings:
        console.say(f"warning: {warning}", style="yellow")
    return app


def plugins_of(environment: Mapping[str, str]) -> Plugins:
    """The installed plugins under the switches AGENTFORGE_LOAD_PLUGINS and AGENTFORGE_DISABLE_PLUGINS."""
    from agentforge.plugin import Plugins

    return Plugins(
        _names(environment, "AGENTFORGE_LOAD_PLUGINS"), _names(environment, "AGENTFORGE_DISABLE_PLUGINS") or ()
    )


def beans_of(app: HasPlan, *kinds: type) -> dict[str, PlannedBean]:
    """The declared beans that are one of these, in the order of the file."""
    from agentforge.plugin import fits

    beans = app.plan.beans
    return {id_: beans[id_] for id_ in app.plan.declared if any(fits(beans[id_].provides, kind) for kind in kinds)}


def one_bean(app: HasPlan, wanted: str | None, what: str, *kinds: type) -> str:
    """The id of the bean to use: the wanted one, else the only one of these kinds, else the primary one.

    Raises `ConfigurationError` that lists what there is; ``what`` is what to call one.
    """
    fitting = beans_of(app, *kinds)
    listed = ", ".join(fitting) or "none"
    if wanted is not None:
        found = app.plan.id_of(wanted)
        if found in fitting:
            return found
        if found is None:
            step = near_miss(wanted, fitting) or f"There is {listed}."
            raise ConfigurationError(f"there is no bean {wanted!r}", next_step=step)
        bean = app.plan.beans[found]
        raise ConfigurationError(
            f"the bean {wanted!r} is no {what}: its type is {bean.type_name}",
            location=str(bean.mark),
            next_step=f"There is {listed}.",
        )
    primary = [id_ for id_, bean in fitting.items() if bean.options.primary]
    chosen = list(fitting) if len(fitting) == 1 else primary
    if len(chosen) == 1:
        return chosen[0]
    if not fitting:
        raise ConfigurationError(f"the configuration has no {what}", next_step="Add a bean of type chat_client.")
    raise ConfigurationError(
        f"the configuration has several beans that are a {what}: {listed}",
        next_step="Say which with --bean NAME, or mark one with bean: {primary: true}.",
    )


def _names(environment: Mapping[str, str], variable: str) -> tuple[str, ...] | None:
    """A list with commas; ``None`` where the variable is not set."""
    text = environment.get(variable)
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())
