"""What an HTTP library raises, said in our terms: one table for both libraries.

The table goes by the names of exception classes, so that neither library is imported for it; the nearest class of an
exception decides. No text of an exception that may quote headers or an address is passed on: a key with a line break
in it must not end up in an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from agentforge.errors import (
    AgentForgeError,
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    ProtocolError,
)
from agentforge.http.display import one_line, safe_url
from agentforge.http.transport import HttpRequest

__all__ = ("Kind", "failure", "kind_of", "plain_reason", "too_large")

Kind = Literal[
    "connect time", "read time", "write time", "pool time", "connect", "proxy", "broken", "body", "unsendable"
]

_KINDS: dict[str, Kind] = {
    # httpx and httpcore
    "ConnectTimeout": "connect time",
    "ReadTimeout": "read time",
    "WriteTimeout": "write time",
    "PoolTimeout": "pool time",
    "TimeoutException": "read time",
    "ConnectError": "connect",
    "ProxyError": "proxy",
    "ReadError": "broken",
    "WriteError": "broken",
    "CloseError": "broken",
    "NetworkError": "broken",
    "RemoteProtocolError": "broken",
    "LocalProtocolError": "unsendable",
    "UnsupportedProtocol": "unsendable",
    "DecodingError": "body",
    "HTTPError": "broken",
    "InvalidURL": "unsendable",
    # aiohttp
    "ConnectionTimeoutError": "connect time",
    "SocketTimeoutError": "read time",
    "ServerTimeoutError": "read time",
    "ClientConnectorError": "connect",
    "ClientProxyConnectionError": "proxy",
    "ClientHttpProxyError": "proxy",
    "ClientConnectionError": "broken",
    "ClientPayloadError": "broken",
    "ClientResponseError": "broken",
    "NonHttpUrlClientError": "unsendable",
    "ClientError": "broken",
    # the standard library, below both
    "UnicodeError": "unsendable",
    "OSError": "broken",
}
_UNSENT: frozenset[Kind] = frozenset({"connect time", "pool time", "connect", "proxy"})
_NO_TLS = ("WRONG_VERSION_NUMBER", "RECORD_LAYER_FAILURE")
_MAX_CAUSES = 20
_TIMES = {"connect time": "connect", "read time": "read", "write time": "write", "pool time": "pool"}
_WAITS = {
    "connect": "no connection to {host} within {seconds:g} s",
    "read": "no further byte from {host} within {seconds:g} s",
    "write": "{host} took no further byte of the request within {seconds:g} s",
    "pool": "no free connection to {host} within {seconds:g} s",
}
_WAIT_STEPS = {
    "connect": "Check the address, the network and the proxy; or raise timeouts.connect.",
    "read": "Raise timeouts.read if the model may think longer than this between two parts of its answer.",
    "write": "Raise timeouts.write if the request is large and the network slow.",
    "pool": "Raise max_connections or timeouts.pool, or start fewer calls at once.",
}


def kind_of(error: BaseException) -> Kind | None:
    """The kind of an exception; ``None`` for one that is none of a transport's failures."""
    if isinstance(error, AgentForgeError):
        return None
    for cls in type(error).__mro__:
        if (kind := _KINDS.get(cls.__name__)) is not None:
            return kind
    return None


def failure(request: HttpRequest, error: BaseException, kind: Kind | None = None) -> AgentForgeError | None:
    """The error to raise in place of ``error``; ``None`` when it is none of a transport's failures.

    To be raised outside the ``except`` block, so that ``error`` hangs on it only as the cause that is set here: not
    where a library's exception quotes headers or holds the whole request.
    """
    kind = kind if kind is not None else kind_of(error)
    if kind is None:
        return None
    made = _made(kind, request, error)
    if isinstance(made, ModelError):
        made.sent = kind not in _UNSENT
        made.local = kind == "pool time"
    if kind not in ("unsendable", "proxy") and not hasattr(error, "request_info"):
        made.__cause__ = error
    return made


