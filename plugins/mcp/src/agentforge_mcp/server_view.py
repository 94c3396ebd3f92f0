"""The view that a file has of whatever a server lists: which tools, under which names; and what in it fits none.

What a server offers is known only when it is listed, so that is when a name written wrongly is found. Loaded with the
beans.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge.plugin import view_of
from agentforge.tool import BoundTool, StaticTools, known_tools
from agentforge_mcp.patterns import fits_any, has_wildcards
from agentforge_mcp.settings import McpSettings
from agentforge_mcp.source import McpTools

__all__ = ("ServerView",)

_NO_CHOICE: dict[str, Any] = {"only": (), "without": (), "except_": ()}


class ServerView:
    """The settings' view, by the server's own names and by those that they are made for a model.

    A name that fits no tool is a mistake in the file when the server is first listed, and a pattern that fits none a
    warning; later it is the server that changed, and what is left is offered.
    """

    def __init__(self, settings: McpSettings, bean_id: str) -> None:
        self._settings = settings
        self._bean_id = bean_id
        self._first = True
        #: The source whose view this is, once it is made.
        self.source: McpTools | None = None

    def __call__(self, tools: Sequence[BoundTool]) -> Sequence[BoundTool]:
        """What is offered of the tools. Raises `ConfigurationError` for a name that fits none."""
        settings = self._settings
        # The tools for resources and prompts were asked for by settings of their own.
        extras = {id(each) for each in self.source.extras.values()} if self.source is not None else set()
        own = [each for each in tools if id(each) not in extras]
        more = [each for each in tools if id(each) in extras]
        if self._first:
            self._expect({name for each in own for name in _names(each)}, {each.name for each in more})
            self._first = False
        seen = [*(each for each in own if not self.left_out(*_names(each))), *more]
        present: dict[str, Any] = {
            key: {
                each.name: text
                for each in seen
                for name, text in getattr(settings, key).items()
                if name in _names(each)
            }
            for key in ("rename", "describe")
        }
        return known_tools(view_of(StaticTools(seen), settings.model_copy(update={**_NO_CHOICE, **present}))) or ()

    def left_out(self, *names: str) -> bool:
        """Whether only, without or except leave the tool of these names out."""
        settings = self._settings
        if settings.only and not fits_any(names, settings.only):
            return True
        return fits_any(names, (*settings.without, *settings.except_))

    def _expect(self, own: set[str], extras: set[str]) -> None:
        # What is held back, filtered out or cannot be offered is there all the same.
        if self.source is not None:
            own = own | {each.name for each in self.source.definitions} | {each.name for each in self.source.dropped}
        for key, pattern in self._wanted():
            names = own | extras if key in ("rename", "describe") else own
            if fits_any(names, [pattern]):
                continue
            near = get_close_matches(pattern.strip("*?"), sorted(names), 1)
            step = f"Did you mean {near[0]!r}? " if near else ""
            step += f"It offers {', '.join(sorted(names)) or 'none'}."
            if has_wildcards(pattern):
                if self.source is not None:
                    self.source.warn(
                        f"{key} of {self._bean_id!r} has {pattern!r}, which fits no tool of the server. {step}"
                    )
                continue
            raise ConfigurationError(
                f"{key} of {self._bean_id!r} names {pattern!r}, and the server offers no such tool", next_step=step
            )

    def _wanted(self) -> Iterator[tuple[str, str]]:
        """Each name and pattern, with its setting."""
        settings = self._settings
        serial = () if isinstance(settings.serial, bool) else settings.serial
        for key, names in (
            ("rename", settings.rename),
            ("describe", settings.describe),
            ("only", settings.only),
            ("without", settings.without),
            ("except", settings.except_),
            ("effects", settings.effects),
            ("serial", serial),
        ):
            yield from ((key, name) for name in names)


def _names(tool: BoundTool) -> tuple[str, ...]:
    """What a file may call it by: its name here, and the server's own."""
    own = tool.origin.name if tool.origin is not None else None
    return (tool.name,) if own is None else (tool.name, own)
