"""The four kinds of message; frozen values whose parts keep their order.

A list of them is a conversation. Which lists are valid to send is `agentforge.model.history`'s concern.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self, TypeAlias

from agentforge.model.content import Content, ProviderState, TextContent, ThinkingContent
from agentforge.model.tool_call import ToolExecutionRequest

__all__ = (
    "AiMessage",
    "ChatMessage",
    "Message",
    "SystemMessage",
    "ToolExecutionResultMessage",
    "UserMessage",
)

_NO_ATTRIBUTES: Mapping[str, object] = {}


def _parts(contents: str | Content | Iterable[Content]) -> tuple[Content, ...]:
    if isinstance(contents, str):
        return (TextContent(contents),)
    if type(contents) is tuple and len(contents) == 1 and type(contents[0]) is TextContent:
        return contents  # what nearly every tool result is
    if isinstance(contents, Content):
        return (contents,)
    if isinstance(contents, (Mapping, bytes)):
        raise TypeError(f"a message is made of a text or content parts, not of {type(contents).__name__}")
    parts = tuple(TextContent(part) if isinstance(part, str) else part for part in contents)
    for part in parts:
        if not isinstance(part, Content):
            raise TypeError(f"{type(part).__name__} is no content part; use a text, TextContent, ImageContent, ...")
    return parts


def _text(contents: Iterable[object]) -> str | None:
    texts = [part.text for part in contents if type(part) is TextContent]
    return "".join(texts) if texts else None


class Message:
    """What all messages can: be written as JSON and read back equal (see `agentforge.model.serialization`)."""

    __slots__ = ()

    def to_json(self) -> dict[str, Any]:
        """A JSON object with the version of its form.

        >>> UserMessage.from_json(UserMessage("Hello").to_json()) == UserMessage("Hello")
        True
        """
        from agentforge.model.serialization import message_to_json

        return message_to_json(self)  # type: ignore[arg-type]

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote; ``Message.from_json`` takes any kind. Raises `RunStateError` for what cannot be
        read or is of another kind."""
        from agentforge.errors import RunStateError
        from agentforge.model.serialization import message_from_json

        message = message_from_json(data)
        if not isinstance(message, cls):
            raise RunStateError(f"a {cls.__name__} was expected, a {type(message).__name__} came")
        return message


@dataclass(frozen=True, slots=True, init=False)
class SystemMessage(Message):
    """Instructions. Takes a text or content parts."""

    contents: tuple[Content, ...]

    def __init__(self, contents: str | Content | Iterable[Content]) -> None:
        object.__setattr__(self, "contents", _parts(contents))

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return _text(self.contents) or ""


@dataclass(frozen=True, slots=True, init=False)
class UserMessage(Message):
    """What the user said. Takes a text or content parts; ``name`` tells users of one conversation apart.

    >>> UserMessage("Hello").text
    'Hello'
    """

    contents: tuple[Content, ...]
    name: str | None

    def __init__(self, contents: str | Content | Iterable[Content], *, name: str | None = None) -> None:
        object.__setattr__(self, "contents", _parts(contents))
        object.__setattr__(self, "name", name)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return _text(self.contents) or ""


@dataclass(frozen=True, slots=True, init=False)
class AiMessage(Message):
    """A model's turn: ``contents`` holds text, thinking and calls in the order in which they came.

    Takes a text or the ordered parts; ``tool_execution_requests`` given apart are put at the end.
    ``provider_state`` is the turn's own opaque state (parts and calls may carry theirs).

    >>> AiMessage(tool_execution_requests=[ToolExecutionRequest("c1", "now")]).text is None
    True
    """

    contents: tuple[Content | ToolExecutionRequest, ...]
    provider_state: ProviderState | None
    tool_execution_requests: tuple[ToolExecutionRequest, ...] = field(compare=False, repr=False)

    def __init__(
        self,
        contents: str | Iterable[Content | ToolExecutionRequest] | None = None,
        *,
        tool_execution_requests: Iterable[ToolExecutionRequest] = (),
        provider_state: ProviderState | None = None,
    ) -> None:
        parts: tuple[Content | ToolExecutionRequest, ...]
        if contents is None:
            parts = ()
        elif isinstance(contents, str):
            parts = (TextContent(contents),)
        else:
            parts = tuple(contents)
        parts += tuple(tool_execution_requests)
        for part in parts:
            if not isinstance(part, (Content, ToolExecutionRequest)):
                raise TypeError(f"{type(part).__name__} is no part of a model's message")
        set_ = object.__setattr__
        set_(self, "contents", parts)
        set_(self, "provider_state", provider_state)
        set_(self, "tool_execution_requests", tuple(p for p in parts if type(p) is ToolExecutionRequest))

    @property
    def text(self) -> str | None:
        """The text parts, joined; ``None`` when there are none."""
        return _text(self.contents)

    @property
    def thinking(self) -> str | None:
        """The reasoning text, joined; ``None`` when there is none."""
        texts = [part.text for part in self.contents if type(part) is ThinkingContent]
        return "".join(texts) if texts else None

    @property
    def has_tool_execution_requests(self) -> bool:
        """Whether the model asked for calls. This, not the finish reason, decides."""
        return bool(self.tool_execution_requests)


@dataclass(frozen=True, slots=True, init=False)
class ToolExecutionResultMessage(Message):
    """The answer to one call. ``attributes`` are for the application and never sent."""

    id: str
    tool_name: str
    contents: tuple[Content, ...]
    is_error: bool
    attributes: Mapping[str, object] = field(hash=False)

    def __init__(
        self,
        id: str,
        tool_name: str,
        contents: str | Content | Iterable[Content],
        *,
        is_error: bool = False,
        attributes: Mapping[str, object] = _NO_ATTRIBUTES,
    ) -> None:
        set_ = object.__setattr__
        set_(self, "id", id)
        set_(self, "tool_name", tool_name)
        set_(self, "contents", _parts(contents))
        set_(self, "is_error", is_error)
        set_(self, "attributes", attributes)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return _text(self.contents) or ""


ChatMessage: TypeAlias = SystemMessage | UserMessage | AiMessage | ToolExecutionResultMessage
