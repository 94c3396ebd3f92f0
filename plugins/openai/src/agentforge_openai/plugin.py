"""The plugin: the bean types ``openai.chat``, with every setting of `OpenAiChatModel` that a file can hold, and
``openai.embeddings``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from agentforge.errors import ConfigurationError
from agentforge.model import ChatModel
from agentforge.plugin import BeanContext, BeanType, Field, ParameterSettings, hookimpl
from agentforge_openai.brought import FAMILY
from agentforge_openai.embedding_type import EMBEDDINGS
from agentforge_openai.endpoint_settings import EndpointSettings, endpoint_of, mask_secrets
from agentforge_openai.model import OpenAiChatModel

__all__ = (
    "AGENTFORGE_API",
    "OpenAiChatSettings",
    "agentforge_bean_types",
    "make_chat_model",
)

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


class OpenAiChatSettings(EndpointSettings):
    """What `openai.chat` takes. Everything that the model would refuse is found when the file is checked."""

    tool_mode: Literal["native", "json_schema"] | None = None
    """json_schema describes the tools in the prompt, for models whose endpoint takes none; unset: as the vendor."""
    defaults: ParameterSettings = ParameterSettings()
    """Parameters of every request that does not set its own."""
    profile_overrides: dict[str, Any] = Field(default_factory=dict)
    """Fields of the model's profile that differ from the vendor's row."""

    def model_post_init(self, context: Any) -> None:
        """Make the model once (nothing is sent), so that its own checks speak when the file is checked.

        ``context`` is that of the validation: the variables as ``environment``, and ``vendor_profiles``, which gives
        the vendors of a family; without one the process's variables hold, and there are no further vendors.
        """
        given = context if isinstance(context, Mapping) else {}
        brought = given["vendor_profiles"](FAMILY) if "vendor_profiles" in given else {}
        try:
            _model(self, self.ca_bundle, given.get("environment"), brought)
        except ConfigurationError as error:
            step = f". {error.next_step}" if error.next_step else ""
            raise ValueError(f"{error.message}{step}") from None


def make_chat_model(settings: OpenAiChatSettings, context: BeanContext) -> OpenAiChatModel:
    """The model; what it holds that is secret is masked in the context too."""
    mask_secrets(settings, context)
    bundle = str(context.folder / settings.ca_bundle) if settings.ca_bundle else None
    return _model(settings, bundle, context.environment, context.vendor_profiles(FAMILY))


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """The types of this plugin."""
    register(
        BeanType(
            "openai.chat",
            OpenAiChatSettings,
            make_chat_model,
            ChatModel,
            "A model behind a Chat Completions endpoint: OpenAI and the vendors that speak its form.",
            endpoints=_endpoints,
        )
    )
    register(EMBEDDINGS)


def _endpoints(settings: OpenAiChatSettings, context: BeanContext) -> tuple[str, ...]:
    """What the model asks; behind a proxy only the proxy can tell whether it is there."""
    model = _model(settings, settings.ca_bundle, context.environment, context.vendor_profiles(FAMILY))
    return (model.base_url,) if settings.proxy is None else ()


def _model(
    settings: OpenAiChatSettings,
    ca_bundle: str | None,
    environment: Mapping[str, str] | None,
    brought: Mapping[str, Mapping[str, object]],
) -> OpenAiChatModel:
    return OpenAiChatModel(
        **endpoint_of(settings, ca_bundle, environment, brought),
        tool_mode=settings.tool_mode,
        defaults=settings.defaults.made(),
        profile_overrides=settings.profile_overrides or None,
    )
