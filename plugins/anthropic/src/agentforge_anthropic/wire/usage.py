"""Token counts of the Messages form, which counts cached input apart from other input."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model import TokenUsage

__all__ = ("decode_usage", "merge_usage")


def merge_usage(known: dict[str, Any], more: Mapping[str, object]) -> None:
    """Take the counts of a further event: they are cumulative, and one that is absent or null keeps its value."""
    for name, value in more.items():
        if value is not None:
            known[name] = value


def decode_usage(raw: Mapping[str, Any]) -> TokenUsage:
    """The counts in our terms: input includes what was read from and written to the cache, output the thinking.

    >>> decode_usage({"input_tokens": 5, "cache_read_input_tokens": 20, "output_tokens": 2}).input_tokens
    25
    """
    fresh, output = _count(raw.get("input_tokens")), _count(raw.get("output_tokens"))
    cached, written = _count(raw.get("cache_read_input_tokens")), _count(raw.get("cache_creation_input_tokens"))
    counts = [count for count in (fresh, cached, written) if count is not None]
    taken = sum(counts) if counts else None
    details = raw.get("output_tokens_details")
    thinking = _count(details.get("thinking_tokens")) if isinstance(details, dict) else None
    total = taken + output if taken is not None and output is not None else None
    return TokenUsage(taken, output, total, cached, written, thinking, raw)


def _count(value: object) -> int | None:
    if type(value) is int:
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None
