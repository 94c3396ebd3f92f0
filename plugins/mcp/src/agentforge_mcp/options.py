"""What a connection to an MCP server needs to know, as plain values: used by the bean types and by Python code alike.

Nothing here loads pydantic or the SDK, so that a program can name a server without paying for either.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

from agentforge.model import ChatModel

__all__ = (
    "ElicitationHandler",
    "ElicitationRequest",
    "HttpServer",
    "McpOptions",
    "OAuthClient",
    "RestartPolicy",
    "StdioServer",
    "TokenProvider",
)


@dataclass(frozen=True, slots=True)
class StdioServer:
    """A server that is a program of ours: ``command`` is the program and its arguments, never a shell's line.

    ``environment`` is everything the program gets of it, see `agentforge_mcp.environment`.
    """

    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: Path | None = None


class TokenProvider(Protocol):
    """Gives the token that a server is sent; asked before every request, so it caches by itself."""

    async def token(self) -> str:
        """The token, without the word Bearer."""
        ...


@dataclass(frozen=True, slots=True)
class OAuthClient:
    """An OAuth client that gets tokens in its own name (grant ``client_credentials``); ``issuer`` is the address of
    the authorization server that the credentials belong to: they are sent to no other."""

    client_id: str
    client_secret: str = field(repr=False)
    issuer: str
    scope: str | None = None


@dataclass(frozen=True, slots=True)
class HttpServer:
    """A server behind an address, spoken to over streamable HTTP.

    ``headers`` go with every request, ``token`` is a bearer token or an object with ``async token()``. ``oauth`` gets
    one in the way of OAuth. ``ca_bundle`` is a file of certificates to trust, ``proxy``
    the address of one, which may hold a password.
    """

    url: str
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    token: str | TokenProvider | None = field(default=None, repr=False)
    oauth: OAuthClient | None = None
    ca_bundle: str | None = None
    proxy: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class RestartPolicy:
    """When a server that died is started again: after ``base`` seconds, doubled at each further death up to ``cap``.

    One that lived for ``stable`` seconds counts as well again. A server that is not there is tried at the next use.
    """

    base: float = 0.2
    cap: float = 5.0
    stable: float = 30.0


@dataclass(frozen=True, slots=True)
class ElicitationRequest:
    """What a server wants to know of the user: its ``message``, the JSON Schema of the answer (``mode`` form) or the
    ``url`` the user is to open (``mode`` url)."""

    server: str
    message: str
    mode: Literal["form", "url"] = "form"
    schema: Mapping[str, Any] = field(default_factory=dict)
    url: str | None = None


ElicitationHandler: TypeAlias = Callable[
    [ElicitationRequest], "Awaitable[Mapping[str, Any] | None] | Mapping[str, Any] | None"
]
"""Answers a server's question: the values of the form (empty for a url that was opened), or ``None`` to decline."""


@dataclass(frozen=True, slots=True)
class McpOptions:
    """How a connection behaves. Times are seconds.

    ``protocol`` is ``auto`` (the newest, with fall-back to the earlier ones) or one version. ``elicitation`` and
    ``sampling`` answer a server that asks the user or the model; ``None`` refuses clearly. ``max_result_bytes`` bounds
    the text and data of one result, ``max_message_bytes`` one message on the wire. ``max_pages`` and ``max_tools``
    bound a listing. ``sampling_tokens`` is the most that a server may have the model write at once.
    """

    protocol: str = "auto"
    start_timeout: float = 10.0
    call_timeout: float | None = None
    close_timeout: float = 4.0
    max_concurrent_calls: int = 8
    max_result_bytes: int = 8 * 1024 * 1024
    max_message_bytes: int = 8 * 1024 * 1024
    max_pages: int = 100
    max_tools: int = 1_000
    max_input_rounds: int = 5
    restart: RestartPolicy = RestartPolicy()
    elicitation: ElicitationHandler | None = None
    sampling: ChatModel | None = None
    sampling_tokens: int = 1_024
    keep_meta: bool = False
