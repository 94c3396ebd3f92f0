"""Token counts, in one form for all providers (their own counting bases differ: see `raw`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ("TokenUsage",)


@dataclass(frozen=True, slots=True)
class TokenUsage:
    """Tokens of one reply or, added up, of many. ``None`` means: not reported. Input includes cached tokens, output
    includes reasoning; ``raw`` is the provider's own object and does not survive adding.

    >>> (TokenUsage(10, 20, 30) + TokenUsage(1, 2, 3)).total_tokens
    33
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    total_tokens: int | None = None
    cached_input_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None
    raw: Mapping[str, object] | None = field(default=None, compare=False, repr=False)

    def __add__(self, other: TokenUsage) -> TokenUsage:
        return TokenUsage(
            _sum(self.input_tokens, other.input_tokens),
            _sum(self.output_tokens, other.output_tokens),
            _sum(self.total_tokens, other.total_tokens),
            _sum(self.cached_input_tokens, other.cached_input_tokens),
            _sum(self.cache_write_tokens, other.cache_write_tokens),
            _sum(self.reasoning_tokens, other.reasoning_tokens),
        )


def _sum(a: int | None, b: int | None) -> int | None:
    return b if a is None else a if b is None else a + b
