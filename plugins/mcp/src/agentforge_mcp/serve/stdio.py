"""Serving one client over standard input and output. Loads the SDK."""

from __future__ import annotations

import json
from typing import Any, Self

import mcp_types as types
from mcp.shared.message import SessionMessage

from agentforge_mcp.serve.protocol import ToolProtocol
from agentforge_mcp.serve.wire import Inbox, Outbox, StdioWire
from agentforge_mcp.streams import Stream
from agentforge_mcp.wire_json import message_of

__all__ = ("serve_stdio",)


async def serve_stdio(protocol: ToolProtocol, *, max_bytes: int, wire: StdioWire | None = None) -> None:
    """Serve until the client closes its end, or reads no more."""
    opened = StdioWire() if wire is None else wire
    try:
        async with protocol:
            inbox, outbox = opened.streams(_parse, _write, max_bytes)
            server: Any = protocol.server
            await server.run(_Messages(inbox, outbox), outbox, server.create_initialization_options())
    finally:
        if wire is None:
            opened.restore()


class _Messages(Stream):
    """What comes in; a line that is no message is answered here, so that nobody waits for it."""

    def __init__(self, inbox: Inbox, outbox: Outbox) -> None:
        self._inbox = inbox
        self._outbox = outbox

    async def receive(self) -> SessionMessage:
        """The next message. Raises `StopAsyncIteration` at the end."""
        while isinstance(item := await self._inbox.receive(), Exception):
            error = item.error if isinstance(item, _BadMessage) else _error(types.INVALID_REQUEST, str(item))
            await self._outbox.send(SessionMessage(error))
        message: SessionMessage = item
        return message

    async def aclose(self) -> None:
        """Read no more."""
        await self._inbox.aclose()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        return await self.receive()


class _BadMessage(Exception):  # noqa: N818 - an item, handed on and never raised out
    """A line that is no message, and what is answered."""

    def __init__(self, error: types.JSONRPCError) -> None:
        super().__init__(error.error.message)
        self.error = error


def _parse(line: bytes) -> SessionMessage:
    try:
        message = message_of(line)
        # A request whose id is none reads like a notification; whoever wrote it waits for an answer.
        if not isinstance(message, types.JSONRPCNotification) or b'"id"' not in line:
            return SessionMessage(message)
    except ValueError:
        message = None
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        raise _BadMessage(_error(types.PARSE_ERROR, "Parse error")) from None
    if message is not None and "id" not in found:
        return SessionMessage(message)
    id_ = found.get("id") if isinstance(found, dict) else None
    raise _BadMessage(_error(types.INVALID_REQUEST, "Invalid request", id_ if type(id_) in (int, str) else None))


def _error(code: int, message: str, id_: Any = None) -> types.JSONRPCError:
    return types.JSONRPCError(jsonrpc="2.0", id=id_, error=types.ErrorData(code=code, message=message))


def _write(item: SessionMessage) -> bytes:
    return item.message.model_dump_json(by_alias=True, exclude_unset=True).encode()
