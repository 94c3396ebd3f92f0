"""The calls of one reply, run side by side: bounded, each under its limit, one outcome each, whatever happens.

A call is a task. One that ends is recorded; one that ignores its cancellation is abandoned a moment after its time is
over, so that a batch never waits for it. Only the batch cancels calls: a call that ends cancelled without its doing has
cancelled itself, and that is its own failure. When a handler ends the run, running siblings finish and nothing new
starts; when the run itself is cancelled, running calls are cancelled and get a moment to end.
"""

from __future__ import annotations

import asyncio
import contextlib
import sys
import time
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from agentforge.errors import (
    RunError,
    ToolArgumentsError,
    ToolError,
    ToolExecutionError,
    ToolInDoubtError,
    ToolLimitedError,
    ToolTimeoutError,
)
from agentforge.model.events import Event
from agentforge.tool.error.handler import ToolErrorContext, ToolErrorHandler, answer_to
from agentforge.tool.error.strategies import message_of
from agentforge.tool.execution.current import CurrentCall
from agentforge.tool.execution.events import ToolFinished, ToolStarted
from agentforge.tool.execution.failure import release_frames
from agentforge.tool.execution.gate import Ask, CallNext, PlannedCall
from agentforge.tool.execution.nested import NestedSuspension, going_on_with
from agentforge.tool.execution.outcome import ToolOutcome
from agentforge.tool.execution.result import ToolExecution, ToolExecutionResult
from agentforge.tool.execution.run import Run
from agentforge.tool.execution.settings import ToolSettings
from agentforge.tool.source import BoundTool

__all__ = ("Emit", "ToolBatch", "handled")

Emit = Callable[[Event], Awaitable[None]]


@dataclass(slots=True)
class _Running:
    task: asyncio.Task[ToolExecution]
    call: PlannedCall
    tool: BoundTool
    cut_short: bool = False
    """The call has ended without its task; this one answers its error."""


