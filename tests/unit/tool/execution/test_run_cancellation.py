"""Ending a run early: cancelled at every step, over its deadline, cancelled by the application, left by its reader."""

from __future__ import annotations

import asyncio
import gc
import threading
import traceback
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentforge import (
    ChatRequest,
    Run,
    RunFinished,
    ScriptedChatModel,
    TextDelta,
    ToolOutcome,
    ToolService,
    ToolStarted,
    tool,
)
from agentforge.errors import RunCancelledError, RunError, RunTimeoutError
from agentforge.model.scripted import call, calls
from agentforge.tool.execution import RunStarted
from tests.unit.tool.execution.support import valid


class SteppingModel(ScriptedChatModel):
    """Gives way a few times before it answers, as a model on a network does, and counts what is open."""

    open = 0

    async def chat(self, request: ChatRequest) -> Any:
        self.open += 1
        try:
            for _ in range(3):
                await asyncio.sleep(0)
            return await super().chat(request)
        finally:
            self.open -= 1

    async def stream(self, request: ChatRequest) -> AsyncIterator[Any]:  # type: ignore[override]
        self.open += 1
        try:
            async for event in super().stream(request):
                await asyncio.sleep(0)
                yield event
        finally:
            self.open -= 1


@tool
async def look() -> str:
    "Takes a few steps."
    for _ in range(4):
        await asyncio.sleep(0)
    return "seen"


@tool
def block() -> str:
    "Runs on a thread."
    return "blocked"


@tool(effect="write")
async def pay() -> str:
    "A write of a few steps."
    for _ in range(2):
        await asyncio.sleep(0)
    return "paid"


def three_rounds() -> SteppingModel:
    batch = calls(call("look"), call("block"), call("pay"))
    return SteppingModel([batch, batch, batch, "done"])


async def tasks_gone() -> bool:
    for _ in range(50):
        if asyncio.all_tasks() == {asyncio.current_task()}:
            return True
        await asyncio.sleep(0.002)
    return False


async def cancelled_at(step: int, work: Callable[[Run], Any]) -> tuple[Run, bool]:
    """Run ``work`` and cancel it at the ``step``-th turn of the loop; whether it had ended before."""
    run = Run()
    task = asyncio.ensure_future(work(run))
    for _ in range(step):
        if task.done():
            break
        await asyncio.sleep(0)
    early = task.cancel()
    await asyncio.wait([task], timeout=5)
    assert task.done()
    if early and not task.cancelled():
        assert task.exception() is None, task.exception()
    return run, task.cancelled()


@pytest.mark.parametrize("streamed", [False, True])
async def test_cancelled_at_any_step_the_history_is_valid_and_nothing_is_left(streamed: bool) -> None:
    service = ToolService(look, block, pay, max_threads=3)
    threads = threading.active_count()
    step, ended_early = 0, 0
    while True:
        model = three_rounds()

        async def work(run: Run, model: SteppingModel = model) -> None:
            if not streamed:
                await service.chat(model, None, "q", context=run)
                return
            async with service.stream(model, None, "q", context=run) as events:
                async for _ in events:
                    await asyncio.sleep(0)

        run, cancelled = await cancelled_at(step, work)
        assert valid(run.messages), step
        assert model.open == 0, step
        assert await tasks_gone(), (step, asyncio.all_tasks())
        called = [m for m in run.messages if getattr(m, "tool_execution_requests", ())]
        assert len(run.tool_executions) == sum(len(m.tool_execution_requests) for m in called)
        if not cancelled:
            break
        ended_early += 1
        step += 1
    assert ended_early > 30, "the conversation has many steps, and each of them was cancelled"
    assert threading.active_count() <= threads + 3
    result = await service.chat(three_rounds(), None, "q")
    assert result.text == "done"
    service.close()


