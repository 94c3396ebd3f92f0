"""What every transport promises of answers, whole, streamed and broken, on real sockets.

Each case runs over httpx and aiohttp, and where no option of ours is involved also over a client and a session that
the caller brings. The server sends scripted bytes.
"""

from __future__ import annotations

import asyncio
import socket
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import (
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
)
from agentforge.http import HttpRequest
from tests.support.loopback import (
    Answer,
    chunked,
    hang_up,
    plain,
    raw,
    reset,
    serve,
    stall,
)
from tests.support.transports import FULL, PATIENT, every, opened, post, with_options, words

# -- good answers --------------------------------------------------------------------------------


@every
async def test_a_whole_answer(kind: str) -> None:
    """Status, lower-case headers and body come back; a status of any kind is an answer."""
    async with (
        serve(plain(b"{}", "X-Request-ID: r1"), plain(b"no", status="503 Oh")) as server,
        opened(kind) as transport,
    ):
        first = await transport.send(post(server))
        second = await transport.send(post(server))
    assert (first.status, first.content, first.headers["x-request-id"]) == (200, b"{}", "r1")
    assert (second.status, second.content) == (503, b"no")


@every
async def test_the_request_arrives_as_given(kind: str) -> None:
    """Method, target with its query, headers and body are what the caller prepared."""
    body = '{"city": "Köln"}'.encode()
    async with serve(plain()) as server, opened(kind) as transport:
        await transport.send(post(server, body, url=server.url("/v1/models/m:generate?alt=sse&k=a%2Fb")))
    seen = server.requests[0]
    assert (seen.method, seen.target, seen.body) == ("POST", "/v1/models/m:generate?alt=sse&k=a%2Fb", body)
    assert seen.headers["authorization"] == "Bearer canary-key"
    assert seen.headers["host"] == f"127.0.0.1:{server.port}"
    assert seen.headers["content-length"] == str(len(body))


@with_options
async def test_a_header_in_utf8_arrives_as_its_bytes(kind: str) -> None:
    """Neither decoded nor encoded on the way."""
    async with serve(plain()) as server, opened(kind) as transport:
        await transport.send(replace(post(server), headers=[(b"x-city", "Köln".encode())]))
    assert server.requests[0].headers["x-city"].encode("latin-1").decode() == "Köln"


@with_options
async def test_nothing_is_added_to_the_request(kind: str) -> None:
    """Beside the given headers only host, content-length and accept-encoding are sent."""
    async with serve(plain()) as server, opened(kind) as transport:
        await transport.send(post(server))
        await transport.send(post(server, method="GET", content=b""))
    given = {"host", "accept-encoding", "authorization", "content-type"}
    assert set(server.requests[0].headers) == given | {"content-length"}
    assert set(server.requests[1].headers) == given


@every
async def test_a_large_request(kind: str) -> None:
    """Three megabytes arrive whole."""
    async with serve(plain()) as server, opened(kind) as transport:
        await transport.send(post(server, b"x" * 3_000_000))
    assert len(server.requests[0].body) == 3_000_000


@every
async def test_a_chunked_answer(kind: str) -> None:
    """Chunks are put together."""
    async with serve(chunked(b"ab", b"c" * 70_000, b"d")) as server, opened(kind) as transport:
        answer = await transport.send(post(server))
    assert answer.content == b"ab" + b"c" * 70_000 + b"d"


@every
async def test_an_empty_answer(kind: str) -> None:
    """No body is an empty body, with and without a length."""
    empty = raw(b"HTTP/1.1 204 No Content\r\n\r\n")
    async with serve(plain(b""), empty) as server, opened(kind) as transport:
        assert [(await transport.send(post(server))).content for _ in range(2)] == [b"", b""]


@every
async def test_a_body_that_ends_with_the_connection(kind: str) -> None:
    """Without length and chunks the end of the connection is the end of the body."""
    async with serve(hang_up(b"HTTP/1.1 200 OK\r\n\r\nabc")) as server, opened(kind) as transport:
        assert (await transport.send(post(server))).content == b"abc"


@every
async def test_the_last_of_repeated_headers_stays(kind: str) -> None:
    """A header that comes twice has its last value."""
    async with serve(plain(b"{}", "X-A: 1", "X-A: 2")) as server, opened(kind) as transport:
        assert (await transport.send(post(server))).headers["x-a"] == "2"


