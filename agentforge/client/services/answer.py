"""What a method of an AI service gives: read from its return type, and made of a turn's result."""

from __future__ import annotations

import collections.abc
import types
import typing
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeAlias, TypeVar

from agentforge.advisor import OutputType
from agentforge.client.services.faults import ServiceDeclarationError, ServiceSuspendedError
from agentforge.client.structured import StructuredReply
from agentforge.errors import ConfigurationError
from agentforge.model import ChatMessage, ChatResponse, Citation, Content, Event, FinishReason, TextDelta, TokenUsage
from agentforge.tool.execution import (
    RunEvent,
    RunFinished,
    RunStream,
    RunSuspended,
    ToolChatResult,
    ToolExecution,
    ToolLoopState,
)

__all__ = ("Result", "ServiceAnswer", "answer_of", "told", "told_sync")

T = TypeVar("T")
AnswerForm: TypeAlias = Literal["plain", "result", "turn", "nothing", "texts", "events", "stream"]
"""What becomes of a turn: its answer, a `Result`, the turn's own result, nothing, an iterator of texts or of events, or
the stream itself."""
_ITERATORS = {
    collections.abc.AsyncIterator: "async",
    collections.abc.AsyncIterable: "async",
    collections.abc.AsyncGenerator: "async",
    collections.abc.Iterator: "sync",
    collections.abc.Iterable: "sync",
    collections.abc.Generator: "sync",
}
_CUT = {
    FinishReason.LENGTH: "the answer reached its output limit",
    FinishReason.CONTENT_FILTER: "the answer was stopped by a content filter",
    FinishReason.ERROR: "the answer ended in an error",
}


@dataclass(frozen=True, slots=True)
class Result(Generic[T]):
    """The answer of a turn with all that led to it, for methods that return ``Result[T]``.

    ``content`` is the value; ``None`` where the turn has no answer: it is suspended, or what its tools returned goes to
    the caller as it is (then it is in ``tool_executions``). ``turn`` is the turn's whole result.
    """

    content: T | None
    turn: ToolChatResult

    @property
    def tool_executions(self) -> Sequence[ToolExecution]:
        """The calls of the turn, in order."""
        return self.turn.tool_executions

    @property
    def token_usage(self) -> TokenUsage:
        """What all replies took together, those of services that were its tools included."""
        return self.turn.token_usage

    @property
    def finish_reason(self) -> FinishReason | None:
        """Why the last reply ended; ``None`` for a suspended turn."""
        return self.turn.response.finish_reason if self.turn.response is not None else None

    @property
    def citations(self) -> Sequence[Citation]:
        """The sources that the provider names for the answer."""
        return self.turn.response.citations if self.turn.response is not None else ()

    @property
    def suspended(self) -> ToolLoopState | None:
        """The state of a turn that waits for a decision."""
        return self.turn.suspended


@dataclass(frozen=True, slots=True)
class ServiceAnswer:
    """How a method's answer is made. ``output`` is the type of a value, ``None`` for text; ``sync`` says of an iterator
    that it is a plain one, and ``kinds`` which events it is made of."""

    form: AnswerForm
    output: OutputType[Any] | None = None
    sync: bool = False
    kinds: tuple[type[Event], ...] = (Event,)

    @property
    def streams(self) -> bool:
        """Whether the method gives what is told while it goes on."""
        return self.form in ("texts", "events", "stream")

    def of(self, turn: ToolChatResult, method: str) -> Any:
        """The answer. Raises `ServiceSuspendedError` where there is none yet and the type has no place to say so, and
        `StructuredOutputError` where the turn ended with something else than the value."""
        if self.form == "turn":
            return turn
        if self.form == "result":
            if turn.suspended is not None or turn.returned_directly:
                return Result(None, turn)
            return Result(self._value(turn), turn)
        if turn.suspended is not None:
            raise _waiting(turn, turn.suspended, method)
        return None if self.form == "nothing" else self._value(turn)

    def shown(self, event: RunEvent) -> Any:
        """What of an event an iterator gives: itself, its text, or ``None`` for nothing."""
        if self.form == "texts":
            if isinstance(event, RunFinished) and event.result.returned_directly:
                return event.result.text
            return event.text or None if isinstance(event, TextDelta) else None
        return event if isinstance(event, self.kinds) else None

    def expect_answered(self, event: RunEvent, method: str) -> None:
        """Raise `ServiceSuspendedError` at the end of a turn that waits, where no event that is given says so."""
        if not isinstance(event, RunFinished) or event.result.suspended is None:
            return
        if not any(issubclass(each, self.kinds) for each in (RunSuspended, RunFinished)):
            raise _waiting(event.result, event.result.suspended, method)

    def told(self, turn: ToolChatResult) -> Any:
        """The answer as another model reads it, where the method is a tool."""
        if self.form == "nothing":
            return None
        if self.output is not None and not turn.returned_directly:
            return self._value(turn)
        # A reader of a text sees by nothing else that it is not whole.
        why = _CUT.get(turn.response.finish_reason) if turn.response is not None else None
        return (turn.text or "") + (f"\n[cut: {why}]" if why is not None and not turn.returned_directly else "")

    def _value(self, turn: ToolChatResult) -> Any:
        if self.output is None:
            return turn.text or ""
        return StructuredReply(turn, self.output).value


