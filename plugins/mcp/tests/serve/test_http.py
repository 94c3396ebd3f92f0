"""A server over HTTP, on loopback: who is let in, real clients of both times, and what ends with it."""

from __future__ import annotations

import asyncio
import json
import logging
import socket
from collections.abc import AsyncIterator, Mapping, MutableMapping
from contextlib import asynccontextmanager
from typing import Any

import fastmcp
import httpx2
import pytest
from fastmcp.client.transports import StreamableHttpTransport
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from agentforge.errors import ConfigurationError
from agentforge.tool import tool
from agentforge.tool.execution import ToolService
from agentforge_mcp.serve import HttpOptions, McpServer
from agentforge_mcp.serve.guard import Guard
from plugins.mcp.tests.support import Stuck

TOKEN = "canary-token-90125"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


class Shop(Stuck):
    """Tools."""

    @tool(effect="read")
    def add(self, a: int, b: int) -> int:
        """Add."""
        return a + b


@asynccontextmanager
async def serving(shop: Shop | None = None, **options: Any) -> AsyncIterator[str]:
    """The address of a server that runs meanwhile."""
    settings = {"port": 0, "token": TOKEN, **options}
    max_bytes = settings.pop("max_message_bytes", 100_000)
    with ToolService(shop or Shop()) as service:
        server = McpServer(service, http=HttpOptions(**settings), max_message_bytes=max_bytes)
        ready = asyncio.get_running_loop().create_future()
        task = asyncio.create_task(server.serve_http(ready=ready.set_result))
        try:
            await asyncio.wait([ready, task], return_when=asyncio.FIRST_COMPLETED)
            yield ready.result() if ready.done() else await task  # type: ignore[misc]
        finally:
            task.cancel()
            await asyncio.wait([task])


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_the_sdks_client_calls(mode: str) -> None:
    """In both times of the protocol, side by side."""
    async with (
        serving() as url,
        httpx2.AsyncClient(headers=BEARER) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        assert [each.name for each in (await client.list_tools()).tools] == ["add", "stuck"]
        results = await asyncio.gather(*(client.call_tool("add", {"a": n, "b": 1}) for n in range(30)))
    assert [each.content[0].text for each in results] == [str(n + 1) for n in range(30)]  # type: ignore[union-attr]


async def test_another_client_calls() -> None:
    """fastmcp's, with its own way to give a token."""
    async with serving() as url, fastmcp.Client(StreamableHttpTransport(url, auth=TOKEN)) as client:
        assert (await client.call_tool("add", {"a": 1, "b": 2})).content[0].text == "3"


PORT = 8765
OUR = {"host": f"127.0.0.1:{PORT}"}
TOLD = {"authorization": f"Bearer {TOKEN}"}
OPTIONS = HttpOptions(
    token=TOKEN,
    allowed_hosts=("Desk.example.com", "other.example.com:8443"),
    allowed_origins=("https://app.example.com",),
)


async def status_of(headers: Mapping[str, str], path: str = "/mcp", options: HttpOptions = OPTIONS) -> int:
    """The status of `answer_to`."""
    return (await answer_to(headers, path, options))[0]


async def answer_to(
    headers: Mapping[str, str], path: str = "/mcp", options: HttpOptions = OPTIONS
) -> tuple[int, str, bytes | None]:
    """What a request gets before anything of it is read, in which words, and how it is told to prove itself."""
    answers: list[MutableMapping[str, Any]] = []

    async def send(message: MutableMapping[str, Any]) -> None:
        answers.append(message)

    async def receive() -> MutableMapping[str, Any]:
        raise AssertionError("the body of a refused request was read")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"status": 0})

    fields = [(name.encode(), value.encode("latin-1")) for name, value in headers.items()]
    await Guard(app, options, PORT)({"type": "http", "path": path, "headers": fields}, receive, send)
    if not answers[0]["status"]:
        return 0, "", None
    text = json.loads(answers[1]["body"])["error"]["message"]
    return int(answers[0]["status"]), text, dict(answers[0]["headers"]).get(b"www-authenticate")


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        (OUR, 401),
        (OUR | {"authorization": TOKEN}, 401),
        (OUR | {"authorization": f"Basic {TOKEN}"}, 401),
        (OUR | {"authorization": f"Bearer {TOKEN}x"}, 401),
        (OUR | {"authorization": f"Bearer {TOKEN[:-1]}"}, 401),
        (OUR | {"authorization": "Bearer "}, 401),
        (OUR | {"authorization": "Bearer \xff"}, 401),
        (OUR | {"authorization": f"Bearer {TOKEN}", "Authorization": "Bearer other"}, 401),
        (TOLD, 403),
        (TOLD | {"host": ""}, 403),
        (TOLD | {"host": "evil.test"}, 403),
        (TOLD | {"host": f"evil.test:{PORT}"}, 403),
        (TOLD | {"host": f"127.0.0.1.evil.test:{PORT}"}, 403),
        (TOLD | {"host": "127.0.0.1:1"}, 403),
        (TOLD | {"host": "127.0.0.1"}, 403),
        (TOLD | {"host": "other.example.com"}, 403),
        (TOLD | OUR | {"Host": "evil.test"}, 403),
        (TOLD | OUR | {"origin": "http://evil.test"}, 403),
        (TOLD | OUR | {"origin": "null"}, 403),
        (TOLD | OUR | {"origin": f"https://127.0.0.1:{PORT}"}, 403),
        (TOLD | OUR | {"origin": "https://app.example.com.evil.test"}, 403),
        ({"host": "evil.test"}, 403),
        (TOLD | OUR, 0),
        (OUR | {"Authorization": f"bearer   {TOKEN} "}, 0),
        (TOLD | {"host": f"localhost:{PORT}"}, 0),
        (TOLD | {"Host": f" LOCALHOST:{PORT}"}, 0),
        (TOLD | {"host": f"[::1]:{PORT}"}, 0),
        (TOLD | {"host": "desk.example.com"}, 0),
        (TOLD | {"host": "desk.example.com:8443"}, 0),
        (TOLD | {"host": "other.example.com:8443"}, 0),
        (TOLD | OUR | {"origin": f"http://localhost:{PORT}"}, 0),
        (TOLD | OUR | {"origin": "https://app.example.com"}, 0),
    ],
    ids=str,
)
async def test_who_is_let_in(headers: Mapping[str, str], status: int, caplog: pytest.LogCaptureFixture) -> None:
    """Only a request with the token, to a name of ours, from no page or one that is allowed (0: it is let in); the log
    has no token."""
    caplog.set_level(logging.DEBUG)
    assert await status_of(headers) == status
    assert TOKEN[:-1] not in caplog.text


