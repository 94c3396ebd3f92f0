"""What Anthropic's models cost, as data: the standard prices of its own endpoint, in US dollars for a million tokens.

``cache_write`` is the price of a cache of five minutes; one of an hour costs 1.6 times that. Batches, fast mode, a
fixed region and built-in tools have other prices, which are not here; neither are those of other platforms. A model of
which no figure was found is left out, and its cost is not known.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import PriceTable

__all__ = ("PRICES",)

_FABLE_5 = {"input": "10", "output": "50", "cached_input": "1", "cache_write": "12.5"}
_FABLE_5_1 = {**_FABLE_5, "cached_input": "0.25"}
_OPUS_4 = {"input": "15", "output": "75", "cached_input": "1.5", "cache_write": "18.75"}
_OPUS_4_5 = {"input": "5", "output": "25", "cached_input": "0.5", "cache_write": "6.25"}
_SONNET_4 = {"input": "3", "output": "15", "cached_input": "0.3", "cache_write": "3.75"}
_SONNET_5 = {"input": "2", "output": "10", "cached_input": "0.2", "cache_write": "2.5"}

_ROWS: Mapping[str, Mapping[str, object]] = {
    "claude-fable-5-2": {
        "input": "8",
        "output": "40",
        "cached_input": "0.2",
        "cache_write": "10",
        "dated": "2026-11-10",
    },
    "claude-fable-5-1": _FABLE_5_1,
    "claude-mythos-5-1": _FABLE_5_1,
    "claude-fable-5": _FABLE_5,
    "claude-mythos-5": _FABLE_5,
    "claude-opus-5-5": {"input": "4", "output": "20", "cached_input": "0.2", "cache_write": "5"},
    "claude-opus-5": _OPUS_4_5,
    "claude-opus-4-8": _OPUS_4_5,
    "claude-opus-4-7": _OPUS_4_5,
    "claude-opus-4-6": _OPUS_4_5,
    "claude-opus-4-5": _OPUS_4_5,
    "claude-opus-4-1": _OPUS_4,
    "claude-opus-4-0": _OPUS_4,
    "claude-opus-4": _OPUS_4,
    "claude-sonnet-5-5": {**_SONNET_5, "cached_input": "0.1"},
    "claude-sonnet-5": _SONNET_5,
    "claude-sonnet-4-6": _SONNET_4,
    "claude-sonnet-4-5": _SONNET_4,
    "claude-sonnet-4-0": _SONNET_4,
    "claude-sonnet-4": _SONNET_4,
    "claude-haiku-5-5": {
        "input": "0.1",
        "output": "0.5",
        "cached_input": "0.01",
        "cache_write": "0.125",
        "above": {
            "input_tokens": 100_000,
            "input": "0.5",
            "output": "2.5",
            "cached_input": "0.05",
            "cache_write": "0.625",
        },
    },
    "claude-haiku-4-5": {"input": "1", "output": "5", "cached_input": "0.1", "cache_write": "1.25"},
    "claude-3-5-haiku": {"input": "0.8", "output": "4", "cached_input": "0.08", "cache_write": "1"},
}

_DAY = "20" + "[0-9]" * 6

PRICES = PriceTable(
    # The second ones are the names of dated snapshots.
    {**_ROWS, **{f"{name}-{_DAY}": row for name, row in _ROWS.items()}},
    dated="2026-10-09",
    source="Pricing, https://platform.claude.com/docs/en/about-claude/pricing",
)
"""The table that `anthropic.messages` takes; a file's own rows go before it."""
