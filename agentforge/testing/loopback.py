"""A small HTTP/1.1 server on the loopback address, for tests that need a real socket and faults below HTTP.

No HTTP library: a test server that shares its parser with the client under test would share its bugs too.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus

__all__ = ("Connection", "HttpCall", "LoopbackServer")

_HEAD_LIMIT = 64 * 1024
_BODY_LIMIT = 32 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class HttpCall:
    """A request as it came; header names are lower case, of repeated ones the last stays."""

    method: str
    path: str
    headers: Mapping[str, str] = field(repr=False)
    content: bytes = field(repr=False)


class _RefusedError(Exception):
    """A request that cannot be read; the connection ends after the answer ``status``."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class Connection:
    """The answering side of one exchange."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, closing: asyncio.Event) -> None:
        self._reader = reader
        self._writer = writer
        self._closing = closing
        self.keep_alive = True
        # Draining then means that all was handed over, so that a reset cannot throw away what was written before it.
        writer.transport.set_write_buffer_limits(high=0)

    async def send(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        """A whole answer."""
        self._head(status, {**headers, "content-length": str(len(content))})
        self._writer.write(content)
        await self._writer.drain()

    async def start(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of an answer whose body comes in pieces."""
        self._head(status, {**headers, "transfer-encoding": "chunked"})
        await self._writer.drain()

    async def piece(self, content: bytes) -> None:
        """One piece of the body."""
        self._writer.write(b"%x\r\n%b\r\n" % (len(content), content))
        await self._writer.drain()

    async def end(self) -> None:
        """The end of a body in pieces."""
        self._writer.write(b"0\r\n\r\n")
        await self._writer.drain()

    def reset(self) -> None:
        """End the connection with a TCP reset, as a crashed server does."""
        self.keep_alive = False
        sock = self._writer.get_extra_info("socket")
        if sock is not None:
            with contextlib.suppress(OSError):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self._writer.transport.abort()

    async def stall(self) -> None:
        """Say nothing more until the client leaves or the server closes."""
        self.keep_alive = False
        left = asyncio.ensure_future(self._reader.read(1))
        closed = asyncio.ensure_future(self._closing.wait())
        try:
            await asyncio.wait((left, closed), return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (left, closed):
                task.cancel()
            await asyncio.gather(left, closed, return_exceptions=True)

    def _head(self, status: int, headers: Mapping[str, str]) -> None:
        lines = [f"HTTP/1.1 {status} {_reason(status)}"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines.append(f"connection: {'keep-alive' if self.keep_alive else 'close'}")
        self._writer.write(("\r\n".join(lines) + "\r\n\r\n").encode("latin-1"))


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:  # an overload is often a status of a provider's own
        return "Status"


class LoopbackServer:
    """Serves ``handler`` on 127.0.0.1 and a free port, inside one event loop; an async context manager.

    ``open_connections`` are those open now, ``connections`` all that were ever made.
    """

    def __init__(self, handler: Callable[[HttpCall, Connection], Awaitable[None]]) -> None:
        self._handler = handler
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = asyncio.Event()
        self.port = 0
        self.connections = 0
        self.open_connections = 0

    async def __aenter__(self) -> LoopbackServer:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, limit=_HEAD_LIMIT)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        assert self._server is not None
        self._closing.set()
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open_connections += 1
        try:
            connection = Connection(reader, writer, self._closing)
            while connection.keep_alive and await self._exchange(reader, writer, connection):
                pass
        except (ConnectionError, asyncio.CancelledError):
            # The client left, or the server closes: there is nobody to tell.
            pass
        finally:
            self.open_connections -= 1
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(ConnectionError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _exchange(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection
    ) -> bool:
        try:
            call = await _read_call(reader, writer, connection)
        except _RefusedError as error:
            connection.keep_alive = False
            await connection.send(error.status, {"content-type": "text/plain"}, str(error).encode())
            return False
        if call is None:
            return False
        await self._handler(call, connection)
        return True


async def _read_call(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connection: Connection
) -> HttpCall | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise _RefusedError(413, "the head of the request is too large") from None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise _RefusedError(400, "not an HTTP/1 request")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon:
            raise _RefusedError(400, "a header without a colon")
        headers[name.strip().lower()] = value.strip()
    wanted = headers.get("connection", "").lower()
    connection.keep_alive = "close" not in wanted and (words[2] == "HTTP/1.1" or "keep-alive" in wanted)
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
    try:
        content = await _read_body(reader, headers)
    except asyncio.IncompleteReadError:
        return None
    except asyncio.LimitOverrunError:
        raise _RefusedError(400, "a line of the body is too long") from None
    return HttpCall(words[0], words[1], headers, content)


async def _read_body(reader: asyncio.StreamReader, headers: Mapping[str, str]) -> bytes:
    if "chunked" in headers.get("transfer-encoding", "").lower():
        body = bytearray()
        while size := _size((await reader.readuntil(b"\r\n")).partition(b";")[0].decode("latin-1"), 16):
            if len(body) + size > _BODY_LIMIT:
                raise _RefusedError(413, "the body of the request is too large")
            body += await reader.readexactly(size)
            await reader.readuntil(b"\r\n")
        while await reader.readuntil(b"\r\n") != b"\r\n":
            pass
        return bytes(body)
    size = _size(headers.get("content-length", "0"), 10)
    if size > _BODY_LIMIT:
        raise _RefusedError(413, "the body of the request is too large")
    return await reader.readexactly(size)


def _size(text: str, base: int) -> int:
    try:
        size = int(text.strip(), base)
    except ValueError:
        size = -1
    if size < 0:
        raise _RefusedError(400, "the length of the body is not a number")
    return size