async def test_a_write_that_had_begun_is_in_doubt_a_read_is_cancelled_and_a_done_call_keeps_its_result() -> None:
    begun = asyncio.Event()

    @tool(effect="write")
    async def refund() -> str:
        "A write that hangs."
        begun.set()
        await asyncio.sleep(30)
        return "x"

    @tool
    async def query() -> str:
        "A read that hangs."
        await asyncio.sleep(30)
        return "x"

    @tool
    async def quick() -> str:
        "Done at once."
        return "quick"

    run = Run()
    model = ScriptedChatModel([calls(call("quick"), call("query"), call("refund"), call("quick"))])
    service = ToolService(refund, query, quick, max_concurrent_tools=3)
    task = asyncio.create_task(service.chat(model, None, "q", context=run))
    await begun.wait()
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [e.outcome for e in run.tool_executions] == [
        ToolOutcome.OK,
        ToolOutcome.CANCELLED,
        ToolOutcome.IN_DOUBT,
        ToolOutcome.OK,
    ]
    assert valid(run.messages)


async def test_a_run_over_its_time_is_a_typed_error_with_the_partial_history() -> None:
    @tool
    async def hangs() -> str:
        "Never ends."
        await asyncio.sleep(30)
        return "x"

    with pytest.raises(RunTimeoutError) as caught:
        await ToolService(hangs).chat(ScriptedChatModel([call("hangs")]), None, "q", timeout=0.05)
    assert isinstance(caught.value, TimeoutError)
    assert valid(caught.value.partial.messages)  # type: ignore[attr-defined]
    assert caught.value.partial.tool_executions[0].outcome is ToolOutcome.CANCELLED  # type: ignore[attr-defined]


@pytest.mark.parametrize("from_thread", [False, True])
async def test_the_application_cancels_a_run_from_anywhere(from_thread: bool) -> None:
    run = Run()

    @tool
    async def hangs() -> str:
        "Never ends."
        if from_thread:
            threading.Thread(target=run.cancel, args=("the user left",)).start()
        else:
            run.cancel("the user left")
        await asyncio.sleep(30)
        return "x"

    with pytest.raises(RunCancelledError, match="the user left"):
        await ToolService(hangs).chat(ScriptedChatModel([call("hangs")]), None, "q", context=run)
    assert valid(run.messages) and len(run.messages) == 3


async def test_a_run_that_was_cancelled_before_it_began_never_asks_the_model() -> None:
    run = Run()
    run.cancel("too late")
    model = ScriptedChatModel(["hi"])
    with pytest.raises(RunCancelledError):
        await ToolService(look).chat(model, None, "q", context=run)
    assert model.requests == []


async def test_a_tool_that_waits_for_the_cancellation_is_told() -> None:
    told: list[str] = []
    run = Run()

    @tool
    async def waits() -> str:
        "Waits to be told."
        told.append(await run.cancellation.wait())
        return "told"

    task = asyncio.create_task(ToolService(waits).chat(ScriptedChatModel([call("waits")]), None, "q", context=run))
    for _ in range(20):
        await asyncio.sleep(0)
    run.cancel("enough")
    with pytest.raises(RunCancelledError):
        await task
    assert told in ([], ["enough"])


def test_each_callback_of_a_cancellation_is_called_once_whatever_another_raises() -> None:
    run, told = Run(), []
    run.cancellation.on_request(lambda: 1 / 0)
    run.cancellation.on_request(lambda: told.append("second"))
    undo = run.cancellation.on_request(lambda: told.append("taken back"))
    undo()
    run.cancel("enough")
    run.cancel("again")
    run.cancellation.on_request(lambda: told.append("late"))
    assert told == ["second", "late"] and run.cancellation.reason == "enough"


