"""The run that code works for is known wherever the code is, and what is noted for its end is done, however it ends."""

from __future__ import annotations

import asyncio
import gc
import logging
import sys
from collections.abc import AsyncIterator, Callable
from functools import partial
from typing import Any

import pytest

from agentforge import Run, RunError, ScriptedChatModel, ToolContext, ToolService
from agentforge.client import ChatClient
from agentforge.errors import ModelError, RunArgumentError, RunCancelledError, RunStateError, RunTimeoutError
from agentforge.model.scripted import call, calls
from agentforge.tool.execution import RunScope, current_run, current_run_loop

# -- which run it is ----------------------------------------------------------------------------------


def test_outside_of_any_run_there_is_none() -> None:
    assert current_run() is None
    assert current_run_loop() is None


async def test_tools_gates_interceptors_and_sources_work_for_the_run() -> None:
    """So does the model, and a synchronous tool in its thread; afterwards nobody does."""
    seen: dict[str, Run | None] = {}
    loops = []

    class Watching:
        async def tools(self, run: Run) -> tuple[()]:
            seen["source"] = current_run()
            return ()

        async def check(self, batch: Any, run: Run) -> list[Any]:
            from agentforge.tool.execution import Proceed

            seen["gate"] = current_run()
            return [Proceed() for _ in batch]

        async def around(self, call: Any, run: Run, next: Any) -> Any:
            seen["interceptor"] = current_run()
            return await next(call, run)

    class Model(ScriptedChatModel):
        async def chat(self, request: Any) -> Any:
            seen["model"] = current_run()
            return await super().chat(request)

    def blocking() -> str:
        "Runs on a thread."
        seen["thread"] = current_run()
        loops.append(current_run_loop())
        return "x"

    async def waiting() -> str:
        "Runs in a task."
        seen["task"] = await asyncio.create_task(_current())
        return "x"

    watching: Any = Watching()
    run = Run()
    with ToolService(watching, blocking, waiting, gates=[watching], interceptors=[watching]) as service:
        await service.chat(Model([calls(call("blocking"), call("waiting")), "done"]), None, "q", context=run)

    assert seen == dict.fromkeys(["source", "gate", "interceptor", "model", "thread", "task"], run)
    assert loops == [asyncio.get_running_loop()]
    assert current_run() is None


async def _current() -> Run | None:
    return current_run()


async def test_of_nested_runs_the_innermost_counts() -> None:
    """Also in the synchronous twin, which holds its conversation on another loop."""
    seen: list[tuple[str, Run | None]] = []

    def look(where: str) -> str:
        "Looks."
        seen.append((where, current_run()))
        return where

    inner, second = Run(), Run()

    async def nested() -> str:
        "Holds a conversation."
        await service.chat(ScriptedChatModel([call("look", where="inner"), "x"]), None, "q", context=inner)
        seen.append(("after", current_run()))
        return "x"

    def nested_blocking() -> str:
        "Holds a conversation."
        service.chat_sync(ScriptedChatModel([call("look", where="second"), "x"]), None, "q", context=second)
        seen.append(("after the second", current_run()))
        return "x"

    outer = Run()
    with ToolService(look, nested, nested_blocking) as service:
        model = ScriptedChatModel([call("nested"), call("nested_blocking"), "done"])
        await service.chat(model, None, "q", context=outer)

    assert seen == [("inner", inner), ("after", outer), ("second", second), ("after the second", outer)]


async def test_two_runs_side_by_side_see_each_their_own() -> None:
    together = asyncio.Barrier(2)
    seen = []

    async def meet(context: ToolContext) -> str:
        "Waits for the other."
        await together.wait()
        seen.append(current_run() is context.run)
        return "x"

    with ToolService(meet) as service:
        await asyncio.gather(*(service.chat(ScriptedChatModel([call("meet"), "x"]), None, "q") for _ in range(2)))

    assert seen == [True, True]


