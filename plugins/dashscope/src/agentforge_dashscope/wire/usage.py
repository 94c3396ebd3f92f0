"""Token counts of this API; those of a stream grow with it, so that the last ones are the reply's."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import TokenUsage

__all__ = ("decode_usage",)


def decode_usage(raw: Mapping[str, object]) -> TokenUsage:
    """The counts as reported; the total is never computed.

    >>> decode_usage({"input_tokens": 5, "output_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}})
    TokenUsage(input_tokens=5, output_tokens=2, total_tokens=None, cached_input_tokens=4, cache_write_tokens=None, \
reasoning_tokens=None, cost=None, currency=None, partial_costs=())
    """
    given, made = raw.get("prompt_tokens_details"), raw.get("output_tokens_details")
    prompt: Mapping[str, object] = given if isinstance(given, Mapping) else {}
    output: Mapping[str, object] = made if isinstance(made, Mapping) else {}
    return TokenUsage(
        _count(raw.get("input_tokens")),
        _count(raw.get("output_tokens")),
        _count(raw.get("total_tokens")),
        _count(prompt.get("cached_tokens")),
        _count(prompt.get("cache_creation_input_tokens")),
        _count(output.get("reasoning_tokens")),
        raw,
    )


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if type(value) is int and value >= 0 else None
