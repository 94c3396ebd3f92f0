"""A run as a stream of events: one task behind a bounded channel, ended with its block.

The run is written once, as a coroutine; streaming only gives it someone to tell. Leaving the block, or closing or
dropping the iterator, ends the task.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from types import TracebackType
from typing import Self

from agentforge.errors import RunError
from agentforge.model.events import Event
from agentforge.tool.execution.batch import Emit
from agentforge.tool.execution.chat_result import ToolChatResult
from agentforge.tool.execution.events import RunEvent, RunFinished, RunStarted
from agentforge.tool.execution.run import Run

__all__ = ("RunStream",)

_CAPACITY = 256


class _Channel:
    """Events from one task to one reader; the writer waits when the reader is ``_CAPACITY`` events behind."""

    __slots__ = ("_events", "_has_events", "_parent_id", "_run_id", "_writers", "closed")

    def __init__(self, run: Run) -> None:
        self._events: deque[Event] = deque()
        self._has_events: asyncio.Future[None] | None = None
        self._writers: list[asyncio.Future[None]] = []
        self._run_id, self._parent_id = run.id, run.parent_id
        self.closed = False

    async def put(self, event: Event) -> None:
        if event.run_id is None:
            event.run_id, event.parent_run_id = self._run_id, self._parent_id
        self._events.append(event)
        if self._has_events is not None:
            _wake(self._has_events)
        while len(self._events) >= _CAPACITY:
            has_room = asyncio.get_running_loop().create_future()
            self._writers.append(has_room)
            await has_room

    async def get(self) -> Event | None:
        """The next event; ``None`` once the channel is closed and empty. Raises `RunError` for a second reader."""
        while not self._events:
            if self.closed:
                return None
            if self._has_events is not None:
                raise RunError(
                    "another task waits for the next event of this stream",
                    next_step="Read a stream in one task, and hand its events on from there.",
                )
            self._has_events = asyncio.get_running_loop().create_future()
            try:
                await self._has_events
            finally:
                self._has_events = None
        event = self._events.popleft()
        if self._writers and len(self._events) <= _CAPACITY // 2:
            for writer in self._writers:
                _wake(writer)
            self._writers.clear()
        return event

    def end(self, task: asyncio.Task[ToolChatResult]) -> None:
        """The task is over; its error is read here, as its reader may be gone."""
        if not task.cancelled():
            task.exception()
        self.close()

    def close(self) -> None:
        self.closed = True
        if self._has_events is not None:
            _wake(self._has_events)


def _wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


class RunStream:
    """The events of one run, `RunFinished` last; an error of the run is raised where the events end.

    Use it as ``async with service.stream(...) as events: async for event in events: ...``. ``result`` is the run's
    result once it is over, ``run`` the run itself.
    """

    def __init__(self, run: Run, work: Callable[[Emit], Awaitable[ToolChatResult]]) -> None:
        self.run = run
        self._work = work
        self._channel = _Channel(run)
        self._task: asyncio.Task[ToolChatResult] | None = None
        self._closing = False

    @property
    def result(self) -> ToolChatResult:
        """The run's result. Raises `RunError` while it is not over, and the run's own error if it failed."""
        if self._task is None or not self._task.done():
            raise RunError("the run is not over and has no result yet", next_step="Read its events to the end first.")
        return self._task.result()

    async def __aenter__(self) -> Self:
        self._start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.aclose()

    def __aiter__(self) -> Self:
        self._start()
        return self

    async def __anext__(self) -> RunEvent:
        self._start()
        event = await self._channel.get()
        if event is not None:
            return event  # type: ignore[return-value]
        if self._task is not None and self._task.done():
            # Raises the run's error, once; a cancelled run that was closed simply ends.
            if not self._task.cancelled():
                self._task.result()
            elif not self._closing:
                raise asyncio.CancelledError
        raise StopAsyncIteration

    async def aclose(self) -> None:
        """End the run if it is still going, and wait for its tasks; the caller's own cancellation passes on then."""
        task = self._task
        self._closing = True
        self._channel.close()
        if task is None or task.done():
            return
        task.cancel()
        cancelled: asyncio.CancelledError | None = None
        while not task.done():
            try:
                await asyncio.wait([task])
            except asyncio.CancelledError as error:  # the caller's own: it passes on, once the run has ended
                if cancelled is not None:  # and again: do not wait for calls that take their time
                    task.cancel()
                cancelled = error
        if cancelled is not None:
            raise cancelled

    def _start(self) -> None:
        if self._task is None and not self._closing:
            self._task = asyncio.get_running_loop().create_task(_produce(self._work, self._channel))
            self._task.add_done_callback(self._channel.end)

    def __del__(self) -> None:
        task = self._task
        if task is not None and not task.done():
            loop = task.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(task.cancel)


async def _produce(work: Callable[[Emit], Awaitable[ToolChatResult]], channel: _Channel) -> ToolChatResult:
    await channel.put(RunStarted())
    result = await work(channel.put)
    await channel.put(RunFinished(result))
    return result
