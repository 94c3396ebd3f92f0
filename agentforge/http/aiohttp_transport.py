"""The fast transport: aiohttp, whose parser is in C (extra ``fast``); the same behaviour as the default one.

aiohttp differs in small things that are evened out here: its decoding has no bound that we could set, so bodies come
raw; waiting for a free connection and connecting share one limit there, so the waiting is done here; cookies, redirects
and headers of its own are off. It has no limit for writing: a server that takes no byte of a request runs into the read
limit instead.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from agentforge.errors import ConfigurationError
from agentforge.http.address import Proxy, not_over_a_given, parse_address, parse_proxy
from agentforge.http.aiohttp_connections import Connecting, noting_connector
from agentforge.http.decoding import BodyDecoder, Bounds, body_decoder
from agentforge.http.failures import failure, kind_of, too_large
from agentforge.http.slots import Slots
from agentforge.http.tls import TlsSettings
from agentforge.http.transport import HttpRequest, HttpResponse, HttpStream, HttpTimeouts

if TYPE_CHECKING:
    import ssl

    import aiohttp
    from multidict import CIMultiDict
    from yarl import URL

__all__ = ("AiohttpTransport",)

_KEEP_ALIVE = 30.0  # seconds an idle connection is kept
_MAX_FIELD = 64 * 1024  # bytes of one header line; aiohttp's own bound is smaller than what gateways send
_MAX_TARGETS = 64
_LARGE = 1024 * 1024  # larger bodies are written in pieces


class _Target(NamedTuple):
    """What a URL needs for each request, made once."""

    url: URL
    options: dict[str, Any]
    proxy_authorization: str | None
    host: str | None = None  # of the header, where it is not that of the URL


class AiohttpTransport:
    """Sends requests through aiohttp, on one event loop.

    The options are those of `HttpxTransport`; ``session`` is your own ``aiohttp.ClientSession``, used for everything
    and never closed here; TLS, proxy, its cookies and what it does about connections that the server closed are then
    its business. Raises `ConfigurationError` when aiohttp is not installed, for options that cannot be honoured, and
    for requests that are not valid HTTP.
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
        session: aiohttp.ClientSession | None = None,
    ) -> None:
        try:
            import aiohttp
            from multidict import CIMultiDict
            from yarl import URL
        except ImportError as error:
            raise ConfigurationError(
                "the transport 'aiohttp' needs the package aiohttp, which is not installed",
                next_step="Install the extra 'fast' of agentforge-kit, or take the transport 'httpx'.",
            ) from error
        self._aiohttp = aiohttp
        self._multidict: type[CIMultiDict[str]] = CIMultiDict
        self._parse_url = URL
        self._tls = TlsSettings(verify, ca_bundle, trust_env)
        self._proxy = parse_proxy(proxy) if proxy is not None else None
        self._trust_env = trust_env
        self._bounds = Bounds.of(max_body_bytes)
        self._slots = Slots(max_connections)
        self._given = session
        self._session = session
        self._fresh: aiohttp.ClientSession | None = None  # never uses a connection twice
        self._connecting = Connecting()
        self._targets: dict[tuple[str, str | None], _Target] = {}
        self._last_headers: tuple[Any, str, _Target, CIMultiDict[str]] | None = None
        self._timeouts: HttpTimeouts | None = None
        self._client_timeout: aiohttp.ClientTimeout | None = None
        self._closed = False

    # -- the protocol ----------------------------------------------------------------------------

    async def send(self, request: HttpRequest) -> HttpResponse:
        """Send and read the whole answer, bounded."""
        await self._slots.take(request)
        try:
            response = await self._start(request, "gzip")
            try:
                headers = _headers(response)
                content = await self._read(request, response, body_decoder(headers, self._bounds))
            finally:
                response.close()  # at the end of the body the connection has gone back to the pool already
            return HttpResponse(response.status, headers, content)
        except Exception as error:
            if (failed := failure(request, error)) is None:
                raise
        finally:
            self._slots.release()
        raise failed

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        """Send and hand out the answer while it arrives; leaving the block early closes the connection."""
        await self._slots.take(request)
        try:
            response = await self._started(request)
            try:
                headers = _headers(response)
                chunks = self._chunks(request, response, body_decoder(headers, self._bounds))
                try:
                    yield HttpStream(response.status, headers, chunks)
                finally:
                    with suppress(RuntimeError):  # another task is still waiting in it: closing the answer ends that
                        await chunks.aclose()
            finally:
                response.close()
        finally:
            self._slots.release()

    async def aclose(self) -> None:
        """Close all connections of our own; safe to call twice."""
        self._closed = True
        self._targets.clear()
        for session in self._let_go():
            await session.close()

    def abandon(self) -> None:
        """Let go of a session whose event loop is gone and can close nothing any more."""
        self._closed = True
        for session in self._let_go():
            connector = session.connector
            session.detach()
            if connector is not None:
                with suppress(RuntimeError):  # the loop is closed: sockets go when they are collected
                    connector._close()

    def _let_go(self) -> list[aiohttp.ClientSession]:
        """The sessions of our own, which are forgotten here."""
        sessions = [session for session in (self._session, self._fresh) if session not in (None, self._given)]
        self._session = self._fresh = None
        return [session for session in sessions if session is not None]

    # -- requests --------------------------------------------------------------------------------

    async def _start(self, request: HttpRequest, encoding: str) -> aiohttp.ClientResponse:
        session = self._open_session()
        target = self._targets.get((request.url, request.connect_to)) or self._target(request)
        times = request.timeouts
        if times is not self._timeouts:
            self._timeouts = times
            self._client_timeout = self._aiohttp.ClientTimeout(total=None, connect=times.connect, sock_read=times.read)
        try:
            number = self._connecting.begin()
            if not request.repeatable and self._given is None:
                return await self._request(self._never_reused(), request, encoding, target)
            try:
                return await self._request(session, request, encoding, target)
            except (self._aiohttp.ServerDisconnectedError, self._aiohttp.ClientOSError) as error:
                # Over a given session nothing is known of its connections.
                new = self._given is not None or self._connecting.made(number)
                if new or not request.repeatable or isinstance(error, self._aiohttp.ClientConnectorError):
                    raise
            # The kept connection was closed before an answer began: nothing of one can have been lost.
            return await self._request(self._never_reused(), request, encoding, target)
        except ValueError as error:
            # aiohttp's word for a header that is not valid; some errors that the table knows are ValueErrors too
            failed = failure(request, error, kind_of(error) or "unsendable")
        assert failed is not None
        raise failed

    async def _request(
        self, session: aiohttp.ClientSession, request: HttpRequest, encoding: str, target: _Target
    ) -> aiohttp.ClientResponse:
        return await session.request(
            request.method,
            target.url,
            data=self._body(request.content),
            headers=self._prepared_headers(request.headers, encoding, target),
            timeout=self._client_timeout,
            allow_redirects=False,
            raise_for_status=False,
            auto_decompress=False,
            **target.options,
        )

    async def _started(self, request: HttpRequest) -> aiohttp.ClientResponse:
        try:
            return await self._start(request, "identity")
        except Exception as error:
            if (failed := failure(request, error)) is None:
                raise
        raise failed

    def _prepared_headers(
        self, pairs: Sequence[tuple[bytes, bytes]], encoding: str, target: _Target
    ) -> CIMultiDict[str]:
        """The headers as aiohttp takes them (and does not change them); a caller's own list is turned over once."""
        last = self._last_headers
        if last is not None and last[0] is pairs and last[1] == encoding and last[2] is target:
            return last[3]
        headers = self._multidict([(name.decode("latin-1"), _text(value)) for name, value in pairs])
        headers.setdefault("accept-encoding", encoding)
        if target.proxy_authorization is not None:
            headers["proxy-authorization"] = target.proxy_authorization
        if target.host is not None:
            headers["host"] = target.host
        if type(pairs) is tuple:
            self._last_headers = pairs, encoding, target, headers
        return headers

    def _body(self, content: bytes) -> Any:
        if len(content) <= _LARGE:
            return content or None
        import io

        return io.BytesIO(content)

    def _open_session(self) -> aiohttp.ClientSession:
        if self._closed:
            raise ConfigurationError("the HTTP transport is closed", next_step="Make a new one.")
        session = self._session
        if session is None:
            session = self._session = self._new_session(reuse=True)
        elif session.closed:
            raise ConfigurationError("the given aiohttp session is closed", next_step="Keep it open while it is used.")
        return session

    def _never_reused(self) -> aiohttp.ClientSession:
        """The session whose connections are used once."""
        if self._fresh is None:
            self._fresh = self._new_session(reuse=False)
        return self._fresh

    def _new_session(self, *, reuse: bool) -> aiohttp.ClientSession:
        library = self._aiohttp
        # The slots bound the connections; a second bound below them would be waited for under the wrong limit.
        kept: dict[str, Any] = {"keepalive_timeout": _KEEP_ALIVE} if reuse else {"force_close": True}
        session: aiohttp.ClientSession = library.ClientSession(
            connector=noting_connector(self._connecting, limit=0, **kept),
            cookie_jar=library.DummyCookieJar(),
            auto_decompress=False,
            trust_env=False,
            skip_auto_headers=("user-agent", "accept", "accept-encoding", "content-type"),
            max_line_size=_MAX_FIELD,
            max_field_size=_MAX_FIELD,
        )
        # It would send GET, PUT and DELETE again by itself, on a new connection too; that is decided here.
        session._retry_connection = False
        return session

    def _target(self, request: HttpRequest) -> _Target:
        url = request.url
        if self._given is not None:
            parse_address(url, proxy=None, trust_env=False)
            if request.connect_to is not None:
                raise not_over_a_given("aiohttp session")
            target = _Target(self._prepared(url), {}, None)
        elif request.connect_to is not None:
            address = parse_address(url, proxy=None, trust_env=False)
            trust = {"ssl": self._tls.context(), "server_hostname": address.host} if address.secure else {}
            prepared = self._prepared(url)
            target = _Target(prepared.with_host(request.connect_to), trust, None, prepared.authority)
        else:
            address = parse_address(url, proxy=self._proxy, trust_env=self._trust_env)
            options: dict[str, Any] = {"ssl": self._tls.context()} if address.secure else {}
            forward = self._add_proxy(options, address.proxy, address.secure) if address.proxy else None
            target = _Target(self._prepared(url), options, forward)
        if len(self._targets) >= _MAX_TARGETS:
            del self._targets[next(iter(self._targets))]
        self._targets[url, request.connect_to] = target
        return target

    def _prepared(self, url: str) -> URL:
        # An address in ASCII is sent as it is: escapes mean something to some servers.
        return self._parse_url(url, encoded=url.isascii())

    def _add_proxy(self, options: dict[str, Any], proxy: Proxy, secure: bool) -> str | None:
        """Set the proxy's options; returns the credentials where they belong on the request itself."""
        options["proxy"] = self._parse_url(proxy.url)
        if proxy.url.startswith("https:"):
            options["ssl"] = self._tls.context()
        if secure and proxy.authorization is not None:
            options["proxy_headers"] = {"proxy-authorization": proxy.authorization}
        return None if secure else proxy.authorization

    # -- answers ---------------------------------------------------------------------------------

    async def _read(self, request: HttpRequest, response: aiohttp.ClientResponse, decoder: BodyDecoder | None) -> bytes:
        parts: list[bytes] = []
        size = 0
        while part := await response.content.readany():
            size += len(part)
            if size > self._bounds.body:
                raise too_large(request, self._bounds.body)
            parts.append(part if decoder is None else decoder.feed(part))
        if decoder is not None:
            decoder.finish()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _chunks(
        self, request: HttpRequest, response: aiohttp.ClientResponse, decoder: BodyDecoder | None
    ) -> AsyncGenerator[bytes, None]:
        try:
            while part := await response.content.readany():
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


def _text(value: bytes) -> str:
    """What aiohttp writes as these bytes: it encodes texts as UTF-8."""
    try:
        return value.decode()
    except UnicodeDecodeError:
        return value.decode("latin-1")


def _headers(response: aiohttp.ClientResponse) -> dict[str, str]:
    return {name.lower(): value for name, value in response.headers.items()}
