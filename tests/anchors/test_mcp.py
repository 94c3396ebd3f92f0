"""Section O: MCP. Servers are processes that do what a script says; a protocol error is told to the model here."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentforge import Run, ScriptedChatModel, ToolService
from agentforge.errors import DuplicateToolError, ToolExecutionError
from agentforge.tool.execution import ToolOutcome
from agentforge_mcp.errors import McpRequestError
from agentforge_mcp.source import McpTools
from plugins.mcp.tests.support import ask, bound, named, run_tool, source_of
from tests.anchors.support import differs, differs_row, row, rows


def tool_result(*blocks: Mapping[str, Any], **more: Any) -> dict[str, Any]:
    """A script in which the tool ``t`` gives these blocks."""
    return {"tools": ["t"], "on": {"t": [{"result": {"content": list(blocks), **more}}]}}


def words(text: str) -> dict[str, Any]:
    """A text block."""
    return {"type": "text", "text": text}


PROTOCOL_ERROR = {"tools": ["t"], "on": {"t": [{"error": {"code": -32603, "message": "out of order"}}]}}


@rows(333, "the error flag")
async def test_a_tool_that_says_that_it_failed_is_an_execution_error(anchor: int) -> None:
    async with source_of(tool_result(words("no such order"), isError=True)) as source:
        with pytest.raises(ToolExecutionError, match="no such order"):
            await run_tool((await bound(source))["t"])
        (execution,) = (await ask(source, ("t", {}))).tool_executions
    assert (execution.outcome, execution.result_text()) == (ToolOutcome.FAILED, "no such order")


@differs(334, "a protocol error is told to the model")
async def test_a_protocol_error_is_an_execution_error_of_its_own_kind(anchor: int) -> None:
    async with source_of(PROTOCOL_ERROR, name="desk") as source:
        with pytest.raises(McpRequestError) as caught:
            await run_tool((await bound(source))["t"])
        assert caught.value.rpc_code == -32603
        (execution,) = (await ask(source, ("t", {}))).tool_executions
    assert execution.outcome is ToolOutcome.FAILED and "'desk' refused the call of 't'" in execution.result_text()


OTHER = [
    row(335, "an answer that breaks the protocol", {"result": {"content": 7}}),
    row(335, "the server dies", {"exit": 3}),
]


@pytest.mark.parametrize("action", OTHER)
async def test_whatever_else_goes_wrong_is_an_execution_error(action: Mapping[str, Any]) -> None:
    async with source_of({"tools": ["t"], "on": {"t": [action]}}) as source:
        with pytest.raises(ToolExecutionError, match="MCP server 'scripted'"):
            await run_tool((await bound(source))["t"])


EMPTY = [row(336, "no text", ""), row(336, "an empty object", "{}"), row(336, "spaces", "  ")]


@pytest.mark.parametrize("text", EMPTY)
async def test_without_arguments_empty_ones_are_sent(text: str) -> None:
    model = ScriptedChatModel([{"calls": [{"id": "c1", "name": "t", "arguments": text}]}, {"text": "done"}])
    async with source_of({"tools": ["t"]}) as source:
        result = await ToolService(source).chat(model, None, "go")
    assert result.tool_executions[0].result_text() == "{}"


PNG = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
CONTENTS = [
    differs_row(337, "several texts are one text", [words("a"), words("b")], ["TextContent"], "a\nb"),
    differs_row(337, "a picture is a part", [words("a"), PNG], ["TextContent", "ImageContent"], "a"),
    differs_row(337, "nothing is success", [], ["TextContent"], "Success"),
]


@pytest.mark.parametrize(("blocks", "parts", "text"), CONTENTS)
async def test_contents_are_parts_of_the_result(blocks: list[Any], parts: list[str], text: str) -> None:
    async with source_of(tool_result(*blocks)) as source:
        result = await run_tool((await bound(source))["t"])
    assert [type(part).__name__ for part in result.contents] == parts and result.text == text


def metas(journal: Path) -> list[Any]:
    """What calls were sent as ``_meta``, but for the token of their progress."""
    messages = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    found = [each["params"].get("_meta", {}) for each in messages if each.get("method") == "tools/call"]
    return [{key: value for key, value in each.items() if key != "progressToken"} for each in found]


CONTEXT = [
    row(338, "what is null is not sent", ("tenant", "region", "none"), {"tenant": "acme", "region": "eu"}),
    differs_row(338, "only what is named is sent", (), {}),
]


@pytest.mark.parametrize(("names", "expected"), CONTEXT)
async def test_the_context_is_sent_as_far_as_it_is_named(names: Any, expected: Any, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    run = Run(tenant="acme", user_data={"region": "eu", "none": None, "other": "x"})
    async with source_of({"tools": ["t"], "journal": str(journal)}, send_context=names) as source:
        await run_tool((await bound(source))["t"], {}, run)
    assert metas(journal) == [expected]


async def two_servers() -> tuple[McpTools, McpTools]:
    """Two servers that offer a tool of one name."""
    one, two = (source_of({"tools": ["search"]}, name=name) for name in ("git", "docs"))
    await asyncio.gather(one.start(), two.start())
    return one, two


async def offered(*sources: McpTools, **options: Any) -> list[str]:
    """The names that a model is offered of these sources."""
    model = ScriptedChatModel([{"text": "done"}])
    try:
        await ToolService(*sources, **options).chat(model, None, "go")
    finally:
        for source in sources:
            await source.aclose()
    return [tool.name for tool in model.requests[0].parameters.tools]


@rows(339, "with prefixes")
async def test_two_tools_of_one_name_get_their_servers_names(anchor: int) -> None:
    assert await offered(*await two_servers(), on_clash="prefix") == ["git_search", "docs_search"]


@differs(339, "prefixes are asked for")
async def test_two_tools_of_one_name_are_an_error_by_default(anchor: int) -> None:
    with pytest.raises(DuplicateToolError, match="git"):
        await offered(*await two_servers())


@rows(340, "without prefixes")
async def test_two_tools_of_one_name_are_an_error_that_names_both(anchor: int) -> None:
    with pytest.raises(DuplicateToolError, match=r"'search': one from .*git.*, one from .*docs"):
        await offered(*await two_servers(), on_clash="error")


FILTERS = [
    row(341, "by name", lambda tool, server: tool.name.startswith("read"), ["read_a", "read_b"]),
    row(341, "by client", lambda tool, server: server.name == "other", []),
    row(341, "by both", lambda tool, server: server.name == "desk" and tool.name == "write", ["write"]),
    row(341, "none", lambda tool, server: False, []),
    row(341, "all", lambda tool, server: True, ["read_a", "read_b", "write"]),
]


@pytest.mark.parametrize(("choose", "names"), FILTERS)
async def test_a_filter_chooses(choose: Any, names: list[str]) -> None:
    async with source_of({"tools": ["read_a", "read_b", "write"], "name": "desk"}, filter=choose) as source:
        assert named(await source.tools(Run())) == names


NAMES = [
    differs_row(343, "cut with a hash of the whole", "x" * 70, r"x{55}_[0-9a-f]{8}"),
    differs_row(344, "other scripts become a word with a hash", "天气查询", r"tool_[0-9a-f]{8}"),
    differs_row(344, "letters among them stay", "天气weather", r"weather"),
    differs_row(345, "hyphens stay", "get-weather", r"get-weather"),
]


@pytest.mark.parametrize(("name", "pattern"), NAMES)
async def test_names_become_ones_that_every_model_takes(name: str, pattern: str) -> None:

    async with source_of({"tools": [name]}) as source:
        (tool,) = await source.tools(Run())
        assert re.fullmatch(pattern, tool.name), tool.name
        assert tool.origin is not None and tool.origin.name == name
        assert (await run_tool(tool)).text == "{}"


@pytest.mark.parametrize(
    ("keep", "attributes"),
    [row(348, "dropped by default", False, {}), row(348, "kept when enabled", True, {"_meta": {"trace": "x"}})],
)
async def test_what_goes_with_a_result_is_kept_where_it_is_asked_for(keep: bool, attributes: Any) -> None:
    script = tool_result(words("a"), _meta={"trace": "x"})
    async with source_of(script, connection={"keep_meta": keep}) as source:
        result = await run_tool((await bound(source))["t"])
    assert (result.text, result.attributes) == ("a", attributes)
