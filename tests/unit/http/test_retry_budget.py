"""The budget of retries, by a clock that the test turns."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import ConfigurationError
from agentforge.http import RetryBudget
from agentforge.http.retry_budget import RetryTally


class Ticking:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


def tally(budget: RetryBudget = RetryBudget(), calls: int = 0) -> tuple[RetryTally, Ticking]:  # noqa: B008  (frozen)
    clock = Ticking()
    made = RetryTally(budget, clock)
    for _ in range(calls):
        made.called()
    return made, clock


def taken(one: RetryTally, most: int = 1000) -> int:
    """How many retries there are."""
    return next((count for count in range(most) if not one.take()), most)


@pytest.mark.parametrize(
    ("budget", "calls", "retries"),
    [
        (RetryBudget(), 0, 10),
        (RetryBudget(), 5, 11),
        (RetryBudget(), 100, 30),
        (RetryBudget(reserve=0), 100, 20),
        (RetryBudget(ratio=0.0), 100, 10),
        (RetryBudget(ratio=2.0, reserve=0), 3, 6),
        (RetryBudget(ratio=0.0, reserve=0), 100, 0),
    ],
)
def test_a_part_of_the_calls_and_a_reserve(budget: RetryBudget, calls: int, retries: int) -> None:
    one, _ = tally(budget, calls)
    assert taken(one) == retries


def test_a_single_user_never_notices() -> None:
    """Three calls at once that fail with both of their retries are well within the reserve."""
    one, _ = tally(calls=3)
    assert taken(one) >= 3 * 2


def test_what_was_taken_comes_back_with_the_window() -> None:
    one, clock = tally()
    assert taken(one) == 10
    clock.now += 9.0
    assert taken(one) == 0
    clock.now += 2.0
    assert taken(one) == 10


def test_calls_of_an_hour_ago_give_nothing() -> None:
    one, clock = tally(calls=10_000)
    clock.now += 3600.0
    assert taken(one) == 10


@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.booleans()), max_size=200))
def test_in_any_window_there_are_no_more_than_the_budget(steps: list[tuple[float, bool]]) -> None:
    """However calls and retries are spread: F13's bar, a fifth of the calls and ten within ten seconds."""
    one, clock = tally()
    calls: list[float] = []
    retries: list[float] = []
    for passed, retry in steps:
        clock.now += passed
        if not retry:
            one.called()
            calls.append(clock.now)
        elif one.take():
            retries.append(clock.now)
            since = clock.now - 10.0
            # A slice is counted whole: calls of up to a second before the window may still give their part.
            assert sum(at > since for at in retries) <= 0.2 * sum(at > since - 1.0 for at in calls) + 10


@pytest.mark.parametrize(
    ("settings", "name"), [({"ratio": -0.1}, "ratio"), ({"reserve": -1}, "reserve"), ({"window": 0.0}, "window")]
)
def test_a_budget_that_cannot_be(settings: dict[str, Any], name: str) -> None:
    """Refused by name, with what to give."""
    with pytest.raises(ConfigurationError, match=f"'{name}' of the retry budget cannot be"):
        RetryBudget(**settings)
