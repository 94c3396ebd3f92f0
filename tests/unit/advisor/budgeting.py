"""What the tests of the budget share: a turn through a chain with its gate, and what ran in it."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolOutcome, ToolService
from agentforge.advisor import Advised, Chain, ToolCallingAdvisor, arranged, model_call
from agentforge.advisor.budget import BudgetAdvisor
from agentforge.model import ChatRequest, Event, Notice, UserMessage
from agentforge.model.scripted import call
from agentforge.tool.execution import Run

QUESTION = ChatRequest((UserMessage("Ring."),))
BOTH = pytest.mark.parametrize("streamed", [False, True])
PLACES = pytest.mark.parametrize("inside", [False, True])


def ring(times: int = 1) -> str:
    "Ring the bell."
    return "rung"


def knock() -> str:
    "Knock."
    return "knocked"


async def hold(
    advisor: BudgetAdvisor,
    model: Any,
    *others: Any,
    inside: bool = False,
    run: Run | None = None,
    events: list[Event] | None = None,
    tools: tuple[Any, ...] = (ring, knock),
    gates: tuple[Any, ...] = (),
    request: ChatRequest = QUESTION,
) -> Advised:
    """One turn with the budget outside the tool loop or inside of it; its gate is the service's."""

    async def emit(event: Event) -> None:
        assert events is not None
        events.append(event)

    model = model if hasattr(model, "chat") else ScriptedChatModel(model, repeat=True)
    with ToolService(*tools, gates=[*advisor.gates, *gates]) as service:
        loop = ToolCallingAdvisor(service)
        listed = [loop, advisor] if inside else [*others, advisor, loop]
        chain = Chain(arranged(listed), model_call(model), emit=None if events is None else emit)
        return await chain.next(run or Run(), request)


def ran(run: Run) -> int:
    return sum(execution.outcome is ToolOutcome.OK for execution in run.tool_executions)


async def spent_by(advisor: BudgetAdvisor, run: Run) -> Mapping[str, Decimal]:
    """What is written down."""
    ledger = advisor.account(run).ledger
    return await ledger.store.add(ledger.key, {})


def notices(run: Run, code: str) -> list[Notice]:
    return [notice for notice in run.notices if notice.code == code]


def rings(*counts: int, text: str = "Done.") -> list[Any]:
    """Rounds with so many calls each, and an answer."""
    return [[call("ring", times=1)] * count for count in counts] + [text]


PRICES = {"dear": {"input": 2, "output": "8", "cached_input": 1}, "cheap-*": {"input": 0.5, "output": 0.5}}
