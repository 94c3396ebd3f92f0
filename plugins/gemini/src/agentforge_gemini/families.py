"""What each family of Gemini models takes, as data; the API refuses what a model does not know with status 400.

State of November 2026, from the vendor's pages on thinking, function calling, thought signatures and structured output.
Every value is a default that ``profile_overrides`` and a row of one's own can change.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from agentforge.errors import ConfigurationError

__all__ = ("GEMINI", "OTHERS", "UNKNOWN", "ModelFamily", "family_of")

_BUDGETS = {"minimal": 512, "low": 1024, "medium": 8192, "high": 24_576}


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFamily:
    """One family of models.

    >>> family_of("gemini-2.5-flash-lite", GEMINI).thinking
    'budget'
    """

    PATTERNS: ClassVar[tuple[str, ...]] = ("models",)

    #: The family's models (regular expression, searched in the name).
    models: str = ""
    #: ``level``: thinking has levels, ``budget``: it takes a number of tokens, ``none``: it cannot be asked for.
    thinking: Literal["level", "budget", "none"] = "level"
    #: The levels, lowest first.
    levels: tuple[str, ...] = ("low", "medium", "high")
    #: The tokens of each effort, lowest first, where thinking takes a number.
    budgets: Mapping[str, int] = field(default_factory=lambda: dict(_BUDGETS), hash=False)
    #: Whether thinking can be turned off.
    off: bool = False
    #: Whether calls of the current turn must carry the signature that they came with.
    signatures: bool = True
    #: Whether schemas go out as JSON Schema; else in the older subset of OpenAPI's.
    json_schema: bool = True
    #: Whether calls can be held to their schemas while the model may answer with text (mode ``VALIDATED``).
    validated: bool = True
    #: Whether functions can stand beside tools that the vendor runs, and beside a form of the answer.
    combines: bool = True
    #: Whether the result of a call can hold media.
    result_media: bool = True
    #: Whether the models call functions at all.
    tools: bool = True
    #: Whether answers can be held to JSON.
    json_answers: bool = True

    def __post_init__(self) -> None:
        try:
            re.compile(self.models)
        except re.error as error:
            raise ConfigurationError(
                f"models of a family is no regular expression: {error}", next_step=f"Correct {self.models!r}."
            ) from None

    @property
    def efforts(self) -> tuple[str, ...]:
        """The levels of ``reasoning_effort`` that these models know, beside ``none``."""
        if self.thinking == "none":
            return ()
        return self.levels if self.thinking == "level" else tuple(self.budgets)


#: What is assumed of a model whose name says nothing: the newest.
UNKNOWN = ModelFamily()

#: What hosts of other models take that speak this form: the older forms, which every server knows.
OTHERS = ModelFamily(signatures=False, json_schema=False, validated=False, combines=False, result_media=False)

_ALL_LEVELS = ("minimal", "low", "medium", "high")

#: The families, first match first.
GEMINI: tuple[ModelFamily, ...] = (
    ModelFamily(models=r"gemini-.*-image\b", thinking="none", tools=False, json_answers=False),
    ModelFamily(
        models=r"gemini-(?:1\b|2\.0)",
        thinking="none",
        signatures=False,
        json_schema=False,
        validated=False,
        combines=False,
        result_media=False,
    ),
    ModelFamily(
        models=r"gemini-2\.5-pro",
        thinking="budget",
        budgets={**_BUDGETS, "xhigh": 32_768},
        signatures=False,
        combines=False,
        result_media=False,
    ),
    ModelFamily(
        models=r"gemini-2\.5", thinking="budget", off=True, signatures=False, combines=False, result_media=False
    ),
    # Open models that the vendor's API serves; they think or do not.
    ModelFamily(
        models=r"gemma-",
        levels=("minimal", "high"),
        signatures=False,
        json_schema=False,
        validated=False,
        combines=False,
        result_media=False,
    ),
    ModelFamily(models=r"gemini-3-pro", levels=("low", "high")),
    ModelFamily(models=r"gemini-3(?:\.\d)?-flash-lite|gemini-3(?:\.[1-6])?-flash\b", levels=_ALL_LEVELS),
    # 3.1 Pro, 3.7 Flash and newer, all of Gemini 4, the names that move to the latest, and whatever comes.
    ModelFamily(models=r"gemini-"),
)


def family_of(model: str, families: Sequence[ModelFamily]) -> ModelFamily:
    """The first family that the name fits, else `UNKNOWN`."""
    return next((family for family in families if re.search(family.models, model)), UNKNOWN)
