"""What OpenAI's models cost, as data: the standard prices of its own endpoint for text, in US dollars for a million
tokens.

Batches, flex, priority and fast modes, data residency, audio and built-in tools have other prices, which are not here;
other vendors' endpoints have their own. A model of which no figure was found is left out, and its cost is not known.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import PriceTable

__all__ = ("PRICES",)

#: Above so many tokens of input a whole request costs twice the input's price, and one and a half times the output's.
_LONG = 272_000

_ROWS: Mapping[str, Mapping[str, object]] = {
    "gpt-6-astra": {
        "input": "10",
        "output": "50",
        "cached_input": "1",
        "cache_write": "12.5",
        "above": {"input_tokens": _LONG, "input": "20", "output": "75", "cached_input": "2", "cache_write": "25"},
    },
    "gpt-6.1-sol": {
        "input": "2",
        "output": "10",
        "cached_input": "0.1",
        "cache_write": "2.5",
        "above": {"input_tokens": _LONG, "input": "4", "output": "15", "cached_input": "0.2", "cache_write": "5"},
    },
    "gpt-6-sol": {
        "input": "2",
        "output": "10",
        "cached_input": "0.2",
        "cache_write": "2.5",
        "above": {"input_tokens": _LONG, "input": "4", "output": "15", "cached_input": "0.4", "cache_write": "5"},
    },
    "gpt-6-luna": {
        "input": "0.1",
        "output": "0.5",
        "cached_input": "0.01",
        "cache_write": "0.125",
        "above": {
            "input_tokens": _LONG,
            "input": "0.2",
            "output": "0.75",
            "cached_input": "0.02",
            "cache_write": "0.25",
        },
    },
    "gpt-5.6-sol": {
        "input": "4",
        "output": "20",
        "cached_input": "0.4",
        "cache_write": "5",
        "above": {"input_tokens": _LONG, "input": "8", "output": "30", "cached_input": "0.8", "cache_write": "10"},
    },
    "gpt-5.6-terra": {
        "input": "2",
        "output": "12",
        "cached_input": "0.2",
        "cache_write": "2.5",
        "above": {"input_tokens": _LONG, "input": "4", "output": "18", "cached_input": "0.4", "cache_write": "5"},
    },
    "gpt-5.6-luna": {
        "input": "0.2",
        "output": "1.2",
        "cached_input": "0.02",
        "cache_write": "0.25",
        "above": {
            "input_tokens": _LONG,
            "input": "0.4",
            "output": "1.8",
            "cached_input": "0.04",
            "cache_write": "0.5",
        },
    },
    "gpt-5.5": {
        "input": "5",
        "output": "30",
        "cached_input": "0.5",
        "above": {"input_tokens": _LONG, "input": "10", "output": "45", "cached_input": "1"},
    },
    "gpt-5.5-pro": {
        "input": "30",
        "output": "180",
        "above": {"input_tokens": _LONG, "input": "60", "output": "270"},
    },
    "gpt-5.4": {
        "input": "2.5",
        "output": "15",
        "cached_input": "0.25",
        "above": {"input_tokens": _LONG, "input": "5", "output": "22.5", "cached_input": "0.5"},
    },
    "gpt-5.4-pro": {
        "input": "30",
        "output": "180",
        "above": {"input_tokens": _LONG, "input": "60", "output": "270"},
    },
    "gpt-5.4-mini": {"input": "0.75", "output": "4.5", "cached_input": "0.075"},
    "gpt-5.4-nano": {"input": "0.2", "output": "1.25", "cached_input": "0.02"},
    "gpt-5.2": {"input": "1.75", "output": "14", "cached_input": "0.175"},
    "gpt-5.2-pro": {"input": "21", "output": "168"},
    "gpt-5.1": {"input": "1.25", "output": "10", "cached_input": "0.125"},
    "gpt-5": {"input": "1.25", "output": "10", "cached_input": "0.125"},
    "gpt-5-mini": {"input": "0.25", "output": "2", "cached_input": "0.025"},
    "gpt-5-nano": {"input": "0.05", "output": "0.4", "cached_input": "0.005"},
    "gpt-5-pro": {"input": "15", "output": "120"},
    "gpt-4.1": {"input": "2", "output": "8", "cached_input": "0.5"},
    "gpt-4.1-mini": {"input": "0.4", "output": "1.6", "cached_input": "0.1"},
    "gpt-4.1-nano": {"input": "0.1", "output": "0.4", "cached_input": "0.025"},
    "gpt-4o": {"input": "2.5", "output": "10", "cached_input": "1.25"},
    "gpt-4o-mini": {"input": "0.15", "output": "0.6", "cached_input": "0.075"},
    "o4-mini": {"input": "1.1", "output": "4.4", "cached_input": "0.275"},
    "o3": {"input": "2", "output": "8", "cached_input": "0.5"},
    "o3-pro": {"input": "20", "output": "80"},
    "o3-mini": {"input": "1.1", "output": "4.4", "cached_input": "0.55"},
    "o1": {"input": "15", "output": "60", "cached_input": "7.5"},
}

PRICES = PriceTable(
    {
        **_ROWS,
        # The names of dated snapshots.
        **{f"{name}-20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]": row for name, row in _ROWS.items()},
        "gpt-5.6": _ROWS["gpt-5.6-sol"],
        "gpt-4o-2024-05-13": {"input": "5", "output": "15"},
    },
    dated="2026-10-09",
    source="Pricing, https://developers.openai.com/api/docs/pricing",
)
"""The table that `openai.chat` takes for the vendor ``openai``; a file's own rows go before it."""
