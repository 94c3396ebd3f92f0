"""The laws of the chain, over chains and turns that are made up: order, retries, streams, leaving, cancelling."""

from __future__ import annotations

import asyncio
import json
from math import prod
from typing import Any

from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from agentforge.model import AiMessage, ChatMessage, TextDelta, ToolExecutionResultMessage, UserMessage
from agentforge.tool.execution import (
    AttemptDiscarded,
    RoundStarted,
    Run,
    RunFinished,
    RunStarted,
    ToolChatResult,
    ToolLoopState,
    ToolOutcome,
    ToolStarted,
)
from tests.contracts.chains import Desk, Plan, plans, valid

QUESTION = "What is there?"
LAWS = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


async def ask(desk: Desk, run: Run | None = None, *, streamed: bool = False) -> ToolChatResult:
    prompt = desk.client.prompt(QUESTION)
    run = desk.run() if run is None else run
    if not streamed:
        return await prompt.call(run)
    async with prompt.stream(run) as events:
        async for _ in events:
            pass
    return events.result


def told(messages: Any) -> list[Any]:
    """Messages without the ids of calls, which differ from turn to turn."""

    def one(message: ChatMessage) -> Any:
        if isinstance(message, AiMessage):
            calls = tuple((call.name, call.arguments) for call in message.tool_execution_requests)
            return "answer", message.text, calls
        return type(message).__name__, message.text

    return [one(message) for message in messages]


def passes_of(plan: Plan) -> tuple[list[int], list[int], int]:
    """How often each advisor is passed, outside and inside the loop, and how often the model is asked."""
    outside = [prod(times for kind, times in plan.outside[:at] if kind == "again") for at in range(len(plan.outside))]
    loops = prod(times for kind, times in plan.outside if kind == "again")
    rounds = loops * (len(plan.rounds) + 1)
    before = [prod(times for kind, times in plan.inside[:at] if kind == "again") for at in range(len(plan.inside))]
    asked = rounds * prod(times for kind, times in plan.inside if kind == "again")
    return outside, [rounds * each for each in before], asked


@LAWS
@given(plans(), st.booleans())
def test_outside_once_a_pass_inside_once_a_round_in_mirrored_order(plan: Plan, streamed: bool) -> None:
    """However many ask again, and wherever: the way out is the way in, the other way round."""
    desk = Desk(plan)
    asyncio.run(ask(desk, streamed=streamed))

    outside, inside, asked = passes_of(plan)
    assert len(desk.model.requests) == asked
    for where, counts, kinds in (("out", outside, plan.outside), ("in", inside, plan.inside)):
        for at, ((kind, _), count) in enumerate(zip(kinds, counts, strict=True)):
            expected = count if kind in ("note", "again") else 0
            assert (desk.log.count(f"+{where}{at}"), desk.log.count(f"-{where}{at}")) == (expected, expected)
    order = [f"out{at}" for at in range(len(plan.outside))] + [f"in{at}" for at in range(len(plan.inside))]
    depth: list[str] = []
    for entry in desk.log:
        if entry.startswith("+"):
            assert not depth or order.index(depth[-1]) < order.index(entry[1:])
            depth.append(entry[1:])
        else:
            assert depth.pop() == entry[1:]
    assert depth == []


@LAWS
@given(plans(), st.booleans())
@example(Plan((("again", 3), ("memory", 1)), (), (1,)), False)
@example(Plan((("again", 2),), (("again", 2), ("memory", 1), ("again", 2)), (1, 2), "last"), True)
def test_no_message_is_there_twice(plan: Plan, streamed: bool) -> None:
    """In no request, not in the result, and not in the memory: a retry begins where the attempt before it began. A
    memory that has stored an attempt by then has that as a turn of its own."""
    desk = Desk(plan)

    async def work() -> tuple[ToolChatResult, Any]:
        return await ask(desk, streamed=streamed), await desk.stored()

    result, stored = asyncio.run(work())
    lists = [result.messages]
    if not plan.repeats_stored_turns:
        lists += [stored, *(request.messages for request in desk.model.requests)]
    for messages in lists:
        assert valid(messages)
        assert sum(isinstance(message, UserMessage) for message in messages) <= 1
        ids = [message.id for message in messages if isinstance(message, ToolExecutionResultMessage)]
        assert len(ids) == len(set(ids))
        assert len([m for m in messages if isinstance(m, AiMessage)]) <= len(plan.rounds) + 1
    for request in desk.model.requests:
        assert isinstance(request.messages[-1], UserMessage | ToolExecutionResultMessage)
        assert any(isinstance(message, UserMessage) for message in request.messages)
    assert sum(isinstance(message, UserMessage) for message in stored) == plan.turns_stored
    if plan.remembers:
        assert told(stored)[-len(result.messages) :] == told(result.messages)


