"""How a contract suite runs a test: on an event loop of its own, with a bound, and with a sentence when it fails.

The sentences stand in the code, since a test runner does not look into the assertions of an installed package.
"""

from __future__ import annotations

import asyncio
import inspect
import unittest
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any, NoReturn, TypeVar

__all__ = ("must", "opened", "run", "skip")

_T = TypeVar("_T")
_TURNS_TO_END = 20


def must(holds: object, words: str) -> None:
    """Raise ``AssertionError`` with the sentence unless ``holds``."""
    if not holds:
        raise AssertionError(words)


def skip(reason: str) -> NoReturn:
    """Skip the test; `unittest` and pytest both know this."""
    raise unittest.SkipTest(reason)


def run(work: Callable[[], Coroutine[Any, Any, _T]], *, patience: float) -> _T:
    """Run the coroutine on a fresh loop. Fails when it takes longer than ``patience`` seconds, or leaves tasks."""

    async def bounded() -> _T:
        try:
            async with asyncio.timeout(patience):
                made = await work()
        except TimeoutError as error:
            raise AssertionError(f"it did not end within {patience:g} s") from error
        for _ in range(_TURNS_TO_END):  # what was just cancelled ends within a few turns of the loop
            left = asyncio.all_tasks() - {asyncio.current_task()}
            if not left:
                break
            await asyncio.sleep(0)
        must(not left, f"it leaves tasks behind: {', '.join(sorted(task.get_name() for task in left if task))}")
        return made

    return asyncio.run(bounded())


@asynccontextmanager
async def opened(made: Any, contract: type) -> AsyncIterator[Any]:
    """What a suite's method made: the object itself, an awaitable of it, or an asynchronous context manager around it.

    Started and closed as a container would do it.
    """
    if inspect.isawaitable(made):
        made = await made
    if not isinstance(made, contract) and hasattr(made, "__aenter__"):
        async with made as inner:
            yield inner
        return
    await _call(made, "start")
    try:
        yield made
    finally:
        await _call(made, "aclose" if hasattr(made, "aclose") else "close")


async def _call(made: object, name: str) -> None:
    method = getattr(made, name, None)
    found = method() if callable(method) and not isinstance(made, type) else None
    if isinstance(found, Awaitable):
        await found
