"""The levels of reasoning in their order, and what stands for one that a model does not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import get_args

from agentforge.model import ReasoningEffort

__all__ = ("EFFORTS", "nearest_effort")

#: All levels, the least first.
EFFORTS: tuple[str, ...] = get_args(ReasoningEffort)


def nearest_effort(level: str, known: Sequence[str]) -> str:
    """The level itself, else the nearest one below it among ``known``, else the lowest of these: what was not asked for
    never costs more than what was, as far as the model can do less.

    >>> nearest_effort("max", ["low", "high"]), nearest_effort("minimal", ["low", "high"])
    ('high', 'low')
    """
    if level in known:
        return level
    ranked = sorted((EFFORTS.index(name), name) for name in known if name in EFFORTS)
    below = [name for rank, name in ranked if level in EFFORTS and rank < EFFORTS.index(level)]
    if below:
        return below[-1]
    return ranked[0][1] if ranked else known[0]