@LAWS
@given(plans())
def test_a_streamed_turn_is_the_plain_one(plan: Plan) -> None:
    """The same reply, history, executions, tokens, notices, attributes and memory, in a first turn and a second."""

    def work(*, streamed: bool) -> list[Any]:
        desk = Desk(plan)

        async def hold() -> list[Any]:
            seen: list[Any] = []
            for _ in range(2):
                run = desk.run()
                result = await ask(desk, run, streamed=streamed)
                assert result.messages == run.messages and desk.left_open() == []
                marks = {name.rpartition(".")[0] if ".budget." in name else name for name in run.attributes}
                noted = {name: value for name, value in run.attributes.items() if name.startswith("noted.")}
                seen += [
                    told([result.final_response.ai_message]),
                    result.final_response.finish_reason,
                    told(result.messages),
                    [(each.request.arguments, each.outcome, each.round) for each in result.tool_executions],
                    len(result.intermediate_responses),
                    result.token_usage,
                    [notice.code for notice in result.notices],
                    {mark for mark in marks if ".memory_turn." not in mark},
                    noted,
                    told(await desk.stored()),
                    desk.executed,
                    list(desk.log),
                ]
            asked = [message for message in await desk.stored() if isinstance(message, UserMessage)]
            assert len(asked) == 2 * plan.turns_stored
            return seen

        return asyncio.run(hold())

    assert work(streamed=True) == work(streamed=False)


@LAWS
@given(plans())
@example(Plan((("safeguard", 1),), (), (1, 1), text="hide"))
def test_what_a_reader_ends_with_is_the_answer(plan: Plan) -> None:
    """The text since the last round began, or since the last attempt was discarded; text of rounds that go on is shown
    or hidden as the loop says; every model call has its end among the events, and the last event is the run's."""
    desk = Desk(plan)

    async def work() -> tuple[list[Any], ToolChatResult]:
        async with desk.client.prompt(QUESTION).stream(desk.run()) as events:
            return [event async for event in events], events.result

    events, result = asyncio.run(work())
    shown = ""
    rounds: list[str] = []
    for event in events:
        if isinstance(event, RoundStarted):
            rounds.append(shown)
            shown = ""
        elif isinstance(event, AttemptDiscarded):
            shown = ""
        elif isinstance(event, TextDelta):
            shown += event.text
    assert shown == result.content
    answer = f"Answer after {len(plan.rounds)} rounds."
    hidden = plan.text == "hide"
    assert set(rounds) <= ({"", answer} if hidden else {"", answer, *(f"Round {n}." for n in range(3))})
    assert sum(isinstance(event, ToolStarted) for event in events) == desk.executed
    assert isinstance(events[0], RunStarted) and isinstance(events[-1], RunFinished)
    assert len({event.run_id for event in events}) == 1


@LAWS
@given(plans(), st.integers(0, 80), st.booleans())
def test_who_leaves_the_stream_leaves_nothing_open(plan: Plan, count: int, raising: bool) -> None:
    """At any event, by leaving the block or by an error in it: no task, no turn of the memory, no stream of the model,
    no run; the history is valid, the memory has the turn whole or not at all, and the next turn is as any."""
    desk = Desk(plan)

    async def work() -> None:
        run, seen = desk.run(), 0
        try:
            async with desk.client.prompt(QUESTION).stream(run) as events:
                async for _ in events:
                    seen += 1
                    if seen > count:
                        if raising:
                            raise KeyError("mine")
                        break
        except KeyError:
            assert raising
        await check(desk, run)

    asyncio.run(work())


