"""Sends the requests of one bean: one pool of connections, credentials, the address guard, redirects, repeats, bounds.

All of a bean's tools share one `HttpSender`; it is closed with the bean. What writes is not repeatable: it goes on a
connection of its own, so that it never arrives twice.
"""

from __future__ import annotations

import asyncio
import random as _random
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

from agentforge.errors import ConfigurationError, ModelError, ToolExecutionError
from agentforge.http import HttpClient, HttpRequest, HttpTimeouts, HttpTransport, RetryPolicy, is_secret_header
from agentforge.masking import Secrets
from agentforge_http.auth import Auth, Credentials, auth_of
from agentforge_http.call_secrets import CallSecrets
from agentforge_http.encoding import PreparedRequest, with_query
from agentforge_http.guard import AddressGuard, HostList
from agentforge_http.operation import HttpOperation
from agentforge_http.refusals import REDIRECTS, StatusRefused, status_error, transport_error
from agentforge_http.responses import Answer

if TYPE_CHECKING:
    from agentforge.plugin import BeanContext
    from agentforge_http.settings import ConnectionSettings, HttpSettings

__all__ = ("HttpSender", "connection_options", "origin_of")

_MAX_REDIRECTS = 3
_DECODED = 10 * 1024 * 1024  # bytes that a compressed answer may come to before it is refused
_OF_BODY = frozenset({"content-type", "content-encoding", "content-language", "content-location"})


