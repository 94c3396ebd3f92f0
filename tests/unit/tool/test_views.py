"""Views over a source: descriptions, a choice for each request, and the laws of all views."""

from __future__ import annotations

import asyncio
import fnmatch
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge import BoundTool, Run, ScriptedChatModel, ToolOutcome, ToolService, ToolSource, tool
from agentforge.client import ChatClient
from agentforge.errors import ConfigurationError, ToolDeclarationError
from agentforge.model import ToolExecutionRequest
from agentforge.model.scripted import call
from agentforge.tool import StaticTools, describe, only, prefix, rename, selecting, without
from agentforge.tool.execution import ToolExecutionResult, bound_tools_from


def named(*names: str) -> tuple[BoundTool, ...]:
    """Tools that differ in their names."""

    def made(name: str) -> BoundTool:
        @tool("Anything.", name=name)
        def each(text: str = "") -> str:
            return f"did {text}"

        return bound_tools_from(each)[0]

    return tuple(made(name) for name in names)


TOOLS = named("read", "write", "list")


async def offered(source: ToolSource, run: Run | None = None) -> list[tuple[str, str | None]]:
    return [(each.name, each.specification.description) for each in await source.tools(run or Run())]


# -- describe ------------------------------------------------------------------------------------


async def test_a_described_tool_has_the_new_text_and_all_else_as_it_was() -> None:
    source = describe(StaticTools(TOOLS), {"write": "Writes a file."})
    read, write, _ = await source.tools(Run())

    assert read is TOOLS[0]
    assert write.specification == replace(TOOLS[1].specification, description="Writes a file.")
    assert (write.bind, write.invoke, write.effect) == (TOOLS[1].bind, TOOLS[1].invoke, TOOLS[1].effect)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (
            lambda s: describe(s, {"write": 3}),  # type: ignore[dict-item]
            "description of tool 'write' must be a text, not int",
        ),
        (lambda s: rename(s, {"write": ""}), "new name of tool 'write' must be a text that is not empty"),
        (
            lambda s: selecting(s, ["read"]),  # type: ignore[arg-type]
            r"selecting needs a callable \(run, tools\), not list",
        ),
    ],
    ids=["describe", "rename", "selecting"],
)
def test_a_view_that_cannot_work_is_refused_when_it_is_made(make: Callable[[Any], Any], fault: str) -> None:
    with pytest.raises(ConfigurationError, match=fault):
        make(StaticTools(TOOLS))


async def test_describing_a_tool_that_is_not_there_is_an_error_that_lists_what_is() -> None:
    with pytest.raises(ConfigurationError, match="cannot describe 'wirte'") as caught:
        await offered(describe(StaticTools(TOOLS), {"wirte": "Writes."}))
    assert caught.value.next_step == "It offers read, write, list."


async def test_what_does_not_fit_is_told_under_the_name_that_the_model_knows() -> None:
    service = ToolService(prefix(StaticTools(TOOLS), "fs_"), arguments_error_handler="return_to_model")
    model = ScriptedChatModel([call("fs_read", text=3), "ok"])
    (execution,) = (await service.chat(model, None, "q")).tool_executions

    assert execution.outcome is ToolOutcome.INVALID_ARGUMENTS
    assert "'fs_read'" in execution.result_text() and "'read'" not in execution.result_text()


# -- a choice for each request -------------------------------------------------------------------

(BOOK,) = named("book")


def when_booking(run: Run, tools: Sequence[BoundTool]) -> Iterable[BoundTool]:
    message = run.user_message
    return [*tools, BOOK] if message is not None and "book" in message.text else tools


def only_for_agents(run: Run, tools: Sequence[BoundTool]) -> Iterable[BoundTool]:
    return tools if "agent" in run.roles else (each for each in tools if each.name != "write")


def of_tenant(run: Run, tools: Sequence[BoundTool]) -> Iterable[BoundTool]:
    return tools if run.tenant == "acme" else []


