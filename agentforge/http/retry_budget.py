"""How many retries all calls to one endpoint may make together, so that an outage is not multiplied by them.

Each request has its own number of retries; when everything fails at once, that number is what the load is multiplied
by, just when the endpoint can bear it least.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from agentforge.errors import ConfigurationError

__all__ = ("RetryBudget", "RetryTally")

_SLICES = 10


@dataclass(frozen=True, slots=True)
class RetryBudget:
    """Within any ``window`` seconds, retries are at most ``ratio`` of the calls and ``reserve`` more. Raises
    `ConfigurationError` for values that cannot be."""

    ratio: float = 0.2
    reserve: int = 10
    window: float = 10.0

    def __post_init__(self) -> None:
        for name, good, step in (
            ("ratio", self.ratio >= 0, "Give a part of the calls, such as 0.2."),
            ("reserve", self.reserve >= 0, "Give 0 or more."),
            ("window", self.window > 0, "Give seconds above 0."),
        ):
            if not good:
                raise ConfigurationError(
                    f"'{name}' of the retry budget cannot be {getattr(self, name)!r}", next_step=step
                )

    def __str__(self) -> str:
        return f"{self.ratio:.0%} of its calls and {self.reserve} more in {self.window:g} s"


class RetryTally:
    """Counts the calls to one endpoint and their retries, in slices of time. May be used from several threads and
    loops. ``clock`` gives monotonic seconds."""

    __slots__ = ("_clock", "_lock", "_slice", "_slices", "budget")

    def __init__(self, budget: RetryBudget, clock: Callable[[], float]) -> None:
        self.budget = budget
        self._clock = clock
        self._lock = threading.Lock()
        self._slice = budget.window / _SLICES
        # Number, calls and retries of each slice; the last one is now's, and all are within the window.
        self._slices: deque[list[int]] = deque([[0, 0, 0]])

    def called(self) -> None:
        """A call begins."""
        number = int(self._clock() / self._slice)
        newest = self._slices[-1]
        if newest[0] != number:
            newest = self._turned(number)
        newest[1] += 1

    def take(self) -> bool:
        """Take a retry, if there is one."""
        newest = self._turned(int(self._clock() / self._slice))
        with self._lock:
            calls = sum(each[1] for each in self._slices)
            retries = sum(each[2] for each in self._slices)
            if retries + 1 > self.budget.ratio * calls + self.budget.reserve:
                return False
            newest[2] += 1
            return True

    def _turned(self, number: int) -> list[int]:
        """The slice of this number, or a newer one that another thread has begun."""
        with self._lock:
            slices = self._slices
            if slices[-1][0] < number:
                slices.append([number, 0, 0])
            # One slice more than the window has, as the newest has only begun.
            while slices[0][0] < number - _SLICES:
                slices.popleft()
            return slices[-1]
