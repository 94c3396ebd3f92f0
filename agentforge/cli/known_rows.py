"""The vendors that the installed plugins know, each with what a model of it can do."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentforge.errors import AgentForgeError
from agentforge.masking import Secrets

if TYPE_CHECKING:
    from agentforge.model import ModelProfile
    from agentforge.plugin import BeanType, Plugins
    from agentforge.provider import EndpointRow

__all__ = ("KnownRow", "chat_types", "known_rows", "model_of_row", "vendor_names")

_NO_KEY = "not-a-key"
_NO_ADDRESS = "https://provider.example/v1"


@dataclass(frozen=True, slots=True)
class KnownRow:
    """A vendor of one bean type. ``plugin`` brought it; ``profile`` is that of a model of no name in particular, as
    the wire's and the vendor's limits leave it."""

    type_name: str
    vendor: str
    plugin: str
    row: EndpointRow
    profile: ModelProfile


def chat_types(plugins: Plugins) -> Iterator[BeanType]:
    """The chat models of all plugins that ask an endpoint; each plugin is loaded."""
    from agentforge.provider import ChatSettings

    plugins.load_all()
    for plugin in plugins.names:
        for kind in plugins.types_of(plugin).values():
            if issubclass(kind.settings, ChatSettings):
                yield kind


def vendor_names(plugins: Plugins, kind: BeanType) -> Mapping[str, str]:
    """The vendors of a type, and the plugin that each is from."""
    table = kind.settings.VENDORS  # type: ignore[attr-defined]
    own = dict.fromkeys(table.rows, kind.name.partition(".")[0])
    return own | {name: brought.plugin for name, brought in plugins.vendor_profiles(table.family).items()}


def known_rows(plugins: Plugins, *, told: Callable[[str], object] = lambda text: None) -> Iterator[KnownRow]:
    """All vendors of all types that have the API of the type, and the row of an endpoint that nobody knows, in their
    order. One that is wrong is left out, and ``told`` is told of it."""
    for kind in chat_types(plugins):
        for vendor, plugin in vendor_names(plugins, kind).items():
            table: Any = kind.settings.VENDORS  # type: ignore[attr-defined]
            try:
                row = table.row(table.named(vendor, plugins.vendor_profiles(table.family)))
                if vendor != table.other and not kind.settings.offers(row):  # type: ignore[attr-defined]
                    continue
                model = model_of_row(plugins, kind, vendor)
            except (AgentForgeError, ValueError) as error:
                told(f"the vendor {vendor!r} of {kind.name} is left out: {getattr(error, 'message', error)}")
                continue
            yield KnownRow(kind.name, vendor, plugin, row, model.profile)


def model_of_row(plugins: Plugins, kind: BeanType, vendor: str) -> Any:
    """A model of this type and vendor, with what a model cannot be without; nothing is sent."""
    from agentforge.plugin import BeanContext, Components

    table = kind.settings.VENDORS  # type: ignore[attr-defined]
    row = table.row(table.named(vendor, plugins.vendor_profiles(table.family)))
    given = {"model": "any", "vendor": vendor, "api_key": _NO_KEY}
    if not row.base_url:
        given["base_url"] = _NO_ADDRESS
    nothing: dict[str, str] = {}
    settings = kind.settings.model_validate(
        given, context={"environment": nothing, "vendor_profiles": plugins.vendor_profiles}
    )
    context = BeanContext("preview", Path(), Components((), Path()), Secrets(), plugins=plugins, environment=nothing)
    return kind.create(settings, context)