async def by_attribute(run: Run, tools: Sequence[BoundTool]) -> Iterable[BoundTool]:
    return [each for each in tools if each.name in run.attributes.get("allowed", ())]  # type: ignore[operator]


def from_second_round(run: Run, tools: Sequence[BoundTool]) -> Iterable[BoundTool]:
    return tools[:1] if run.round == 0 else tools


CHOICES: dict[str, tuple[Any, dict[str, Any], dict[str, Any], str, list[str]]] = {
    "the message adds one": (when_booking, {}, {}, "I want to book", ["read", "write", "list", "book"]),
    "the message adds none": (when_booking, {}, {}, "hello", ["read", "write", "list"]),
    "a role keeps one": (only_for_agents, {"roles": ["agent"]}, {}, "q", ["read", "write", "list"]),
    "no role takes it away": (only_for_agents, {}, {}, "q", ["read", "list"]),
    "a tenant": (of_tenant, {"tenant": "acme"}, {}, "q", ["read", "write", "list"]),
    "another tenant": (of_tenant, {"tenant": "other"}, {}, "q", []),
    "an attribute, async": (by_attribute, {}, {"allowed": ("list",)}, "q", ["list"]),
    "the round": (from_second_round, {}, {}, "q", ["read"]),
}


@pytest.mark.parametrize(("choose", "of_run", "attributes", "text", "expected"), CHOICES.values(), ids=CHOICES)
async def test_a_choice_sees_the_run(
    choose: Any, of_run: dict[str, Any], attributes: dict[str, Any], text: str, expected: list[str]
) -> None:
    """The user's message, tenant, roles, attributes and the round; it may add and remove."""
    model = ScriptedChatModel(["ok"])
    run = Run(**of_run)
    run.attributes.update(attributes)
    await ToolService(selecting(StaticTools(TOOLS), choose)).chat(model, None, text, context=run)

    assert [each.name for each in model.requests[0].parameters.tools] == expected


async def test_a_choice_is_made_before_every_request() -> None:
    model = ScriptedChatModel([call("read"), call("write", text="a"), "ok"])
    service = ToolService(selecting(StaticTools(TOOLS), from_second_round))
    result = await service.chat(model, None, "q")

    assert [len(request.parameters.tools) for request in model.requests] == [1, 3, 3]
    assert [each.result_text() for each in result.tool_executions] == ["did ", "did a"]


async def test_a_choice_sees_the_message_through_a_client_too() -> None:
    model = ScriptedChatModel(["ok", "ok"])
    client = ChatClient(model, tools=[selecting(StaticTools(TOOLS), when_booking)])
    for text in ("hello", "book a table"):
        await client.prompt(text).call()

    assert [len(request.parameters.tools) for request in model.requests] == [3, 4]


def test_a_run_without_a_message_has_none() -> None:
    assert Run().user_message is None


async def test_the_same_choice_is_the_same_sequence() -> None:
    """So that nothing downstream is made again; also where choices alternate."""
    source = selecting(StaticTools(TOOLS), only_for_agents)
    user, agent = Run(), Run(roles=["agent"])
    first, second = await source.tools(user), await source.tools(agent)

    assert await source.tools(user) is first
    assert await source.tools(agent) is second


async def test_everything_chosen_one_by_one_is_the_sources_own_sequence() -> None:
    inner = StaticTools(TOOLS)

    assert await selecting(inner, lambda run, tools: list(tools)).tools(Run()) is await inner.tools(Run())


@pytest.mark.parametrize(
    ("chosen", "fault"),
    [(None, "gave NoneType"), ("read", "gave str"), (["read"], "gave str among the tools"), (3, "gave int")],
    ids=repr,
)
async def test_a_choice_that_is_no_series_of_tools_is_an_error(chosen: Any, fault: str) -> None:
    with pytest.raises(ToolDeclarationError, match=fault):
        await selecting(StaticTools(TOOLS), lambda run, tools: chosen).tools(Run())


