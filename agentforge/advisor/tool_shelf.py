"""One set of tools as a search sees it: what is always shown, what is hidden, and what is offered of it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property

from agentforge.model import ToolSpecification
from agentforge.tool import BoundTool
from agentforge.tool.search import fingerprint_of

__all__ = ("ToolShelf",)

_KEPT = 64


class ToolShelf:
    """The tools of a request, of which those named ``visible`` are shown in any case, with the tool that searches the
    others."""

    def __init__(self, tools: Sequence[BoundTool], visible: Collection[str], search_tool: BoundTool) -> None:
        self.tools = tools
        self.visible = frozenset(visible)
        self.hidden: Mapping[str, BoundTool] = {each.name: each for each in tools if each.name not in self.visible}
        self._search_tool = search_tool
        self._offerings: dict[frozenset[str], tuple[BoundTool, ...]] = {}

    @cached_property
    def specifications(self) -> tuple[ToolSpecification, ...]:
        """What can be found."""
        return tuple(each.specification for each in self.hidden.values())

    @cached_property
    def fingerprint(self) -> str:
        """Of what can be found; asked for at a search, not before."""
        return fingerprint_of(self.specifications)

    def offering(self, names: Collection[str]) -> tuple[BoundTool, ...]:
        """The search tool, what is always shown and the hidden tools of these names, in the order of the whole set;
        the same object for the same names."""
        found = frozenset(name for name in names if name in self.hidden)
        offered = self._offerings.get(found)
        if offered is None:
            shown = (each for each in self.tools if each.name in self.visible or each.name in found)
            offered = (self._search_tool, *shown)
            if len(self._offerings) >= _KEPT:
                self._offerings.pop(next(iter(self._offerings)), None)
            self._offerings[found] = offered
        return offered
