"""A second attempt after an answer that will not do: its request, and what of the first one belongs to the turn."""

from __future__ import annotations

from collections.abc import Sequence

from agentforge.advisor.advisor import Advised
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    TextContent,
    ToolExecutionResultMessage,
    UserMessage,
)

__all__ = ("finished_rounds", "reprompted", "without_open_calls")


def finished_rounds(advised: Advised) -> tuple[ChatMessage, ...]:
    """The turn's messages up to its last tool result: the calls that ran, without the answer behind them."""
    messages = tuple(advised.new_messages)
    for at in range(len(messages), 0, -1):
        if isinstance(messages[at - 1], ToolExecutionResultMessage):
            return messages[:at]
    return ()


def without_open_calls(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """The messages without a reply at their end whose calls somebody else is to run: it belongs to a history together
    with its results, and not before."""
    last = messages[-1] if messages else None
    if isinstance(last, AiMessage) and last.has_tool_execution_requests:
        messages = messages[:-1]
    return tuple(messages)


def reprompted(
    request: ChatRequest, advised: Advised, text: str, kept: Sequence[ChatMessage] = ()
) -> tuple[ChatRequest, tuple[ChatMessage, ...]]:
    """The request of another attempt after ``advised``, whose answer is left out, and the messages to keep.

    ``request`` is the turn's own each time, and ``kept`` what the attempts before this one left: so texts of several
    attempts do not pile up, and no message is sent twice. Where no tool has run, the attempt begins anew with ``text``
    at the end of the user's message; else what has run stays, and ``text`` follows it as a user message.

    The turn's new messages are the kept ones and those of the new attempt; ``text`` is in neither.
    """
    done = (*kept, *finished_rounds(advised))
    messages = request.messages
    if done or not messages or not isinstance(messages[-1], UserMessage):
        return ChatRequest((*messages, *done, UserMessage(text)), request.parameters), done
    return ChatRequest((*messages[:-1], _extended(messages[-1], text)), request.parameters), ()


def _extended(message: UserMessage, text: str) -> UserMessage:
    parts, last = message.contents, message.contents[-1] if message.contents else None
    if type(last) is TextContent and last.provider_state is None:
        return UserMessage((*parts[:-1], TextContent(f"{last.text}\n\n{text}")), name=message.name)
    return UserMessage((*parts, TextContent(text)), name=message.name)
