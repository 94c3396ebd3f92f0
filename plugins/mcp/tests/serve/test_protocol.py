"""What a client of the protocol gets, in the same words in both of its times: the SDK's own client, in one process."""

from __future__ import annotations

import asyncio
import base64
import json
import os
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import mcp_types as types
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp.shared.exceptions import MCPError

from agentforge.errors import ConfigurationError
from agentforge.model import AudioContent, Content, FileContent, ImageContent, TextContent, ToolSpecification
from agentforge.tool import BoundTool, tool
from agentforge.tool.execution import Run, ToolContext, ToolExecutionResult, ToolService, bound_tool_from
from agentforge_mcp.serve import HttpOptions, McpServer
from agentforge_mcp.serve.content import result_of
from agentforge_mcp.serve.wire import StdioWire
from plugins.mcp.tests.support import Stuck

BOTH = pytest.mark.parametrize("mode", ["auto", "legacy"])
PNG = base64.b64encode(b"png").decode()


@dataclass
class Order:
    """What a tool may return."""

    number: str
    items: list[str]


class Shop(Stuck):
    """Tools of each effect and for each kind of result."""

    def __init__(self) -> None:
        super().__init__()
        self.waiting = 0
        self.most = 0
        self.full = asyncio.Event()

    @tool(effect="read")
    def find(self, number: str) -> Order:
        """Find an order."""
        return Order(number, ["pen"])

    @tool(effect="write")
    def pay(self, number: str, cents: int = 0) -> str:
        """Pay for an order."""
        return f"paid {number}"

    @tool
    def numbers(self) -> list[int]:
        """A list is no object."""
        return [1, 2]

    @tool
    def parts(self) -> list[Content]:
        """One part of each kind."""
        note = base64.b64encode("Grüße".encode()).decode()
        return [
            TextContent('{"not": "structured"}'),
            ImageContent(data=PNG),
            AudioContent(data=PNG, media_type="audio/mpeg"),
            FileContent(data=note, media_type="text/plain", name="note.txt"),
            FileContent(data=PNG, name="urn:report:1"),
            ImageContent(url="https://img.test/a/dot.png"),
        ]

    @tool
    async def slow(self) -> str:
        """Wait until as many are here as may be, and a little for one too many."""
        self.waiting += 1
        self.most = max(self.most, self.waiting)
        if self.waiting >= 20:
            self.full.set()
        try:
            async with asyncio.timeout(20):
                await self.full.wait()
            await asyncio.sleep(0.05)
        finally:
            self.waiting -= 1
        return "late"

    @tool
    async def steps(self, context: ToolContext) -> str:
        """Say how far it is: by numbers of its own, without, and with one that went back."""
        await context.notify("progress", "a quarter", {"progress": 25, "total": 100})
        await context.notify("note", "looking")
        await context.notify("progress", "back", {"progress": 3, "total": 100})
        return "there"


@asynccontextmanager
async def connected(mode: str, shop: Any = None, **settings: Any) -> AsyncIterator[Client]:
    """A client of a server of these tools."""
    with ToolService(shop or Shop()) as service:
        protocol = McpServer(service, name="shop", version="7", instructions="Be brief.", **settings).protocol()
        async with protocol, Client(protocol.server, mode=mode) as client:
            yield client


@BOTH
async def test_the_server_says_who_it_is(mode: str) -> None:
    """Name, version and instructions, in the version of the protocol that the client wanted."""
    async with connected(mode) as client:
        assert client.protocol_version == ("2026-07-28" if mode != "legacy" else "2025-11-25")
        assert (client.server_info.name, client.server_info.version) == ("shop", "7")
        assert client.instructions == "Be brief."
        assert client.server_capabilities.tools is not None


