"""Turns of one conversation one after the other, in the order of arrival, over all event loops and threads.

A conversation is in the books only while somebody holds or awaits it.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextvars import ContextVar

from agentforge.memory.faults import TurnStateError
from agentforge.memory.key import MemoryKey

__all__ = ("TurnQueue",)


class _Place:
    """One who holds a conversation or waits for it."""

    __slots__ = ("loop", "open", "ready")

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.ready: asyncio.Future[None] = self.loop.create_future()
        self.open = True

    def call(self) -> bool:
        """Tell it that its time has come; false when its event loop is gone."""
        try:
            self.loop.call_soon_threadsafe(_wake, self.ready)
        except RuntimeError:
            return False
        return True


#: What the work at hand holds, by queue and key: it must not wait for itself.
_held: ContextVar[Mapping[tuple[int, MemoryKey], _Place]] = ContextVar("agentforge_open_conversations")


class TurnQueue:
    """A line for each conversation that is in use; the first in it holds it."""

    def __init__(self) -> None:
        # Reentrant: a turn that its loop left unfinished is ended by the garbage collection, wherever that strikes.
        self._lock = threading.RLock()
        self._lines: dict[MemoryKey, deque[_Place]] = {}

    def __len__(self) -> int:
        """How many conversations are held or waited for."""
        return len(self._lines)

    @contextlib.asynccontextmanager
    async def hold(self, key: MemoryKey) -> AsyncIterator[None]:
        """Wait for the conversation and hold it. Raises `TurnStateError` inside of a turn of the same conversation, or
        in what that turn started: it would wait for itself."""
        held = {at: place for at, place in _held.get({}).items() if place.open}
        if (id(self), key) in held:
            raise TurnStateError(
                f"a turn of the conversation {key} is open here, and another would wait for it without end",
                next_step="End that turn first, or use another memory id inside of it.",
            )
        place = _Place()
        try:
            if not self._enter(key, place):
                await place.ready
            _held.set({**held, (id(self), key): place})
            yield
        finally:
            self._leave(key, place)

    def _enter(self, key: MemoryKey, place: _Place) -> bool:
        with self._lock:
            line = self._lines.setdefault(key, deque())
            line.append(place)
            return line[0] is place

    def _leave(self, key: MemoryKey, place: _Place) -> None:
        with self._lock:
            place.open = False
            line = self._lines.get(key)
            if line is None or place not in line:  # it was passed over when its loop was gone
                return
            was_first = line[0] is place
            line.remove(place)
            while was_first and line and not line[0].call():
                line.popleft().open = False
            if not line:
                del self._lines[key]


def _wake(ready: asyncio.Future[None]) -> None:
    if not ready.done():
        ready.set_result(None)
