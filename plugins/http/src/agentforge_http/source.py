"""A source of HTTP tools, whose connections are closed with its bean."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentforge.tool import BoundTool
from agentforge.tool.execution import Run
from agentforge_http.sender import HttpSender

__all__ = ("HttpTools",)


class HttpTools:
    """A `ToolSource` of HTTP tools that stay as they are, and of the sender that they share."""

    def __init__(self, tools: Iterable[BoundTool], sender: HttpSender) -> None:
        self._tools = tuple(tools)
        self._sender = sender

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """The tools."""
        return self._tools

    def known_tools(self) -> Sequence[BoundTool]:
        """The tools."""
        return self._tools

    async def aclose(self) -> None:
        """Close the connections."""
        await self._sender.aclose()

    def __repr__(self) -> str:
        return f"HttpTools({', '.join(tool.name for tool in self._tools)})"
