"""Serial keys: calls of tools that share a key take turns, over all conversations of a service.

Turns go in the order of arrival, over all event loops and threads. A run that a holder starts itself (a nested one)
does not wait for its own holder: it queues in a line inside that turn, so that its calls take turns among themselves.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import Mapping
from contextvars import ContextVar

from agentforge.tool.execution.gate import CallNext, PlannedCall
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.run import Run

__all__ = ("SerialKeys", "SerialTurn")

#: The turns that the call at work here holds, by key.
_held: ContextVar[Mapping[tuple[int, str], SerialTurn]] = ContextVar("agentforge_serial_turns")


class _Line:
    """Who holds a key, and who waits for it."""

    __slots__ = ("taken", "waiting")

    def __init__(self) -> None:
        self.taken = False
        self.waiting: deque[SerialTurn] = deque()


class SerialTurn:
    """One call's turn at a key, from the moment it queues; `end` may come from anywhere and more than once."""

    __slots__ = ("_begins", "_keys", "_line", "_loop", "inner", "open", "outer")

    def __init__(self, keys: SerialKeys, line: _Line, outer: SerialTurn | None) -> None:
        self._keys = keys
        self._line = line
        self._loop: asyncio.AbstractEventLoop | None = None
        self._begins: asyncio.Future[None] | None = None
        #: The line of the runs that the holder starts.
        self.inner = _Line()
        self.outer = outer
        self.open = True

    async def begin(self) -> None:
        """Wait until it is this call's turn."""
        with self._keys.lock:
            if not self._line.taken:
                self._line.taken = True
                return
            self._loop = asyncio.get_running_loop()
            self._begins = self._loop.create_future()
            self._line.waiting.append(self)
        try:
            await self._begins
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Give the turn back, or up."""
        line = self._line
        with self._keys.lock:
            if not self.open:
                return
            self.open = False
            if self in line.waiting:
                line.waiting.remove(self)
                return
            line.taken = False
            while line.waiting and not line.taken:
                line.taken = line.waiting.popleft()._called()

    def _called(self) -> bool:
        """Tell the one who waits; false when its event loop is gone."""
        loop, begins = self._loop, self._begins
        if loop is not None and begins is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(_wake, begins)
                return True
        self.open = False
        return False


class SerialKeys:
    """The keys of one service. As the outermost layer of a tool with a key it is outside the time limit: a call's time
    begins with its turn. A call that the batch gives up loses its turn, so that a hung tool does not hold the key."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._lines: dict[str, _Line] = {}

    async def around(self, call: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
        """The call's result, once it had its turn."""
        key = call.tool.serial if call.tool is not None else None
        if key is None:
            return await next(call, run)
        held = _held.get({})
        outer = held.get((id(self), key))
        while outer is not None and not outer.open:  # work that outlived the call which started it
            outer = outer.outer
        line = self._lines.setdefault(key, _Line()) if outer is None else outer.inner
        turn = call.turn = SerialTurn(self, line, outer)
        await turn.begin()
        token = _held.set({**held, (id(self), key): turn})
        try:
            return await next(call, run)
        finally:
            _held.reset(token)
            turn.end()


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
