"""Noticing that the files of a configuration have changed: by their times and sizes, looked at when asked."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from agentforge.container.stamps import Stamp, stamp_of

if TYPE_CHECKING:
    from agentforge.container.application import AgentForge

__all__ = ("FileWatch", "reload_on_change")

_log = logging.getLogger("agentforge.container")
_CHANGED = (-1, -1, -1)


class FileWatch:
    """Whether the files that an application was read from have changed since it was last asked.

    A file that comes or goes has changed as well.
    """

    def __init__(self, app: AgentForge) -> None:
        self._app = app
        self._seen: dict[Path, Stamp] = {}
        self.renew()

    def renew(self) -> None:
        """Watch the files of the configuration as it is now, against what was read of them: what has changed since
        counts, though it was before this call."""
        self._seen = {}
        for path in self._app.files:
            stamp = stamp_of(path)  # before its text, so that a change in between counts as well
            self._seen[path] = stamp if self._app.as_read(path) else _CHANGED

    def widen(self) -> None:
        """After a reload that failed: watch what it has read as well, from now on."""
        for path in self._app.files:
            if path not in self._seen:
                self._seen[path] = stamp_of(path)

    def changed(self) -> tuple[Path, ...]:
        """The files that have changed; each change is told once."""
        now = {path: stamp_of(path) for path in self._seen}
        found = tuple(path for path, stamp in now.items() if stamp != self._seen[path])
        self._seen = now
        return found


async def reload_on_change(
    app: AgentForge,
    *,
    every: float = 1.0,
    failed: Callable[[Exception], object] | None = None,
    sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
) -> None:
    """Reload the application whenever one of its files has changed, until this is cancelled.

    Looks every ``every`` seconds. A reload that fails leaves the beans of before, and is tried again after the next
    change; ``failed`` is told, else the log.
    """
    watch = FileWatch(app)
    while True:
        await sleep(every)
        if not watch.changed():
            continue
        try:
            await app.reload()
        except Exception as error:
            watch.widen()
            if failed is not None:
                failed(error)
            else:
                _log.warning("the configuration was not reloaded: %s", app.plan.secrets.mask(str(error)))
        else:
            watch.renew()
