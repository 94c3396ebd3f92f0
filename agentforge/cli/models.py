"""``agentforge models``: the models of a configuration; with ``--profiles`` the vendors that are known instead, and
what each can do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentforge.cli.application import beans_of, compiled, config_file, load, plugins_of
from agentforge.cli.console import Console
from agentforge.cli.text import table
from agentforge.cli.usage import Parser
from agentforge.errors import AgentForgeError

if TYPE_CHECKING:
    from agentforge.cli.known_rows import KnownRow
    from agentforge.container import AgentForge, PlannedBean
    from agentforge.model import ModelProfile
    from agentforge.plugin import Plugins

__all__ = ("arguments", "profile_data", "run")


def arguments(parser: Parser) -> None:
    """``--profiles``."""
    parser.add_argument(
        "--profiles",
        action="store_true",
        help="the vendors that the installed plugins know instead; needs no configuration",
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """List them; nothing is asked of any model."""
    if options.profiles:
        return _profiles(options, console)
    app = compiled(options, console)
    models = list(_models(app))
    if console.json:
        console.data(models)
    elif not models:
        console.say("the configuration has no models")
    else:
        head = ("id", "type", "model", "vendor", "endpoint")
        rows = [tuple(each[key] or "-" for key in head) for each in models]
        console.out(console.secrets.mask(table(head, rows)))
    return 0


def _models(app: AgentForge) -> Iterator[dict[str, Any]]:
    """Every model bean as data, in the order of the file."""
    from agentforge.model import ChatModel
    from agentforge.model.embedding import EmbeddingModel

    for bean in beans_of(app, ChatModel, EmbeddingModel).values():
        made = _endpoint_model(app, bean)
        profile = getattr(made, "profile", None)
        yield {
            "id": bean.id,
            "type": bean.type_name,
            "model": getattr(made, "model_name", None) or _named(bean),
            "vendor": _vendor(app, bean),
            "endpoint": getattr(made, "base_url", None),
            "profile": profile_data(profile) if profile is not None else None,
        }


def _endpoint_model(app: AgentForge, bean: PlannedBean) -> Any:
    """The model behind an endpoint, made and not started, which sends nothing; ``None`` for other models."""
    from agentforge.plugin import BeanContext
    from agentforge.provider import EndpointSettings

    if bean.bean_type is None or not isinstance(bean.settings, EndpointSettings):
        return bean.given
    plan = app.plan
    context = BeanContext(
        bean.id, bean.folder, plan.components, plan.secrets, plugins=app.plugins, environment=plan.environment
    )
    return bean.bean_type.create(bean.settings, context)


def _vendor(app: AgentForge, bean: PlannedBean) -> str | None:
    from agentforge.provider import EndpointSettings

    settings: Any = bean.settings
    if not isinstance(settings, EndpointSettings):
        return None
    rows = settings.VENDORS
    vendor = rows.named(settings.vendor, app.plugins.vendor_profiles(rows.family), settings.base_url)
    return str(rows.row(vendor, base_url=settings.base_url).name)


def _named(bean: PlannedBean) -> str | None:
    """What a model that asks no endpoint goes by: its members, or a name among its settings."""
    members = [target for key, target in bean.uses.items() if key in ("models", "model")]
    names = [name for target in members for name in ((target,) if isinstance(target, str) else tuple(target))]  # type: ignore[arg-type]
    if names:
        return ", ".join(names)
    for field in ("model", "weights", "name"):
        value = getattr(bean.settings, field, None)
        if isinstance(value, str | Path):
            return str(value)
    return None


# -- what is known ---------------------------------------------------------------------------------


def _profiles(options: argparse.Namespace, console: Console) -> int:
    from agentforge.cli.known_rows import known_rows
    from agentforge.cli.row_words import CAPABILITY_HEADS, PLACE_HEADS, capability_words, place_words

    plugins = _plugins(options, console)
    rows = list(known_rows(plugins, told=lambda text: console.say(f"warning: {text}", style="yellow")))
    if console.json:
        console.data([_row_data(row) for row in rows])
        return 0
    head = ("vendor", "type", *CAPABILITY_HEADS, *PLACE_HEADS)
    console.out(table(head, [(row.vendor, row.type_name, *capability_words(row), *place_words(row)) for row in rows]))
    return 0


def _plugins(options: argparse.Namespace, console: Console) -> Plugins:
    """The plugins as the configuration switches them, where there is one that can be read."""
    given = options.config or Path(config_file(options, console.environment)).is_file()
    if given:
        app = load(options, console)
        try:
            return app.plugins
        except AgentForgeError as error:
            console.say(f"warning: the configuration has faults, see agentforge check: {error.message}", style="yellow")
    return plugins_of(console.environment)


def _row_data(row: KnownRow) -> dict[str, Any]:
    return {
        "type": row.type_name,
        "vendor": row.vendor,
        "plugin": row.plugin,
        "endpoint": row.row.base_url,
        "key_variable": row.row.key_variable,
        "key_required": row.row.key_required,
        "profile": profile_data(row.profile),
    }


def profile_data(profile: ModelProfile) -> dict[str, Any]:
    """Every field of a profile as data."""
    from dataclasses import fields

    return {each.name: _plain(getattr(profile, each.name)) for each in fields(profile)}


def _plain(value: object) -> object:
    if isinstance(value, frozenset):
        return sorted(value)
    return dict(value) if isinstance(value, Mapping) else value
