"""A server that is a program: started, spoken to over its standard streams, and ended with all that it started.

Below the SDK's session stands this transport and not the SDK's own, for what that does not do: noise on standard
output is skipped with a warning that is bounded, standard error is drained and masked, a message and the memory for
it are bounded, and the end of the program is noticed at once, though its children may hold its pipes open.
Loaded when such a server starts.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import deque
from types import TracebackType
from typing import Any, Self

from mcp import MCPError
from mcp.shared.message import SessionMessage
from mcp_types import CONNECTION_CLOSED, ErrorData, JSONRPCError, JSONRPCRequest

from agentforge.masking import Secrets
from agentforge_mcp.errors import McpConnectionError
from agentforge_mcp.options import StdioServer
from agentforge_mcp.rpc_codes import UNREADABLE
from agentforge_mcp.server_log import ServerLog
from agentforge_mcp.streams import Stream
from agentforge_mcp.wire_json import answered_id, message_of

__all__ = ("StdioTransport",)

_WAITING = 64  # messages that wait to be taken before the program is made to wait
_LINGER = 0.05  # seconds between the end of a program and that of its output
_SHOWN = 4096  # bytes that are looked at of a message that is too long
_END = 200  # bytes of its end, where servers may write which request it answers
_KILL = signal.SIGKILL if sys.platform != "win32" else signal.SIGTERM


class StdioTransport:
    """A program as a transport of the SDK: entered, it gives the stream of what it says and the one it is told by.

    ``ended`` is set when the program is gone or has closed its output; ``exit_code`` is then known or soon will be.
    """

    def __init__(
        self, server: StdioServer, *, name: str, secrets: Secrets, max_message_bytes: int, close_timeout: float
    ) -> None:
        self._server = server
        self._name = name
        self._close_timeout = close_timeout
        self.log = ServerLog(name, secrets)
        self._program = _Program(self.log, max_message_bytes)
        self._transport: asyncio.SubprocessTransport | None = None

    @property
    def ended(self) -> asyncio.Event:
        """Set when the program said its last word."""
        return self._program.ended

    @property
    def exit_code(self) -> int | None:
        """What the program ended with; negative: the signal that ended it."""
        return self._transport.get_returncode() if self._transport is not None else None

    @property
    def pid(self) -> int | None:
        """The program's process."""
        return self._transport.get_pid() if self._transport is not None else None

    def kill(self) -> None:
        """End the program and all that it started, at once."""
        if self.pid is not None and self.exit_code is None:
            _signal(self.pid, _KILL)

    def why(self) -> str:
        """How the program ended, in words."""
        code = self.exit_code
        if code is None:
            return "closed its output" if self.ended.is_set() else "runs still"
        return f"was ended by signal {-code}" if code < 0 else f"exited with code {code}"

    def last_words(self) -> str:
        """The last lines that it wrote to standard error, as the end of a message."""
        lines = "".join(f"\n  {line}" for line in self.log.last_lines())
        return f"; its last words:{lines}" if lines else ""

    async def __aenter__(self) -> tuple[_Reader, _Writer]:
        loop = asyncio.get_running_loop()
        server = self._server
        options: dict[str, Any] = {} if sys.platform == "win32" else {"start_new_session": True}
        try:
            self._transport, _ = await loop.subprocess_exec(
                lambda: self._program,
                *server.command,
                env=dict(server.environment),
                cwd=server.cwd,
                **options,
            )
        except (OSError, ValueError) as error:
            if isinstance(error, OSError) and server.cwd is not None and not server.cwd.is_dir():
                # The system says the same of this as of a program that is missing, and names the program.
                raise McpConnectionError(
                    f"the MCP server {self._name!r} could not be started: there is no folder '{server.cwd}'",
                    next_step="It is the one to run in: make it, or give another one as cwd.",
                ) from None
            reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise McpConnectionError(
                f"the MCP server {self._name!r} could not be started: {server.command[0]!r}: {reason}",
                next_step="Give the program as it is found in PATH, or its whole path; cwd is its folder.",
            ) from None
        return _Reader(self._program), _Writer(self._program)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        transport = self._transport
        if transport is None:
            return
        # Ending takes a moment that nothing may cut short, or the program would outlive us.
        ending = asyncio.ensure_future(self._end(transport))
        cancelled: asyncio.CancelledError | None = None
        while not ending.done():
            try:
                await asyncio.shield(ending)
            except asyncio.CancelledError as again:
                cancelled = again
        if cancelled is not None:
            raise cancelled

    async def _end(self, transport: asyncio.SubprocessTransport) -> None:
        """Close its input, as the protocol says, and wait; then ask the whole group to end; then end it."""
        self._program.let_go()
        stdin = transport.get_pipe_transport(0)
        if stdin is not None:
            stdin.close()
        pid, share = transport.get_pid(), self._close_timeout / 3
        if not await self._gone(share):
            _signal(pid, signal.SIGTERM)
            await self._gone(share)
        # Also when it went by itself: what it started may be there still.
        _signal(pid, _KILL)
        await self._gone(share)
        with contextlib.suppress(PermissionError, ProcessLookupError):
            transport.close()

    async def _gone(self, seconds: float) -> bool:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._program.exited.wait()
        return self._program.exited.is_set()


