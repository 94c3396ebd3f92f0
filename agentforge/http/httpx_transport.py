"""The default transport: httpx's connection pool, without the layers of its client.

The client's work for each request (merging headers, cookies, redirects, authentication, text decoding) costs a fifth
of a round and none of it is wanted here, so requests go to ``httpx.AsyncHTTPTransport`` prepared. A client of the
user's own is used whole, as its owner may have put anything into it.

httpx's pool looks through all its connections for every request, so its cost grows with ``max_connections``: keep it
near what runs side by side, or take the ``aiohttp`` transport for hundreds.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, NamedTuple

from agentforge.errors import ConfigurationError
from agentforge.http.address import Address, Proxy, parse_address, parse_proxy
from agentforge.http.decoding import DEFAULT_MAX_BODY_BYTES, BodyDecoder, body_decoder
from agentforge.http.failures import failure, too_large
from agentforge.http.tls import TlsSettings
from agentforge.http.transport import HttpRequest, HttpResponse, HttpStream, HttpTimeouts

if TYPE_CHECKING:
    import ssl

    import httpx

__all__ = ("HttpxTransport",)

_KEEP_ALIVE = 30.0  # seconds an idle connection is kept
_MAX_TARGETS = 64


class _Target(NamedTuple):
    """What a URL needs for each request, made once."""

    url: httpx.URL
    host: bytes
    transport: httpx.AsyncHTTPTransport


class HttpxTransport:
    """Sends requests through httpx, on one event loop.

    ``verify`` and ``ca_bundle``: see `TlsSettings`. ``proxy``: a URL for all requests; without it, and with
    ``trust_env``, the environment's proxies, never for loopback. ``max_connections``: how many requests run at once,
    the others wait up to ``timeouts.pool``. ``max_body_bytes``: the largest plain answer, and the largest compressed
    one after decoding (64 MiB). ``client``: your own ``httpx.AsyncClient``, used for everything and never closed here;
    TLS, proxy and pool are then its business.

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
        max_body_bytes: int = DEFAULT_MAX_BODY_BYTES,
        client: httpx.AsyncClient | None = None,
    ) -> None:
        import httpx

        if max_connections < 1:
            raise ConfigurationError("'max_connections' must be at least 1", next_step="Give 1 or more.")
        self._httpx = httpx
        self._tls = TlsSettings(verify, ca_bundle, trust_env)
        self._proxy = parse_proxy(proxy) if proxy is not None else None
        self._trust_env = trust_env
        self._limits = httpx.Limits(max_connections=max_connections, keepalive_expiry=_KEEP_ALIVE)
        self._max_body = max_body_bytes
        self._client = client
        self._targets: dict[str, _Target] = {}
        self._pools: dict[tuple[bool, Proxy | None], httpx.AsyncHTTPTransport] = {}
        self._timeouts: HttpTimeouts | None = None
        self._extensions: dict[str, dict[str, float]] = {}
        self._closed = False

    # -- the protocol ----------------------------------------------------------------------------

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send and read the whole answer, bounded."""
        try:
            response = await self._start(request, b"gzip")
            try:
                headers = _headers(response)
                content = await self._read(request, response, body_decoder(headers, self._max_body))
            finally:
                await response.aclose()
            return HttpResponse(response.status_code, headers, content)
        except Exception as error:
            if (failed := failure(request, error)) is None:
                raise
        raise failed

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        """Send and hand out the answer while it arrives; leaving the block early closes the connection."""
        response = await self._started(request)
        try:
            headers = _headers(response)
            chunks = self._chunks(request, response, body_decoder(headers, self._max_body))
            try:
                yield HttpStream(response.status_code, headers, chunks)
            finally:
                with suppress(RuntimeError):  # another task is still waiting in it: closing the answer ends that
                    await chunks.aclose()
        finally:
            await response.aclose()

    async def aclose(self) -> None:
        """Close all connections of our own; safe to call twice."""
        self._closed = True
        self._targets.clear()
        while self._pools:
            await self._pools.popitem()[1].aclose()

    # -- requests --------------------------------------------------------------------------------

    async def _start(self, request: HttpRequest, encoding: bytes) -> httpx.Response:
        if self._closed:
            raise ConfigurationError("the HTTP transport is closed", next_step="Make a new one.")
        if request.timeouts is not self._timeouts:
            times = request.timeouts
            waits = {"connect": times.connect, "read": times.read, "write": times.write, "pool": times.pool}
            self._timeouts, self._extensions = times, {"timeout": waits}
        if self._client is not None:
            return await self._start_on(self._client, request, encoding)
        target = self._targets.get(request.url) or self._target(request.url)
        headers = [(b"host", target.host), *request.headers]
        if not any(name.lower() == b"accept-encoding" for name, _ in request.headers):
            headers.append((b"accept-encoding", encoding))
        if request.content or request.method in ("POST", "PUT", "PATCH"):
            headers.append((b"content-length", b"%d" % len(request.content)))
        return await target.transport.handle_async_request(
            self._httpx.Request(
                request.method,
                target.url,
                headers=headers,
                stream=self._httpx.ByteStream(request.content),
                extensions=self._extensions,
            )
        )

    async def _started(self, request: HttpRequest) -> httpx.Response:
        try:
            return await self._start(request, b"identity")
        except Exception as error:
            if (failed := failure(request, error)) is None:
                raise
        raise failed

    async def _start_on(self, client: httpx.AsyncClient, request: HttpRequest, encoding: bytes) -> httpx.Response:
        if client.is_closed:
            raise ConfigurationError("the given httpx client is closed", next_step="Keep it open while it is used.")
        parse_address(request.url, proxy=None, trust_env=False)
        headers = list(request.headers)
        if not any(name.lower() == b"accept-encoding" for name, _ in headers):
            headers.append((b"accept-encoding", encoding))
        prepared = client.build_request(
            request.method, request.url, headers=headers, content=request.content or None, extensions=self._extensions
        )
        return await client.send(prepared, stream=True, follow_redirects=False)

    def _target(self, url: str) -> _Target:
        address = parse_address(url, proxy=self._proxy, trust_env=self._trust_env)
        prepared = self._httpx.URL(url)
        if len(self._targets) >= _MAX_TARGETS:
            del self._targets[next(iter(self._targets))]
        target = _Target(prepared, prepared.netloc, self._pool(address))
        self._targets[url] = target
        return target

    def _pool(self, address: Address) -> httpx.AsyncHTTPTransport:
        """The pool for this kind of address: certificates are loaded for HTTPS only."""
        key = (address.secure, address.proxy)
        if (pool := self._pools.get(key)) is None:
            pool = self._pools[key] = self._new_pool(address)
        return pool

    def _new_pool(self, address: Address) -> httpx.AsyncHTTPTransport:
        import ssl

        # A context without certificates trusts nobody: it fills the place where TLS is not spoken.
        context = self._tls.context() if address.secure else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
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

    async def _read(self, request: HttpRequest, response: httpx.Response, decoder: BodyDecoder | None) -> bytes:
        parts: list[bytes] = []
        size = 0
        async for part in self._raw(response):
            size += len(part)
            if size > self._max_body:
                raise too_large(request, self._max_body)
            parts.append(part if decoder is None else decoder.feed(part))
        if decoder is not None:
            decoder.finish()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _chunks(
        self, request: HttpRequest, response: httpx.Response, decoder: BodyDecoder | None
    ) -> AsyncGenerator[bytes, None]:
        try:
            async for part in self._raw(response):
                if decoder is None:
                    yield part
                elif decoded := decoder.feed(part):
                    yield decoded
            if decoder is not None:
                decoder.finish()
            return
        except Exception as error:
            if (failed := failure(request, error)) is None:
                raise
        raise failed


def _headers(response: httpx.Response) -> dict[str, str]:
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers.raw}
