"""What is made of the list that a server gives: all pages, each tool by itself, and what happens when it changes."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import time
from pathlib import Path
from typing import Any

import pytest

from agentforge import Run
from agentforge.errors import ToolArgumentsError, ToolExecutionError
from agentforge.tool import BoundTool
from agentforge.tool.execution import bound_tool_from
from agentforge_mcp.definition import DroppedTool, ServerInfo, ToolDefinition
from agentforge_mcp.listing import all_pages, definition_of, hidden_characters, listing_of, specification_of
from agentforge_mcp.pins import digest_of
from agentforge_mcp.server_view import ServerView
from agentforge_mcp.settings import McpStdioSettings
from plugins.mcp.tests.support import bound, named, run_tool, source_of

DRAFT_7 = "http://json-schema.org/draft-07/schema#"
OPEN = {"type": "object"}


def tool(name: str = "t", **more: Any) -> dict[str, Any]:
    """A definition as on the wire."""
    return {"name": name, "inputSchema": OPEN, **more}


PAGES = [
    pytest.param(
        [
            {"tools": ["t1", "t2"], "nextCursor": "p2"},
            {"tools": [], "nextCursor": "p3"},
            {"tools": ["t3"]},
        ],
        ["t1", "t2", "t3"],
        (),
        id="past an empty page",
    ),
    pytest.param(
        [{"tools": ["t1"], "nextCursor": "same"}, {"tools": ["t1"], "nextCursor": "same"}],
        ["t1"],
        ("it gave the same cursor again; the listing ends there",),
        id="a cursor that comes again",
    ),
    pytest.param([{"tools": ["t1"], "nextCursor": ""}, {"tools": ["t2"]}], ["t1", "t2"], (), id="an empty cursor"),
    pytest.param([{"tools": []}], [], (), id="no tools"),
]


@pytest.mark.parametrize(("pages", "names", "warnings"), PAGES)
async def test_all_pages_are_read_and_none_for_ever(
    pages: list[Any], names: list[str], warnings: tuple[str, ...]
) -> None:
    """A listing that goes round in a circle ends with a warning, and doubles nothing."""
    async with source_of({"pages": pages}) as source:
        assert named(await source.tools(Run())) == names
        assert source.connection.warnings == warnings


@pytest.mark.parametrize(("pages", "items", "found"), [(3, 100, 3), (50, 5, 5)])
async def test_a_listing_without_end_is_bounded(pages: int, items: int, found: int) -> None:
    """In pages and in tools."""
    asked = 0

    async def ask(cursor: str | None) -> tuple[list[int], str | None]:
        nonlocal asked
        asked += 1
        return [asked], str(asked)

    got, warnings = await all_pages(ask, max_pages=pages, max_items=items)
    assert len(got) == found and len(warnings) == 1


DEEP: dict[str, Any] = {"type": "object"}
for _ in range(80):
    DEEP = {"type": "object", "properties": {"a": DEEP}}
POISON = [
    ("no name", {"inputSchema": OPEN}, "has no name"),
    ("a name that is no text", tool(name=7), "has no name"),
    ("control characters in the name", tool("a\nb"), "control characters"),
    ("a name without end", tool("x" * 300), "more than 256 characters"),
    ("no schema", {"name": "t"}, "no input schema"),
    ("a schema that is no object", tool(inputSchema=[1]), "no input schema"),
    ("a schema of another type", tool(inputSchema={"type": "array"}), "array"),
    (
        "properties that are none",
        tool(inputSchema={"type": "object", "properties": 7}),
        "no JSON Schema|not a JSON Schema",
    ),
    (
        "a type that is none",
        tool(inputSchema={"type": "object", "properties": {"a": {"type": "strng"}}}),
        "not a JSON Schema",
    ),
    ("a reference to an address", tool(inputSchema={"type": "object", "$ref": "http://127.0.0.1:1/x"}), "not inside"),
    ("a reference to a file", tool(inputSchema={"type": "object", "$ref": "file:///etc/passwd"}), "not inside"),
    ("a reference to nothing", tool(inputSchema={"type": "object", "$ref": "#/$defs/x"}), "not there"),
    (
        "a circle",
        tool(inputSchema={"type": "object", "$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/a"}}}),
        "refers to itself",
    ),
    ("a schema too deep", tool(inputSchema=DEEP), "deeper"),
    ("a schema too large", tool(inputSchema={**OPEN, "description": "x" * 300_000}), "characters"),
    ("annotations without end", tool(annotations={"a": "x" * 300_000}), "annotations has more than"),
    ("what runs only as a task", tool(execution={"taskSupport": "required"}), "only as a task"),
    ("a description without end", tool(description="x" * 40_000), "description has more than"),
    ("a description that is no text", tool(description=["x"]), "no text"),
    ("a pattern that is none", tool(inputSchema={**OPEN, "properties": {"a": {"pattern": "("}}}), "pattern|regex"),
    ("no tool at all", "tool", "no name"),
]


@pytest.mark.parametrize(("raw", "reason"), [row[1:] for row in POISON], ids=[row[0] for row in POISON])
def test_a_definition_that_cannot_be_offered_is_dropped(raw: Any, reason: str) -> None:
    """With the reason, which stays short whatever the server wrote."""
    found = definition_of(raw)
    assert isinstance(found, DroppedTool)
    assert re.search(reason, found.reason) and len(found.reason) < 400 and len(found.name) < 100


async def test_a_poisoned_definition_costs_no_other_tool(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Over the wire too, where one bad tool would spoil the SDK's whole list."""
    poison, script = [row[1] for row in POISON if row[1] != "tool"], tmp_path / "script"
    script.write_text(json.dumps({"tools": ["first", *poison, "last"]}), "utf-8")
    with caplog.at_level(logging.WARNING, "agentforge.mcp"):
        async with source_of(script) as source:
            assert named(await source.tools(Run())) == ["first", "last"]
            assert len(source.dropped) == len(poison)
    assert sum("is left out" in record.getMessage() for record in caplog.records) == len(
        {(each.name, each.reason) for each in source.dropped}
    )


