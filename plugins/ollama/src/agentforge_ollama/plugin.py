"""The plugin: the bean type ``ollama.chat``, with every setting of `OllamaChatModel` that a file can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agentforge.model import ChatModel
from agentforge.plugin import Amount, BeanType, hookimpl
from agentforge.provider import ChatSettings, endpoints_of, make_model
from agentforge_ollama.model import OllamaChatModel
from agentforge_ollama.rows import OLLAMA_VENDORS

__all__ = ("AGENTFORGE_API", "OllamaChatSettings", "agentforge_bean_types")

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


class OllamaChatSettings(ChatSettings):
    """What `ollama.chat` takes. Everything that the model would refuse is found when the file is checked."""

    VENDORS = OLLAMA_VENDORS

    num_ctx: Amount | None = None
    """How many tokens a conversation may have, tools and answer included; unset: as the server, often few."""
    truncate: bool | None = None
    """Whether the server leaves out the beginning of a conversation that is too long; unset: that is an error."""
    keep_alive: str | int | None = None
    """How long the server keeps the model loaded: seconds, or a text such as 10m; -1 is for ever."""

    def further(self) -> dict[str, Any]:
        """Arguments of the model that only this protocol has."""
        return {"num_ctx": self.num_ctx, "truncate": self.truncate, "keep_alive": self.keep_alive}

    def model_of(self, endpoint: Mapping[str, Any]) -> OllamaChatModel:
        """The model."""
        return OllamaChatModel(**endpoint, **self.chat_arguments())


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """The types of this plugin."""
    register(
        BeanType(
            "ollama.chat",
            OllamaChatSettings,
            make_model,
            ChatModel,
            "A model behind Ollama's own chat API: a server of one's own, or Ollama's cloud.",
            endpoints=endpoints_of,
        )
    )
