"""The server below the scripted endpoint: requests are read strictly and bounded, connections kept as asked."""

from __future__ import annotations

import asyncio
import http.client
import json

import pytest

from agentforge.testing import ScriptedEndpoint

# -- the server ---------------------------------------------------------------------------------------------------


def test_a_plain_context_manager_runs_it_on_a_thread() -> None:
    with ScriptedEndpoint("hello", model="tiny") as endpoint:
        connection = http.client.HTTPConnection(endpoint.base_url.split("/")[2], timeout=10)
        connection.request("GET", "/v1/models")
        assert json.loads(connection.getresponse().read())["data"][0]["id"] == "tiny"
        connection.request("POST", "/v1/chat/completions", body=iter([b'{"mess', b'ages":[]}']), encode_chunked=True,
                           headers={"transfer-encoding": "chunked"})  # fmt: skip
        answer = connection.getresponse()
        assert json.loads(answer.read())["choices"][0]["message"]["content"] == "hello"
        assert endpoint.requests[0].body == {"messages": []}
        assert endpoint.connections == 1
        connection.close()


def test_a_server_that_cannot_start_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_: object, **__: object) -> None:
        raise OSError("no free port")

    monkeypatch.setattr(asyncio, "start_server", refuse)
    with pytest.raises(OSError, match="no free port"), ScriptedEndpoint(["a"]):
        pass


def test_there_is_no_address_before_the_start() -> None:
    endpoint = ScriptedEndpoint([])
    with pytest.raises(RuntimeError, match="before it is started"):
        _ = endpoint.base_url
    assert (endpoint.connections, endpoint.open_connections) == (0, 0)


async def _raw(content: bytes) -> bytes:
    async with ScriptedEndpoint(["hello"], repeat=True) as endpoint:
        host, port = endpoint.base_url.split("/")[2].split(":")
        reader, writer = await asyncio.open_connection(host, int(port))
        writer.write(content)
        writer.write_eof()
        answer = await reader.read()
        writer.close()
        return answer


_POST = b"POST /v1/chat/completions HTTP/1.1\r\n"


@pytest.mark.parametrize(
    ("content", "status"),
    [
        (_POST + b"content-length: 2\r\n\r\n{}", 200),
        (_POST + b"expect: 100-continue\r\ncontent-length: 2\r\n\r\n{}", 100),
        (_POST + b"transfer-encoding: chunked\r\n\r\n2;x=y\r\n{}\r\n0\r\ntrailer: a\r\n\r\n", 200),
        (_POST + b"content-length: 3\r\n\r\n[1]", 400),
        (_POST + b"content-length: 1\r\n\r\n{", 400),
        (_POST + b"\r\n", 400),
        (_POST + b"content-length: x\r\n\r\n", 400),
        (_POST + b"content-length: -1\r\n\r\n", 400),
        (_POST + b"content-length: 99999999999\r\n\r\n", 413),
        (_POST + b"transfer-encoding: chunked\r\n\r\nfffffffff\r\n", 413),
        (_POST + b"transfer-encoding: chunked\r\n\r\n" + b"1" * 70_000, 400),
        (_POST + b"no colon\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (_POST + b"a: " + b"b" * 70_000, 413),
        (b"GET /v1/chat/completions HTTP/1.1\r\n\r\n", 405),
        (b"POST /v2/other HTTP/1.1\r\n\r\n", 404),
        (_POST + b"content-length: 9\r\n\r\n{", None),
        (b"POST", None),
        (b"", None),
    ],
)
async def test_requests_are_read_strictly_and_bounded(content: bytes, status: int | None) -> None:
    answer = await _raw(content)
    if status is None:
        assert answer == b""
    else:
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())


@pytest.mark.parametrize(
    ("version", "header", "kept"),
    [
        ("HTTP/1.1", "", True),
        ("HTTP/1.1", "connection: close\r\n", False),
        ("HTTP/1.0", "", False),
        ("HTTP/1.0", "connection: keep-alive\r\n", True),
    ],
)
async def test_a_connection_is_kept_as_the_client_asks(version: str, header: str, kept: bool) -> None:
    one = f"POST /v1/chat/completions {version}\r\n{header}content-length: 2\r\n\r\n{{}}".encode()
    answer = await _raw(one * 2)
    assert answer.count(b"HTTP/1.1 200 OK") == (2 if kept else 1)
