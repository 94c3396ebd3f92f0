"""What models cost: prices as data, by the model's name, and the cost of a reply.

No price stands here: vendors' tables come with their plugins, each with its date and its source, and a user's own rows
go before them. A cost is an estimate by a list, not a bill: discounts, batches and tiers of service are not in it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from datetime import date
from decimal import Decimal, InvalidOperation
from fnmatch import fnmatchcase
from typing import Any, Final, TypeAlias

from agentforge.errors import ConfigurationError
from agentforge.model.usage import TokenUsage

__all__ = ("Price", "PriceRows", "PriceTable", "cost_text", "price_table", "priced")

_MILLION: Final = 1_000_000
_AMOUNTS: Final = ("input", "output", "cached_input", "cache_write")
_CURRENCY: Final = re.compile(r"[A-Z]{3}")
_WILDCARD: Final = re.compile(r"[*?]|\[[^]]+\]")
_MAX_REMEMBERED: Final = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class Price:
    """The price of a million tokens, in ``currency`` (a code of ISO 4217), as it was listed on the day ``dated``.

    ``cached_input`` is for input that was read from a cache, ``cache_write`` for input that was written to one; without
    a price of their own they cost what input does. Replies with more input tokens than ``above[0]`` cost what
    ``above[1]`` says instead, all of their tokens. Raises `ConfigurationError` for what is no price.
    """

    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None
    above: tuple[int, Price] | None = None
    currency: str = "USD"
    dated: str | None = None

    def __post_init__(self) -> None:
        for name in _AMOUNTS:
            amount = getattr(self, name)
            if amount is None and name not in ("input", "output"):
                continue
            if not isinstance(amount, Decimal) or not amount.is_finite() or amount < 0:
                raise ConfigurationError(f"{name!r} of a price is a Decimal from 0, not {amount!r}")
        _check_list(self.currency, self.dated)
        if self.above is not None and (self.above[1].currency != self.currency or self.above[1].above is not None):
            raise ConfigurationError("the price above some input is in the same currency, and the last one")

    def cost(self, usage: TokenUsage) -> Decimal | None:
        """What one reply costs; ``None`` where its usage does not tell the tokens of input and output.

        Input includes cached tokens and output includes reasoning, so neither is counted twice.

        >>> price = Price(input=Decimal(2), output=Decimal(8), cached_input=Decimal(1))
        >>> price.cost(TokenUsage(1_000_000, 500_000, cached_input_tokens=400_000))
        Decimal('5.6')
        """
        sides = _sides(usage)
        if sides is None:
            return None
        taken, made = sides
        if self.above is not None and taken > self.above[0]:
            return self.above[1].cost(usage)
        read, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
        cost = max(0, taken - read - written) * self.input + made * self.output
        cost += read * (self.input if self.cached_input is None else self.cached_input)
        cost += written * (self.input if self.cache_write is None else self.cache_write)
        return cost / _MILLION


PriceRows: TypeAlias = Mapping[str, Price | Mapping[str, object] | None]
"""Prices by patterns of models' names: what a `PriceTable` is made of."""