@pytest.mark.parametrize("kind", ["async", "thread"])
async def test_the_errors_that_a_run_keeps_do_not_keep_the_run(kind: str) -> None:
    """What a call raised stays readable in its result, traceback and all, without a circle through our own frames."""

    @tool(name="fails")
    async def in_loop() -> str:
        "Fails."
        await asyncio.sleep(0)
        raise ValueError("no")

    @tool(name="fails")
    def on_thread() -> str:
        "Fails."
        raise ValueError("no")

    service = ToolService(in_loop if kind == "async" else on_thread)
    result = await service.chat(ScriptedChatModel([call("fails"), "x"]), None, "q")
    cause = result.tool_executions[0].result.cause
    assert cause is not None and cause.__cause__ is not None
    frames = [frame for frame, _ in traceback.walk_tb(cause.__cause__.__traceback__)]
    assert frames[-1].f_code.co_name in ("in_loop", "on_thread")
    ours = [frame for error in (cause, cause.__cause__) for frame, _ in traceback.walk_tb(error.__traceback__)][:-1]
    assert all(not frame.f_locals for frame in ours if frame.f_code.co_name != "_serve")
    service.close()


# -- streams that are left early -----------------------------------------------------------------------


async def test_leaving_the_block_ends_the_run_and_closes_the_model() -> None:
    model = three_rounds()
    async with ToolService(look, block, pay).stream(model, None, "q") as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                break
    assert model.open == 0 and await tasks_gone()
    assert valid(events.run.messages)


@pytest.mark.parametrize("by", ["cancel", "timeout"])
async def test_a_caller_cancelled_while_it_leaves_the_block_stays_cancelled_and_the_run_has_ended(by: str) -> None:
    left, release, went_on, streams = asyncio.Event(), asyncio.Event(), False, []

    @tool
    async def slow_to_stop() -> str:
        "Takes a while to end when it is cancelled."
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            left.set()
            await release.wait()
            raise
        return "x"

    async def read() -> None:
        nonlocal went_on
        async with ToolService(slow_to_stop).stream(ScriptedChatModel([call("slow_to_stop")]), None, "q") as events:
            streams.append(events)
            async for event in events:
                if isinstance(event, ToolStarted):
                    await asyncio.sleep(0.01)
                    break
        went_on = True

    if by == "timeout":
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.1):
                await read()
    else:
        reading = asyncio.create_task(read())
        await left.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
    assert not went_on and valid(streams[0].run.messages)
    with pytest.raises(asyncio.CancelledError):  # what the run came to: it is over
        _ = streams[0].result
    release.set()
    assert await tasks_gone()


async def test_a_write_that_still_waited_for_a_thread_when_its_run_was_cancelled_did_not_happen() -> None:
    begun, release, run = asyncio.Event(), threading.Event(), Run()
    loop = asyncio.get_running_loop()

    @tool(effect="write")
    def book() -> str:
        "Holds the only thread."
        loop.call_soon_threadsafe(begun.set)
        release.wait(30)
        return "booked"

    service = ToolService(book, max_threads=1)
    model = ScriptedChatModel([calls(call("book"), call("book")), "done"])
    task = asyncio.create_task(service.chat(model, None, "q", context=run))
    async with asyncio.timeout(10):
        await begun.wait()
        run.cancel()
        with pytest.raises(RunCancelledError):
            await task
    release.set()
    assert [e.outcome for e in run.tool_executions] == [ToolOutcome.IN_DOUBT, ToolOutcome.CANCELLED]
    service.close()


async def test_a_cancellation_from_outside_passes_on_though_the_run_was_cancelled_as_well() -> None:
    begun, run = asyncio.Event(), Run()

    @tool
    async def waits() -> str:
        "Waits."
        begun.set()
        await asyncio.Event().wait()
        return "x"

    task = asyncio.create_task(ToolService(waits).chat(ScriptedChatModel([call("waits")]), None, "q", context=run))
    await begun.wait()
    run.cancel()
    await asyncio.sleep(0)  # the run's own cancellation is on its way
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert task.cancelled() and valid(run.messages)