GOOD = [
    ("no properties", {"type": "object"}, {}, {"a": 1}),
    ("nothing but its draft", {"$schema": DRAFT_7}, {}, None),
    ("an empty schema", {}, {}, None),
    (
        "old definitions that refer to themselves",
        {
            "$schema": DRAFT_7,
            "type": "object",
            "properties": {"root": {"$ref": "#/definitions/Node"}},
            "definitions": {
                "Node": {
                    "type": "object",
                    "properties": {"kids": {"type": "array", "items": {"$ref": "#/definitions/Node"}}},
                }
            },
        },
        {"root": {"kids": [{"kids": []}]}},
        {"root": {"kids": [7]}},
    ),
    ("a bound", {"type": "object", "properties": {"n": {"type": "integer", "maximum": 3}}}, {"n": 3}, {"n": 4}),
    ("what is required", {"type": "object", "properties": {"n": {}}, "required": ["n"]}, {"n": None}, {}),
]


@pytest.mark.parametrize(("schema", "fits", "not_"), [row[1:] for row in GOOD], ids=[row[0] for row in GOOD])
async def test_schemas_are_kept_and_hold_before_anything_is_sent(
    schema: dict[str, Any], fits: dict[str, Any], not_: dict[str, Any] | None, tmp_path: Path
) -> None:
    """Whatever draft they are of; arguments that do not fit never reach the server."""
    journal = tmp_path / "journal"
    async with source_of({"tools": [{"name": "t", "inputSchema": schema}], "journal": str(journal)}) as source:
        made = (await bound(source))["t"]
        assert {key: made.specification.parameters.schema[key] for key in schema} == schema
        assert made.specification.parameters.schema["type"] == "object"
        assert (await run_tool(made, fits)).text
        if not_ is not None:
            with pytest.raises(ToolArgumentsError, match="do not fit"):
                await run_tool(made, not_)
    assert journal.read_text("utf-8").count('"tools/call"') == 1


