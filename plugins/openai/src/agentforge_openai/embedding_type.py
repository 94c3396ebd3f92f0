"""The bean type ``openai.embeddings``: an endpoint as of `openai.chat`, and what is asked of it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge.model import EmbeddingModel
from agentforge.plugin import BeanContext, BeanType, Count
from agentforge_openai.brought import FAMILY
from agentforge_openai.embeddings import OpenAiEmbeddingModel
from agentforge_openai.endpoint_settings import EndpointSettings, endpoint_of, mask_secrets

__all__ = ("EMBEDDINGS", "OpenAiEmbeddingsSettings", "make_embedding_model")


class OpenAiEmbeddingsSettings(EndpointSettings):
    """What `openai.embeddings` takes."""

    dimensions: Count | None = None
    """How many numbers a vector has, where the model can do with fewer; unset: the model's own."""
    batch_size: Count = 128
    """How many texts a request holds at most."""

    def model_post_init(self, context: Any) -> None:
        """Make the model once (nothing is sent), so that its own checks speak when the file is checked."""
        given = context if isinstance(context, Mapping) else {}
        brought = given["vendor_profiles"](FAMILY) if "vendor_profiles" in given else {}
        try:
            _model(self, self.ca_bundle, given.get("environment"), brought)
        except ConfigurationError as error:
            step = f". {error.next_step}" if error.next_step else ""
            raise ValueError(f"{error.message}{step}") from None


def make_embedding_model(settings: OpenAiEmbeddingsSettings, context: BeanContext) -> OpenAiEmbeddingModel:
    """The model; what it holds that is secret is masked in the context too."""
    mask_secrets(settings, context)
    bundle = str(context.folder / settings.ca_bundle) if settings.ca_bundle else None
    return _model(settings, bundle, context.environment, context.vendor_profiles(FAMILY))


def _endpoints(settings: OpenAiEmbeddingsSettings, context: BeanContext) -> tuple[str, ...]:
    """What the model asks; behind a proxy only the proxy can tell whether it is there."""
    model = _model(settings, settings.ca_bundle, context.environment, context.vendor_profiles(FAMILY))
    return (model.base_url,) if settings.proxy is None else ()


def _model(
    settings: OpenAiEmbeddingsSettings,
    ca_bundle: str | None,
    environment: Mapping[str, str] | None,
    brought: Mapping[str, Mapping[str, object]],
) -> OpenAiEmbeddingModel:
    return OpenAiEmbeddingModel(
        **endpoint_of(settings, ca_bundle, environment, brought),
        dimensions=settings.dimensions,
        batch_size=settings.batch_size,
    )


EMBEDDINGS = BeanType(
    "openai.embeddings",
    OpenAiEmbeddingsSettings,
    make_embedding_model,
    EmbeddingModel,
    "Texts as vectors, behind an endpoint of the same form.",
    endpoints=_endpoints,
)
"""The type."""
