"""A raw TCP server on 127.0.0.1 that answers with scripted bytes, right or wrong, and notes what it saw.

A library's test server cannot send what a broken gateway sends; here an answer is a coroutine that writes bytes.
"""

from __future__ import annotations

import asyncio
import gzip
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

__all__ = (
    "Answer",
    "Loopback",
    "Seen",
    "chunked",
    "endless",
    "gzipped",
    "hang_up",
    "make_certificate",
    "plain",
    "raw",
    "reset",
    "serve",
    "stall",
    "tunnel",
)

#: Writes one answer; the connection is kept unless it closes the writer.
Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass
class Seen:
    """One request as it came: names of headers in lower case, ``connection`` counted from 1."""

    method: str
    target: str
    headers: dict[str, str]
    body: bytes
    connection: int


class Loopback:
    """The server: answers the n-th request with the n-th script, further ones with the last."""

    def __init__(self, answers: tuple[Answer, ...]) -> None:
        self._answers = answers
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None
        self._gone = asyncio.Event()
        self._asked = asyncio.Event()
        self.secure = False
        self.port = 0
        self.connections = 0
        self.requests: list[Seen] = []

    async def start(self, context: ssl.SSLContext | None) -> None:
        self.secure = context is not None
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=context)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        assert self._server is not None
        self._server.close()
        for writer in list(self._writers):
            writer.transport.abort()
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def url(self, path: str = "/v1/chat", host: str = "127.0.0.1") -> str:
        """The address of a path on this server."""
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{path}"

    async def asked(self) -> None:
        """Wait until a request has come."""
        async with asyncio.timeout(10):
            await self._asked.wait()

    async def all_closed(self) -> None:
        """Wait until no connection is open."""
        async with asyncio.timeout(10):
            while self._writers:
                self._gone.clear()
                await self._gone.wait()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._writers.add(writer)
        self.connections += 1
        number = self.connections
        try:
            while (seen := await _read_request(reader, number)) is not None:
                self.requests.append(seen)
                self._asked.set()
                await self._answers[min(len(self.requests), len(self._answers)) - 1](reader, writer)
                if writer.is_closing():
                    break
                await writer.drain()
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._writers.discard(writer)
            self._tasks.discard(task)
            self._gone.set()
            writer.close()


async def _read_request(reader: asyncio.StreamReader, connection: int) -> Seen | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError:
        return None
    first, *lines = head.decode("latin-1").split("\r\n")[:-2]
    method, target, _ = first.split(" ")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Seen(method, target, headers, body, connection)


@asynccontextmanager
async def serve(*answers: Answer, context: ssl.SSLContext | None = None) -> AsyncIterator[Loopback]:
    """A running server, stopped with all its connections at the end."""
    server = Loopback(answers)
    await server.start(context)
    try:
        yield server
    finally:
        await server.stop()


# -- answers -------------------------------------------------------------------------------------


def raw(*parts: bytes) -> Answer:
    """These bytes, and the connection stays."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for part in parts:
            writer.write(part)
            await writer.drain()

    return answer


def plain(
    body: bytes = b'{"ok": true}', *headers: str, status: str = "200 OK", kind: str = "application/json"
) -> Answer:
    """A whole answer with its length."""
    lines = [f"HTTP/1.1 {status}", f"Content-Type: {kind}", f"Content-Length: {len(body)}", *headers]
    return raw("\r\n".join([*lines, "", ""]).encode("latin-1") + body)


def gzipped(body: bytes, *, cut: int = 0, damage: bool = False) -> Answer:
    """The body compressed; ``cut`` bytes short, or damaged."""
    packed = gzip.compress(body)
    packed = packed[: len(packed) - cut] if cut else packed
    return plain(packed[:20] + b"\xff" * 20 + packed[40:] if damage else packed, "Content-Encoding: gzip")


def chunked(*parts: bytes, after: Answer | None = None, headers: str = "") -> Answer:
    """A chunked answer, one chunk a part; ``after`` takes the place of its end."""
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n{headers}\r\n".encode()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await raw(head, *(b"%x\r\n%b\r\n" % (len(part), part) for part in parts))(reader, writer)
        await (after or raw(b"0\r\n\r\n"))(reader, writer)

    return answer


def reset(sent: bytes = b"", *, gate: asyncio.Event | None = None) -> Answer:
    """These bytes, then a TCP reset, held back until the gate opens."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()
        if gate is not None:
            await gate.wait()
        found: socket.socket = writer.get_extra_info("socket")
        found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        writer.transport.abort()

    return answer


def hang_up(sent: bytes = b"") -> Answer:
    """These bytes, then an orderly end of the connection."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()
        writer.close()

    return answer


def stall(sent: bytes = b"") -> Answer:
    """These bytes, then nothing until the client goes."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()
        await reader.read()
        writer.close()

    return answer


def endless(part: bytes = b"x" * 16_384) -> Answer:
    """Chunks without end, as fast as the client takes them."""

    async def answer(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while not writer.is_closing():
            writer.write(b"%x\r\n%b\r\n" % (len(part), part))
            await writer.drain()

    return answer


def tunnel(port: int) -> Answer:
    """What a proxy does after CONNECT: bytes both ways between the client and a local port."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        with suppress(OSError):
            try:
                await asyncio.gather(_pump(reader, far_writer), _pump(far_reader, writer))
            finally:
                far_writer.close()
                writer.close()

    return answer


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while part := await reader.read(65_536):
        writer.write(part)
        await writer.drain()
    writer.close()


# -- TLS -----------------------------------------------------------------------------------------


def make_certificate(folder: Path) -> tuple[Path, ssl.SSLContext]:
    """A throw-away certificate for localhost, signed by an authority of its own, and a server's context with it."""
    import trustme

    authority = trustme.CA()
    certificate = folder / "certificate.pem"
    authority.cert_pem.write_to_path(certificate)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost", "127.0.0.1").configure_cert(context)
    return certificate, context