NEEDED = (401, "a bearer token is needed", b"Bearer")
WRONG = (401, "the bearer token is not the server's", b'Bearer error="invalid_token"')


@pytest.mark.parametrize(
    ("given", "answer"),
    [
        ({}, NEEDED),
        ({"authorization": TOKEN}, NEEDED),
        ({"authorization": f"Basic {TOKEN}"}, NEEDED),
        ({"authorization": "Bearer "}, NEEDED),
        ({"authorization": f"Bearer {TOKEN}", "Authorization": "Bearer other"}, NEEDED),
        ({"authorization": f"Bearer {TOKEN}x"}, WRONG),
        ({"authorization": f"bearer {TOKEN[:-1]}"}, WRONG),
    ],
    ids=str,
)
async def test_a_missing_token_and_a_wrong_one_are_told_apart(
    given: Mapping[str, str], answer: tuple[int, str, bytes], caplog: pytest.LogCaptureFixture
) -> None:
    """In the answer and in the log, which have nothing of the token."""
    assert await answer_to({**OUR, **given}) == answer
    assert [each.getMessage() for each in caplog.records] == [f"refused a request for '/mcp': {answer[1]}"]


@pytest.mark.parametrize(
    ("path", "status"), [("/", 404), ("/mcp/../x", 404), ("/mcpx", 404), ("/x/mcp", 404), ("/mcp", 0), ("/mcp/", 0)]
)
async def test_there_is_nothing_elsewhere(path: str, status: int) -> None:
    """Than at the path of the file."""
    assert await status_of(TOLD | OUR, path) == status


@pytest.mark.parametrize(
    ("host", "name", "status"),
    [
        ("127.0.0.2", "127.0.0.2", 0),
        ("127.0.0.2", "localhost", 0),
        ("::1", "[::1]", 0),
        ("192.0.2.1", "192.0.2.1", 0),
        ("192.0.2.1", "localhost", 403),
    ],
)
async def test_the_address_it_listens_on_is_a_name_of_the_server(host: str, name: str, status: int) -> None:
    """Any of this machine's own too; loopback's other names are those of a server that listens there."""
    options = HttpOptions(host=host, token=TOKEN)
    assert await status_of(TOLD | {"host": f"{name}:{PORT}"}, options=options) == status


