"""What holds for the events of one reply, and between a streamed reply and a plain one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, get_args

from agentforge.model import (
    ChatEvent,
    ChatResponse,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
    UsageEvent,
)
from agentforge.testing.contracts.running import must

__all__ = ("check_stream", "same_reply")


def check_stream(events: Sequence[Any]) -> ChatResponse:
    """The response of a stream. Raises ``AssertionError`` when its events do not make it."""
    for event in events:
        must(isinstance(event, get_args(ChatEvent)), f"the stream gave {type(event).__name__}, which is no ChatEvent")
    ends = [event for event in events if isinstance(event, ResponseDone)]
    must(len(ends) == 1, f"a stream has one ResponseDone, this one has {len(ends)}")
    must(events[-1] is ends[0], f"{type(events[-1]).__name__} came after ResponseDone, which must be the last event")
    response = ends[0].response
    message = response.ai_message
    for what, kind, whole in (("text", TextDelta, message.text), ("thinking", ThinkingDelta, message.thinking)):
        joined = "".join(event.text for event in events if isinstance(event, kind))
        must(joined == (whole or ""), f"the pieces of {what} make {joined!r}, the response has {whole!r}")
    ready = [event.request for event in events if isinstance(event, ToolCallReady)]
    calls = list(message.tool_execution_requests)
    must(not ready or ready == calls, f"ToolCallReady announced {_said(ready)}, the response has {_said(calls)}")
    for index, call in enumerate(calls):
        pieces = [event for event in events if isinstance(event, ToolCallDelta) and event.index == index]
        text = "".join(piece.arguments_delta for piece in pieces)
        must(not pieces or text == call.arguments, f"the pieces of call {index} make {text!r}, not {call.arguments!r}")
    counted = [event.usage for event in events if isinstance(event, UsageEvent)]
    must(not counted or counted[-1] == response.token_usage, "the last UsageEvent is not the response's usage")
    return response


def same_reply(plain: ChatResponse, streamed: ChatResponse) -> None:
    """Raise ``AssertionError`` for what differs in two replies that should be one; ids that were made up may."""
    one, other = plain.ai_message, streamed.ai_message
    for what, left, right in (
        ("text", one.text, other.text),
        ("thinking", one.thinking, other.thinking),
        ("calls", _said(one.tool_execution_requests), _said(other.tool_execution_requests)),
        ("finish reason", plain.finish_reason, streamed.finish_reason),
        ("usage", plain.token_usage, streamed.token_usage),
        ("citations", plain.citations, streamed.citations),
    ):
        must(left == right, f"the {what} differs: {left!r} plain, {right!r} streamed")


def _said(calls: Sequence[ToolExecutionRequest]) -> list[tuple[str | None, str, str]]:
    return [(call.id if call.id_was_given else None, call.name, call.arguments) for call in calls]
