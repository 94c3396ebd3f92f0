"""The errors of MCP servers, each a tool's error with its place in the framework's hierarchy."""

from __future__ import annotations

from typing import Literal

from agentforge.errors import ToolExecutionError, ToolInDoubtError

__all__ = ("TRY_ALONE", "McpConnectionError", "McpLostError", "McpRequestError")

TRY_ALONE = "'agentforge mcp inspect' tries it alone."
"""The end of a next step: how to see what a server says, without the rest of the program."""


class McpConnectionError(ToolExecutionError):
    """A server is not there: it did not start, did not answer in its time, or speaks another protocol. Nothing was
    sent that could have acted."""


class McpLostError(ToolInDoubtError):
    """A request was sent and there is no answer to it, so that what became of it is not known.

    ``reason``: the connection ``ended``, the ``time`` was over, or the ``answer`` cannot be read. ``last_words`` are
    the last lines that a program wrote to standard error, which no model is told.
    """

    def __init__(
        self,
        message: str,
        *,
        reason: Literal["ended", "time", "answer"] = "ended",
        last_words: str = "",
        tool: str | None = None,
        location: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(message, tool=tool, location=location, next_step=next_step)
        self.reason = reason
        self.last_words = last_words


class McpRequestError(ToolExecutionError):
    """A server answered a request with a JSON-RPC error; ``rpc_code`` is its number."""

    def __init__(
        self,
        message: str,
        *,
        rpc_code: int,
        tool: str | None = None,
        location: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(message, tool=tool, location=location, next_step=next_step)
        self.rpc_code = rpc_code