async def test_a_task_that_outlives_its_run_works_for_none() -> None:
    """And does not keep the run."""
    left: list[asyncio.Task[Run | None]] = []
    over = asyncio.Event()

    async def leaves() -> str:
        "Leaves a task behind."

        async def later() -> Run | None:
            await over.wait()
            return current_run()

        left.append(asyncio.create_task(later()))
        return "x"

    with ToolService(leaves) as service:
        await service.chat(ScriptedChatModel([call("leaves"), "x"]), None, "q", context=Run(id="left behind"))
    gc.collect()
    assert not [found for found in gc.get_objects() if isinstance(found, Run) and found.id == "left behind"]
    over.set()

    assert await left[0] is None


# -- what is done at its end --------------------------------------------------------------------------


async def _converse(turns: list[Any], *, run: Run, tool: Callable[..., Any], streamed: bool) -> None:
    with ToolService(tool) as service:
        model = ScriptedChatModel(turns)
        if not streamed:
            await service.chat(model, None, "q", context=run)
            return
        async with service.stream(model, None, "q", context=run) as events:
            async for _ in events:
                pass


STREAMED = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


@STREAMED
async def test_what_is_noted_is_done_at_the_end_the_last_first(streamed: bool) -> None:
    """Plain and asynchronous, each once, in the run; and the run's events end afterwards."""
    done: list[Any] = []
    run = Run()

    async def waits() -> None:
        await asyncio.sleep(0)
        done.append(("second", current_run()))

    def notes(context: ToolContext) -> str:
        "Notes."
        context.run.on_end(lambda: done.append(("first", current_run())))
        context.run.on_end(waits)
        assert done == []
        return "x"

    await _converse([call("notes"), "x"], run=run, tool=notes, streamed=streamed)

    assert done == [("second", run), ("first", run)]


ENDS: dict[str, tuple[list[Any], type[BaseException]]] = {
    "an error of the model": ([ModelError("no")], ModelError),
    "a tool that cancels the run": ([call("ends", how="cancel"), "x"], RunCancelledError),
    "its time": ([call("ends", how="time"), "x"], RunTimeoutError),
    "a cancellation from outside": ([call("ends", how="outside"), "x"], asyncio.CancelledError),
}


@STREAMED
@pytest.mark.parametrize(("turns", "error"), ENDS.values(), ids=ENDS.keys())
async def test_however_a_run_ends(turns: list[Any], error: type[BaseException], streamed: bool) -> None:
    done: list[str] = []
    run = Run()

    async def closes() -> None:
        await asyncio.sleep(0)
        done.append("closed")

    async def ends(how: str) -> str:
        "Ends the run."
        if how == "cancel":
            run.cancel()
        started.set()
        await asyncio.Event().wait()
        return "never"

    started = asyncio.Event()
    run.on_end(closes)
    if error is RunTimeoutError:
        run.limit(0.01)
    task = asyncio.create_task(_converse(turns, run=run, tool=ends, streamed=streamed))
    if error is asyncio.CancelledError:
        await started.wait()
        task.cancel()
    with pytest.raises(error):
        await task

    assert done == ["closed"]


async def test_what_fails_at_the_end_is_logged_and_loses_nothing(caplog: pytest.LogCaptureFixture) -> None:
    """Neither the result nor what is done after it; a stray cancellation is no other thing."""
    done: list[str] = []
    run = Run()

    def fails() -> None:
        raise ValueError("at the end")

    async def stray() -> None:
        raise asyncio.CancelledError

    run.on_end(lambda: done.append("last"))
    run.on_end(fails)
    run.on_end(stray)
    with caplog.at_level(logging.WARNING, "agentforge"):
        result = await ToolService().chat(ScriptedChatModel(["here"]), None, "q", context=run)

    assert result.text == "here"
    assert done == ["last"]
    assert len([each for each in caplog.records if "at the end of a run failed" in each.message]) == 2


async def test_a_cancellation_at_the_end_passes_when_all_is_done() -> None:
    done: list[str] = []
    began = asyncio.Event()
    run = Run()

    async def long() -> None:
        began.set()
        await asyncio.Event().wait()

    run.on_end(lambda: done.append("last"))
    run.on_end(long)
    task = asyncio.create_task(ToolService().chat(ScriptedChatModel(["here"]), None, "q", context=run))
    await began.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert done == ["last"]


