"""What can be wrong with a chain of advisors."""

from __future__ import annotations

from collections.abc import Sequence

from agentforge.errors import ConfigurationError, RunError

__all__ = ("AdvisorError", "AdvisorOrderError", "BudgetExceededError", "StructuredOutputError")


class AdvisorError(RunError):
    """An advisor did something that a chain cannot go on with."""

    code = "AF510"


class BudgetExceededError(RunError):
    """A turn needed more than its budget. ``limit`` is the setting (``calls``, ``calls:TOOL``, ``model_calls``,
    ``tokens``, ``time``, ``cost``), ``used`` and ``allowed`` are its figures; ``partial`` holds what was done."""

    code = "AF511"

    def __init__(
        self,
        message: str,
        *,
        limit: str = "",
        used: float = 0,
        allowed: float = 0,
        location: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(message, location=location, next_step=next_step)
        self.limit = limit
        self.used = used
        self.allowed = allowed


class StructuredOutputError(RunError):
    """An answer that has not the form it was to have, or none at all. ``text`` is the last one, as the model wrote it,
    ``problems`` are words on what is wrong with it, ``attempts`` says how often the model was asked."""

    code = "AF512"

    def __init__(
        self,
        message: str,
        *,
        text: str = "",
        problems: Sequence[str] = (),
        attempts: int = 1,
        location: str | None = None,
        next_step: str | None = None,
    ) -> None:
        super().__init__(message, location=location, next_step=next_step)
        self.text = text
        self.problems = tuple(problems)
        self.attempts = attempts


class AdvisorOrderError(ConfigurationError):
    """Advisors that cannot stand in one chain: places that contradict each other, two tool advisors, what is none."""

    code = "AF124"
