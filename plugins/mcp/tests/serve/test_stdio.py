"""``agentforge mcp serve`` as a program: what is on its standard input and output, and every way to its end. A real
client of it is that of `test_guide`."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from agentforge.cli.main import run
from agentforge.tool.execution import ToolService
from agentforge_mcp.serve import McpServer
from agentforge_mcp.serve.wire import StdioWire
from tests.support.programs import REAL, agentforge

DESK = Path(__file__).parent / "desk" / "agentforge.yaml"
WORDS = ["mcp", "serve", "--config", str(DESK)]
SECRETS = {"DESK_TOKEN": "canary-token-81549300", "DESK_KEY": "canary-key-4471"}
PATIENCE = 20


def environment() -> dict[str, str]:
    """The process's, with the secrets of the desk."""
    return {**os.environ, **SECRETS}


@contextmanager
def started(program: tuple[str, ...] = REAL, **streams: Any) -> Iterator[subprocess.Popen[bytes]]:
    """The program, ended at the end whatever happens."""
    process = subprocess.Popen(
        [*program, *WORDS],
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


def test_the_wire_holds_messages_alone_until_the_client_ends() -> None:
    """Whatever a module, a tool, or a program that it starts prints goes to standard error; big results arrive whole;
    thirty calls at once each get their answer; no secret leaves, neither here nor there. What is no message is answered
    as such, and one that is too long is not held. A client that closes its end while a call runs: the call is
    cancelled, the beans are closed, exit code 0."""
    with started(agentforge()) as process:
        handshake(process)

        def called(number: int, name: str, **arguments: Any) -> str:
            say(process, request(number, "tools/call", name=name, arguments=arguments))
            answered = hear(process)
            assert answered["id"] == number
            text: str = answered["result"]["content"][0]["text"]
            return text

        assert called(10, "shout", text="hello") == "HELLO"
        assert called(11, "read_stdin") == "b''"
        assert called(12, "big", size=300_000).endswith("[cut: 37,856 more bytes]")
        assert called(13, "leak") == "the key is ***"
        sizes = {100 + size: size for size in (*range(30), 250_000)}
        for number, size in sizes.items():
            say(process, request(number, "tools/call", name="big", arguments={"size": size}))
        answers = [hear(process) for _ in sizes]
        assert {each["id"]: len(each["result"]["content"][0]["text"]) for each in answers} == sizes

        for line, code, known in [
            (b"\n\xff no message\n", -32700, None),
            (b'{"jsonrpc": "2.0", "id": 7, "method": 5}\n', -32600, 7),
            (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}\n', -32600, None),
            (b'{"jsonrpc": "2.0", "id": 8, "method": "ping", "params": "' + b"x" * 300_000 + b'"}\n', -32600, None),
        ]:
            say(process, line)
            answered = hear(process)
            assert (answered["error"]["code"], answered["id"]) == (code, known)
        say(process, request(1, "ping"))
        assert hear(process) == {"jsonrpc": "2.0", "id": 1, "result": {}}
        say(process, request(2, "tools/call", name="wait", arguments={}))
        assert process.stderr is not None
        said: list[bytes] = []
        while said[-1:] != [b"waiting\n"]:
            said.append(process.stderr.readline())
        begun = time.monotonic()
        out, err = process.communicate(timeout=PATIENCE)
        assert process.returncode == 0
        assert time.monotonic() - begun < 3
        assert err.splitlines() == [b"cancelled", b"the desk is closed"]
        assert all(json.loads(line)["id"] == 2 and "error" in json.loads(line) for line in out.splitlines())
    text = b"".join(said).decode()
    for row in ("a module that says hello", "and one that does it below Python", "print: hello", "write", "child"):
        assert row in text.splitlines()
    assert "the key is ***" in text
    assert not any(secret in text for secret in SECRETS.values())


def test_a_signal_ends_it_in_order() -> None:
    """In the middle of a call, with a client that says nothing: what runs is cancelled, and the beans are closed. What
    SIGTERM does is seen over HTTP."""
    with started() as process:
        handshake(process)
        say(process, request(1, "tools/call", name="wait", arguments={}))
        assert process.stderr is not None
        while process.stderr.readline() != b"waiting\n":
            pass
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 130
        assert process.stderr.read().splitlines()[:2] == [b"cancelled", b"the desk is closed"]


async def test_it_ends_when_nobody_reads_it() -> None:
    """A client that was killed reads no more, though another process may still hold the input open."""
    reading, to_server = os.pipe()
    from_server, writing = os.pipe()
    os.close(from_server)
    os.write(to_server, json.dumps(request(1, "ping")).encode() + b"\n")
    with ToolService() as service:
        await asyncio.wait_for(McpServer(service).serve_stdio(StdioWire(reading, writing)), PATIENCE)
    for each in (to_server, reading, writing):
        os.close(each)


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--stdio"], 2, "not allowed with argument"),
        (["--port", "70000"], 2, "'70000' is no port"),
        (["--bean", "nothing"], 1, "there is no bean 'nothing'"),
        (["--bean", "noisy"], 1, "the bean 'noisy' is no server, tool service or chat client"),
        (["--bean", "service"], 1, "next: Set token, on a bean of type mcp.server, to "),
        (["--agent", "service"], 1, "the bean 'service' is no chat client or AI service: its type is tool_service"),
        (["--agent", "noisy"], 1, "the bean 'noisy' is no chat client or AI service: its type is python_tools"),
        (["--host", "192.0.2.1"], 1, "next: Give an address of this machine with --host"),
        (["--set", "beans.server.except=[shuot]"], 1, "next: Did you mean 'shout'?"),
    ],
)
def test_what_cannot_be_served_is_said_in_words(words: list[str], code: int, said: str) -> None:
    """On standard error, and nothing else anywhere."""
    out, err = io.StringIO(), io.StringIO()
    assert run([*WORDS, "--http", *words], stdout=out, stderr=err, environment=environment()) == code
    assert out.getvalue() == ""
    assert said in err.getvalue()
    assert "Traceback" not in err.getvalue()
