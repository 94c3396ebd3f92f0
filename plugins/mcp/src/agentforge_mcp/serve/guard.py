"""Who may speak to the server over HTTP: the token, and the names by which it may be reached.

A page in a browser can have a name of its own lead to the loopback address (DNS rebinding); so the ``Host`` header must
be a name of ours, and an ``Origin`` one that is allowed. Nothing of a refused request is read or logged but its path.
"""

from __future__ import annotations

import hmac
import json
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from typing import Any

from agentforge_mcp.serve.http_options import HttpOptions, is_loopback

__all__ = ("Guard",)

_log = logging.getLogger("agentforge.mcp.serve")

_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
_Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]

_INVALID_REQUEST = -32600
_PAUSE = 10.0  # seconds between two warnings of one kind


class Guard:
    """An ASGI application in front of another: 403 for a wrong host or origin, 401 without the token, 404 elsewhere
    than at the path. ``port`` is the one that is really listened on."""

    def __init__(self, app: _App, options: HttpOptions, port: int) -> None:
        self._app = app
        self._said: dict[str, float] = {}
        self._path = "/" + options.path.strip("/")
        self._token = options.token.encode() if options.token else None
        names = {_shown(options.host)} | ({"127.0.0.1", "localhost", "[::1]"} if is_loopback(options.host) else set())
        own = {f"{name}:{port}" for name in names} | (names if port == 80 else set())
        self._hosts = own | {host.lower() for host in options.allowed_hosts}
        self._origins = {f"http://{host}" for host in own} | {origin.lower() for origin in options.allowed_origins}

    async def __call__(self, scope: _Scope, receive: _Receive, send: _Send) -> None:
        """Answer the request, or hand it on."""
        if scope["type"] != "http":
            return
        refused = self._refused(scope)
        if refused is None:
            # Blanks around a value are no part of it (RFC 9110, 5.5), and not every web server takes them off.
            headers = [(name, value.strip(b" \t")) for name, value in scope["headers"]]
            await self._app({**scope, "headers": headers}, receive, send)
            return
        status, message, headers = refused
        if self._said.get(message, 0.0) < time.monotonic() - _PAUSE:  # whoever tries often does not fill the log
            self._said[message] = time.monotonic()
            _log.warning("refused a request for %r: %s", scope["path"][:200], message)
        await _answer(send, status, message, headers)

    def _refused(self, scope: _Scope) -> tuple[int, str, list[tuple[bytes, bytes]]] | None:
        headers: list[tuple[bytes, bytes]] = scope["headers"]
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or not self._is_ours(hosts[0].decode("latin-1").lower()):
            return 403, "this name is none of the server's", []
        origins = _values(headers, b"origin")
        if any(origin.decode("latin-1").lower() not in self._origins for origin in origins):
            return 403, "this origin may not use the server", []
        if self._token is not None and not self._has_token(headers):
            # Told apart for whoever set up a client; the token itself is in no answer and in no log.
            if _bearer(headers) is None:
                return 401, "a bearer token is needed", [(b"www-authenticate", b"Bearer")]
            return 401, "the bearer token is not the server's", [(b"www-authenticate", b'Bearer error="invalid_token"')]
        if scope["path"].rstrip("/") != self._path.rstrip("/"):
            return 404, "there is nothing here", []
        return None

    def _is_ours(self, host: str) -> bool:
        return host in self._hosts or host.rpartition(":")[0] in self._hosts

    def _has_token(self, headers: Iterable[tuple[bytes, bytes]]) -> bool:
        assert self._token is not None
        given = _bearer(headers)
        return given is not None and hmac.compare_digest(given, self._token)


def _bearer(headers: Iterable[tuple[bytes, bytes]]) -> bytes | None:
    """The one bearer token that came; ``None`` for none, an empty one, another scheme, or several headers."""
    values = _values(headers, b"authorization")
    scheme, _, token = values[0].partition(b" ") if len(values) == 1 else (b"", b"", b"")
    return token.strip() or None if scheme.lower() == b"bearer" else None


def _values(headers: Iterable[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value.strip(b" \t") for key, value in headers if key.lower() == name]


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host.lower()


async def _answer(send: _Send, status: int, message: str, headers: list[tuple[bytes, bytes]]) -> None:
    body = json.dumps({"jsonrpc": "2.0", "id": None, "error": {"code": _INVALID_REQUEST, "message": message}}).encode()
    fields = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode()), *headers]
    await send({"type": "http.response.start", "status": status, "headers": fields})
    await send({"type": "http.response.body", "body": body})