def _made(kind: Kind, request: HttpRequest, error: BaseException) -> AgentForgeError:
    location = f"{request.method} {safe_url(request.url)}"
    host = repr(_host(request.url))
    if (phase := _TIMES.get(kind)) is not None:
        return ModelTimeoutError(
            _WAITS[phase].format(host=host, seconds=getattr(request.timeouts, phase)) + f" (the {phase} limit)",
            location=location,
            next_step=_WAIT_STEPS[phase],
        )
    if kind == "unsendable":
        return ConfigurationError(
            f"the request to {host} cannot be sent: its address or a header is not valid HTTP",
            location=location,
            next_step="Look for a line break or a character beyond ASCII in the address, the key and the headers.",
        )
    if kind == "body":
        return ProtocolError(f"the answer of {host} cannot be decoded", location=location)
    reason = _reason(error)
    if kind == "connect":
        return _connect_error(host, reason, location, plain_reason(error))
    if kind == "proxy":
        status = getattr(error, "status", None)
        said = f"it answered {status}" if status else reason
        return ModelConnectionError(
            f"the proxy to {host} refused or failed: {said}",
            location=location,
            next_step="Check the proxy's address and credentials (option 'proxy', or HTTPS_PROXY and NO_PROXY).",
        )
    return ModelConnectionError(
        f"the connection to {host} broke before the answer was complete: {reason}", location=location
    )


def plain_reason(error: BaseException) -> tuple[str, str] | None:
    """Why no connection was made, in plain words, and what to do; ``None`` where the cause is none that can be told.

    >>> plain_reason(ConnectionRefusedError(111, "Connection refused"))[0]
    'nothing listens there'
    """
    import errno
    import socket
    import ssl

    for cause in _causes(error):
        if isinstance(cause, ssl.SSLError) and getattr(cause, "reason", None) in _NO_TLS:
            step = "Write http:// if the server has no TLS; else check the port."
            return "it does not speak TLS; is the address http://?", step
        # The second is of those systems alone that tell a host without addresses apart.
        if isinstance(cause, socket.gaierror) and cause.errno in (
            socket.EAI_NONAME,
            getattr(socket, "EAI_NODATA", socket.EAI_NONAME),
        ):
            return "there is no such host", "Check how the host is written, and the name server."
        if isinstance(cause, OSError) and cause.errno == errno.ECONNREFUSED:
            step = "Start the server, or check host and port; behind a proxy, check the proxy's settings."
            return "nothing listens there", step
    return None


def _causes(error: BaseException) -> Iterator[BaseException]:
    """The error and what lies below it, nearest first; of several addresses that were tried, all."""
    waiting: list[BaseException | None] = [error]
    for _ in range(_MAX_CAUSES):
        if not waiting:
            return
        cause = waiting.pop(0)
        if cause is not None:
            yield cause
            several = cause.exceptions if isinstance(cause, BaseExceptionGroup) else ()
            waiting += [getattr(cause, "os_error", None), cause.__cause__ or cause.__context__, *several]


def _connect_error(host: str, reason: str, location: str, plain: tuple[str, str] | None) -> ModelConnectionError:
    if "CERTIFICATE" in reason.upper():
        made = ModelConnectionError(
            f"the certificate of {host} is not trusted: {reason}",
            location=location,
            next_step="Give the issuing authority's certificates as 'ca_bundle'.",
        )
        made.retryable = False
        return made
    if plain is not None:
        words, step = plain
        return ModelConnectionError(
            f"could not connect to {host}: {words} ({reason})", location=location, next_step=step
        )
    return ModelConnectionError(
        f"could not connect to {host}: {reason}",
        location=location,
        next_step="Check that the address is right and the server runs; behind a proxy, check the proxy's settings.",
    )


def too_large(request: HttpRequest, limit: int) -> ProtocolError:
    """The error for an answer whose body is larger than the bound."""
    return ProtocolError(
        f"the answer of {_host(request.url)!r} is larger than {limit} bytes",
        location=f"{request.method} {safe_url(request.url)}",
        next_step="Raise max_body_bytes if the endpoint really sends answers of this size.",
    )


def _reason(error: BaseException) -> str:
    """The words of the system's own error below the library's, else of the library's."""
    seen: BaseException | None = getattr(error, "os_error", None) or error
    for _ in range(6):
        if seen is None:
            break
        if isinstance(seen, OSError) and seen.strerror:
            return one_line(seen.strerror, 200)
        seen = seen.__cause__ or seen.__context__
    return one_line(str(error), 200) or type(error).__name__


def _host(url: str) -> str:
    return safe_url(url).partition("://")[2].partition("/")[0].partition("?")[0]
