"""The plugin: the bean types ``openai.chat``, with every setting of `OpenAiChatModel` that a file can hold, and
``openai.embeddings``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from agentforge.model import ChatModel
from agentforge.plugin import BeanType, Field, ParameterSettings, hookimpl
from agentforge_openai.embedding_type import EMBEDDINGS
from agentforge_openai.endpoint_settings import EndpointSettings, endpoints_of, make_model
from agentforge_openai.model import OpenAiChatModel

__all__ = (
    "AGENTFORGE_API",
    "OpenAiChatSettings",
    "agentforge_bean_types",
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

    def model_of(self, endpoint: Mapping[str, Any]) -> OpenAiChatModel:
        """The model."""
        return OpenAiChatModel(
            **endpoint,
            tool_mode=self.tool_mode,
            defaults=self.defaults.made(),
            profile_overrides=self.profile_overrides or None,
        )


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """The types of this plugin."""
    register(
        BeanType(
            "openai.chat",
            OpenAiChatSettings,
            make_model,
            ChatModel,
            "A model behind a Chat Completions endpoint: OpenAI and the vendors that speak its form.",
            endpoints=endpoints_of,
        )
    )
    register(EMBEDDINGS)
