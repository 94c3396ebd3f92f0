"""Runs inside of runs: what they cost, how long they may take, how they end, and what is told of them."""

from __future__ import annotations

import asyncio
import threading
from decimal import Decimal
from typing import Any

import pytest

from agentforge import (
    AiMessage,
    ChatClient,
    ChatRequest,
    ChatResponse,
    Run,
    RunFinished,
    ScriptedChatModel,
    TextDelta,
    TokenUsage,
    ToolExecutionRequest,
    ToolFinished,
    ToolOutcome,
    ToolService,
    ai_service,
    tool,
)
from agentforge.advisor import BudgetAdvisor, BudgetExceededError
from agentforge.errors import RunCancelledError, RunTimeoutError
from agentforge.model import Event
from agentforge.testing import call
from agentforge.tool.execution import RunStarted
from tests.unit.client.experts import Doctor, doctor

ILL = call("medical", question="I am ill")
DONE = "The doctor says tea."
ASKS = AiMessage([ToolExecutionRequest("c1", "medical", '{"question": "ill"}')])


def reply(
    message: AiMessage | str, *, model: str = "outer", tokens: int = 10, cost: Decimal | None = None
) -> ChatResponse:
    """A reply that took so many tokens, half of them read."""
    usage = TokenUsage(tokens // 2, tokens // 2, tokens, cost=cost, currency=None if cost is None else "USD")
    return ChatResponse(
        AiMessage(message) if isinstance(message, str) else message, token_usage=usage, model_name=model
    )


# -- costs ---------------------------------------------------------------------------------------


async def test_what_inner_runs_take_is_in_the_outer_result() -> None:
    """Also what runs inside of those take; each run knows its own part, and that of the others by model."""
    seen: list[tuple[int | None, dict[str, int | None], dict[str, int | None]]] = []

    class Noting:
        async def advise(self, run: Run, request: ChatRequest, chain: Any) -> Any:
            advised = await chain.next(run, request)
            parts = [
                {name: usage.total_tokens for name, usage in each.items()} for each in (run.own_usage, run.nested_usage)
            ]
            seen.append((run.token_usage.total_tokens, parts[0], parts[1]))
            return advised

    expert, _ = doctor([reply("Tea.", model="inner", tokens=6)], advisors=[Noting()])
    client = ChatClient(ScriptedChatModel([reply(ASKS), reply(DONE)]), tools=[expert], advisors=[Noting()])
    result = await client.prompt("?").call()

    assert result.token_usage == TokenUsage(13, 13, 26)
    assert seen == [(6, {"inner": 6}, {}), (26, {"outer": 20}, {"inner": 6})]


async def test_a_run_that_a_tool_holds_by_itself_counts_as_well() -> None:
    """A tool that asks a client is no different: the run at hand is its parent, also from a worker thread."""
    inner = ChatClient(ScriptedChatModel([reply("Tea.", tokens=6)] * 2))

    @tool
    async def ask() -> str | None:
        """Asks."""
        return (await inner.prompt("?").call()).text

    @tool
    def ask_later() -> str | None:
        """Asks from a thread."""
        return inner.prompt("?").call_sync().text

    asks = AiMessage([ToolExecutionRequest("c1", "ask"), ToolExecutionRequest("c2", "ask_later")])
    with inner:
        async with ChatClient(ScriptedChatModel([reply(asks), reply(DONE)]), tools=[ask, ask_later]) as client:
            result = await client.prompt("?").call()
    assert result.token_usage.total_tokens == 32


async def test_a_service_without_a_client_counts_as_well() -> None:
    """The bare loop has no chain, and the same sum."""
    expert, _ = doctor([reply("Tea.", tokens=6)])
    async with ToolService(expert) as service:
        result = await service.chat(ScriptedChatModel([reply(ASKS), reply(DONE)]), None, "?")
    assert result.token_usage.total_tokens == 26


async def test_a_budget_of_the_outer_run_counts_inner_runs() -> None:
    """By tokens: the model call after the inner run is not made."""
    expert, _ = doctor([reply("Tea.", tokens=100)])
    model = ScriptedChatModel([reply(ASKS), reply(DONE)])
    client = ChatClient(model, tools=[expert], advisors=[BudgetAdvisor(tokens=100)])
    with pytest.raises(BudgetExceededError) as caught:
        await client.prompt("?").call()
    assert (caught.value.limit, caught.value.used, len(model.requests)) == ("tokens", 110, 1)


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("told", ["by the budget's prices", "by the replies", "by the inner ones alone"])
async def test_each_reply_is_paid_once_at_the_price_of_its_model(shared: bool, told: str) -> None:
    """Whether the inner run passes the same budget or knows nothing of it, and whoever says what it costs."""
    prices = {"outer": {"input": 1, "output": 1}, "inner": {"input": 100, "output": 100}}
    own = {name: price for name, price in prices.items() if told == "by the budget's prices" or name == "outer"}
    budget = BudgetAdvisor(cost=1, tokens=1_000, prices=own if told != "by the replies" else None)
    outer = Decimal("0.00001") if told == "by the replies" else None
    inner = Decimal("0.0006") if told != "by the budget's prices" else None
    expert, _ = doctor([reply("Tea.", model="inner", tokens=6, cost=inner)], advisors=[budget] if shared else [])
    model = ScriptedChatModel([reply(ASKS, cost=outer), reply(DONE, cost=outer)])
    client = ChatClient(model, tools=[expert], advisors=[budget])
    run = Run()
    result = await client.prompt("?").call(run)
    known = await budget.account(run).settle(run)
    assert (known["tokens"], known["cost"]) == (Decimal(26), Decimal(20 * 1 + 6 * 100) / 1_000_000)
    assert result.token_usage.cost == (Decimal("0.00062") if told == "by the replies" else None)
    assert not any(notice.code == "budget_price_unknown" for notice in result.notices)


def looking(tokens: int, rounds: int = 9) -> tuple[ScriptedChatModel, Any]:
    """A model that asks for a tool again and again, and that tool."""

    @tool
    def look() -> str:
        """Looks."""
        return "nothing"

    asks = [reply(AiMessage([ToolExecutionRequest(f"c{n}", "look")]), tokens=tokens) for n in range(rounds)]
    return ScriptedChatModel(asks), look


@pytest.mark.parametrize("shared", [False, True])
async def test_an_inner_run_begins_no_model_call_once_the_budget_is_used_up(shared: bool) -> None:
    """In the middle of its rounds, whether it passes the same budget or knows nothing of it; the outer run then has
    nothing left either."""
    budget = BudgetAdvisor(tokens=50)
    inner, look = looking(20)
    expert = ai_service(Doctor, ChatClient(inner, tools=[look], advisors=[budget] if shared else []))
    client = ChatClient(ScriptedChatModel([reply(ASKS), reply(DONE)]), tools=[expert], advisors=[budget])
    with pytest.raises(BudgetExceededError) as caught:
        await client.prompt("?").call()
    assert (len(inner.requests), caught.value.used) == (2, 50)
    [execution] = caught.value.partial.tool_executions
    assert execution.outcome is ToolOutcome.FAILED and "50 of 50 tokens" in execution.result.text


@pytest.mark.parametrize("bare", [False, True])
async def test_the_budget_binds_runs_at_any_depth_and_on_any_loop(bare: bool) -> None:
    """Here below a tool in a thread, whose client runs on a loop of its own, or that drives the bare loop."""
    inner, look = looking(20)
    client = ChatClient(inner, tools=[look])
    service = ToolService(look)

    @tool
    def dig() -> str | None:
        """Digs."""
        return (service.chat_sync(inner, None, "?") if bare else client.prompt("?").call_sync()).text

    middle = ChatClient(
        ScriptedChatModel([reply(AiMessage([ToolExecutionRequest("c1", "dig")])), reply("Nothing.")]), tools=[dig]
    )
    expert = ai_service(Doctor, middle)
    outer = ScriptedChatModel([reply(ASKS), reply(DONE)])
    budget = BudgetAdvisor(tokens=60, on_limit="answer", text="Enough.")
    with client, service, middle:
        result = await ChatClient(outer, tools=[expert], advisors=[budget]).prompt("?").call()
    assert (result.text, len(inner.requests), len(outer.requests)) == ("Enough.", 2, 1)
    assert result.token_usage.total_tokens == 60


async def test_a_refused_call_of_the_outer_run_ends_no_inner_one() -> None:
    """Calls are the outer run's own; what is used up of them binds the outer run alone."""
    expert, inner = doctor([reply("Tea.")])
    asks = AiMessage([ToolExecutionRequest(f"c{n}", "medical", '{"question": "ill"}') for n in range(2)])
    budget = BudgetAdvisor(calls=1, on_limit="answer", text="Enough.")
    client = ChatClient(ScriptedChatModel([reply(asks), reply(DONE)]), tools=[expert], advisors=[budget])
    result = await client.prompt("?").call()
    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.OK, ToolOutcome.LIMITED]
    assert (result.text, len(inner.requests)) == ("Enough.", 1)


