"""The table of prices is data with a date and a source, and names no model too widely."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agentforge.model import TokenUsage, priced
from agentforge_openai.prices import PRICES


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        ("gpt-5.4-2026-03-05", TokenUsage(100_000, 100_000), "1.75"),
        ("gpt-5.4", TokenUsage(200_000, 1_000, cached_input_tokens=100_000), "0.29"),
        ("gpt-5.4", TokenUsage(272_001, 0), "1.360005"),
        ("gpt-4o-mini-2024-07-18", TokenUsage(1_000_000, 1_000_000, cached_input_tokens=1_000_000), "0.675"),
        ("gpt-4o-2024-05-13", TokenUsage(1_000_000, 0), "5"),
        ("gpt-4o-2024-08-06", TokenUsage(1_000_000, 0), "2.5"),
        ("gpt-5.6", TokenUsage(100_000, 0, cache_write_tokens=100_000), "0.5"),
    ],
)
def test_what_replies_cost(model: str, usage: TokenUsage, cost: str) -> None:
    """By the model that answered, snapshots included."""
    found = priced(usage, model, PRICES)
    assert (found.cost, found.currency) == (Decimal(cost), "USD")


@pytest.mark.parametrize(
    "model", ["gpt-5.4-other", "gpt-4o-audio-preview", "gpt-5-2026", "openai/gpt-4o", "o1-preview", "gpt-9"]
)
def test_a_model_that_is_not_listed_has_no_price(model: str) -> None:
    """Rather than that of one with a similar name."""
    assert PRICES.price_for(model) is None


def test_every_row_is_dated() -> None:
    assert PRICES.source is not None and PRICES.source.startswith("Pricing, https://")
    for name, price in PRICES.rows:
        assert price is not None and price.dated is not None and price.currency == "USD", name
        assert price.cached_input is None or price.cached_input < price.input < price.output, name
