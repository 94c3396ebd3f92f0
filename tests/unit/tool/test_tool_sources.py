"""Where tools come from: sources that look at the run, and views over them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import (
    BoundTool,
    Run,
    ScriptedChatModel,
    ToolOutcome,
    ToolParameters,
    ToolService,
    ToolSource,
    tool,
)
from agentforge.errors import ConfigurationError, DuplicateToolError, ToolDeclarationError
from agentforge.model.scripted import call
from agentforge.tool import AugmentedCall, StaticTools, augmented, only, prefix, rename, without
from agentforge.tool.execution.default_executor import bound_tools_from


class Files:
    @tool
    def read_file(self, path: str) -> str:
        "Reads."
        return f"read {path}"

    @tool
    async def read_dir(self, path: str) -> str:
        "Lists."
        return f"list {path}"

    @tool
    def write_file(self, path: str) -> str:
        "Writes."
        return f"wrote {path}"


def files() -> ToolSource:
    return StaticTools(bound_tools_from(Files()))


async def names(source: ToolSource) -> list[str]:
    return [bound.name for bound in await source.tools(Run())]


VIEWS = [
    (lambda s: only(s, "read_*"), ["read_file", "read_dir"]),
    (lambda s: only(s, "write_file", "nothing"), ["write_file"]),
    (lambda s: without(s, "write_*"), ["read_file", "read_dir"]),
    (lambda s: prefix(s, "fs_"), ["fs_read_file", "fs_read_dir", "fs_write_file"]),
    (lambda s: rename(s, {"read_file": "cat"}), ["cat", "read_dir", "write_file"]),
    (lambda s: prefix(only(s, "read_file"), "fs_"), ["fs_read_file"]),
]


@pytest.mark.parametrize(("view", "expected"), VIEWS)
async def test_a_view_offers_what_it_says(view: Any, expected: list[str]) -> None:
    source = view(files())
    assert isinstance(source, ToolSource)
    assert await names(source) == expected


async def test_a_view_of_an_unchanged_source_is_the_same_sequence() -> None:
    source = prefix(files(), "fs_")
    assert await source.tools(Run()) is await source.tools(Run())


async def test_a_renamed_tool_is_called_under_its_new_name_and_runs_under_its_own() -> None:
    service = ToolService(prefix(files(), "fs_"))
    result = await service.chat(ScriptedChatModel([call("fs_read_file", path="a"), "ok"]), None, "q")
    assert result.tool_executions[0].result_text() == "read a"


async def test_renaming_a_tool_that_is_not_there_is_an_error_that_lists_what_is() -> None:
    with pytest.raises(ConfigurationError, match="'raed_file'") as caught:
        await names(rename(files(), {"raed_file": "cat"}))
    assert "read_file" in str(caught.value)


def test_an_empty_prefix_is_refused() -> None:
    with pytest.raises(ConfigurationError):
        prefix(files(), "")


# -- sources that look at the run --------------------------------------------------------------------


class ByRound:
    """Offers another tool in each round, as a source that looks at the run may."""

    def __init__(self, *offers: Sequence[BoundTool]) -> None:
        self.offers = offers

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        return self.offers[min(run.round, len(self.offers) - 1)]


async def test_sources_are_asked_before_every_model_call() -> None:
    read, _, write = bound_tools_from(Files())
    model = ScriptedChatModel([call("read_file", path="a"), call("write_file", path="b"), "ok"])
    service = ToolService(ByRound([read], [read, write]))
    result = await service.chat(model, None, "q")
    offered = [[s.name for s in request.parameters.tools] for request in model.requests]
    assert offered == [["read_file"], ["read_file", "write_file"], ["read_file", "write_file"]]
    assert [e.outcome for e in result.tool_executions] == [ToolOutcome.OK, ToolOutcome.OK]


async def test_a_tool_that_was_not_offered_in_this_request_does_not_run_though_it_exists() -> None:
    read, _, write = bound_tools_from(Files())
    service = ToolService(ByRound([read], [write]), unknown_tool_strategy="list_known_tools")
    model = ScriptedChatModel([call("write_file", path="a"), call("write_file", path="b"), "ok"])
    result = await service.chat(model, None, "q")
    assert [e.outcome for e in result.tool_executions] == [ToolOutcome.UNKNOWN_TOOL, ToolOutcome.OK]


async def test_several_sources_are_united_with_the_registered_tools() -> None:
    @tool
    def now() -> str:
        "The time."
        return "10:00"

    model = ScriptedChatModel(["ok"])
    await ToolService(now, only(files(), "read_file"), only(files(), "read_dir")).chat(model, None, "q")
    assert [s.name for s in model.requests[0].parameters.tools] == ["now", "read_file", "read_dir"]


async def test_one_name_from_two_origins_is_refused_naming_both() -> None:
    service = ToolService(Files(), only(files(), "read_file"))
    with pytest.raises(DuplicateToolError, match="read_file"):
        await service.chat(ScriptedChatModel(["ok"]), None, "q")


# -- augmented arguments -----------------------------------------------------------------------------

THOUGHT = ToolParameters.builder().add_property("inner_thought", "string", "why you call this tool", True).build()


@pytest.mark.parametrize("name", ["read_file", "read_dir"])
@pytest.mark.parametrize("is_async", [False, True])
async def test_extra_arguments_go_to_the_consumer_and_never_to_the_tool(name: str, is_async: bool) -> None:
    seen: list[AugmentedCall] = []

    def note(made: AugmentedCall) -> None:
        seen.append(made)

    async def note_async(made: AugmentedCall) -> None:
        seen.append(made)

    service = ToolService(augmented(files(), THOUGHT, note_async if is_async else note))
    model = ScriptedChatModel([call(name, path="a", inner_thought="the user asked"), "ok"])
    result = await service.chat(model, None, "q")
    assert result.tool_executions[0].outcome is ToolOutcome.OK
    assert [(made.request.name, made.extra) for made in seen] == [(name, {"inner_thought": "the user asked"})]
    schema = model.requests[0].parameters.tools[0].parameters
    assert schema.required == ("inner_thought", "path")


async def test_extra_arguments_are_validated_like_all_others() -> None:
    service = ToolService(augmented(files(), THOUGHT, lambda made: None), arguments_error_handler="return_to_model")
    model = ScriptedChatModel([call("read_file", path="a"), "ok"])
    result = await service.chat(model, None, "q")
    assert result.tool_executions[0].outcome is ToolOutcome.INVALID_ARGUMENTS
    assert "inner_thought" in result.tool_executions[0].result_text()


def test_augmenting_with_nothing_is_refused() -> None:
    with pytest.raises(ToolDeclarationError):
        augmented(files(), ToolParameters.empty(), lambda made: None)


async def test_an_extra_argument_of_a_name_that_the_tool_has_is_refused() -> None:
    clash = ToolParameters.builder().add_property("path", "string").build()
    with pytest.raises(ToolDeclarationError, match="'path'"):
        await names(augmented(files(), clash, lambda made: None))
