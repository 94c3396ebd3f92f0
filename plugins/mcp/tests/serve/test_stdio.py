"""``agentforge mcp serve`` as a program: a real client over its standard input and output, and every way to its end."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from agentforge.cli.main import run

DESK = Path(__file__).parent / "desk" / "agentforge.yaml"
PROGRAM = str(Path(sys.executable).with_name("agentforge"))
WORDS = ["mcp", "serve", "--config", str(DESK)]
SECRETS = {"DESK_TOKEN": "canary-token-81549300", "DESK_KEY": "canary-key-4471"}
PATIENCE = 20


def environment() -> dict[str, str]:
    """The process's, with the secrets of the desk."""
    return {**os.environ, **SECRETS}


@asynccontextmanager
async def connected(log: Path, mode: str = "auto") -> AsyncIterator[Client]:
    """The SDK's client of a new server, whose standard error goes to a file."""
    with log.open("w") as errors:
        server = StdioServerParameters(command=PROGRAM, args=WORDS, env=environment())
        async with Client(stdio_client(server, errlog=errors), mode=mode) as client:
            yield client


@contextmanager
def started(**streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The program, ended at the end whatever happens."""
    process = subprocess.Popen(
        [PROGRAM, *WORDS],
        env=environment(),
        **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **streams},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def say(process: subprocess.Popen[bytes], message: object) -> None:
    """Write one message, or the bytes as they are."""
    assert process.stdin is not None
    process.stdin.write(message if isinstance(message, bytes) else json.dumps(message).encode() + b"\n")
    process.stdin.flush()


def hear(process: subprocess.Popen[bytes]) -> Any:
    """The next message."""
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def request(number: int, method: str, **parameters: Any) -> dict[str, Any]:
    """A request of the protocol's earlier time."""
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}


def handshake(process: subprocess.Popen[bytes]) -> None:
    """What a client of that time begins with."""
    me = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    say(process, request(0, "initialize", **me))
    assert hear(process)["result"]["serverInfo"]["name"] == "noisy"
    say(process, {"jsonrpc": "2.0", "method": "notifications/initialized"})


async def test_the_wire_holds_messages_alone(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Whatever a module, a tool, or a program that it starts prints goes to standard error; big results arrive whole;
    thirty calls at once each get their answer; no secret leaves, neither here nor there."""
    log = tmp_path / "errors.txt"
    async with connected(log) as client:
        assert client.protocol_version == "2026-07-28"
        assert (await client.call_tool("shout", {"text": "hello"})).content[0].text == "HELLO"  # type: ignore[union-attr]
        assert (await client.call_tool("read_stdin")).content[0].text == "b''"  # type: ignore[union-attr]
        sizes = [*range(30), 250_000]
        results = await asyncio.gather(*(client.call_tool("big", {"size": size}) for size in sizes))
        assert [len(each.content[0].text) for each in results] == sizes  # type: ignore[union-attr]
        capped = (await client.call_tool("big", {"size": 300_000})).content[0].text  # type: ignore[union-attr]
        assert capped.endswith("[cut: 37,856 more bytes]")
        assert (await client.call_tool("leak")).content[0].text == "the key is ***"  # type: ignore[union-attr]
    said = log.read_text()
    for line in ("a module that says hello", "and one that does it below Python", "print: hello", "write", "child"):
        assert line in said.splitlines()
    assert "the key is ***" in said
    assert said.splitlines()[-1] == "the desk is closed"
    assert not any(secret in said for secret in SECRETS.values())
    assert [record for record in caplog.records if "parse" in record.getMessage()] == []


def test_it_ends_when_its_client_does() -> None:
    """A client that closes its end while a call runs: the call is cancelled, the beans are closed, exit code 0. What is
    no message is answered as such, and one that is too long is not held."""
    with started() as process:
        handshake(process)
        for line, code, number in [
            (b"\n\xff no message\n", -32700, None),
            (b'{"jsonrpc": "2.0", "id": 7, "method": 5}\n', -32600, 7),
            (b'{"jsonrpc": "2.0", "id": 8, "method": "ping", "params": "' + b"x" * 300_000 + b'"}\n', -32600, None),
        ]:
            say(process, line)
            answered = hear(process)
            assert (answered["error"]["code"], answered["id"]) == (code, number)
        say(process, request(1, "ping"))
        assert hear(process) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        say(process, request(2, "tools/call", name="wait", arguments={}))
        assert process.stderr is not None
        while process.stderr.readline() != b"waiting\n":
            pass
        begun = time.monotonic()
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert time.monotonic() - begun < 3
        assert err.splitlines() == [b"cancelled", b"the desk is closed"]
        assert all(json.loads(line)["id"] == 2 and "error" in json.loads(line) for line in out.splitlines())


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGINT, 130)], ids=["TERM", "INT"])
def test_a_signal_ends_it_in_order(number: int, code: int) -> None:
    """In the middle of a call, with a client that says nothing: what runs is cancelled, and the beans are closed."""
    with started() as process:
        handshake(process)
        say(process, request(1, "tools/call", name="wait", arguments={}))
        assert process.stderr is not None
        while process.stderr.readline() != b"waiting\n":
            pass
        process.send_signal(number)
        assert process.wait(PATIENCE) == code
        assert process.stderr.read().splitlines()[:2] == [b"cancelled", b"the desk is closed"]


def test_it_ends_when_nobody_reads_it() -> None:
    """A client that was killed reads no more, though another process may still hold the input open."""
    with started() as process:
        handshake(process)
        assert process.stdout is not None
        process.stdout.close()
        say(process, request(1, "ping"))
        assert process.wait(PATIENCE) == 0
        process.stdout = open(os.devnull, "rb")  # noqa: SIM115 - for `communicate`


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--stdio"], 2, "not allowed with argument"),
        (["--port", "70000"], 2, "'70000' is no port"),
        (["--bean", "nothing"], 1, "there is no bean 'nothing'"),
        (["--bean", "noisy"], 1, "the bean 'noisy' is no server, tool service or chat client"),
        (["--bean", "service"], 1, "a server over HTTP needs a token"),
        (["--agent", "service"], 1, "the bean 'service' is no chat client or AI service"),
    ],
)
def test_what_cannot_be_served_is_said_in_words(words: list[str], code: int, said: str) -> None:
    """On standard error, and nothing else anywhere."""
    out, err = io.StringIO(), io.StringIO()
    assert run([*WORDS, "--http", *words], stdout=out, stderr=err, environment=environment()) == code
    assert out.getvalue() == ""
    assert said in err.getvalue()
    assert "Traceback" not in err.getvalue()
