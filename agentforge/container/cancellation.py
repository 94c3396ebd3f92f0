"""Telling a cancellation from a failure that looks like one: a bean that ends a task of its own and awaits it raises
`asyncio.CancelledError` though nobody has cancelled it, and that must not pass for a cancellation of the program."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TypeVar

__all__ = ("as_failure", "called")

_T = TypeVar("_T")


def called(function: Callable[[], _T]) -> _T:
    """Call a plain function. It waits for nothing that could be cancelled: a `CancelledError` that it raises is its own
    and becomes the cause of a `RuntimeError`."""
    try:
        return function()
    except asyncio.CancelledError as error:
        raise as_failure() from error


def as_failure() -> RuntimeError:
    """What to raise from a `CancelledError` that nobody has asked for."""
    return RuntimeError("it raised CancelledError, and nobody had cancelled it")
