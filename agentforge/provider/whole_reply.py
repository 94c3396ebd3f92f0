"""A whole reply as events, for servers that answer whole where a stream was asked for."""

from __future__ import annotations

from agentforge.model import (
    ChatEvent,
    ChatResponse,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    UsageEvent,
)

__all__ = ("events_of",)


def events_of(response: ChatResponse) -> list[ChatEvent]:
    """The events of a reply, in its order, `ResponseDone` last."""
    message = response.ai_message
    events: list[ChatEvent] = []
    if message.thinking:
        events.append(ThinkingDelta(message.thinking))
    if message.text:
        events.append(TextDelta(message.text))
    requests = message.tool_execution_requests
    events += [ToolCallDelta(at, one.id, one.name, one.arguments) for at, one in enumerate(requests)]
    if response.token_usage != TokenUsage():
        events.append(UsageEvent(response.token_usage))
    events += [ToolCallReady(one, at) for at, one in enumerate(requests)]
    events.append(ResponseDone(response))
    return events
