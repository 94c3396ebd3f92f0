"""What is kept for which endpoint, and for how many models."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge.http import CircuitBreaker, Outages, RetryBudget


def test_a_request_makes_the_circuits_of_its_endpoint_and_of_its_model() -> None:
    """Nothing is kept before; endpoint first, then its models."""
    outages = Outages()
    gate = outages.gate("http://model.test/v1/")
    assert outages.states() == ()
    assert [circuit.name for circuit in gate.circuits("large")] == [
        "http://model.test/v1",
        "http://model.test/v1 (model large)",
    ]
    assert outages.states() == (
        ("http://model.test/v1", None, "closed", None),
        ("http://model.test/v1", "large", "closed", None),
    )


@pytest.mark.parametrize(
    ("base_url", "more", "same"),
    [
        ("http://model.test/v1", {}, True),
        ("HTTP://MODEL.test/v1/", {}, True),
        ("http://model.test/v1", {"circuit_breaker": CircuitBreaker()}, True),
        ("http://model.test/v1", {"retry_budget": False}, True),
        ("http://model.test/V1", {}, False),
        ("http://model.test:8080/v1", {}, False),
        ("https://model.test/v1", {}, False),
        ("http://model.test/v1", {"way": "a proxy"}, False),
        ("http://model.test/v1", {"circuit_breaker": CircuitBreaker(failures=1)}, False),
    ],
)
def test_who_has_the_same_circuit(base_url: str, more: dict[str, Any], same: bool) -> None:
    """The endpoint, the way there and the settings say so."""
    outages = Outages()
    [way, model] = outages.gate("http://model.test/v1").circuits("m")
    [other_way, other_model] = outages.gate(base_url, **more).circuits("m")
    assert (way is other_way, model is other_model) == (same, same)


def test_the_retry_budget_is_one_for_all_who_set_it_alike() -> None:
    outages = Outages()
    first, second = outages.gate("http://model.test/v1"), outages.gate("http://model.test/v1", circuit_breaker=False)
    third = outages.gate("http://model.test/v1", retry_budget=RetryBudget(ratio=1.0))
    assert first.retries is second.retries is not third.retries
    assert outages.gate("http://model.test/v1", retry_budget=False).retries is None


def test_names_without_end_have_one_circuit_for_all() -> None:
    """Where models' names come from users, what is kept for them is bounded."""
    outages = Outages()
    gate = outages.gate("http://model.test/v1")
    for number in range(1500):
        gate.circuits(f"model {number}")
    assert len(outages.states()) <= 1001
    assert [circuit.model for circuit in gate.circuits("one more")] == [None]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"circuit_breaker": None}, "circuit_breaker must be a CircuitBreaker, True or False, not None"),
        ({"retry_budget": 0.5}, "retry_budget must be a RetryBudget, True or False, not 0.5"),
    ],
)
def test_a_setting_that_is_none(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Outages().gate("http://model.test/v1", **settings)