@every
async def test_connections_are_used_again(kind: str) -> None:
    """Plain and streamed answers that were read to their end leave the connection for the next request."""
    async with serve(plain(), chunked(b"a"), plain()) as server, opened(kind) as transport:
        await transport.send(post(server))
        async with transport.stream(post(server)) as answer:
            assert [chunk async for chunk in answer.chunks] == [b"a"]
        await transport.send(post(server))
    assert [seen.connection for seen in server.requests] == [1, 1, 1]


@every
async def test_redirects_are_not_followed(kind: str) -> None:
    """A redirect is an answer: following one would carry the key elsewhere."""
    redirect = plain(b"", "Location: /elsewhere", status="302 Found")
    async with serve(redirect, plain()) as server, opened(kind) as transport:
        answer = await transport.send(post(server))
    assert (answer.status, answer.headers["location"], len(server.requests)) == (302, "/elsewhere", 1)


@with_options
async def test_cookies_are_not_kept(kind: str) -> None:
    """A cookie of one answer does not go with the next request."""
    async with serve(plain(b"{}", "Set-Cookie: a=canary-cookie; Path=/")) as server, opened(kind) as transport:
        for _ in range(2):
            await transport.send(post(server, url=server.url(host="localhost")))
    assert all("cookie" not in seen.headers for seen in server.requests)


# -- streams -------------------------------------------------------------------------------------


