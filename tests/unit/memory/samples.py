"""Conversations for the tests of windows and turns, made by hand and generated."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from hypothesis import strategies as st

from agentforge.memory import ChatMemory, MemoryKey
from agentforge.model import (
    AiMessage,
    ChatMessage,
    SystemMessage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)

__all__ = (
    "KEY",
    "NOON",
    "OTHER",
    "Clock",
    "answer",
    "ask",
    "called",
    "histories",
    "is_valid",
    "lists",
    "said",
    "steps",
    "system",
    "talk",
    "texts",
)

NOON = datetime(2026, 8, 21, 12, tzinfo=UTC)


class Clock:
    """A clock that stands until it is told."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


KEY, OTHER = MemoryKey("acme", "42"), MemoryKey("other", "42")


async def talk(memory: ChatMemory, question: str, key: MemoryKey = KEY) -> None:
    """A turn that ends well; others can run in its middle."""
    async with memory.turn(key) as turn:
        await asyncio.sleep(0)
        await turn.commit([ask(question), answer(f"re: {question}")])


async def said(memory: ChatMemory, key: MemoryKey = KEY) -> list[str]:
    """The texts of what is stored."""
    found = await memory.get(key)
    return [] if found is None else texts(found.messages)


async def steps(count: int = 20) -> None:
    """Let everything go on that can."""
    for _ in range(count):
        await asyncio.sleep(0)


def system(text: str) -> SystemMessage:
    return SystemMessage(text)


def ask(text: str) -> UserMessage:
    return UserMessage(text)


def answer(text: str) -> AiMessage:
    return AiMessage(text)


def called(*ids: str) -> list[ChatMessage]:
    """A reply with these calls, and their results."""
    calls = AiMessage([ToolExecutionRequest(id_, "now", "{}") for id_ in ids])
    return [calls, *(ToolExecutionResultMessage(id_, "now", f"{id_}: noon") for id_ in ids)]


def texts(messages: Sequence[ChatMessage]) -> list[str]:
    """The messages' texts; a reply's calls as ``>a>b``, a result as ``<a``."""
    found = []
    for message in messages:
        if isinstance(message, ToolExecutionResultMessage):
            found.append(f"<{message.id}")
        elif isinstance(message, AiMessage) and message.tool_execution_requests:
            found.append("".join(f">{request.id}" for request in message.tool_execution_requests))
        else:
            found.append(message.text or "")
    return found


def is_valid(messages: Sequence[ChatMessage]) -> bool:
    """Whether each call has its one result, behind it and in order; written apart from what it tests."""
    open_calls: list[str] = []
    for message in messages:
        if isinstance(message, ToolExecutionResultMessage):
            if not open_calls or open_calls.pop(0) != message.id:
                return False
        elif open_calls:
            return False
        elif isinstance(message, AiMessage):
            open_calls = [request.id for request in message.tool_execution_requests]
    return not open_calls


_steps = st.one_of(
    st.text(max_size=12).map(lambda text: [answer(text)]),
    st.lists(st.sampled_from("abc"), min_size=1, max_size=3).map(lambda ids: called(*ids)),
    st.sampled_from(["s1", "s2"]).map(lambda text: [system(text)]),
)
_turns = st.tuples(st.lists(st.text(max_size=12).map(ask), min_size=1, max_size=2), st.lists(_steps, max_size=4))

#: Valid conversations: turns with replies, calls, system messages anywhere, now and then a reply before any question.
histories = st.tuples(st.lists(_steps, max_size=1), st.lists(_turns, max_size=7)).map(
    lambda made: [
        *(message for step in made[0] for message in step),
        *(m for asked, steps in made[1] for m in (*asked, *(message for step in steps for message in step))),
    ]
)

#: Any lists of messages, also such as are no conversation.
lists = st.lists(
    st.one_of(
        st.sampled_from("xyz").map(ask),
        st.sampled_from("xyz").map(answer),
        st.just(system("s")),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=2).map(lambda ids: called(*ids)[0]),
        st.sampled_from("abcd").map(lambda id_: called(id_)[1]),
    ),
    max_size=14,
)
