"""What settings of several types share about requests: parameters of the model, and messages that go before."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from agentforge.errors import ConfigurationError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    ReasoningEffort,
    ResponseFormat,
    ToolChoice,
    UserMessage,
)
from agentforge.plugin.bean_settings import AfterValidator, BeanSettings, Count, Field, as_value_error

__all__ = (
    "AllowedToolsSettings",
    "JsonSchemaSettings",
    "MessageSettings",
    "ParameterSettings",
    "ToolChoiceSetting",
    "response_format_of",
    "tool_choice_of",
)


class AllowedToolsSettings(BeanSettings):
    """A choice among some of the tools."""

    allowed: tuple[str, ...] = Field(min_length=1)
    """The names of the tools that may be called."""
    required: bool = False
    """Whether one of them must be called."""


def _schema(value: Any) -> Any:
    """Refuse a schema that is none."""
    from agentforge.advisor import OutputType

    with as_value_error():
        OutputType(value)
    return value


class JsonSchemaSettings(BeanSettings):
    """An answer that fits a schema."""

    json_schema: Annotated[dict[str, Any], AfterValidator(_schema)]
    """The JSON Schema of the answer."""
    name: str = Field(default="answer", pattern=r"^[a-zA-Z0-9_-]{1,64}$")
    """A name for it, which the model sees."""
    strict: bool | None = True
    """Whether the provider holds the model to the schema; null: the schema goes as it is, as advice."""
    description: str | None = None
    """What the answer is for, which the model sees."""


def _choice(value: Any) -> Any:
    """Refuse a choice that cannot be, in the words of a file."""
    if isinstance(value, str):
        meant = value.strip().lower()
        if meant != value and meant in ("auto", "none", "required"):
            with as_value_error():
                raise ConfigurationError("it is auto, none, required or names", next_step=f"Did you mean '{meant}'?")
    names = (value,) if isinstance(value, str) else value.allowed if isinstance(value, AllowedToolsSettings) else value
    if not names or not all(name.strip() for name in names):
        with as_value_error():
            step = "Write auto, none, required, the name of a tool, or a list of names."
            raise ConfigurationError("a name of a tool is empty" if names else "it names no tool", next_step=step)
    return value


ToolChoiceSetting = Annotated[str | tuple[str, ...] | AllowedToolsSettings, AfterValidator(_choice)]
"""A tool choice as a field's type: ``auto``, ``none``, ``required``, a tool's name, a list of names, or
``{allowed: [...], required: true}``."""


def tool_choice_of(setting: str | tuple[str, ...] | AllowedToolsSettings | None) -> ToolChoice | None:
    """The choice that a `ToolChoiceSetting` says.

    >>> tool_choice_of(("look", "book"))
    ToolChoice(mode='allowed', names=('look', 'book'), required=False)
    """
    if isinstance(setting, AllowedToolsSettings):
        return ToolChoice.allowed(setting.allowed, required=setting.required)
    if isinstance(setting, tuple):
        return ToolChoice.allowed(setting)
    return None if setting is None else ToolChoice.of(setting)


def response_format_of(setting: Literal["text", "json"] | JsonSchemaSettings | None) -> ResponseFormat | None:
    """The form of the answer that a setting says."""
    if isinstance(setting, JsonSchemaSettings):
        return ResponseFormat.json_schema(
            setting.json_schema, name=setting.name, strict=setting.strict, description=setting.description
        )
    return {"text": ResponseFormat.TEXT, "json": ResponseFormat.JSON}[setting] if setting is not None else None


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
    tool_choice: ToolChoiceSetting | None = None
    """auto, none, required, the name of the tool to call, a list of the tools that may be called, or {allowed: [first,
    second], required: true}. In a model's defaults it holds in every round: one that asks for a call belongs to the
    client, whose loop asks once."""
    parallel_tool_calls: bool | None = None
    """Whether one reply may ask for several tools."""
    response_format: Literal["text", "json"] | JsonSchemaSettings | None = None
    """The form of the answer: text, json (any JSON), or {json_schema: {...}}; answers are not checked against it, see
    structured_output."""
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
            tool_choice=tool_choice_of(self.tool_choice),
            parallel_tool_calls=self.parallel_tool_calls,
            response_format=response_format_of(self.response_format),
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
