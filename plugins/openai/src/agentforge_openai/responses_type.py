"""The bean type ``openai.responses``, with every setting of `OpenAiResponsesModel` that a file can hold."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from agentforge.model import ChatModel
from agentforge.plugin import BeanType
from agentforge.provider import ChatSettings, endpoints_of, make_model
from agentforge_openai.openai_settings import OpenAiEndpointSettings
from agentforge_openai.responses.form import ResponsesForm
from agentforge_openai.responses_model import OpenAiResponsesModel

if TYPE_CHECKING:
    from agentforge.provider import EndpointRow

__all__ = ("RESPONSES", "OpenAiResponsesSettings")


class OpenAiResponsesSettings(ChatSettings, OpenAiEndpointSettings):
    """What `openai.responses` takes. Everything that the model would refuse is found when the file is checked."""

    state: Literal["replay", "previous_response"] = "replay"
    """replay sends the whole conversation and lets the server keep nothing; previous_response lets it keep all."""
    encrypted_reasoning: bool | None = None
    """Whether the model gives its reasoning encrypted, to be sent back; unset: as the row says of the model's name."""
    reasoning_summary: Literal["auto", "concise", "detailed"] | None = None
    """Asks for a readable summary of the reasoning."""

    @classmethod
    def offers(cls, row: EndpointRow) -> bool:
        """The vendors whose rows say something of this API; of the others no page says that they have it."""
        return getattr(row, "responses", None) not in (None, ResponsesForm())

    def model_of(self, endpoint: Mapping[str, Any]) -> OpenAiResponsesModel:
        """The model."""
        return OpenAiResponsesModel(
            **endpoint,
            **self.chat_arguments(),
            state=self.state,
            encrypted_reasoning=self.encrypted_reasoning,
            reasoning_summary=self.reasoning_summary,
        )


RESPONSES = BeanType(
    "openai.responses",
    OpenAiResponsesSettings,
    make_model,
    ChatModel,
    "A model behind a Responses endpoint: OpenAI, Azure, and others that offer this API.",
    endpoints=endpoints_of,
)