async def test_a_run_that_is_over_takes_no_more_notes() -> None:
    run = Run()
    await ToolService().chat(ScriptedChatModel(["here"]), None, "q", context=run)

    with pytest.raises(RunStateError, match="is over"):
        run.on_end(lambda: None)


async def test_a_run_with_notes_leaves_nothing_for_the_garbage_collector() -> None:
    service = ToolService()
    gc.collect()
    before = {id(found) for found in gc.get_objects() if isinstance(found, Run)}
    gc.disable()
    try:
        run: Run | None = Run()
        assert run is not None
        run.on_end(run.partial)
        await service.chat(ScriptedChatModel(["x"]), None, "q", context=run)
        run = None
        left = [found for found in gc.get_objects() if isinstance(found, Run) and id(found) not in before]
    finally:
        gc.enable()

    assert left == []


# -- which are under way ------------------------------------------------------------------------------


async def test_a_service_knows_the_runs_that_are_under_way() -> None:
    """A streamed one until its stream ends, a nested one as well; who waits for none is called once."""
    counts: list[int] = []
    told: list[str] = []

    async def nested() -> str:
        "Holds a conversation."
        counts.append(len(service.runs))
        await service.chat(ScriptedChatModel([call("look"), "x"]), None, "q")
        return "x"

    def look() -> str:
        "Counts."
        counts.append(len(service.runs))
        return "x"

    with ToolService(nested, look) as service:
        service.runs.when_idle(lambda: told.append("at once"))
        async with service.stream(ScriptedChatModel([call("nested"), "x"]), None, "q") as events:
            async for _ in events:
                if not told[1:]:
                    service.runs.when_idle(lambda: told.append("at the end"))
                    told.append("asked")
        assert len(service.runs) == 0
        service.chat_sync(ScriptedChatModel([call("look"), "x"]), None, "q")
        with pytest.raises(RunError):
            await service.chat(ScriptedChatModel(["x"]), None, "q", context=_cancelled())

    assert counts == [1, 2, 2]  # of a synchronous one the caller counts as well
    assert told == ["at once", "asked", "at the end"]
    assert len(service.runs) == 0


def _cancelled() -> Run:
    run = Run()
    run.cancel()
    return run


async def test_an_end_that_ends_the_program_skips_no_other() -> None:
    done: list[str] = []
    run = Run()
    run.on_end(lambda: done.append("last"))
    run.on_end(partial(sys.exit, 3))
    with pytest.raises(SystemExit):
        await run.end()

    assert done == ["last"]


@pytest.mark.parametrize("how", ["cancelled", "out of time"])
async def test_a_run_that_is_over_before_it_begins_has_its_end_as_well(how: str) -> None:
    """What was noted before is done, however it ends."""
    done: list[str] = []
    run = Run(timeout=0 if how == "out of time" else None)
    run.on_end(lambda: done.append("end"))
    if how == "cancelled":
        run.cancel()
    with pytest.raises((RunCancelledError, RunTimeoutError)):
        await ToolService().chat(ScriptedChatModel(["never"]), None, "q", context=run)

    assert done == ["end"] and run.failed


async def test_messages_that_are_none_use_up_no_run() -> None:
    """They are refused before it begins."""
    run = Run()
    client = ChatClient(ScriptedChatModel(["done"]))
    with pytest.raises(RunArgumentError):
        await client.chat([3], context=run)  # type: ignore[list-item]

    assert (await client.chat("q", context=run)).text == "done"


async def test_a_run_may_end_in_another_context_than_it_began_in() -> None:
    """As a generator does that each step of which is another task's."""
    run = Run()

    async def steps() -> AsyncIterator[Run | None]:
        async with RunScope(run):
            yield current_run()

    generator = steps()
    assert await asyncio.create_task(anext(generator)) is run  # type: ignore[arg-type]
    assert await asyncio.create_task(anext(generator, None)) is None  # type: ignore[arg-type]
    assert current_run() is None


def test_a_synchronous_conversation_is_under_way_before_its_thread_has_heard_of_it() -> None:
    """Whoever closes the service when nobody uses it does not come in between."""

    async def work() -> int:
        return len(service.runs)

    with ToolService() as service:
        assert service.run_sync(ScriptedChatModel([]), work()) == 1
        assert len(service.runs) == 0
