"""Values of the run that go into requests outside the schema: the tenant, a user's token (``from_context``)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any, Literal, cast

from agentforge.errors import ConfigurationError, ToolExecutionError
from agentforge.http import is_secret_header
from agentforge_http.header_text import header_fault

if TYPE_CHECKING:
    from agentforge.tool.execution import ToolContext

__all__ = ("PLACES", "RunValue")

_NAMES = ("tenant", "memory_id", "run_id")
PLACES = ("header", "query", "cookie", "path")
"""What stands before the dot of an entry that is no argument's."""


@dataclass(frozen=True, slots=True)
class RunValue:
    """One entry of ``from_context``: ``place`` with the name on the wire, or no place and an argument's name; the value
    it stands for, whether it must be there, and text in front of it."""

    place: Literal["header", "query", "cookie", "path"] | None
    name: str
    source: str
    required: bool = True
    prefix: str = ""

    @classmethod
    def parsed(cls, key: str, source: str, required: bool = True, prefix: str = "") -> RunValue:
        """From the two texts of a file. Raises `ConfigurationError`.

        >>> RunValue.parsed("header.X-User", "user_data.token").place
        'header'
        """
        place, dot, name = key.partition(".")
        if not dot or place not in PLACES:
            place, name = "", key
        if not name:
            step = "Name an argument, or header.NAME, query.NAME or cookie.NAME."
            raise ConfigurationError(f"{key!r} in from_context names nothing", next_step=step)
        if place == "header" and (fault := header_fault(name, "", credentials=True)) is not None:
            step = "Write the name that the API documents; what belongs to the connection is never given."
            raise ConfigurationError(f"the header {name!r} in from_context {fault}", next_step=step)
        first, dot, path = source.partition(".")
        known = (first in _NAMES and not dot) or (first == "user_data" and all(path.split(".")))
        if not known:
            near = next(iter(get_close_matches(first, (*_NAMES, "user_data") if not dot else ("user_data",), 1)), None)
            step = f"Did you mean {near + dot + path!r}? " if near is not None and near != first else ""
            step += f"Give {', '.join(_NAMES)}, or user_data and a name in it, such as user_data.token."
            raise ConfigurationError(f"{source!r} of {key!r} in from_context is no value of a run", next_step=step)
        return cls(cast("Any", place or None), name, source, required, prefix)

    @property
    def is_secret(self) -> bool:
        """Whether it is a credential, by the sound of its names."""
        return is_secret_header(self.name) or is_secret_header(self.source)

    def of(self, context: ToolContext | None, tool: str) -> Any:
        """The value, in JSON's own types; ``None`` where there is none. Raises `ToolExecutionError` where there has to
        be one."""
        found = _plain(self._read(context), self, tool)
        if self.required and (found is None or found == ""):
            raise ToolExecutionError(
                f"{tool!r} was not called: this run has no {self.source}, which the API needs",
                tool=tool,
                next_step=f"Give {self.source} with the run, or set required: false in from_context.",
            )
        return f"{self.prefix}{found}" if self.prefix and found is not None else found

    def _read(self, context: ToolContext | None) -> Any:
        if context is None:
            return None
        if self.source in _NAMES:
            return getattr(context, self.source)
        found: Any = context.user_data
        for step in self.source.split(".")[1:]:
            if not isinstance(found, Mapping):
                return None
            found = found.get(step)
        return found


def _plain(value: Any, what: RunValue, tool: str) -> Any:
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(inner, what, tool) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner, what, tool) for inner in value]
    from datetime import date
    from decimal import Decimal
    from uuid import UUID

    if isinstance(value, Decimal | UUID | date):
        return str(value)
    raise ToolExecutionError(
        f"{tool!r} was not called: {what.source} of this run is of the type {type(value).__name__}, which no request "
        "can carry",
        tool=tool,
    )