class ToolBatch:
    """One batch; ``executions`` holds what has ended, by position, also after `run` raised, and ``waiting`` the calls
    whose own runs wait for a decision."""

    def __init__(
        self,
        calls: Sequence[tuple[PlannedCall, BoundTool]],
        chains: dict[str, CallNext],
        run: Run,
        settings: ToolSettings,
        emit: Emit | None,
    ) -> None:
        self.executions: dict[int, ToolExecution] = {}
        self.waiting: dict[int, Ask] = {}
        self._pending = deque(calls)
        self._chains = chains
        self._run = run
        self._settings = settings
        self._emit = emit
        self._running: dict[int, _Running] = {}
        self._ended: deque[int] = deque()
        self._wake: asyncio.Future[None] | None = None
        self._failure: BaseException | None = None
        self._timer: asyncio.TimerHandle | None = None

    async def run(self) -> None:
        """Run all calls. Raises what an error handler raised, after the running siblings have ended."""
        try:
            while True:
                if self._failure is None:
                    self._start_what_may()
                if not self._running:
                    break
                await self._wait()
                await self._collect()
        except BaseException:  # cancelled, or an interrupt in the middle of it
            await self._stop()
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()
        if self._failure is not None:
            raise self._failure

    # -- starting and ending ---------------------------------------------------------------------

    def _start_what_may(self) -> None:
        """Start pending calls in order: a sequential call alone, calls of one serial key one after the other."""
        pending, running = self._pending, self._running
        if len(pending) == 1 and not running:
            self._start(*pending.popleft())
            return
        if not pending or any(item.tool.sequential for item in running.values()):
            return
        held = {item.tool.serial for item in running.values()}
        waiting: list[tuple[PlannedCall, BoundTool]] = []
        while pending and len(running) < self._settings.max_concurrent_tools:
            call, tool = pending.popleft()
            if tool.sequential:
                if running or waiting:
                    pending.appendleft((call, tool))
                else:
                    self._start(call, tool)
                break
            if tool.serial is not None and tool.serial in held:
                waiting.append((call, tool))
                continue
            held.add(tool.serial)
            self._start(call, tool)
        pending.extendleft(reversed(waiting))

    def _start(self, call: PlannedCall, tool: BoundTool) -> None:
        loop = asyncio.get_running_loop()
        position = call.position
        try:
            task = _begin(self._execute(call), loop)
        except BaseException:  # an interrupt, before there is a task
            self._record_unfinished(call, tool, "it was interrupted", ToolOutcome.FAILED)
            raise
        if task.done():
            if self._emit is None and not task.cancelled() and task.exception() is None:
                execution = self.executions[position] = task.result()
                if execution.result.cause is not None:
                    release_frames(execution.result.cause)
                return
            self._running[position] = _Running(task, call, tool)
            self._ended.append(position)
            return
        self._watch(_Running(task, call, tool))
        limit = self._settings.time_limit.of(call)
        if limit is not None:
            self._look_in(loop, limit)

    def _watch(self, item: _Running) -> None:
        position = item.call.position
        self._running[position] = item
        item.task.add_done_callback(lambda task: self._end(position, task))

    def _look_in(self, loop: asyncio.AbstractEventLoop, seconds: float) -> None:
        """Have `_reap` run no later than ``seconds`` from now; one timer serves the whole batch."""
        when = loop.time() + seconds
        if self._timer is not None:
            if self._timer.when() <= when:
                return
            self._timer.cancel()
        self._timer = loop.call_at(when, self._reap)

    def _reap(self) -> None:
        """Cancel the calls whose time is over; end those that ignored it."""
        self._timer = None
        loop, now, grace = asyncio.get_running_loop(), time.monotonic(), self._settings.abandon_grace
        for position, item in self._running.items():
            call = item.call
            if item.cut_short:
                continue
            if call.expires is None:
                # Its time has not begun (it waits for its turn), or it is at its end, or it has no limit.
                limit = self._settings.time_limit.of(call)
                if limit is not None:
                    self._look_in(loop, limit)
            elif now < call.expires:
                self._look_in(loop, call.expires - now)
            elif not call.expired:
                call.expired = True
                item.task.cancel()
                self._look_in(loop, call.expires + grace - now)
            elif now >= call.expires + grace:
                self._end(position, item.task)
            else:
                self._look_in(loop, call.expires + grace - now)

    def _end(self, position: int, task: asyncio.Task[ToolExecution]) -> None:
        item = self._running.get(position)
        if item is not None and item.task is task and position not in self._ended:
            self._ended.append(position)
            if self._wake is not None and not self._wake.done():
                self._wake.set_result(None)

    async def _wait(self) -> None:
        if not self._ended:
            self._wake = asyncio.get_running_loop().create_future()
            try:
                await self._wake
            finally:
                self._wake = None

    async def _collect(self) -> None:
        while self._ended:
            position = self._ended.popleft()
            item = self._running.pop(position)
            task, call = item.task, item.call
            if not task.done() or task.cancelled():
                self._cut_short(item)
                continue
            error = task.exception()
            if isinstance(error, NestedSuspension):
                self.waiting[position] = Ask(error.reason, error.state)
                release_frames(error)
                continue
            if error is not None:
                why = f"it ended the run with {type(error).__name__}"
                self._record_unfinished(call, item.tool, why, ToolOutcome.FAILED)
                if isinstance(error, (KeyboardInterrupt, SystemExit)):
                    raise error
                if self._failure is None:
                    self._failure = error
                continue
            execution = self.executions[position] = task.result()
            if execution.result.cause is not None:
                release_frames(execution.result.cause)
            if self._emit is not None:
                await self._emit(ToolFinished(execution, position))

    async def _stop(self) -> None:
        """The run is cancelled: cancel what runs, wait a moment, record every call that had begun."""
        tasks = [item.task for item in self._running.values()]
        for task in tasks:
            task.cancel()
        if tasks:
            # Cancelled again: do not wait any longer.
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.wait(tasks, timeout=self._settings.cancel_grace)
        for position, item in self._running.items():
            task, call = item.task, item.call
            if task.done() and not task.cancelled() and task.exception() is None:
                self.executions[position] = task.result()
                continue
            _silence(task)
            _let_go(call)
            self._record_unfinished(call, item.tool, "the run was cancelled")
        self._running.clear()

    def _cut_short(self, item: _Running) -> None:
        """A call that ignored its cancellation, or cancelled itself, ends without its task; another answers the error,
        so that a slow handler keeps no sibling back and a cancelled run finds the call still running."""
        task, call = item.task, item.call
        if item.cut_short:
            self._record_unfinished(call, item.tool, "it ended the run", ToolOutcome.FAILED)
            self._failure = self._failure or RunError(f"the error handler of {call.name!r} was cancelled from within")
            return
        if not task.done():
            task.cancel()
            _silence(task)
        _let_go(call)
        limit = self._settings.time_limit
        elapsed = (limit.of(call) or 0.0) if call.expired else 0.0
        error: ToolError = limit.error(call) if call.expired else _cancelled_from_within(task, call)
        start, begun = datetime.now(UTC) - timedelta(seconds=elapsed), time.perf_counter() - elapsed
        answer = asyncio.get_running_loop().create_task(self._failed(call, error, start, begun))
        self._watch(_Running(answer, call, item.tool, cut_short=True))

    # -- one call --------------------------------------------------------------------------------

    async def _execute(self, call: PlannedCall) -> ToolExecution:
        start, begun = datetime.now(UTC), time.perf_counter()
        if call.nested is not None:
            going_on_with(call.nested)
        if self._emit is not None:
            await self._emit(ToolStarted(call.request, call.position))
        here = CurrentCall(call, self._emit)
        try:
            made = await self._chains[call.name](call, self._run)
            if not isinstance(made, ToolExecutionResult):
                raise TypeError(f"an interceptor returned {type(made).__name__}, not a ToolExecutionResult")
            result = self._settings.size_cap.cap(made)
        except ToolError as error:
            return await self._failed(call, error, start, begun)
        except (KeyboardInterrupt, GeneratorExit, asyncio.CancelledError, NestedSuspension):
            raise
        except BaseException as error:  # SystemExit too: a tool does not end the program
            wrapped = ToolExecutionError(message_of(error), tool=call.name)
            wrapped.__cause__ = error
            return await self._failed(call, wrapped, start, begun)
        finally:
            here.end()
        outcome = ToolOutcome.FAILED if result.is_error else ToolOutcome.OK
        return self._execution(call, outcome, result, start, begun)

    async def _failed(self, call: PlannedCall, error: ToolError, start: datetime, begun: float) -> ToolExecution:
        outcome, raised = _outcome_of(error, call)
        handlers = self._settings.error_handlers
        handler = handlers.arguments if outcome is ToolOutcome.INVALID_ARGUMENTS else handlers.execution
        try:
            text = await handled(handler, raised, call, self._run)
        except asyncio.CancelledError:
            raise
        except BaseException:
            failure = self._failure_of(self._run.secrets.mask(error.message), error)
            self.executions[call.position] = self._execution(call, outcome, failure, start, begun)
            raise
        return self._execution(call, outcome, self._failure_of(text, error), start, begun)

    def _failure_of(self, text: str, error: BaseException) -> ToolExecutionResult:
        """What the model is told of an error is bounded as every result is."""
        return self._settings.size_cap.cap(ToolExecutionResult.failure(text, error))

    def _execution(
        self,
        call: PlannedCall,
        outcome: ToolOutcome,
        result: ToolExecutionResult,
        start: datetime,
        begun: float,
    ) -> ToolExecution:
        elapsed = time.perf_counter() - begun
        run = self._run
        return ToolExecution(call.request, result, outcome, start, datetime.now(UTC), run.memory_id, elapsed, run.round)

    def _record_unfinished(
        self, call: PlannedCall, tool: BoundTool, why: str, outcome: ToolOutcome = ToolOutcome.CANCELLED
    ) -> None:
        """Note how a call ended that has no result, unless that is known: a write that had begun is in doubt."""
        if call.position in self.executions:
            return
        in_doubt = call.began and tool.effect == "write"
        outcome = ToolOutcome.IN_DOUBT if in_doubt else outcome
        failure = ToolExecutionResult.failure(f"Stopped: {why}." + (_DOUBT if in_doubt else ""))
        self.executions[call.position] = self._execution(call, outcome, failure, datetime.now(UTC), time.perf_counter())


