"""The table of prices is data with a date and a source, and names no model too widely."""

from __future__ import annotations

from decimal import Decimal

import pytest

from agentforge.model import TokenUsage, priced
from agentforge_gemini.prices import PRICES


@pytest.mark.parametrize(
    ("model", "usage", "cost"),
    [
        ("gemini-3.5-flash", TokenUsage(1_000_000, 100_000), "2.4"),
        ("gemini-3.8-flash", TokenUsage(1_000_000, 0, cached_input_tokens=1_000_000), "0.075"),
        ("gemini-3.1-pro-preview", TokenUsage(200_000, 0), "0.4"),
        ("gemini-3.1-pro-preview", TokenUsage(200_001, 0), "0.800004"),
    ],
)
def test_what_replies_cost(model: str, usage: TokenUsage, cost: str) -> None:
    """Thinking is output; a long prompt has another price."""
    found = priced(usage, model, PRICES)
    assert (found.cost, found.currency) == (Decimal(cost), "USD")


@pytest.mark.parametrize("model", ["gemini-3.5-flash-image", "gemini-9-pro", "gemini-flash-latest", "gemini-3.5"])
def test_a_model_that_is_not_listed_has_no_price(model: str) -> None:
    """Rather than that of one with a similar name, or of whatever a moving name stands for."""
    assert PRICES.price_for(model) is None


def test_every_row_is_dated() -> None:
    assert PRICES.source is not None and "https://ai.google.dev/gemini-api/docs/pricing" in PRICES.source
    for name, price in PRICES.rows:
        assert price is not None and price.dated is not None and price.currency == "USD", name
        assert (price.cached_input or Decimal(0)) < price.input < price.output, name
