"""When a failed request is sent again, and after what wait: tables, without a clock."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import (
    AuthenticationError,
    ConfigurationError,
    ContextLengthError,
    InvalidRequestError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
)
from agentforge.http import RetryPolicy, parse_retry_after, parse_should_retry
from tests.support.scripted_transport import NOW


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        pytest.param({}, None, id="none"),
        pytest.param({"retry-after": "2"}, 2.0, id="seconds"),
        pytest.param({"retry-after": " 0.25 "}, 0.25, id="fractional seconds"),
        pytest.param({"retry-after": "86400"}, 86_400.0, id="a day"),
        pytest.param({"retry-after-ms": "1500", "retry-after": "9"}, 1.5, id="milliseconds come first"),
        pytest.param({"retry-after-ms": "0", "retry-after": "1"}, 1.0, id="zero milliseconds say nothing"),
        pytest.param({"retry-after-ms": "soon", "retry-after": "1"}, 1.0, id="garbage milliseconds say nothing"),
        pytest.param({"retry-after": "0"}, None, id="zero seconds say nothing"),
        pytest.param({"retry-after": "Sun, 30 Nov 2025 12:00:07 GMT"}, 7.0, id="a date"),
        pytest.param({"retry-after": "Sunday, 30-Nov-25 12:00:07 GMT"}, 7.0, id="an old date"),
        pytest.param({"retry-after": "Sun Nov 30 12:00:07 2025"}, 7.0, id="a date without a zone is GMT"),
        pytest.param({"retry-after": "Sun, 30 Nov 2025 11:59:00 GMT"}, None, id="the past"),
        pytest.param({"retry-after": "in a while"}, None, id="garbage"),
        pytest.param({"retry-after": "\u0661"}, None, id="digits of another script"),
        pytest.param({"retry-after-ms": "\uff15", "retry-after": "1"}, 1.0, id="milliseconds of another script"),
        pytest.param({"retry-after": "-5"}, None, id="negative"),
        pytest.param({"retry-after": "nan"}, None, id="not a number"),
        pytest.param({"retry-after": "inf"}, None, id="infinite"),
        pytest.param({"retry-after": "9" * 400}, None, id="absurd"),
        pytest.param({"retry-after": "1e9"}, None, id="with an exponent"),
        pytest.param({"retry-after": ""}, None, id="empty"),
        pytest.param({"retry-after": "Sun, 99 Nov 2025 12:00:07 GMT"}, None, id="a date that is none"),
    ],
)
def test_the_wait_that_an_answer_asks_for(headers: dict[str, str], wait: float | None) -> None:
    """F10: seconds, dates and milliseconds count; the past and garbage leave the back-off in charge."""
    assert parse_retry_after(headers, NOW) == wait


@given(st.text(max_size=40), st.text(max_size=40))
def test_no_header_breaks_the_parser(seconds: str, milliseconds: str) -> None:
    """Whatever a gateway writes there, the result is a positive time or none."""
    wait = parse_retry_after({"retry-after": seconds, "retry-after-ms": milliseconds}, NOW)
    assert wait is None or 0 < wait < 1e12


@pytest.mark.parametrize(("text", "wish"), [("true", True), ("False ", False), ("yes", None), ("", None)])
def test_the_servers_own_word_on_retries(text: str, wish: bool | None) -> None:
    """``x-should-retry`` is read as it is meant and otherwise ignored."""
    assert parse_should_retry({"x-should-retry": text}) is wish


@pytest.mark.parametrize(
    ("error", "retried"),
    [
        (RateLimitError("x"), True),
        (OverloadedError("x"), True),
        (ModelTimeoutError("x"), True),
        (ModelConnectionError("x"), True),
        (AuthenticationError("x"), False),
        (InvalidRequestError("x"), False),
        (ContextLengthError("x"), False),
        (ProtocolError("x"), False),
    ],
)
def test_what_is_sent_again(error: ModelError, retried: bool) -> None:
    """F12: only what may pass."""
    assert (RetryPolicy().delay(1, error, random.random) is not None) is retried


@given(st.floats(0, 1, exclude_max=True), st.integers(1, 40))
def test_the_back_off_doubles_spreads_and_is_capped(chance: float, attempt: int) -> None:
    """F11: between one and four times the step, which doubles; never above the cap."""
    wait = RetryPolicy(max_retries=40).delay(attempt, OverloadedError("x"), lambda: chance)
    step = min(0.5 * 2.0 ** (attempt - 1), 2.0)
    assert wait is not None
    assert step <= wait <= 4 * step <= 8.0


@given(st.floats(0, 1, exclude_max=True), st.floats(0.001, 60.0))
def test_a_wished_wait_is_kept(chance: float, wish: float) -> None:
    """F9: at least what was asked for and at most a fifth more."""
    wait = RetryPolicy().delay(1, RateLimitError("x", retry_after=wish), lambda: chance)
    assert wait is not None
    assert wish <= wait <= 1.2 * wish


@pytest.mark.parametrize(
    ("policy", "attempt", "error"),
    [
        pytest.param(RetryPolicy(), 3, OverloadedError("x"), id="after two retries"),
        pytest.param(RetryPolicy(max_retries=0), 1, OverloadedError("x"), id="none allowed"),
        pytest.param(RetryPolicy(), 1, RateLimitError("x", retry_after=86_400.0), id="a wish above the cap"),
        pytest.param(RetryPolicy(retry_after_cap=1.0), 1, RateLimitError("x", retry_after=1.5), id="above an own cap"),
    ],
)
def test_when_it_ends(policy: RetryPolicy, attempt: int, error: ModelError) -> None:
    """The number of retries and the longest wait are bounds."""
    assert policy.delay(attempt, error, random.random) is None


def test_a_thousand_clients_do_not_come_back_together() -> None:
    """F11: of all retries of a thousand clients no tenth of a second gets more than one in twenty."""
    chance = random.Random(7).random
    policy = RetryPolicy()
    bins: Counter[int] = Counter()
    for _ in range(1000):
        moment = 0.0
        for attempt in (1, 2):
            wait = policy.delay(attempt, OverloadedError("x"), chance)
            assert wait is not None
            moment += wait
            bins[int(moment * 10)] += 1
    assert max(bins.values()) <= 0.05 * 2000


@pytest.mark.parametrize("setting", ["max_retries", "base", "cap", "retry_after_cap"])
def test_a_policy_that_is_none(setting: str) -> None:
    """Negative values are refused by name."""
    values: dict[str, Any] = {setting: -1}
    with pytest.raises(ConfigurationError, match=f"'{setting}'"):
        RetryPolicy(**values)
