"""The bean type ``openai.embeddings``: an endpoint as of `openai.chat`, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model import EmbeddingModel
from agentforge.plugin import BeanType, Count
from agentforge.provider import endpoints_of, make_model
from agentforge_openai.embeddings import OpenAiEmbeddingModel
from agentforge_openai.openai_settings import OpenAiEndpointSettings

__all__ = ("EMBEDDINGS", "OpenAiEmbeddingsSettings")


class OpenAiEmbeddingsSettings(OpenAiEndpointSettings):
    """What `openai.embeddings` takes."""

    dimensions: Count | None = None
    """How many numbers a vector has, where the model can do with fewer; unset: the model's own."""
    batch_size: Count = 128
    """How many texts a request holds at most."""

    def model_of(self, endpoint: Mapping[str, Any]) -> OpenAiEmbeddingModel:
        """The model."""
        return OpenAiEmbeddingModel(**endpoint, dimensions=self.dimensions, batch_size=self.batch_size)


EMBEDDINGS = BeanType(
    "openai.embeddings",
    OpenAiEmbeddingsSettings,
    make_model,
    EmbeddingModel,
    "Texts as vectors, behind an endpoint of the same form.",
    endpoints=endpoints_of,
)
"""The type."""
