"""An event loop whose clock runs only while nothing else can: minutes of waiting in no time, to the millisecond."""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

__all__ = ("VirtualLoop", "in_virtual_time")

T = TypeVar("T")


class _Selector(selectors.DefaultSelector):  # type: ignore[misc,valid-type]
    """Passes the time that the loop would sleep, without sleeping."""

    loop: VirtualLoop

    def select(self, timeout: float | None = None) -> Any:
        if timeout == 0:
            return super().select(0)
        found = super().select(self.loop.patience)
        if not found and timeout is None:
            raise RuntimeError("the loop waits for something that never comes: nothing is due")
        if not found and timeout is not None:
            self.loop.now += timeout
        return found


class VirtualLoop(asyncio.SelectorEventLoop):
    """Starts at ``now`` = 1,000 s. ``patience`` are the real seconds in which sockets of this machine have their say
    before the clock moves; 0 is for code that waits for time alone. Threads have no place here."""

    def __init__(self, patience: float = 0.0) -> None:
        self.now = 1000.0
        self.patience = patience
        selector = _Selector()
        super().__init__(selector)
        selector.loop = self

    def time(self) -> float:
        """The time that has passed."""
        return self.now


def in_virtual_time(main: Coroutine[Any, Any, T], *, sockets: bool = False) -> T:
    """Run a coroutine on a loop of its own whose clock is virtual; ``sockets``: both ends of which are on it."""
    with asyncio.Runner(loop_factory=lambda: VirtualLoop(0.003 if sockets else 0.0)) as runner:
        return runner.run(main)
