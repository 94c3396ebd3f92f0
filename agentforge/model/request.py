"""What is asked of a model: messages and parameters, in no vendor's form."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, TypeAlias, get_args

from agentforge.model.messages import ChatMessage, UserMessage
from agentforge.model.specification import ToolSpecification

__all__ = (
    "ChatRequest",
    "ChatRequestParameters",
    "ReasoningEffort",
    "ResponseFormat",
    "ToolChoice",
)

ReasoningEffort: TypeAlias = Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"]
"""How much a model thinks, from the least to the most; of one that a model does not have, the nearest below it."""
_EFFORTS: tuple[str, ...] = get_args(ReasoningEffort)
_CHOICES = ("auto", "none", "required")
_NOTHING: Mapping[str, object] = {}


@dataclass(frozen=True, slots=True)
class ToolChoice:
    """Whether and what the model must call.

    ``mode``: ``auto``, ``none``, ``required`` (any tool), ``tool`` (the one in ``names``), ``allowed`` (only those in
    ``names``; ``required`` says whether one of them must be called). `tool` and `allowed` make the last two.
    """

    mode: Literal["auto", "none", "required", "tool", "allowed"]
    names: tuple[str, ...] = ()
    required: bool = False

    AUTO: ClassVar[ToolChoice]
    NONE: ClassVar[ToolChoice]
    REQUIRED: ClassVar[ToolChoice]

    def __post_init__(self) -> None:
        if self.mode == "tool" and len(self.names) != 1:
            raise ValueError("ToolChoice('tool') needs the one name of the tool: ToolChoice.tool('get_weather')")

    @classmethod
    def tool(cls, name: str) -> ToolChoice:
        """Exactly this tool."""
        return cls("tool", (name,), required=True)

    @classmethod
    def allowed(cls, names: Iterable[str], *, required: bool = False) -> ToolChoice:
        """Only these tools may be called; with ``required`` one of them must."""
        return cls("allowed", (names,) if isinstance(names, str) else tuple(names), required)

    @classmethod
    def of(cls, value: ToolChoice | str) -> ToolChoice:
        """``auto``, ``none`` and ``required`` by name; any other text is a tool's name.

        Raises ``ValueError`` for no name at all, and for one of the three in capitals or between blanks; a tool that is
        really called so is chosen with `tool`. Raises ``TypeError`` for what is no text.
        """
        if isinstance(value, ToolChoice):
            return value
        if not isinstance(value, str):
            raise TypeError(
                f"tool_choice must be a ToolChoice, 'auto', 'none', 'required' or a tool's name, not {value!r}; "
                "several tools are ToolChoice.allowed([...])"
            )
        if value in _CHOICES:
            return {"auto": cls.AUTO, "none": cls.NONE, "required": cls.REQUIRED}[value]
        meant = value.strip().lower()
        if not meant:
            raise ValueError("tool_choice is 'auto', 'none', 'required' or a tool's name, not an empty text")
        if meant in _CHOICES:
            raise ValueError(
                f"tool_choice {value!r}: did you mean {meant!r}? A tool of that name is ToolChoice.tool({value!r})"
            )
        return cls.tool(value)

    @property
    def forces_a_call(self) -> bool:
        """Whether a reply without a call breaks the choice."""
        return self.required or self.mode == "required"


ToolChoice.AUTO = ToolChoice("auto")
ToolChoice.NONE = ToolChoice("none")
ToolChoice.REQUIRED = ToolChoice("required", required=True)


@dataclass(frozen=True, slots=True)
class ResponseFormat:
    """The form of the answer: ``text``, ``json`` (any JSON, no schema) or ``json_schema``. The last two differ:
    only a schema makes the fields certain (seed B 2)."""

    type: Literal["text", "json", "json_schema"]
    name: str = "answer"
    schema: Mapping[str, object] | None = field(default=None, hash=False)
    strict: bool | None = None
    description: str | None = None

    TEXT: ClassVar[ResponseFormat]
    JSON: ClassVar[ResponseFormat]

    @classmethod
    def json_schema(
        cls,
        schema: Mapping[str, object],
        *,
        name: str = "answer",
        strict: bool | None = True,
        description: str | None = None,
    ) -> ResponseFormat:
        """An answer that fits ``schema``."""
        return cls("json_schema", name, schema, strict, description)


ResponseFormat.TEXT = ResponseFormat("text")
ResponseFormat.JSON = ResponseFormat("json")


@dataclass(frozen=True, slots=True, init=False)
class ChatRequestParameters:
    """The settings of a request. ``None`` means: not set, the model's or endpoint's default holds.

    ``tool_choice`` also takes ``"auto"``, ``"none"``, ``"required"`` or a tool's name; ``stop`` one text.
    ``custom_parameters`` go into the request body as they are, for what only one vendor knows. A model's own defaults
    are merged below these. Raises ``TypeError`` for values of the wrong kind, ``ValueError`` for a ``tool_choice`` or
    ``reasoning_effort`` that cannot be.
    """

    model_name: str | None
    temperature: float | None
    top_p: float | None
    max_output_tokens: int | None
    stop: tuple[str, ...] | None
    seed: int | None
    tools: tuple[ToolSpecification, ...]
    tool_choice: ToolChoice | None
    parallel_tool_calls: bool | None
    response_format: ResponseFormat | None
    reasoning_effort: ReasoningEffort | None
    custom_parameters: Mapping[str, object] = field(hash=False)

    def __init__(
        self,
        *,
        model_name: str | None = None,
        temperature: float | None = None,
        top_p: float | None = None,
        max_output_tokens: int | None = None,
        stop: str | Iterable[str] | None = None,
        seed: int | None = None,
        tools: Iterable[ToolSpecification] = (),
        tool_choice: ToolChoice | str | None = None,
        parallel_tool_calls: bool | None = None,
        response_format: ResponseFormat | None = None,
        reasoning_effort: ReasoningEffort | None = None,
        custom_parameters: Mapping[str, object] = _NOTHING,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "model_name", _is("model_name", model_name, str))
        set_(self, "temperature", _is("temperature", temperature, (int, float)))
        set_(self, "top_p", _is("top_p", top_p, (int, float)))
        set_(self, "max_output_tokens", _is("max_output_tokens", max_output_tokens, int))
        set_(self, "stop", (stop,) if isinstance(stop, str) else None if stop is None else tuple(stop))
        set_(self, "seed", _is("seed", seed, int))
        set_(self, "tools", tools if type(tools) is tuple else tuple(tools))
        set_(self, "tool_choice", None if tool_choice is None else ToolChoice.of(tool_choice))
        set_(self, "parallel_tool_calls", _is("parallel_tool_calls", parallel_tool_calls, bool))
        set_(self, "response_format", _is("response_format", response_format, ResponseFormat))
        set_(self, "reasoning_effort", _effort(reasoning_effort))
        set_(self, "custom_parameters", _is("custom_parameters", custom_parameters, Mapping))

    @staticmethod
    def merge(defaults: ChatRequestParameters | None, overrides: ChatRequestParameters | None) -> ChatRequestParameters:
        """``overrides`` over ``defaults``, field by field; custom parameters are merged key by key, and tools given
        in ``overrides`` replace those of ``defaults``."""
        if defaults is None or overrides is None:
            return overrides or defaults or ChatRequestParameters()
        changes: dict[str, object] = {}
        for item in fields(ChatRequestParameters):
            value = getattr(overrides, item.name)
            if item.name == "custom_parameters":
                value = {**defaults.custom_parameters, **value} if value else None
            if value is not None and value != ():
                changes[item.name] = value
        return replace(defaults, **changes) if changes else defaults  # type: ignore[arg-type]

    def with_(self, **changes: object) -> ChatRequestParameters:
        """A copy with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]


