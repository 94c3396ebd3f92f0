"""Token counts of the Responses form."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import TokenUsage
from agentforge_openai.wire.usage import count_of

__all__ = ("decode_usage",)

_NOTHING: Mapping[str, object] = {}


def decode_usage(raw: Mapping[str, object]) -> TokenUsage:
    """The counts as reported; the total is never computed.

    >>> decode_usage({"input_tokens": 5, "input_tokens_details": {"cached_tokens": 4}}).cached_input_tokens
    4
    """
    read, made = _details(raw.get("input_tokens_details")), _details(raw.get("output_tokens_details"))
    return TokenUsage(
        count_of(raw.get("input_tokens")),
        count_of(raw.get("output_tokens")),
        count_of(raw.get("total_tokens")),
        count_of(read.get("cached_tokens")),
        count_of(read.get("cache_write_tokens")),
        count_of(made.get("reasoning_tokens")),
        raw,
    )


def _details(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else _NOTHING
