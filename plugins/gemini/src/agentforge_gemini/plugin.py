"""The plugin."""

from __future__ import annotations

__all__ = ("AGENTFORGE_API",)

AGENTFORGE_API = (1, 0)