@LAWS
@given(plans(), st.integers(0, 150), st.booleans(), st.booleans())
def test_a_turn_that_is_cancelled_at_any_await_ends_in_order(
    plan: Plan, steps: int, streamed: bool, by_run: bool
) -> None:
    """From outside or by `Run.cancel`: a valid history, nothing open, and the conversation goes on."""
    desk = Desk(plan)

    async def work() -> None:
        run = desk.run()
        task = asyncio.ensure_future(ask(desk, run, streamed=streamed))
        for _ in range(steps):
            await asyncio.sleep(0)
        was_over = task.done()
        if by_run:
            run.cancel("enough")
        else:
            task.cancel()
        await asyncio.wait((task,))
        if not was_over:
            error = None if task.cancelled() else task.exception()
            assert task.cancelled() or error is None or "enough" in str(error)
        await check(desk, run)

    asyncio.run(work())


async def check(desk: Desk, run: Run) -> None:
    """After a turn that was ended: what holds of the run, of the memory, and of the next turn."""
    plan = desk.plan
    assert desk.left_open() == []
    assert valid(run.messages)
    stored = await desk.stored()
    assert valid(stored)
    whole = 1 + sum(1 + calls for calls in plan.rounds) + 1
    if plan.on_failure == "discard" and not plan.repeats_stored_turns:
        said = [message for message in stored if not message.text.startswith("Rule ")]
        assert len(said) in (0, whole)
    result = await ask(desk)
    assert result.content == f"Answer after {len(plan.rounds)} rounds."
    assert desk.left_open() == []


@LAWS
@given(plans(), st.integers(0, 2), st.booleans(), st.booleans())
def test_a_turn_that_waited_is_the_turn_that_did_not(plan: Plan, at: int, streamed: bool, with_question: bool) -> None:
    """Suspended in any round, saved as JSON and taken up again, with its question or with the state alone: the same
    history, executions, tokens and memory. While it waits nothing is open, and its messages end before what waits."""
    assume(at < len(plan.rounds))
    assume(all(kind != "again" or times == 1 for kind, times in plan.outside))

    async def uninterrupted(desk: Desk) -> list[Any]:
        return [await ask(desk, streamed=streamed)]

    async def waiting(desk: Desk) -> list[Any]:
        desk.approval.asks_in = at
        run = desk.run()
        first = await ask(desk, run, streamed=streamed)
        assert first.suspended is not None and first.response is None
        assert desk.left_open() == [] and await desk.stored() == ()
        assert valid(first.messages) and len(first.messages) == 1 + sum(1 + count for count in plan.rounds[:at])
        desk.approval.decided = True
        state = ToolLoopState.from_json(json.dumps(first.suspended.to_json()))
        prompt = desk.client.prompt(*([QUESTION] if with_question else [])).resume(state)
        if not streamed:
            return [await prompt.call(desk.run())]
        async with prompt.stream(desk.run()) as events:
            async for _ in events:
                pass
        return [events.result]

    seen: list[Any] = []
    for way in (uninterrupted, waiting):
        desk = Desk(plan)

        async def work(desk: Desk = desk, way: Any = way) -> list[Any]:
            [result] = await way(desk)
            assert desk.left_open() == []
            turn = told(message for message in result.messages if not message.text.startswith("Rule "))
            stored = told(message for message in await desk.stored() if not message.text.startswith("Rule "))
            executions = [(each.request.arguments, each.outcome, each.round) for each in result.tool_executions]
            return [turn, stored, executions, result.token_usage.total_tokens, desk.executed, len(desk.model.requests)]

        seen.append(asyncio.run(work()))
    assert seen[0] == seen[1]


@LAWS
@given(plans(), st.integers(2, 6))
def test_turns_of_one_chain_side_by_side_do_not_meet(plan: Plan, many: int) -> None:
    """Each conversation has its own turn, whole; those of one conversation come one after the other."""
    desk = Desk(plan)

    async def work() -> None:
        runs = [Run(memory_id=f"m{at // 2}", tenant="acme") for at in range(many)]
        results = await asyncio.gather(*(ask(desk, run, streamed=bool(at % 3)) for at, run in enumerate(runs)))
        assert {result.content for result in results} == {f"Answer after {len(plan.rounds)} rounds."}
        assert len({tuple(told(result.messages)) for result in results}) == 1
        assert all(each.outcome is ToolOutcome.OK for result in results for each in result.tool_executions)
        assert desk.left_open() == []

    asyncio.run(work())
