"""How many exchanges a transport runs at once: one fair queue in front of the library, whichever it is.

The libraries' own queues differ in what they cost when many wait, in whom they wake first and in what a cancelled
wait leaves behind; here nobody ever waits in them.
"""

from __future__ import annotations

import asyncio

from agentforge.errors import ConfigurationError
from agentforge.http.failures import failure
from agentforge.http.transport import HttpRequest

__all__ = ("Slots",)


class Slots:
    """``number`` slots; who finds none waits in order of arrival, up to the request's ``timeouts.pool``.

    Raises `ConfigurationError` for less than one.
    """

    __slots__ = ("_semaphore",)

    def __init__(self, number: int) -> None:
        if number < 1:
            raise ConfigurationError("'max_connections' must be at least 1", next_step="Give 1 or more.")
        self._semaphore = asyncio.Semaphore(number)

    async def take(self, request: HttpRequest) -> None:
        """Take a slot, at once if one is free. Raises `ModelTimeoutError` (the pool limit)."""
        semaphore = self._semaphore
        if not semaphore.locked():
            await semaphore.acquire()  # free: no turn of the loop
            return
        try:
            async with asyncio.timeout(request.timeouts.pool):
                await semaphore.acquire()
            return
        except TimeoutError as error:
            failed = failure(request, error, "pool time")
        assert failed is not None
        raise failed

    def release(self) -> None:
        """Give the slot back."""
        self._semaphore.release()
