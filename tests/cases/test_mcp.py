"""MCP servers that misbehave: scripted servers as processes, with a scripted model before them."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import socket
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agentforge import Run, ScriptedChatModel, ToolService, tool
from agentforge.errors import DuplicateToolError
from agentforge.tool.execution import ToolOutcome
from agentforge_mcp.environment import environment_of
from agentforge_mcp.errors import McpConnectionError, McpLostError
from agentforge_mcp.options import HttpServer, StdioServer
from agentforge_mcp.source import McpTools
from plugins.mcp.tests.support import HttpProcess, ask, bound, named, run_tool, script_command, source_of
from plugins.openai.tests.support import FakeTransport, message, model_on
from tests.cases.support import case_file

ROWS: Mapping[str, Any] = {row["id"]: row for row in case_file("mcp")["cases"]}


def case(identity: str) -> Any:
    """Runs a test over one row, by whose id it is known."""
    return pytest.mark.parametrize("row", [pytest.param(ROWS[identity], id=identity)])


def script_of(row: Any, journal: Path | None = None, **more: Any) -> dict[str, Any]:
    """The row's server as a script."""
    given = {key: row["input"][key] for key in ("tools", "pages") if key in row["input"]}
    return {**given, **({"journal": str(journal)} if journal is not None else {}), **more}


def sent(journal: Path, method: str) -> list[Any]:
    """The messages of a method that a server noted."""
    messages = [json.loads(line) for line in journal.read_text("utf-8").splitlines()]
    return [each for each in messages if each.get("method") == method]


def calling(*names: str) -> ScriptedChatModel:
    """A model that calls these tools at once, without arguments, then answers."""
    calls = [{"id": f"c{at}", "name": name, "args": {}} for at, name in enumerate(names)]
    return ScriptedChatModel([{"calls": calls}, {"text": "done"}])


async def request_body(source: McpTools, vendor: str = "openai") -> dict[str, Any]:
    """The body of a request that offers the source's tools."""
    transport = FakeTransport(message(content="done"))
    await ToolService(source).chat(model_on(transport, vendor), None, "go")
    return transport.bodies[0]


@case("MC-01")
async def test_a_server_that_dies_ends_its_calls(row: Any, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with source_of(script_of(row, journal, on={"boom": [{"exit": 3}]}), name="desk") as source:
        begun = time.monotonic()
        result = await ask(source, ("boom", {}))
        assert time.monotonic() - begun < row["expected"]["values"]["max_wait_s"]
        (execution,) = result.tool_executions
        assert execution.outcome is ToolOutcome.FAILED and "'desk' exited with code 3" in execution.result_text()

        assert (await ask(source, ("ok", {}))).tool_executions[0].outcome is ToolOutcome.OK
    assert [each["params"]["name"] for each in sent(journal, "tools/call")] == ["boom", "ok"]


@case("MC-02")
async def test_a_stream_that_ends_and_silence_end_the_call(row: Any) -> None:
    limit = row["expected"]["values"]["max_wait_s"]
    for rules, on in (({"drop": ["greet"]}, {}), ({}, {"greet": [{"hang": True}]})):
        with HttpProcess(script_of(row, http=rules, on=on)) as process:
            # The row waits five seconds at most; a fifth of one shows the same.
            async with source_of(HttpServer(process.url), connection={"call_timeout": 0.2}) as source:
                begun = time.monotonic()
                (execution,) = (await ask(source, ("greet", {}))).tool_executions
                assert time.monotonic() - begun < limit
                assert execution.outcome is ToolOutcome.FAILED and "MCP server" in execution.result_text()


@case("MC-04")
async def test_calls_side_by_side_do_not_disturb_each_other(row: Any) -> None:
    script = script_of(row, on={"wait": [{"until_cancelled": True}]})
    script["tools"] = [*script["tools"], "wait"]
    async with source_of(script, connection={"max_concurrent_calls": 100}) as source:
        tools = await bound(source)
        cancelled = [asyncio.ensure_future(run_tool(tools["wait"])) for _ in range(10)]
        calls = [asyncio.ensure_future(run_tool(tools["echo"], {"n": number})) for number in range(90)]
        await asyncio.sleep(0.05)
        for each in cancelled:
            each.cancel()
        texts = [result.text for result in await asyncio.gather(*calls)]
        assert texts == [f'{{"n": {number}}}' for number in range(90)]
        found = await asyncio.gather(*cancelled, return_exceptions=True)
        assert {type(each) for each in found} == {asyncio.CancelledError}
        assert (await run_tool(tools["echo"], {"n": 7})).text == '{"n": 7}'


@case("MC-05")
async def test_tools_of_one_name_are_told_apart(row: Any, tmp_path: Path) -> None:
    @tool
    def open() -> str:
        """Opens."""
        return "local"

    servers = row["input"]["servers"]
    journals = {name: tmp_path / name for name in servers}
    sources = [
        source_of({"tools": tools, "journal": str(journals[name])}, name=name) for name, tools in servers.items()
    ]
    assert row["input"]["local_tools"] == ["open"]
    for source in sources:
        await source.start()

    with pytest.raises(DuplicateToolError, match=r"'search': one from .*git.*, one from .*docs"):
        await ToolService(*sources, open).chat(ScriptedChatModel([{"text": "done"}]), None, "go")

    model = calling("git_search", "docs_search", "docs_open", "open")
    result = await ToolService(*sources, open, on_clash="prefix").chat(model, None, "go")
    names = [each.name for each in model.requests[0].parameters.tools]
    assert len(set(names)) == len(names) == 4
    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.OK] * 4
    assert result.tool_executions[3].result_text() == "local"
    assert [each["params"]["name"] for each in sent(journals["git"], "tools/call")] == ["search"]
    assert sorted(each["params"]["name"] for each in sent(journals["docs"], "tools/call")) == ["open", "search"]
    for source in sources:
        await source.aclose()