@BOTH
async def test_tools_are_listed_with_their_schemas_and_what_is_known_of_their_effect(mode: str) -> None:
    """A hint is given where an effect is declared, and never that a write is harmless."""
    async with connected(mode) as client:
        listed = {each.name: each for each in (await client.list_tools()).tools}
    assert listed["pay"].description == "Pay for an order."
    assert listed["pay"].input_schema["properties"]["cents"]["type"] == "integer"
    assert listed["pay"].input_schema["required"] == ["number"]
    hints = {name: each.annotations and each.annotations.model_dump(exclude_none=True) for name, each in listed.items()}
    assert hints["find"] == {"read_only_hint": True}
    assert hints["pay"] == {"read_only_hint": False}
    assert hints["numbers"] is None


@BOTH
async def test_a_result_has_its_object_where_it_is_one(mode: str) -> None:
    """An object is told as text and as structured content; anything else as text alone."""
    async with connected(mode) as client:
        found = await client.call_tool("find", {"number": "A1"})
        assert found.structured_content == {"number": "A1", "items": ["pen"]}
        assert [each.text for each in found.content] == ['{"number":"A1","items":["pen"]}']  # type: ignore[union-attr]
        assert (await client.call_tool("numbers")).structured_content is None
        assert (await client.call_tool("pay", {"number": "A1"})).structured_content is None


@BOTH
async def test_every_part_has_its_block(mode: str) -> None:
    """Images and sound as such, a file as a resource: text where it is text, else a blob; an address as a link."""
    async with connected(mode) as client:
        text, image, sound, note, report, link = (await client.call_tool("parts")).content
    assert isinstance(text, types.TextContent)
    assert (image.data, image.mime_type) == (PNG, "image/png")  # type: ignore[union-attr]
    assert (sound.data, sound.mime_type) == (PNG, "audio/mpeg")  # type: ignore[union-attr]
    assert isinstance(note, types.EmbeddedResource) and isinstance(report, types.EmbeddedResource)
    assert (note.resource.uri, note.resource.text) == ("attachment:///note.txt", "Grüße")  # type: ignore[union-attr]
    assert (report.resource.uri, report.resource.blob) == ("urn:report:1", PNG)  # type: ignore[union-attr]
    assert isinstance(link, types.ResourceLink)
    assert (link.uri, link.name) == ("https://img.test/a/dot.png", "dot.png")


@BOTH
@pytest.mark.parametrize(
    ("name", "arguments", "text"),
    [
        ("pay", {}, "the arguments of tool 'pay' do not fit: number: is required and was not given"),
        (
            "pay",
            {"number": "1", "cents": "2"},
            "the arguments of tool 'pay' do not fit: cents: an integer was",
        ),
    ],
)
async def test_arguments_that_do_not_fit_are_an_error_of_the_tool(
    mode: str, name: str, arguments: dict[str, Any], text: str
) -> None:
    """So that the client's model reads what was wrong, and can try again."""
    async with connected(mode) as client:
        result = await client.call_tool(name, arguments)
    assert result.is_error
    assert result.structured_content is None
    assert result.content[0].text.startswith(text)  # type: ignore[union-attr]


@BOTH
@pytest.mark.parametrize("name", ["nothing", "PAY", ""])
async def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(mode: str, name: str) -> None:
    """-32602, as the specification has it."""
    async with connected(mode) as client:
        with pytest.raises(MCPError, match=f"^Unknown tool: {name}$") as caught:
            await client.call_tool(name)
    assert caught.value.code == types.INVALID_PARAMS


@BOTH
async def test_a_long_list_comes_in_pages(mode: str) -> None:
    """Each tool once, in order; a cursor that is none is refused."""
    tools = [bound_tool_from(ToolSpecification(f"t{number:03}"), lambda request: "") for number in range(25)]
    async with connected(mode, tools, page_size=10) as client:
        names, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            page = await client.list_tools(cursor=cursor)
            names += [each.name for each in page.tools]
            cursor, pages = page.next_cursor, pages + 1
        assert names == [f"t{number:03}" for number in range(25)]
        assert pages == 3
        for bad in ("x", "", base64.urlsafe_b64encode(b"0:5").decode(), "é"):
            with pytest.raises(MCPError, match="Invalid cursor") as caught:
                await client.list_tools(cursor=bad)
            assert caught.value.code == types.INVALID_PARAMS


