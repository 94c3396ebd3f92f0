"""Two sources offer tools of one name: an error that names both, or the source's name in front."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, DuplicateToolError
from agentforge.model import ToolSpecification
from agentforge.model.scripted import ScriptedChatModel, call
from agentforge.tool import BoundTool, StaticTools, ToolOrigin, prefix, rename, selecting, tool
from agentforge.tool.execution import ToolService, bound_tool_from


def offered(name: str, source: str, *, remote: bool = True) -> BoundTool:
    """A tool that answers with its source and the name that it was asked by."""
    made = bound_tool_from(ToolSpecification(name), lambda request: f"{source}:{request.name}", source_name=source)
    return replace(made, origin=ToolOrigin("mcp", source)) if remote else made


def source(name: str, *tools: str) -> StaticTools:
    """A server with these tools."""
    return StaticTools(offered(each, name) for each in tools)


@tool
def open() -> str:
    """Open."""
    return "here"


async def names_and_answers(service: ToolService) -> dict[str, str]:
    """What a model is offered, and what each of them answers."""
    first = ScriptedChatModel(["No more."])
    await service.chat(first, None, "Which?")
    names = [each.name for each in first.requests[0].parameters.tools]
    model = ScriptedChatModel([*(call(name, "{}") for name in names), "Done."])
    with service:  # threads that ran tools end here
        executions = (await service.chat(model, None, "All of them.")).tool_executions
    return {each.request.name: each.result_text() for each in executions}


# offered by (source, tools…) and whether `open` is a function of the program -> what the model sees and gets
ROWS: list[tuple[str, list[tuple[str, ...]], bool, dict[str, str]]] = [
    ("no clash", [("git", "log"), ("docs", "read")], False, {"log": "git:log", "read": "docs:read"}),
    (
        "two servers",
        [("git", "search", "log"), ("docs", "search")],
        False,
        {"git_search": "git:search", "log": "git:log", "docs_search": "docs:search"},
    ),
    ("a function keeps its name", [("docs", "open")], True, {"open": "here", "docs_open": "docs:open"}),
    (
        "three of one name",
        [("docs", "open"), ("git", "open")],
        True,
        {"open": "here", "docs_open": "docs:open", "git_open": "git:open"},
    ),
]


@pytest.mark.parametrize(("sources", "function", "seen"), [row[1:] for row in ROWS], ids=[row[0] for row in ROWS])
async def test_prefix_keeps_all_tools_under_names_of_their_own(
    sources: list[tuple[str, ...]], function: bool, seen: dict[str, str]
) -> None:
    """The name that the executor sees, and sends to its server, is the tool's own."""
    service = ToolService(*([open] if function else []), *(source(*each) for each in sources), on_clash="prefix")
    service.start()

    assert await names_and_answers(service) == seen


async def test_the_order_of_the_sources_changes_no_name() -> None:
    """Which of two tools keeps its name is no matter of who comes first."""
    git, docs = source("git", "search"), source("docs", "search")
    one = await names_and_answers(ToolService(git, docs, on_clash="prefix"))
    other = await names_and_answers(ToolService(docs, git, on_clash="prefix"))

    assert one == other


@pytest.mark.parametrize("when", ["start", "first request"])
async def test_a_clash_is_an_error_that_names_both_sources(when: str) -> None:
    """By default; at start where the sources know their tools, else before the request is sent."""
    service = ToolService(source("git", "search"), source("docs", "search"))
    model = ScriptedChatModel(["Never."])

    async def find_out() -> None:
        if when == "start":
            service.start()
        else:
            await service.chat(model, None, "Hello")

    with pytest.raises(DuplicateToolError) as caught:
        await find_out()

    assert "'search'" in caught.value.message
    assert "'git'" in caught.value.message and "'docs'" in caught.value.message
    assert "prefix" in (caught.value.next_step or "")
    assert model.requests == []


async def test_two_of_one_name_from_one_source_stay_an_error() -> None:
    """A prefix would not tell them apart."""
    service = ToolService(source("git", "search", "search"), on_clash="prefix")
    with pytest.raises(DuplicateToolError, match="'search'"):
        await service.chat(ScriptedChatModel(["Never."]), None, "Hello")


async def test_a_prefixed_name_that_is_taken_is_an_error() -> None:
    """Nothing is replaced by what gets a new name."""
    service = ToolService(source("git", "search"), source("docs", "search", "git_search"), on_clash="prefix")
    with pytest.raises(DuplicateToolError, match="'git_search'"):
        service.start()


def test_views_know_what_they_offer_where_their_source_does() -> None:
    """So that a clash behind them is found at start; a choice that looks at the run is asked about in the run."""
    git, docs = source("git", "search"), source("docs", "find")
    with pytest.raises(DuplicateToolError, match="'search'"):
        ToolService(git, rename(docs, {"find": "search"})).start()
    ToolService(git, prefix(rename(docs, {"find": "search"}), "docs_")).start()

    def all_of_them(run: Any, tools: Sequence[BoundTool]) -> Sequence[BoundTool]:
        return tools

    ToolService(git, selecting(source("docs", "search"), all_of_them)).start()


def test_a_rule_that_is_none_is_refused() -> None:
    """At once."""
    with pytest.raises(ConfigurationError, match="on_clash"):
        ToolService(on_clash="rename")  # type: ignore[arg-type]
