"""A tool as a provider would get it: which models a name stands for, and what each would be sent.

A name is a model of the file, a plugin (each of its types of chat models), a type, or a vendor that one of the types
knows. Models that are not in the file are made for the look alone: nothing is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from agentforge.cli.application import beans_of
from agentforge.cli.known_rows import chat_types, model_of_row, vendor_names
from agentforge.cli.usage import near_miss
from agentforge.errors import AgentForgeError, ConfigurationError

if TYPE_CHECKING:
    from agentforge.container import AgentForge
    from agentforge.model import ToolSpecification

__all__ = ("ProviderView", "provider_views")


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


def _known(app: AgentForge) -> Iterator[str]:
    for kind in chat_types(app.plugins):
        yield kind.name.partition(".")[0]
        yield kind.name
        yield from vendor_names(app.plugins, kind)


def _made_for(app: AgentForge, name: str) -> Iterator[tuple[str, Any]]:
    kinds = list(chat_types(app.plugins))
    for kind in kinds:
        if name in (kind.name, kind.name.partition(".")[0]):
            vendor = kind.settings.VENDORS.default  # type: ignore[attr-defined]
            yield kind.name, model_of_row(app.plugins, kind, vendor)
    if any(name in (kind.name, kind.name.partition(".")[0]) for kind in kinds):
        return
    for kind in kinds:
        if name in vendor_names(app.plugins, kind):
            yield f"{kind.name} of {name}", model_of_row(app.plugins, kind, name)