@pytest.mark.parametrize(
    "pattern", ["^(a+)+$", "^(a|a)*$", "^(a|aa)+$", "([a-z]+)*@", "(x+x+)+y", "^(([a-z])+.)+[A-Z]"]
)
async def test_a_pattern_that_runs_for_ever_does_not(pattern: str) -> None:
    """Known evil ones are done at once, where a backtracking engine would take years."""
    schema = {"type": "object", "properties": {"a": {"type": "string", "pattern": pattern}}}
    found = definition_of(tool(inputSchema=schema))
    assert isinstance(found, ToolDefinition)
    made = bound_tool_from(specification_of(found, "t"), lambda request: "")
    begun = time.monotonic()
    with pytest.raises(ToolArgumentsError, match="a: a text of the form"):
        made.bind({"a": "a" * 5_000 + "!"})
    assert time.monotonic() - begun < 5


HIDDEN = [
    ("plain text", "Reads a file. Größe, 名前, ⚠️", ()),
    ("a zero width space", "a\u200bb", ("U+200B",)),
    ("text that runs backwards", "a\u202eb", ("U+202E",)),
    ("tags", "a\U000e0041\U000e0042", ("U+E0041", "U+E0042")),
]


@pytest.mark.parametrize(("text", "found"), [row[1:] for row in HIDDEN], ids=[row[0] for row in HIDDEN])
async def test_hidden_characters_are_flagged(text: str, found: tuple[str, ...]) -> None:
    """The tool is offered all the same; whoever runs the program is warned."""
    made = definition_of(tool(description=text))
    assert isinstance(made, ToolDefinition)
    assert hidden_characters(text) == found
    assert bool(made.flags) is bool(found)


NAMES = ["get.item", "get/item", "x" * 70, "x" * 70 + "y", "名前", "ok"]


async def test_names_are_made_safe_and_the_own_name_goes_on_the_wire(tmp_path: Path) -> None:
    """Each maps back to its own; two that clean up alike stay apart; the same names come out every time."""
    journal = tmp_path / "journal"
    async with source_of({"tools": NAMES, "journal": str(journal)}) as source:
        tools = await source.tools(Run())
        names = named(tools)
        assert len(set(names)) == len(NAMES) and all(len(name) <= 64 and name.isascii() for name in names)
        assert [each.origin.name for each in tools if each.origin is not None] == NAMES
        for each in tools:
            await run_tool(each)
        await source.refresh()
        assert named(await source.tools(Run())) == names
    sent = [line for line in journal.read_text("utf-8").splitlines() if '"tools/call"' in line]
    assert [json.loads(line)["params"]["name"] for line in sent] == NAMES


def seen(source: Any) -> ToolDefinition:
    """Its one definition."""
    (found,) = source.definitions
    assert isinstance(found, ToolDefinition)
    return found


async def test_where_a_tool_comes_from_is_kept() -> None:
    """Server, version, own name, hints and digest; the trust level for policies; nothing of it lowers a policy."""
    hints = {"readOnlyHint": True, "destructiveHint": False}
    async with source_of({"tools": [tool("get.it", annotations=hints)], "name": "desk"}, trust="trusted") as source:
        (made,) = await source.tools(Run())
        origin = made.origin
        assert origin is not None and origin.digest == digest_of(seen(source))
        assert (origin.kind, origin.server, origin.version, origin.name) == ("mcp", "desk", "1.0", "get.it")
        assert origin.annotations == hints and made.effect is None
        assert made.specification.metadata["trust"] == "trusted" and made.source_name == "scripted"


EFFECTS = {"*": "write", "get_*": "read", "delete_*": "read", "delete_all": "write"}


async def test_effects_are_what_the_file_says() -> None:
    """By own name or pattern, of which the last that fits decides; serial keys likewise by pattern."""
    names = ["get_it", "delete_all", "other"]
    async with source_of({"tools": names}, effects=EFFECTS, serial=("get_*",)) as source:
        tools = await source.tools(Run())
        assert [each.effect for each in tools] == ["read", "write", "write"]
        assert [each.serial is not None for each in tools] == [True, False, False]


UNSAFE = ["get.item", "a[1]", "ok"]
BY_NAME = [
    ({"except": ["get.item"]}, ["a_1", "ok"]),
    ({"except": ["get_item"]}, ["a_1", "ok"]),
    ({"except": ["get.*"]}, ["a_1", "ok"]),
    ({"without": ["a[1]"]}, ["get_item", "ok"]),
    ({"only": ["get.item", "ok"]}, ["get_item", "ok"]),
    ({"only": ["get_*"]}, ["get_item"]),
    ({"rename": {"get.item": "look"}}, ["look", "a_1", "ok"]),
    ({"rename": {"get_item": "look"}}, ["look", "a_1", "ok"]),
    ({"describe": {"a[1]": "Looks."}}, ["get_item", "a_1", "ok"]),
]


