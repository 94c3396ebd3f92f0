"""Which event loop runs here."""

from __future__ import annotations

import asyncio

__all__ = ("running_loop",)


def running_loop() -> asyncio.AbstractEventLoop | None:
    """The loop that runs in this thread; ``None`` when none does."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
