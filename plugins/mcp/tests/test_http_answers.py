"""What may come in place of an answer: each thing fails its call at once and says what it was, and none is believed.

The server is on the test's own loop and answers every call with the bytes that a row of a table names.
"""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentforge.masking import Secrets
from agentforge.tool import BoundTool
from agentforge_mcp.errors import McpLostError, McpRequestError
from agentforge_mcp.options import HttpServer
from plugins.mcp.tests.support import bound, run_tool, source_of

TOKEN = "sk-canary-http-1"
INIT = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
LIST = {"tools": [{"name": "t", "inputSchema": {"type": "object", "additionalProperties": True}}]}
GOOD = '{"jsonrpc": "2.0", "id": %ID%, "result": {"content": [{"type": "text", "text": "ok"}]}}'
OTHER = "http://127.0.0.1:9/mcp?seen=1"


def http(body: str | bytes, status: str = "200 OK", kind: str | None = "application/json", more: str = "") -> bytes:
    """A response; ``%ID%`` in it stands for the request's id."""
    data = body.encode() if isinstance(body, str) else body
    content = "" if kind is None else f"Content-Type: {kind}\r\n"
    return f"HTTP/1.1 {status}\r\n{content}{more}Connection: close\r\n\r\n".encode() + data


def events(text: str) -> bytes:
    """A stream of events."""
    return http(text, kind="text/event-stream")


@asynccontextmanager
async def answering(response: bytes) -> AsyncIterator[tuple[BoundTool, list[bytes]]]:
    """The tool of a server whose calls are answered so, and the heads of the requests that came."""
    heads: list[bytes] = []

    def answer(message: Mapping[str, Any]) -> bytes:
        identity = message.get("id")
        if identity is None:
            return http("", "202 Accepted", None)
        if message["method"] == "tools/call":
            return response.replace(b"%ID%", str(identity).encode())
        known = {"initialize": INIT, "tools/list": LIST}.get(message["method"])
        said = {"error": {"code": -32601, "message": "no"}} if known is None else {"result": known}
        return http(json.dumps({"jsonrpc": "2.0", "id": identity, **said}))

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        heads.append(head)
        length = next((int(row[15:]) for row in head.lower().split(b"\r\n") if row.startswith(b"content-length:")), 0)
        body = await reader.readexactly(length)
        writer.write(answer(json.loads(body)) if head.startswith(b"POST") else http("", "405 No", None))
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        where = HttpServer(f"http://127.0.0.1:{port}/mcp", token=TOKEN)
        options = {"call_timeout": 2.0, "max_message_bytes": 100_000}
        async with source_of(where, secrets=Secrets([TOKEN]), connection=options) as source:
            yield (await bound(source))["t"], heads


LOST = {
    "another id": (http(GOOD.replace("%ID%", "999")), "it is for another request"),
    "no id": (http(GOOD.replace("%ID%", "null")), "it is no message: {"),
    "a list": (http(f"[{GOOD}]"), r"it is no message: \["),
    "HTML": (http("<html>log in</html>", kind="text/html"), "it is text/html and not JSON: <html>log in</html>"),
    "HTML that says it is JSON": (http(f"<html>{TOKEN}"), r"it is no message: <html>\*\*\*"),
    "of no kind": (http(GOOD, kind=None), "it is of no kind and not JSON"),
    "nothing": (http(""), "it is empty"),
    "too much": (http("x" * 200_000), "more than 100,000 bytes"),
    "another encoding": (http(GOOD.encode("utf-16")), "it is no message"),
    "accepted": (http("", "202 Accepted"), "closed the connection before it answered"),
    "a failure": (http(f"boom {TOKEN}", "500 No", "text/plain"), r"HTTP 500 Internal Server Error: boom \*\*\*"),
    "a failure of what is before it": (http("<html>", "504 No", "text/html"), "HTTP 504 Gateway Timeout: <html>"),
    "a failure without words": (http("", "503 No"), "HTTP 503 Service Unavailable"),
    "no HTTP": (b"SSH-2.0\r\n\r\n", "closed the connection before it answered"),
    "events of noise": (events("data: not json\n\n"), "it is no message: not json"),
    "events of none": (events(""), "closed the connection before it answered"),
    "an event of others": (events(f"event: other\ndata: {GOOD}\n\n"), "closed the connection before it answered"),
    "half an event": (events(f"data: {GOOD[:30]}"), "closed the connection before it answered"),
    "an event without end": (events("data: " + "x" * 200_000), "an event of it is no message, or too long"),
}