@case("MC-06")
async def test_names_are_made_safe_and_map_back(row: Any, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    async with source_of(script_of(row, journal)) as source:
        tools = await source.tools(Run())
        names = named(tools)
        assert len(set(names)) == len(row["input"]["tools"])
        assert max(map(len, names)) <= row["expected"]["values"]["max_len"]
        for each in tools:
            await run_tool(each)
    async with source_of(script_of(row)) as again:
        assert named(await again.tools(Run())) == names
    own = [each["name"] for each in row["input"]["tools"]]
    assert [each["params"]["name"] for each in sent(journal, "tools/call")] == own


@case("MC-07")
async def test_all_pages_are_read(row: Any) -> None:
    with HttpProcess(script_of(row)) as process:
        async with source_of(HttpServer(process.url)) as source:
            assert named(await source.tools(Run())) == row["expected"]["values"]["tools"]


@case("MC-08")
async def test_a_cursor_that_comes_again_ends_the_listing(
    row: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = tmp_path / "journal"
    async with source_of(script_of(row, journal)) as source:
        assert named(await source.tools(Run())) == row["expected"]["values"]["tools"]
    assert len(sent(journal, "tools/list")) <= row["expected"]["values"]["max_requests"]
    assert [r.getMessage() for r in caplog.records if "same cursor" in r.getMessage()]


@case("MC-09")
@pytest.mark.parametrize("broken", [False, True], ids=["as told", "the refresh fails"])
async def test_a_notice_is_never_lost(row: Any, broken: bool) -> None:
    change = [{"notify": {"method": "notifications/tools/list_changed"}}, {"text": "ok"}]
    script = {
        "capabilities": row["input"]["capabilities"],
        "tools": ["t1"],
        "lists": [["t1"], row["expected"]["values"]["tools"]],
        "list_delay": 0.1,
        "on": {"change": change},
        **({"list_error": {"code": -32603, "message": "no list"}} if broken else {}),
    }
    async with source_of(script) as source:
        assert named(await source.tools(Run())) == ["t1"]
        await source.connection.call_tool("change")
        await asyncio.sleep(0.02)
        reading = asyncio.ensure_future(source.tools(Run()))  # the second list, which still answers t1
        await asyncio.sleep(0.03)
        await source.connection.call_tool("change")
        await reading
        model = ScriptedChatModel([{"text": "done"}])
        await ToolService(source).chat(model, None, "go")
        names = [each.name for each in model.requests[0].parameters.tools]
        assert names == (["t1"] if broken else row["expected"]["values"]["tools"])


@case("MC-11")
async def test_one_object_in_two_forms_is_sent_once(row: Any) -> None:
    async with source_of({"tools": ["t"], "on": {"t": [{"result": row["input"]["result"]}]}}) as source:
        (execution,) = (await ask(source, ("t", {}))).tool_executions
    assert execution.result_text().count("items") == row["expected"]["values"]["occurrences_of_items"]
    assert execution.result.result == row["input"]["result"]["structuredContent"]


@case("MC-15")
async def test_a_picture_is_never_told_as_text(row: Any) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "t", "arguments": "{}"}}
    asked = message("tool_calls", content=None, tool_calls=[call])
    transport = FakeTransport(asked, message(content="done"))
    async with source_of({"tools": ["t"], "on": {"t": [{"result": row["input"]["result"]}]}}) as source:
        result = await ToolService(source).chat(model_on(transport, "openai"), None, "go")
    picture = result.tool_executions[0].result.contents[1]
    assert (type(picture).__name__, picture.media_type, picture.data) == ("ImageContent", "image/png", "aGk=")
    body = json.dumps(transport.bodies[1])
    assert row["expected"]["values"]["never_contains"] not in body
    told = next(each for each in transport.bodies[1]["messages"] if each["role"] == "tool")
    assert "shot" in json.dumps(told) and "aGk=" not in str(told["content"]).replace("data:image/png;base64,aGk=", "")


