"""Tools that are a document at an address: which answers are read, which refused; a server that comes and goes."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import Any, Self

import pytest

from agentforge import AgentForge, Run, ToolOutcome
from agentforge.client import ChatClient
from agentforge.errors import ConfigurationError
from agentforge.testing.loopback import Connection, HttpCall, LoopbackServer
from agentforge.tool import RefreshingTools

PING = {"name": "ping", "description": "Ping.", "effect": "read"}
PONG = {"name": "pong", "description": "Pong.", "parameters": {"type": "object", "properties": {}}, "timeout": "2s"}


class Registry:
    """A server of one document; ``answer`` is what it says now, ``calls`` what it was asked."""

    def __init__(self) -> None:
        self.server = LoopbackServer(self._serve)
        self.calls: list[HttpCall] = []
        self.say([PING])

    def say(self, content: Any, kind: str = "application/json", status: int = 200, **headers: str) -> None:
        """Answer with this from now on; what is no text becomes JSON."""
        text = content if isinstance(content, str) else json.dumps(content)
        self.answer: Any = (status, {"content-type": kind, **headers}, text.encode())

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.port}/tools"

    async def __aenter__(self) -> Self:
        await self.server.__aenter__()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.server.__aexit__()

    async def _serve(self, call: HttpCall, connection: Connection) -> None:
        self.calls.append(call)
        if self.answer == "reset":
            connection.reset()
        elif self.answer == "stall":
            await connection.stall()
        elif call.headers.get("if-none-match") == self.answer[1].get("etag", "none"):
            await connection.send(304, {}, b"")
        else:
            await connection.send(*self.answer)


def app_of(url: str, *turns: Any, environment: Mapping[str, str] | None = None, **settings: Any) -> AgentForge:
    """A client whose tools are those at the address."""
    beans = {
        "runner": lambda request: f"{request.name} ran",
        "data": {"type": "refreshing_tools", "executor": "runner", "url": url, **settings},
        "model": {"type": "scripted", "turns": list(turns) or ["Done."]},
        "client": {
            "type": "chat_client",
            "model": "model",
            "tools": ["data"],
            "error_handlers": {"unknown_tool": "list_known_tools"},
        },
    }
    return AgentForge.from_mapping({"beans": beans}, environment=environment or {})


async def names(source: RefreshingTools) -> list[str]:
    return [each.name for each in await source.tools(Run())]


async def test_a_client_lives_with_a_server_that_changes_its_mind_breaks_and_comes_back() -> None:
    """It offers the last good set all the time."""
    async with Registry() as registry:
        call = [{"calls": [{"name": "ping"}, {"name": "pong"}]}, "Done."]
        unknown, ok = ToolOutcome.UNKNOWN_TOOL, ToolOutcome.OK
        async with app_of(registry.url, *(call * 4)) as app:
            client, source = app.get(ChatClient), app.get(RefreshingTools)

            async def outcomes() -> list[ToolOutcome]:
                return [each.outcome for each in (await client.prompt("go").call()).tool_executions]

            assert await outcomes() == [ok, unknown]
            registry.say([PING, PONG])
            assert await source.refresh()
            assert await outcomes() == [ok, ok]
            for broken in ("reset", (500, {}, b"no"), (200, {"content-type": "application/json"}, b"[{")):
                registry.answer = broken
                with pytest.raises(ConfigurationError):
                    await source.refresh()
            assert await outcomes() == [ok, ok]
            registry.say([PONG])
            assert await source.refresh()
            assert await outcomes() == [unknown, ok]


ANSWERS: dict[str, tuple[Any, str, str]] = {
    "a list": ([PING, PONG], "application/json", ""),
    "a mapping": ({"tools": [PING, PONG], "version": 3}, "application/json; charset=utf-8", ""),
    "JSON of another name": ([PING, PONG], "application/vnd.tools+json", ""),
    "JSON with a mark at its beginning": ("\ufeff" + json.dumps([PING, PONG]), "application/json", ""),
    "JSON with tabs": (json.dumps([PING, PONG], indent="\t"), "application/json", ""),
    "JSON that is told by its address": ([PING, PONG], "text/plain", "/tools.json"),
    "JSON that is told by its beginning": ([PING, PONG], "text/plain", ""),
    "YAML": ("- {name: ping}\n- {name: pong}\n", "application/yaml", ""),
    "YAML of another name": ("tools:\n- {name: ping}\n- {name: pong}\n", "text/x-yaml", ""),
    "YAML that is told by its address": ("[{name: ping}, {name: pong}]", "text/plain", "/tools.yml?of=shop"),
    "YAML that is told by its beginning": ("- name: ping\n- name: pong\n", "application/octet-stream", ""),
}


@pytest.mark.parametrize(("content", "kind", "way"), ANSWERS.values(), ids=ANSWERS)
async def test_a_document_is_a_list_of_tools_in_json_or_yaml(content: Any, kind: str, way: str) -> None:
    async with Registry() as registry:
        registry.say(content, kind)
        async with app_of(registry.url + way) as app:
            assert await names(app.get(RefreshingTools)) == ["ping", "pong"]


async def test_a_tool_of_a_document_says_all_that_one_of_a_file_can() -> None:
    async with Registry() as registry:
        registry.say([{**PONG, "serial": "till", "sequential": True, "metadata": {"team": "till"}}])
        async with app_of(registry.url) as app:
            [tool] = await app.get(RefreshingTools).tools(Run())

        assert (tool.timeout, tool.serial, tool.sequential, tool.source_name) == (2.0, "till", True, "data")
        assert dict(tool.specification.metadata) == {"team": "till"}


async def test_the_headers_are_sent() -> None:
    async with Registry() as registry:
        headers = {"Authorization": "Bearer ${secret:TOKEN}", "accept": "application/json"}
        async with app_of(registry.url, environment={"TOKEN": "t0ps3cret"}, headers=headers):
            pass
        [call] = registry.calls
        assert (call.method, call.headers["authorization"], call.headers["accept"]) == (
            "GET",
            "Bearer t0ps3cret",
            "application/json",
        )


async def test_what_did_not_change_is_not_sent_again() -> None:
    """A change is, and what is told of it the next time is its own."""
    async with Registry() as registry:
        registry.say([PING], etag='"one"')
        async with app_of(registry.url) as app:
            source = app.get(RefreshingTools)
            before = await source.tools(Run())
            assert not await source.refresh()
            assert await source.tools(Run()) is before
            registry.say([PONG], etag='"two"')
            assert await source.refresh()
            assert not await source.refresh()
            registry.say([PING])
            assert await source.refresh()
            assert not await source.refresh()

        asked = [call.headers.get("if-none-match") for call in registry.calls]
        assert asked == [None, '"one"', '"one"', '"two"', '"two"', None]


WRONG: dict[str, tuple[Any, str]] = {
    "no JSON": ((200, {"content-type": "application/json"}, b"[{"), "the answer is not JSON: "),
    "no number": (
        (200, {"content-type": "application/json"}, b'[{"name": "a", "timeout": NaN}]'),
        "the answer is not JSON: NaN is no JSON",
    ),
    "JSON without an end": ((200, {"content-type": "application/json"}, b"[" * 100_000), "the answer is not JSON: "),
    "a text": ((200, {"content-type": "application/json"}, b'"tools"'), "the answer holds no list of tools"),
    "a mapping without tools": ((200, {"content-type": "application/json"}, b'{"tool": []}'), "holds no list of tools"),
    "no text": ((200, {"content-type": "application/json"}, b"[\xff]"), "the answer is not UTF-8"),
    "a page": ((200, {"content-type": "text/html"}, b"<!doctype html>"), "holds no list of tools"),
    "nothing": ((200, {}, b""), "holds no list of tools"),
    "broken YAML": ((200, {"content-type": "application/yaml"}, b"- {name: a\n"), "/tools:"),
    "a tool that does not fit, in YAML": (
        (200, {"content-type": "application/yaml"}, b"- name: a\n- nme: b\n  name: b\n"),
        "/tools:2:3)",
    ),
    "a tool that does not fit": (
        (200, {"content-type": "application/json"}, b'[{"name": "a"}, {"name": "b", "efect": "read"}]'),
        "tool 2 ('b') does not fit: efect: Extra inputs are not permitted",
    ),
    "a tool that is none": ((200, {"content-type": "application/json"}, b'["a"]'), "tool 1 is no object"),
    "none": ((200, {"content-type": "application/json"}, b"[]"), "there are none"),
    "one too many": (
        (200, {"content-type": "application/json"}, json.dumps([{"name": f"t{n}"} for n in range(4)]).encode()),
        "there are more than 3",
    ),
    "one that is too large": (
        (200, {"content-type": "application/json"}, b"[" + b" " * 300_000 + b"]"),
        "is larger than 200000 bytes",
    ),
    "not there": ((404, {}, b"<h1>none"), "the answer has the status 404"),
    "not allowed": ((401, {}, b""), "the answer has the status 401"),
    "somewhere else": ((302, {"location": "http://127.0.0.1/other"}, b""), "the answer has the status 302"),
    "unchanged although nobody asked": ((304, {}, b""), "the answer has the status 304"),
    "a broken server": ((503, {"retry-after": "60"}, b""), "the answer has the status 503"),
    "a connection that breaks": ("reset", "the connection to "),
}


@pytest.mark.parametrize(("answer", "message"), WRONG.values(), ids=WRONG)
async def test_an_answer_that_is_no_document_is_told_at_the_start(answer: Any, message: str) -> None:
    """Once, without trying again."""
    async with Registry() as registry:
        registry.answer = answer
        with pytest.raises(ConfigurationError, match="the tools of 'data' could not be loaded") as caught:
            async with app_of(registry.url, max_tools=3, max_body_bytes=200_000):
                pass

        assert message in caught.value.message and caught.value.next_step
        assert len(registry.calls) == 1


async def test_a_server_that_says_nothing_is_waited_for_no_longer_than_it_may() -> None:
    async with Registry() as registry:
        registry.answer = "stall"
        with pytest.raises(ConfigurationError, match="could not be loaded"):
            async with app_of(registry.url, timeout="50ms"):
                pass


async def test_no_server_is_told_with_its_address() -> None:
    async with Registry() as registry:
        url = registry.url
    with pytest.raises(ConfigurationError, match=f"could not connect to .*GET {url}"):
        async with app_of(url):
            pass


async def test_no_secret_is_told(caplog: pytest.LogCaptureFixture) -> None:
    """Neither of the headers, where the server says them again, nor of the query of the address."""
    async with Registry() as registry:
        registry.say([PING])
        settings = {"headers": {"x-key": "${secret:KEY}"}}
        async with app_of(f"{registry.url}?key=0123456789", environment={"KEY": "hunter22"}, **settings) as app:
            source = app.get(RefreshingTools)
            for content in ([{"name": "hunter22", "x": 1}], '["hunter22', [{"name": "hunter22"}] * 2):
                registry.say(content)
                with pytest.raises(ConfigurationError) as caught:
                    await source.refresh()
                assert "hunter22" not in str(caught.value) and "0123456789" not in str(caught.value)

        assert len(caplog.messages) == 3
        assert "hunter22" not in caplog.text and "0123456789" not in caplog.text


async def test_the_connections_are_closed_with_the_application() -> None:
    async with Registry() as registry:
        async with app_of(registry.url):
            assert registry.server.open_connections == 1
        async with asyncio.timeout(10):
            while registry.server.open_connections:  # noqa: ASYNC110  (the server has to notice it, too)
                await asyncio.sleep(0)
