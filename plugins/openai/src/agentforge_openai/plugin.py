"""The plugin: the bean types ``openai.chat``, with every setting of `OpenAiChatModel` that a file can hold,
``openai.responses`` and ``openai.embeddings``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from agentforge.model import ChatModel
from agentforge.plugin import BeanType, hookimpl
from agentforge.provider import ChatSettings, endpoints_of, make_model
from agentforge_openai.embedding_type import EMBEDDINGS
from agentforge_openai.model import OpenAiChatModel
from agentforge_openai.openai_settings import OpenAiEndpointSettings
from agentforge_openai.responses_type import RESPONSES

__all__ = (
    "AGENTFORGE_API",
    "OpenAiChatSettings",
    "agentforge_bean_types",
)

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


class OpenAiChatSettings(ChatSettings, OpenAiEndpointSettings):
    """What `openai.chat` takes. Everything that the model would refuse is found when the file is checked."""

    tools_need_responses: Literal["error", "responses"] = "error"
    """What becomes of tools for models that take them on the Responses API only: an error, or sent there."""

    def model_of(self, endpoint: Mapping[str, Any]) -> OpenAiChatModel:
        """The model."""
        return OpenAiChatModel(**endpoint, **self.chat_arguments(), tools_need_responses=self.tools_need_responses)


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
    register(RESPONSES)
    register(EMBEDDINGS)
