"""The seam between us and an HTTP library: a request, an answer, and a protocol of two methods.

Everything above it (retry, decoding, providers) is the same whichever library is below; a test replaces it with
twenty lines. Implementations: `agentforge.http.httpx_transport` (the default) and `agentforge.http.aiohttp_transport`
(extra ``fast``, chosen by name, never merely because it is installed).
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

if TYPE_CHECKING:
    from agentforge.http.passage import Passage

__all__ = ("HttpRequest", "HttpResponse", "HttpStream", "HttpTimeouts", "HttpTransport")


@dataclass(frozen=True, slots=True)
class HttpTimeouts:
    """Seconds. ``read`` bounds each wait for further bytes, ``total`` the whole exchange (``None``: unbounded)."""

    connect: float = 10.0
    read: float = 60.0
    write: float = 60.0
    pool: float = 60.0
    total: float | None = 600.0


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """A request as bytes. ``headers`` are pairs of bytes without Host and Content-Length, prepared once by the
    caller; ``url`` is absolute.

    ``connect_to`` is the IP address to connect to, where the caller has looked up and checked the URL's host itself:
    Host, SNI and the certificate stay those of the URL, and no proxy is used, which would look it up again. What is
    ``repeatable`` is sent again where a kept connection turns out to be closed before an answer began; all else goes on
    a new one, so that it never arrives twice. ``subject`` is the model that is asked for, where the address serves
    several: a failure of one says nothing of the others. Who asks for a ``judged`` one tells the ``passage`` of a good
    answer what it turned out to be, by `Passage.ended`, `Passage.failed` or `Passage.left`; of a stream also by
    `Passage.begun`.
    """

    method: str
    url: str
    headers: Sequence[tuple[bytes, bytes]]
    content: bytes
    timeouts: HttpTimeouts
    connect_to: str | None = None
    repeatable: bool = True
    subject: str = ""
    judged: bool = False


@dataclass(slots=True)
class HttpResponse:
    """A whole answer. Header names are lower case; of repeated headers the last one stays. ``passage`` is what an
    `HttpClient` with a gate has to say of the request's way."""

    status: int
    headers: Mapping[str, str]
    content: bytes
    passage: Passage | None = field(default=None, compare=False, repr=False)


@dataclass(slots=True)
class HttpStream:
    """An answer whose body is still arriving; ``chunks`` are the decoded bytes as the network brings them. ``passage``
    is as that of an `HttpResponse`; what it tells is complete when the first chunk is there."""

    status: int
    headers: Mapping[str, str]
    chunks: AsyncIterator[bytes]
    passage: Passage | None = field(default=None, compare=False, repr=False)


@runtime_checkable
class HttpTransport(Protocol):
    """Sends requests on one event loop. Failures are `ModelConnectionError`, `ModelTimeoutError` or `ProtocolError`,
    never the library's own; a request that cannot be sent at all (a broken address, a line break in a header) is a
    `ConfigurationError`. A status of any kind is an answer, not an error."""

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send and read the whole answer."""
        ...

    def stream(self, request: HttpRequest) -> AbstractAsyncContextManager[HttpStream]:
        """Send and hand out the answer while it arrives; leaving the block closes the exchange."""
        ...

    async def aclose(self) -> None:
        """Close all connections; safe to call twice."""
        ...
