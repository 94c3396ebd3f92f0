"""Token counts of the Responses form."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import TokenUsage

__all__ = ("decode_usage",)

_NOTHING: Mapping[str, object] = {}


def decode_usage(raw: Mapping[str, object]) -> TokenUsage:
    """The counts as reported; the total is never computed.

    >>> decode_usage({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}).cached_input_tokens
    4
    """
    read, made = _details(raw.get("input_tokens_details")), _details(raw.get("output_tokens_details"))
    return TokenUsage(
        _count(raw.get("input_tokens")),
        _count(raw.get("output_tokens")),
        _count(raw.get("total_tokens")),
        _count(read.get("cached_tokens")),
        _count(read.get("cache_write_tokens")),
        _count(made.get("reasoning_tokens")),
        raw,
    )


def _details(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else _NOTHING


def _count(value: object) -> int | None:
    if type(value) is int or value is None:
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None