async def test_a_stream_starts_with_its_first_event_and_never_once_it_was_closed() -> None:
    model = ScriptedChatModel([call("look"), "done"])
    events = ToolService(look).stream(model, None, "q")
    async with asyncio.timeout(5):
        assert isinstance(await anext(events), RunStarted)
        await events.aclose()
        closed = ToolService(look).stream(model, None, "q")
        await closed.aclose()
        assert [event async for event in closed] == []
    assert await tasks_gone()
    assert len(model.requests) <= 1


async def test_a_second_reader_of_a_stream_is_told_so_and_the_first_reads_on() -> None:
    gate = asyncio.Event()

    @tool
    async def waits() -> str:
        "Waits."
        await gate.wait()
        return "x"

    async with ToolService(waits).stream(ScriptedChatModel([call("waits"), "done"]), None, "q") as events:

        async def read() -> list[Any]:
            return [event async for event in events]

        first = asyncio.create_task(read())
        await asyncio.sleep(0.01)
        with pytest.raises(RunError, match="another task waits"):
            await read()
        gate.set()
        assert isinstance((await first)[-1], RunFinished)


async def test_writers_that_wait_for_a_slow_reader_all_go_on_when_there_is_room() -> None:
    service = ToolService(look, max_concurrent_tools=300)
    model = ScriptedChatModel([calls(*[call("look")] * 400), "done"])
    async with asyncio.timeout(10), service.stream(model, None, "q") as events:
        async for event in events:
            if isinstance(event, ToolStarted):
                break
        for _ in range(400):
            await asyncio.sleep(0)
        rest = [event async for event in events]
    assert isinstance(rest[-1], RunFinished) and len(rest[-1].result.tool_executions) == 400


async def test_a_bare_break_is_cleaned_up_when_the_iterator_is_dropped() -> None:
    model = three_rounds()
    events = ToolService(look, block, pay).stream(model, None, "q")
    async for event in events:
        if isinstance(event, ToolStarted):
            break
    del events, event
    gc.collect()
    assert await tasks_gone() and model.open == 0


async def test_a_slow_reader_holds_the_run_back_instead_of_filling_memory() -> None:
    made = 0

    class Chatty(ScriptedChatModel):
        async def stream(self, request: ChatRequest) -> AsyncIterator[Any]:  # type: ignore[override]
            nonlocal made
            for _ in range(5_000):
                made += 1
                yield TextDelta("x")
            async for event in super().stream(request):
                yield event

    async with ToolService().stream(Chatty(["done"]), None, "q") as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
        for _ in range(100):
            await asyncio.sleep(0)
        assert made < 600
        rest = [event async for event in events]
    assert isinstance(rest[-1], RunFinished) and made == 5_000


async def test_the_runs_error_is_raised_where_the_events_end() -> None:
    seen = []

    async def read() -> None:
        model = ScriptedChatModel([call("look"), RuntimeError("nothing")])
        async with ToolService(look).stream(model, None, "q") as events:
            async for event in events:
                seen.append(type(event).__name__)

    with pytest.raises(RuntimeError, match="nothing"):
        await read()
    assert "ToolFinished" in seen and seen[-1] != "RunFinished"


async def test_events_carry_the_runs_id_and_its_parents() -> None:
    parent = Run()
    run = Run(parent=parent)
    async with ToolService(look).stream(ScriptedChatModel([call("look"), "x"]), None, "q", context=run) as events:
        async for event in events:
            assert (event.run_id, event.parent_run_id) == (run.id, parent.id)


async def test_a_finished_run_leaves_nothing_for_the_garbage_collector() -> None:
    """A run's history and results go with the last reference to them, not at some later collection."""
    service = ToolService(look)
    await service.chat(ScriptedChatModel([call("look"), "x"]), None, "q")
    gc.collect()
    before = {id(found) for found in gc.get_objects() if isinstance(found, Run)}
    gc.disable()
    try:
        await service.chat(ScriptedChatModel([call("look"), "x"]), None, "q")
        left = [found for found in gc.get_objects() if isinstance(found, Run) and id(found) not in before]
    finally:
        gc.enable()
    assert left == []
