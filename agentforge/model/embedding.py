"""Models that turn texts into vectors: texts that mean the same lie near each other."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from agentforge.model.usage import TokenUsage

__all__ = ("EmbeddingModel", "EmbeddingResponse")


@dataclass(frozen=True, slots=True)
class EmbeddingResponse:
    """A vector for each text, in their order, all of one length; and what it cost."""

    vectors: tuple[Sequence[float], ...]
    token_usage: TokenUsage = field(default_factory=TokenUsage)
    model_name: str | None = None


@runtime_checkable
class EmbeddingModel(Protocol):
    """Turns texts into vectors."""

    async def embed(self, texts: Sequence[str]) -> EmbeddingResponse:
        """A vector for each text; of no text, none. Raises `ModelError`."""
        ...
