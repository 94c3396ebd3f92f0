"""Calls that share an id, or have none, get distinct ids on the wire.

A history may hold them, as ours goes by position; servers pair results with calls by id and refuse or mix up the rest.
Within a turn ids always have to differ; some endpoints want them to differ in the whole request. The new ids follow
from the turn and those before it alone, so the same bytes come out in every round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count

from agentforge.model import AiMessage, ChatMessage, ToolExecutionRequest, ToolExecutionResultMessage
from agentforge.provider.json_text import utf8

__all__ = ("DistinctIds", "with_distinct_ids")

_MAX_KEPT = 8192
_NEXT = "\0"  # behind an id: the place of the number that is tried next for it


def with_distinct_ids(messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """The messages, the same object unless a turn needs other ids; ``messages`` is valid and begins no turn midway.

    >>> calls = [ToolExecutionRequest("c", "a"), ToolExecutionRequest("c", "b")]
    >>> results = [ToolExecutionResultMessage("c", "a", "1"), ToolExecutionResultMessage("c", "b", "2")]
    >>> [message.id for message in with_distinct_ids([AiMessage(calls), *results])[1:]]
    ['c', 'c-2']
    """
    return DistinctIds().of(messages)


class DistinctIds:
    """Gives the ids, and keeps the messages that it made by the ones they were made of, so that whoever caches by the
    message finds them again. ``max_kept`` bounds what is kept."""

    __slots__ = ("_kept", "_max_kept")

    def __init__(self, max_kept: int = _MAX_KEPT) -> None:
        # With the original, so that its id is not used again while its entry lives.
        self._kept: dict[tuple[int, tuple[str, ...]], tuple[ChatMessage, ChatMessage]] = {}
        self._max_kept = max_kept

    def of(self, messages: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
        """The messages with ids that are distinct in each turn; the same object unless one needs others."""
        for message in messages:
            if type(message) is AiMessage and message.tool_execution_requests and _needs_ids(message):
                return list(self._renamed(messages))
        return messages

    def of_request(
        self, messages: Sequence[ChatMessage], taken: dict[str, int]
    ) -> tuple[Sequence[ChatMessage], dict[str, int]]:
        """The messages with ids that are distinct among each other and from those ``taken`` by the turns before, and
        the ids that they take in turn. The numbers are where the search for a free id goes on."""
        new: dict[str, int] = {}
        made: list[ChatMessage] = []
        ids: Iterator[str] = iter(())
        for message in messages:
            if type(message) is AiMessage and (calls := message.tool_execution_requests):
                wanted = _free_ids(calls, taken, new)
                ids = iter(wanted)
                message = self._with_ids(message, wanted)
            elif type(message) is ToolExecutionResultMessage and (identity := next(ids, None)) is not None:
                message = self._with_ids(message, (identity,))
            made.append(message)
        return made, new

    def _renamed(self, messages: Sequence[ChatMessage]) -> Iterator[ChatMessage]:
        ids: Iterator[str] = iter(())  # those of the results to come, where they change
        for message in messages:
            if isinstance(message, AiMessage) and message.tool_execution_requests and _needs_ids(message):
                wanted = _free_ids(message.tool_execution_requests, {}, {})
                ids = iter(wanted)
                message = self._with_ids(message, wanted)
            elif isinstance(message, ToolExecutionResultMessage) and (identity := next(ids, None)) is not None:
                message = self._with_ids(message, (identity,))
            yield message

    def _with_ids(self, message: ChatMessage, ids: tuple[str, ...]) -> ChatMessage:
        if isinstance(message, AiMessage):
            if all(call.id == identity for call, identity in zip(message.tool_execution_requests, ids, strict=True)):
                return message
        elif not isinstance(message, ToolExecutionResultMessage) or message.id == ids[0]:
            return message
        key = (id(message), ids)
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = (message, _written(message, ids))
            if len(self._kept) > self._max_kept:
                del self._kept[next(iter(self._kept))]
        return found[1]


def _written(message: AiMessage | ToolExecutionResultMessage, ids: tuple[str, ...]) -> ChatMessage:
    if isinstance(message, ToolExecutionResultMessage):
        return ToolExecutionResultMessage(ids[0], message.tool_name, message.contents, is_error=message.is_error)
    fresh = iter(ids)
    parts = [
        replace(part, id=next(fresh)) if isinstance(part, ToolExecutionRequest) else part for part in message.contents
    ]
    return AiMessage(parts, provider_state=message.provider_state)


def _needs_ids(message: AiMessage) -> bool:
    calls = message.tool_execution_requests
    if len(calls) == 1:
        return not calls[0].id
    ids = {_sent(call.id) for call in calls}
    return len(ids) != len(calls) or "" in ids


def _free_ids(calls: Sequence[ToolExecutionRequest], taken: dict[str, int], new: dict[str, int]) -> tuple[str, ...]:
    """An id for each call: its own where that is free, else one that no call of the turn or before it has. ``new``
    grows by them."""
    given = [_sent(call.id) for call in calls]
    own = frozenset(given)
    ids: list[str] = []
    for position, identity in enumerate(given, 1):
        call_id = calls[position - 1].id
        if not identity or identity in new or identity in taken:
            stem = identity or "call"
            place = stem + _NEXT
            for number in count(max(new.get(place) or taken.get(place, 0), position), len(calls)):
                call_id = f"{stem}-{number}"
                if call_id not in own and call_id not in new and call_id not in taken:
                    break
            new[place] = number + 1
            identity = call_id
        new.setdefault(identity, 0)
        ids.append(call_id)
    return tuple(ids)


def _sent(identity: str) -> str:
    """The id as it is written: halves of surrogate pairs have one character in their place."""
    return identity if identity.isascii() else utf8(identity).decode()
