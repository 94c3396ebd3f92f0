"""What is known of one plugin: where it comes from, whether it is usable, and why not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ("PluginState", "State")

State: TypeAlias = Literal["found", "active", "failed", "blocked", "duplicate", "incompatible"]
"""``found``: installed and not yet imported. ``blocked``: switched off. ``duplicate``: two distributions or two
targets of one name. ``incompatible``: written for another version of the hooks. ``failed``: its import or its
registration raised."""


@dataclass(frozen=True, slots=True)
class PluginState:
    """One plugin as it stands. ``types`` are its bean types' names, ``hooks`` what it implements, ``seconds`` how long
    its loading took, ``reason`` why it is not usable; ``cause`` is what it raised."""

    name: str
    distribution: str
    version: str
    state: State
    types: tuple[str, ...] = ()
    hooks: tuple[str, ...] = ()
    seconds: float = 0.0
    reason: str | None = None
    cause: BaseException | None = None

    @property
    def usable(self) -> bool:
        """Whether it can bring what it declares."""
        return self.state in ("found", "active")

    @property
    def words(self) -> str:
        """The state as the end of a sentence: ``is blocked``, ``has failed``."""
        return "has failed" if self.state == "failed" else f"is {self.state}"

    def __str__(self) -> str:
        reason = f": {self.reason}" if self.reason else ""
        return f"plugin {self.name!r} ({self.distribution} {self.version}) {self.words}{reason}"
