"""Token counts of this form: two numbers, beside times in nanoseconds."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.model import TokenUsage

__all__ = ("decode_usage",)

_RAW = (
    "total_duration",
    "load_duration",
    "prompt_eval_count",
    "prompt_eval_duration",
    "eval_count",
    "eval_duration",
)


def decode_usage(last: Mapping[str, object]) -> TokenUsage:
    """The counts of the object that ends a reply; ``raw`` keeps them and the times. Older servers leave out the input
    where all of it was cached; then nothing is known of the total either.

    >>> decode_usage({"eval_count": 7, "total_duration": 5}).raw
    {'total_duration': 5, 'eval_count': 7}
    """
    raw = {name: last[name] for name in _RAW if last.get(name) is not None}
    if not raw:
        return TokenUsage()
    taken, made = _count(raw.get("prompt_eval_count")), _count(raw.get("eval_count"))
    total = taken + made if taken is not None and made is not None else None
    return TokenUsage(taken, made, total, raw=raw)


def _count(value: object) -> int | None:
    if type(value) is int:
        return value if value >= 0 else None
    return int(value) if isinstance(value, float) and value.is_integer() and value >= 0 else None
