"""Worker threads for synchronous tools: bounded, daemonic, and able to lose a thread that never returns.

A thread that waits for a run of its own (a sync tool that holds a conversation) lends its place meanwhile, so that
nested runs find threads. A thread cannot be stopped from outside. One whose caller gave up is *abandoned*: it no longer
counts, a new one takes its place, up to a second bound; from then on abandoned threads keep their places, and when all
places are stuck, calls are refused at once. Daemon threads never hold up the end of the process.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import queue
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from agentforge.errors import ToolLimitedError

__all__ = ("ThreadCounts", "ToolThreads")

_IDLE_SECONDS = 10.0
_MOST_LENT = 256


@dataclass(frozen=True, slots=True)
class ThreadCounts:
    """How many threads there are: serving calls, waiting for one, and abandoned with a tool that never returned."""

    busy: int
    idle: int
    abandoned: int


@dataclass(slots=True, eq=False)
class _Job:
    function: Callable[[], Any]
    begin: Callable[[], object] | None
    context: contextvars.Context
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[Any]
    started: bool = False
    finished: bool = False
    given_up: bool = False
    keeps_place: bool = False
    lent: bool = False


class ToolThreads:
    """A pool for one service. ``max_threads`` serve side by side; ``max_abandoned`` are replaced when lost."""

    def __init__(self, max_threads: int = 32, max_abandoned: int = 64) -> None:
        self.max_threads = max_threads
        self.max_abandoned = max_abandoned
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._lock = threading.Lock()
        self._live = 0
        self._idle = 0
        self._replaced = 0
        self._stuck = 0
        self._queued = 0
        self._lent = 0
        self._here = threading.local()

    @property
    def counts(self) -> ThreadCounts:
        """The pool as it is now."""
        with self._lock:
            busy = self._live - self._idle - self._stuck
            return ThreadCounts(busy, self._idle, self._replaced + self._stuck)

    async def run(self, function: Callable[[], Any], begin: Callable[[], object] | None = None) -> Any:
        """Call ``function`` on a worker thread, with the caller's context variables, and return what it returns.

        ``begin`` (short, and must not raise) is called just before, with the pool's lock held: a call given up before
        that never runs. Cancelling the wait abandons the thread if the call has started. Raises `ToolLimitedError`
        when every thread is stuck.
        """
        loop = asyncio.get_running_loop()
        job = _Job(function, begin, contextvars.copy_context(), loop, loop.create_future())
        self._submit(job)
        try:
            return await job.future
        except asyncio.CancelledError:
            self._give_up(job)
            raise

    @contextlib.contextmanager
    def lent(self) -> Iterator[None]:
        """While a worker thread of this pool waits in this block, another may take its place; for any other thread
        the block changes nothing. At most 256 places are lent at once; beyond that they are kept."""
        job: _Job | None = getattr(self._here, "job", None)
        if job is None or not self._lend(job):
            yield
            return
        try:
            yield
        finally:
            with self._lock:
                job.lent = False
                self._lent -= 1
                if not job.given_up:
                    self._live += 1

    def close(self) -> None:
        """Let idle threads end; threads in a call end after it."""
        with self._lock:
            idle = self._idle
        for _ in range(idle):
            self._jobs.put(None)

    def _submit(self, job: _Job) -> None:
        with self._lock:
            if self._stuck >= self.max_threads:
                raise ToolLimitedError(
                    f"all {self.max_threads} worker threads are held by tools that never returned; "
                    "the tool did not run",
                    next_step="Give blocking tools a time-out of their own, or make them async.",
                )
            self._queued += 1
            start = self._takes_another()
        self._jobs.put(job)
        if start:
            self._start()

    def _takes_another(self) -> bool:
        """Whether a thread is to be started, which is counted already; with the lock held."""
        start = self._queued > self._idle and self._live < self.max_threads
        if start:
            self._live += 1
        return start

    def _start(self) -> None:
        threading.Thread(target=self._work, name="agentforge-tool", daemon=True).start()

    def _lend(self, job: _Job) -> bool:
        with self._lock:
            if job.lent or job.given_up or self._lent >= _MOST_LENT:
                return False
            job.lent = True
            self._lent += 1
            self._live -= 1
            start = self._takes_another()
        if start:
            self._start()
        return True

    def _give_up(self, job: _Job) -> None:
        with self._lock:
            job.given_up = True
            if job.finished or not job.started:
                return
            if self._replaced < self.max_abandoned:
                self._replaced += 1
                self._live -= not job.lent
                start = self._takes_another()
            else:
                job.keeps_place = True
                self._stuck += 1
                self._live += job.lent
                start = False
        if start:
            self._start()

    def _work(self) -> None:
        job: _Job | None
        while True:
            with self._lock:
                self._idle += 1
            try:
                job = self._jobs.get(timeout=_IDLE_SECONDS)
            except queue.Empty:
                job = None
            with self._lock:
                self._idle -= 1
                if job is None:
                    if self._queued:  # a job came while we were about to leave
                        continue
                    self._live -= 1
                    return
                self._queued -= 1
                # Cancelled calls of one batch are given up one by one: the place of the first is not for the second.
                if job.given_up or job.future.cancelled():
                    continue
                job.started = True
                if job.begin is not None:
                    job.begin()
            serving = self._serve(job)
            del job  # an idle thread holds nothing of the last run
            if not serving:
                return

    def _serve(self, job: _Job) -> bool:
        """Run the job; false when this thread has lost its place meanwhile and is to end."""
        result: Any = None
        error: BaseException | None = None
        self._here.job = job
        try:
            result = job.context.run(job.function)
        except BaseException as raised:
            error = raised
        self._here.job = None
        with self._lock:
            job.finished = True
            replaced = job.given_up and not job.keeps_place
            if replaced:
                self._replaced -= 1
            elif job.given_up:
                self._stuck -= 1
            ends = replaced or self._live > self.max_threads  # another has the place that it had lent
            if ends and not replaced:
                self._live -= 1
        if not job.given_up:
            # RuntimeError: the loop is closed, and nobody waits any more.
            with contextlib.suppress(RuntimeError):
                job.loop.call_soon_threadsafe(_deliver, job.future, result, error)
        del job, error  # the error's traceback holds this frame
        return not ends


def _deliver(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    if future.done():
        return
    if error is None:
        future.set_result(result)
    elif isinstance(error, (StopIteration, SystemExit)):
        # A future cannot carry StopIteration, and SystemExit would end the event loop.
        wrapped = RuntimeError(f"the tool raised {type(error).__name__}: {error}")
        wrapped.__cause__ = error
        future.set_exception(wrapped)
    else:
        future.set_exception(error)
