"""Serial keys: calls that share one take turns over all conversations of a service, nested ones and loops included."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest

from agentforge import Run, ScriptedChatModel, ToolContext, ToolOutcome, ToolService, tool
from agentforge.errors import RunCancelledError
from agentforge.model.scripted import call, calls


class Desk:
    """Tools with one key, that note who is inside and who came in which order."""

    def __init__(self) -> None:
        self.inside = self.most = 0
        self.order: list[str] = []
        self.release = asyncio.Event()

    def enter(self, name: str) -> None:
        self.inside += 1
        self.most = max(self.most, self.inside)
        self.order.append(name)

    @tool(serial="desk")
    async def visit(self, name: str) -> str:
        "Stays for a few steps."
        self.enter(name)
        try:
            for _ in range(4):
                await asyncio.sleep(0)
        finally:
            self.inside -= 1
        return name

    @tool(serial="desk", timeout=0.05)
    async def stubborn(self) -> str:
        "Ignores its cancellation until it is released."
        self.order.append("stubborn")
        while not self.release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await self.release.wait()
        return "late"


def asking(*turns: Any) -> ScriptedChatModel:
    return ScriptedChatModel([*turns, "done"])


async def test_calls_of_one_key_take_turns_over_all_conversations_in_the_order_of_arrival() -> None:
    desk = Desk()
    service = ToolService(desk)
    names = [f"n{at}" for at in range(10)]
    results = await asyncio.gather(*(service.chat(asking(call("visit", name=n)), None, "q") for n in names))
    assert [result.tool_executions[0].result_text() for result in results] == names
    assert desk.most == 1 and desk.order == names


def test_turns_hold_over_event_loops_and_threads() -> None:
    desk = Desk()
    service = ToolService(desk)
    batch = calls(*(call("visit", name=str(n)) for n in range(5)))

    def converse() -> None:
        asyncio.run(service.chat(asking(batch, batch), None, "q"))

    threads = [threading.Thread(target=converse) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert len(desk.order) == 60 and desk.most == 1


@pytest.mark.parametrize("sync", [True, False])
async def test_a_nested_run_does_not_wait_for_the_turn_it_works_in(sync: bool) -> None:
    """Its calls queue inside that turn, one at a time, and nobody else comes between."""
    desk = Desk()
    service = ToolService(desk, tool_timeout=10)
    both = calls(call("visit", name="in1"), call("visit", name="in2"))

    @tool(name="outer", serial="desk")
    def on_thread() -> str:
        "Holds a conversation."
        desk.order.append("outer")
        return service.chat_sync(asking(both), None, "q").text or ""

    @tool(name="outer", serial="desk")
    async def in_loop(context: ToolContext) -> str:
        "Holds two conversations side by side."
        desk.order.append("outer")
        made = [service.chat(asking(both), None, "q", context=Run(parent=context.run)) for _ in range(2)]
        return (await asyncio.gather(*made))[0].text or ""

    service.tools(on_thread if sync else in_loop)
    async with asyncio.timeout(10):
        outer = asyncio.create_task(service.chat(asking(call("outer")), None, "q"))
        while "outer" not in desk.order:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        other = await service.chat(asking(call("visit", name="other")), None, "q")
        assert (await outer).tool_executions[0].result_text() == "done"
    assert other.tool_executions[0].outcome is ToolOutcome.OK
    assert desk.most == 1 and desk.order[-1] == "other"
    await asyncio.to_thread(service.close)


async def test_work_that_outlives_its_call_waits_for_its_turn_like_everyone() -> None:
    desk = Desk()
    service = ToolService(desk)
    later: list[asyncio.Task[Any]] = []
    free = asyncio.Event()

    async def afterwards() -> None:
        await free.wait()
        await service.chat(asking(call("visit", name="afterwards")), None, "q")

    @tool(serial="desk")
    async def leaves_work() -> str:
        "Starts a task and ends."
        later.append(asyncio.create_task(afterwards()))
        return "left"

    service.tools(leaves_work)
    await service.chat(asking(call("leaves_work")), None, "q")
    free.set()
    others = [service.chat(asking(call("visit", name=str(n))), None, "q") for n in range(3)]
    await asyncio.gather(*others, *later)
    assert desk.most == 1 and len(desk.order) == 4


async def test_one_who_is_cancelled_while_it_waits_keeps_nobody_back() -> None:
    """At whatever step it is cancelled, before its turn, in it or as it comes."""
    for step in range(40):
        desk, run = Desk(), Run()
        service = ToolService(desk)
        first = asyncio.create_task(service.chat(asking(call("visit", name="first")), None, "q"))
        second = asyncio.create_task(service.chat(asking(call("visit", name="second")), None, "q", context=run))
        third = asyncio.create_task(service.chat(asking(call("visit", name="third")), None, "q"))
        for _ in range(step):
            await asyncio.sleep(0)
        run.cancel()
        async with asyncio.timeout(5):
            await asyncio.gather(first, third)
            await asyncio.wait([second])
        assert second.exception() is None or isinstance(second.exception(), RunCancelledError)
        assert desk.order[0] == "first" and desk.order[-1] == "third" and desk.most == 1
        again = await service.chat(asking(call("visit", name="again")), None, "q")
        assert again.tool_executions[0].outcome is ToolOutcome.OK


async def test_the_time_of_a_call_begins_with_its_turn_and_an_abandoned_call_loses_it() -> None:
    desk = Desk()
    service = ToolService(desk, tool_timeout=0.5)
    async with asyncio.timeout(10):
        first = asyncio.create_task(service.chat(asking(call("stubborn")), None, "q"))
        second = service.chat(asking(call("stubborn"), call("visit", name="next")), None, "q")
        found = [e.outcome for e in (await second).tool_executions]
    assert (await first).tool_executions[0].outcome is ToolOutcome.TIMED_OUT
    assert found == [ToolOutcome.TIMED_OUT, ToolOutcome.OK]
    assert desk.order == ["stubborn", "stubborn", "next"]
    desk.release.set()


async def test_a_call_that_outlives_its_cancelled_run_loses_its_turn() -> None:
    desk, run = Desk(), Run()
    service = ToolService(desk, tool_timeout=None)
    first = asyncio.create_task(service.chat(asking(call("stubborn")), None, "q", context=run))
    async with asyncio.timeout(10):
        while not desk.order:  # noqa: ASYNC110
            await asyncio.sleep(0)
        run.cancel()
        with pytest.raises(RunCancelledError):
            await first
        after = await service.chat(asking(call("visit", name="next")), None, "q")
    assert after.tool_executions[0].outcome is ToolOutcome.OK
    desk.release.set()


async def test_two_services_have_their_own_keys() -> None:
    desk = Desk()
    await asyncio.gather(*(ToolService(desk).chat(asking(call("visit", name=n)), None, "q") for n in "ab"))
    assert desk.most == 2