# -- time and cancellation -----------------------------------------------------------------------


class Waiting(ScriptedChatModel):
    """A model that never answers; notes how its waiting ended."""

    def __init__(self) -> None:
        super().__init__([])
        self.asked = asyncio.Event()
        self.ended: list[str] = []

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """Never."""
        self.asked.set()
        try:
            await asyncio.Event().wait()
        except BaseException as error:
            self.ended.append(type(error).__name__)
            raise
        raise AssertionError("unreachable")


def waiting(**declared: Any) -> tuple[ChatClient, Waiting]:
    """A client with a service that never answers."""
    model = Waiting()
    expert = ai_service(Doctor, ChatClient(model))
    outer = ScriptedChatModel([ILL, DONE])
    return ChatClient(outer, service=ToolService(expert, **declared)), model


async def test_an_inner_run_ends_with_the_time_of_the_outer_one() -> None:
    """It has no more of it than that; nothing is left running."""
    client, model = waiting()
    with pytest.raises(RunTimeoutError):
        await client.prompt("?").timeout(0.05).call()
    assert model.ended == ["CancelledError"]


def test_an_inner_run_has_the_deadline_of_the_outer_one_or_an_earlier_one() -> None:
    """Never a later one."""
    outer = Run(timeout=10)
    assert Run(parent=outer).deadline == outer.deadline
    assert Run(parent=outer, timeout=100).deadline == outer.deadline
    earlier = Run(parent=outer, timeout=1).deadline
    assert earlier is not None and outer.deadline is not None and earlier < outer.deadline
    assert (Run().depth, outer.depth, Run(parent=Run(parent=outer)).depth) == (0, 0, 2)


