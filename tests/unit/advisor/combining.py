"""What the tests of advisors beside each other share: a turn over either face, and messages in few letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentforge.advisor import (
    Advised,
    Chain,
)
from agentforge.client import ChatClient
from agentforge.memory import (
    ChatMemory,
    MemoryKey,
)
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.tool.execution import Ask, PlannedCall, Proceed, Run, ToolChatResult

__all__ = ("BOTH", "KEY", "Approval", "Twice", "ask", "get_weather", "kept", "letters")

KEY = MemoryKey(None, "m1")
BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


def get_weather(city: str) -> str:
    "Current weather of a city."
    return f"{city}: sunny"


def letters(messages: Sequence[ChatMessage]) -> list[str]:
    """What each message is and says; ``*`` stands for a reply with calls."""
    names = {UserMessage: "user", SystemMessage: "system", ToolExecutionResultMessage: "result"}
    return [
        f"{names.get(type(message), 'answer')} {message.text}"
        if not (isinstance(message, AiMessage) and message.has_tool_execution_requests)
        else "*"
        for message in messages
    ]


async def ask(client: ChatClient, question: str, *, streamed: bool = False, **said: Any) -> ToolChatResult:
    prompt = client.prompt(question).memory_id("m1")
    for name, value in said.items():
        prompt = getattr(prompt, name)(value)
    if not streamed:
        return await prompt.call()
    async with prompt.stream() as events:
        async for _ in events:
            pass
    return events.result


async def kept(memory: ChatMemory) -> list[str]:
    found = await memory.get(KEY)
    return letters(found.messages if found is not None else ())


class Approval:
    """Every call waits until it is decided."""

    decided = False

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Any]:
        return [Proceed() if self.decided else Ask("may it?") for _ in batch]


class Twice:
    """Asks the rest of the chain a second time."""

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        await chain.next(run, request)
        return await chain.again(run, request, "once more")
