"""How a memory keeps conversations; each setting has a default."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Literal

from agentforge.errors import ConfigurationError
from agentforge.memory.summarising import Condenser
from agentforge.memory.windows import MessageWindow, Window, check_bound

__all__ = ("DEFAULT_MAX_MESSAGES", "MemorySettings", "utc_now")

DEFAULT_MAX_MESSAGES = 100
"""How many messages a conversation keeps when no window is given."""


def utc_now() -> datetime:
    """Now, with its time zone."""
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class MemorySettings:
    """See `ChatMemory`, which takes these. Raises `ConfigurationError` for values that cannot be honoured."""

    window: Window | Condenser = field(default_factory=lambda: MessageWindow(DEFAULT_MAX_MESSAGES))
    stores: Literal["window", "everything"] = "window"
    on_failure: Literal["discard", "keep"] = "discard"
    ttl: timedelta | None = None
    max_state_bytes: int = 64 * 1024
    clock: Callable[[], datetime] = utc_now

    def __post_init__(self) -> None:
        _check_one_of("stores", self.stores, ("window", "everything"))
        _check_one_of("on_failure", self.on_failure, ("discard", "keep"))
        check_bound("max_state_bytes", self.max_state_bytes, 2)
        if self.ttl is not None and self.ttl <= timedelta():
            raise ConfigurationError("ttl must be above 0 seconds", next_step="Use None to keep conversations.")
        if not isinstance(self.window, (Window, Condenser)):
            raise ConfigurationError(
                f"a window has a method 'fit' or 'condense'; {type(self.window).__name__} has none"
            )
        if self.stores == "everything" and isinstance(self.window, Condenser):
            raise ConfigurationError(
                "a memory that stores everything cannot have a window that sums up: the summary is what it stores",
                next_step="Give it stores='window', or a window that only cuts.",
            )


def _check_one_of(name: str, value: object, known: tuple[str, ...]) -> None:
    if value not in known:
        raise ConfigurationError(f"{name} must be {' or '.join(map(repr, known))}, not {value!r}")
