"""The client before an endpoint that fails: circuits and the retry budget, by a virtual clock."""

from __future__ import annotations

import asyncio
from collections import Counter
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import (
    CircuitOpenError,
    LocalRateLimitError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
)
from agentforge.http import CircuitBreaker, HttpClient, HttpRequest, HttpTimeouts, RateLimit, RetryBudget, RetryPolicy
from agentforge.masking import Secrets
from tests.support.outage_house import BASE, THREE, Endpoint, House, failure, now, unsent, virtually
from tests.support.scripted_transport import REQUEST, answer, read
from tests.support.virtual_time import in_virtual_time

# -- the circuit ---------------------------------------------------------------------------------


@virtually
async def test_an_open_circuit_refuses_at_once_and_nothing_is_sent() -> None:
    """Plain and streamed; without a retry, a wait, or a sending that counts."""
    house = House()
    endpoint = Endpoint(lambda: answer(503))
    client = house.client(endpoint, retry=RetryPolicy())
    for _ in range(3):
        await failure(house.client(endpoint))
    before = now()

    error = await failure(client)
    with pytest.raises(CircuitOpenError):
        await read(client)

    assert isinstance(error, CircuitOpenError)
    assert (error.attempts, error.location) == (0, "POST http://model.test/v1?key=***")
    assert (len(endpoint.sent), now() - before) == (3, 0.0)


@virtually
async def test_a_call_whose_own_failure_opens_it_is_not_sent_again() -> None:
    """It ends with what the endpoint said, which says more, and tells why nothing followed."""
    house = House()
    endpoint = Endpoint(lambda: answer(503))
    client = house.client(endpoint, breaker=CircuitBreaker(failures=2), retry=RetryPolicy(max_retries=5))
    error = await failure(client)
    assert isinstance(error, OverloadedError) and error.attempts == 2
    assert (error.next_step or "").startswith("It was not sent again, as so many requests fail there now. Ask again in")


@virtually
async def test_the_answer_that_closed_it_tells() -> None:
    """A plain one when it is whole."""
    house = House()
    endpoint = Endpoint(lambda: answer(503) if now() < 5 else answer())
    client = house.client(endpoint)
    for _ in range(3):
        await failure(client)
    await asyncio.sleep(5.0)

    response = await client.send(REQUEST)
    assert response.passage is not None
    [notice] = response.passage.notices
    assert notice == (
        "circuit_closed",
        "http://model.test/v1 answers again: its circuit closed after 5.0 s",
        {"endpoint": BASE, "model": "", "open_seconds": 5.0},
    )
    following = await client.send(REQUEST)
    assert following.passage is not None and following.passage.notices == []


@virtually
async def test_an_answer_that_was_one_of_several_probes_tells() -> None:
    house = House()
    endpoint = Endpoint(lambda: answer(503) if now() < 5 else answer())
    client = house.client(endpoint, breaker=replace(THREE, probes=2))
    for _ in range(3):
        await failure(client)
    await asyncio.sleep(5.0)
    codes = []
    for _ in range(3):
        passage = (await client.send(REQUEST)).passage
        assert passage is not None
        codes.append([notice.code for notice in passage.notices])
    assert codes == [["circuit_half_open"], ["circuit_closed"], []]


@virtually
async def test_a_stream_closes_it_with_its_first_chunk() -> None:
    """Nobody waits for the end of a long answer; a break after that counts again."""
    house = House()
    endpoint = Endpoint(lambda: answer(503) if now() < 5 else answer())
    endpoint.between = 50.0
    endpoint.chunks = [b"first", ModelConnectionError("broke")]
    client = house.client(endpoint)
    for _ in range(3):
        await failure(client)
    await asyncio.sleep(5.0)

    async with client.stream(REQUEST) as stream:
        chunks = aiter(stream.chunks)
        assert stream.passage is not None and stream.passage.notices == []
        assert await anext(chunks) == b"first"
        assert [notice.code for notice in stream.passage.notices] == ["circuit_closed"]
        assert house.states() == [(None, "closed"), ("", "closed")]
        with pytest.raises(ModelConnectionError):
            await anext(chunks)
    endpoint.state = lambda: answer(503)
    await failure(client)
    await failure(client)
    assert house.states() == [(None, "closed"), ("", "open")]


@pytest.mark.parametrize("how", ["broken", "raised inside", "late"])
def test_a_stream_that_fails_after_its_beginning_counts_once(how: str) -> None:
    """Whether the network, the limit or the one who reads it finds out."""

    async def main() -> None:
        house = House()
        endpoint = Endpoint()
        if how == "broken":
            endpoint.chunks = [b"one", ModelConnectionError("broke")]
        endpoint.between = 0.0 if how != "late" else 40.0
        request = replace(REQUEST, timeouts=HttpTimeouts(total=60.0))

        async def reading(client: HttpClient, request: HttpRequest) -> None:
            async with client.stream(request) as stream:
                async for _ in stream.chunks:
                    if how == "raised inside":
                        raise OverloadedError("an error within the stream")

        client = house.client(endpoint, breaker=replace(THREE, window=600.0))
        states = []
        for _ in range(3):
            states.append(house.states()[-1:])
            with pytest.raises(ModelError):
                await reading(client, request)
        assert states[1:] == [[("", "closed")]] * 2
        assert house.states()[-1] == ("", "open")

    in_virtual_time(main())


