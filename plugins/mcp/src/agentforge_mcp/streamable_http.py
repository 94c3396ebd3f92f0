"""A server behind an address: the SDK's streamable HTTP over a client of ours, which bounds what comes and keeps what
fails to the request that failed.

A connection that cannot be made, or ends in the middle, would end the SDK's whole transport. Here it becomes the
answer of the request that it met, with a code that says whether the request was sent.
Loaded when such a server starts.
"""

from __future__ import annotations

import asyncio
import functools
import json
import ssl
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from agentforge_mcp.errors import McpConnectionError
from agentforge_mcp.options import HttpServer, TokenProvider
from agentforge_mcp.rpc_codes import LOST, NOT_SENT, UNREADABLE

__all__ = ("HttpTransport",)

_REDIRECTS = 3
_FLOW = 12  # requests of an authorization: looking for its server, then asking that
_TIMES = httpx2.Timeout(30.0, connect=10.0, read=300.0)


class HttpTransport:
    """An address as a transport of the SDK: entered, it gives the two streams of a session."""

    def __init__(self, server: HttpServer, *, name: str, max_message_bytes: int) -> None:
        self._server = server
        self._name = name
        self._limit = max_message_bytes
        self._stack = AsyncExitStack()
        #: Set when there is no more to come; of an address nobody can know that.
        self.ended = asyncio.Event()
        #: The last status that was not one of success.
        self.status: int | None = None

    def why(self) -> str:
        """What is known of a server that does not answer, in words."""
        if self.status is None:
            return "gave no answer"
        if self.status in (401, 403):
            return f"refused the credentials (HTTP {self.status})"
        return f"answered with HTTP {self.status}"

    async def __aenter__(self) -> Any:
        try:
            client = httpx2.AsyncClient(
                transport=_Bounded(self._made(), self, self._limit),
                auth=self._auth(),
                headers={"Accept-Encoding": "identity", **self._server.headers},
                timeout=_TIMES,
                # The client counts what it asks for a token among the redirects.
                max_redirects=_REDIRECTS if self._server.oauth is None else _REDIRECTS + _FLOW,
                trust_env=False,
            )
        except (OSError, ValueError) as error:
            raise McpConnectionError(
                f"the MCP server {self._name!r} cannot be asked: {error}",
                next_step="See url, headers, proxy and ca_bundle.",
            ) from None
        await self._stack.__aenter__()
        try:
            await self._stack.enter_async_context(client)
            return await self._stack.enter_async_context(
                streamable_http_client(self._server.url, http_client=client, max_sse_event_size=self._limit)
            )
        except BaseException:
            await self._stack.aclose()
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        return await self._stack.__aexit__(kind, error, trace)

    def _made(self) -> httpx2.AsyncBaseTransport:
        return httpx2.AsyncHTTPTransport(verify=_trusted(self._server.ca_bundle), proxy=self._server.proxy)

    def _auth(self) -> httpx2.Auth | None:
        server = self._server
        if server.oauth is not None:
            return _client_credentials(server)
        return _Bearer(server.token) if server.token is not None else None


@functools.lru_cache(8)
def _trusted(ca_bundle: str | None) -> ssl.SSLContext:
    """Reading the certificates takes longer than a request, and an address of http may lead to one of https."""
    return ssl.create_default_context(cafile=ca_bundle)


class _Bearer(httpx2.Auth):
    """Sends the token; a server that refuses it is asked once more where the provider then gives another."""

    def __init__(self, token: str | TokenProvider) -> None:
        self._token = token

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = await self._now()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401 and (again := await self._now()) != token:
            request.headers["Authorization"] = f"Bearer {again}"
            yield request

    async def _now(self) -> str:
        return self._token if isinstance(self._token, str) else await self._token.token()


def _client_credentials(server: HttpServer) -> httpx2.Auth:
    import warnings

    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

    assert server.oauth is not None
    oauth = server.oauth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ClientCredentialsOAuthProvider(
            server_url=server.url,
            storage=_Tokens(),
            client_id=oauth.client_id,
            client_secret=oauth.client_secret,
            scope=oauth.scope,
            issuer=oauth.issuer,
        )


class _Tokens:
    """The tokens of one connection, in memory."""

    def __init__(self) -> None:
        self._tokens: Any = None
        self._client: Any = None

    async def get_tokens(self) -> Any:
        return self._tokens

    async def set_tokens(self, tokens: Any) -> None:
        self._tokens = tokens

    async def get_client_info(self) -> Any:
        return self._client

    async def set_client_info(self, client_info: Any) -> None:
        self._client = client_info


class _Bounded(httpx2.AsyncBaseTransport):
    """Below the client: failures become answers, bodies have an end."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, owner: HttpTransport, limit: int) -> None:
        self._inner = inner
        self._owner = owner
        self._limit = limit

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol) as error:
            return _answer(request, NOT_SENT, f"no connection to the server: {type(error).__name__}: {error}")
        except httpx2.TransportError as error:
            return _answer(request, LOST, f"the connection ended: {type(error).__name__}: {error}")
        if response.status_code >= 400:
            self._owner.status = response.status_code
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            return _answer(request, UNREADABLE, "it is a compressed answer that nobody asked for")
        stream = response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        is_events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
        return httpx2.Response(
            response.status_code,
            headers=response.headers,
            # A stream of events has no end of its own; each of them is bounded by the SDK.
            stream=_Stream(stream, None if is_events else self._limit),
            extensions=response.extensions,
        )

    async def aclose(self) -> None:
        await self._inner.aclose()


class _Stream(httpx2.AsyncByteStream):
    """A body that ends with an error that the SDK knows what to do about."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int | None) -> None:
        self._inner = inner
        self._limit = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size = 0
        try:
            async for chunk in self._inner:
                size += len(chunk)
                if self._limit is not None and size > self._limit:
                    raise httpx2.StreamError(f"the answer has more than {self._limit:,} bytes")
                yield chunk
        except httpx2.TransportError as error:
            raise httpx2.StreamError(f"the connection ended: {type(error).__name__}") from None

    async def aclose(self) -> None:
        await self._inner.aclose()


def _answer(request: httpx2.Request, code: int, message: str) -> httpx2.Response:
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": message}}).encode()
    return httpx2.Response(502, headers={"content-type": "application/json"}, content=body, request=request)
