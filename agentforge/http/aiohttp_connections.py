"""Which of aiohttp's connections are new: an error of a request does not say whether it came on a kept one.

A kept connection that the server closed in between says nothing about the request, which is then sent again; a new
one that breaks does, and whether to try again is for the retry policy.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    import aiohttp

__all__ = ("Connecting", "noting_connector")


class Connecting:
    """Counts requests, and notes for each task the count when it last connected."""

    __slots__ = ("_count", "_made")

    def __init__(self) -> None:
        self._count = 0
        self._made: WeakKeyDictionary[asyncio.Task[Any], int] = WeakKeyDictionary()

    def begin(self) -> int:
        """The number of a request that begins."""
        self._count += 1
        return self._count

    def note(self) -> None:
        """The running task's request has a connection made."""
        if (task := asyncio.current_task()) is not None:
            self._made[task] = self._count

    def made(self, number: int) -> bool:
        """Whether the running task's request of this number had a connection made."""
        task = asyncio.current_task()
        return task is not None and self._made.get(task, 0) >= number


def noting_connector(connecting: Connecting, **options: Any) -> aiohttp.TCPConnector:
    """A connector that tells ``connecting`` of each new connection."""
    import aiohttp

    class Noting(aiohttp.TCPConnector):
        async def _create_connection(self, *args: Any, **kwargs: Any) -> Any:
            connecting.note()
            return await super()._create_connection(*args, **kwargs)

    return Noting(**options)
