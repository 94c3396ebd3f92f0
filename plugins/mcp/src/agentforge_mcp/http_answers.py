"""What a server behind an address answers, judged before the SDK reads it.

The SDK says little of an answer that is none, logs what it holds, and gives one for another request to that. So each
is looked at here: one that can be read goes on as it is, or with halves of characters mended; in place of any other
goes an error that says what came. Loaded when such a server starts.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from http import HTTPStatus

import httpx2
from mcp_types import JSONRPCError, JSONRPCMessage, jsonrpc_message_adapter

from agentforge.masking import Secrets
from agentforge_mcp.rpc_codes import FAILED, REFUSED, UNREADABLE
from agentforge_mcp.server_log import shown
from agentforge_mcp.wire_json import is_answer_to, whole_characters

__all__ = ("Answer", "error_answer", "request_id")

_MOST_OF_A_FAILURE = 64 * 1024
_SHOWN = 200
_OF_THE_BODY = ("content-length", "content-type", "content-encoding", "transfer-encoding")


def request_id(request: httpx2.Request) -> object:
    """The id of the JSON-RPC request that this is; ``None`` for any other, such as one for a token."""
    if request.method != "POST" or "text/event-stream" not in request.headers.get("accept", ""):
        return None
    try:
        found = json.loads(request.content)
    except (ValueError, httpx2.RequestNotRead):
        return None
    return found.get("id") if isinstance(found, dict) and "method" in found else None


def error_answer(request: httpx2.Request, code: int, message: str, *, status: int = 502) -> httpx2.Response:
    """An answer in place of the server's."""
    return httpx2.Response(
        status, headers={"content-type": "application/json"}, content=_error(code, message), request=request
    )