class PriceTable:
    """Prices by patterns of models' names, as a shell has them: ``*`` stands for any text, ``?`` for a character,
    ``[0-9]`` for one of these. The most specific pattern that fits holds: a whole name, else the one with the most
    characters of its own. ``None`` in the place of a price says that there is none, whatever a wider pattern says.

    Rows are `Price` objects or mappings of its fields, amounts as numbers or texts (``above`` with ``input_tokens`` and
    the amounts). ``currency`` and ``dated`` hold for rows that do not say their own; ``source`` is where the prices
    stand. Immutable. Raises `ConfigurationError` that names the row.

    >>> table = PriceTable({"small-*": {"input": 0.5, "output": 2}, "small-1": None})
    >>> table.price_for("small-2").output, table.price_for("small-1"), table.price_for("large")
    (Decimal('2'), None, None)
    """

    __slots__ = ("_beginnings", "_remembered", "rows", "source")

    def __init__(
        self,
        rows: PriceRows,
        *,
        currency: str = "USD",
        dated: str | None = None,
        source: str | None = None,
    ) -> None:
        if not isinstance(rows, Mapping):
            raise ConfigurationError(
                f"prices are a mapping of models' names, not {type(rows).__name__}",
                next_step="Give {MODEL: {input: …, output: …}}, each for a million tokens.",
            )
        _check_list(currency, dated)
        made = [(name, _price(name, given, currency, dated)) for name, given in rows.items()]
        made.sort(key=lambda row: _order(row[0]))
        #: The patterns in the order in which they are tried.
        self.rows: tuple[tuple[str, Price | None], ...] = tuple(made)
        self._beginnings = tuple(_WILDCARD.split(name, 1)[0] for name, _ in made)
        self._remembered: dict[str, Price | None] = {}
        #: Where the prices stand, for whoever wants to look them up.
        self.source = source

    def price_for(self, model_name: str | None) -> Price | None:
        """The price of this model; ``None`` when there is none."""
        if not model_name:
            return None
        try:
            return self._remembered[model_name]
        except KeyError:
            # Most patterns are passed over by how they begin, and never compiled.
            fits = (
                price
                for (pattern, price), beginning in zip(self.rows, self._beginnings, strict=True)
                if model_name.startswith(beginning) and fnmatchcase(model_name, pattern)
            )
            found = next(fits, None)
        if len(self._remembered) < _MAX_REMEMBERED:
            self._remembered[model_name] = found
        return found

    def with_rows(self, rows: PriceRows) -> PriceTable:
        """This table with rows in front of its own: any of them that fits holds, however wide it is.

        Without a currency of their own they are in that of this table's first row.
        """
        currency = next((price.currency for _, price in self.rows if price is not None), "USD")
        made = PriceTable(rows, currency=currency, source=self.source)
        made.rows += self.rows
        made._beginnings += self._beginnings
        return made

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"PriceTable({len(self)} rows)"


def price_table(prices: PriceTable | PriceRows | None, vendors: PriceTable | None = None) -> PriceTable | None:
    """A model's table: one as it is, rows in front of those that the vendor brings, ``None`` for none."""
    if prices is None or isinstance(prices, PriceTable):
        return prices
    if vendors is None:
        return PriceTable(prices) if prices else None
    return vendors.with_rows(prices) if prices else vendors


def priced(
    usage: TokenUsage, model_name: str | None, table: PriceTable | None, *, asked: str | None = None
) -> TokenUsage:
    """The usage of one reply with its cost. ``model_name`` is the model that answered; where the table has no price for
    it, the one that was ``asked`` for decides. As it was without a table or a price, and where the provider told the
    cost itself. Where there is a price but not enough is reported, a sum with this usage has no known cost.

    >>> table = PriceTable({"small-*": {"input": "0.5", "output": "2"}})
    >>> usage = priced(TokenUsage(2_000_000, 1_000_000), "small-1", table)
    >>> usage.cost, usage.currency
    (Decimal('3.0'), 'USD')
    """
    if table is None or usage.cost is not None:
        return usage
    price = table.price_for(model_name) or table.price_for(asked)
    if price is None:
        return usage
    cost = price.cost(usage)
    if cost is None:
        return replace(usage, partial_costs=((price.currency, Decimal(0)),))
    return replace(usage, cost=cost, currency=price.currency, partial_costs=())


