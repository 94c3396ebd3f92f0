"""Why no connection was made, in plain words, where the cause can be told; the system's own words follow."""

from __future__ import annotations

import errno
import socket
import ssl
from collections.abc import Iterator

from agentforge.errors import ModelError

__all__ = ("connection_words",)

_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
_NO_HOST = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


def connection_words(error: ModelError) -> tuple[str, str | None]:
    """Message and next step for a request that was never sent."""
    head, _, raw = error.message.partition(": ")
    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError) and getattr(cause, "reason", None) in _NO_TLS:
            words = "it does not speak TLS; is the address http://?"
            return f"{head}: {words} ({raw})", "Write http:// if the server has no TLS; else check the port."
        if isinstance(cause, socket.gaierror) and cause.errno in _NO_HOST:
            return f"{head}: there is no such host ({raw})", "Check how the host is written, and the name server."
        if isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED:
            step = "Start the server, or check host and port; behind a proxy, check the proxy's settings."
            return f"{head}: nothing listens there ({raw})", step
    return error.message, error.next_step


def _causes(error: BaseException) -> Iterator[BaseException]:
    """What lies below an error, nearest first; of several addresses that were tried, all."""
    waiting: list[BaseException | None] = [error.__cause__]
    for _ in range(20):
        if not waiting:
            return
        cause = waiting.pop(0)
        if cause is not None:
            yield cause
            several = cause.exceptions if isinstance(cause, BaseExceptionGroup) else ()
            waiting += [getattr(cause, "os_error", None), cause.__cause__ or cause.__context__, *several]
