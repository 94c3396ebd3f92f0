"""An event loop on a thread of its own, for the synchronous twins; they work inside a running loop (notebooks) too."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ("BackgroundLoop",)

_T = TypeVar("_T")


class BackgroundLoop:
    """Starts with the first `run`, ends with `close`; its thread is a daemon and never holds up the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run ``work`` to its end with the caller's context variables. An interrupt of the caller cancels it."""
        loop = self._started()
        if threading.current_thread() is self._thread:
            work.close()
            raise RuntimeError("a synchronous call from within this service's own loop would wait for itself")
        done: concurrent.futures.Future[_T] = concurrent.futures.Future()
        context = contextvars.copy_context()
        tasks: list[asyncio.Task[_T]] = []

        def start() -> None:
            task = loop.create_task(work, context=context)
            tasks.append(task)
            task.add_done_callback(lambda ended: _hand_over(ended, done))

        loop.call_soon_threadsafe(start)
        try:
            return done.result()
        except BaseException:
            if not done.done():  # the caller was interrupted: end the work before going on
                loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
                concurrent.futures.wait([done])
            raise

    def close(self) -> None:
        """Cancel what still runs and end the thread; safe to call twice."""
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()

    @property
    def loop(self) -> asyncio.AbstractEventLoop | None:
        """The loop itself, where it is there."""
        return self._loop

    @property
    def started(self) -> bool:
        """Whether the loop is there."""
        return self._loop is not None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(target=_serve, args=(self._loop,), name="agentforge-sync", daemon=True)
                self._thread.start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        while True:
            try:
                loop.run_forever()
                break
            except (KeyboardInterrupt, SystemExit):  # a task's: it goes to the one who waits for that task
                continue
        left = asyncio.all_tasks(loop)
        for task in left:
            task.cancel()
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=1.0))
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def _hand_over(task: asyncio.Task[_T], done: concurrent.futures.Future[_T]) -> None:
    if task.cancelled():
        done.set_exception(concurrent.futures.CancelledError())
        return
    error = task.exception()
    if error is not None:
        done.set_exception(error)
    else:
        done.set_result(task.result())
