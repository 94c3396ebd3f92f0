"""Servers behind an address: sessions that are forgotten, streams that end, redirects, credentials, bounds."""

from __future__ import annotations

import asyncio
import base64
import json
import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import trustme

from agentforge import Run
from agentforge_mcp.connection import McpConnection
from agentforge_mcp.errors import McpConnectionError, McpLostError, McpRequestError
from agentforge_mcp.options import HttpServer, McpOptions, OAuthClient
from plugins.mcp.tests.support import HttpProcess, ask, bound, named, run_tool, source_of


@pytest.fixture(scope="module")
def plain() -> Iterator[HttpProcess]:
    """A server without faults."""
    script = {"tools": ["echo", "big"], "on": {"big": [{"repeat": ["x", 200_000]}]}}
    with HttpProcess(script) as process:
        yield process


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize("stream", [False, True], ids=["JSON", "events"])
async def test_tools_behind_an_address_are_called(modern: bool, stream: bool) -> None:
    """Answered as JSON or as a stream of events, in the newest version and in earlier ones."""
    with HttpProcess({"tools": ["echo"], "modern": modern, "http": {"stream": stream}}) as process:
        async with source_of(HttpServer(process.url)) as source:
            info = source.connection.server_info
            assert info is not None and info.protocol == ("2026-07-28" if modern else "2025-11-25")
            assert (await run_tool((await bound(source))["echo"], {"n": 1})).text == '{"n": 1}'


async def test_a_session_that_the_server_forgot_is_made_anew_once() -> None:
    """The call that met it is made again: the server says that it never took it."""
    with HttpProcess({"tools": ["echo"], "http": {"sessions": True, "forget": 2}}) as process:
        async with source_of(HttpServer(process.url)) as source:
            tool = (await bound(source))["echo"]
            assert [(await run_tool(tool, {"n": n})).text for n in range(3)] == [f'{{"n": {n}}}' for n in range(3)]
            assert source.connection.restarts == 1


async def test_a_stream_that_ends_without_an_answer_leaves_the_call_in_doubt() -> None:
    """At once, and no other call is disturbed."""
    with HttpProcess({"tools": ["greet", "ok"], "http": {"drop": ["greet"]}}) as process:
        async with source_of(HttpServer(process.url), effects={"greet": "write"}) as source:
            begun = time.monotonic()
            result = await ask(source, ("greet", {}), ("ok", {"n": 1}))
            assert time.monotonic() - begun < 5
            assert [each.outcome.name for each in result.tool_executions] == ["IN_DOUBT", "OK"]


async def test_silence_ends_at_the_time_of_a_call() -> None:
    """Nothing waits without end."""
    with HttpProcess({"tools": ["hang"], "on": {"hang": [{"hang": True}]}}) as process:
        async with source_of(HttpServer(process.url), connection={"call_timeout": 0.2}) as source:
            with pytest.raises(McpLostError, match=r"did not answer the call of 'hang' within 0.2 s"):
                await run_tool((await bound(source))["hang"])


def unused() -> int:
    """A port on which nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


async def test_an_address_where_nobody_is_says_so() -> None:
    """At once, with what to do."""
    server = HttpServer(f"http://127.0.0.1:{unused()}/mcp?key=sk-canary-1")
    with pytest.raises(McpConnectionError, match=r"'mcp' at \S+ did not start: nothing listens there\n") as caught:
        await McpConnection(server, McpOptions(start_timeout=3.0)).start()
    assert f" at {server.url.partition('?')[0]} did" in caught.value.message
    assert "canary" not in str(caught.value) and "whether the server runs" in str(caught.value.next_step)


PLACES = [
    ("404 Not Found", "did not start: it answered HTTP 404 Not Found\n"),
    ("405 Method Not Allowed", "did not start: it answered HTTP 405 Method Not Allowed\n"),
    ("200 OK", "did not start: it answered with a web page: it is text/html and not JSON: <html>"),
]


@pytest.mark.parametrize(("status", "message"), PLACES, ids=[row[0] for row in PLACES])
async def test_an_address_of_something_else_says_what_it_answered(
    status: str, message: str, caplog: pytest.LogCaptureFixture
) -> None:
    """With the path that servers often have; nothing else is logged of it as an error."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        head = f"HTTP/1.1 {status}\r\nContent-Type: text/html\r\nConnection: close\r\n\r\n"
        writer.write(f"{head}<html>hi</html>".encode())
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as web:
        url = f"http://127.0.0.1:{web.sockets[0].getsockname()[1]}/here"
        with pytest.raises(McpConnectionError, match=message) as caught:
            await McpConnection(HttpServer(url), McpOptions(start_timeout=3.0)).start()
    assert f" at {url} " in caught.value.message and "often /mcp" in str(caught.value.next_step)
    assert not [each for each in caplog.records if each.levelname == "ERROR"]


