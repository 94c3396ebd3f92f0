"""A model server that costs next to nothing: it speaks Chat Completions, plain and streamed, from prepared answers.

It runs in a process of its own (``python -m benchmarks.stub_server`` prints its port), so that the client's CPU can be
told from its own. It never parses a request: the script is in the model's name, and the round follows from the
last call id in the body.
"""

from __future__ import annotations

import asyncio
import functools
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.script import Call, Script

__all__ = ("StubProtocol", "answer", "running", "serve")

_MODEL = re.compile(rb'"model"\s*:\s*"([^"]+)"')
_STREAM = re.compile(rb'"stream"\s*:\s*true')
_LENGTH = re.compile(rb"\r\ncontent-length:\s*(\d+)", re.IGNORECASE)
_LAST_CALL = re.compile(rb'"call_(\d+)_')
_USAGE = {"prompt_tokens": 120, "completion_tokens": 16, "total_tokens": 136}
_LARGEST = 64 * 2**20


def answer(body: bytes) -> bytes:
    """The whole HTTP answer to the body of a request."""
    model = _MODEL.search(body)
    try:
        script = Script.parse(model[1].decode() if model else "")
    except ValueError as error:
        return _http(b"400 Bad Request", json.dumps({"error": {"message": str(error)}}).encode())
    at = body.rfind(b'"call_')
    last = _LAST_CALL.match(body, at) if at >= 0 else None
    return _prepared(script, int(last[1]) + 1 if last else 0, _STREAM.search(body) is not None)


@functools.lru_cache(maxsize=1024)
def _prepared(script: Script, round_number: int, streamed: bool) -> bytes:
    calls = script.calls_of(round_number)
    if not streamed:
        return _http(b"200 OK", _plain(script, calls))
    chunks = b"".join(b"%x\r\n%b\r\n" % (len(event), event) for event in _events(script, calls))
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    return head + chunks + b"0\r\n\r\n"


def _http(status: bytes, body: bytes) -> bytes:
    return b"HTTP/1.1 %b\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b" % (status, len(body), body)


def _plain(script: Script, calls: tuple[Call, ...]) -> bytes:
    message: dict[str, Any] = {"role": "assistant", "content": None if calls else script.farewell}
    if calls:
        message["tool_calls"] = [
            {"id": call.id, "type": "function", "function": {"name": call.tool, "arguments": call.arguments}}
            for call in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop"}
    return _envelope(script, "chat.completion", [choice], _USAGE)


def _events(script: Script, calls: tuple[Call, ...]) -> Iterator[bytes]:
    def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return b"data: %b\n\n" % _envelope(script, "chat.completion.chunk", [choice])

    yield event({"role": "assistant", "content": None if calls else ""})
    if not calls:
        for word in re.findall(r"\S+\s*", script.farewell):
            yield event({"content": word})
    for index, call in enumerate(calls):
        function = {"name": call.tool, "arguments": ""}
        yield event({"tool_calls": [{"index": index, "id": call.id, "type": "function", "function": function}]})
        for piece in _cut(call.arguments, script.pieces):
            yield event({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield event({}, "tool_calls" if calls else "stop")
    yield b"data: %b\n\n" % _envelope(script, "chat.completion.chunk", [], _USAGE)
    yield b"data: [DONE]\n\n"


def _cut(text: str, pieces: int) -> list[str]:
    """The text in at most that many pieces of nearly one length."""
    pieces = min(pieces, len(text))
    ends = [len(text) * (i + 1) // pieces for i in range(pieces)]
    return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]


def _envelope(script: Script, kind: str, choices: list[Any], usage: dict[str, int] | None = None) -> bytes:
    fields = {"id": "stub", "object": kind, "created": 1, "model": script.name, "choices": choices, "usage": usage}
    return json.dumps(fields, separators=(",", ":")).encode()


class StubProtocol(asyncio.Protocol):
    """One connection: requests with a Content-Length, one after the other, kept open between them."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Remember where to write."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Answer every request that is whole."""
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            length = _LENGTH.search(self._buffer, 0, end)
            if length is None or int(length[1]) > _LARGEST:
                self._transport.close()
                return
            whole = end + 4 + int(length[1])
            if len(self._buffer) < whole:
                return
            body = bytes(self._buffer[end + 4 : whole])
            del self._buffer[:whole]
            self._transport.write(answer(body))


async def serve() -> None:
    """Serve on a free loopback port, which is printed, until the process is ended or its input closes."""
    loop = asyncio.get_running_loop()
    server = await loop.create_server(StubProtocol, "127.0.0.1", 0, backlog=512)
    print(server.sockets[0].getsockname()[1], flush=True)
    async with server:
        # The end of the input is the parent's end: no server outlives who started it.
        await loop.run_in_executor(None, sys.stdin.read)


@contextmanager
def running() -> Iterator[str]:
    """A stub server in a process of its own; the value is its base URL, as clients of Chat Completions want it."""
    command = [sys.executable, "-m", "benchmarks.stub_server"]
    root = Path(__file__).parents[1]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=root) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        finally:
            server.stdin.close()


if __name__ == "__main__":
    asyncio.run(serve())
