"""What to do where a bean does not fit, or none does, and more can be said than which beans there are."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType

from agentforge.config import listed
from agentforge.container.draft import Draft
from agentforge.errors import ConfigurationError
from agentforge.plugin import BeanType, Catalogue, Components, fits
from agentforge.tool import ToolSource, declaration_of

__all__ = ("implementing", "types_for", "words_for_misfit")


def words_for_misfit(target: Draft, provided: type, wanted: type, fitting: Sequence[str]) -> tuple[str, str]:
    """How the sentence goes on that says what ``target`` is where ``wanted`` is needed, and what to do; ``fitting`` are
    the ids of the beans that fit. Of what could be a source of tools it says how it becomes one."""
    step = f"Beans that fit: {listed(fitting)}." if fitting else "No bean here fits; declare one."
    kind = target.bean_type
    if kind is None or wanted is not ToolSource:
        return "", step
    if kind.implements is not None:
        declare = f"Declare the methods of {provided.__name__} that are tools with @tool"
        return (
            ", none of whose methods is declared with @tool",
            f"{declare}, or name a bean that fits: {listed(fitting)}." if fitting else f"{declare}.",
        )
    if kind.name == "component" and (provided is FunctionType or _declares_tools(provided)):
        made = "a tool of it" if provided is FunctionType else "tools of its methods with @tool"
        return "", f"Give '{target.id}' the type python_tools, which makes {made}."
    return "", step


def types_for(wanted: type, catalogue: Catalogue) -> tuple[str, ...]:
    """The names of the bean types, of the core and of loaded plugins, that give what is wanted and nothing else."""
    if wanted is object:
        return ()
    kinds = _types(catalogue)
    return tuple(each.name for each in kinds if each.provides is not object and fits(each.provides, wanted))


def implementing(wanted: type, components: Components, catalogue: Catalogue) -> str | None:
    """The definition of a bean whose type implements ``wanted``, where it is an interface of the ``scan`` roots; such
    as ``{type: ai_service, interface: Clerk, client: …}``."""
    for kind in _types(catalogue):
        if kind.implements is None:
            continue
        try:
            if components.find(wanted.__name__) is not wanted:
                return None
            kind.implements(wanted)
        except ConfigurationError:
            continue
        fields = kind.settings.model_fields.items()
        needed = [f"{name}: …" for name, field in fields if field.is_required() and name != kind.component]
        return f"{{{', '.join((f'type: {kind.name}', f'{kind.component}: {wanted.__name__}', *needed))}}}"
    return None


# -- inside --------------------------------------------------------------------------------------


def _types(catalogue: Catalogue) -> list[BeanType]:
    plugins = catalogue.plugins
    return [
        *plugins.builtin_types().values(),
        *(each for name in plugins.names for each in plugins.types_of(name).values()),
    ]


def _declares_tools(kind: type) -> bool:
    return any(declaration_of(getattr(kind, name, None)) is not None for name in dir(kind))
