"""Token counts of the Chat Completions family; vendors put cached tokens in four places."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import TokenUsage

__all__ = ("decode_usage",)

_NOTHING: Mapping[str, object] = {}


def decode_usage(raw: Mapping[str, object], *, reasoning_only_in_total: bool = False) -> TokenUsage:
    """The counts as reported; the total is never computed. With ``reasoning_only_in_total`` tokens that only the total
    holds count as reasoning and output.

    >>> decode_usage({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}).output_tokens
    2
    """
    prompt, completion, total = (
        _count(raw, "prompt_tokens"),
        _count(raw, "completion_tokens"),
        _count(raw, "total_tokens"),
    )
    in_detail, out_detail = _part(raw, "prompt_tokens_details"), _part(raw, "completion_tokens_details")
    cached = _first(
        _count(in_detail, "cached_tokens"), _count(raw, "prompt_cache_hit_tokens"), _count(raw, "cached_tokens")
    )
    written = _first(_count(in_detail, "cache_creation_input_tokens"), _count(in_detail, "cache_write_tokens"))
    reasoning = _count(out_detail, "reasoning_tokens")
    if (
        reasoning_only_in_total
        and not reasoning
        and prompt is not None
        and completion is not None
        and total is not None
        and total > prompt + completion
    ):
        reasoning = total - prompt - completion
        completion = total - prompt
    return TokenUsage(prompt, completion, total, cached, written, reasoning, raw)


def _count(raw: Mapping[str, object], name: str) -> int | None:
    value = raw.get(name)
    if type(value) is int or value is None:
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _part(raw: Mapping[str, object], name: str) -> Mapping[str, object]:
    value = raw.get(name)
    return value if isinstance(value, dict) else _NOTHING


def _first(*values: int | None) -> int | None:
    for value in values:
        if value is not None:
            return value
    return None