@every
async def test_a_stream_is_handed_out_while_it_arrives(kind: str) -> None:
    """The first chunk is there while the server still waits to send the second."""
    gate = asyncio.Event()

    async def second(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        await raw(b"2\r\ncd\r\n0\r\n\r\n")(reader, writer)

    async with (
        serve(chunked(b"ab", after=second, headers="X-Request-Id: r2\r\n")) as server,
        opened(kind) as transport,
        transport.stream(post(server)) as answer,
    ):
        assert (answer.status, answer.headers["x-request-id"]) == (200, "r2")
        assert await anext(answer.chunks) == b"ab"
        gate.set()
        assert [chunk async for chunk in answer.chunks] == [b"cd"]


@every
async def test_a_reset_in_mid_stream_is_an_error_after_the_text(kind: str) -> None:
    """F2: what had come is delivered, then the break is raised, never an end."""
    gate = asyncio.Event()
    async with (
        serve(chunked(b"text", after=reset(gate=gate))) as server,
        opened(kind) as transport,
        transport.stream(post(server)) as answer,
    ):
        assert await anext(answer.chunks) == b"text"
        gate.set()
        with pytest.raises(ModelConnectionError, match="broke before the answer was complete"):
            await anext(answer.chunks)


@every
async def test_a_stream_cut_between_chunks_is_an_error(kind: str) -> None:
    """F4: an orderly close without the last chunk is not an end either."""
    async with serve(chunked(b"text", after=hang_up())) as server, opened(kind) as transport:
        with pytest.raises(ModelConnectionError):
            async with transport.stream(post(server)) as answer:
                _ = [chunk async for chunk in answer.chunks]


@every
async def test_a_stall_in_mid_stream_meets_the_read_limit(kind: str) -> None:
    """F7: the wait for each further chunk is bounded."""
    impatient = replace(PATIENT, read=0.4)
    async with serve(chunked(b"text", after=stall())) as server, opened(kind) as transport:
        async with transport.stream(post(server, timeouts=impatient)) as answer:
            assert await anext(answer.chunks) == b"text"
            with pytest.raises(ModelTimeoutError, match=r"within 0\.4 s \(the read limit\)"):
                await anext(answer.chunks)
        await server.all_closed()


@every
@pytest.mark.parametrize("read", [0, 1])
async def test_leaving_a_stream_early_closes_the_connection(kind: str, read: int) -> None:
    """F26: before or after the first chunk; the transport serves the next request."""
    async with serve(chunked(b"a", b"b", after=stall()), plain()) as server, opened(kind) as transport:
        async with transport.stream(post(server)) as answer:
            for _ in range(read):
                await anext(answer.chunks)
        await server.all_closed()
        assert (await transport.send(post(server))).status == 200


@every
async def test_a_stream_left_by_an_exception(kind: str) -> None:
    """The caller's own exception passes and the connection is closed."""
    async with serve(chunked(b"a", after=stall())) as server, opened(kind) as transport:
        with pytest.raises(KeyError):
            async with transport.stream(post(server)):
                raise KeyError("mine")
        await server.all_closed()


@every
async def test_a_stream_read_by_another_task(kind: str) -> None:
    """Leaving the block ends the wait of a task that still reads."""
    async with serve(chunked(b"a", after=stall())) as server, opened(kind) as transport:
        async with transport.stream(post(server)) as answer:
            await anext(answer.chunks)
            reader = asyncio.ensure_future(anext(answer.chunks))
            await asyncio.sleep(0)
        await server.all_closed()
        reader.cancel()
        await asyncio.gather(reader, return_exceptions=True)
        assert reader.done()


# -- broken answers


async def failing(kind: str, *answers: Answer, request: dict[str, Any] | None = None, **options: Any) -> ModelError:
    """The error of one request to a server with these answers."""
    async with serve(*answers) as server, opened(kind, **options) as transport:
        with pytest.raises(ModelError) as caught:
            await transport.send(post(server, **(request or {})))
    return caught.value


@every
@pytest.mark.parametrize(
    "answer",
    [
        pytest.param(reset(), id="reset before headers"),
        pytest.param(hang_up(), id="closed before headers"),
        pytest.param(reset(b"HTTP/1.1 200"), id="reset within headers"),
        pytest.param(reset(FULL + b"abc"), id="reset in mid body"),
        pytest.param(hang_up(FULL + b"abc"), id="body shorter than its length"),
        pytest.param(chunked(b"abc", after=hang_up()), id="chunked body cut"),
        pytest.param(hang_up(b"SSH-2.0-server\r\n\r\n"), id="not HTTP"),
        pytest.param(chunked(b"abc", after=hang_up(b"zz\r\n")), id="a chunk of no length"),
    ],
)
async def test_a_broken_connection_is_a_connection_error(kind: str, answer: Answer) -> None:
    """F1: it may be retried, names the host, and shows neither key nor library."""
    error = await failing(kind, answer)
    assert type(error) is ModelConnectionError
    assert error.retryable
    assert "'127.0.0.1:" in error.message
    assert "canary-key" not in words(error)


@every
@pytest.mark.parametrize(
    ("answer", "error"), [(reset(), ModelConnectionError), (stall(), ModelTimeoutError)], ids=["reset", "stall"]
)
async def test_a_stream_that_never_begins(kind: str, answer: Answer, error: type[ModelError]) -> None:
    """It fails like a plain request, when the block is entered, and leaves the transport usable."""
    async with serve(answer, plain()) as server, opened(kind) as transport:
        with pytest.raises(error):
            await transport.stream(post(server, timeouts=replace(PATIENT, read=0.3))).__aenter__()
        assert (await transport.send(post(server))).status == 200


@every
async def test_a_body_longer_than_its_length(kind: str) -> None:
    """F14: the surplus is in no answer: it is dropped, or the exchange counts as broken."""
    async with serve(raw(FULL + b"0123456789surplus"), plain(b"next")) as server, opened(kind) as transport:
        contents = []
        for _ in range(2):
            with suppress(ModelConnectionError):
                contents.append((await transport.send(post(server))).content)
        contents.append((await transport.send(post(server))).content)
    assert contents[-1] == b"next"
    assert set(contents) <= {b"0123456789", b"next"}


@every
async def test_nobody_listens(kind: str) -> None:
    """A refused connection says that no connection could be made."""
    async with serve(plain()) as server:
        request = post(server)
    async with opened(kind) as transport:
        with pytest.raises(ModelConnectionError, match=r"could not connect to '127\.0\.0\.1:") as caught:
            await transport.send(request)
        assert not caught.value.sent


@every
async def test_a_stall_before_headers_meets_the_read_limit(kind: str) -> None:
    """The wait for the answer's beginning is a read."""
    error = await failing(kind, stall(), request={"timeouts": replace(PATIENT, read=0.1)})
    assert isinstance(error, ModelTimeoutError)
    assert error.retryable and error.sent
    assert "the read limit" in error.message


@every
async def test_a_server_that_never_greets_meets_the_connect_limit(kind: str) -> None:
    """The TLS handshake belongs to connecting."""

    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"https://127.0.0.1:{listener.getsockname()[1]}/"
        request = HttpRequest("POST", url, (), b"", replace(PATIENT, connect=0.2))
        async with opened(kind) as transport:
            with pytest.raises(ModelTimeoutError, match=r"within 0\.2 s \(the connect limit\)") as caught:
                await transport.send(request)
            assert not caught.value.sent