async def test_a_tool_is_named_by_its_own_name_or_by_what_that_was_made() -> None:
    """In every setting: what keeps a tool out by its own name keeps it out, whatever it is called here."""
    async with source_of({"tools": UNSAFE}) as source:
        tools = await source.tools(Run())
    for view, names in BY_NAME:
        seen = ServerView(McpStdioSettings.model_validate({"command": ["x"], **view}), "desk")(tools)
        assert named(seen) == names, view
        if "describe" in view:
            assert [each.specification.description for each in seen] == ["", "Looks.", ""]
    effects = {"get.item": "read", "a_1": "write"}
    async with source_of({"tools": UNSAFE}, effects=effects, serial=("a[1]",)) as source:
        tools = await source.tools(Run())
    assert [each.effect for each in tools] == ["read", "write", None]
    assert [each.serial is not None for each in tools] == [False, True, False]


FILTERS = [
    ("by name", lambda tool, server: tool.name.startswith("a"), ["a1", "a2"]),
    ("by server", lambda tool, server: server.name == "desk", ["a1", "a2", "b"]),
    ("by both", lambda tool, server: tool.name == "b" and server.name == "desk", ["b"]),
    ("none", lambda tool, server: False, []),
    ("one that fails", lambda tool, server: 1 / (tool.name != "b"), ["a1", "a2"]),
]


@pytest.mark.parametrize(("choose", "names"), [row[1:] for row in FILTERS], ids=[row[0] for row in FILTERS])
async def test_a_filter_says_what_is_offered(choose: Any, names: list[str]) -> None:
    """It sees the definition and the server; where it fails the tool is left out."""
    async with source_of({"tools": ["a1", "a2", "b"], "name": "desk"}, filter=choose) as source:
        assert named(await source.tools(Run())) == names


