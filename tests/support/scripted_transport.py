"""A transport that gives scripted results, and a client over it that sleeps in no time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from agentforge.errors import ModelConnectionError
from agentforge.http import HttpClient, HttpRequest, HttpResponse, HttpStream, HttpTimeouts

__all__ = ("BREAK", "NOW", "REQUEST", "Script", "Sleeper", "answer", "client_over", "read")

REQUEST = HttpRequest("POST", "http://model.test/v1?key=canary-query", (), b"{}", HttpTimeouts())
NOW = 1_764_504_000.0  # Sun, 30 Nov 2025 12:00:00 GMT
BREAK = ModelConnectionError("broke")


@dataclass
class Script:
    """A transport that gives the n-th result for the n-th request; an exception in the middle of chunks is raised."""

    results: Sequence[HttpResponse | BaseException | tuple[int, dict[str, str], list[bytes | BaseException]]]
    sent: int = 0
    left: int = 0
    closed: int = 0
    hang: bool = False

    async def send(self, request: HttpRequest) -> HttpResponse:
        result = self._next()
        if self.hang:
            await asyncio.Event().wait()
        assert isinstance(result, HttpResponse)
        return result

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        result = self._next()
        assert isinstance(result, tuple)
        status, headers, chunks = result
        try:
            yield HttpStream(status, headers, self._chunks(chunks))
        finally:
            self.left += 1

    async def _chunks(self, chunks: list[bytes | BaseException]) -> AsyncIterator[bytes]:
        for chunk in chunks:
            if isinstance(chunk, BaseException):
                raise chunk
            yield chunk
        if self.hang:
            await asyncio.Event().wait()

    def _next(self) -> Any:
        result = self.results[min(self.sent, len(self.results) - 1)]
        self.sent += 1
        if isinstance(result, BaseException):
            raise result
        return result

    async def aclose(self) -> None:
        self.closed += 1


@dataclass
class Sleeper:
    """Sleeps in no time and notes how long it was asked to."""

    slept: list[float] = field(default_factory=list)

    async def __call__(self, seconds: float) -> None:
        self.slept.append(seconds)


def answer(status: int = 200, content: bytes = b"{}", **headers: str) -> HttpResponse:
    return HttpResponse(status, {name.replace("_", "-"): value for name, value in headers.items()}, content)


def client_over(script: Script, chance: float = 0.0, **options: Any) -> tuple[HttpClient, Sleeper]:
    sleeper = Sleeper()
    return HttpClient(transport=script, sleep=sleeper, random=lambda: chance, now=lambda: NOW, **options), sleeper


async def read(client: HttpClient, request: HttpRequest = REQUEST) -> list[bytes]:
    async with client.stream(request) as stream:
        return [chunk async for chunk in stream.chunks]
