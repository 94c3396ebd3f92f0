"""An endpoint by a virtual clock, and what the clients before it share: for tests of outages and limits."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from agentforge.errors import ModelError
from agentforge.http import (
    CircuitBreaker,
    HttpClient,
    HttpRequest,
    HttpResponse,
    HttpStream,
    Outages,
    RateLimit,
    RateLimiter,
    RetryBudget,
    RetryPolicy,
)
from tests.support.scripted_transport import REQUEST, answer
from tests.support.virtual_time import in_virtual_time

__all__ = ("BASE", "THREE", "Endpoint", "House", "failure", "now", "unsent", "virtually")

THREE = CircuitBreaker(failures=3, window=10.0, open_for=5.0)
ONCE = RetryPolicy(max_retries=0)
BASE = "http://model.test/v1"


def unsent(error: ModelError) -> ModelError:
    error.sent = False
    return error


def now() -> float:
    return asyncio.get_running_loop().time() - 1000.0


@dataclass
class Endpoint:
    """A transport to an endpoint that takes ``seconds`` for each answer; ``state`` says what it is."""

    state: Callable[[], HttpResponse | ModelError] = lambda: answer()
    seconds: float = 0.0
    chunks: list[bytes | ModelError] = field(default_factory=lambda: [b"data: 1\n\n", b"data: 2\n\n"])
    between: float = 0.0
    sent: list[float] = field(default_factory=list)
    subjects: list[str] = field(default_factory=list)

    async def send(self, request: HttpRequest) -> HttpResponse:
        self.sent.append(now())
        self.subjects.append(request.subject)
        await asyncio.sleep(self.seconds)
        given = self.state()
        if isinstance(given, ModelError):
            raise given
        return given

    @asynccontextmanager
    async def stream(self, request: HttpRequest) -> AsyncIterator[HttpStream]:
        given = await self.send(request)
        yield HttpStream(given.status, given.headers, self._chunks(given))

    async def _chunks(self, given: HttpResponse) -> AsyncIterator[bytes]:
        for chunk in self.chunks if given.status == 200 else [given.content]:
            await asyncio.sleep(self.between)
            if isinstance(chunk, ModelError):
                raise chunk
            yield chunk

    async def aclose(self) -> None:
        pass


class House:
    """What the clients of one application share, by the running loop's clock."""

    def __init__(self) -> None:
        self.clock = asyncio.get_running_loop().time
        self.outages = Outages(clock=self.clock)

    def client(
        self,
        endpoint: Endpoint,
        *,
        breaker: CircuitBreaker | bool = THREE,
        budget: RetryBudget | bool = True,
        limit: RateLimit | None = None,
        base_url: str = BASE,
        way: str = "",
        **options: Any,
    ) -> HttpClient:
        limiter = RateLimiter(limit, clock=self.clock) if limit is not None else None
        gate = self.outages.gate(base_url, way=way, circuit_breaker=breaker, retry_budget=budget, limiter=limiter)
        return HttpClient(transport=endpoint, gate=gate, random=lambda: 0.0, **{"retry": ONCE, **options})

    def states(self) -> list[tuple[str | None, str]]:
        return [(each.model, each.state) for each in self.outages.states()]


async def failure(client: HttpClient, request: HttpRequest = REQUEST) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await client.send(request)
    return caught.value


def virtually(main: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    """The test on a loop whose clock passes only while everybody waits."""

    def test() -> None:
        in_virtual_time(main())

    test.__name__, test.__doc__ = main.__name__, main.__doc__
    return test
