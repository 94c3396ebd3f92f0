"""The wire of DashScope's generation API: pure functions both ways, one concept a file."""

from __future__ import annotations

__all__: tuple[str, ...] = ()
