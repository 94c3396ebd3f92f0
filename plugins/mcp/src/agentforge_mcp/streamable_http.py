"""A server behind an address: the SDK's streamable HTTP over a client of ours, which bounds what comes and keeps what
fails to the request that failed.

A connection that cannot be made, or ends in the middle, would end the SDK's whole transport. Here it becomes the
answer of the request that it met, with a code that says whether the request was sent.
Loaded when such a server starts.
"""

from __future__ import annotations

import asyncio
import functools
import ssl
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any

import httpx2
from mcp.client.streamable_http import streamable_http_client

from agentforge.masking import Secrets
from agentforge_mcp.errors import McpConnectionError
from agentforge_mcp.http_answers import Answer, error_answer, request_id
from agentforge_mcp.options import HttpServer, TokenProvider
from agentforge_mcp.rpc_codes import LOST, NOT_SENT, UNREADABLE
from agentforge_mcp.start_faults import connection_words

__all__ = ("HttpTransport",)

_REDIRECTS = 3
_FLOW = 12  # requests of an authorization: looking for its server, then asking that
_TIMES = httpx2.Timeout(30.0, connect=10.0, read=300.0)


class HttpTransport:
    """An address as a transport of the SDK: entered, it gives the two streams of a session."""

    def __init__(self, server: HttpServer, *, name: str, secrets: Secrets, max_message_bytes: int) -> None:
        self._server = server
        self._name = name
        self._secrets = secrets
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
                transport=_Bounded(self._made(), self, self._limit, self._secrets),
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
            return _client_credentials(server, self._secrets)
        return _Bearer(server.token, self._secrets) if server.token is not None else None


@functools.lru_cache(8)
def _trusted(ca_bundle: str | None) -> ssl.SSLContext:
    """Reading the certificates takes longer than a request, and an address of http may lead to one of https."""
    return ssl.create_default_context(cafile=ca_bundle)


class _Bearer(httpx2.Auth):
    """Sends the token; a server that refuses it is asked once more where the provider then gives another."""

    def __init__(self, token: str | TokenProvider, secrets: Secrets) -> None:
        self._token = token
        self._secrets = secrets

    async def async_auth_flow(self, request: httpx2.Request) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        token = await self._now()
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401 and (again := await self._now()) != token:
            request.headers["Authorization"] = f"Bearer {again}"
            yield request

    async def _now(self) -> str:
        token = self._token if isinstance(self._token, str) else await self._token.token()
        self._secrets.add(token)
        return token


def _client_credentials(server: HttpServer, secrets: Secrets) -> httpx2.Auth:
    import warnings

    from mcp.client.auth.extensions.client_credentials import ClientCredentialsOAuthProvider

    assert server.oauth is not None
    oauth = server.oauth
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ClientCredentialsOAuthProvider(
            server_url=server.url,
            storage=_Tokens(secrets),
            client_id=oauth.client_id,
            client_secret=oauth.client_secret,
            scope=oauth.scope,
            issuer=oauth.issuer,
        )


class _Tokens:
    """The tokens of one connection, in memory."""

    def __init__(self, secrets: Secrets) -> None:
        self._secrets = secrets
        self._tokens: Any = None
        self._client: Any = None

    async def get_tokens(self) -> Any:
        return self._tokens

    async def set_tokens(self, tokens: Any) -> None:
        self._tokens = tokens
        for each in (tokens.access_token, tokens.refresh_token):
            self._secrets.add(each or "")

    async def get_client_info(self) -> Any:
        return self._client

    async def set_client_info(self, client_info: Any) -> None:
        self._client = client_info


class _Bounded(httpx2.AsyncBaseTransport):
    """Below the client: failures become answers."""

    def __init__(self, inner: httpx2.AsyncBaseTransport, owner: HttpTransport, limit: int, secrets: Secrets) -> None:
        self._inner = inner
        self._owner = owner
        self._limit = limit
        self._secrets = secrets

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._inner.handle_async_request(request)
        except (httpx2.ConnectError, httpx2.ConnectTimeout, httpx2.PoolTimeout, httpx2.UnsupportedProtocol) as error:
            return error_answer(request, NOT_SENT, connection_words(error))
        except httpx2.TransportError as error:
            return error_answer(request, LOST, f"the connection ended: {type(error).__name__}: {error}")
        identity = request_id(request)
        if identity is not None:
            self._owner.status = response.status_code if response.status_code >= 400 else None
        if response.headers.get("content-encoding", "identity") != "identity":
            await response.aclose()
            return error_answer(request, UNREADABLE, "it is a compressed answer that nobody asked for")
        return await Answer(request, identity, response, self._limit, self._secrets).given()

    async def aclose(self) -> None:
        await self._inner.aclose()
