"""A transport without a network, which answers from a list and keeps what it was asked."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from typing import Any, ClassVar

from agentforge.http import HttpRequest, HttpResponse, HttpStream

__all__ = ("ListedAnswers",)


class ListedAnswers:
    """Answers from a list, the last one again and again; keeps what was sent.

    An answer is a status with a body (an object is sent as JSON), or a list of chunks for a stream, in which an
    exception is raised where it stands. Without any, it is ``GOOD``, which each wire has in its own form.
    """

    GOOD: ClassVar[Any] = b"{}"

    def __init__(self, *answers: Any, headers: Mapping[str, str] | None = None) -> None:
        self.answers = list(answers) or [self.GOOD]
        self.headers = dict(headers or {})
        self.requests: list[HttpRequest] = []
        self.open_streams = 0
        self.closed = False

    def _next(self, request: HttpRequest) -> tuple[int, Any]:
        self.requests.append(request)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        return answer if isinstance(answer, tuple) else (200, answer)

    async def send(self, request: HttpRequest) -> HttpResponse:
        status, body = self._next(request)
        content = body if isinstance(body, bytes) else json.dumps(body).encode()
        return HttpResponse(status, self.headers, content)

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        status, body = self._next(request)
        headers = {"content-type": "text/event-stream", **self.headers}
        if isinstance(body, dict):
            headers["content-type"] = "application/json"
            body = json.dumps(body).encode()
        self.open_streams += 1
        try:
            yield HttpStream(status, headers, _chunks([body] if isinstance(body, bytes) else body))
        finally:
            self.open_streams -= 1

    async def aclose(self) -> None:
        self.closed = True

    @property
    def bodies(self) -> list[dict[str, Any]]:
        """The bodies sent, parsed."""
        return [json.loads(request.content) for request in self.requests]

    def header(self, name: str) -> str | None:
        """A header of the last request."""
        return next((v.decode() for n, v in self.requests[-1].headers if n.decode() == name), None)


async def _chunks(parts: Iterable[Any]) -> AsyncIterator[bytes]:
    for part in parts:
        if isinstance(part, BaseException):
            raise part
        yield part
