"""What the tests of the safeguard share: a turn through a chain, and what a reader of its stream sees."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import ScriptedChatModel
from agentforge.advisor import Advised, Chain, arranged, model_call
from agentforge.model import ChatRequest, Event, TextDelta, UserMessage
from agentforge.tool.execution import Run

QUESTION = ChatRequest((UserMessage("What is in the box?"),))
BOTH = pytest.mark.parametrize("streamed", [False, True])


def look(where: str) -> str:
    "Look somewhere."
    return f"{where}: a bomb"


async def hold(
    advisors: Any,
    model: Any,
    *,
    request: ChatRequest = QUESTION,
    run: Run | None = None,
    events: list[Event] | None = None,
) -> Advised:
    """One turn through a chain."""

    async def emit(event: Event) -> None:
        assert events is not None
        events.append(event)

    model = model if hasattr(model, "chat") else ScriptedChatModel(model)
    chain = Chain(arranged(advisors), model_call(model), emit=None if events is None else emit)
    return await chain.next(run or Run(), request)


def shown(events: list[Event]) -> str:
    """The text that a reader of the stream ends with: what an attempt that was discarded showed does not count."""
    return "".join(event.text for event in events if isinstance(event, TextDelta))


def codes(run: Run) -> list[str]:
    return [notice.code for notice in run.notices]


def text_of(advised: Advised) -> str | None:
    assert advised.response is not None
    return advised.response.ai_message.text


class Rule:
    """A check that finds one sign."""

    def __init__(self, sign: str, reason: Any = "it is about boxes") -> None:
        self.sign = sign
        self.reason = reason
        self.asked: list[str] = []

    async def check(self, text: str, run: Run) -> Any:
        self.asked.append(text)
        return self.reason if self.sign in text else None