def origin_of(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address.

    >>> origin_of("https://API.example.com/x") == origin_of("https://api.example.com:443/y")
    True
    """
    parts = urlsplit(url)
    return (
        parts.scheme,
        (parts.hostname or "").removesuffix("."),
        parts.port or (443 if parts.scheme == "https" else 80),
    )


class HttpSender:
    """Sends prepared requests and gives good answers; all else is a `ToolExecutionError`.

    ``auth`` goes with each request, and so do ``headers`` and ``query``, none of which a request can override.
    ``retry`` holds for tools that only read. ``transport``, ``transport_options``: as `HttpClient` takes them; an own
    transport has to keep ``HttpRequest.connect_to``. ``secrets`` are masked in whatever is told; what looks like a
    credential among headers and query is added to them. ``sleep`` and ``random`` are for tests.

    Raises `ConfigurationError` for options that cannot be honoured.
    """

    def __init__(
        self,
        *,
        auth: Auth | None = None,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        guard: AddressGuard | None = None,
        timeouts: HttpTimeouts | None = None,
        retry: RetryPolicy = RetryPolicy(max_retries=0),  # noqa: B008  (frozen)
        max_response_bytes: int = 1024 * 1024,
        follow_redirects: bool = False,
        secrets: Secrets | None = None,
        transport: str | HttpTransport | Callable[[], HttpTransport] = "httpx",
        transport_options: Mapping[str, Any] | None = None,
        sleep: Callable[[float], Awaitable[object]] = asyncio.sleep,
        random: Callable[[], float] = _random.random,
    ) -> None:
        self.auth = auth if auth is not None else Auth()
        self._headers = dict(headers or {})
        self._query = dict(query or {})
        self._guard = guard if guard is not None else AddressGuard()
        self._timeouts = timeouts if timeouts is not None else HttpTimeouts(total=None)
        self._retry = retry
        self._max_response_bytes = max_response_bytes
        self._follow_redirects = follow_redirects
        self.secrets = CallSecrets(secrets if secrets is not None else Secrets(), self.auth.secrets())
        for name, value in (*self._headers.items(), *self._query.items()):
            if is_secret_header(name):
                self.secrets.add(value)
                self.secrets.add(value.rpartition(" ")[2])
        options = dict(transport_options or {})
        if isinstance(transport, str):
            options.setdefault("max_body_bytes", max(_DECODED, max_response_bytes))
        self._client = HttpClient(
            transport=transport,
            transport_options=options,
            retry=RetryPolicy(max_retries=0),  # whether to repeat is a matter of the tool, and decided here
            secrets=self.secrets,
            error_parser=StatusRefused,
        )
        self._sleep = sleep
        self._random = random
        self._closed = False

    @classmethod
    def of(cls, settings: HttpSettings, context: BeanContext, **further: Any) -> HttpSender:
        """The sender of a bean with these settings; ``further`` are arguments of the class that no file holds."""
        times = settings.timeouts
        options = connection_options(settings, context)
        made = {
            "auth": auth_of(settings.auth),
            "headers": {name: value.get_secret_value() for name, value in settings.headers.items()},
            "query": {name: value.get_secret_value() for name, value in settings.query.items()},
            "guard": AddressGuard(HostList(settings.allow_hosts)),
            "timeouts": HttpTimeouts(times.connect, times.read, times.write, times.pool, None),
            "retry": RetryPolicy(max_retries=settings.retries),
            "max_response_bytes": settings.max_response_bytes,
            "follow_redirects": settings.follow_redirects,
            "secrets": context.secrets,
            "transport": settings.transport,
            "transport_options": options,
        }
        return cls(**{**made, **further})

    async def send(self, request: PreparedRequest, operation: HttpOperation, auth: Auth | None = None) -> Answer:
        """The good answer to a request. ``auth`` takes the place of the sender's own.

        A tool that only reads is asked again as ``retry`` says; after a 401 a token is renewed once, for any tool, as
        nothing was done then. Raises `ToolExecutionError`: `HttpStatusError`, `HttpTimeoutError`, `ToolInDoubtError`
        where a tool that writes may have acted.
        """
        if self._closed:  # its connections would be nobody's to close
            raise ToolExecutionError("nothing was sent: the bean of this tool is closed", tool=operation.name)
        auth = auth if auth is not None else self.auth
        reads = operation.reads
        refused: str | None = None
        renewed = False
        attempt = 0
        while True:
            attempt += 1
            credentials = await auth.credentials(refused)
            if credentials.token is not None:
                self.secrets.add_token(credentials.token)
            failed: ModelError | ConfigurationError
            try:
                return await self._follow(request, operation, credentials)
            except (ModelError, ConfigurationError) as error:
                failed = error
            if isinstance(failed, ModelError):
                if failed.status == 401 and auth.can_renew and not renewed:
                    refused, renewed = credentials.token, True
                    attempt -= 1
                    continue
                delay = self._retry.delay(attempt, failed, self._random) if reads else None
                if delay is not None:
                    await self._sleep(delay)
                    continue
            break
        # Outside of the except block and without a cause: the answer would hang on it, unmasked, and what is told to a
        # model are the words of the cause, where there is one.
        location = f"{operation.method} {operation.base_url}{operation.path}"
        if isinstance(failed, StatusRefused):
            raise status_error(failed, operation.name, location, self.secrets)
        host = urlsplit(operation.base_url).netloc
        limit = self._max_response_bytes
        raise transport_error(failed, operation.name, location, host, reads=reads, limit=limit)

    async def aclose(self) -> None:
        """Close the connections, for good; safe to call twice."""
        self._closed = True
        await self._client.aclose()

    # -- one attempt -----------------------------------------------------------------------------

    async def _follow(self, request: PreparedRequest, operation: HttpOperation, credentials: Credentials) -> Answer:
        """Send, and follow redirects within the origin where that is allowed; each address is checked."""
        method, content = request.method, request.content
        query = (*self._query.items(), *credentials.query)
        url = request.url(query)
        headers = self._headers_of(request, credentials)
        reads = operation.reads
        hops = 0
        while True:
            address = await self._guard.check(url, trusted=operation.host_is_trusted)
            made = HttpRequest(method, url, _as_bytes(headers), content, self._timeouts, address, reads)
            try:
                return await self._read(made)
            except StatusRefused as refused:
                target = self._target(url, refused) if hops < _MAX_REDIRECTS else None
                if target is None:
                    raise
                status = refused.status
            hops += 1
            url = with_query(target, query)
            if (status == 303 and method != "HEAD") or (status in (301, 302) and method == "POST"):
                method, content = "GET", b""
                headers = [pair for pair in headers if pair[0].lower() not in _OF_BODY]

    def _headers_of(self, request: PreparedRequest, credentials: Credentials) -> list[tuple[str, str]]:
        fixed = [*self._headers.items(), *credentials.headers]
        names = {name.lower() for name, _ in fixed}
        headers = [*((name, value) for name, value in request.headers if name.lower() not in names), *fixed]
        fixed_cookies = {name.lower() for name, _ in credentials.cookies}
        cookies = [pair for pair in request.cookies if pair[0].lower() not in fixed_cookies]
        cookies += credentials.cookies
        if cookies:
            given = [value for name, value in headers if name.lower() == "cookie"]
            headers = [pair for pair in headers if pair[0].lower() != "cookie"]
            headers.append(("cookie", "; ".join([*given, *(f"{name}={value}" for name, value in cookies)])))
        if "user-agent" not in names | {name.lower() for name, _ in request.headers}:
            headers.append(("user-agent", "agentforge"))
        # A whole answer may come compressed; the transport decodes it with a bound.
        headers.append(("accept-encoding", "gzip"))
        return headers

    def _target(self, url: str, refused: StatusRefused) -> str | None:
        """Where a redirect leads, if it is one that may be followed."""
        location = refused.headers.get("location")
        if not self._follow_redirects or refused.status not in REDIRECTS or not location:
            return None
        try:
            target = urljoin(url, location).partition("#")[0]
            same = origin_of(target) == origin_of(url) and "@" not in urlsplit(target).netloc
        except ValueError:
            return None
        # One with blanks or letters beyond ASCII is no address, and libraries differ in what they make of it.
        return target if same and all("!" <= each <= "~" and each != "\\" for each in target) else None

    async def _read(self, request: HttpRequest) -> Answer:
        """Send and read up to the bound; what is left of a longer answer stays unread, and its connection is closed."""
        limit = self._max_response_bytes
        parts: list[bytes] = []
        size = 0
        async with self._client.stream(request) as answer:
            async for chunk in answer.chunks:
                parts.append(chunk)
                size += len(chunk)
                if size > limit:
                    break
            content = b"".join(parts)[:limit]
            return Answer(answer.status, answer.headers, content, size > limit, limit)


def connection_options(settings: ConnectionSettings, context: BeanContext) -> dict[str, Any]:
    """Options of a transport; a proxy's password becomes a secret."""
    options: dict[str, Any] = {"max_connections": settings.max_connections}
    if settings.proxy is not None:
        options["proxy"] = settings.proxy.get_secret_value()
        context.secrets.add(urlsplit(options["proxy"]).password or "")
    if settings.ca_bundle is not None:
        options["ca_bundle"] = str(context.folder / settings.ca_bundle)
    if settings.insecure_skip_tls_verification:
        options["verify"] = False
    return options


def _as_bytes(headers: Sequence[tuple[str, str]]) -> list[tuple[bytes, bytes]]:
    return [(name.encode("ascii"), value.encode()) for name, value in headers]
