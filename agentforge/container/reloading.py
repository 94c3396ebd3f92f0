"""Former generations of beans, which are closed as soon as no conversation runs on them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agentforge.container.generation import Generation

__all__ = ("Reloading",)

_log = logging.getLogger("agentforge.container")


class Reloading:
    """Waits for the ends of what was replaced, on the application's loop. ``turn`` lets one reload go at a time."""

    def __init__(self) -> None:
        self.turn = asyncio.Lock()
        self._leaving: dict[asyncio.Task[None], Generation] = {}
        self._coming: Generation | None = None

    @asynccontextmanager
    async def coming(self, beans: Generation) -> AsyncIterator[None]:
        """A block in which new beans come up; where it fails, or the application ends meanwhile, they are closed."""
        self._coming = beans
        try:
            yield
        except BaseException:
            await beans.stop()
            raise
        finally:
            self._coming = None

    def retire(self, beans: Generation) -> None:
        """Close these beans when no run is on them any more; what fails in it is logged."""
        task = asyncio.get_running_loop().create_task(self._close(beans), name="agentforge closing former beans")
        self._leaving[task] = beans

    async def stop(self, current: Generation) -> list[Exception]:
        """Close beans that are coming up, the current ones, then the former, the latest first; returns what failed."""
        failures: list[Exception] = []
        ended: BaseException | None = None
        former = list(self._leaving.items())
        if self._coming is not None:
            try:
                failures += await self._coming.stop()  # its start, or whoever waits for it, is given up
            except BaseException as error:
                ended = error
        for task, beans in former:
            if not beans.ended:  # it waits for conversations
                task.cancel()
        try:
            failures += await current.stop()
        except BaseException as error:
            ended = ended or error
        for task, beans in reversed(former):
            try:
                if beans.ended:
                    await asyncio.wait((task,))
                else:
                    failures += await beans.stop()
            except BaseException as error:
                task.cancel()
                ended = ended or error
        if ended is not None:
            raise ended
        return failures

    async def _close(self, beans: Generation) -> None:
        await beans.idle()
        task = asyncio.current_task()
        try:
            await beans.stop()
        except BaseException as error:  # an interrupt that a task raises would end the loop
            if task is not None and task.cancelling():
                raise
            _log.warning("former beans have not all been closed well", exc_info=error)
        finally:
            if task is not None:
                self._leaving.pop(task, None)
