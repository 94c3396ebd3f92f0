"""A run's own bounds around its task: the deadline and the cancellation, turned into the run's own errors."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from types import TracebackType

from agentforge.errors import RunCancelledError, RunTimeoutError
from agentforge.tool.execution.current import CurrentRun
from agentforge.tool.execution.run import Run

__all__ = ("RunScope",)


class RunScope:
    """``async with RunScope(run):`` ends the block when the run's time is over or `Run.cancel` is called.

    Within it the run is the current one; at its end what `Run.on_end` noted is done. A cancellation from outside passes
    as what it is. The errors carry ``partial``.
    """

    __slots__ = ("_cause", "_current", "_run", "_task", "_timer", "_undo", "_undo_parent")

    def __init__(self, run: Run) -> None:
        self._run = run
        self._cause: str | None = None
        self._task: asyncio.Task[object] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._undo: Callable[[], None] | None = None
        self._undo_parent: Callable[[], None] | None = None
        self._current: CurrentRun | None = None

    async def __aenter__(self) -> Run:
        run = self._run
        if run.cancellation.requested or run.remaining() == 0:
            error = self._error("cancelled" if run.cancellation.requested else "timeout")
            run.failed = True
            await run.end()
            raise error
        loop = asyncio.get_running_loop()
        self._task = asyncio.current_task()
        self._undo = run.cancellation.on_request(lambda: loop.call_soon_threadsafe(self._stop, "cancelled"))
        if run.parent is not None:
            self._undo_parent = _cancelled_with(run, run.parent)
        if run.deadline is not None:
            self._timer = loop.call_later(max(0.0, run.deadline - time.monotonic()), self._stop, "timeout")
        self._current = current = CurrentRun(run, loop)
        current.begin()
        return run

    def _stop(self, cause: str) -> None:
        if self._cause is None and self._task is not None:
            self._cause = cause
            self._task.cancel()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._timer is not None:
            self._timer.cancel()
        undos = self._undo, self._undo_parent
        self._undo = self._undo_parent = None  # they refer back to this scope: no circle may outlive the run
        for undo in undos:
            if undo is not None:
                undo()
        task, cause = self._task, self._cause
        self._task = None
        if kind is asyncio.CancelledError:
            # What cannot be interrupted learns of it by this alone: tools on threads, and the runs that they hold.
            why = "its time was over" if cause == "timeout" else "whoever waited for the run was cancelled"
            self._run.cancellation.request(why)
        others = task.uncancel() if task is not None and cause is not None else 0
        current, self._current = self._current, None
        self._run.failed = kind is not None
        try:
            await self._run.end()
        finally:
            self._run.parent = None
            if current is not None:
                current.end()
        if cause is None:
            return
        if kind is not asyncio.CancelledError or others > 0:
            return
        raise self._error(cause) from None

    def _error(self, cause: str) -> RunTimeoutError | RunCancelledError:
        made: RunTimeoutError | RunCancelledError
        if cause == "timeout":
            made = RunTimeoutError("the run did not end in its time", next_step="Give chat a longer timeout.")
        else:
            made = RunCancelledError(f"the run was cancelled: {self._run.cancellation.reason}")
        made.partial = self._run.partial()
        return made


def _cancelled_with(run: Run, parent: Run) -> Callable[[], None]:
    """Have the run cancelled when the one that it works for is; returns how to take that back."""
    above = parent.cancellation
    return above.on_request(lambda: run.cancel(above.reason or "the run that it works for was cancelled"))