@virtually
async def test_a_probe_that_is_cancelled_lets_another_one_try() -> None:
    house = House()
    endpoint = Endpoint(lambda: answer(503) if now() < 5 else answer())
    client = house.client(endpoint)
    for _ in range(3):
        await failure(client)
    await asyncio.sleep(5.0)
    endpoint.seconds = 1.0
    probe = asyncio.create_task(client.send(REQUEST))
    await asyncio.sleep(0.5)
    assert isinstance(await failure(client), CircuitOpenError)
    probe.cancel()
    await asyncio.wait([probe])
    assert (await client.send(REQUEST)).status == 200


@virtually
async def test_a_stream_that_is_left_before_its_first_chunk_says_nothing() -> None:
    house = House()
    endpoint = Endpoint(lambda: answer(503) if now() < 5 else answer())
    client = house.client(endpoint)
    for _ in range(3):
        await failure(client)
    await asyncio.sleep(5.0)
    async with client.stream(REQUEST):
        assert house.states()[-1] == ("", "half_open")
    assert house.states()[-1] == ("", "half_open")
    assert await read(client) == [b"data: 1\n\n", b"data: 2\n\n"]
    assert house.states()[-1] == ("", "closed")


@virtually
async def test_the_total_limit_counts_where_the_endpoint_did_not_answer() -> None:
    """And not where the time went in waits of our own."""
    house = House()
    limited = replace(REQUEST, timeouts=HttpTimeouts(total=2.0))
    slow = house.client(Endpoint(seconds=100.0))
    for _ in range(3):
        assert isinstance(await failure(slow, limited), ModelTimeoutError)
    assert house.states()[-1] == ("", "open")

    other = House()
    waiting = other.client(Endpoint(), limit=RateLimit(requests_per_minute=1))
    await waiting.send(limited)
    for _ in range(5):
        assert isinstance(await failure(waiting, limited), LocalRateLimitError)
    assert other.states() == [(None, "closed"), ("", "closed")]


@virtually
async def test_a_total_limit_that_ends_while_it_connects_says_nothing_of_the_way() -> None:
    """Nobody knows then whether a connection could be made: a circuit that is open for that does not close."""
    house = House()
    endpoint = Endpoint(lambda: unsent(ModelConnectionError("no connection")))
    client = house.client(endpoint)
    for _ in range(3):
        await failure(client)
    assert house.states()[0] == (None, "open")
    await asyncio.sleep(5.0)
    endpoint.seconds = 100.0
    assert isinstance(await failure(client, replace(REQUEST, timeouts=HttpTimeouts(total=2.0))), ModelTimeoutError)
    assert house.states()[0] == (None, "half_open")
    endpoint.seconds, endpoint.state = 0.0, answer
    await client.send(REQUEST)  # the next one may try
    assert house.states()[0] == (None, "closed")


@virtually
async def test_a_probe_that_is_judged_closes_nothing_before_its_judge_has_spoken() -> None:
    """A status of 200 is no answer yet for one who looks into the body."""
    house = House()
    endpoint = Endpoint(lambda: answer(503) if now() < 5 else answer())
    client = house.client(endpoint)
    judged = replace(REQUEST, judged=True)
    for _ in range(3):
        await failure(client, judged)
    await asyncio.sleep(5.0)
    passage = (await client.send(judged)).passage
    assert passage is not None and house.states()[-1] == ("", "half_open")
    passage.failed(OverloadedError("busy"))
    assert house.states()[-1] == ("", "open")
    await asyncio.sleep(10.0)
    passage = (await client.send(judged)).passage
    assert passage is not None
    passage.left()  # it could not be read
    passage = (await client.send(judged)).passage
    assert passage is not None
    passage.ended()
    assert house.states()[-1] == ("", "closed")
    assert [notice.code for notice in passage.notices] == ["circuit_closed"]
    passage.failed(ModelConnectionError("broke behind the reply"))
    passage.left()
    assert house.states()[-1] == ("", "closed")


