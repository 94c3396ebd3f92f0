"""A circuit as a machine of three states, by a clock that the test turns."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    CircuitOpenError,
    ConfigurationError,
    ContextLengthError,
    InvalidRequestError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
)
from agentforge.http import CircuitBreaker
from agentforge.http.circuit import Circuit, of_the_answer, of_the_way

DOWN = OverloadedError("status 503: down", status=503)
FOUR = CircuitBreaker(failures=4, window=10.0, open_for=5.0, open_cap=12.0)


@dataclass
class Clock:
    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


def circuit(
    breaker: CircuitBreaker = FOUR, judge: Any = of_the_answer, model: str | None = "m"
) -> tuple[Circuit, Clock]:
    clock = Clock()
    return Circuit(breaker, "http://model.test/v1", model, judge, clock), clock


def run(one: Circuit, outcomes: Iterable[bool]) -> None:
    """Requests one after the other, each of which goes well or fails."""
    for good in outcomes:
        if good:
            one.succeeded(one.enter())
        else:
            one.failed(DOWN, one.enter())


def opened(breaker: CircuitBreaker = FOUR) -> tuple[Circuit, Clock]:
    one, clock = circuit(breaker)
    run(one, [False] * breaker.failures)
    return one, clock


def unsent(error: ModelError) -> ModelError:
    error.sent = False
    return error


def local(error: ModelError) -> ModelError:
    error.local = True
    return error


# -- closed and open -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcomes", "opens"),
    [
        pytest.param([False] * 4, True, id="as many failures as it takes"),
        pytest.param([False] * 3, False, id="one less"),
        pytest.param([True] * 4 + [False] * 4, True, id="half of all"),
        pytest.param([True] * 5 + [False] * 4, False, id="less than half of all"),
        pytest.param([True] * 5 + [False] * 5, True, id="until they are half"),
    ],
)
def test_it_opens_when_enough_requests_have_failed_and_these_are_enough_of_all(
    outcomes: list[bool], opens: bool
) -> None:
    one, _ = circuit()
    run(one, outcomes)
    assert one.closed is not opens


@pytest.mark.parametrize(
    ("apart", "opens"),
    [pytest.param(1.0, True, id="within the window"), pytest.param(6.0, False, id="longer apart than it is long")],
)
def test_failures_count_within_the_window_only(apart: float, opens: bool) -> None:
    one, clock = circuit()
    for _ in range(6):
        run(one, [False])
        clock.now += apart
        if not one.closed:
            break
    assert one.closed is not opens


def test_what_went_well_before_the_window_does_not_keep_it_closed() -> None:
    """A thousand good answers of the last hour say nothing of now."""
    one, clock = circuit()
    run(one, [True] * 1000)
    clock.now += 11.0
    run(one, [False] * 4)
    assert not one.closed


def test_what_goes_well_meanwhile_keeps_it_closed() -> None:
    """A window of good answers stands against a moment of failures, also where a half of it has just begun."""
    one, clock = circuit()
    run(one, [True] * 50)
    clock.now += 6.0
    run(one, [False] * 10)
    assert one.closed


@pytest.mark.parametrize(
    ("error", "way", "answer"),
    [
        (OverloadedError("500", status=500), "answered", "failed"),
        (OverloadedError("529", status=529), "answered", "failed"),
        (ModelTimeoutError("no further byte"), "answered", "failed"),
        (ModelConnectionError("reset"), "answered", "failed"),
        (StreamTruncatedError("cut"), "answered", "failed"),
        (unsent(ModelConnectionError("refused")), "failed", "nothing"),
        (unsent(ModelTimeoutError("connect time")), "failed", "nothing"),
        (unsent(local(ModelTimeoutError("pool time"))), "nothing", "nothing"),
        (RateLimitError("429", status=429), "answered", "answered"),
        (AuthenticationError("401", status=401), "answered", "answered"),
        (InvalidRequestError("400", status=400), "answered", "answered"),
        (ContextLengthError("413", status=413), "answered", "answered"),
        (ProtocolError("HTML"), "answered", "answered"),
    ],
    ids=lambda value: f"{value.code} {value.message}" if isinstance(value, ModelError) else None,
)
def test_what_a_failure_says(error: ModelError, way: str, answer: str) -> None:
    """Of the way: whether a connection could be made. Of the model: whether it fails, not whom it refuses."""
    assert (of_the_way(error), of_the_answer(error)) == (way, answer)


def test_what_is_no_failure_of_the_endpoint_never_opens_it() -> None:
    one, _ = circuit()
    for error in (RateLimitError("429"), AuthenticationError("401"), local(ModelTimeoutError("pool"))) * 10:
        one.failed(error, one.enter())
    assert one.closed


def test_an_open_circuit_refuses_and_says_since_when_why_and_until_when() -> None:
    """Nothing of what the endpoint said to somebody else is in it."""
    one, clock = opened()
    clock.now += 3.0
    with pytest.raises(CircuitOpenError) as caught:
        one.enter()
    error = caught.value

    assert error.message == (
        "nothing is sent to http://model.test/v1 (model m): its circuit opened 3.0 s ago, as 4 of 4 requests failed, "
        "the last with status 503 (AF308)"
    )
    assert error.next_step == (
        "Ask again in 2.0 s, when one request may try; a fallback model would answer in the meantime."
    )
    assert (error.code, error.retryable, error.retry_after, error.opened_by) == ("AF315", True, 2.0, OverloadedError)
    assert (error.attempts, error.sent, error.local) == (0, False, True)
    assert error.details == {
        "endpoint": "http://model.test/v1",
        "model": "m",
        "state": "open",
        "since_seconds": 3.0,
    }
    assert one.state() == ("http://model.test/v1", "m", "open", 3.0)


def test_what_ends_while_it_is_open_changes_nothing() -> None:
    """A request that had begun before tells of before, well or not."""
    one, clock = opened()
    run_before = None
    clock.now += 4.0
    one.succeeded(run_before)
    one.failed(DOWN, run_before)
    with pytest.raises(CircuitOpenError) as caught:
        one.check()
    assert caught.value.retry_after == 1.0


# -- half open -----------------------------------------------------------------------------------


def test_after_its_time_one_request_tries_while_others_are_refused() -> None:
    one, clock = opened()
    clock.now += 5.0
    probe = one.enter()
    assert probe is not None and one.state().state == "half_open"
    with pytest.raises(CircuitOpenError) as caught:
        one.enter()
    assert caught.value.details["state"] == "half_open"
    assert "Ask again when the request that tries just now has its answer" in (caught.value.next_step or "")

    clock.now += 1.0
    assert one.succeeded(probe) == 6.0  # how long it had been open
    assert one.closed and one.enter() is None
    assert one.state() == ("http://model.test/v1", "m", "closed", None)


def test_a_probe_that_fails_opens_it_for_twice_as_long_up_to_the_cap() -> None:
    one, clock = opened()
    waits = [5.0]
    for _ in range(3):
        clock.now += waits[-1]
        one.failed(DOWN, one.enter())
        with pytest.raises(CircuitOpenError) as caught:
            one.check()
        waits.append(caught.value.retry_after or 0.0)
    assert waits == [5.0, 10.0, 12.0, 12.0]
    clock.now += 12.0
    one.succeeded(one.enter())
    run(one, [False] * 4)
    with pytest.raises(CircuitOpenError) as caught:
        one.check()
    assert caught.value.retry_after == 5.0  # a new outage begins anew


def test_a_cap_below_the_first_time_shortens_nothing() -> None:
    """So that one can be set without the other."""
    one, clock = opened(CircuitBreaker(failures=4, open_for=120.0))
    for _ in range(3):
        with pytest.raises(CircuitOpenError) as caught:
            one.check()
        assert caught.value.retry_after == 120.0
        clock.now += 120.0
        one.failed(DOWN, one.enter())


def test_a_probe_that_nobody_waits_for_any_longer_makes_room_for_the_next() -> None:
    one, clock = opened()
    clock.now += 5.0
    one.left(one.enter())
    assert one.enter() is not None


def test_a_probe_whose_failure_says_nothing_makes_room_for_the_next() -> None:
    one, clock = opened()
    clock.now += 5.0
    one.failed(local(ModelTimeoutError("pool time")), one.enter())
    assert one.enter() is not None


def test_a_probe_that_was_lost_does_not_keep_it_half_open_for_ever() -> None:
    """Its event loop may have ended with it."""
    one, clock = opened()
    clock.now += 5.0
    lost = one.enter()
    clock.now += 60.0
    with pytest.raises(CircuitOpenError):
        one.enter()
    clock.now += 61.0
    assert one.enter() == lost


def test_a_probe_that_is_refused_for_its_key_is_an_answer() -> None:
    """Whoever says 401 or 429 is there again."""
    one, clock = opened()
    clock.now += 5.0
    one.failed(RateLimitError("429", status=429), one.enter())
    assert one.closed


def test_several_probes_must_all_succeed() -> None:
    one, clock = opened(CircuitBreaker(failures=4, open_for=5.0, probes=3))
    clock.now += 5.0
    first, second, third = one.enter(), one.enter(), one.enter()
    with pytest.raises(CircuitOpenError):
        one.enter()
    assert one.succeeded(first) is None and one.succeeded(second) is None and not one.closed
    with pytest.raises(CircuitOpenError):  # of three, two have done their part and one is under way
        one.enter()
    assert one.succeeded(third) == 5.0 and one.closed


def test_of_several_probes_the_first_that_fails_decides() -> None:
    """What the others of that time find out comes too late."""
    one, clock = opened(CircuitBreaker(failures=4, open_for=5.0, probes=2))
    clock.now += 5.0
    first, second = one.enter(), one.enter()
    one.failed(DOWN, first)
    assert one.succeeded(second) is None
    assert one.state().state == "open"


# -- around it -----------------------------------------------------------------------------------


def test_each_change_is_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "agentforge.http"):
        one, clock = opened()
        clock.now += 5.0
        one.failed(DOWN, one.enter())
        clock.now += 10.0
        one.succeeded(one.enter())
    name = "circuit of http://model.test/v1 (model m)"
    why = "4 of 4 requests failed, the last with status 503 (AF308)"
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", f"{name} is open for 5 s, as {why}: status 503: down"),
        ("INFO", f"{name} is half open: a request may try"),
        ("WARNING", f"{name} is open again for 10 s, as {why}: status 503: down"),
        ("INFO", f"{name} is half open: a request may try"),
        ("INFO", f"{name} closed after 15.0 s: a request got an answer"),
    ]


def test_threads_let_one_probe_through() -> None:
    """F36: of many that come at once when its time is over, one is the probe."""
    one, clock = opened()
    clock.now += 5.0
    barrier, passed = threading.Barrier(16), []

    def ask() -> None:
        barrier.wait()
        with suppress(CircuitOpenError):
            passed.append(one.enter())

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(passed) == 1


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"failures": 0}, "failures"),
        ({"failure_ratio": 0.0}, "failure_ratio"),
        ({"failure_ratio": 1.1}, "failure_ratio"),
        ({"window": 0.0}, "window"),
        ({"open_for": 0.0}, "open_for"),
        ({"open_cap": 0.0}, "open_cap"),
        ({"probes": 0}, "probes"),
    ],
)
def test_a_breaker_that_cannot_be(settings: dict[str, Any], name: str) -> None:
    """Refused by name, with what to give."""
    with pytest.raises(ConfigurationError, match=f"'{name}' of the circuit breaker cannot be") as caught:
        CircuitBreaker(**settings)
    assert (caught.value.next_step or "").startswith("Give ")
