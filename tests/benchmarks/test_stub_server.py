"""The benchmark's server plays the script that the model's name tells, plain and streamed, without keeping state."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from benchmarks.script import Script
from benchmarks.stub_server import StubProtocol, answer


def _body(model: str, *, rounds_done: int = 0, calls: int = 1, stream: bool = False) -> bytes:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
    for number in range(rounds_done):
        messages += [{"role": "tool", "tool_call_id": f"call_{number}_{i}", "content": "ok"} for i in range(calls)]
    return json.dumps({"model": model, "stream": stream, "messages": messages}).encode()


def _plain(body: bytes) -> dict[str, Any]:
    choice: dict[str, Any] = json.loads(answer(body).partition(b"\r\n\r\n")[2])["choices"][0]
    return choice


def _chunks(body: bytes) -> list[bytes]:
    rest = answer(body).partition(b"\r\n\r\n")[2]
    chunks = []
    while rest:
        length, _, rest = rest.partition(b"\r\n")
        size = int(length, 16)
        chunks.append(rest[:size])
        assert rest[size : size + 2] == b"\r\n"
        rest = rest[size + 2 :]
    assert chunks.pop() == b""
    return chunks


@pytest.mark.parametrize(
    ("name", "script"),
    [("stub-1x1", Script(1, 1)), ("stub-10x4", Script(10, 4)), ("stub-1x1-2000", Script(1, 1, 2000))],
)
def test_a_script_is_read_from_the_name_and_written_to_it(name: str, script: Script) -> None:
    """Both ways."""
    assert Script.parse(name) == script
    assert script.name == name


@pytest.mark.parametrize("name", ["", "gpt", "stub-", "stub-1", "stub-1x", "stub-1x1-", "xstub-1x1", "stub-1x1 "])
def test_another_name_is_refused(name: str) -> None:
    """With an error of status 400, not with a guess."""
    with pytest.raises(ValueError, match="stub-10x4"):
        Script.parse(name)
    assert answer(_body(name)).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("round_number", [0, 1, 9])
def test_each_round_asks_for_its_calls(round_number: int) -> None:
    """The round follows from the results in the request; ids tell round and position."""
    choice = _plain(_body("stub-10x4", rounds_done=round_number, calls=4))
    calls = choice["message"]["tool_calls"]

    assert choice["finish_reason"] == "tool_calls"
    assert [call["id"] for call in calls] == [f"call_{round_number}_{i}" for i in range(4)]
    assert [call["function"]["name"] for call in calls] == ["weather", "book", "weather", "book"]
    assert all(isinstance(json.loads(call["function"]["arguments"]), dict) for call in calls)


def test_after_the_last_round_it_answers_in_words() -> None:
    """And asks for nothing."""
    choice = _plain(_body("stub-10x4", rounds_done=10, calls=4))

    assert choice == {
        "index": 0,
        "message": {"role": "assistant", "content": "That took 10 rounds."},
        "finish_reason": "stop",
    }


def test_a_stream_holds_the_same_calls_in_pieces() -> None:
    """As many as the script says, each an event in a chunk of its own."""
    chunks = _chunks(_body("stub-1x1-2000", stream=True))
    events = [json.loads(chunk.removeprefix(b"data: ")) for chunk in chunks[:-1]]
    parts = [p for e in events for c in e["choices"] for p in c["delta"].get("tool_calls", [])]
    plain = _plain(_body("stub-1x1-2000"))["message"]["tool_calls"]

    assert chunks[-1] == b"data: [DONE]\n\n"
    assert len(parts) == 2001
    assert parts[0]["id"] == plain[0]["id"]
    assert "".join(part["function"]["arguments"] for part in parts) == plain[0]["function"]["arguments"]
    assert events[-1]["usage"]["total_tokens"] == 136


class _Transport(asyncio.Transport):
    """What a connection writes, and whether it was closed."""

    def __init__(self) -> None:
        self.written = b""
        self.closed = False

    def write(self, data: bytes | bytearray | memoryview) -> None:
        self.written += data

    def close(self) -> None:
        self.closed = True


def _connected() -> tuple[StubProtocol, _Transport]:
    protocol, transport = StubProtocol(), _Transport()
    protocol.connection_made(transport)
    return protocol, transport


@pytest.mark.parametrize("cut", [1, 7, 40, 10_000])
def test_requests_are_found_however_their_bytes_arrive(cut: int) -> None:
    """Two on one connection, in pieces of any size."""
    body = _body("stub-1x1")
    request = b"POST /v1/chat/completions HTTP/1.1\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    protocol, transport = _connected()

    for at in range(0, 2 * len(request), cut):
        protocol.data_received((request * 2)[at : at + cut])

    assert transport.written == answer(body) * 2
    assert not transport.closed


@pytest.mark.parametrize("head", [b"GET / HTTP/1.1", b"POST / HTTP/1.1\r\ncontent-length: 99999999999"])
def test_a_request_that_cannot_be_bounded_ends_the_connection(head: bytes) -> None:
    """No length, or a huge one."""
    protocol, transport = _connected()

    protocol.data_received(head + b"\r\n\r\n")

    assert transport.closed
    assert transport.written == b""