@virtually
async def test_who_shares_a_circuit() -> None:
    """The models of one endpoint one for whether it is there, each its own for whether it answers; nobody else any."""
    house = House()
    endpoint = Endpoint(lambda: answer(503))
    large, small = replace(REQUEST, subject="large"), replace(REQUEST, subject="small")
    first, second = house.client(endpoint), house.client(endpoint, base_url="HTTP://Model.Test/v1/")
    for _ in range(3):
        await failure(first, large)
    assert isinstance(await failure(second, large), CircuitOpenError)
    assert isinstance(await failure(second, small), OverloadedError)

    await asyncio.sleep(20.0)
    endpoint.state = lambda: unsent(ModelConnectionError("refused"))
    for _ in range(3):
        await failure(first, small)
    error = await failure(second, small)
    assert isinstance(error, CircuitOpenError) and error.opened_by is ModelConnectionError
    assert isinstance(await failure(second, replace(REQUEST, subject="third")), CircuitOpenError)

    for other in (
        house.client(endpoint, base_url="http://model.test/v2"),
        house.client(endpoint, way="through a proxy"),
        house.client(endpoint, breaker=CircuitBreaker()),
        house.client(endpoint, breaker=False),
        House().client(endpoint),
    ):
        assert isinstance(await failure(other, small), ModelConnectionError)


@virtually
async def test_a_provider_whose_words_hold_a_secret() -> None:
    """Neither the log of the circuit nor the errors of others show it."""
    house = House()
    endpoint = Endpoint(lambda: ModelConnectionError("the proxy said canary-secret"))
    client = house.client(endpoint, secrets=Secrets(["canary-secret"]))
    for _ in range(3):
        await failure(client)
    assert "canary" not in str(await failure(client))


# -- the retry budget ----------------------------------------------------------------------------


@virtually
async def test_beyond_the_budget_a_failure_is_told_at_once_and_says_so() -> None:
    house = House()
    endpoint = Endpoint(lambda: answer(503))
    budget = RetryBudget(ratio=0.0, reserve=3)
    client = house.client(endpoint, breaker=False, budget=budget, retry=RetryPolicy(max_retries=2))
    first, second = await failure(client), await failure(client)
    assert (first.attempts, second.attempts, first.next_step) == (3, 2, None)
    assert isinstance(second, OverloadedError)
    assert second.next_step == (
        "It was not sent again: the retry budget of this endpoint (0% of its calls and 3 more in 10 s) is used up, as "
        "many requests to it fail now. Ask again later, or raise retry_budget."
    )


@virtually
async def test_the_budget_is_that_of_the_endpoint() -> None:
    """All who ask it take from the same."""
    house = House()
    endpoint = Endpoint(lambda: answer(503))
    options: dict[str, Any] = {"breaker": False, "budget": RetryBudget(ratio=0.0, reserve=3), "retry": RetryPolicy()}
    await failure(house.client(endpoint, **options), replace(REQUEST, subject="large"))
    error = await failure(house.client(endpoint, **options), replace(REQUEST, subject="small"))
    assert error.attempts == 2


@pytest.mark.parametrize("at_once", [False, True])
def test_f13_an_outage_is_not_multiplied(at_once: bool) -> None:
    """F13: 30 s of outage and 100 chats, with the defaults: few attempts, a circuit that opens and closes again."""

    async def main() -> None:
        house = House()
        endpoint = Endpoint(lambda: answer(503) if now() < 30.0 else answer(), seconds=0.05)
        client = house.client(endpoint, breaker=True, retry=RetryPolicy())
        began: list[float] = []
        outcomes: Counter[str] = Counter()
        states: set[str] = set()

        async def chat(at: float) -> None:
            await asyncio.sleep(at)
            began.append(now())
            try:
                await client.send(REQUEST)
                outcomes["answered"] += 1
            except ModelError as error:
                outcomes[error.code] += 1
            states.update(each.state for each in house.outages.states())

        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(chat(0.1 if at_once else number * 0.3))
            for number in range(60):
                group.create_task(chat(31.0 + number * 0.5))

        for since in [*endpoint.sent, *(0.0, 10.0, 20.0)]:
            attempts = sum(since <= at < since + 10.0 for at in endpoint.sent)
            chats = sum(since - 2.0 <= at < since + 10.0 for at in began)  # retries belong to chats of just before
            assert attempts <= 1.2 * chats + 10
        assert sum(at < 30.0 for at in endpoint.sent) <= 1.2 * 100 + 30
        assert {"open", "closed"} <= states
        assert house.states()[-1] == ("", "closed")
        assert outcomes["answered"] >= 40 and outcomes["AF315"] >= (0 if at_once else 50)

    in_virtual_time(main())


def test_a_body_that_turns_out_to_be_none_is_no_outage() -> None:
    """A login page under 200 is a wrong address, and stays one however often it is asked."""

    async def main() -> None:
        house = House()
        client = house.client(Endpoint())
        for _ in range(10):
            with suppress(ProtocolError):
                async with client.stream(REQUEST):
                    raise ProtocolError("HTML")
        assert house.states()[-1] == ("", "closed")

    in_virtual_time(main())
