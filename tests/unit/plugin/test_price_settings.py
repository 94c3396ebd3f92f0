"""Prices of a file: rows that go before those of a plugin, null where there is to be none."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pydantic import TypeAdapter, ValidationError

from agentforge.model import PriceTable, price_table
from agentforge.plugin import PriceSettings, price_rows

VENDORS = PriceTable({"small": {"input": 1, "output": 1}, "large": {"input": 2, "output": 2}}, currency="EUR")
SETTINGS: TypeAdapter[dict[str, PriceSettings | None] | None] = TypeAdapter(dict[str, PriceSettings | None] | None)


@pytest.mark.parametrize(
    ("written", "small", "large", "currency"),
    [
        ({}, "1", "2", "EUR"),
        ({"sma*": {"input": 0.1, "output": "3"}}, "0.1", "2", "EUR"),
        ({"*": {"input": 7, "output": 7, "currency": "USD", "dated": "2026-01-31"}}, "7", "7", "USD"),
        ({"small": None}, None, "2", "EUR"),
        ({"*": None}, None, None, None),
        (None, None, None, None),
    ],
)
def test_what_a_file_says_goes_before_what_a_plugin_brings(
    written: Any, small: str | None, large: str | None, currency: str | None
) -> None:
    """Null instead of the mapping switches prices off, null in the place of a row that row."""
    table = price_table(price_rows(SETTINGS.validate_python(written)), VENDORS)
    found = [table.price_for(name) if table is not None else None for name in ("small", "large")]

    amounts = [None if each is None else Decimal(each) for each in (small, large)]
    assert [None if price is None else price.input for price in found] == amounts
    assert found[0] is None or found[0].currency == currency


def test_long_requests_have_a_price_of_their_own() -> None:
    rows = SETTINGS.validate_python(
        {"m": {"input": 1, "output": 2, "above": {"input_tokens": 1000, "input": 3, "output": 4}}}
    )
    table = price_table(price_rows(rows))
    assert table is not None
    price = table.price_for("m")
    assert price is not None and price.above is not None
    assert (price.above[0], int(price.above[1].output)) == (1000, 4)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ({"m": {"input": 1}}, "output"),
        ({"m": {"input": -1, "output": 1}}, "greater than or equal to 0"),
        ({"m": {"input": 1, "output": float("nan")}}, "finite"),
        ({"m": {"input": 1, "output": 1, "currency": "dollars"}}, "a code such as 'USD'"),
        ({"m": {"input": 1, "output": 1, "dated": "soon"}}, "a text such as '2026-01-31'"),
        ({"m": {"input": 1, "output": 1, "above": {"input": 1, "output": 1}}}, "input_tokens"),
        ({"m": {"input": 1, "output": 1, "sale": 1}}, "sale"),
    ],
)
def test_what_is_no_price_is_found_when_the_file_is_checked(written: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SETTINGS.validate_python(written)
