"""A message list that is known to be valid: every call has its one result, every result its call.

Providers answer 400 to anything else, and a list with one dangling call can never be used again. So validity is a
type: a `History` is made by `History.of` (which mends what came from outside and says what it did) or grows by
`extended` in steps that keep it valid. Pairing goes by position, since ids may repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agentforge.model.events import Notice
from agentforge.model.messages import (
    AiMessage,
    ChatMessage,
    ToolExecutionResultMessage,
)
from agentforge.model.tool_call import ToolExecutionRequest

__all__ = ("LOST_RESULT", "History", "mend_history")

LOST_RESULT = "No result was recorded for this call; whether it ran is unknown."


class History(tuple[ChatMessage, ...]):
    """An immutable, valid conversation. A plain tuple in every other respect."""

    __slots__ = ()

    @classmethod
    def of(cls, messages: Iterable[ChatMessage]) -> History:
        """The messages, mended where needed; a `History` is returned as it is."""
        if type(messages) is cls:
            return messages
        return cls(mend_history(tuple(messages))[0])

    def extended(self, messages: Iterable[ChatMessage]) -> History:
        """This history and ``messages``, a whole step: an `AiMessage` with all its results, or messages without
        calls. The caller answers for its validity."""
        return History((*self, *messages))


def mend_history(messages: Sequence[ChatMessage]) -> tuple[Sequence[ChatMessage], tuple[Notice, ...]]:
    """The valid form of ``messages`` and a notice for each thing mended; the same object when nothing was.

    A call without a result gets one that says so (an error result); a result without a call is left out; results
    are put in the order of the calls, directly after them.
    """
    if _is_valid(messages):
        return messages, ()
    out: list[ChatMessage] = []
    notices: list[Notice] = []
    position = 0
    while position < len(messages):
        message = messages[position]
        position += 1
        if isinstance(message, ToolExecutionResultMessage):
            notices.append(_orphan(message))
            continue
        out.append(message)
        if not (isinstance(message, AiMessage) and message.tool_execution_requests):
            continue
        results: list[ToolExecutionResultMessage] = []
        while position < len(messages) and isinstance(messages[position], ToolExecutionResultMessage):
            results.append(messages[position])  # type: ignore[arg-type]
            position += 1
        for call in message.tool_execution_requests:
            at = next((i for i, result in enumerate(results) if result.id == call.id), None)
            if at is None:
                notices.append(_lost(call))
                out.append(ToolExecutionResultMessage(call.id, call.name, LOST_RESULT, is_error=True))
            else:
                out.append(results.pop(at))
        notices.extend(_orphan(result) for result in results)
    return out, tuple(notices)


def _is_valid(messages: Sequence[ChatMessage]) -> bool:
    calls: tuple[ToolExecutionRequest, ...] = ()
    answered = 0
    for message in messages:
        if type(message) is ToolExecutionResultMessage:
            if answered >= len(calls) or calls[answered].id != message.id:
                return False
            answered += 1
        elif answered != len(calls):
            return False
        else:
            calls, answered = (message.tool_execution_requests, 0) if type(message) is AiMessage else ((), 0)
    return answered == len(calls)


def _lost(call: ToolExecutionRequest) -> Notice:
    return Notice(
        "history_call_without_result",
        f"call {call.id!r} of tool {call.name!r} had no result; an error result was put in its place",
        {"id": call.id, "tool": call.name},
    )


def _orphan(result: ToolExecutionResultMessage) -> Notice:
    return Notice(
        "history_result_without_call",
        f"result {result.id!r} of tool {result.tool_name!r} belongs to no call before it; it was left out",
        {"id": result.id, "tool": result.tool_name},
    )
