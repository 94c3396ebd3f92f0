"""What is noted for the end of a run and must not fail unseen, who learns of it, and what a resumed run knows of
before."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolContext, ToolService, tool
from agentforge.client import ChatClient
from agentforge.model.scripted import call
from agentforge.tool.execution import Ask, PlannedCall, Proceed, Run, ToolLoopState, ToolOutcome

BOTH = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


def look(where: str) -> str:
    "Look somewhere."
    return f"{where}: nothing"


async def hold(turns: list[Any], run: Run, *, streamed: bool) -> Any:
    with ToolService(look) as service:
        model = ScriptedChatModel(turns)
        if not streamed:
            return await service.chat(model, None, "?", context=run)
        async with service.stream(model, None, "?", context=run) as events:
            async for _ in events:
                pass
        return events.result


@BOTH
async def test_what_is_required_at_the_end_fails_the_run(streamed: bool) -> None:
    """When all else is done; the first that fails counts, and the others know of it."""
    run, done = Run(), []

    async def store() -> None:
        done.append("store")
        raise OSError("the disk is full")

    def again() -> None:
        done.append(f"again, failed: {run.failed}")
        raise ValueError("second")

    run.on_end(lambda: done.append("first noted"))
    run.on_end(again, required=True)
    run.on_end(store, required=True)
    with pytest.raises(OSError, match="the disk is full"):
        await hold(["Hello."], run, streamed=streamed)

    assert done == ["store", "again, failed: True", "first noted"]


@BOTH
async def test_a_run_that_failed_keeps_its_own_error(streamed: bool, caplog: pytest.LogCaptureFixture) -> None:
    """What was required and failed beside it is in the log."""
    run = Run()

    def store() -> None:
        raise OSError("the disk is full")

    run.on_end(store, required=True)
    with pytest.raises(ValueError, match="boom"):
        await hold([ValueError("boom")], run, streamed=streamed)

    assert "what was to be done at the end of a run failed" in caplog.text


class AskLater:
    """A gate that asks about the second round."""

    decided = False

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Any]:
        asks = not self.decided and batch[0].request.arguments_as_map() == {"where": "b"}
        return [Ask("may it?") if asks else Proceed() for _ in batch]


@pytest.mark.parametrize("by", ["service", "client"])
async def test_a_resumed_run_has_the_executions_of_before_each_with_its_own_result_and_round(by: str) -> None:
    """In their order, also while the calls that waited still run."""
    gate = AskLater()
    seen: list[Any] = []

    def watching(where: str) -> str:
        "Look, and see what the run knows."
        return look(where)

    class Watch:
        async def around(self, planned: PlannedCall, run: Run, next: Any) -> Any:
            seen.append((run.round, [each.result_text() for each in run.tool_executions]))
            return await next(planned, run)

    asked = [call("watching", where="b"), call("watching", where="c")]
    model = ScriptedChatModel([call("watching", where="a"), asked, call("watching", where="d"), "Done."])
    with ToolService(watching, gates=[gate], interceptors=[Watch()]) as service:
        client = ChatClient(model, service=service)
        first = await (service.chat(model, None, "?") if by == "service" else client.chat("?"))
        assert first.suspended is not None
        gate.decided = True
        state = ToolLoopState.from_json(first.suspended.to_json())
        if by == "service":
            result = await service.resume(model, None, state)
        else:
            result = await client.prompt("?").resume(state).call()

    assert [(each.result_text(), each.round, each.outcome) for each in result.tool_executions] == [
        ("a: nothing", 0, ToolOutcome.OK),
        ("b: nothing", 1, ToolOutcome.OK),
        ("c: nothing", 1, ToolOutcome.OK),
        ("d: nothing", 2, ToolOutcome.OK),
    ]
    assert seen[1:3] == [(1, ["a: nothing"])] * 2


async def test_a_tool_on_a_thread_learns_that_whoever_waited_for_its_run_has_left() -> None:
    """It cannot be interrupted, and looks itself."""
    begun, over = threading.Event(), threading.Event()

    @tool
    def looks(context: ToolContext) -> str:
        "Looks whether it is to stop."
        context.cancellation.on_request(over.set)
        begun.set()
        over.wait(10)
        return "x"

    with ToolService(looks) as service:
        run = Run()
        task = asyncio.create_task(service.chat(ScriptedChatModel([call("looks")]), None, "q", context=run))
        await asyncio.to_thread(begun.wait, 10)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert over.is_set()
    assert run.cancellation.reason == "whoever waited for the run was cancelled"
