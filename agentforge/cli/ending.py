"""A terminal that closes, or a supervisor that ends the program: the beans are closed before it goes."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, TypeVar

__all__ = ("ended_in_order", "run_in_order")


class _Ended(SystemExit):
    """The end that a signal asked for; what somebody's code says with `sys.exit` is another matter."""


_SIGNALS = ("SIGTERM", "SIGHUP")
_T = TypeVar("_T")


@contextmanager
def ended_in_order() -> Iterator[None]:
    """Make the signals that end a program raise `SystemExit` (128 and the signal's number), as an interrupt raises.

    Does nothing outside the main thread, and leaves handlers of others, and signals that are ignored, alone.
    """
    taken = []
    for name in _SIGNALS:
        number = getattr(signal, name, None)
        if number is None or signal.getsignal(number) is not signal.SIG_DFL:
            continue
        try:
            signal.signal(number, _end)
        except ValueError:  # not in the main thread
            break
        taken.append(number)
    try:
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)


def run_in_order(work: Coroutine[Any, Any, _T]) -> _T:
    """`asyncio.run`, in which a signal that `ended_in_order` has taken cancels the work, as an interrupt does.

    Raised anywhere, the signal's `SystemExit` would end the loop, and all tasks at once: beans that live in tasks of
    their own would be closed in any order. Raises `SystemExit` when the work has ended so.
    """
    ended: list[int] = []

    async def main() -> _T:
        task, loop = asyncio.current_task(), asyncio.get_running_loop()
        assert task is not None

        def end(number: int, frame: FrameType | None) -> None:
            if ended or asyncio.current_task(loop) is task:  # at a prompt, say: the work itself can raise it
                raise _Ended(128 + number)
            ended.append(number)
            loop.call_soon_threadsafe(task.cancel)

        numbers = [getattr(signal, name) for name in _SIGNALS if hasattr(signal, name)]
        taken = [number for number in numbers if signal.getsignal(number) is _end]
        for number in taken:
            signal.signal(number, end)
        try:
            return await work
        finally:
            for number in taken:
                signal.signal(number, _end)

    try:
        found = asyncio.run(main())
    except asyncio.CancelledError:
        if not ended:
            raise
    else:
        if not ended:
            return found
    raise _Ended(128 + ended[0])


def _end(number: int, frame: FrameType | None) -> None:
    raise _Ended(128 + number)
