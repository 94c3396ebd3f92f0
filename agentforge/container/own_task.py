"""What begins and ends in one task of its own: a scope that a bean opens must be left in the task that entered it."""

from __future__ import annotations

import asyncio
import logging
from contextlib import AbstractAsyncContextManager, suppress

from agentforge.container.cancellation import as_failure

__all__ = ("OwnTask",)

_log = logging.getLogger("agentforge.container")


class OwnTask:
    """Enters an asynchronous context manager, waits, and leaves it, all in one task of the loop it was entered on.

    ``name`` says whose it is. Entering may be cancelled; what was entered all the same then has to be left.
    """

    def __init__(self, manager: AbstractAsyncContextManager[object], name: str) -> None:
        self._manager = manager
        self._name = name
        self._loop: asyncio.AbstractEventLoop | None = None
        self._task: asyncio.Task[None] | None = None
        self._entered: asyncio.Future[object] | None = None
        self._leave: asyncio.Event | None = None
        self._failure: BaseException | None = None

    async def enter(self) -> object:
        """Enter; returns what the manager gives. Raises what it raises."""
        self._loop = loop = asyncio.get_running_loop()
        self._leave = asyncio.Event()
        self._entered = entered = loop.create_future()
        self._task = task = loop.create_task(self._hold(entered, self._leave), name=f"agentforge {self._name}")
        try:
            await asyncio.wait((task, entered), return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            while not (task.done() or entered.done()):
                task.cancel()
                with suppress(asyncio.CancelledError):  # and again: it is told again
                    await asyncio.wait((task, entered), return_when=asyncio.FIRST_COMPLETED)
            raise
        if not entered.done():
            self._raise_failure()
        return await entered

    @property
    def entered(self) -> bool:
        """Whether it was entered, and so has to be left."""
        return self._entered is not None and self._entered.done()

    async def leave(self) -> None:
        """Leave, from any loop. Raises what leaving raises, or what has ended the manager before.

        A cancellation of this cancels the leaving, which may still end well.
        """
        loop, task = self._loop, self._task
        assert loop is not None
        assert task is not None
        if task.done() and isinstance(self._failure, asyncio.CancelledError):
            return  # its loop has ended, and so has left it
        if loop is asyncio.get_running_loop() or task.done():
            await self._left(task)
        elif loop.is_closed():
            raise RuntimeError("the event loop on which it was started has ended")
        else:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(self._left(task), loop))

    async def _hold(self, entered: asyncio.Future[object], leave: asyncio.Event) -> None:
        # What is raised is kept: an interrupt that a task raises would end the loop before all else is closed.
        try:
            async with self._manager as value:
                entered.set_result(value)
                await leave.wait()
        except BaseException as error:
            self._failure = error
            if entered.done() and not leave.is_set():
                _log.warning("%s has ended before it was closed: %s", self._name, type(error).__name__)

    async def _left(self, task: asyncio.Task[None]) -> None:
        assert self._leave is not None
        self._leave.set()
        cancelled = False
        while not task.done():
            try:
                await asyncio.wait((task,))
            except asyncio.CancelledError:
                cancelled = True
                task.cancel()
        if self.entered:  # else the one who enters it is told
            self._raise_failure(cancelled=cancelled)

    def _raise_failure(self, *, cancelled: bool = False) -> None:
        failure, self._failure = self._failure, None
        if isinstance(failure, asyncio.CancelledError) and not cancelled:
            raise as_failure() from failure
        if failure is not None:
            raise failure