@pytest.mark.parametrize(("response", "why"), LOST.values(), ids=LOST)
async def test_what_is_no_answer_leaves_a_call_in_doubt(
    response: bytes, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    """It was asked. What came is said, as far as it helps; no secret is, and no library complains in its own words."""
    with caplog.at_level(logging.INFO):
        async with answering(response) as (tool, _):
            with pytest.raises(McpLostError, match=why) as caught:
                await run_tool(tool)
    assert "within 2 s" not in caught.value.message and "validation error" not in caught.value.message
    said = caplog.text + str(caught.value)
    assert TOKEN not in said and "Traceback" not in said


REFUSED = {
    "bad request": (http(f"bad {TOKEN}", "400 No", "text/plain"), r"HTTP 400 Bad Request: bad \*\*\*$"),
    "not allowed": (http("{}", "403 No"), r"HTTP 403 Forbidden: \{\}"),
    "too many": (http("", "429 No"), "HTTP 429 Too Many Requests"),
    "its own error": (
        http('{"jsonrpc": "2.0", "id": null, "error": {"code": -5, "message": "inner"}}', "500 No"),
        r"inner \(-5\)",
    ),
    "a way elsewhere": (http("", "307 No", more=f"Location: {OTHER}\r\n"), "Redirect to .* not followed"),
    "a way to a file": (http("", "302 No", more="Location: file:///etc/passwd\r\n"), "Redirect to .* not followed"),
    "a way to nowhere": (http("", "307 No"), "HTTP 307 Temporary Redirect"),
}


@pytest.mark.parametrize(("response", "why"), REFUSED.values(), ids=REFUSED)
async def test_what_a_server_refuses_did_not_run(response: bytes, why: str) -> None:
    """The status is said, or the server's own error where there is one."""
    async with answering(response) as (tool, _):
        with pytest.raises(McpRequestError, match=why) as caught:
            await run_tool(tool)
    assert TOKEN not in str(caught.value)
    assert ("credentials" in (caught.value.next_step or "")) == ("403" in why)


READ = {
    "as it should be": (http(GOOD), "ok"),
    "its id as text": (http(GOOD.replace("%ID%", '"%ID%"')), "ok"),
    "with a mark of its encoding": (http(b"\xef\xbb\xbf" + GOOD.encode()), "ok"),
    "half a character": (http(GOOD.replace("ok", r"ok \ud83d")), "ok \ufffd"),
    "half a character in an event": (events("data: " + GOOD.replace("ok", r"ok \ud83d") + "\n\n"), "ok \ufffd"),
    "an event over several lines": (events("data: " + GOOD.replace(", ", ",\ndata: ") + "\n\n"), "ok"),
    "events with other line ends": (events(f": hello\r\ndata: {GOOD}\r\n\r\n"), "ok"),
    "two of one": (events(f"data: {GOOD}\n\ndata: {GOOD.replace('ok', 'no')}\n\n"), "ok"),
}


@pytest.mark.parametrize(("response", "text"), READ.values(), ids=READ)
async def test_what_is_a_little_wrong_is_read(response: bytes, text: str) -> None:
    """As far as it is clear what was meant."""
    async with answering(response) as (tool, heads):
        assert (await run_tool(tool)).text == text
        assert all(f"Bearer {TOKEN}".encode() in head for head in heads)
