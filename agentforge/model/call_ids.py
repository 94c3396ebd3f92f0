"""Call ids that are made up and yet the same every time: ``call_1``, ``call_2``, ... in a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable

from agentforge.model.messages import AiMessage, ChatMessage

__all__ = ("call_ids_in", "next_call_number")

_NUMBERED = re.compile(r"call_([0-9]{1,9})")


def call_ids_in(messages: Iterable[ChatMessage]) -> list[str]:
    """The ids of all calls of a conversation, in order."""
    return [
        request.id
        for message in messages
        if isinstance(message, AiMessage)
        for request in message.tool_execution_requests
    ]


def next_call_number(taken: Iterable[str]) -> int:
    """The first number from which ``call_N`` is free, above all numbers ``taken``.

    >>> next_call_number(["call_7", "toolu_9"])
    8
    """
    return 1 + max((int(found[1]) for found in map(_NUMBERED.fullmatch, taken) if found), default=0)