async def test_what_a_choice_raises_ends_the_run() -> None:
    def choose(run: Run, tools: Sequence[BoundTool]) -> Sequence[BoundTool]:
        raise LookupError("no roles known")

    with pytest.raises(LookupError, match="no roles known"):
        await ToolService(selecting(StaticTools(TOOLS), choose)).chat(ScriptedChatModel(["ok"]), None, "q")


# -- laws ----------------------------------------------------------------------------------------

_NAMES = ("read", "read_all", "write", "list")
_PATTERNS = st.lists(st.sampled_from([*_NAMES, "read*", "*", "w?ite", "x_*", "*_all"]), max_size=3).map(tuple)
Change = Callable[[list[tuple[str, str | None]]], list[tuple[str, str | None]]]


def _fits(name: str, patterns: tuple[str, ...]) -> bool:
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def _only(patterns: tuple[str, ...]) -> tuple[Any, Change]:
    return lambda s: only(s, *patterns), lambda rows: [row for row in rows if _fits(row[0], patterns)]


def _without(patterns: tuple[str, ...]) -> tuple[Any, Change]:
    return lambda s: without(s, *patterns), lambda rows: [row for row in rows if not _fits(row[0], patterns)]


def _prefix(text: str) -> tuple[Any, Change]:
    return lambda s: prefix(s, text), lambda rows: [(text + name, said) for name, said in rows]


def _first(count: int) -> tuple[Any, Change]:
    return lambda s: selecting(s, lambda run, tools: tools[:count]), lambda rows: rows[:count]


def _shout() -> tuple[Any, Change]:
    """Renames and describes whatever is there."""

    def view(source: ToolSource) -> ToolSource:
        class Shouted:
            async def tools(self, run: Run) -> Sequence[BoundTool]:
                names = [each.name for each in await source.tools(run)]
                described = describe(source, {name: f"The {name}." for name in names})
                return await rename(described, {name: name.upper() for name in names}).tools(run)

        return Shouted()

    return view, lambda rows: [(name.upper(), f"The {name}.") for name, _ in rows]


KEEPING = (
    _PATTERNS.map(_only)
    | _PATTERNS.map(_without)
    | st.sampled_from(["x_", "y."]).map(_prefix)
    | st.integers(0, 3).map(_first)
)
VIEWS = KEEPING | st.just(_shout())


async def _tools_of(source: ToolSource, number: int = 0) -> Sequence[BoundTool]:
    run = Run()
    run.round = number
    return await source.tools(run)


@given(st.lists(VIEWS, max_size=4))
def test_a_view_of_a_view_is_their_composition(views: list[tuple[Any, Change]]) -> None:
    """Whatever the views: what the outermost offers is what the changes give one after the other; each tool still runs
    under its own name."""
    tools = named(*_NAMES)
    source: ToolSource = StaticTools(tools)
    rows = asyncio.run(offered(source))
    for view, change in views:
        source, rows = view(source), change(rows)

    assert asyncio.run(offered(source)) == rows
    for each in asyncio.run(_tools_of(source)):
        made = each.invoke(ToolExecutionRequest("c", each.name, "{}"), each.bind({"text": "a"}), Run())
        assert isinstance(made, ToolExecutionResult) and made.text == "did a"


@given(st.lists(KEEPING, min_size=1, max_size=4))
def test_views_give_the_same_sequence_for_the_same_sequence(views: list[tuple[Any, Change]]) -> None:
    """Also when the source goes to and fro between two."""
    sets = (named("read", "write"), named("read_all", "list", "write"))

    class Alternating:
        async def tools(self, run: Run) -> Sequence[BoundTool]:
            return sets[run.round % 2]

    source: ToolSource = Alternating()
    for view, _ in views:
        source = view(source)
    first, second, third, fourth = [asyncio.run(_tools_of(source, number)) for number in range(4)]

    assert first is third and second is fourth
