"""What a tool gave back, and the record of one execution (seed A 3.1.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from agentforge.model.content import Content, TextContent
from agentforge.model.messages import ToolExecutionResultMessage
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.execution.outcome import ToolOutcome

__all__ = ("ToolExecution", "ToolExecutionResult")


@dataclass(frozen=True, slots=True, init=False)
class ToolExecutionResult:
    """A result: ``result`` is the object (never sent), ``contents`` what the model gets, ``attributes`` notes for the
    application (never sent), ``cause`` the exception behind a failure (never sent, not saved).

    >>> ToolExecutionResult.success("22 degrees").text
    '22 degrees'
    """

    is_error: bool
    result: object = field(compare=False)
    contents: tuple[Content, ...]
    attributes: Mapping[str, object]
    cause: BaseException | None = field(compare=False, repr=False)

    def __init__(
        self,
        text: str | None = None,
        *,
        parts: Iterable[Content] | None = None,
        is_error: bool = False,
        result: object = None,
        attributes: Mapping[str, object] | None = None,
        cause: BaseException | None = None,
    ) -> None:
        if (text is None) == (parts is None):
            raise ValueError("a tool result needs exactly one of text and parts")
        set_ = object.__setattr__
        set_(self, "is_error", is_error)
        set_(self, "result", result)
        set_(self, "contents", (TextContent(text),) if text is not None else tuple(parts or ()))
        set_(self, "attributes", attributes if attributes is not None else {})
        set_(self, "cause", cause)

    @classmethod
    def success(cls, text: str, *, result: object = None) -> ToolExecutionResult:
        """A good result with its text."""
        return cls(text, result=result)

    @classmethod
    def failure(cls, text: str, cause: BaseException | None = None) -> ToolExecutionResult:
        """A failure with the text that the model sees."""
        return cls(text, is_error=True, cause=cause)

    @property
    def text(self) -> str:
        """The text parts, joined."""
        return "".join(part.text for part in self.contents if type(part) is TextContent)

    def with_contents(self, contents: Iterable[Content]) -> ToolExecutionResult:
        """The same result with other contents."""
        return ToolExecutionResult(
            parts=contents,
            is_error=self.is_error,
            result=self.result,
            attributes=self.attributes,
            cause=self.cause,
        )

    def with_attributes(self, attributes: Mapping[str, object]) -> ToolExecutionResult:
        """The same result with other attributes."""
        return ToolExecutionResult(
            parts=self.contents, is_error=self.is_error, result=self.result, attributes=attributes, cause=self.cause
        )

    def to_message(self, request: ToolExecutionRequest) -> ToolExecutionResultMessage:
        """The message that answers ``request``."""
        return ToolExecutionResultMessage(
            request.id, request.name, self.contents, is_error=self.is_error, attributes=self.attributes
        )


@dataclass(frozen=True, slots=True)
class ToolExecution:
    """One call from request to result. Times are UTC wall clock; ``elapsed`` is measured on the monotonic clock."""

    request: ToolExecutionRequest
    result: ToolExecutionResult
    outcome: ToolOutcome
    start: datetime | None = None
    finish: datetime | None = None
    memory_id: object = None
    elapsed: float = 0.0
    round: int = 0

    def result_text(self) -> str:
        """The text the model gets."""
        return self.result.text

    def has_failed(self) -> bool:
        """Whether the call ended in any other way than ``OK``."""
        return self.outcome is not ToolOutcome.OK

    def duration(self) -> timedelta:
        """How long the call took."""
        return timedelta(seconds=self.elapsed)
