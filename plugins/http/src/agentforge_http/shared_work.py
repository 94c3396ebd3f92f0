"""Work that several calls wait for at once, such as the fetch of a token: done once, and ended by none of them."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar
from weakref import WeakKeyDictionary

__all__ = ("SharedWork",)

_Made = TypeVar("_Made")


class SharedWork(Generic[_Made]):
    """Begins ``work`` where none is under way, in each event loop for itself. It belongs to no run: it sees nothing of
    the context of the one that asked first."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, _Made]]) -> None:
        self._work = work
        self._tasks: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Task[_Made]] = WeakKeyDictionary()

    async def result(self) -> _Made:
        """What the work under way comes to. Raises what it raises."""
        return await asyncio.shield(self.task())  # one that stops waiting ends it for no other

    def task(self) -> asyncio.Task[_Made]:
        """The work under way in this event loop, begun where there is none."""
        task = self.under_way()
        if task is None:
            loop = asyncio.get_running_loop()
            task = self._tasks[loop] = loop.create_task(self._work(), context=contextvars.Context())
            # Nobody may be left to look at its error.
            task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
        return task

    def under_way(self) -> asyncio.Task[_Made] | None:
        """The work under way in this event loop, if any is."""
        task = self._tasks.get(asyncio.get_running_loop())
        return None if task is None or task.done() else task

    def cancel(self) -> None:
        """End what is under way in this event loop."""
        task = self.under_way()
        if task is not None:
            task.cancel()
