"""The table of prices is data with a date and a source, and names no model too widely."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agentforge.model import TokenUsage, priced
from agentforge_anthropic.prices import PRICES


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        ("claude-sonnet-4-5-20250929", TokenUsage(1_000_000, 100_000), "4.5"),
        ("claude-haiku-4-5", TokenUsage(1_000, 0, cached_input_tokens=600, cache_write_tokens=400), "0.00056"),
        ("claude-opus-4-20250514", TokenUsage(1_000_000, 0), "15"),
        ("claude-opus-5-5", TokenUsage(1_000_000, 0), "4"),
        ("claude-haiku-5-5", TokenUsage(100_000, 0), "0.01"),
        ("claude-haiku-5-5", TokenUsage(100_001, 0), "0.0500005"),
    ],
)
def test_what_replies_cost(model: str, usage: TokenUsage, cost: str) -> None:
    """By the model that answered, snapshots included; input holds what was read from a cache and written to one."""
    found = priced(usage, model, PRICES)
    assert (found.cost, found.currency) == (Decimal(cost), "USD")


@pytest.mark.parametrize(
    "model", ["claude-opus-5-5-latest", "claude-sonnet-4-9", "anthropic.claude-opus-5", "claude-2"]
)
def test_a_model_that_is_not_listed_has_no_price(model: str) -> None:
    """Rather than that of one with a similar name; other platforms have prices of their own."""
    assert PRICES.price_for(model) is None


def test_every_row_is_dated() -> None:
    assert PRICES.source is not None and PRICES.source.startswith("Pricing, https://")
    for name, price in PRICES.rows:
        assert price is not None and price.dated is not None and price.currency == "USD", name
        assert price.cached_input is not None and price.cache_write is not None, name
        assert price.cached_input < price.input < price.cache_write < price.output, name
