"""What can be wrong with a chain of advisors."""

from __future__ import annotations

from agentforge.errors import ConfigurationError, RunError

__all__ = ("AdvisorError", "AdvisorOrderError", "BudgetExceededError")


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


class AdvisorOrderError(ConfigurationError):
    """Advisors that cannot stand in one chain: places that contradict each other, two tool advisors, what is none."""

    code = "AF124"
