"""What replies cost: by the most specific price, exactly, and never more complete than it is known."""

from __future__ import annotations

import json
from decimal import Decimal
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import ConfigurationError, RunStateError
from agentforge.model import Price, PriceTable, TokenUsage, price_table, priced
from agentforge.model.price import cost_text
from agentforge.model.serialization import usage_from_json, usage_to_json

DOLLAR = Decimal(1)


def known(cost: str, currency: str = "USD", tokens: int = 1) -> TokenUsage:
    return TokenUsage(tokens, tokens, cost=Decimal(cost), currency=currency)


# -- a price -------------------------------------------------------------------------------------

PRICE = Price(
    input=Decimal(2),
    output=Decimal(8),
    cached_input=Decimal("0.2"),
    cache_write=Decimal("2.5"),
    above=(1000, Price(input=Decimal(4), output=Decimal(12))),
)


@pytest.mark.parametrize(
    ("usage", "cost"),
    [
        (TokenUsage(100, 10), "0.000280"),
        (TokenUsage(100, 10, cached_input_tokens=40), "0.000208"),
        (TokenUsage(100, 10, cache_write_tokens=40), "0.000300"),
        (TokenUsage(100, 10, cached_input_tokens=40, cache_write_tokens=60), "0.000238"),
        (TokenUsage(100, 10, cached_input_tokens=200), "0.000120"),  # reported more than there was
        (TokenUsage(100, 10, reasoning_tokens=8), "0.000280"),
        (TokenUsage(1000, 10), "0.002080"),
        (TokenUsage(1001, 10), "0.004124"),
        (TokenUsage(1001, 10, cached_input_tokens=1001), "0.004124"),  # no price of its own up there
        (TokenUsage(0, 0), "0"),
        (TokenUsage(100, None, 110), "0.000280"),
        (TokenUsage(None, 10, 110), "0.000280"),
    ],
)
def test_cached_and_reasoning_tokens_are_counted_once(usage: TokenUsage, cost: str) -> None:
    """Input holds the cached tokens, output those of reasoning; what is not reported is what the total leaves."""
    assert PRICE.cost(usage) == Decimal(cost)


@pytest.mark.parametrize("usage", [TokenUsage(), TokenUsage(100), TokenUsage(None, 10), TokenUsage(None, None, 110)])
def test_what_is_not_reported_has_no_cost(usage: TokenUsage) -> None:
    assert PRICE.cost(usage) is None


def test_a_price_without_prices_of_caches_takes_that_of_input() -> None:
    price = Price(input=DOLLAR, output=DOLLAR)
    assert price.cost(TokenUsage(30, 0, cached_input_tokens=10, cache_write_tokens=10)) == Decimal("0.00003")


@given(st.decimals(0, 1000, places=4), st.integers(0, 10**9), st.integers(0, 10**9))
def test_a_cost_is_exact(amount: Decimal, taken: int, made: int) -> None:
    """Also of a price that was written as a number."""
    price = PriceTable({"m": {"input": float(amount), "output": str(amount)}}).price_for("m")
    assert price is not None
    assert price.cost(TokenUsage(taken, made)) == (taken + made) * amount / 1_000_000


# -- a table -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "input_price"),
    [
        ("small", 1),
        ("small-2026-01-31", 2),
        ("small-pro", 3),
        ("small-pro-2026-01-31", 3),
        ("small.", 4),
        ("large", 5),
        ("large-free", None),
        ("Small", 5),
        ("", None),
        (None, None),
    ],
)
def test_the_most_specific_pattern_holds(name: str | None, input_price: int | None) -> None:
    """A whole name before a pattern, a longer pattern before a shorter one, however they are listed."""
    rows: dict[str, Any] = {
        "small": {"input": 1, "output": 1},
        "small-20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]": {"input": 2, "output": 1},
        "small-pro*": {"input": 3, "output": 1},
        "small?": {"input": 4, "output": 1},
        "*": {"input": 5, "output": 1},
        "large-free": None,
    }
    for listed in ([*rows], [*reversed(rows)]):
        table = PriceTable({pattern: rows[pattern] for pattern in listed})
        found = table.price_for(name)
        assert (found is None) is (input_price is None)
        assert found is None or found.input == input_price
        assert table.price_for(name) is found


def test_rows_in_front_hold_however_wide_they_are() -> None:
    """A user's word goes before a vendor's, and ``None`` takes a price away."""
    vendors = PriceTable(
        {"small": {"input": 1, "output": 1}, "large": {"input": 2, "output": 2}}, currency="EUR", dated="2026-01-31"
    )
    table = vendors.with_rows({"s*": {"input": 9, "output": 9}, "large": None})

    found = [price and (int(price.input), price.currency, price.dated) for _, price in table.rows]
    assert found == [None, (9, "EUR", None), (2, "EUR", "2026-01-31"), (1, "EUR", "2026-01-31")]
    small = table.price_for("small")
    assert small is not None and small.input == 9 and table.price_for("large") is None
    assert len(vendors) == 2 and repr(table) == "PriceTable(4 rows)"


