"""Prices of models in a file: the rows of a price table as settings, for every bean that counts money."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import PriceTable
from agentforge.plugin.bean_settings import BeanSettings, Count, Field, as_value_error

__all__ = ("LongInputPriceSettings", "PriceSettings", "price_rows")


class LongInputPriceSettings(BeanSettings):
    """What a model costs, for a million tokens, once a request is long."""

    input_tokens: Count
    """Replies with more input than this cost so."""
    input: float = Field(ge=0, allow_inf_nan=False)
    """Of input."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """Of output."""
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of input that came from a cache; unset: as input."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of input that went into a cache; unset: as input."""


class PriceSettings(BeanSettings):
    """What a model costs, for a million tokens."""

    input: float = Field(ge=0, allow_inf_nan=False)
    """Of input."""
    output: float = Field(ge=0, allow_inf_nan=False)
    """Of output."""
    cached_input: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of input that came from a cache; unset: as input."""
    cache_write: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Of input that went into a cache; unset: as input."""
    above: LongInputPriceSettings | None = None
    """What long requests cost instead."""
    currency: str | None = None
    """A code such as EUR; unset: the currency of the other prices."""
    dated: str | None = None
    """The day of the price list, such as 2026-01-31."""

    def model_post_init(self, context: object) -> None:
        """Find what cannot be."""
        with as_value_error():
            PriceTable({"*": self.model_dump(exclude_none=True)})


def price_rows(settings: Mapping[str, PriceSettings | None] | None) -> dict[str, dict[str, object] | None] | None:
    """Prices of a file as rows of a `PriceTable`; ``None``, a null in the file, stays ``None``."""
    if settings is None:
        return None
    return {name: None if price is None else price.model_dump(exclude_none=True) for name, price in settings.items()}
