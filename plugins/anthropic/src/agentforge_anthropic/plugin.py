"""The plugin: the bean type ``anthropic.messages``, with every setting of `AnthropicChatModel` that a file can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from agentforge.model import ChatModel
from agentforge.plugin import BeanType, Field, hookimpl
from agentforge.provider import ChatSettings, endpoints_of, make_model
from agentforge_anthropic.model import AnthropicChatModel
from agentforge_anthropic.rows import MESSAGES_VENDORS

__all__ = ("AGENTFORGE_API", "AnthropicChatSettings", "agentforge_bean_types")

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


class AnthropicChatSettings(ChatSettings):
    """What `anthropic.messages` takes. Everything that the model would refuse is found when the file is checked."""

    VENDORS = MESSAGES_VENDORS

    auth: Literal["x-api-key", "bearer"] | None = None
    """How the key goes out; unset: as the vendor."""
    version: str | None = None
    """The version of the API; unset: as the vendor."""
    betas: list[str] = Field(default_factory=list)
    """Features of the API to ask for, by the names of its header."""
    cache: Literal["off", "auto", "tools", "system", "tools_and_system", "all"] = "off"
    """What the provider is told to cache: what it chooses (auto), or up to the end of the tools or instructions."""
    cache_ttl: Literal["5m", "1h"] = "5m"
    """How long it keeps that."""
    thinking_display: Literal["summarized", "omitted"] | None = None
    """Whether the text of thinking comes back; unset: as the model."""

    def further(self) -> dict[str, Any]:
        """Arguments of the model that only this protocol has."""
        return {
            "auth": self.auth,
            "version": self.version,
            "betas": tuple(self.betas),
            "cache": self.cache,
            "cache_ttl": self.cache_ttl,
            "thinking_display": self.thinking_display,
        }

    def model_of(self, endpoint: Mapping[str, Any]) -> AnthropicChatModel:
        """The model."""
        return AnthropicChatModel(**endpoint, **self.chat_arguments())


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """The types of this plugin."""
    register(
        BeanType(
            "anthropic.messages",
            AnthropicChatSettings,
            make_model,
            ChatModel,
            "A model behind the Messages API: Anthropic's, and hosts that speak its form.",
            endpoints=endpoints_of,
        )
    )