async def test_a_service_that_takes_longer_than_a_tool_may_is_timed_out() -> None:
    """The time of the call is that of the whole inner run; the outer one goes on."""
    client, model = waiting(tool_timeout=0.05)
    result = await client.prompt("?").call()
    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.TIMED_OUT]
    assert (result.text, model.ended) == (DONE, ["CancelledError"])


async def test_an_inner_run_is_cancelled_with_the_outer_one() -> None:
    """By the application, by whoever awaits it, or by leaving the stream."""
    client, model = waiting()
    run = Run()
    task = asyncio.create_task(client.prompt("?").call(run))
    await model.asked.wait()
    run.cancel("enough")
    with pytest.raises(RunCancelledError, match="enough"):
        await task
    assert model.ended == ["CancelledError"]

    client, model = waiting()
    task = asyncio.create_task(client.prompt("?").call())
    await model.asked.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert model.ended == ["CancelledError"]


@pytest.mark.parametrize("by", ["the application", "whoever awaits it"])
async def test_an_inner_run_in_a_thread_is_cancelled_with_the_outer_one(by: str) -> None:
    """A synchronous tool that holds a run is not there to be interrupted; its run is."""
    asked, over = threading.Event(), threading.Event()
    ended: list[str] = []

    class Blocking(Waiting):
        async def chat(self, request: ChatRequest) -> ChatResponse:
            asked.set()
            return await super().chat(request)

    inner = ChatClient(Blocking())

    @tool
    def ask() -> str:
        """Asks from a thread."""
        try:
            return inner.prompt("?").call_sync().text or ""
        except RunCancelledError as error:
            ended.append(error.message)
            raise
        finally:
            over.set()

    with inner:
        async with ChatClient(ScriptedChatModel([call("ask"), DONE]), tools=[ask]) as client:
            run = Run()
            task = asyncio.create_task(client.prompt("?").call(run))
            await asyncio.to_thread(asked.wait, 10)
            if by == "the application":
                run.cancel("enough")
            else:
                task.cancel()
            with pytest.raises((RunCancelledError, asyncio.CancelledError)):
                await task
            await asyncio.to_thread(over.wait, 10)
    why = "enough" if by == "the application" else "whoever waited for the run was cancelled"
    assert ended == [f"the run was cancelled: {why}"]


# -- what is told --------------------------------------------------------------------------------


async def events_of(*, nested: bool) -> tuple[str, list[Event]]:
    """The events of a turn with an expert, and the id of its run."""
    expert, _ = doctor([call("prescribe", drug="tea"), "Drink tea."])
    client = ChatClient(ScriptedChatModel([ILL, DONE]), tools=[expert])
    async with client.prompt("?").tool_context(user_id="u7").stream(nested=nested) as stream:
        return stream.run.id, [event async for event in stream]


async def test_a_stream_tells_of_its_own_run_alone() -> None:
    """Whoever shows the texts of a stream shows one answer."""
    run_id, events = await events_of(nested=False)
    assert {event.run_id for event in events} == {run_id}
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == DONE


async def test_a_stream_tells_of_inner_runs_too_where_that_is_asked_for() -> None:
    """Each event with its run and that run's parent; theirs begin and end within the call."""
    run_id, events = await events_of(nested=True)
    inner = [event for event in events if event.parent_run_id == run_id]
    own = [event for event in events if event.run_id == run_id]
    assert len(inner) + len(own) == len(events) and len({event.run_id for event in inner}) == 1
    assert (type(inner[0]), type(inner[-1])) == (RunStarted, RunFinished)
    assert "".join(event.text for event in inner if isinstance(event, TextDelta)) == "Drink tea."
    assert "".join(event.text for event in own if isinstance(event, TextDelta)) == DONE
    names = [event.execution.request.name for event in events if isinstance(event, ToolFinished)]
    assert names == ["prescribe", "medical"]
    assert type(events[-1]) is RunFinished and events[-1].run_id == run_id
