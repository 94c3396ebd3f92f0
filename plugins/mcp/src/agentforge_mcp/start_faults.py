"""Why a server did not start, in words for whoever configured it: where it is, what happened there, what to look at.

Loaded when a server starts.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any
from urllib.parse import urlsplit

import mcp_types as types
from mcp import MCPError

from agentforge.http import plain_reason
from agentforge.masking import Secrets
from agentforge_mcp.errors import TRY_ALONE, McpConnectionError
from agentforge_mcp.options import HttpServer, StdioServer
from agentforge_mcp.rpc_codes import NOT_SENT, UNREADABLE
from agentforge_mcp.server_log import shown
from agentforge_mcp.session import is_lost

__all__ = ("address_of", "connection_words", "start_fault")

_PATH = "See whether the url is that of an MCP server: its path is often /mcp."


def address_of(server: StdioServer | HttpServer, secrets: Secrets) -> str:
    """Where a server is, as the end of a word: nothing for a program; no query, which may hold a key.

    >>> address_of(HttpServer("https://api.example.com/mcp?key=1"), Secrets())
    ' at https://api.example.com/mcp'
    """
    if isinstance(server, StdioServer):
        return ""
    parts = urlsplit(server.url)
    host = parts.netloc.rpartition("@")[2]
    return f" at {shown(secrets.mask(f'{parts.scheme}://{host}{parts.path}'), 200)}"


def connection_words(error: BaseException) -> str:
    """Why no connection was made, in plain words where the cause can be told, and as the library says it elsewhere."""
    plain = plain_reason(error)
    return plain[0] if plain is not None else f"no connection to the server: {type(error).__name__}: {error}"


def start_fault(
    error: BaseException | None,
    *,
    name: str,
    server: StdioServer | HttpServer,
    transport: Any,
    secrets: Secrets,
    seconds: float,
) -> McpConnectionError:
    """What a start that failed with this error is told as; ``transport`` says how the server is."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if isinstance(error, McpConnectionError):
        return error
    who = f"the MCP server {name!r}{address_of(server, secrets)}"
    why, words = _of(transport, "why") or "closed the connection", _of(transport, "last_words")
    if isinstance(error, TimeoutError):
        what = f"{who} did not answer within {seconds:g} s; it {why}{words}"
        return McpConnectionError(what, next_step="Raise start_timeout, or see why it is slow.")
    what, step = _told(error, isinstance(server, HttpServer), getattr(transport, "status", None), why, secrets)
    return McpConnectionError(f"{who} did not start: {what}{words}", next_step=f"{step} {TRY_ALONE}")


def _told(
    error: BaseException | None, over_http: bool, status: int | None, why: str, secrets: Secrets
) -> tuple[str, str]:
    """What happened, and what to look at."""
    said = shown(secrets.mask(str(error))) if error is not None else ""
    step = "See what it writes to its standard error."
    if over_http:
        step = "See whether the address and the credentials are right."
    if isinstance(error, MCPError):
        if error.code == NOT_SENT:
            return said, "See whether the server runs, and whether host and port of the url are right."
        if status in (401, 403):
            return f"it {why}", step
        if status in (404, 405):
            return f"it answered HTTP {status} {HTTPStatus(status).phrase}", _PATH
        if error.code == UNREADABLE and said.startswith("it is text/html"):
            return f"it answered with a web page: {said}", _PATH
        if error.code == types.METHOD_NOT_FOUND:
            step = _PATH if over_http else "See whether the command is that of an MCP server."
            return f"it answers, but does not speak the protocol: {said}", step
    if isinstance(error, EOFError | None) or (isinstance(error, MCPError) and is_lost(error)):
        more = f": {said}" if isinstance(error, MCPError) and said != "Connection closed" else ""
        return f"it {why}{more}", step
    return said or type(error).__name__, step


def _of(transport: Any, method: str) -> str:
    asked = getattr(transport, method, None)
    return str(asked()) if asked is not None else ""