def test_a_models_table_is_its_vendors_with_a_users_rows_in_front() -> None:
    """A table of the user's own takes its place, and ``None`` switches prices off."""
    vendors, own = PriceTable({"*": {"input": 1, "output": 1}}), PriceTable({"m": {"input": 2, "output": 2}})

    assert price_table({}, vendors) is vendors
    assert price_table(own, vendors) is own
    assert price_table(None, vendors) is None and price_table({}) is None
    for table, amounts in (
        (price_table({"m": {"input": 3, "output": 3}}, vendors), [3, 1]),
        (price_table({"m": {"input": 3, "output": 3}}), [3, None]),
    ):
        assert table is not None
        found = [table.price_for(name) for name in ("m", "n")]
        assert [None if price is None else int(price.input) for price in found] == amounts


def test_a_table_remembers_only_so_many_names() -> None:
    table = PriceTable({"*": {"input": 1, "output": 1}})
    assert all(table.price_for(f"model-{at}") is not None for at in range(1000))
    assert len(table._remembered) < 1000


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "prices are a mapping of models' names, not list"),
        ({"x": 1}, "the price of 'x': it is a mapping with 'input' and 'output'"),
        ({"x": {"input": 1}}, "the price of 'x': it is a mapping with 'input' and 'output'"),
        ({"x": {"input": 1, "output": 1, "cash": 1}}, "the price of 'x': it is a mapping"),
        ({"x": {"input": -1, "output": 1}}, "the price of 'x': 'input' is an amount from 0, not -1"),
        ({"x": {"input": 1, "output": True}}, "the price of 'x': 'output' is an amount from 0, not True"),
        ({"x": {"input": 1, "output": "dear"}}, "the price of 'x': 'output' is an amount from 0, not 'dear'"),
        ({"x": {"input": 1, "output": "nan"}}, "the price of 'x': 'output' is an amount"),
        ({"x": {"input": 1, "output": 1, "currency": "usd"}}, "a code such as 'USD', not 'usd'"),
        ({"x": {"input": 1, "output": 1, "dated": "31.1.2026"}}, "a text such as '2026-01-31', not '31.1.2026'"),
        ({"x": {"input": 1, "output": 1, "dated": 2026}}, "a text such as '2026-01-31', not 2026"),
        ({"x": {"input": 1, "output": 1, "above": 7}}, "'above' is a mapping with 'input_tokens'"),
        ({"x": {"input": 1, "output": 1, "above": {"input": 1, "output": 1}}}, "'above' is a mapping"),
        (
            {"x": {"input": 1, "output": 1, "above": {"input_tokens": 0, "input": 1, "output": 1}}},
            "'input_tokens' of 'above' is a whole number from 1, not 0",
        ),
    ],
)
def test_what_is_no_price_is_refused_with_the_models_name(rows: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as raised:
        PriceTable(rows)
    assert message in raised.value.message


@pytest.mark.parametrize(
    "fields",
    [
        {"input": 2, "output": DOLLAR},
        {"input": DOLLAR, "output": Decimal("Infinity")},
        {"input": DOLLAR, "output": DOLLAR, "cached_input": Decimal(-1)},
        {"input": DOLLAR, "output": DOLLAR, "currency": "Dollar"},
        {"input": DOLLAR, "output": DOLLAR, "above": (1, Price(input=DOLLAR, output=DOLLAR, currency="EUR"))},
        {"input": DOLLAR, "output": DOLLAR, "above": (1, PRICE)},
    ],
)
def test_a_price_that_is_none_is_refused(fields: Any) -> None:
    with pytest.raises(ConfigurationError):
        Price(**fields)


# -- the usage of a reply ------------------------------------------------------------------------

TABLE = PriceTable({"small*": {"input": 1, "output": 2}}, currency="EUR")


@pytest.mark.parametrize(
    ("model", "asked", "cost"),
    [
        ("small", None, "0.0000050"),
        ("small-2", "large", "0.0000050"),
        ("served-by-another-name", "small", "0.0000050"),
        (None, "small", "0.0000050"),
        ("large", None, None),
        (None, None, None),
    ],
)
def test_a_usage_gets_its_cost_by_the_model_that_answered(
    model: str | None, asked: str | None, cost: str | None
) -> None:
    """Else by the one that was asked; without a price it stays as it was."""
    usage = TokenUsage(1, 2, 3, raw={"tokens": 3})
    found = priced(usage, model, TABLE, asked=asked)

    assert (found.input_tokens, found.output_tokens, found.total_tokens, found.raw) == (1, 2, 3, {"tokens": 3})
    assert (found.cost, found.currency) == ((Decimal(cost), "EUR") if cost is not None else (None, None))
    assert cost is not None or found is usage


def test_without_a_table_nothing_changes_and_a_providers_own_cost_stays() -> None:
    usage, told = TokenUsage(1, 2), known("0.5")
    assert priced(usage, "small", None) is usage
    assert priced(told, "small", TABLE) is told


def test_a_reply_that_does_not_report_its_tokens_leaves_no_complete_sum() -> None:
    total = priced(TokenUsage(1, 2), "small", TABLE) + priced(TokenUsage(), "small", TABLE)
    assert total.cost is None and total.known_costs == {"EUR": Decimal("0.000005")}


# -- sums ----------------------------------------------------------------------------------------

UNKNOWN = TokenUsage(5, 5)


@pytest.mark.parametrize(
    ("parts", "cost", "currency", "costs"),
    [
        ([], None, None, {}),
        ([TokenUsage()], None, None, {}),
        ([known("0.1"), known("0.2")], "0.3", "USD", {"USD": "0.3"}),
        ([TokenUsage(), known("0.1"), TokenUsage()], "0.1", "USD", {"USD": "0.1"}),
        ([known("0")], "0", "USD", {"USD": "0"}),
        ([known("0.1"), UNKNOWN], None, None, {"USD": "0.1"}),
        ([UNKNOWN, UNKNOWN], None, None, {}),
        ([known("0.1"), UNKNOWN, known("0.2")], None, None, {"USD": "0.3"}),
        ([known("0.1"), known("0.2", "EUR")], None, None, {"EUR": "0.2", "USD": "0.1"}),
        ([known("0.1"), known("0.2", "EUR"), known("0.3"), UNKNOWN], None, None, {"EUR": "0.2", "USD": "0.4"}),
    ],
)
def test_a_sum_has_a_cost_only_if_each_part_has_one_in_the_same_currency(
    parts: list[TokenUsage], cost: str | None, currency: str | None, costs: dict[str, str]
) -> None:
    """What is known of it is kept by currency; the order of the parts makes no difference."""
    for ordered in permutations(parts):
        total = sum(ordered, TokenUsage())
        assert (total.cost, total.currency) == (None if cost is None else Decimal(cost), currency)
        assert total.known_costs == {name: Decimal(amount) for name, amount in costs.items()}
        assert total.partial_costs == (() if cost is not None else tuple(sorted(total.known_costs.items())))


_USAGES = st.one_of(
    st.just(TokenUsage()),
    st.builds(TokenUsage, st.integers(0, 9), st.integers(0, 9)),
    st.builds(lambda cost, currency: known(str(cost), currency), st.integers(0, 9), st.sampled_from(["USD", "EUR"])),
)


@given(_USAGES, _USAGES, _USAGES)
def test_sums_may_be_made_in_any_order(a: TokenUsage, b: TokenUsage, c: TokenUsage) -> None:
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + TokenUsage() == a


@pytest.mark.parametrize(
    "fields",
    [{"cost": DOLLAR}, {"currency": "USD"}, {"cost": DOLLAR, "currency": "USD", "partial_costs": (("EUR", DOLLAR),)}],
)
def test_a_cost_has_a_currency(fields: Any) -> None:
    with pytest.raises(ValueError, match="cost"):
        TokenUsage(1, **fields)


@pytest.mark.parametrize(
    ("usage", "since", "words"),
    [
        (TokenUsage(1, 1), None, ""),
        (known("0"), None, "0 USD"),
        (known("12.50"), None, "12.5 USD"),
        (known("100"), None, "100 USD"),
        (known("0.0123456789"), None, "0.012346 USD"),
        (known("0.0000001"), None, "less than 0.000001 USD"),
        (known("0.5"), known("0.2"), "0.3 USD"),
        (known("0.5") + UNKNOWN, None, "at least 0.5 USD"),
        (known("0.5") + UNKNOWN, known("0.2"), "at least 0.3 USD"),
        (known("0.5") + UNKNOWN, known("0.5"), ""),
        (known("0.5") + known("1", "EUR"), None, "at least 1 EUR + 0.5 USD"),
    ],
)
def test_a_cost_in_words(usage: TokenUsage, since: TokenUsage | None, words: str) -> None:
    """A part is said to be a part."""
    assert cost_text(usage, since) == words


# -- stored --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("usage", "stored"),
    [
        (known("0.10"), {"input_tokens": 1, "output_tokens": 1, "cost": "0.10", "currency": "USD"}),
        (known("1E-9"), {"input_tokens": 1, "output_tokens": 1, "cost": "0.000000001", "currency": "USD"}),
        (known("0.1") + UNKNOWN, {"input_tokens": 6, "output_tokens": 6, "partial_costs": {"USD": "0.1"}}),
    ],
)
def test_costs_are_stored_as_texts_and_come_back(usage: TokenUsage, stored: dict[str, Any]) -> None:
    """JSON's numbers would not be exact."""
    assert usage_to_json(usage) == stored
    assert usage_from_json(json.loads(json.dumps(stored))) == usage


@pytest.mark.parametrize(
    "stored",
    [
        {"cost": 0.1, "currency": "USD"},
        {"cost": "dear", "currency": "USD"},
        {"cost": "NaN", "currency": "USD"},
        {"cost": "1e400", "currency": "USD"},
        {"cost": "0.1"},
        {"currency": "USD"},
        {"partial_costs": ["USD"]},
        {"partial_costs": {"USD": 1}},
        {"cost": "0.1", "currency": "USD", "partial_costs": {"USD": "1"}},
    ],
)
def test_a_stored_cost_that_is_none_is_refused(stored: Any) -> None:
    with pytest.raises(RunStateError, match=r"token_usage"):
        usage_from_json(stored)