def cost_text(usage: TokenUsage, since: TokenUsage | None = None) -> str:
    """What tokens cost in words, to the millionth; of those that came ``since``. Empty where nothing is known.

    >>> cost_text(TokenUsage(1, 2, cost=Decimal("0.0250"), currency="USD"))
    '0.025 USD'
    >>> cost_text(TokenUsage(3, 4, partial_costs=(("EUR", Decimal(1)), ("USD", Decimal("0.5")))))
    'at least 1 EUR + 0.5 USD'
    """
    before = since.known_costs if since is not None else {}
    costs = {currency: cost - before.get(currency, 0) for currency, cost in usage.known_costs.items()}
    if usage.cost is None:
        costs = {currency: cost for currency, cost in costs.items() if cost}
    words = " + ".join(f"{_rounded(cost)} {currency}" for currency, cost in costs.items())
    return f"at least {words}" if words and usage.cost is None else words


def _rounded(cost: Decimal) -> str:
    text = f"{cost:.6f}".rstrip("0").rstrip(".")
    return "less than 0.000001" if text == "0" and cost else text


def _sides(usage: TokenUsage) -> tuple[int, int] | None:
    """Tokens of input and output; what is not reported is what the total leaves."""
    taken, made, total = usage.input_tokens, usage.output_tokens, usage.total_tokens
    if taken is None and made is not None and total is not None:
        taken = max(0, total - made)
    elif made is None and taken is not None and total is not None:
        made = max(0, total - taken)
    return None if taken is None or made is None else (taken, made)


def _order(pattern: str) -> tuple[int, int, str]:
    own = len(_WILDCARD.sub("", pattern))
    return int(own != len(pattern)), -own, pattern


def _check_list(currency: object, dated: object) -> None:
    if not isinstance(currency, str) or not _CURRENCY.fullmatch(currency):
        raise ConfigurationError(f"the currency of a price is a code such as 'USD', not {currency!r}")
    if dated is not None and not _is_date(dated):
        raise ConfigurationError(f"the date of a price is a text such as '2026-01-31', not {dated!r}")


def _is_date(text: object) -> bool:
    try:
        return isinstance(text, str) and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _price(name: str, given: object, currency: str, dated: str | None) -> Price | None:
    if given is None or isinstance(given, Price):
        return given
    try:
        return _made(given, currency, dated)
    except ConfigurationError as error:
        raise ConfigurationError(f"the price of {name!r}: {error.message}", next_step=error.next_step) from None


def _made(given: object, currency: str, dated: str | None) -> Price:
    known = [item.name for item in fields(Price)]
    if not isinstance(given, Mapping) or not {"input", "output"} <= given.keys() <= set(known):
        raise ConfigurationError(
            "it is a mapping with 'input' and 'output'",
            next_step=f"Its keys are {', '.join(known)}; amounts are for a million tokens.",
        )
    said: dict[str, Any] = {
        "currency": currency,
        "dated": dated,
        **{key: value for key, value in given.items() if value is not None},
    }
    above = _above(said["above"], said["currency"]) if "above" in said else None
    return Price(**{**said, **_amounts(said), "above": above})


def _above(given: object, currency: Any) -> tuple[int, Price]:
    if not isinstance(given, Mapping) or not {"input_tokens", "input", "output"} <= given.keys() <= {
        "input_tokens",
        *_AMOUNTS,
    }:
        raise ConfigurationError(
            "'above' is a mapping with 'input_tokens', 'input' and 'output'",
            next_step=f"Its keys are input_tokens, {', '.join(_AMOUNTS)}.",
        )
    tokens = given["input_tokens"]
    if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 1:
        raise ConfigurationError(f"'input_tokens' of 'above' is a whole number from 1, not {tokens!r}")
    return tokens, Price(**_amounts(given), currency=currency)


def _amounts(given: Mapping[str, object]) -> dict[str, Any]:
    made: dict[str, Any] = {}
    for name in _AMOUNTS:
        value = given.get(name)
        if value is None:
            continue
        try:
            amount = Decimal("NaN") if isinstance(value, bool) else Decimal(str(value))
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or amount < 0:
            raise ConfigurationError(f"{name!r} is an amount from 0, not {value!r}")
        made[name] = amount
    return made
