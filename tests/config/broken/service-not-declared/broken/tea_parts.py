"""Components that want services."""

from typing import Protocol


class Clerk(Protocol):
    """Has a method of the name of a client's."""

    async def chat(self, message: str) -> str: ...


class Judge(Protocol):
    """Has one that nothing else has."""

    async def judge(self, message: str) -> bool: ...


class Clock(Protocol):
    """Nothing for a model: it says nothing of a message."""

    now: float


class Counter:
    """Wants both."""

    def __init__(self, clerk: Clerk, judge: Judge, clock: Clock) -> None:
        self.clerk, self.judge, self.clock = clerk, judge, clock


class Watch:
    """Tells the time."""

    now: float = 0.0
