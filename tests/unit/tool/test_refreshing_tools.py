"""A source whose tools are loaded again and again: when, for whom, what counts as a change, and the end."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agentforge import ReturnBehavior, Run, ToolParameters, ToolSpecification
from agentforge.errors import ConfigurationError, ToolDeclarationError
from agentforge.tool import BoundTool, DeclaredTool, RefreshingTools
from tests.unit.tool.refreshing import INTERVAL, Clock, HeldTable, Table, answer, names, ping, refreshing

# -- when --------------------------------------------------------------------------------------------------------------


async def test_nothing_is_loaded_before_it_is_asked_for_and_then_once() -> None:
    table = Table(ping())
    source = refreshing(table)
    assert (table.loads, repr(source)) == (0, "RefreshingTools('data', not loaded)")

    await source.start()
    found = [await source.tools(Run()) for _ in range(3)]

    assert table.loads == 1
    assert all(each is found[0] for each in found)


async def test_the_first_run_after_the_interval_begins_a_refresh_and_the_next_has_what_it_gave() -> None:
    table, clock = Table(ping("a")), Clock()
    source = refreshing(table, clock)
    assert await names(source) == ["a"]
    table.rows = [ping("b")]

    clock.pass_by(INTERVAL - 1)
    assert await names(source) == ["a"]
    await source.settled()
    assert table.loads == 1

    clock.pass_by(1)
    assert await names(source) == ["a"]
    await source.settled()
    assert (await names(source), table.loads) == (["b"], 2)


async def test_the_interval_begins_when_a_load_has_ended() -> None:
    table, clock = HeldTable(ping()), Clock()
    source = refreshing(table, clock)
    first = asyncio.create_task(source.start())
    await table.begun.wait()
    clock.pass_by(10 * INTERVAL)
    table.may_end.set()
    await first

    clock.pass_by(INTERVAL - 1)
    await source.tools(Run())
    await source.settled()
    assert table.loads == 1


async def test_a_load_that_is_not_async_runs_on_a_thread() -> None:
    here = threading.get_ident()
    threads: list[int] = []

    def rows() -> Iterable[ToolSpecification]:
        threads.append(threading.get_ident())
        yield ping("a")
        threads.append(threading.get_ident())
        yield ping("b")

    source = RefreshingTools(rows, answer)
    assert await names(source) == ["a", "b"]
    assert len(threads) == 2 and here not in threads


async def test_a_plain_function_may_give_something_to_await() -> None:
    assert await names(RefreshingTools(lambda: Table(ping()).load(), answer)) == ["ping"]


# -- shared ------------------------------------------------------------------------------------------------------------


async def test_all_runs_share_one_load() -> None:
    """They wait for the first; during a refresh each gets the last set at once."""
    table, clock = HeldTable(ping("a")), Clock()
    source = refreshing(table, clock)
    waiting = [asyncio.create_task(source.tools(Run())) for _ in range(5)]
    await table.begun.wait()
    table.may_end.set()
    first, *others = await asyncio.gather(*waiting)
    assert all(each is first for each in others) and table.loads == 1

    table.hold()
    table.rows = [ping("b")]
    clock.pass_by()
    assert all(each is first for each in await asyncio.gather(*(source.tools(Run()) for _ in range(5))))
    await table.begun.wait()
    assert await source.tools(Run()) is first

    table.may_end.set()
    await source.settled()
    assert (await names(source), table.loads) == (["b"], 2)


async def test_a_run_that_stops_waiting_ends_the_load_of_no_other() -> None:
    table = HeldTable(ping())
    source = refreshing(table)
    gone, stays = asyncio.create_task(source.tools(Run())), asyncio.create_task(source.tools(Run()))
    await table.begun.wait()
    gone.cancel()
    await asyncio.wait([gone])
    table.may_end.set()

    assert [each.name for each in await stays] == ["ping"]
    assert gone.cancelled() and table.loads == 1


async def test_runs_of_two_event_loops_share_one_load() -> None:
    table = HeldTable(ping())
    source = refreshing(table)
    here = asyncio.create_task(source.tools(Run()))
    await table.begun.wait()
    asked = threading.Event()

    async def there() -> Sequence[BoundTool]:
        asked.set()
        return await source.tools(Run())

    other = asyncio.create_task(asyncio.to_thread(lambda: asyncio.run(there())))
    await asyncio.to_thread(asked.wait)
    table.may_end.set()

    assert await other is await here
    assert table.loads == 1


def run_and_leave(work: Coroutine[Any, Any, Any]) -> None:
    """Run it on a loop that is closed with all that is still under way."""
    loop = asyncio.new_event_loop()
    loop.run_until_complete(work)
    loop.close()


@pytest.mark.parametrize("run", [asyncio.run, run_and_leave], ids=["in order", "with a load left behind"])
def test_a_loop_that_ends_during_a_load_holds_up_no_other(run: Callable[[Coroutine[Any, Any, Any]], None]) -> None:
    table, clock = Table(ping("a")), Clock()
    begun: list[asyncio.Event] = []

    async def load() -> Any:
        found = await table.load()
        if table.loads == 2:  # it never ends
            begun[0].set()
            await asyncio.Event().wait()
        return found

    async def ends_during_a_load() -> None:
        begun.append(asyncio.Event())
        await source.tools(Run())
        await begun[0].wait()

    source = RefreshingTools(load, answer, clock=clock)
    asyncio.run(source.start())
    clock.pass_by()
    run(ends_during_a_load())
    table.rows = [ping("b")]

    assert asyncio.run(source.refresh())
    assert (asyncio.run(names(source)), table.loads) == (["b"], 3)


async def test_a_load_sees_nothing_of_the_run_that_began_it() -> None:
    mark = contextvars.ContextVar("mark", default="none")
    seen: list[str] = []

    async def load() -> list[ToolSpecification]:
        seen.append(mark.get())
        return [ping()]

    mark.set("of a run")
    await RefreshingTools(load, answer).start()
    assert seen == ["none"]


# -- what is the same, and what is another -----------------------------------------------------------------------------

SCHEMA = {"type": "object", "properties": {"n": {"type": "integer", "minimum": 1}}, "required": ["n"]}
TOOL = DeclaredTool(ping(parameters=ToolParameters(SCHEMA)))
TURNED = ToolParameters({"required": ["n"], "properties": {"n": {"minimum": 1, "type": "integer"}}, "type": "object"})

SAME: dict[str, tuple[list[Any], list[Any]]] = {
    "the same objects": ([TOOL], [TOOL]),
    "equal objects": ([TOOL], [replace(TOOL)]),
    "keys of the schema in another order": ([TOOL], [DeclaredTool(ping(parameters=TURNED))]),
    "rows in another order": ([TOOL, ping("b")], [ping("b"), TOOL]),
    "said by the specification alone": ([TOOL], [TOOL.specification]),
}


@pytest.mark.parametrize(("before", "after"), SAME.values(), ids=SAME)
async def test_what_is_equal_is_the_same_sequence(before: list[Any], after: list[Any]) -> None:
    table = Table(*before)
    source = refreshing(table)
    offered = await source.tools(Run())
    table.rows = after

    assert not await source.refresh()
    assert await source.tools(Run()) is offered
    assert table.loads == 2


CHANGED: dict[str, DeclaredTool] = {
    "the name": DeclaredTool(ping("pong", parameters=SCHEMA)),
    "the description": DeclaredTool(ping(description="Pong.", parameters=SCHEMA)),
    "the schema": DeclaredTool(ping(parameters={**SCHEMA, "required": []})),
    "true where one was": DeclaredTool(
        ping(parameters={**SCHEMA, "properties": {"n": {"type": "integer", "minimum": 1.0}}})
    ),
    "strict": DeclaredTool(ping(parameters=SCHEMA, strict=True)),
    "metadata": DeclaredTool(ping(parameters=SCHEMA, metadata={"team": "till"})),
    "where the result goes": replace(TOOL, return_behavior=ReturnBehavior.IMMEDIATE),
    "the effect": replace(TOOL, effect="read"),
    "the time": replace(TOOL, timeout=2.0),
    "the key": replace(TOOL, serial="till"),
    "the barrier": replace(TOOL, sequential=True),
}


@pytest.mark.parametrize("after", CHANGED.values(), ids=CHANGED)
async def test_whatever_is_said_of_a_tool_is_a_change(after: DeclaredTool) -> None:
    """Another sequence and another tool; one beside it that did not change is the same object."""
    table = Table(TOOL, ping("other"))
    source = refreshing(table)
    was, other = await source.tools(Run())
    table.rows = [after, ping("other")]

    assert await source.refresh()
    now, still = await source.tools(Run())
    assert now is not was and still is other
    assert now.specification == after.specification
    assert (now.return_behavior, now.effect, now.timeout, now.serial, now.sequential, now.source_name) == (
        after.return_behavior,
        after.effect,
        after.timeout,
        after.serial,
        after.sequential,
        "data",
    )


# -- forced, and the end -----------------------------------------------------------------------------------------------


async def test_forced_it_loads_anew_although_a_load_is_under_way() -> None:
    """That one may have looked before the change."""
    table, clock = HeldTable(ping("a")), Clock()
    table.may_end.set()
    source = refreshing(table, clock)
    await source.start()
    table.hold()
    clock.pass_by()
    await source.tools(Run())
    await table.begun.wait()

    table.rows = [ping("b")]
    forced = asyncio.create_task(source.refresh())
    table.may_end.set()
    assert await forced
    assert (await names(source), table.loads) == (["b"], 3)


async def test_the_end_ends_the_load_that_is_under_way_and_begins_none() -> None:
    table, clock = HeldTable(ping("a")), Clock()
    table.may_end.set()
    source = refreshing(table, clock)
    good = await source.tools(Run())
    table.hold()
    clock.pass_by()
    await source.tools(Run())
    await table.begun.wait()
    before = asyncio.all_tasks()

    await source.aclose()
    await source.aclose()

    assert {task for task in before if not task.done()} == {asyncio.current_task()}
    clock.pass_by()
    assert await source.tools(Run()) is good
    assert table.loads == 2
    with pytest.raises(ConfigurationError, match="the source is closed"):
        await source.refresh()


async def test_who_waits_for_the_first_load_is_told_of_the_end() -> None:
    table = HeldTable(ping())
    source = refreshing(table)
    waiting = asyncio.create_task(source.start())
    await table.begun.wait()
    await source.aclose()

    with pytest.raises(ConfigurationError, match="the load was ended"):
        await waiting
    with pytest.raises(ConfigurationError, match="the source is closed"):
        await source.tools(Run())


async def test_what_loads_is_closed_with_the_source() -> None:
    class Reader:
        closed = 0

        async def __call__(self) -> list[ToolSpecification]:
            return [ping()]

        async def aclose(self) -> None:
            self.closed += 1

    reader = Reader()
    async with RefreshingTools(reader, answer) as source:
        assert await names(source) == ["ping"] and reader.closed == 0
    assert reader.closed == 1


SETTINGS: dict[str, tuple[dict[str, Any], type[Exception], str]] = {
    "nothing to load with": ({"load": [ping()]}, ConfigurationError, "load must be a callable .* not list"),
    "no interval": ({"interval": 0}, ConfigurationError, "interval must be seconds above 0, not 0"),
    "an endless interval": ({"interval": float("inf")}, ConfigurationError, "interval must be"),
    "a text as an interval": ({"interval": "60s"}, ConfigurationError, "interval must be"),
    "no time": ({"timeout": -1}, ConfigurationError, "timeout must be"),
    "no tools": ({"max_tools": 0}, ConfigurationError, "max_tools must be"),
    "an executor that cannot be called": ({"executor": object()}, ToolDeclarationError, "cannot be called"),
}


@pytest.mark.parametrize(("wrong", "kind", "fault"), SETTINGS.values(), ids=SETTINGS)
def test_settings_that_cannot_be_honoured_are_refused(wrong: Any, kind: type[Exception], fault: str) -> None:
    settings = {"load": Table(ping()).load, "executor": answer, **wrong}
    with pytest.raises(kind, match=fault):
        RefreshingTools(settings.pop("load"), settings.pop("executor"), **settings)
