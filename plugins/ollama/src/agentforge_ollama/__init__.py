"""Models behind Ollama's own chat API for AgentForge."""

from __future__ import annotations

__all__: tuple[str, ...] = ()
