"""What settings of several types share about requests: parameters of the model, and messages that go before."""

from __future__ import annotations

from typing import Any

from agentforge.model import AiMessage, ChatMessage, ChatRequestParameters, ReasoningEffort, UserMessage
from agentforge.plugin.bean_settings import BeanSettings, Count, Field

__all__ = ("MessageSettings", "ParameterSettings")


class ParameterSettings(BeanSettings):
    """Defaults below each request's own parameters; what is unset is the endpoint's to choose."""

    temperature: float | None = None
    """How freely the model chooses; 0 is the most predictable."""
    top_p: float | None = None
    """The share of likelihood that is chosen from."""
    max_output_tokens: Count | None = None
    """The most tokens a reply may have."""
    stop: tuple[str, ...] | None = None
    """Texts at which the reply ends."""
    seed: int | None = None
    """For replies that can be repeated, where the model can."""
    parallel_tool_calls: bool | None = None
    """Whether one reply may ask for several tools."""
    reasoning_effort: ReasoningEffort | None = None
    """How much the model thinks before it answers."""
    custom_parameters: dict[str, Any] = Field(default_factory=dict)
    """Further members of the request body, as they are."""

    def made(self) -> ChatRequestParameters:
        """The parameters."""
        return ChatRequestParameters(
            temperature=self.temperature,
            top_p=self.top_p,
            max_output_tokens=self.max_output_tokens,
            stop=self.stop,
            seed=self.seed,
            parallel_tool_calls=self.parallel_tool_calls,
            reasoning_effort=self.reasoning_effort,
            custom_parameters=self.custom_parameters,
        )


class MessageSettings(BeanSettings):
    """One message of an example: who says it, and what."""

    user: str | None = None
    """What the user says."""
    assistant: str | None = None
    """What the model answers."""

    def model_post_init(self, context: object) -> None:
        """Refuse a message that nobody says, or two."""
        if (self.user is None) == (self.assistant is None):
            raise ValueError("a message is either 'user: …' or 'assistant: …'")

    def made(self) -> ChatMessage:
        """The message."""
        return UserMessage(self.user) if self.user is not None else AiMessage(self.assistant or "")