@case("MC-17")
async def test_log_lines_on_standard_output_are_skipped(row: Any, caplog: pytest.LogCaptureFixture) -> None:
    lines = row["input"]["stdout_before"]
    before = [{"write": "".join(f"{line}\n" for line in lines)}]
    with caplog.at_level(logging.WARNING, "agentforge.mcp"):
        async with source_of({"tools": ["t"], "before": before}) as source:
            assert named(await source.tools(Run())) == ["t"]
    warned = [record.getMessage() for record in caplog.records if "standard output" in record.getMessage()]
    assert [text.rpartition("standard output: ")[2] for text in warned] == [line for line in lines if line]


@case("MC-20")
async def test_own_variables_are_laid_over_a_small_base(row: Any) -> None:
    given = environment_of(row["input"]["env"], (), os.environ)
    # The command of the row, found by PATH, as any other program is.
    program = script_command({"tools": ["env"], "on": {"env": [{"environment": True}]}})
    async with source_of(StdioServer(("env", *program), given)) as source:
        seen = json.loads((await run_tool((await bound(source))["env"])).text)
    assert all(name in seen for name in row["expected"]["values"]["env_has"])
    assert seen["API_KEY"] == row["input"]["env"]["API_KEY"]


@case("MC-22")
async def test_an_optional_server_that_fails_keeps_no_other_from_starting(
    row: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}/mcp"
    required = row["input"]["options"]["required"]
    # The row waits two seconds for a start and its slow server a minute; shorter times show the same.
    servers: Mapping[str, Any] = {"up": {"tools": ["t"]}, "down": HttpServer(nobody), "slow": {"mute": True}}
    sources = [
        source_of(server, name=name, required=name in required, connection={"start_timeout": 0.5})
        for name, server in servers.items()
    ]
    begun = time.monotonic()
    await asyncio.gather(*(source.start() for source in sources))
    assert time.monotonic() - begun < row["expected"]["values"]["max_wait_s"]
    assert [len(await source.tools(Run())) for source in sources] == [1, 0, 0]
    for name in ("down", "slow"):
        assert any(f"'{name}'" in record.getMessage() for record in caplog.records)
    for source in sources:
        await source.aclose()

    with pytest.raises(McpConnectionError, match="'up' did not start"):
        await source_of({"before": [{"exit": 1}]}, name="up").start()


@case("MC-23")
async def test_a_late_answer_is_dropped(row: Any) -> None:
    script = script_of(row, on={"slow": [{"sleep": 0.25}, {"text": "late"}], "fast": [{"text": "in time"}]})
    async with source_of(script, connection={"call_timeout": 0.1}) as source:
        tools = await bound(source)
        with pytest.raises(McpLostError, match="did not answer"):
            await run_tool(tools["slow"])
        await asyncio.sleep(0.2)
        assert (await run_tool(tools["fast"])).text == "in time"


@case("MC-24")
@pytest.mark.parametrize("how", ["time", "caller"])
async def test_the_server_is_told_that_nobody_waits_any_more(row: Any, how: str, tmp_path: Path) -> None:
    journal = tmp_path / "journal"
    script = script_of(row, journal, on={"slow": [{"until_cancelled": True}]})
    limit = 0.1 if how == "time" else None
    async with source_of(script, connection={"call_timeout": limit}) as source:
        call = asyncio.ensure_future(run_tool((await bound(source))["slow"]))
        await asyncio.sleep(0.15)
        call.cancel()
        assert isinstance(
            (await asyncio.gather(call, return_exceptions=True))[0], McpLostError | asyncio.CancelledError
        )
        await asyncio.sleep(0.05)
    notices = sent(journal, "notifications/cancelled")
    assert len(notices) == row["expected"]["values"]["cancel_notices"]
    assert notices[0]["params"]["requestId"] == sent(journal, "tools/call")[0]["id"]

    mute = tmp_path / "mute"
    with pytest.raises(McpConnectionError):
        await source_of({"mute": True, "journal": str(mute)}, connection={"start_timeout": 0.2}).start()
    assert sent(mute, "initialize") and not sent(mute, "notifications/cancelled")


@case("MC-26")
async def test_schemas_without_properties_are_completed(row: Any) -> None:
    async with source_of(script_of(row)) as source:
        body = await request_body(source)
    schemas = [each["function"]["parameters"] for each in body["tools"]]
    assert len(schemas) == 2
    for schema in schemas:
        assert schema["type"] == "object" and schema["properties"] == {} and "$schema" not in schema


@case("MC-27")
async def test_old_definitions_and_self_references_are_kept_whole(row: Any) -> None:
    async with source_of(script_of(row)) as source:
        body = await request_body(source)
        tree = {"root": {"kids": [{"kids": []}]}}
        assert json.loads((await run_tool((await bound(source))["t"], tree)).text) == tree
    (schema,) = [each["function"]["parameters"] for each in body["tools"]]
    references = [part.split('"')[0] for part in json.dumps(schema).split('"$ref": "')[1:]]
    assert references
    for reference in references:
        target: Any = schema
        for step in reference.removeprefix("#/").split("/"):
            target = target[step]
        assert target["type"] == "object"
