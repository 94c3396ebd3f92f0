"""From a server's notifications to the notices of the run whose call is under way, in order and bounded."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import math
from collections.abc import Mapping
from types import TracebackType
from typing import Self

from agentforge.masking import Secrets
from agentforge.tool.execution import ToolContext
from agentforge_mcp.server_log import shown

__all__ = ("Telling",)

_WAITING = 256  # notices that wait to be told; more are left out
_PATIENCE = 1.0  # seconds for those that are still to be told when the call is over


class Telling:
    """Tells the run of one call. `progress` and `log` may be called on any loop; the notices are told on the call's."""

    def __init__(self, context: ToolContext, server: str, secrets: Secrets) -> None:
        self._context = context
        self._server = server
        self._secrets = secrets
        self._loop = asyncio.get_running_loop()
        self._place = contextvars.copy_context()
        self._notices: asyncio.Queue[tuple[str, str, Mapping[str, object]]] = asyncio.Queue(_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._over = False

    def progress(self, progress: float, total: float | None, message: str | None) -> None:
        """How far the call is; what is no number says nothing."""
        if not math.isfinite(progress):
            return
        total = total if total is not None and math.isfinite(total) else None
        details = {"server": self._server, "progress": progress, "total": total}
        far = f"{progress:g}" if total is None else f"{progress:g} of {total:g}"
        self._put("mcp_progress", shown(self._secrets.mask(message)) if message else far, details)

    def log(self, level: str, text: str) -> None:
        """What the server logs."""
        self._put("mcp_log", text, {"server": self._server, "level": level})

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Tell what is still to be told, but for a call that is cancelled: nobody waits for that."""
        try:
            if not isinstance(error, asyncio.CancelledError):
                await asyncio.sleep(0)  # what came from another loop is put first
                if self._task is not None:
                    with contextlib.suppress(TimeoutError):
                        async with asyncio.timeout(_PATIENCE):
                            await self._notices.join()
        finally:
            self._over = True
            if self._task is not None:
                self._task.cancel()

    def _put(self, code: str, message: str, details: Mapping[str, object]) -> None:
        with contextlib.suppress(RuntimeError):  # the call's loop has ended
            self._loop.call_soon_threadsafe(self._take, code, message, details)

    def _take(self, code: str, message: str, details: Mapping[str, object]) -> None:
        if self._over:
            return
        if self._task is None:
            # In the call's own context: that says whose notice it is.
            self._task = self._loop.create_task(self._tell(), context=self._place)
        with contextlib.suppress(asyncio.QueueFull):
            self._notices.put_nowait((code, message, details))

    async def _tell(self) -> None:
        while True:
            code, message, details = await self._notices.get()
            try:
                await self._context.notify(code, message, details)
            finally:
                self._notices.task_done()
