"""The client over a rate limit of its own, and what a clock that jumps does to its waits: nothing."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

import pytest

from agentforge.errors import CircuitOpenError, RateLimitError
from agentforge.http import RateLimit, RetryPolicy
from tests.support.outage_house import THREE, Endpoint, House, failure, now, virtually
from tests.support.scripted_transport import REQUEST, answer, read
from tests.support.virtual_time import in_virtual_time

# -- the rate limit ------------------------------------------------------------------------------


@virtually
async def test_every_sending_takes_its_place_and_a_wait_is_told() -> None:
    """Retries too; the answer says how long it waited, if that was a second or more."""
    house = House()
    endpoint = Endpoint(lambda: answer(503) if len(endpoint.sent) == 2 else answer())
    client = house.client(endpoint, limit=RateLimit(requests_per_minute=1), retry=RetryPolicy())
    assert (await client.send(REQUEST)).passage.notices == []  # type: ignore[union-attr]
    response = await client.send(REQUEST)
    assert endpoint.sent == pytest.approx([0.0, 60.0, 120.0])
    assert response.passage is not None and response.passage.notices == [
        ("rate_limited", "waited 119.5 s for the model's own rate limit", {"seconds": 119.5})
    ]


@virtually
async def test_a_stream_waits_too() -> None:
    house = House()
    endpoint = Endpoint()
    client = house.client(endpoint, limit=RateLimit(requests_per_minute=1))
    await read(client)
    async with client.stream(REQUEST) as stream:
        assert stream.passage is not None and [each.code for each in stream.passage.notices] == ["rate_limited"]
    assert endpoint.sent == pytest.approx([0.0, 60.0])


@virtually
async def test_a_wait_that_is_cancelled_leaves_no_trace() -> None:
    """F25: the next one has the place."""
    house = House()
    endpoint = Endpoint()
    client = house.client(endpoint, limit=RateLimit(requests_per_minute=1))
    await client.send(REQUEST)
    waiting = asyncio.create_task(client.send(REQUEST))
    await asyncio.sleep(10.0)
    waiting.cancel()
    await asyncio.wait([waiting])
    await client.send(REQUEST)
    assert endpoint.sent == pytest.approx([0.0, 60.0])


@virtually
async def test_nobody_waits_for_an_endpoint_that_is_left_alone() -> None:
    """Neither before the wait nor when it opens meanwhile; and who was refused took nothing of the minute."""
    house = House()
    endpoint = Endpoint()
    client = house.client(endpoint, limit=RateLimit(requests_per_minute=1), breaker=replace(THREE, open_for=60.0))
    other = house.client(endpoint, breaker=replace(THREE, open_for=60.0))
    await client.send(REQUEST)
    waiting = asyncio.create_task(client.send(REQUEST))
    await asyncio.sleep(50.0)
    endpoint.state = lambda: answer(503)
    for _ in range(3):
        await failure(other)
    before = now()
    assert isinstance(await failure(client), CircuitOpenError) and now() == before
    with pytest.raises(CircuitOpenError):
        await waiting
    assert now() == pytest.approx(60.0)
    await asyncio.sleep(50.0)
    endpoint.state = answer
    await client.send(REQUEST)
    assert endpoint.sent[-1] == pytest.approx(110.0)


@virtually
async def test_a_refusal_of_the_provider_costs_no_tokens() -> None:
    house = House()
    endpoint = Endpoint(lambda: answer(429))
    client = house.client(endpoint, limit=RateLimit(tokens_per_minute=600))
    for _ in range(3):
        assert isinstance(await failure(client), RateLimitError)
    assert endpoint.sent == [0.0, 0.0, 0.0]


# -- clocks --------------------------------------------------------------------------------------


@pytest.mark.parametrize("jump", [3600.0, -3600.0])
def test_f33_a_jump_of_the_wall_clock_changes_no_wait(jump: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """F33: back-off, open time, budget and rate limit go by the monotonic clock; only a date is counted from now."""
    began = time.time()
    monkeypatch.setattr(time, "time", lambda: began + jump * now())

    async def main() -> None:
        house = House()
        endpoint = Endpoint(lambda: answer(503) if now() < 5 else answer())
        client = house.client(
            endpoint, limit=RateLimit(requests_per_minute=4), retry=RetryPolicy(max_retries=2), breaker=THREE
        )
        await failure(client)
        await asyncio.sleep(4.0)
        assert isinstance(await failure(client), CircuitOpenError)
        await asyncio.sleep(1.0)
        await client.send(REQUEST)
        await client.send(REQUEST)
        assert endpoint.sent == pytest.approx([0.0, 0.5, 1.5, 6.5, 60.0])

    in_virtual_time(main())
