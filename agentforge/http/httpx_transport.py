"""The default transport: httpx's connections, without the layers of its client and without its pool.

The client's work for each request (merging headers, cookies, redirects, authentication, text decoding) costs a fifth
of a round and none of it is wanted here, so requests go to ``httpx.AsyncHTTPTransport`` prepared. A client of the
user's own is used whole, as its owner may have put anything into it.

Why the pool is ours: see `agentforge.http.httpx_connections`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from agentforge.errors import ConfigurationError
from agentforge.http.address import Address, not_over_a_given, parse_address, parse_proxy
from agentforge.http.decoding import BodyDecoder, Bounds, body_decoder
from agentforge.http.failures import failure, too_large
from agentforge.http.httpx_connections import Connection, Connections, Route
from agentforge.http.slots import Slots
from agentforge.http.tls import TlsSettings
from agentforge.http.transport import HttpRequest, HttpResponse, HttpStream, HttpTimeouts

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ("HttpxTransport",)

_MAX_TARGETS = 64


class _Target(NamedTuple):
    """What a URL needs for each request, made once."""

    url: httpx.URL
    host: bytes
    route: Route
    sni: str | None = None  # the name that TLS asks for and checks, where it is not that of the URL


@dataclass(slots=True)
class _Exchange:
    """An answer that has begun, and the connection it comes on: none of ours over a given client."""

    response: httpx.Response
    headers: dict[str, str]
    connection: Connection | None = None
    route: Route | None = None
    whole: bool = False  # read to its end


class HttpxTransport:
    """Sends requests through httpx, on one event loop.

    ``verify`` and ``ca_bundle``: see `TlsSettings`. ``proxy``: a URL for all requests; without it, and with
    ``trust_env``, the environment's proxies, never for loopback. ``max_connections``: how many requests run at once,
    the others wait in order, up to ``timeouts.pool``. ``max_body_bytes``: the largest plain answer, and the largest
    compressed one after decoding (unset: 64 MiB and 10 MiB). ``client``: your own ``httpx.AsyncClient``, used for
    everything and never closed here; TLS, proxy and pool are then its business.

    A request that finds its kept connection closed before any answer is sent again on a new one, once, which no retry
    counts; one that is not repeatable goes on a new one at once.

    Raises `ConfigurationError` for options that cannot be honoured, and for requests that are not valid HTTP.
    """

    def __init__(
        self,
        *,
        verify: bool | str | ssl.SSLContext = True,
        ca_bundle: str | None = None,
        proxy: str | None = None,
        trust_env: bool = True,
        max_connections: int = 100,
        max_body_bytes: int | None = None,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        import httpx

        self._httpx = httpx
        self._tls = TlsSettings(verify, ca_bundle, trust_env)
        self._proxy = parse_proxy(proxy) if proxy is not None else None
        self._trust_env = trust_env
        self._slots = Slots(max_connections)
        self._connections = Connections(max_connections)
        self._limits = httpx.Limits(max_connections=1, keepalive_expiry=None)
        self._bounds = Bounds.of(max_body_bytes)
        self._client = client
        self._targets: dict[tuple[str, str | None], _Target] = {}
        self._timeouts: HttpTimeouts | None = None
        self._extensions: dict[str, dict[str, float]] = {}
        self._closed = False

    # -- the protocol ----------------------------------------------------------------------------

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send and read the whole answer, bounded."""
        try:
            exchange = await self._begin(request, b"gzip")
            try:
                content = await self._read(request, exchange, body_decoder(exchange.headers, self._bounds))
            finally:
                await self._end(exchange)
            return HttpResponse(exchange.response.status_code, exchange.headers, content)
        except Exception as error:
            if (failed := failure(request, error)) is None:
                raise
        raise failed

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        """Send and hand out the answer while it arrives; leaving the block early closes the connection."""
        exchange = await self._begun(request)
        try:
            chunks = self._chunks(request, exchange, body_decoder(exchange.headers, self._bounds))
            try:
                yield HttpStream(exchange.response.status_code, exchange.headers, chunks)
            finally:
                with suppress(RuntimeError):  # another task is still waiting in it: closing the answer ends that
                    await chunks.aclose()
        finally:
            await self._end(exchange)

    async def aclose(self) -> None:
        """Close all connections of our own; safe to call twice."""
        self._closed = True
        self._targets.clear()
        await self._connections.aclose()

    # -- exchanges -------------------------------------------------------------------------------

    async def _begin(self, request: HttpRequest, encoding: bytes) -> _Exchange:
        """Send; the answer has begun. What is taken here is given back by `_end`, or here when it fails."""
        if self._closed:
            raise ConfigurationError("the HTTP transport is closed", next_step="Make a new one.")
        if request.timeouts is not self._timeouts:
            times = request.timeouts
            waits = {"connect": times.connect, "read": times.read, "write": times.write, "pool": times.pool}
            self._timeouts, self._extensions = times, {"timeout": waits}
        if self._client is not None:
            response = await self._start_on(self._client, request, encoding)
            return _Exchange(response, _headers(response))
        target = self._targets.get((request.url, request.connect_to)) or self._target(request)
        await self._slots.take(request)
        try:
            # On one that was kept a request may be lost half-way, and nobody could say whether it arrived.
            connections = self._connections
            connection = connections.take(target.route) if request.repeatable else connections.new(target.route)
            try:
                response = await self._start(connection, target, request, encoding)
            except Exception as error:
                if not (connection.used and self._closed_early(error)):
                    raise
                connection = self._connections.new(target.route)
                response = await self._start(connection, target, request, encoding)
        except BaseException:
            self._slots.release()
            raise
        return _Exchange(response, _headers(response), connection, target.route)

    async def _begun(self, request: HttpRequest) -> _Exchange:
        try:
            return await self._begin(request, b"identity")
        except Exception as error:
            if (failed := failure(request, error)) is None:
                raise
        raise failed

    async def _end(self, exchange: _Exchange) -> None:
        """Give the connection back if it can be used again, else close it; then the slot."""
        connection, route = exchange.connection, exchange.route
        if connection is None or route is None:
            await exchange.response.aclose()
            return
        reusable = False
        try:
            await exchange.response.aclose()
            reusable = exchange.whole and exchange.headers.get("connection", "").lower() != "close"
        finally:
            try:
                if reusable:
                    self._connections.give_back(route, connection)
                else:
                    await self._connections.discard(connection)
            finally:
                self._slots.release()

    # -- requests --------------------------------------------------------------------------------

    async def _start(
        self, connection: Connection, target: _Target, request: HttpRequest, encoding: bytes
    ) -> httpx.Response:
        """Send on this connection, which is closed when that fails, whatever state httpx leaves it in."""
        headers = [(b"host", target.host), *request.headers]
        if not any(name.lower() == b"accept-encoding" for name, _ in request.headers):
            headers.append((b"accept-encoding", encoding))
        if request.content or request.method in ("POST", "PUT", "PATCH"):
            headers.append((b"content-length", b"%d" % len(request.content)))
        extensions: dict[str, Any] = self._extensions
        if not connection.used:
            extensions = {**extensions, "trace": connection.trace}
        if target.sni is not None:
            extensions = {**extensions, "sni_hostname": target.sni}
        try:
            return await connection.transport.handle_async_request(
                self._httpx.Request(
                    request.method,
                    target.url,
                    headers=headers,
                    stream=self._httpx.ByteStream(request.content),
                    extensions=extensions,
                )
            )
        except BaseException:
            await self._connections.discard(connection)
            raise

    def _closed_early(self, error: Exception) -> bool:
        """Whether the connection was closed before an answer began: nothing of one can have been lost."""
        httpx = self._httpx
        return isinstance(error, httpx.ReadError | httpx.WriteError) or (
            isinstance(error, httpx.RemoteProtocolError) and "disconnected without sending" in str(error)
        )

    async def _start_on(self, client: httpx.AsyncClient, request: HttpRequest, encoding: bytes) -> httpx.Response:
        if client.is_closed:
            raise ConfigurationError("the given httpx client is closed", next_step="Keep it open while it is used.")
        parse_address(request.url, proxy=None, trust_env=False)
        if request.connect_to is not None:
            raise not_over_a_given("httpx client")
        headers = list(request.headers)
        if not any(name.lower() == b"accept-encoding" for name, _ in headers):
            headers.append((b"accept-encoding", encoding))
        prepared = client.build_request(
            request.method, request.url, headers=headers, content=request.content or None, extensions=self._extensions
        )
        return await client.send(prepared, stream=True, follow_redirects=False)

    def _target(self, request: HttpRequest) -> _Target:
        url, where = request.url, request.connect_to
        prepared = self._httpx.URL(url)
        free = where is None  # to go by a proxy, and to look the host up
        address = parse_address(url, proxy=self._proxy if free else None, trust_env=self._trust_env and free)
        if len(self._targets) >= _MAX_TARGETS:
            del self._targets[next(iter(self._targets))]
        key = (prepared.scheme, prepared.netloc, address.proxy, where)
        route = self._connections.route(key, lambda: self._new_transport(address))
        target = _Target(prepared, prepared.netloc, route)
        if where is not None:
            target = target._replace(url=prepared.copy_with(host=where), sni=address.host)
        self._targets[url, where] = target
        return target

    def _new_transport(self, address: Address) -> httpx.AsyncHTTPTransport:
        context = self._tls.context() if address.secure else self._tls.none()
        proxy = None
        if (way := address.proxy) is not None:
            headers = {"proxy-authorization": way.authorization} if way.authorization else None
            trust = self._tls.context() if way.url.startswith("https:") else None
            proxy = self._httpx.Proxy(way.url, headers=headers, ssl_context=trust)
        return self._httpx.AsyncHTTPTransport(verify=context, trust_env=False, limits=self._limits, proxy=proxy)

    # -- answers ---------------------------------------------------------------------------------

    def _raw(self, response: httpx.Response) -> AsyncIterator[bytes]:
        if self._client is not None:
            return response.aiter_raw()
        stream = response.stream
        assert isinstance(stream, self._httpx.AsyncByteStream)
        return stream.__aiter__()

    async def _read(self, request: HttpRequest, exchange: _Exchange, decoder: BodyDecoder | None) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in self._raw(exchange.response):
            size += len(part)
            if size > self._bounds.body:
                raise too_large(request, self._bounds.body)
            parts.append(part if decoder is None else decoder.feed(part))
        if decoder is not None:
            decoder.finish()
        exchange.whole = True
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _chunks(
        self, request: HttpRequest, exchange: _Exchange, decoder: BodyDecoder | None
    ) -> AsyncGenerator[bytes, None]:
        try:
            async for part in self._raw(exchange.response):
                if decoder is None:
                    yield part
                elif decoded := decoder.feed(part):
                    yield decoded
            if decoder is not None:
                decoder.finish()
            exchange.whole = True
            return
        except Exception as error:
            if (failed := failure(request, error)) is None:
                raise
        raise failed


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers.raw}
