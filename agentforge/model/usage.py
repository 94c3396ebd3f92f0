"""Token counts and what they cost, in one form for all providers (their own counting bases differ: see `raw`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

__all__ = ("TokenUsage",)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one reply or, added up, of many. ``None`` means: not reported. Input includes cached tokens, output
    includes reasoning; ``raw`` is the provider's own object and does not survive adding.

    ``cost`` is what all of it costs, in ``currency`` (a code such as ``USD``); both are ``None`` where that is not
    known. A sum has a cost only if every part has one and all are in one currency; where not, ``partial_costs`` holds
    what is known of it, by currency, and the whole costs that at least. A usage that says nothing at all adds nothing,
    and leaves a sum's cost as it was.

    >>> (TokenUsage(10, 20, 30) + TokenUsage(1, 2, 3)).total_tokens
    33
    >>> known = TokenUsage(10, 20, cost=Decimal("0.5"), currency="USD")
    >>> (known + known).cost, (known + TokenUsage(1, 2)).cost, (known + TokenUsage(1, 2)).known_costs
    (Decimal('1.0'), None, {'USD': Decimal('0.5')})
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: Mapping[str, object] | None = field(default=None, compare=False, repr=False)
    cost: Decimal | None = field(default=None, kw_only=True)
    currency: str | None = field(default=None, kw_only=True)
    partial_costs: tuple[tuple[str, Decimal], ...] = field(default=(), kw_only=True)

    def __post_init__(self) -> None:
        if (self.cost is None) != (self.currency is None):
            raise ValueError("cost and currency go together")
        if self.partial_costs and self.cost is not None:
            raise ValueError("a cost that is known has no partial_costs")

    @property
    def known_costs(self) -> dict[str, Decimal]:
        """What is known of the cost by currency: the cost itself, or the part of it that is known."""
        if self.cost is not None and self.currency is not None:
            return {self.currency: self.cost}
        return dict(self.partial_costs)

    def __add__(self, other: TokenUsage) -> TokenUsage:
        cost, currency, partial = _sum_of_costs(self, other)
        return TokenUsage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.total_tokens, other.total_tokens),
            _sum(self.cached_input_tokens, other.cached_input_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
            cost=cost,
            currency=currency,
            partial_costs=partial,
        )


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b


_NOTHING = TokenUsage()


def _sum_of_costs(a: TokenUsage, b: TokenUsage) -> tuple[Decimal | None, str | None, tuple[tuple[str, Decimal], ...]]:
    """Cost, currency and partial costs of a sum; the same in whatever order the parts come."""
    if a == _NOTHING:
        return b.cost, b.currency, b.partial_costs
    if b == _NOTHING:
        return a.cost, a.currency, a.partial_costs
    if a.cost is not None and b.cost is not None and a.currency == b.currency:
        return a.cost + b.cost, a.currency, ()
    known, more = a.known_costs, b.known_costs
    for currency, cost in more.items():
        known[currency] = known.get(currency, Decimal(0)) + cost
    return None, None, tuple(sorted(known.items()))
