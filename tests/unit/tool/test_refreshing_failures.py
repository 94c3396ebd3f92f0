"""Loads of tools that fail: the last good set stays, what went wrong is told once and holds no secret."""

from __future__ import annotations

import asyncio
import logging
import re
import threading
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agentforge import Run, ToolParameters, ToolSpecification
from agentforge.errors import ConfigurationError
from agentforge.masking import Secrets
from agentforge.tool import DeclaredTool, RefreshingTools
from tests.unit.tool.refreshing import Clock, HeldTable, Table, answer, names, ping, refreshing


async def stream() -> AsyncIterator[ToolSpecification]:
    yield ping()


BROKEN = ToolParameters({"type": "object", "properties": {"n": {"type": "nope"}}})
FAILURES: dict[str, tuple[Any, str]] = {
    "out of reach": (OSError("no route to host"), "OSError: no route to host"),
    "an error without words": (KeyError(), "KeyError"),
    "an error of ours": (
        ConfigurationError("the answer is not JSON", location="http://tools.test"),
        r"the answer is not JSON \(http://tools.test\)",
    ),
    "its own time-out": (TimeoutError("the vault is slow"), "TimeoutError: the vault is slow"),
    "ended by itself": (asyncio.CancelledError(), "CancelledError"),
    "nothing": (None, "load gave NoneType, not a series"),
    "a text": ("tools", "load gave str, not a series"),
    "a mapping": ({"ping": ping()}, "load gave dict, not a series"),
    "a stream": (stream(), "load gave async_generator, not a series"),
    "what is no tool": ([ping(), {"name": "b"}], "load gave dict among the tools"),
    "a schema that is none": ([ping(parameters=BROKEN)], "the schema of tool 'ping' is not a JSON Schema"),
    "an effect that is none": ([DeclaredTool(ping(), effect="maybe")], "effect of tool 'ping'"),  # type: ignore[arg-type]
    "two of one name": ([ping("a"), ping("a", "Other.")], "two tools are named 'a'"),
    "none at all": ([], "there are none"),
    "too many": ([ping(f"t{n}") for n in range(4)], "there are more than 3"),
}


@pytest.mark.parametrize(("rows", "reason"), FAILURES.values(), ids=FAILURES)
async def test_a_first_load_that_fails_is_told_and_tried_again(rows: Any, reason: str) -> None:
    table = Table()
    table.rows = rows
    source = refreshing(table, max_tools=3)
    for attempt in (source.start, lambda: source.tools(Run()), source.refresh):
        with pytest.raises(ConfigurationError, match=f"^.AF100. the tools of 'data' could not be loaded: .*{reason}"):
            await attempt()
    assert table.loads == 3

    table.rows = [ping()]
    assert (await names(source), source.last_failure) == (["ping"], None)


@pytest.mark.parametrize(("rows", "reason"), FAILURES.values(), ids=FAILURES)
async def test_a_refresh_that_fails_keeps_the_last_good_set(
    rows: Any, reason: str, caplog: pytest.LogCaptureFixture
) -> None:
    """As a whole, for the interval, and says why once; what goes right then is offered."""
    table, clock = Table(ping("a"), ping("b")), Clock()
    source = refreshing(table, clock, max_tools=3)
    good = await source.tools(Run())
    table.rows = rows
    for _ in range(3):
        clock.pass_by()
        assert await source.tools(Run()) is good
        await source.settled()
        assert await source.tools(Run()) is good
    assert table.loads == 4
    [told] = caplog.messages
    assert re.search(rf"^the tools of 'data' could not be loaded: .*{reason}.*; the last good set stays", told)

    table.rows = [ping("c")]
    clock.pass_by()
    await source.tools(Run())
    await source.settled()
    assert (await names(source), source.last_failure) == (["c"], None)


async def test_forced_a_refresh_raises_its_failure_with_the_cause_and_what_to_do() -> None:
    table = Table(ping())
    source = refreshing(table)
    good = await source.tools(Run())
    table.rows = cause = OSError("no route to host")

    with pytest.raises(ConfigurationError, match="no route to host") as caught:
        await source.refresh()
    assert caught.value.__cause__ is cause and caught.value.next_step
    assert source.last_failure is caught.value
    assert await source.tools(Run()) is good


async def test_each_different_failure_is_logged_once_until_one_goes_right(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "agentforge.tool")
    table, clock = Table(ping()), Clock()
    source = refreshing(table, clock)
    await source.start()
    for rows in [OSError("a"), OSError("a"), OSError("b"), OSError("a"), [ping()], OSError("a")]:
        table.rows = rows
        clock.pass_by()
        await source.tools(Run())
        await source.settled()

    told = [(each.levelname, each.getMessage().partition("loaded: ")[2] or "again") for each in caplog.records]
    stays = "; the last good set stays, of size 1"
    assert told == [
        ("WARNING", f"OSError: a{stays}"),
        ("WARNING", f"OSError: b{stays}"),
        ("INFO", "again"),
        ("WARNING", f"OSError: a{stays}"),
    ]


async def test_what_was_told_is_remembered_for_a_hundred_different_failures(caplog: pytest.LogCaptureFixture) -> None:
    """Then it may be told once more: memory is bounded, too."""
    table = Table(ping())
    source = refreshing(table)
    await source.start()
    for number in [*range(100), 0, 100, 0]:
        table.rows = OSError(f"failure {number}")
        with pytest.raises(ConfigurationError):
            await source.refresh()

    assert len(caplog.messages) == 102
    assert "failure 0;" in caplog.messages[-1]


async def test_no_secret_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Nor a piece of one that a cut has left."""
    secret = "sk-" + "x" * 480
    table = Table(ping())
    source = refreshing(table, secrets=Secrets([secret]))
    await source.start()
    table.rows = OSError(f"refused {'y' * 40} {secret}")

    with pytest.raises(ConfigurationError) as caught:
        await source.refresh()
    assert "sk-" not in str(caught.value) + caplog.text and "refused" in caplog.text


async def test_a_failure_is_told_in_one_line_of_bounded_length(caplog: pytest.LogCaptureFixture) -> None:
    table = Table(ping())
    source = refreshing(table)
    await source.start()
    table.rows = OSError("first\nsecond " + "x" * 10_000)

    with pytest.raises(ConfigurationError, match="first second"):
        await source.refresh()
    assert len(caplog.messages[0]) < 1_000


async def test_a_load_that_takes_too_long_is_ended() -> None:
    table = HeldTable(ping())
    with pytest.raises(ConfigurationError, match=r"they did not come within 0\.01 s"):
        await refreshing(table, timeout=0.01).start()


async def test_a_thread_that_does_not_return_holds_up_the_next_load_and_no_second_thread() -> None:
    may_end, loads = threading.Event(), []

    def stuck() -> list[ToolSpecification]:
        loads.append(1)
        may_end.wait()
        return [ping()]

    source = RefreshingTools(stuck, answer, timeout=0.01)
    try:
        with pytest.raises(ConfigurationError, match="did not come within"):
            await source.start()
        with pytest.raises(ConfigurationError, match="the load before has not returned yet"):
            await source.start()
        assert len(loads) == 1
    finally:
        may_end.set()


async def test_none_at_all_is_fine_where_it_is_said() -> None:
    table = Table()
    source = refreshing(table, allow_empty=True)
    assert await names(source) == []
    table.rows = [ping()]
    assert await source.refresh()
    table.rows = []
    assert await source.refresh()
    assert await names(source) == []