@BOTH
async def test_progress_is_told_to_those_who_asked(mode: str) -> None:
    """Its number always grows, whatever the tool says; nobody who did not ask is told."""
    told: list[tuple[float, float | None, str | None]] = []

    async def note(progress: float, total: float | None, message: str | None) -> None:
        told.append((progress, total, message))

    async with connected(mode) as client:
        await client.call_tool("steps")
        assert told == []
        result = await client.call_tool("steps", progress_callback=note)
    assert result.content[0].text == "there"  # type: ignore[union-attr]
    assert told == [(25.0, 100.0, "a quarter"), (26.0, None, "looking"), (27.0, None, "back")]


@BOTH
async def test_thirty_calls_run_side_by_side(mode: str) -> None:
    """Up to the server's bound, and each gets its own answer."""
    shop = Shop()
    async with connected(mode, shop, max_concurrent_calls=20) as client:
        slow = [client.call_tool("slow") for _ in range(30)]
        found = [client.call_tool("find", {"number": str(number)}) for number in range(30)]
        answers = await asyncio.gather(*slow, *found)
    assert [each.structured_content["number"] for each in answers[30:]] == [str(n) for n in range(30)]  # type: ignore[index]
    assert shop.most == 20


@BOTH
async def test_a_cancelled_request_cancels_its_call(mode: str) -> None:
    """The tool is told, and the connection goes on."""
    shop = Shop()
    async with connected(mode, shop) as client:
        call = asyncio.create_task(client.call_tool("stuck"))
        await shop.begun.wait()
        call.cancel()
        await asyncio.wait([call])
        for _ in range(200):
            if shop.cancelled:
                break
            await asyncio.sleep(0.005)
        assert shop.cancelled == 1
        assert not (await client.call_tool("pay", {"number": "1"})).is_error


async def test_the_end_of_the_server_ends_its_calls() -> None:
    """None of them outlives it."""
    shop = Shop()
    async with connected("legacy", shop) as client:
        call = asyncio.create_task(client.call_tool("stuck"))
        await shop.begun.wait()
    with pytest.raises(MCPError):
        await call
    assert shop.cancelled == 1


class Growing:
    """A source that gets another tool when one is called."""

    def __init__(self) -> None:
        self._all: tuple[BoundTool, ...] = (bound_tool_from(ToolSpecification("grow"), self._grow),)

    async def tools(self, run: Run) -> Sequence[BoundTool]:
        """What there is now."""
        return self._all

    def _grow(self, request: object) -> ToolExecutionResult:
        self._all = (*self._all, bound_tool_from(ToolSpecification(f"t{len(self._all)}"), lambda request: ""))
        return ToolExecutionResult.success("grown")


async def test_a_changed_list_is_told_to_those_who_listen() -> None:
    """By a stream that the client opened, in the protocol's new time."""
    async with connected("auto", Growing()) as client:
        assert client.server_capabilities.tools.list_changed  # type: ignore[union-attr]
        async with client.listen(tools_list_changed=True) as changes:
            await client.call_tool("grow")
            await asyncio.wait_for(anext(aiter(changes)), 5)
        assert [each.name for each in (await client.list_tools()).tools] == ["grow", "t1"]


async def test_a_changed_list_is_told_to_all_clients_of_the_earlier_time() -> None:
    """Unasked, as it was then; and nothing is promised where nothing can change."""
    told: list[str] = []
    changed = asyncio.Event()

    async def hear(message: Any) -> None:
        told.append(getattr(message, "method", type(message).__name__))
        changed.set()

    with ToolService(Growing()) as service:
        protocol = McpServer(service).protocol()
        async with protocol, Client(protocol.server, mode="legacy", message_handler=hear) as client:
            assert client.server_capabilities.tools.list_changed  # type: ignore[union-attr]
            await client.call_tool("grow")
            await asyncio.wait_for(changed.wait(), 5)
    assert told == ["notifications/tools/list_changed"]
    async with connected("legacy") as client:
        assert not client.server_capabilities.tools.list_changed  # type: ignore[union-attr]