CHANGED = {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"}


async def test_a_list_that_changed_is_read_before_it_is_next_offered() -> None:
    """And one that did not stays the same object, over as many rounds as there are."""
    script = {
        "tools": ["t1", "change"],
        "lists": [["t2", "change"]],
        "on": {"change": [{"notify": {"method": "notifications/tools/list_changed"}}, {"text": "ok"}]},
    }
    async with source_of(script) as source:
        first = await source.tools(Run())
        assert await source.tools(Run()) is first is source.known_tools()
        await run_tool(first[1])
        await asyncio.sleep(0.02)
        second = await source.tools(Run())
        assert named(second) == ["t2", "change"]
        assert second[1] is first[1], "a tool that is as it was stays the same object"
        await source.refresh()
        assert await source.tools(Run()) is second


async def test_a_notice_while_the_list_is_read_leads_to_one_more_reading() -> None:
    """So that no change is lost between the answer and the notice."""
    script = {
        "tools": ["t1", "change"],
        "lists": [["t1", "change"], ["t2", "change"]],
        "list_delay": 0.1,
        "on": {"change": [{"notify": {"method": "notifications/tools/list_changed"}}, {"text": "ok"}]},
    }
    async with source_of(script) as source:
        assert named(await source.tools(Run())) == ["t1", "change"]
        reading = asyncio.ensure_future(source.refresh())
        await asyncio.sleep(0.03)
        await source.connection.call_tool("change")
        await reading
        assert named(await source.tools(Run())) == ["t2", "change"]


async def test_a_refresh_that_fails_keeps_the_old_list(caplog: pytest.LogCaptureFixture) -> None:
    """It is told, and tried again after a while, not at every request."""
    script = {
        "tools": ["t1", "change"],
        "list_error": {"code": -32603, "message": "no list today"},
        "on": {"change": [{"notify": {"method": "notifications/tools/list_changed"}}, {"text": "ok"}]},
    }
    async with source_of(script) as source:
        first = await source.tools(Run())
        await source.connection.call_tool("change")
        await asyncio.sleep(0.02)
        assert await source.tools(Run()) is first
        assert await source.tools(Run()) is first
    assert [record.getMessage() for record in caplog.records] == [
        "the MCP server 'scripted' refused tools/list: no list today (-32603); the last list of its tools stays"
    ]


async def test_the_newest_version_tells_of_changes_too() -> None:
    """There a server tells those who asked for it."""
    script = {
        "modern": True,
        "tools": ["t1", "change"],
        "lists": [["t1", "change"], ["t2", "change"]],
        "on": {"change": [{"notify": {"method": "notifications/tools/list_changed"}}, {"text": "ok"}]},
    }
    async with source_of(script) as source:
        await asyncio.sleep(0.05)  # until it is asked for
        first = await source.tools(Run())
        assert named(first) == ["t1", "change"]
        await source.connection.call_tool("change")
        await asyncio.sleep(0.05)
        assert named(await source.tools(Run())) == ["t2", "change"]


async def test_a_list_that_can_not_be_offered_under_these_names_keeps_the_old_one() -> None:
    """A server cannot break a run, nor take a name, by a tool of the name that the file gave to another."""
    view = ServerView(McpStdioSettings(command=("x",), rename={"read": "look"}), "desk")
    async with source_of({"tools": ["read"], "lists": [["read", "look"]]}, view=view) as source:
        first = await source.tools(Run())
        source._changed()
        assert await source.tools(Run()) is first and named(first) == ["look"]
        assert source.last_failure is not None and "two tools get the name 'look'" in str(source.last_failure)


STALE = [
    ("gone", [[]], "does not offer it any more"),
    ("changed", [[tool("t1", description="now something else")]], "changed it since it was offered"),
]


@pytest.mark.parametrize(("lists", "why"), [row[1:] for row in STALE], ids=[row[0] for row in STALE])
async def test_a_tool_that_is_another_one_by_now_is_not_called(lists: Any, why: str, tmp_path: Path) -> None:
    """The list is read again once, and the model is told clearly."""
    journal = tmp_path / "journal"
    async with source_of({"tools": ["t1"], "lists": lists, "journal": str(journal)}) as source:
        offered: BoundTool = (await bound(source))["t1"]
        source._changed()
        with pytest.raises(ToolExecutionError, match=f"'t1' was not called: the MCP server 'scripted' {why}"):
            await run_tool(offered)
    assert "tools/call" not in journal.read_text("utf-8")


UNKNOWN = [
    ("by a protocol error", {"error": {"code": -32602, "message": "Unknown tool: t1"}}),
    ("in the result", {"result": {"content": [{"type": "text", "text": "Unknown tool: t1"}], "isError": True}}),
    ("tool not found", {"result": {"content": [{"type": "text", "text": "Tool t1 not found"}], "isError": True}}),
]


@pytest.mark.parametrize("action", [row[1] for row in UNKNOWN], ids=[row[0] for row in UNKNOWN])
async def test_a_tool_that_its_server_does_not_know_any_more_is_looked_up_once(
    action: dict[str, Any], tmp_path: Path
) -> None:
    """Though no change was told."""
    journal = tmp_path / "journal"
    script = {"tools": ["t1"], "lists": [["other"]], "on": {"t1": [action]}, "journal": str(journal)}
    async with source_of(script) as source:
        with pytest.raises(ToolExecutionError, match="does not offer it any more"):
            await run_tool((await bound(source))["t1"])
        assert named(await source.tools(Run())) == ["other"]
    assert journal.read_text("utf-8").count('"tools/list"') == 2


def test_of_two_tools_of_one_name_the_first_counts() -> None:
    """The same one twice is no fault."""
    found = [tool("a", description="1"), tool("a", description="2"), tool("b"), tool("b")]
    listing = listing_of([definition_of(each) for each in found])
    assert [(each.name, each.description) for each in listing.tools] == [("a", "1"), ("b", "")]
    assert listing.dropped == (DroppedTool("a", "another tool of this name was listed before"),)


def test_a_server_describes_itself_in_plain_values() -> None:
    """Values that can be compared."""
    assert ServerInfo("a", "1") == ServerInfo("a", "1") != ServerInfo("a", "2")
