"""What families of models do with thinking, as data: the vendor changes this with every generation.

Facts are those of the vendor's reference of this API (2026) and of reports of users; the first family that a name fits
counts, and a model that fits none is taken for one that thinks when it is asked to.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from agentforge.errors import ConfigurationError

__all__ = ("QWEN", "UNKNOWN", "ThinkingFamily", "family_of")


@dataclass(frozen=True, slots=True, kw_only=True)
class ThinkingFamily:
    """Models that think alike; ``models`` is a regular expression of their names.

    >>> family_of("qwen3.7-plus", QWEN).by_default, family_of("qwen-plus", QWEN).by_default
    (True, False)
    """

    models: str
    #: ``switched``: ``enable_thinking`` turns it on and off; the others refuse the switch, one way or both.
    can: Literal["switched", "always", "never"] = "switched"
    #: Whether a model that can be switched thinks unless told otherwise.
    by_default: bool = False
    #: The levels that go out as ``reasoning_effort``; empty where only a budget says how much.
    levels: tuple[str, ...] = ()
    #: Whether ``thinking_budget`` is known.
    budget: bool = True
    #: Whether the reasoning of earlier turns has to go back (the vendor's ``preserve_thinking`` is on by itself).
    replays: bool = False

    def __post_init__(self) -> None:
        try:
            re.compile(self.models)
        except re.error as error:
            raise ConfigurationError(
                f"models of a family is no regular expression: {error}", next_step=f"Correct {self.models!r}."
            ) from None


#: What is assumed of a model that fits no family.
UNKNOWN = ThinkingFamily(models="")

#: The families, first match first.
QWEN: tuple[ThinkingFamily, ...] = (
    ThinkingFamily(models=r"^qwen3\.8-max\b", can="always", levels=("low", "medium", "xhigh"), replays=True),
    ThinkingFamily(models=r"^(?:qwq|qvq)\b|^deepseek-r1\b", can="always", budget=False),
    ThinkingFamily(models=r"-thinking\b", can="always"),
    ThinkingFamily(models=r"-instruct\b|-coder\b|^qwen2(?:\.5)?-|^qwen-(?:max|long|math|vl|audio|mt)\b", can="never"),
    ThinkingFamily(models=r"^deepseek-v4\b", by_default=True, levels=("high", "max")),
    ThinkingFamily(models=r"^glm-5", levels=("high", "max")),
    ThinkingFamily(models=r"kimi-k2\.7-code\b", by_default=True, replays=True),
    ThinkingFamily(models=r"^qwen3\.(?:[5-9]|[1-9][0-9])", by_default=True),
    # The open ones, named by their size.
    ThinkingFamily(models=r"^qwen3-[0-9.]+b\b", by_default=True),
)


def family_of(model: str, families: Sequence[ThinkingFamily]) -> ThinkingFamily:
    """The first family that the name fits, else `UNKNOWN`."""
    return next((family for family in families if re.search(family.models, model)), UNKNOWN)