async def test_without_a_token_a_page_may_not_call_either() -> None:
    """Who reaches the port may, where it is meant so."""
    options = HttpOptions(insecure_no_token=True)
    assert await status_of(OUR, options=options) == 0
    assert await status_of({"host": "evil.test"}, options=options) == 403
    assert await status_of(OUR | {"origin": "http://evil.test"}, options=options) == 403


async def test_a_stranger_is_refused_by_the_real_server(caplog: pytest.LogCaptureFixture) -> None:
    """Without the token, with a wrong name, from a page; and with all as it should be the protocol itself answers."""
    caplog.set_level(logging.DEBUG)
    async with serving() as url, httpx2.AsyncClient() as http:
        for headers, status in [({}, 401), (BEARER | {"Host": "evil.test"}, 403), (BEARER | {"Origin": "null"}, 403)]:
            assert (await http.post(url, json=PING, headers=ACCEPT | headers)).status_code == status
        answer = await http.post(url, json=PING, headers=ACCEPT | BEARER)
    assert (answer.status_code, "Missing session" in answer.text) == (400, True)
    assert TOKEN not in caplog.text


@pytest.mark.parametrize("chunked", [False, True])
async def test_a_large_body_is_refused(chunked: bool) -> None:
    """Whether or not it says how large it is."""

    async def body() -> AsyncIterator[bytes]:
        for _ in range(30):
            yield b"x" * 1_000

    async with serving(max_message_bytes=20_000) as url, httpx2.AsyncClient() as http:
        content: Any = body() if chunked else b"x" * 30_000
        answer = await http.post(url, content=content, headers=ACCEPT | BEARER | {"Content-Type": "application/json"})
        assert answer.status_code == 413


async def test_its_end_ends_what_runs() -> None:
    """A call that runs is cancelled, and nobody waits long."""
    shop = Shop()
    async with httpx2.AsyncClient(headers=BEARER) as http:
        async with serving(shop) as url:
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "stuck", "arguments": {}}}
            meta = {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {},
            }
            body["params"]["_meta"] = meta  # type: ignore[index]
            headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "stuck"}
            call = asyncio.create_task(http.post(url, json=body, headers=ACCEPT | headers))
            await asyncio.wait_for(shop.begun.wait(), 5)
            begun = asyncio.get_running_loop().time()
        assert asyncio.get_running_loop().time() - begun < 3
        answered = await call
    assert shop.cancelled == 1
    assert "The call was cancelled." in answered.text


EVERYBODY = "a server over HTTP needs a token, else everybody who reaches the port can call the tools"
LOOPBACK_ALONE = (
    "a server over HTTP needs a token: insecure_no_token counts on loopback addresses alone, and the host is '0.0.0.0'"
)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"token": None}, EVERYBODY),
        ({"token": ""}, EVERYBODY),
        ({"token": None, "insecure_no_token": True, "host": "0.0.0.0"}, LOOPBACK_ALONE),
        ({"host": "0.0.0.0"}, "with host '0.0.0.0', allowed_hosts must say by which names the server is reached"),
    ],
    ids=["none", "empty", "everywhere", "nameless"],
)
async def test_without_a_token_nothing_is_served(options: dict[str, Any], said: str) -> None:
    """Unless it is said that it is meant so, and then on loopback alone; nor where no request could name the server."""
    with pytest.raises(ConfigurationError) as caught:
        async with serving(**options):
            pytest.fail("it is served")
    assert caught.value.message == said


async def test_an_address_that_cannot_be_had_is_an_error_in_words() -> None:
    """As when another program listens there, or the machine has no such address; with what to change."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        for host, said in [
            ("127.0.0.1", "another port with --port"),
            ("192.0.2.1", "with --host"),
            ("a" * 64, "--host"),
        ]:
            with pytest.raises(ConfigurationError, match=f"cannot listen on {host} port {port}: ") as caught:
                async with serving(host=host, port=port):
                    pytest.fail("it is served")
            assert said in (caught.value.next_step or "")
