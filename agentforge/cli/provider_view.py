"""A tool as a provider would get it: which models a name stands for, and what each would be sent.

A name is a model of the file, a plugin (each of its types of chat models), a type, or a vendor that one of the types
knows. Models that are not in the file are made for the look alone: nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agentforge.cli.application import beans_of
from agentforge.cli.usage import near_miss
from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge.masking import Secrets

if TYPE_CHECKING:
    from agentforge.container import AgentForge
    from agentforge.model import ToolSpecification
    from agentforge.plugin import BeanType

__all__ = ("ProviderView", "provider_views")

_NO_KEY = "not-a-key"
_NO_ADDRESS = "https://provider.example/v1"


@dataclass(frozen=True, slots=True)
class ProviderView:
    """What one model would get: ``tool`` in its form, what was ``changed`` on the way, or why it was ``refused``."""

    model: str
    tool: Any = None
    changed: tuple[dict[str, Any], ...] = ()
    refused: str | None = None
    next_step: str | None = field(default=None, compare=False)


async def provider_views(app: AgentForge, name: str, tool: ToolSpecification) -> tuple[ProviderView, ...]:
    """The tool as each model that ``name`` stands for would get it. Raises `ConfigurationError` for an unknown name,
    and for a model that asks no provider."""
    from agentforge.model import ChatModel

    bean = app.plan.id_of(name)
    if bean is not None and bean in beans_of(app, ChatModel):
        return (_view(f"the model {name}", await app.resolve(bean), tool),)
    found = [_view(title, model, tool) for title, model in _made_for(app, name)]
    if not found:
        known = sorted({*beans_of(app, ChatModel), *_known(app)})
        step = near_miss(name, known) or f"There is {', '.join(known) or 'none'}."
        raise ConfigurationError(f"there is no provider {name!r}", next_step=step)
    return tuple(found)


def _view(title: str, model: Any, tool: ToolSpecification) -> ProviderView:
    from agentforge.provider import WireModel

    while not isinstance(model, WireModel):
        inner = getattr(model, "inner", None)
        if inner is None:
            raise ConfigurationError(
                f"{title} shows no request: it is a {type(model).__name__}",
                next_step="Name a model that asks a provider.",
            )
        model = inner
    try:
        preview = model.preview_tools((tool,))
    except AgentForgeError as error:
        return ProviderView(title, refused=error.message, next_step=error.next_step)
    changed = [
        {"code": "tool_name", "message": f"the tool {ours!r} goes under the name {alias!r}"}
        for ours, alias in preview.aliases.items()
    ]
    changed += [{"code": notice.code, "message": notice.message} for notice in preview.notices]
    return ProviderView(title, preview.tools[0] if preview.tools else None, tuple(changed))


def _types(app: AgentForge) -> Iterator[BeanType]:
    """The chat models of all installed plugins that ask a provider."""
    from agentforge.provider import ChatSettings

    app.plugins.load_all()
    for plugin in app.plugins.names:
        for kind in app.plugins.types_of(plugin).values():
            if issubclass(kind.settings, ChatSettings):
                yield kind


def _known(app: AgentForge) -> Iterator[str]:
    for kind in _types(app):
        yield kind.name.partition(".")[0]
        yield kind.name
        yield from _vendors(app, kind)


def _vendors(app: AgentForge, kind: BeanType) -> tuple[str, ...]:
    table = kind.settings.VENDORS  # type: ignore[attr-defined]
    return (*table.rows, *app.plugins.vendor_profiles(table.family))


def _made_for(app: AgentForge, name: str) -> Iterator[tuple[str, Any]]:
    kinds = list(_types(app))
    for kind in kinds:
        if name in (kind.name, kind.name.partition(".")[0]):
            yield kind.name, _model(app, kind, kind.settings.VENDORS.default)  # type: ignore[attr-defined]
    if any(name in (kind.name, kind.name.partition(".")[0]) for kind in kinds):
        return
    for kind in kinds:
        if name in _vendors(app, kind):
            yield f"{kind.name} of {name}", _model(app, kind, name)


def _model(app: AgentForge, kind: BeanType, vendor: str) -> Any:
    """A model of this type and vendor, with what a model cannot be without."""
    from agentforge.plugin import BeanContext

    row = kind.settings.VENDORS.rows.get(vendor)  # type: ignore[attr-defined]
    brought = app.plugins.vendor_profiles(kind.settings.VENDORS.family).get(vendor)  # type: ignore[attr-defined]
    has_address = (row is not None and row.base_url) or (brought is not None and brought.get("base_url"))
    given = {"model": "any", "vendor": vendor, "api_key": _NO_KEY}
    if not has_address:
        given["base_url"] = _NO_ADDRESS
    nothing: dict[str, str] = {}
    settings = kind.settings.model_validate(
        given, context={"environment": nothing, "vendor_profiles": app.plugins.vendor_profiles}
    )
    context = BeanContext("preview", Path(), app.plan.components, Secrets(), plugins=app.plugins, environment=nothing)
    return kind.create(settings, context)