def _signal(pid: int, number: int) -> None:
    """To the program and all that it started: they are one group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            os.kill(pid, number)
        else:
            os.killpg(pid, number)


class _Program(asyncio.SubprocessProtocol):
    """What the event loop tells of the program; lines become messages here, as they come."""

    def __init__(self, log: ServerLog, max_message_bytes: int) -> None:
        self._log = log
        self._limit = max_message_bytes
        self._too_long = f"a message of more than {max_message_bytes:,} bytes"
        self._buffer = bytearray()
        self._searched = 0
        #: The beginning and the end so far of a message that is too long, while it comes.
        self._skipped: tuple[bytes, bytes] | None = None
        self._transport: asyncio.SubprocessTransport | None = None
        self._paused = False
        self.messages: deque[SessionMessage] = deque()
        self.came = asyncio.Event()
        self.ended = asyncio.Event()
        self.exited = asyncio.Event()
        self.writable = asyncio.Event()
        self.writable.set()
        self._let_go = False
        self._silent = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.SubprocessTransport)
        self._transport = transport

    def pipe_data_received(self, fd: int, data: bytes) -> None:
        if fd == 2:
            self._log.feed(data)
        elif not self._let_go:
            self._take(data)

    def pipe_connection_lost(self, fd: int, exc: Exception | None) -> None:
        if fd == 1:
            self._silent = True
            self._finish_soon()
        elif fd == 0:
            self.writable.set()

    def process_exited(self) -> None:
        self.exited.set()
        self._finish_soon()

    def pause_writing(self) -> None:
        self.writable.clear()

    def resume_writing(self) -> None:
        self.writable.set()

    def write(self, data: bytes) -> bool:
        """Whether there was somebody to write to."""
        pipe = self._transport.get_pipe_transport(0) if self._transport is not None else None
        if not isinstance(pipe, asyncio.WriteTransport) or pipe.is_closing() or self.ended.is_set():
            return False
        pipe.write(data)
        return True

    def let_go(self) -> None:
        """Nobody will take what it says from now on."""
        self._let_go = True
        self.messages.clear()
        self._hold(False)

    def taken(self) -> None:
        """A message was taken: there is room again."""
        if self._paused and len(self.messages) < _WAITING // 2:
            self._hold(False)

    def _finish_soon(self) -> None:
        """Of the end of its output and the end of the program the one comes a moment after the other; but a child may
        hold the output, and a program may live on without one."""
        if self._silent and self.exited.is_set():
            self._finish()
        else:
            asyncio.get_running_loop().call_later(_LINGER, self._finish)

    def _finish(self) -> None:
        if not self.ended.is_set():
            if self._buffer and self._skipped is None and not self._let_go:
                self._line(bytes(self._buffer), last=True)
            self._buffer.clear()
            self.ended.set()
            self.writable.set()
            self.came.set()

    def _hold(self, hold: bool) -> None:
        pipe = self._transport.get_pipe_transport(1) if self._transport is not None else None
        if isinstance(pipe, asyncio.ReadTransport) and hold != self._paused and not pipe.is_closing():
            (pipe.pause_reading if hold else pipe.resume_reading)()
            self._paused = hold

    def _take(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\n", self._searched)) >= 0:
            with memoryview(self._buffer) as view:
                line = bytes(view[:end])
            del self._buffer[: end + 1]
            self._searched = 0
            if self._skipped is not None or len(line) > self._limit:
                self._skip(line)
                self._skip_ended()
            else:
                self._line(line)
        self._searched = len(self._buffer)
        if self._skipped is not None or len(self._buffer) > self._limit:
            self._skip(self._buffer)
            self._buffer, self._searched = bytearray(), 0
        if len(self.messages) >= _WAITING:
            self._hold(True)

    def _line(self, line: bytes, *, last: bool = False) -> None:
        """One line; the ``last`` one may have been cut by the end of the program, which says more than that."""
        line = line.strip()
        if not line:
            return
        try:
            message = message_of(line)
        except ValueError:
            several = _several(line)
            for each in several:
                self._line(each)
            if not several:
                self._log.noise(line[:_SHOWN], "a line that is no message")
                if not last:
                    self._fail(answered_id(line[:_SHOWN], line[-_END:]), "it is a line that is no message")
            return
        self._deliver(SessionMessage(message))

    def _skip(self, part: bytes | bytearray) -> None:
        """A part of a message that is too long: of that its beginning and its end are kept."""
        if self._skipped is None:
            self._skipped = bytes(part[:_SHOWN]), bytes(part[-_END:])
            self._log.noise(self._skipped[0], self._too_long)
            # Said at once where the beginning says for whom it is: it may have no end.
            self._fail(answered_id(self._skipped[0], b""), f"it is {self._too_long}")
        else:
            self._skipped = self._skipped[0], (self._skipped[1] + part[-_END:])[-_END:]

    def _skip_ended(self) -> None:
        assert self._skipped is not None
        self._fail(answered_id(*self._skipped), f"it is {self._too_long}")
        self._skipped = None

    def _fail(self, request: int | None, why: str) -> None:
        """An answer came, though not one that can be read: whoever waits for it need not wait."""
        if request is not None:
            error = ErrorData(code=UNREADABLE, message=why)
            self._deliver(SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error)))

    def _deliver(self, message: SessionMessage) -> None:
        self.messages.append(message)
        self.came.set()


def _several(line: bytes) -> list[bytes]:
    """The messages of a batch, as one earlier version of the protocol allows them."""
    if not line.startswith(b"["):
        return []
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return []
    return [json.dumps(each).encode() for each in found if isinstance(each, dict)]


class _Reader(Stream):
    """What the program says, as the SDK reads it."""

    def __init__(self, program: _Program) -> None:
        self._program = program

    async def receive(self) -> SessionMessage | Exception:
        try:
            return await self.__anext__()
        except StopAsyncIteration:
            raise EOFError from None

    async def aclose(self) -> None:
        self._program.let_go()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        program = self._program
        while not program.messages:
            if program.ended.is_set():
                raise StopAsyncIteration
            program.came.clear()
            await program.came.wait()
        message = program.messages.popleft()
        program.taken()
        return message


class _Writer(Stream):
    """What the program is told, as the SDK writes it."""

    def __init__(self, program: _Program) -> None:
        self._program = program

    async def send(self, item: SessionMessage, /) -> None:
        # One write a message, so that two never mix, and none before the one ahead has room; but whoever gives up on a
        # server that reads nothing does not wait for it to read that.
        if getattr(item.message, "method", None) != "notifications/cancelled":
            await self._program.writable.wait()
        line = item.message.model_dump_json(by_alias=True, exclude_unset=True).encode() + b"\n"
        if not self._program.write(line) and isinstance(item.message, JSONRPCRequest):
            raise MCPError(CONNECTION_CLOSED, "Connection closed")