@pytest.mark.parametrize(
    ("where", "hits"),
    [("http://127.0.0.1:1/elsewhere", 1), ("/mcp", 4)],
    ids=["to another origin", "round in a circle"],
)
async def test_redirects_are_followed_three_times_within_the_origin(where: str, hits: int, tmp_path: Path) -> None:
    """What was configured for one origin goes to no other; the error names where it led."""
    seen = tmp_path / "hits"
    with HttpProcess({"tools": [], "http": {"redirect": where, "hits": str(seen)}}) as process:
        server = HttpServer(process.url, token="sk-canary-token")
        with pytest.raises(McpConnectionError, match=r"Redirect to http://127\.0\.0\.1:\d+/\w+ not followed") as caught:
            await McpConnection(server, McpOptions(protocol="2025-11-25", start_timeout=3.0)).start()
    assert int(seen.read_text("utf-8")) == hits and "sk-canary" not in str(caught.value)


async def test_credentials_that_are_refused_are_named_as_that() -> None:
    """Without them in the words."""
    with HttpProcess({"tools": [], "http": {"token": "right"}}) as process:
        connection = McpConnection(HttpServer(process.url, token="sk-canary-wrong"), name="desk")
        with pytest.raises(McpConnectionError, match=r"'desk' .*refused the credentials \(HTTP 401\)") as caught:
            await connection.start()
    assert "sk-canary" not in str(caught.value)


async def test_certificates_are_checked_and_a_file_of_others_can_be_trusted(tmp_path: Path) -> None:
    """A file that is not there is named."""
    authority = trustme.CA()
    bundle, certificate = tmp_path / "ca.pem", tmp_path / "server.pem"
    authority.cert_pem.write_to_path(str(bundle))
    authority.issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(str(certificate))
    with HttpProcess({"tools": ["echo"], "http": {"certificate": str(certificate)}}) as process:
        url = process.url.replace("http:", "https:")
        async with source_of(HttpServer(url, ca_bundle=str(bundle))) as source:
            assert named(await source.tools(Run())) == ["echo"]
        with pytest.raises(McpConnectionError, match=r"certificate|CERTIFICATE"):
            await source_of(HttpServer(url)).start()
        with pytest.raises(McpConnectionError, match="No such file"):
            await source_of(HttpServer(url, ca_bundle=str(tmp_path / "none.pem"))).start()


class Tokens:
    """A token provider that gives another token each time."""

    def __init__(self, *tokens: str) -> None:
        self.tokens = list(tokens)

    async def token(self) -> str:
        return self.tokens.pop(0) if len(self.tokens) > 1 else self.tokens[0]


@pytest.mark.parametrize("token", ["right-token", Tokens("old-token", "right-token")], ids=["a text", "a provider"])
async def test_a_token_is_sent_and_a_provider_asked_again_where_it_is_refused(token: Any) -> None:
    """Once."""
    with HttpProcess({"tools": ["echo"], "http": {"token": "right-token"}}) as process:
        async with source_of(HttpServer(process.url, token=token)) as source:
            assert named(await source.tools(Run())) == ["echo"]


async def test_a_client_of_oauth_gets_its_token_from_the_issuer_that_the_file_names(tmp_path: Path) -> None:
    """With its own credentials, once for the whole connection."""
    asked = tmp_path / "asked"
    with HttpProcess({"tools": ["echo"], "http": {"token": "right-token", "oauth": str(asked)}}) as process:
        issuer = process.url.removesuffix("/mcp")
        oauth = OAuthClient("desk", "sk-canary-secret", issuer)
        async with source_of(HttpServer(process.url, oauth=oauth)) as source:
            assert (await run_tool((await bound(source))["echo"], {"n": 1})).text == '{"n": 1}'
    ((authorization, body),) = [json.loads(line) for line in asked.read_text("utf-8").splitlines()]
    assert base64.b64decode(authorization.removeprefix("Basic ")).decode() == "desk:sk-canary-secret"
    assert "grant_type=client_credentials" in body


