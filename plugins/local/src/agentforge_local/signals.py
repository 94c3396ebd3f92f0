"""Keeps Ctrl-C and termination with the program: the engine takes both signals over while it loads.

Handlers can be set through the `signal` module on the main thread only, and the engine loads on another one; the
interpreter's own two functions work on any.
"""

from __future__ import annotations

import ctypes
import signal
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ("kept_signal_handlers",)


@contextmanager
def kept_signal_handlers() -> Iterator[None]:
    """What SIGINT and SIGTERM did before holds again afterwards."""
    get, put = ctypes.pythonapi.PyOS_getsig, ctypes.pythonapi.PyOS_setsig
    get.argtypes, get.restype = (ctypes.c_int,), ctypes.c_void_p
    put.argtypes, put.restype = (ctypes.c_int, ctypes.c_void_p), ctypes.c_void_p
    before = {number: get(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            put(number, handler)
