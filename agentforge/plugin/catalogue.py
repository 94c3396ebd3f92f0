"""Bean types by name: the core's without a dot, a plugin's by its prefix; what is not found says why and what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from agentforge.config import nearest
from agentforge.plugin.discovery import how_to_get, known_distribution
from agentforge.plugin.manager import Plugins

if TYPE_CHECKING:
    from agentforge.plugin.bean_type import BeanType

__all__ = ("Catalogue", "NotFound")

_PREFIX = re.compile(r"[a-z][a-z0-9_]*")


@dataclass(frozen=True, slots=True)
class NotFound:
    """Why there is no bean type of a name.

    ``detail`` is a sentence for the user, ``next_step`` what to do, ``nearest`` the known name that it resembles,
    ``cause`` what a failed plugin raised.
    """

    reason: Literal["unknown", "plugin failed", "plugin missing", "blocked"]
    detail: str
    nearest: str | None = None
    next_step: str | None = None
    cause: BaseException | None = None


class Catalogue:
    """Finds bean types, loading the one plugin that a name's prefix asks for."""

    def __init__(self, plugins: Plugins) -> None:
        self.plugins = plugins

    def find(self, type_name: str) -> BeanType | NotFound:
        """The bean type of this name, or why there is none."""
        prefix, dot, _ = type_name.partition(".")
        if not dot:
            builtin = self.plugins.builtin_types()
            return builtin[type_name] if type_name in builtin else self._unknown_builtin(type_name, builtin)
        self.plugins.load(prefix)
        found = self.plugins.types_of(prefix).get(type_name)
        return found if found is not None else self._not_found(type_name, prefix)

    def known_types(self) -> tuple[str, ...]:
        """The names of the core's types and those of the plugins that are loaded."""
        loaded = (name for prefix in self.plugins.names for name in self.plugins.types_of(prefix))
        return tuple(sorted((*self.plugins.builtin_types(), *loaded)))

    def providers_hint(self, type_name: str) -> str | None:
        """The distribution of ours that brings a type's prefix; ``None`` where none of ours does.

        >>> Catalogue(Plugins(entry_points=())).providers_hint("chat_client") is None
        True
        """
        prefix, dot, _ = type_name.partition(".")
        return known_distribution(prefix) if dot and _PREFIX.fullmatch(prefix) else None

    def _unknown_builtin(self, type_name: str, builtin: Iterable[str]) -> NotFound:
        names = sorted(builtin)
        near = nearest(type_name, names)
        if near is None and type_name in self.plugins.names:
            self.plugins.load(type_name)
            types = sorted(self.plugins.types_of(type_name))
            if types:
                return NotFound(
                    "unknown",
                    f"{type_name!r} is a plugin, not a bean type",
                    types[0],
                    f"Name one of its types: {', '.join(types)}.",
                )
        step = f"Did you mean {near!r}?" if near else f"The core's types are {', '.join(names)}."
        return NotFound("unknown", f"there is no bean type {type_name!r}", near, step)

    def _not_found(self, type_name: str, prefix: str) -> NotFound:
        state = self.plugins.state(prefix)
        if state is None:
            return self._missing(type_name, prefix)
        if state.state == "active":
            near = nearest(type_name, state.types)
            step = f"Did you mean {near!r}?" if near else f"Its types are {', '.join(state.types) or 'none'}."
            return NotFound("unknown", f"the plugin {prefix!r} has no bean type {type_name!r}", near, step)
        if state.state == "blocked":
            step = (
                f"Allow the plugin {prefix!r} in AGENTFORGE_DISABLE_PLUGINS, AGENTFORGE_LOAD_PLUGINS, "
                "or 'plugins' of the file."
            )
            return NotFound("blocked", f"the bean type {type_name!r} cannot be used: {state}", None, step)
        if state.state == "duplicate":
            step = "Uninstall all of these distributions but one."
        else:
            step = f"Repair or reinstall {state.distribution}, or use another type."
        return NotFound(
            "plugin failed", f"the bean type {type_name!r} cannot be used: {state}", None, step, state.cause
        )

    def _missing(self, type_name: str, prefix: str) -> NotFound:
        near_prefix = nearest(prefix, self.plugins.names)
        detail = f"the bean type {type_name!r} needs a plugin {prefix!r}, and none of that name is installed"
        if near_prefix is not None:
            near = near_prefix + type_name[len(prefix) :]
            return NotFound("plugin missing", detail, near, f"Did you mean {near!r}?")
        step = how_to_get(prefix) if _PREFIX.fullmatch(prefix) else "Correct the type's name."
        return NotFound("plugin missing", detail, None, step)
