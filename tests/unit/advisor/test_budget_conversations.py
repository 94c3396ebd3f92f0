"""Budgets of conversations, of turns that waited, of nested runs, and of several runs at once."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge import ScriptedChatModel
from agentforge.advisor import Advised, Chain, arranged, model_call
from agentforge.advisor.budget import BudgetAdvisor
from agentforge.advisor.budget_store import BudgetStore, InProcessBudgetStore
from agentforge.advisor.faults import BudgetExceededError
from agentforge.errors import ConfigurationError
from agentforge.memory import MemoryKey
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    History,
    TokenUsage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.scripted import call
from agentforge.tool.execution import Ask, Proceed, Run, ToolLoopState
from tests.unit.advisor.budgeting import (
    BOTH,
    QUESTION,
    hold,
    knock,
    ran,
    rings,
)

# -- conversations -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "left"),
    [
        ({"memory_id": "one", "tenant": "acme"}, 1),
        ({"memory_id": "one", "tenant": "other"}, 3),
        ({"memory_id": "two", "tenant": "acme"}, 3),
        ({"tenant": "acme"}, 3),
    ],
)
async def test_a_conversation_is_a_tenant_and_a_memory_id(second: dict[str, Any], left: int) -> None:
    advisor = BudgetAdvisor(calls=3, per="conversation", on_limit="answer")
    await hold(advisor, rings(2), run=Run(memory_id="one", tenant="acme"))
    run = Run(**second)
    await hold(advisor, rings(5), run=run)

    assert ran(run) == left


@pytest.mark.parametrize("on_limit", ["raise", "answer", "finish"])
async def test_a_turn_of_a_conversation_without_a_budget_asks_nobody(on_limit: Any) -> None:
    advisor = BudgetAdvisor(tokens=10, per="conversation", on_limit=on_limit, text="Enough.")
    model = ScriptedChatModel([{"text": "Done.", "usage": {"input": 10, "output": 5}}], repeat=True)
    await hold(advisor, model, run=Run(memory_id="one"))
    if on_limit == "raise":
        with pytest.raises(BudgetExceededError, match="of this conversation is used up: 15 of 10 tokens") as raised:
            await hold(advisor, model, run=Run(memory_id="one"))
        assert raised.value.partial is not None
    else:
        assert (await hold(advisor, model, run=Run(memory_id="one"))).new_messages == (AiMessage("Enough."),)

    assert len(model.requests) == 1


# -- turns that wait, and nested ones ------------------------------------------------------------


@pytest.mark.parametrize("per", ["turn", "conversation"])
async def test_a_turn_that_waited_goes_on_with_what_it_had_used(per: Any) -> None:
    """Calls that waited are counted once."""

    class Approval:
        decided = False

        async def check(self, batch: Any, run: Run) -> list[Any]:
            return [Proceed() if self.decided or each.position == 0 else Ask("may it?") for each in batch]

    approval = Approval()
    advisor = BudgetAdvisor(calls=4, model_calls=3, per=per)
    model = ScriptedChatModel(rings(1, 2, 2))
    first = Run(memory_id="one")
    advised = await hold(advisor, model, run=first, gates=(approval,))
    assert advised.suspended is not None and ran(first) == 1

    approval.decided = True
    run = Run(memory_id="one")
    run.resume_from(ToolLoopState.from_json(advised.suspended.to_json()))
    with pytest.raises(BudgetExceededError):
        await hold(advisor, model, run=run, gates=(approval,))

    assert len(model.requests) == 3 and ran(run) == 3
    assert [execution.outcome.value for execution in run.tool_executions] == ["ok"] * 3 + ["limited"] * 2


@pytest.mark.parametrize("per", ["turn", "conversation"])
@pytest.mark.parametrize("costs", [{}, {"cost": Decimal(2), "currency": "USD"}])
async def test_a_turn_that_waits_twice_has_cost_all_that_it_took(per: Any, costs: Any) -> None:
    """Through a saved state too: no wait makes it cheaper."""

    class Each:
        allowed = 0

        async def check(self, batch: Any, run: Run) -> list[Any]:
            return [Proceed() if self.allowed > run.round else Ask("may it?") for _ in batch]

    def reply(message: AiMessage) -> ChatResponse:
        return ChatResponse(message, token_usage=TokenUsage(500_000, 500_000, 1_000_000, **costs), model_name="dear")

    rung = AiMessage([ToolExecutionRequest("c1", "ring", "{}")])
    model = ScriptedChatModel([reply(rung), reply(rung), reply(AiMessage("Done."))])
    prices = {} if costs else {"dear": {"input": 2, "output": 2}}
    approval, advisor = Each(), BudgetAdvisor(cost="5", per=per, prices=prices)
    run = Run(memory_id="one")
    advised = await hold(advisor, model, run=run, gates=(approval,))
    for approval.allowed in (1, 2):
        assert advised.suspended is not None
        run = Run(memory_id="one")
        run.resume_from(ToolLoopState.from_json(advised.suspended.to_json()))
        advised = await hold(advisor, model, run=run, gates=(approval,))

    assert advised.response is not None and advised.response.ai_message.text == "Done."
    account = advisor.account(run)
    spent = await account.ledger.store.add(account.ledger.key, {})
    assert spent["cost"] == Decimal(6), "three replies, of which each costs 2"
    assert run.usage_by_model() == {"dear": run.token_usage}


@pytest.mark.parametrize("known", [True, False])
async def test_a_run_that_a_tool_holds_uses_the_budget_of_its_parent(known: bool) -> None:
    advisor = BudgetAdvisor(calls=3)
    inner = Run()

    async def delegate() -> str:
        "Have somebody else ring."
        nonlocal inner
        inner = Run(parent=outer) if known else Run()
        await hold(advisor, rings(2), run=inner)
        return "done"

    outer = Run()
    refused = False
    try:
        await hold(
            advisor, [[call("delegate")], [call("knock"), call("knock")], "Done."], run=outer, tools=(delegate, knock)
        )
    except BudgetExceededError:
        refused = True

    assert ran(inner) == 2 and refused is known
    assert ran(outer) == (1 if known else 3)


# -- attempts, and settings ----------------------------------------------------------------------


@BOTH
async def test_another_attempt_of_an_outer_advisor_counts_and_repeats_nothing(streamed: bool) -> None:
    class Twice:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            await chain.next(run, request)
            return await chain.again(run, request, "once more")

    run, model = Run(), ScriptedChatModel([*rings(2), *rings(2)])
    advisor = BudgetAdvisor(calls=3, on_limit="answer", text="Enough.")
    advised = await hold(advisor, model, Twice(), run=run, events=[] if streamed else None)

    assert ran(run) == 3 and len(model.requests) == 3
    assert [type(message).__name__ for message in advised.new_messages] == [
        "AiMessage",
        *["ToolExecutionResultMessage"] * 2,
        "AiMessage",
    ]


async def test_results_that_the_caller_sent_are_not_sent_twice() -> None:
    """A turn that goes on after them, and is stopped: they are the request's, not the turn's."""
    request = ToolExecutionRequest("c0", "knock")
    given = (UserMessage("Ring."), AiMessage([request]), ToolExecutionResultMessage("c0", "knock", "knocked"))
    advisor = BudgetAdvisor(calls=1, on_limit="answer", text="Enough.")
    advised = await hold(advisor, rings(2), request=ChatRequest(given))

    assert len(advised.new_messages) == 4 and given[1] not in advised.new_messages


# -- the store -----------------------------------------------------------------------------------


async def test_a_store_gives_as_much_as_there_is() -> None:
    store, key = InProcessBudgetStore(), MemoryKey("acme", "one")

    assert isinstance(store, BudgetStore)
    assert [await store.take(key, "calls", 2, 5) for _ in range(4)] == [2, 2, 1, 0]
    assert await store.take(key, "calls", 2, 3) == 0
    assert await store.add(key, {"calls": Decimal(-2), "cost": Decimal("0.5")}) == {"calls": 3, "cost": Decimal("0.5")}
    assert [await store.first(key, "warned") for _ in range(2)] == [True, False]
    await store.forget(key)
    assert await store.add(key, {}) == {} and await store.first(key, "warned")


async def test_a_store_keeps_so_many_and_says_what_it_forgets(caplog: pytest.LogCaptureFixture) -> None:
    """Those that were idle longest go."""
    store = InProcessBudgetStore(2)
    for name in ("one", "two", "one", "three"):
        await store.take(MemoryKey(None, name), "calls", 1, 9)

    assert len(store) == 2 and "is forgotten" in caplog.text
    assert [await store.take(MemoryKey(None, name), "calls", 9, 9) for name in ("three", "one")] == [8, 7]
    with pytest.raises(ConfigurationError, match="at least 1"):
        InProcessBudgetStore(0)


async def test_the_run_s_tools_are_as_they_were() -> None:
    run = Run()
    await hold(BudgetAdvisor(calls=3), rings(1), run=run)

    assert run.sources == ()


async def test_without_a_tool_advisor_a_budget_is_for_the_model_alone() -> None:
    advisor, model = BudgetAdvisor(model_calls=1, per="conversation"), ScriptedChatModel(["Hi."], repeat=True)
    chain = Chain(arranged([advisor]), model_call(model))
    await chain.next(Run(memory_id=1), QUESTION)
    with pytest.raises(BudgetExceededError):
        await chain.next(Run(memory_id="1"), QUESTION)

    assert len(model.requests) == 1


# -- for all batches -----------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 4), max_size=4), min_size=1, max_size=4),
    st.integers(0, 8),
    st.sampled_from(["raise", "answer", "finish"]),
    st.booleans(),
    st.booleans(),
)
def test_runs_of_one_conversation_at_once_never_exceed_it_together(
    turns: list[list[int]], limit: int, on_limit: Any, inside: bool, streamed: bool
) -> None:
    """Whatever batches they ask for, in whatever order their steps come; and each history is valid."""
    advisor = BudgetAdvisor(calls=limit, model_calls=limit + 1, per="conversation", on_limit=on_limit)
    runs = [Run(memory_id="one") for _ in turns]
    models = [ScriptedChatModel(rings(*(count for count in batches if count)), repeat=True) for batches in turns]

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(
            *(
                hold(advisor, model, inside=inside, run=run, events=[] if streamed else None)
                for model, run in zip(models, runs, strict=True)
            ),
            return_exceptions=True,
        )

    ended = asyncio.run(all_of_them())

    assert sum(ran(run) for run in runs) <= limit
    assert sum(len(model.requests) for model in models) <= limit + 1
    for run, end in zip(runs, ended, strict=True):
        assert isinstance(end, Advised | BudgetExceededError)
        assert on_limit == "raise" or isinstance(end, Advised)
        assert History.of(run.messages) == run.messages
        if isinstance(end, Advised):
            assert History.of(end.new_messages) == tuple(end.new_messages)
            assert isinstance(end.new_messages[-1], AiMessage)
