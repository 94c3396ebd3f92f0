"""What models cost: a price for each, per million tokens."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Final

from agentforge.errors import ConfigurationError
from agentforge.model import TokenUsage

__all__ = ("ModelPrice", "Prices")

_MILLION: Final = 1_000_000
_KEYS: Final = ("input", "output", "cached_input", "cache_write")


@dataclass(frozen=True, slots=True)
class ModelPrice:
    """The price of a million tokens, in whatever currency the budget is in.

    ``cached_input`` is for input that was read from a cache, ``cache_write`` for input that was written to one; without
    a price of their own they cost what input does.
    """

    input: Decimal
    output: Decimal
    cached_input: Decimal | None = None
    cache_write: Decimal | None = None

    def of(self, usage: TokenUsage) -> Decimal:
        """What these tokens cost.

        >>> price = ModelPrice(Decimal(2), Decimal(8), cached_input=Decimal(1))
        >>> price.of(TokenUsage(1_000_000, 500_000, cached_input_tokens=400_000))
        Decimal('5.6')
        """
        read, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
        plain = max(0, (usage.input_tokens or 0) - read - written)
        cost = plain * self.input + (usage.output_tokens or 0) * self.output
        cost += read * (self.input if self.cached_input is None else self.cached_input)
        cost += written * (self.input if self.cache_write is None else self.cache_write)
        return cost / _MILLION


class Prices:
    """Prices by the model's name; a name that ends in ``*`` is that of all that begin so, the longest first.

    Takes `ModelPrice` objects or mappings with ``input``, ``output`` and, where they differ, ``cached_input`` and
    ``cache_write``. Raises `ConfigurationError` for what is no price.
    """

    def __init__(self, prices: Mapping[str, ModelPrice | Mapping[str, object]]) -> None:
        read = {name: _price(name, given) for name, given in prices.items()}
        self._exact = {name: price for name, price in read.items() if not name.endswith("*")}
        open_ended = [(name[:-1], price) for name, price in read.items() if name.endswith("*")]
        self._beginnings = sorted(open_ended, key=lambda each: -len(each[0]))

    def of(self, model: str | None) -> ModelPrice | None:
        """The price of this model; ``None`` when there is none."""
        name = model or ""
        if name in self._exact:
            return self._exact[name]
        return next((price for beginning, price in self._beginnings if name.startswith(beginning)), None)

    def __len__(self) -> int:
        return len(self._exact) + len(self._beginnings)

    def __repr__(self) -> str:
        return f"Prices({len(self)} models)"


def _price(name: str, given: ModelPrice | Mapping[str, object]) -> ModelPrice:
    if isinstance(given, ModelPrice):
        return given
    if not isinstance(given, Mapping) or not {"input", "output"} <= given.keys() <= set(_KEYS):
        raise ConfigurationError(
            f"the price of {name!r} is a mapping with 'input' and 'output'",
            next_step=f"Its keys are {', '.join(_KEYS)}, each for a million tokens.",
        )
    amounts: dict[str, Decimal] = {}
    for key, value in given.items():
        try:
            amount = Decimal(str(value)) if not isinstance(value, bool) else Decimal("NaN")
        except InvalidOperation:
            amount = Decimal("NaN")
        if not amount.is_finite() or amount < 0:
            raise ConfigurationError(f"{key!r} of the price of {name!r} is an amount from 0, not {value!r}")
        amounts[key] = amount
    return ModelPrice(**amounts)
