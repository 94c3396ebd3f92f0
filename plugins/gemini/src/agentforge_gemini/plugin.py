"""The plugin: the bean type ``gemini.chat``, with every setting of `GeminiChatModel` that a file can hold."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

from agentforge.model import ChatModel
from agentforge.plugin import BeanType, hookimpl
from agentforge.provider import ChatSettings, endpoints_of, make_model
from agentforge_gemini.model import GeminiChatModel
from agentforge_gemini.rows import GEMINI_VENDORS

__all__ = ("AGENTFORGE_API", "GeminiChatSettings", "agentforge_bean_types")

#: The version of the plugin interface this was written for.
AGENTFORGE_API = (1, 0)


class GeminiChatSettings(ChatSettings):
    """What `gemini.chat` takes. Everything that the model would refuse is found when the file is checked."""

    VENDORS = GEMINI_VENDORS

    project: str | None = None
    """The project at Vertex AI; unset: GOOGLE_CLOUD_PROJECT, where the vendor is vertexai."""
    location: str | None = None
    """Its location, such as europe-west4; unset: GOOGLE_CLOUD_LOCATION, else global."""
    auth: Literal["x-goog-api-key", "bearer"] | None = None
    """How the key goes out; unset: as the vendor."""
    include_thoughts: bool | None = None
    """Whether the text of thoughts comes back; unset: as the model."""

    def further(self) -> dict[str, Any]:
        """Arguments of the model that only this protocol has."""
        return {
            "project": self.project,
            "location": self.location,
            "auth": self.auth,
            "include_thoughts": self.include_thoughts,
        }

    def model_of(self, endpoint: Mapping[str, Any]) -> GeminiChatModel:
        """The model."""
        return GeminiChatModel(**endpoint, **self.chat_arguments())


@hookimpl
def agentforge_bean_types(register: Callable[[BeanType], None]) -> None:
    """The types of this plugin."""
    register(
        BeanType(
            "gemini.chat",
            GeminiChatSettings,
            make_model,
            ChatModel,
            "A model behind the generateContent API: Google Gemini, Vertex AI, and hosts that speak its form.",
            endpoints=endpoints_of,
        )
    )