class Answer:
    """Makes of a response what the SDK is given; ``identity`` is the request's, see `request_id`; ``limit`` bounds a
    body, and an event of a stream of them."""

    def __init__(
        self, request: httpx2.Request, identity: object, response: httpx2.Response, limit: int, secrets: Secrets
    ) -> None:
        self._request = request
        self._id = identity
        self._response = response
        self._limit = limit
        self._secrets = secrets

    async def given(self) -> httpx2.Response:
        """The response, read where it is no stream of events."""
        response, kind = self._response, self._response.headers.get("content-type", "").lower()
        if kind.startswith("text/event-stream") and response.status_code < 300:
            return self._streamed(self._events())
        if self._id is None or response.status_code == 202 or "location" in response.headers:
            return self._streamed(self._bytes())
        most = self._limit if response.status_code < 300 else _MOST_OF_A_FAILURE
        body = b""
        try:
            async for chunk in self._chunks():
                body += chunk
                if len(body) > most:
                    break
        except httpx2.StreamError as error:
            if response.status_code < 300:
                return error_answer(self._request, UNREADABLE, str(error))
        finally:
            await response.aclose()
        if response.status_code >= 400:
            return self._failed(body)
        if response.status_code >= 300:
            return error_answer(self._request, REFUSED, self._status())
        if len(body) > self._limit:
            return error_answer(self._request, UNREADABLE, self._too_long())
        if not kind.startswith("application/json"):
            what = f"it is {shown(kind, 80) or 'of no kind'} and not JSON: {self._start(body)}"
            return error_answer(self._request, UNREADABLE, what)
        return self._with_body(200, self._read(body))

    def _failed(self, body: bytes) -> httpx2.Response:
        """With the server's own error where there is one, and where not with what its status says."""
        status = self._response.status_code
        found = self._mended(body)
        if found is not None and isinstance(found[1], JSONRPCError):
            return self._with_body(status, found[0])
        if status == 404:  # which the SDK reads: it knows whether there is a session
            return self._with_body(status, b"")
        about, start = self._status(), self._start(body)
        code = FAILED if status >= 500 else REFUSED
        return self._with_body(status, _error(code, f"{about}: {start}" if start else about))

    def _status(self) -> str:
        status = self._response.status_code
        phrase = HTTPStatus(status).phrase if status in list(HTTPStatus) else ""
        return f"HTTP {status} {phrase}".strip()

    def _with_body(self, status: int, body: bytes) -> httpx2.Response:
        headers = [(name, value) for name, value in self._response.headers.multi_items() if name not in _OF_THE_BODY]
        made = [*headers, ("content-type", "application/json")]
        return httpx2.Response(status, headers=made, content=body, request=self._request)

    def _streamed(self, parts: AsyncIterator[bytes]) -> httpx2.Response:
        response = self._response
        stream = _Stream(parts, response)
        return httpx2.Response(
            response.status_code, headers=response.headers, stream=stream, extensions=response.extensions
        )

    async def _chunks(self) -> AsyncIterator[bytes]:
        stream = self._response.stream
        assert isinstance(stream, httpx2.AsyncByteStream)
        try:
            async for chunk in stream:
                yield chunk
        except httpx2.TransportError as error:
            raise httpx2.StreamError(f"the connection ended: {type(error).__name__}") from None

    async def _bytes(self) -> AsyncIterator[bytes]:
        size = 0
        async for chunk in self._chunks():
            size += len(chunk)
            if size > self._limit:
                raise httpx2.StreamError(self._too_long())
            yield chunk

    async def _events(self) -> AsyncIterator[bytes]:
        """Event by event; a stream has no end of its own, and an event that is too long is for the SDK to refuse."""
        rest, event, size = b"", list[bytes](), 0
        async for chunk in self._chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                event.append(line)
                size += len(line)
                if not line.strip() or size > self._limit:
                    yield b"\n".join([*self._event(event), b""])
                    event, size = [], 0
            if len(rest) > self._limit:
                yield b"\n".join([*event, rest])
                rest, event, size = b"", [], 0
        if event or rest:
            yield b"\n".join([*event, rest])

    def _event(self, lines: list[bytes]) -> list[bytes]:
        """With data that the SDK can read; what is over several lines stays as it is."""
        held = [at for at, line in enumerate(lines) if line.startswith(b"data:")]
        if len(held) != 1:
            return lines
        data = lines[held[0]].removeprefix(b"data:").strip()
        if not data:
            return lines
        found = self._mended(data)
        if found is None:
            about = f"it is no message: {self._start(data)}"
            # What is for nobody is left out.
            lines[held[0]] = b"data: " + _error(UNREADABLE, about, self._id) if self._id is not None else b":"
        elif found[0] != data:
            lines[held[0]] = b"data: " + found[0]
        return lines

    def _read(self, body: bytes) -> bytes:
        found = self._mended(body)
        if found is None:
            start = self._start(body)
            return _error(UNREADABLE, f"it is no message: {start}" if start else "it is empty", self._id)
        if not is_answer_to(found[1], self._id):
            return _error(UNREADABLE, "it is for another request", self._id)
        return found[0]

    def _mended(self, data: bytes) -> tuple[bytes, JSONRPCMessage] | None:
        """The data so that the SDK can read it, and the message that it is; ``None``: it is none."""
        found = _message(data)
        if found is None:
            data = whole_characters(data.decode("utf-8-sig", "replace").encode())
            found = _message(data)
        return None if found is None else (data, found)

    def _too_long(self) -> str:
        return f"the answer has more than {self._limit:,} bytes"

    def _start(self, body: bytes) -> str:
        return shown(self._secrets.mask(body.decode(errors="replace").strip()), _SHOWN)


def _message(data: bytes) -> JSONRPCMessage | None:
    try:
        return jsonrpc_message_adapter.validate_json(data, by_name=False)
    except ValueError:
        return None


class _Stream(httpx2.AsyncByteStream):
    """Parts as a body, whose end is that of the response."""

    def __init__(self, parts: AsyncIterator[bytes], response: httpx2.Response) -> None:
        self._parts = parts
        self._response = response

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for part in self._parts:
            yield part

    async def aclose(self) -> None:
        await self._response.aclose()


def _error(code: int, message: str, identity: object = None) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": identity, "error": {"code": code, "message": message}}).encode()
