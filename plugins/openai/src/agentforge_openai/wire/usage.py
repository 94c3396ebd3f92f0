"""Token counts of the Chat Completions family; vendors put cached tokens in five places, and some count reasoning
beside the output instead of in it."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import TokenUsage

__all__ = ("count_of", "decode_usage")


def decode_usage(raw: Mapping[str, object], *, reasoning_only_in_total: bool = False) -> TokenUsage:
    """The counts as reported; the total is never computed. With ``reasoning_only_in_total`` tokens that only the total
    holds count as reasoning and output. Reasoning that the total shows to be counted beside the output is output, too.

    >>> decode_usage({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}).output_tokens
    2
    """
    get = raw.get
    prompt, completion, total = get("prompt_tokens"), get("completion_tokens"), get("total_tokens")
    in_detail, out_detail = get("prompt_tokens_details"), get("completion_tokens_details")
    cached = in_detail.get("cached_tokens") if type(in_detail) is dict else None
    written = reasoning = None
    if type(in_detail) is dict:
        written = in_detail.get("cache_creation_input_tokens")
        if written is None:
            written = in_detail.get("cache_write_tokens")
    if cached is None:
        cached = get("prompt_cache_hit_tokens")
    if cached is None:
        cached = get("cached_tokens")
    if cached is None:
        cached = get("num_cached_tokens")
    if type(out_detail) is dict:
        reasoning = out_detail.get("reasoning_tokens")
    prompt, completion, total = count_of(prompt), count_of(completion), count_of(total)
    cached, written, reasoning = count_of(cached), count_of(written), count_of(reasoning)
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
    elif reasoning and prompt is not None and completion is not None and total == prompt + completion + reasoning:
        completion += reasoning
    return TokenUsage(prompt, completion, total, cached, written, reasoning, raw)


def count_of(value: object) -> int | None:
    """The number as a whole one; ``None`` for what is none."""
    if type(value) is int or value is None:
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None