async def test_a_cursor_of_another_list_is_refused() -> None:
    """Pages of two lists are not mixed: the client is told to begin anew."""
    tools = [bound_tool_from(ToolSpecification(f"t{number:03}"), lambda request: "") for number in range(5)]

    class Shrinking:
        def __init__(self) -> None:
            self.all = tuple(tools)

        async def tools(self, run: Run) -> Sequence[BoundTool]:
            return self.all

    source = Shrinking()
    async with connected("auto", source, page_size=2) as client:
        first = await client.list_tools()
        source.all = tuple(tools[1:])
        with pytest.raises(MCPError, match="the list has changed since"):
            await client.list_tools(cursor=first.next_cursor)


@BOTH
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConfigurationError("there is no such place"), "The tools could not be listed: there is no such place"),
        (ValueError("sk-canary"), "The tools could not be listed: ValueError"),
    ],
    ids=["ours", "theirs"],
)
async def test_tools_that_cannot_be_listed_are_an_error_of_the_protocol(
    mode: str, error: Exception, text: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Later than at the start; with our words, and never with those of somebody's code."""

    class Failing:
        broken = False

        async def tools(self, run: Run) -> Sequence[BoundTool]:
            if self.broken:
                raise error
            return ()

    source = Failing()
    async with connected(mode, source) as client:
        source.broken = True
        with pytest.raises(MCPError) as caught:
            await client.list_tools()
    assert (caught.value.code, caught.value.message) == (types.INTERNAL_ERROR, text)


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ConfigurationError("there is no such place"), "there is no such place"),
        (ValueError("not there"), "the tools could not be listed: ValueError: not there"),
    ],
    ids=["ours", "theirs"],
)
async def test_nothing_is_served_whose_tools_cannot_be_listed_at_the_start(error: Exception, text: str) -> None:
    """Over either way it is an error of ours, raised alone and in no group, and the address is free again."""

    class Failing:
        async def tools(self, run: Run) -> Sequence[BoundTool]:
            raise error

    async def over_http(server: McpServer) -> None:
        await server.serve_http(ready=lambda url: pytest.fail("it is served"))

    async def over_stdio(server: McpServer) -> None:
        reading, writing = os.pipe()
        try:
            await server.serve_stdio(StdioWire(reading, writing))
        finally:
            os.close(reading)
            os.close(writing)

    with ToolService(Failing()) as service:
        for serve in (over_http, over_stdio):
            with pytest.raises(ConfigurationError) as caught:
                await serve(McpServer(service, http=HttpOptions(port=0, token="long-enough")))
            assert caught.value.message == text


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(st.characters(categories=("L", "N", "P", "S", "Cs"))),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=6,
)


@settings(deadline=None)
@given(JSON, st.booleans())
@example({"": "\ud800"}, False)
@example({"": "\ud800"}, True)
def test_whatever_a_tool_gives_can_be_sent(value: object, escaped: bool) -> None:
    """Halves of characters, numbers that are none in JSON, deep and empty things: a message comes of it, and its
    structured content says what its text says."""
    made = ToolExecutionResult.success(json.dumps(value, ensure_ascii=escaped), result=value)
    sent = json.loads(result_of(made).model_dump_json(by_alias=True, exclude_none=True).encode())
    structured = sent.get("structuredContent")
    assert structured is None or structured == json.loads(sent["content"][0]["text"]) or escaped
    assert (structured is not None) is (isinstance(value, dict) and is_json(value))


def is_json(value: object) -> bool:
    """Whether JSON has words for all of it: infinities are none."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True