async def test_credentials_are_sent_to_no_other_issuer(tmp_path: Path) -> None:
    """Whatever authorization server the MCP server leads to."""
    asked = tmp_path / "asked"
    with HttpProcess({"tools": ["echo"], "http": {"token": "right-token", "oauth": str(asked)}}) as process:
        oauth = OAuthClient("desk", "sk-canary-secret", "https://login.example.com")
        with pytest.raises(McpConnectionError) as caught:
            await source_of(HttpServer(process.url, oauth=oauth)).start()
    assert not asked.exists() and "sk-canary" not in str(caught.value)


async def test_an_answer_larger_than_is_allowed_is_not_read(plain: HttpProcess) -> None:
    """The others are."""
    options = {"max_message_bytes": 100_000}
    async with source_of(HttpServer(plain.url), connection=options) as source:
        tools = await bound(source)
        with pytest.raises(McpLostError, match="cannot be read: the answer has more than 100,000 bytes"):
            await run_tool(tools["big"])
        assert (await run_tool(tools["echo"], {"n": 1})).text == '{"n": 1}'


@pytest.mark.parametrize(
    ("rules", "why"),
    [({"cut": True}, "the connection ended"), ({"unasked": "gzip"}, "a compressed answer that nobody asked for")],
)
async def test_an_answer_that_cannot_be_read_leaves_a_write_in_doubt(rules: dict[str, Any], why: str) -> None:
    """It was asked, and may have acted; the connection goes on."""
    with HttpProcess({"tools": ["t"], "http": rules}) as process:
        async with source_of(HttpServer(process.url), effects={"t": "write"}) as source:
            with pytest.raises(McpLostError, match=f"cannot be read: .*{why}"):
                await run_tool((await bound(source))["t"])
            (execution,) = (await ask(source, ("t", {}))).tool_executions
            assert execution.outcome.name == "IN_DOUBT"
            assert source.connection.restarts == 0


async def test_a_server_that_went_away_is_asked_again_at_the_next_use() -> None:
    """A call meanwhile fails at once, and says that it was not sent."""
    process = HttpProcess({"tools": ["echo"]})
    async with source_of(HttpServer(process.url)) as source:
        tool = (await bound(source))["echo"]
        with process:
            assert (await run_tool(tool, {"n": 1})).text == '{"n": 1}'
        begun = time.monotonic()
        with pytest.raises((McpConnectionError, McpLostError)):
            await run_tool(tool)
        assert time.monotonic() - begun < 4


async def test_servers_start_side_by_side_and_an_optional_one_that_hangs_holds_up_no_other(
    plain: HttpProcess, caplog: pytest.LogCaptureFixture
) -> None:
    """Each has a time of its own."""
    up = source_of(HttpServer(plain.url), name="up")
    down = source_of(HttpServer(f"http://127.0.0.1:{unused()}/mcp"), name="down", required=False)
    slow = source_of({"mute": True}, name="slow", required=False, connection={"start_timeout": 0.3})
    begun = time.monotonic()
    await asyncio.gather(*(each.start() for each in (up, down, slow)))
    assert time.monotonic() - begun < 4
    assert [len(await each.tools(Run())) for each in (up, down, slow)] == [2, 0, 0]
    reported = [record.getMessage() for record in caplog.records if "goes on without" in record.getMessage()]
    assert sorted(text.split("'")[1] for text in reported) == ["down", "slow"]
    for each in (up, down, slow):
        await each.aclose()


async def test_a_request_that_was_not_sent_is_not_in_doubt(plain: HttpProcess) -> None:
    """The kinds of errors tell it apart."""
    async with source_of(HttpServer(plain.url)) as source:
        with pytest.raises(McpRequestError):
            await source.connection.get_prompt("none", {})
        assert list(await source.connection.list_prompts()) == []


async def test_calls_side_by_side_survive_that_the_session_is_forgotten() -> None:
    """Those that meet it are made again, and no other is lost."""
    script = {"tools": ["echo"], "http": {"sessions": True, "forget": 5}}
    with HttpProcess(script) as process:
        async with source_of(HttpServer(process.url)) as source:
            tool = (await bound(source))["echo"]
            found = await asyncio.gather(*(run_tool(tool, {"n": n}) for n in range(20)))
            assert [each.text for each in found] == [f'{{"n": {n}}}' for n in range(20)]
            assert source.connection.restarts == 1
