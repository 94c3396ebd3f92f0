"""Token counts of this form, which counts thoughts and the input of the vendor's own tools apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model import TokenUsage

__all__ = ("decode_usage",)


def decode_usage(raw: Mapping[str, Any]) -> TokenUsage:
    """The counts in our terms: input includes what was cached and what the vendor's own tools read, output the
    thoughts. The total is the vendor's.

    >>> decode_usage({"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3}).output_tokens
    5
    """
    thoughts = _count(raw.get("thoughtsTokenCount"))
    return TokenUsage(
        _sum(_count(raw.get("promptTokenCount")), _count(raw.get("toolUsePromptTokenCount"))),
        _sum(_count(raw.get("candidatesTokenCount")), thoughts),
        _count(raw.get("totalTokenCount")),
        _count(raw.get("cachedContentTokenCount")),
        None,
        thoughts,
        raw,
    )


def _sum(one: int | None, other: int | None) -> int | None:
    return other if one is None else one if other is None else one + other


def _count(value: object) -> int | None:
    if type(value) is int:
        return value
    return int(value) if isinstance(value, float) and value.is_integer() else None
