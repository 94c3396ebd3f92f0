"""What each family of Claude models takes, as data; the API refuses what a model does not know with status 400.

State of November 2026, from the vendor's pages on thinking, effort, structured outputs and system messages within a
conversation. Every value is a default that ``profile_overrides`` and a row of one's own can change.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from agentforge.errors import ConfigurationError

__all__ = ("BUDGET_LEVELS", "CLAUDE", "OTHERS", "UNKNOWN", "ModelFamily", "family_of")

#: The levels that have a number of tokens each, where a model thinks within a budget.
BUDGET_LEVELS = ("minimal", "low", "medium", "high", "xhigh")

_THREE = ("low", "medium", "high")
_FOUR = (*_THREE, "max")
_FIVE = (*_THREE, "xhigh", "max")


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFamily:
    """One family.

    >>> family_of("claude-opus-4-6-20260205", CLAUDE).thinking
    'adaptive'
    """

    PATTERNS: ClassVar[tuple[str, ...]] = ("models",)

    #: The family's models (regular expression, searched in the name).
    models: str = ""
    #: ``adaptive``: the model decides, ``budget``: a number of tokens has to be given, ``none``: it cannot think.
    thinking: Literal["adaptive", "budget", "none"] = "adaptive"
    #: Whether it thinks when nothing is said.
    thinks_by_default: bool = False
    #: How thinking is turned off: by saying nothing, by a ``type``, or not at all (``None``).
    off: Literal["omit", "disabled", "between_tools"] | None = "omit"
    #: The levels of ``output_config.effort``, lowest first; empty where the field is refused.
    efforts: tuple[str, ...] = _FIVE
    #: Whether a call can be forced at all (``any``, ``tool``).
    forced_choice: bool = True
    #: Whether temperature and top_p are taken, and whether both at once are.
    sampling: bool = True
    both_sampling: bool = True
    #: Strict tools and answers held to a JSON Schema.
    strict: bool = True
    #: Whether a system message may stand within the conversation.
    system_in_place: bool = False
    #: The ``max_tokens`` of a request that sets none; thinking counts in it, but a budget is added to it.
    max_tokens: int = 32_000

    def __post_init__(self) -> None:
        try:
            re.compile(self.models)
        except re.error as error:
            raise ConfigurationError(
                f"models of a family is no regular expression: {error}", next_step=f"Correct {self.models!r}."
            ) from None


#: What is assumed of a model that has a name of one's own.
UNKNOWN = ModelFamily(max_tokens=8_192)

#: What hosts of other models take that speak this form: the older way to ask for thinking.
OTHERS = ModelFamily(thinking="budget", off="disabled", efforts=(), strict=False, max_tokens=8_192)

#: The families, first match first.
CLAUDE: tuple[ModelFamily, ...] = (
    ModelFamily(
        models=r"claude-(?:fable|mythos)-5-[12]\b|claude-opus-5-5\b",
        thinks_by_default=True,
        off=None,
        forced_choice=False,
        sampling=False,
        system_in_place=True,
    ),
    ModelFamily(
        models=r"claude-sonnet-5-5\b",
        thinks_by_default=True,
        off="between_tools",
        forced_choice=False,
        sampling=False,
        system_in_place=True,
    ),
    ModelFamily(
        models=r"claude-haiku-5-5\b|claude-(?:opus|sonnet)-5\b",
        thinks_by_default=True,
        off="disabled",
        sampling=False,
        system_in_place=True,
    ),
    ModelFamily(
        models=r"claude-(?:fable|mythos)-5\b", thinks_by_default=True, off=None, sampling=False, system_in_place=True
    ),
    ModelFamily(
        models=r"claude-mythos-preview\b", thinks_by_default=True, off=None, forced_choice=False, sampling=False
    ),
    ModelFamily(models=r"claude-opus-4-8\b", sampling=False, system_in_place=True),
    ModelFamily(models=r"claude-opus-4-7\b", sampling=False),
    ModelFamily(models=r"claude-(?:opus|sonnet)-4-6\b", efforts=_FOUR, both_sampling=False),
    ModelFamily(models=r"claude-opus-4-5\b", thinking="budget", efforts=_THREE, both_sampling=False, max_tokens=8_000),
    ModelFamily(
        models=r"claude-(?:sonnet|haiku)-4-5\b|claude-opus-4-1\b",
        thinking="budget",
        efforts=(),
        both_sampling=False,
        max_tokens=8_000,
    ),
    ModelFamily(
        models=r"claude-(?:opus|sonnet)-4(?!-[1-9]\b)|claude-4-|claude-3-7",
        thinking="budget",
        efforts=(),
        strict=False,
        max_tokens=8_000,
    ),
    ModelFamily(models=r"claude-3-5", thinking="none", efforts=(), strict=False, max_tokens=8_192),
    ModelFamily(models=r"claude-(?:[123]|instant)", thinking="none", efforts=(), strict=False, max_tokens=4_096),
    # A model that is newer than this table.
    ModelFamily(models=r"claude-", thinks_by_default=True, off="disabled", sampling=False, system_in_place=True),
)


def family_of(model: str, families: Sequence[ModelFamily]) -> ModelFamily:
    """The first family that the name fits, else `UNKNOWN`."""
    return next((family for family in families if re.search(family.models, model)), UNKNOWN)