def answer_of(hint: Any, *, is_async: bool, method: str) -> ServiceAnswer:
    """The answer that a return type asks for. Raises `ServiceDeclarationError`."""
    whole = hint
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    origin = typing.get_origin(hint)
    if hint is None or hint is type(None):
        return ServiceAnswer("nothing")
    if hint is ToolChatResult:
        return ServiceAnswer("turn")
    if hint is Result or origin is Result:
        [inner] = typing.get_args(hint) or (str,)
        return ServiceAnswer("result", _output(inner, method))
    if hint is RunStream:
        return ServiceAnswer("stream")
    kind = _ITERATORS.get(origin or hint)
    if kind is not None:
        return _streamed(hint, kind, is_async=is_async, method=method)
    return ServiceAnswer("plain", _output(whole, method))


def _streamed(hint: Any, kind: str, *, is_async: bool, method: str) -> ServiceAnswer:
    [item, *_] = typing.get_args(hint) or (str,)
    is_union = typing.get_origin(item) in (typing.Union, types.UnionType)
    kinds = typing.get_args(item) if is_union else (item,)
    if item is not str and not all(isinstance(kind, type) and issubclass(kind, Event) for kind in kinds):
        raise ServiceDeclarationError(
            f"the method {method!r} gives an iterator of {_name(item)}; it may be one of str, or of events",
            next_step="Return list[T] for several values: they are there when the answer is whole.",
        )
    if kind == "sync" and is_async:
        raise ServiceDeclarationError(
            f"the method {method!r} is async and gives a plain iterator",
            next_step="Return AsyncIterator[str], or leave out 'async'.",
        )
    if item is str:
        return ServiceAnswer("texts", sync=kind == "sync", kinds=(TextDelta,))
    return ServiceAnswer("events", sync=kind == "sync", kinds=kinds)


def _output(hint: Any, method: str) -> OutputType[Any] | None:
    """The type of a value; ``None`` for text."""
    if hint is str:
        return None
    if hint is Any or hint is object or isinstance(hint, TypeVar):
        raise ServiceDeclarationError(
            f"the method {method!r} does not say what it returns: {_name(hint)}",
            next_step="Return str, or the type of the value.",
        )
    if hint is type(None):
        raise ServiceDeclarationError(
            f"the method {method!r} returns a Result of nothing",
            next_step="Return ToolChatResult: it has what led to it.",
        )
    if isinstance(hint, type) and issubclass(hint, ChatMessage | Content | ChatResponse):
        raise ServiceDeclarationError(
            f"the method {method!r} returns {_name(hint)}, which is no value that a model writes",
            next_step="Return Result[str]: result.turn has the reply and all messages.",
        )
    try:
        return OutputType(hint)
    except ConfigurationError as error:
        raise ServiceDeclarationError(
            f"the method {method!r} returns what no answer can be: {error.message}", next_step=error.next_step
        ) from None


def _name(hint: Any) -> str:
    return getattr(hint, "__name__", None) or str(hint)


async def told(stream: RunStream, answer: ServiceAnswer, method: str) -> AsyncIterator[Any]:
    """What an iterator of a method gives of a turn, as it goes on; the turn ends with the iteration."""
    async with stream as events:
        async for event in events:
            if (shown := answer.shown(event)) is not None:
                yield shown
            answer.expect_answered(event, method)


def told_sync(stream: AbstractContextManager[Iterator[RunEvent]], answer: ServiceAnswer, method: str) -> Iterator[Any]:
    """`told` for synchronous code."""
    with stream as events:
        for event in events:
            if (shown := answer.shown(event)) is not None:
                yield shown
            answer.expect_answered(event, method)


def _waiting(turn: ToolChatResult, state: ToolLoopState, method: str) -> ServiceSuspendedError:
    reasons = ", ".join(repr(ask.reason) for ask in state.waiting.values())
    return ServiceSuspendedError(
        f"the turn of {method!r} waits for a decision: {reasons}",
        reply=turn,
        next_step="Decide, and call resuming(service.method, error.state)(...) with the same arguments; or let the "
        "method return Result[T], which says so.",
    )
