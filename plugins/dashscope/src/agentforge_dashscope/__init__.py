"""Models behind DashScope's own generation API for AgentForge: Qwen."""

from __future__ import annotations

__all__: tuple[str, ...] = ()
