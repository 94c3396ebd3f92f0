"""Refreshing tools in conversations: turns see what was loaded last, what vanished is refused, and the last good set is
offered whatever comes."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge import Run, ScriptedChatModel, ToolOutcome, ToolService, ToolSpecification
from agentforge.errors import ConfigurationError
from agentforge.model.scripted import call
from agentforge.testing import ToolSourceContract
from agentforge.tool import RefreshingTools
from agentforge.tool.execution import Ask, PlannedCall, Proceed
from tests.unit.tool.refreshing import Clock, Table, ping, refreshing


class TestItIsAToolSource(ToolSourceContract):
    """The suite for authors of sources."""

    def source(self) -> RefreshingTools:
        return refreshing(Table(ping("a"), ping("b")))

    def examples(self) -> Iterable[tuple[str, Mapping[str, object]]]:
        return [("a", {}), ("b", {})]


async def test_the_next_turn_offers_what_was_loaded_meanwhile() -> None:
    """And the executor runs a tool that was not there when the service was made."""
    table = Table(ping("a"))
    source = refreshing(table)
    model = ScriptedChatModel([call("a"), "Done.", call("b"), "Done."])
    with ToolService(source) as service:
        first = await service.chat(model, None, "go")
        table.rows = [ping("a"), ping("b")]
        await source.refresh()
        second = await service.chat(model, None, "go")

    assert [each.result_text() for each in (*first.tool_executions, *second.tool_executions)] == ["a ran", "b ran"]
    offered = [[tool.name for tool in request.parameters.tools] for request in model.requests]
    assert offered == [["a"], ["a"], ["a", "b"], ["a", "b"]]


async def test_as_long_as_nothing_changes_the_tools_of_a_request_are_the_same_object() -> None:
    """So that a wire encodes them once."""
    source = refreshing(Table(ping("a")))
    model = ScriptedChatModel(["One.", "Two."])
    with ToolService(source) as service:
        await service.chat(model, None, "go")
        await source.refresh()
        await service.chat(model, None, "go")

    assert model.requests[0].parameters.tools is model.requests[1].parameters.tools


async def test_a_tool_that_vanished_before_the_next_round_is_unknown_in_it() -> None:
    table = Table(ping("a"), ping("b"))
    source: RefreshingTools

    async def runs(request: Any) -> str:
        table.rows = [ping("b")]
        await source.refresh()
        return f"{request.name} ran"

    source = RefreshingTools(table.load, runs)
    model = ScriptedChatModel([call("a"), call("a"), "Done."])
    with ToolService(source, unknown_tool_strategy="list_known_tools") as service:
        result = await service.chat(model, None, "go")

    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.OK, ToolOutcome.UNKNOWN_TOOL]


class Asks:
    """Asks about every call, until told otherwise."""

    open = True

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> list[Ask | Proceed]:
        return [Ask("may it?") if self.open else Proceed() for _ in batch]


SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}}
MEANWHILE: dict[str, tuple[list[ToolSpecification], ToolOutcome]] = {
    "it is as it was": ([ping("a")], ToolOutcome.OK),
    "it vanished": ([ping("b")], ToolOutcome.UNKNOWN_TOOL),
    "it takes something else": ([ping("a", parameters=SCHEMA)], ToolOutcome.UNKNOWN_TOOL),
    "it is described otherwise": ([ping("a", "Erases the disk.")], ToolOutcome.UNKNOWN_TOOL),
}


@pytest.mark.parametrize(("rows", "outcome"), MEANWHILE.values(), ids=MEANWHILE)
async def test_a_call_that_waited_runs_only_if_its_tool_is_still_the_one_that_was_offered(
    rows: list[ToolSpecification], outcome: ToolOutcome
) -> None:
    table, gate = Table(ping("a")), Asks()
    source = refreshing(table)
    with ToolService(source, gates=[gate], unknown_tool_strategy="list_known_tools") as service:
        waiting = await service.chat(ScriptedChatModel([call("a")]), None, "go")
        assert waiting.suspended is not None
        table.rows, gate.open = rows, False
        await source.refresh()
        result = await service.resume(ScriptedChatModel(["Done."]), None, waiting.suspended)

    assert [each.outcome for each in result.tool_executions] == [outcome]


# -- whatever comes ----------------------------------------------------------------------------------------------------

SETS: Sequence[Any] = ([ping("a")], [ping("a"), ping("b")], [ping("b"), ping("a")], [ping("a", "Other.")])
FAULTS: Sequence[Any] = (OSError("away"), [], [ping("a"), ping("a")], "text", [ping("a"), 1], asyncio.CancelledError())
STEPS = st.lists(
    st.tuples(
        st.sampled_from([*((rows, True) for rows in SETS), *((rows, False) for rows in FAULTS)]),
        st.sampled_from(["ask", "force"]),
        st.sampled_from([0.0, 59.0, 60.0, 600.0]),
    ),
    max_size=12,
)


def told(tools: Iterable[Any]) -> set[tuple[str, str | None]]:
    return {(tool.name, getattr(tool, "specification", tool).description) for tool in tools}


@given(STEPS)
def test_whatever_comes_the_last_good_set_is_offered(steps: list[tuple[tuple[Any, bool], str, float]]) -> None:
    """It changes with a good load that differs, and with nothing else; a load is due after the interval alone."""

    async def work() -> None:
        table, clock = Table(*SETS[0]), Clock()
        source = refreshing(table, clock)
        expected, offered, due = told(SETS[0]), await source.tools(Run()), clock.now + source.interval
        for (rows, good), how, seconds in steps:
            table.rows = rows
            clock.pass_by(seconds)
            loads = how == "force" or clock.now >= due
            before = table.loads
            if how == "ask":
                assert await source.tools(Run()) is offered  # what is under way changes nothing yet
                await source.settled()
            elif good:
                assert await source.refresh() is (told(rows) != expected)
            else:
                with pytest.raises(ConfigurationError):
                    await source.refresh()
            assert table.loads - before == loads
            if loads:
                due = clock.now + source.interval
            if loads and good and told(rows) != expected:
                expected, offered = told(rows), await source.tools(Run())
            assert await source.tools(Run()) is offered
            assert told(offered) == expected
        await source.aclose()

    asyncio.run(work())
