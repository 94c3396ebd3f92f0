"""Models behind the generateContent API for AgentForge: Google Gemini, and the models of Vertex AI."""

from __future__ import annotations

__all__: tuple[str, ...] = ()