_DOUBT = " It is a write that had begun; whether it happened is unknown."


async def handled(handler: ToolErrorHandler, error: ToolError, call: PlannedCall, run: Run) -> str:
    """What the handler has the model told about ``error``. An execution handler gets the tool's own exception, with
    our wrapper in the context."""
    unwrapped: BaseException = error
    if type(error) is ToolExecutionError and error.__cause__ is not None:
        unwrapped = error.__cause__
    tool = call.tool
    context = ToolErrorContext(
        call.request,
        tool.specification if tool is not None else None,
        run,
        error,
        run.secrets,
        tool.effect if tool is not None and call.began else None,
    )
    return await answer_to(handler, unwrapped, context)


def _outcome_of(error: ToolError, call: PlannedCall) -> tuple[ToolOutcome, ToolError]:
    if isinstance(error, ToolArgumentsError):
        return ToolOutcome.INVALID_ARGUMENTS, error
    if isinstance(error, ToolLimitedError):
        return ToolOutcome.LIMITED, error
    if isinstance(error, ToolTimeoutError):
        if call.handed and not call.began:
            limited = ToolLimitedError(
                f"no worker thread was free for the tool {call.name!r} in its time; it did not run", tool=call.name
            )
            return ToolOutcome.LIMITED, limited
        effect = call.tool.effect if call.tool is not None else None
        return (ToolOutcome.IN_DOUBT if effect == "write" and call.began else ToolOutcome.TIMED_OUT), error
    if isinstance(error, ToolInDoubtError) and call.tool is not None and call.tool.effect == "write":
        return ToolOutcome.IN_DOUBT, error
    return ToolOutcome.FAILED, error


def _begin(work: Coroutine[Any, Any, ToolExecution], loop: asyncio.AbstractEventLoop) -> asyncio.Task[ToolExecution]:
    """A task for one call; where Python can (3.12), it starts at once, so that a tool that never waits costs no turn of
    the event loop."""
    if sys.version_info >= (3, 12):
        return asyncio.Task(work, loop=loop, eager_start=True)
    return loop.create_task(work)


def _cancelled_from_within(task: asyncio.Task[ToolExecution], call: PlannedCall) -> ToolExecutionError:
    try:
        task.result()
        words = ""
    except asyncio.CancelledError as error:
        words = f": {error}" if error.args else ""
    return ToolExecutionError(f"the tool {call.name!r} was cancelled from within{words}", tool=call.name)


def _let_go(call: PlannedCall) -> None:
    """A call that is over for its batch keeps no other from its serial key."""
    if call.turn is not None:
        call.turn.end()


def _silence(task: asyncio.Task[ToolExecution]) -> None:
    """Nobody will ask this task how it ended; asyncio need not complain."""
    task.add_done_callback(lambda ended: ended.cancelled() or ended.exception())
