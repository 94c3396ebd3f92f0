"""Marks that make the provider cache the prompt up to them, as a setting of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from agentforge.errors import ConfigurationError
from agentforge.provider import dump_bytes

__all__ = ("CACHES", "CacheMarks")

_MARKED = {
    "off": (),
    "auto": ("auto",),
    "tools": ("tools",),
    "system": ("system",),
    "tools_and_system": ("tools", "system"),
    "all": ("auto", "tools", "system"),
}
#: What ``cache`` may be.
CACHES = tuple(_MARKED)


@dataclass(frozen=True, slots=True)
class CacheMarks:
    """``auto`` leaves it to the provider, which marks the last block of each request; the others mark the end of the
    tools, of the top-level instructions, or of both; ``all`` is ``auto`` and both. ``ttl`` is how long it keeps.

    Raises `ConfigurationError` for anything else.

    >>> CacheMarks("system", "1h").mark("system")
    b',"cache_control":{"type":"ephemeral","ttl":"1h"}'
    """

    cache: str = "off"
    ttl: str = "5m"

    def __post_init__(self) -> None:
        if self.cache not in CACHES:
            raise ConfigurationError(
                f"cache must be one of {', '.join(CACHES)}, not {self.cache!r}",
                next_step="Use 'auto' to let the provider choose what it caches.",
            )
        if self.ttl not in ("5m", "1h"):
            raise ConfigurationError(
                f"cache_ttl must be '5m' or '1h', not {self.ttl!r}", next_step="Leave it unset for five minutes."
            )

    def control(self, place: Literal["auto", "tools", "system"]) -> dict[str, object] | None:
        """The mark for that place, if it gets one."""
        if place not in _MARKED[self.cache]:
            return None
        return {"type": "ephemeral"} if self.ttl == "5m" else {"type": "ephemeral", "ttl": self.ttl}

    def mark(self, place: Literal["auto", "tools", "system"]) -> bytes:
        """The same as a further member of an encoded block; empty for none."""
        control = self.control(place)
        return b"" if control is None else b',"cache_control":' + dump_bytes(control)