def _effort(value: object) -> Any:
    if value is None or (isinstance(value, str) and value in _EFFORTS):
        return value
    if not isinstance(value, str):
        return _is("reasoning_effort", value, str)
    import difflib

    near = difflib.get_close_matches(value.strip().lower(), _EFFORTS, n=1)
    meant = f"did you mean {near[0]!r}?" if near else f"it is one of {', '.join(_EFFORTS)}."
    raise ValueError(
        f"there is no reasoning_effort {value!r}: {meant} A level of one vendor's own goes into custom_parameters"
    )


def _is(name: str, value: object, kind: type | tuple[type, ...]) -> Any:
    if value is None or (isinstance(value, kind) and (kind is bool or not isinstance(value, bool))):
        return value
    kinds = kind if isinstance(kind, tuple) else (kind,)
    raise TypeError(f"{name} must be {' or '.join(each.__name__ for each in kinds)}, not {type(value).__name__}")


@dataclass(frozen=True, slots=True, init=False)
class ChatRequest:
    """Messages and parameters. ``messages`` takes a text (one user message) or a sequence, which is copied."""

    messages: tuple[ChatMessage, ...]
    parameters: ChatRequestParameters

    def __init__(
        self,
        messages: str | Iterable[ChatMessage],
        parameters: ChatRequestParameters | None = None,
    ) -> None:
        set_ = object.__setattr__
        if isinstance(messages, str):
            messages = (UserMessage(messages),)
        set_(self, "messages", messages if isinstance(messages, tuple) else tuple(messages))
        set_(self, "parameters", parameters if parameters is not None else ChatRequestParameters())
