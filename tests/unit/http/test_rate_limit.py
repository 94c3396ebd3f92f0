"""A model's own rate limit, on an event loop whose clock passes only while everybody waits."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import ConfigurationError, LocalRateLimitError, RateLimitError
from agentforge.http import RateLimit, RateLimiter
from agentforge.http.rate_limit import Reservation, limiter_of
from tests.support.virtual_time import in_virtual_time

START = 1000.0


def limiter(**limits: Any) -> RateLimiter:
    """By the clock of the running loop."""
    return RateLimiter(RateLimit(**limits), clock=asyncio.get_running_loop().time)


async def passed(one: RateLimiter, size: int = 40) -> Reservation:
    """A request, when it may go."""
    place = one.reserve(size)
    await place.wait(one.clock)
    return place


def now() -> float:
    return asyncio.get_running_loop().time() - START


# -- requests ------------------------------------------------------------------------------------


def test_so_many_requests_in_any_minute() -> None:
    """Those over it go when the ones before are a minute old."""

    async def main() -> list[float]:
        one = limiter(requests_per_minute=3)
        times = []
        for wait in (0.0, 10.0, 5.0, 0.0, 0.0, 0.0, 300.0):
            await asyncio.sleep(wait)
            await passed(one)
            times.append(now())
        return times

    assert in_virtual_time(main()) == pytest.approx([0.0, 10.0, 15.0, 60.0, 70.0, 75.0, 375.0])


def test_who_waits_goes_in_the_order_of_coming() -> None:
    """A hundred at once; nobody is overtaken, also not by one that comes when there would be room."""

    async def main() -> list[int]:
        one = limiter(requests_per_minute=10)
        order: list[int] = []

        async def ask(number: int) -> None:
            await passed(one)
            order.append(number)

        async with asyncio.TaskGroup() as group:
            for number in range(100):
                group.create_task(ask(number))
            await asyncio.sleep(60.0)
            group.create_task(ask(100))
        assert now() == pytest.approx(600.0)
        return order

    assert in_virtual_time(main()) == list(range(101))


@given(
    st.integers(1, 5),
    st.one_of(st.none(), st.integers(50, 500)),
    st.lists(st.tuples(st.floats(0.0, 20.0), st.integers(0, 2000), st.integers(0, 300)), max_size=30),
)
def test_no_minute_has_more_than_the_limits(
    requests: int, tokens: int | None, asked: list[tuple[float, int, int]]
) -> None:
    """Of requests never; of tokens as far as they were known when the last of them went."""

    async def main() -> None:
        one = limiter(requests_per_minute=requests, tokens_per_minute=tokens)
        gone: list[tuple[float, Reservation]] = []

        async def ask(size: int, used: int) -> None:
            place = await passed(one, size)
            at = now()
            recent = [each for when, each in gone if when > at - 59.999]
            assert len(recent) < requests
            assert tokens is None or sum(each.tokens for each in recent) + place.tokens <= tokens + 0.001
            gone.append((at, place))
            one.settle(place, used, 0)

        async with asyncio.TaskGroup() as group:
            for wait, size, used in asked:
                await asyncio.sleep(wait)
                group.create_task(ask(size, used))
        assert len(gone) == len(asked)

    in_virtual_time(main())


def test_a_cancelled_wait_gives_its_place_to_the_next() -> None:
    """Those behind it are woken, as they may go earlier now."""

    async def main() -> list[float]:
        one = limiter(requests_per_minute=1)
        await passed(one)
        times: list[float] = []

        async def ask() -> None:
            place = one.reserve(40)
            try:
                await place.wait(one.clock)
                times.append(now())
            except asyncio.CancelledError:
                one.give_back(place)
                raise

        tasks = [asyncio.create_task(ask()) for _ in range(3)]
        await asyncio.sleep(30.0)
        tasks[0].cancel()
        await asyncio.wait(tasks)
        return times

    assert in_virtual_time(main()) == pytest.approx([60.0, 120.0])


async def _turn(one: RateLimiter, used: int | None, took: float) -> None:
    """A request that costs ``used`` tokens and ``took`` seconds; one that is given up gives its place back."""
    place = one.reserve(40)
    try:
        await place.wait(one.clock)
    except asyncio.CancelledError:
        one.give_back(place)
        raise
    assert now() + START == pytest.approx(place.due, abs=1e-4)  # as soon as it may
    await asyncio.sleep(took)
    if used is not None:
        one.settle(place, used, 0)


@given(
    st.sampled_from([{"requests_per_minute": 2}, {"tokens_per_minute": 700}]),
    st.lists(
        st.tuples(st.floats(0.0, 20.0), st.one_of(st.none(), st.integers(0, 900)), st.floats(0.0, 30.0), st.booleans()),
        max_size=25,
    ),
)
def test_nobody_hangs_behind_one_who_gave_up(
    limits: dict[str, int], asked: list[tuple[float, int | None, float, bool]]
) -> None:
    """Whoever gives up, and whatever the replies cost: each of the others goes, and at the time that it has."""

    async def main() -> None:
        one = limiter(**limits)
        tasks: list[asyncio.Task[None]] = []
        for wait, used, took, gives_up in asked:
            await asyncio.sleep(wait)
            tasks.append(asyncio.create_task(_turn(one, used, took)))
            if gives_up:
                tasks[len(tasks) // 2].cancel()
        for ended in await asyncio.gather(*tasks, return_exceptions=True):
            assert ended is None or isinstance(ended, asyncio.CancelledError)

    in_virtual_time(main())


def test_a_queue_costs_the_same_however_long_it_is() -> None:
    """Thousands may wait: who comes, gives up or has its reply does not plan the time of each of the others."""
    one = RateLimiter(RateLimit(tokens_per_minute=1_000_000), clock=lambda: 0.0)
    places = [one.reserve(4000) for _ in range(4000)]
    began = time.process_time()
    for place in places[:100]:
        one.settle(place, 900, 300)
    for place in places[-100:]:
        one.give_back(place)
    assert time.process_time() - began < 2.0  # a plan of all for each of them took a minute


def test_an_event_loop_that_stands_still_holds_up_nobody() -> None:
    """Its place is used up when its time has come."""
    clock = [0.0]
    one = RateLimiter(RateLimit(requests_per_minute=1), clock=lambda: clock[0])
    first, lost, mine = (one.reserve(40) for _ in range(3))
    loop = asyncio.new_event_loop()
    waiting = loop.create_task(lost.wait(one.clock))
    loop.run_until_complete(asyncio.sleep(0))
    one.give_back(first)
    assert one.armed(mine, lambda: None) == pytest.approx(60.0)
    clock[0] = 60.1
    assert one.armed(mine, lambda: None) == 0.0
    waiting.cancel()
    loop.run_until_complete(asyncio.gather(waiting, return_exceptions=True))
    loop.close()


# -- tokens --------------------------------------------------------------------------------------


def test_tokens_are_guessed_from_the_size_and_settled_by_what_was_reported() -> None:
    """A reply that cost less than was thought lets the next go at once; one that cost more holds it up."""

    async def main() -> list[float]:
        one = limiter(tokens_per_minute=1000)
        times = []
        # 400 bytes are a hundred tokens, and five hundred are thought to come back.
        for used in ((100, 0), (900, 0), (100, 100)):
            place = await passed(one, 400)
            times.append(now())
            one.settle(place, *used)
        return times

    assert in_virtual_time(main()) == pytest.approx([0.0, 0.0, 60.0])


def test_what_replies_report_makes_the_next_guess() -> None:
    """By the size of the request, and the length of the answers."""

    async def main() -> float:
        one = limiter(tokens_per_minute=10_000)
        for _ in range(30):
            one.settle(one.reserve(1000), 500, 50)
        return one.reserve(2000).tokens

    assert in_virtual_time(main()) == pytest.approx(1050, rel=0.01)


def test_a_request_larger_than_a_whole_minute_goes_all_the_same() -> None:
    """Alone in its minute."""

    async def main() -> list[float]:
        one = limiter(tokens_per_minute=100)
        times = []
        for _ in range(2):
            await passed(one, 1_000_000)
            times.append(now())
        return times

    assert in_virtual_time(main()) == pytest.approx([0.0, 60.0])


def test_one_who_waits_is_woken_when_another_cost_less() -> None:
    async def main() -> float:
        one = limiter(tokens_per_minute=1000)
        place = await passed(one, 400)
        waiting = asyncio.create_task(passed(one, 400))
        await asyncio.sleep(10.0)
        one.settle(place, 100, 100)
        await waiting
        return now()

    assert in_virtual_time(main()) == pytest.approx(10.0)


def test_a_refused_request_costs_no_tokens() -> None:
    async def main() -> float:
        one = limiter(tokens_per_minute=600)
        one.failed(await passed(one, 400))
        await passed(one, 400)
        return now()

    assert in_virtual_time(main()) == 0.0


# -- bounds --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "patience", "words", "step"),
    [
        ({"max_wait": 30.0}, None, "wait 60.0 s, and its max_wait is 30.0 s", "raise rate_limit.max_wait"),
        ({}, 45.0, "wait 60.0 s, and its time is over in 45.0 s", "raise timeouts.total"),
        ({"max_wait": 50.0}, 45.0, "its max_wait is 50.0 s", "raise rate_limit.max_wait"),
    ],
)
def test_a_wait_that_is_too_long_is_not_begun(
    limits: dict[str, Any], patience: float | None, words: str, step: str
) -> None:
    """The error names the wait, and takes no place from others."""

    async def main() -> None:
        one = limiter(requests_per_minute=1, **limits)
        one.reserve(40, patience)
        for _ in range(2):
            with pytest.raises(LocalRateLimitError) as caught:
                one.reserve(40, patience)
            error = caught.value
            assert error.message.startswith("the model's own rate limit (1 requests a minute) would have this request")
            assert words in error.message and step in (error.next_step or "")
            assert (error.code, error.retry_after, error.local, error.sent) == ("AF316", 60.0, True, False)
            assert isinstance(error, RateLimitError)
        await asyncio.sleep(60.0)
        one.reserve(40, patience)

    in_virtual_time(main())


def test_several_loops_share_one() -> None:
    """F36: threads with loops of their own keep to one limit, and a place that is given back wakes another loop."""
    one = RateLimiter(RateLimit(requests_per_minute=1))
    first = one.reserve(40)
    went = threading.Event()

    async def ask() -> None:
        place = one.reserve(40)
        ready.set()
        async with asyncio.timeout(20):
            await place.wait(one.clock)
        went.set()

    ready = threading.Event()
    thread = threading.Thread(target=lambda: asyncio.run(ask()))
    thread.start()
    ready.wait(20)
    one.give_back(first)
    thread.join(20)
    assert went.is_set()


def test_a_loop_that_has_ended_holds_up_nobody() -> None:
    """Its waiters are told in vain."""
    one = RateLimiter(RateLimit(requests_per_minute=1))
    first = one.reserve(40)
    lost = one.reserve(40)
    loop = asyncio.new_event_loop()
    task = loop.create_task(lost.wait(one.clock))
    loop.run_until_complete(asyncio.sleep(0))
    task.cancel()
    loop.run_until_complete(asyncio.gather(task, return_exceptions=True))
    loop.close()
    one.give_back(first)
    assert lost.due - one.clock() <= 0


@pytest.mark.parametrize(
    ("given_limits", "message"),
    [
        ({}, "a rate limit without a limit"),
        ({"requests_per_minute": 0}, "'requests_per_minute' of the rate limit cannot be 0"),
        ({"requests_per_minute": 2.5}, "'requests_per_minute' of the rate limit cannot be 2.5"),
        ({"requests_per_minute": "60"}, "'requests_per_minute' of the rate limit cannot be '60'"),
        ({"requests_per_minute": True}, "'requests_per_minute' of the rate limit cannot be True"),
        ({"tokens_per_minute": 0}, "'tokens_per_minute' of the rate limit cannot be 0"),
        ({"requests_per_minute": 1, "max_wait": -1.0}, "'max_wait' of the rate limit cannot be -1.0"),
    ],
)
def test_a_limit_that_cannot_be(given_limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        RateLimit(**given_limits)


def test_what_a_model_may_be_given() -> None:
    """A limit of its own, one that several share, or none."""
    shared = RateLimiter(RateLimit(1))
    assert limiter_of(None) is None and limiter_of(shared) is shared
    made = limiter_of(RateLimit(5))
    assert made is not None and made.limit == RateLimit(5)
    with pytest.raises(ConfigurationError, match="rate_limit must be a RateLimit, not int"):
        limiter_of(5)  # type: ignore[arg-type]
