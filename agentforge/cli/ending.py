"""A terminal that closes, or a supervisor that ends the program: the beans are closed before it goes."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

__all__ = ("ended_in_order",)

_SIGNALS = ("SIGTERM", "SIGHUP")


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


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
