"""The debug log: one line an event, nothing secret, silent by default."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import replace

import pytest

from agentforge.errors import (
    ModelConnectionError,
    ModelError,
)
from agentforge.http import HttpResponse
from agentforge.masking import Secrets
from tests.support.scripted_transport import BREAK, REQUEST, Script, answer, client_over, read

CANARIES = Secrets(["canary-key"])
HEADERS = (
    (b"Authorization", b"Bearer canary-header"),
    (b"x-api-key", b"canary-header"),
    (b"x-a", b"canary-key\x1b[2J"),
)
BODY = b'{"m": "line\\nbreak canary-key", "arguments": "{\\"password\\": \\"canary-member\\"}", "n": "\x1b[31m\r\nx"}'


async def logged(caplog: pytest.LogCaptureFixture, script: Script, *, stream: bool = False) -> list[str]:
    """The lines that a request writes at DEBUG."""
    client, _ = client_over(script, secrets=CANARIES)
    request = replace(REQUEST, headers=HEADERS, content=BODY)
    with caplog.at_level(logging.DEBUG, "agentforge.http"), suppress(ModelError):
        await (read(client, request) if stream else client.send(request))
    return [record.getMessage() for record in caplog.records]


@pytest.mark.parametrize(
    "result",
    [
        answer(200, BODY, set_cookie="a=canary-cookie", x_b="canary-key"),
        answer(401, BODY, www_authenticate="canary-header"),
        answer(429, BODY),
        ModelConnectionError("broke canary-key\r\n"),
    ],
)
async def test_the_log_shows_no_secret_and_one_line_an_event(
    caplog: pytest.LogCaptureFixture, result: HttpResponse | ModelError
) -> None:
    """S9, S11: header, query, body, answer and error; control characters are escaped."""
    lines = await logged(caplog, Script([result]))
    assert lines
    assert all(line.isprintable() and "canary" not in line for line in lines)
    assert all(line.startswith("POST http://model.test/v1?key=***") for line in lines)


async def test_the_log_tells_what_happened(caplog: pytest.LogCaptureFixture) -> None:
    """Status, attempt, waits, headers and bodies in part."""
    lines = await logged(caplog, Script([answer(503, b"down", x_b="b"), answer(200, b"y" * 5000)]))
    first, waits, second = lines
    assert "-> 503 in " in first
    assert "(attempt 1)" in first
    assert "{Authorization: ***, x-api-key: ***, x-a: ***\\x1b[2J}" in first
    assert first.endswith("answer {x-b: b} down")
    assert "attempt 1 failed with AF308, next in 0.500 s" in waits
    assert second.endswith("y" * 2047 + "… (5000 bytes)")


async def test_the_log_of_a_stream(caplog: pytest.LogCaptureFixture) -> None:
    """A line when it begins, and one when it is over with what came, masked and cut like any body."""
    chunks = [b'data: {"password": ["canary-member"], "x": "', b"canary-", b'key"}\n\n', b"y" * 9000]
    lines = await logged(caplog, Script([BREAK, (200, {}, [*chunks])]), stream=True)
    assert "-> AF310 in" in lines[0]
    assert lines[-2].endswith("answer {} (stream)")
    assert "-> stream ended after" in lines[-1]
    assert '(attempt 2) data: {"password": ***, "x": "***"} yyy' in lines[-1]
    assert lines[-1].endswith("… (9058 bytes)")
    assert all(line.isprintable() and "canary" not in line for line in lines)


@pytest.mark.parametrize(("read_on", "end"), [(True, "stream broken by AF310 after"), (False, "stream left after")])
async def test_the_log_of_a_stream_without_an_end(caplog: pytest.LogCaptureFixture, read_on: bool, end: str) -> None:
    """It says whether the stream broke or was left, and what had come."""
    client, _ = client_over(Script([(200, {}, [b"text", BREAK])]))
    with caplog.at_level(logging.DEBUG, "agentforge.http"), suppress(ModelConnectionError):
        async with client.stream(REQUEST) as stream:
            async for _ in stream.chunks:
                if not read_on:
                    break
    assert end in caplog.messages[-1]
    assert caplog.messages[-1].endswith("(attempt 1) text")


async def test_the_log_is_silent_by_default(caplog: pytest.LogCaptureFixture) -> None:
    """Nothing is written, and no text is made, above DEBUG."""
    client, _ = client_over(Script([answer()]))
    with caplog.at_level(logging.INFO, "agentforge.http"):
        await client.send(REQUEST)
        await read(client_over(Script([(200, {}, [b"text"])]))[0])
    assert caplog.records == []
