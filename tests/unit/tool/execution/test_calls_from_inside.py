"""What a tool can find out about the call it works for: the call, its key, its listener, where it came from."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import ChatClient
from agentforge.errors import RunStateError, ToolExecutionError, ToolInDoubtError
from agentforge.model import Notice, ToolExecutionRequest, ToolSpecification
from agentforge.model.scripted import ScriptedChatModel, call, calls
from agentforge.tool import BoundTool, ToolOrigin
from agentforge.tool.execution import Run, ToolContext, ToolOutcome, ToolService, bound_tool_from, current_call

SAVE = ToolSpecification("save")


async def test_each_call_knows_itself() -> None:
    """Side by side too, in the loop and on a thread; outside there is none."""

    async def slow(request: Any) -> str:
        await asyncio.sleep(0)
        here = current_call()
        assert here is not None
        return f"{here.position} {here.request.id}"

    def plain(request: Any) -> str:
        here = current_call()
        assert here is not None
        return f"{here.position} {here.request.id}"

    service = ToolService({ToolSpecification("slow"): slow, ToolSpecification("plain"): plain})
    asked = [ToolExecutionRequest(f"c{at}", name, "{}") for at, name in enumerate(["slow", "plain", "slow"])]
    model = ScriptedChatModel([calls(*asked), "Done."])
    with service:
        result = await service.chat(model, None, "Go")

    assert [each.result_text() for each in result.tool_executions] == ["0 c0", "1 c1", "2 c2"]
    assert current_call() is None


async def test_what_a_tool_leaves_behind_makes_no_call_any_more() -> None:
    """Nor does it keep the call, or have anybody to tell of it."""
    left: list[asyncio.Task[object]] = []
    go = asyncio.Event()

    async def save(request: Any, context: ToolContext) -> str:
        async def later() -> object:
            await go.wait()
            await context.notify("late", "nobody is there")
            return current_call()

        left.append(asyncio.ensure_future(later()))
        return "saved"

    service = ToolService({SAVE: save})
    async with service.stream(ScriptedChatModel([call("save", "{}"), "Done."]), None, "Go") as events:
        told = [event async for event in events]
    go.set()

    assert await asyncio.wait_for(left[0], 5) is None
    assert not any(isinstance(event, Notice) for event in told)


async def test_a_key_for_whoever_must_not_do_it_twice() -> None:
    """Each call of a run has another; a field of the business makes it one for tenant, tool and field."""
    keys: list[tuple[str, str]] = []

    async def save(request: Any, context: ToolContext) -> str:
        keys.append((context.idempotency_key(), context.idempotency_key("order 7")))
        assert context.idempotency_key() == keys[-1][0]
        return "saved"

    service = ToolService({SAVE: save})
    for tenant in ("north", "north", "south"):
        model = ScriptedChatModel([calls(call("save", "{}"), call("save", "{}")), call("save", "{}"), "Done."])
        await service.chat(model, None, "Go", context=Run(tenant=tenant))

    own, fields = zip(*keys, strict=True)
    assert len(set(own)) == 9
    assert len(set(fields[:6])) == 1 and len(set(fields[6:])) == 1 and fields[0] != fields[6]


def test_outside_of_a_call_there_is_no_key() -> None:
    """It would be another one each time."""
    with pytest.raises(RunStateError, match="no call"):
        Run().context.idempotency_key()


async def test_what_a_tool_tells_is_told_while_it_runs() -> None:
    """To whoever streams the run; without a listener nothing happens."""

    async def save(request: Any, context: ToolContext) -> str:
        await context.notify("progress", "half of it", {"done": 1, "total": 2})
        return "saved"

    service = ToolService({SAVE: save})
    async with service.stream(ScriptedChatModel([call("save", "{}"), "Done."]), None, "Go") as events:
        told = [event async for event in events]
    kinds = [type(event).__name__ for event in told]
    notice = next(event for event in told if isinstance(event, Notice))

    assert kinds.index("ToolStarted") < kinds.index("Notice") < kinds.index("ToolFinished")
    assert (notice.code, notice.details) == ("progress", {"done": 1, "total": 2})
    assert notice.run_id == told[0].run_id
    result = await service.chat(ScriptedChatModel([call("save", "{}"), "Done."]), None, "Go")
    assert result.tool_executions[0].outcome is ToolOutcome.OK


@pytest.mark.parametrize(
    ("effect", "error", "outcome"),
    [
        ("write", ToolInDoubtError("the connection was lost"), ToolOutcome.IN_DOUBT),
        ("read", ToolInDoubtError("the connection was lost"), ToolOutcome.FAILED),
        (None, ToolInDoubtError("the connection was lost"), ToolOutcome.FAILED),
        ("write", ToolExecutionError("status 500"), ToolOutcome.FAILED),
    ],
)
async def test_a_write_whose_way_was_lost_is_in_doubt(effect: Any, error: Exception, outcome: ToolOutcome) -> None:
    """Whatever else fails has failed."""

    async def save(request: Any) -> str:
        raise error

    service = ToolService(bound_tool_from(SAVE, save, effect=effect, origin=ToolOrigin("http", "api.test")))
    result = await service.chat(ScriptedChatModel([call("save", "{}"), "Done."]), None, "Go")

    assert result.tool_executions[0].outcome is outcome


@pytest.mark.parametrize(
    ("origin", "words"),
    [
        (ToolOrigin("http"), "http"),
        (ToolOrigin("mcp", "files"), "mcp files"),
        (ToolOrigin("mcp", "files", "1.2", annotations={"readOnlyHint": True}), "mcp files 1.2"),
    ],
)
def test_an_origin_says_what_it_is(origin: ToolOrigin, words: str) -> None:
    """In the words of a list."""
    assert str(origin) == words


class Telling:
    """A source that has something to say, once."""

    def __init__(self) -> None:
        self.notices = [Notice("tools_changed", "there is another tool")]

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        while self.notices:
            run.note(self.notices.pop())
        return (bound_tool_from(SAVE, self.save),)

    async def save(self, request: Any) -> str:
        return "saved"


async def test_what_a_source_has_to_say_is_told_and_kept() -> None:
    """In the events of the run and in its result, of a service and of a client."""
    turns = [call("save", "{}"), "Done."]
    service = ToolService(Telling())
    async with service.stream(ScriptedChatModel(turns), None, "Go") as events:
        told = [event.code async for event in events if isinstance(event, Notice)]
    async with ChatClient(ScriptedChatModel(turns), tools=[Telling()]) as client:
        result = await client.chat("Go")

    assert told == ["tools_changed"]
    assert [notice.code for notice in result.notices] == ["tools_changed"]
