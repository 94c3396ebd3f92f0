"""Calls of one turn that share an id, or have none, get distinct ids on the wire.

A history may hold them, as ours goes by position; servers pair results with calls by id and refuse or mix up the rest.
The new ids follow from the turn alone, so the same bytes come out in every round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from agentforge.model import AiMessage, ChatMessage, ToolExecutionRequest, ToolExecutionResultMessage

__all__ = ("with_distinct_ids",)


def with_distinct_ids(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """The messages, the same object unless a turn needs other ids; ``messages`` is valid and begins no turn midway.

    >>> calls = [ToolExecutionRequest("c", "a"), ToolExecutionRequest("c", "b")]
    >>> results = [ToolExecutionResultMessage("c", "a", "1"), ToolExecutionResultMessage("c", "b", "2")]
    >>> [message.id for message in with_distinct_ids([AiMessage(calls), *results])[1:]]
    ['c', 'c-2']
    """
    for message in messages:
        if type(message) is AiMessage and message.tool_execution_requests and _needs_ids(message):
            return _renamed(messages)
    return messages


def _needs_ids(message: AiMessage) -> bool:
    calls = message.tool_execution_requests
    if len(calls) == 1:
        return not calls[0].id
    ids = {call.id for call in calls}
    return len(ids) != len(calls) or "" in ids


def _renamed(messages: Sequence[ChatMessage]) -> list[ChatMessage]:
    made: list[ChatMessage] = []
    ids: list[str] = []  # those of the results to come, where they change
    for message in messages:
        if isinstance(message, AiMessage) and message.tool_execution_requests and _needs_ids(message):
            ids = _ids_for(message.tool_execution_requests)
            fresh = iter(ids)
            parts = [
                replace(part, id=next(fresh)) if isinstance(part, ToolExecutionRequest) else part
                for part in message.contents
            ]
            message = AiMessage(parts, provider_state=message.provider_state)
        elif ids and isinstance(message, ToolExecutionResultMessage):
            message = ToolExecutionResultMessage(
                ids.pop(0), message.tool_name, message.contents, is_error=message.is_error
            )
        made.append(message)
    return made


def _ids_for(calls: Sequence[ToolExecutionRequest]) -> list[str]:
    taken = {call.id for call in calls}
    ids: list[str] = []
    for position, call in enumerate(calls, 1):
        identity = call.id
        if not identity or identity in ids:
            stem = identity or "call"
            number = position
            while (identity := f"{stem}-{number}") in taken:
                number += len(calls)
            taken.add(identity)
        ids.append(identity)
    return ids
