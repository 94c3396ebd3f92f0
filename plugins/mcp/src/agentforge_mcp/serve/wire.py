"""Standard input and output as the protocol's wire: one JSON message a line, and nothing else ever on it.

While a `StdioWire` is open the process's own descriptors 0 and 1 lead elsewhere (nowhere, and to standard error), so
that what a tool prints, or a program that it starts, never tears a message; so it is opened before anything of the
user's is imported. Reading and writing are on two daemon threads: they work for pipes, files and terminals alike, and
one that is stuck never keeps the process from ending.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import queue
import sys
import threading
from collections.abc import Callable
from typing import Any, Self

from agentforge_mcp.streams import Stream

__all__ = ("Inbox", "Outbox", "StdioWire")

_CHUNK = 1 << 16
_AHEAD = 64
_END = object()


class StdioWire:
    """The two ends of the wire. ``input`` and ``output`` are descriptors; by default the process's own, diverted."""

    def __init__(self, input: int | None = None, output: int | None = None) -> None:
        self._diverted = input is None and output is None
        self.input = os.dup(0) if input is None else input
        self.output = os.dup(1) if output is None else output
        if self._diverted:
            sys.stdout.flush()
            nowhere = os.open(os.devnull, os.O_RDWR)
            os.dup2(nowhere, 0)
            try:
                os.dup2(2, 1)
            except OSError:  # started without standard error
                os.dup2(nowhere, 1)
            os.close(nowhere)

    def restore(self) -> None:
        """Give the process its descriptors back. The wire's own stay open: a thread may still wait at one."""
        if self._diverted:
            self._diverted = False
            with contextlib.suppress(OSError, ValueError):
                sys.stdout.flush()  # what was printed meanwhile is no message
            os.dup2(self.input, 0)
            os.dup2(self.output, 1)

    def streams(
        self, parse: Callable[[bytes], Any], write: Callable[[Any], bytes], max_bytes: int
    ) -> tuple[Inbox, Outbox]:
        """The messages that come, and where to send some, for the loop at hand."""
        inbox = Inbox(self.input, parse, max_bytes)
        return inbox, Outbox(self.output, write, inbox.end)


class Inbox(Stream):
    """Messages from a descriptor, in the form of a stream of the SDK: what `parse` makes of each line.

    What `parse` raises is handed on as an item, as is a line of more than ``max_bytes``, whose rest is skipped.
    """

    def __init__(self, source: int, parse: Callable[[bytes], Any], max_bytes: int) -> None:
        self._source = source
        self._parse = parse
        self._max = max_bytes
        self._loop = asyncio.get_running_loop()
        self._items: asyncio.Queue[Any] = asyncio.Queue()
        self._room = threading.Semaphore(_AHEAD)
        self._over = False
        threading.Thread(target=self._read, name="agentforge-mcp-input", daemon=True).start()

    def end(self) -> None:
        """Nothing more will be read: the other side is gone. Safe from any thread."""
        self._tell(_END)

    async def receive(self) -> Any:
        """The next item. Raises `StopAsyncIteration` at the end."""
        return await self.__anext__()

    async def aclose(self) -> None:
        """Read no more."""
        self._over = True

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        if self._over:
            raise StopAsyncIteration
        item = await self._items.get()
        self._room.release()
        if item is _END:
            self._over = True
            raise StopAsyncIteration
        return item

    def _tell(self, item: Any) -> None:
        try:
            self._loop.call_soon_threadsafe(self._items.put_nowait, item)
        except RuntimeError:  # the loop is closed: nobody reads any more
            self._over = True

    def _read(self) -> None:
        held, skipping = bytearray(), False
        while not self._over:
            try:
                chunk = os.read(self._source, _CHUNK)
            except OSError:
                break
            if not chunk:
                break
            *whole, rest = chunk.split(b"\n")
            for line in whole:
                held += line
                if not skipping and held.strip():
                    self._take(self._parsed(bytes(held)))
                held.clear()
                skipping = False
            if not skipping:
                held += rest
                if skipping := len(held) > self._max:
                    self._take(self._too_long())
                    held.clear()
        if held.strip() and not skipping:
            self._take(self._parsed(bytes(held)))
        self.end()

    def _take(self, item: Any) -> None:
        self._room.acquire()  # no more than a few ahead of who answers
        self._tell(item)

    def _too_long(self) -> ValueError:
        return ValueError(f"a message of more than {self._max:,} bytes")

    def _parsed(self, line: bytes) -> Any:
        if len(line) > self._max:
            return self._too_long()
        try:
            return self._parse(line)
        except Exception as error:
            return error


class Outbox(Stream):
    """Messages to a descriptor, in the form of a stream of the SDK; ``broken`` is called once nobody reads."""

    def __init__(self, target: int, write: Callable[[Any], bytes], broken: Callable[[], None]) -> None:
        self._target = target
        self._write = write
        self._broken = broken
        self._loop = asyncio.get_running_loop()
        self._lines: queue.SimpleQueue[tuple[bytes, asyncio.Future[None]] | None] = queue.SimpleQueue()
        self._closed = False
        self._unread = False
        threading.Thread(target=self._send, name="agentforge-mcp-output", daemon=True).start()

    async def send(self, item: Any, /) -> None:
        """Write one message; returns when the descriptor has taken it. One that nobody reads any more is dropped."""
        if self._closed:
            return
        written = self._loop.create_future()
        self._lines.put((self._write(item) + b"\n", written))
        await written

    async def aclose(self) -> None:
        """Write what is there, and no more."""
        if not self._closed:
            self._closed = True
            self._lines.put(None)

    def _send(self) -> None:
        while (entry := self._lines.get()) is not None:
            line, written = entry
            try:
                while line and not self._unread:
                    line = line[os.write(self._target, line) :]
            except OSError:
                self._unread = True
                self._broken()
            try:
                self._loop.call_soon_threadsafe(_done, written)
            except RuntimeError:  # the loop is closed
                return


def _done(written: asyncio.Future[None]) -> None:
    if not written.done():
        written.set_result(None)
