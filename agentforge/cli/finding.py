"""One thing that ``agentforge doctor`` looked at: whether it is well, and what to do when it is not."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

__all__ = ("Finding", "Level")

Level = Literal["ok", "warning", "fault"]


@dataclass(frozen=True, slots=True)
class Finding:
    """``name`` says what kind it is (``plugin-failed``, or the code of a configuration's fault) and never changes its
    meaning; ``what`` is a sentence, ``where`` a place, ``next_step`` what to do."""

    level: Level
    name: str
    what: str
    where: str | None = None
    next_step: str | None = None

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)
