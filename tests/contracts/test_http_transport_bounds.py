"""What every transport promises of bounds, cancellation, closing, and of requests that are none."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace

import pytest

from agentforge.errors import (
    ConfigurationError,
    ModelTimeoutError,
    ProtocolError,
)
from agentforge.http import AiohttpTransport, HttpRequest, HttpTransport, HttpxTransport, make_transport
from tests.support.loopback import (
    Answer,
    chunked,
    endless,
    gzipped,
    plain,
    raw,
    serve,
    stall,
)
from tests.support.transports import FULL, PATIENT, every, opened, post, with_options, words

# -- bounds --------------------------------------------------------------------------------------


@with_options
@pytest.mark.parametrize("streamed", [False, True])
async def test_a_gzip_answer_is_decoded(kind: str, streamed: bool) -> None:
    """Plain answers are asked for as gzip, streams as they are; either is decoded if it comes compressed."""
    body = b"abc" * 100_000
    async with serve(gzipped(body)) as server, opened(kind) as transport:
        if streamed:
            async with transport.stream(post(server)) as answer:
                content = b"".join([chunk async for chunk in answer.chunks])
        else:
            content = (await transport.send(post(server))).content
    assert content == body
    assert server.requests[0].headers["accept-encoding"] == ("identity" if streamed else "gzip")


@every
async def test_a_gzip_answer_in_several_members(kind: str) -> None:
    """Members that follow each other are one body."""
    body = gzip.compress(b"one ") + gzip.compress(b"two")
    async with serve(plain(body, "Content-Encoding: gzip")) as server, opened(kind) as transport:
        assert (await transport.send(post(server))).content == b"one two"


@with_options
async def test_an_own_accept_encoding_is_kept(kind: str) -> None:
    """A caller who names encodings is obeyed, once."""
    async with serve(plain()) as server, opened(kind) as transport:
        await transport.send(post(server, headers=((b"Accept-Encoding", b"identity"),)))
    assert server.requests[0].headers["accept-encoding"] == "identity"


@every
@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(gzipped(b"\0" * 20_000_000), "decoded answer is larger than 100000 bytes", id="gzip bomb"),
        pytest.param(endless(), "is larger than 100000 bytes", id="endless body"),
        pytest.param(plain(b"x" * 200_000), "is larger than 100000 bytes", id="huge body"),
        pytest.param(gzipped(b"abc" * 99, cut=9), "ends before its end mark", id="gzip cut"),
        pytest.param(gzipped(bytes(range(256)) * 9, damage=True), "damaged", id="gzip damaged"),
        pytest.param(plain(b"x", "Content-Encoding: br"), "'br', which was not asked for", id="other encoding"),
        pytest.param(plain(b"x", "Content-Encoding: gzip, gzip"), "'gzip, gzip'", id="stacked encodings"),
        pytest.param(plain(gzip.compress(b"") * 101, "Content-Encoding: gzip"), "more than 100 parts", id="many parts"),
    ],
)
async def test_a_body_out_of_bounds_is_refused(kind: str, answer: Answer, message: str) -> None:
    """S13, S14: reading stops at the bound, the connection is closed, the next request works."""
    async with serve(answer, plain()) as server, opened(kind, max_body_bytes=100_000) as transport:
        with pytest.raises(ProtocolError, match=message):
            await transport.send(post(server))
        assert (await transport.send(post(server))).status == 200


@every
async def test_a_compressed_stream_is_bounded_too(kind: str) -> None:
    """A bomb does not pass as a stream."""
    async with serve(gzipped(b"\0" * 20_000_000)) as server, opened(kind, max_body_bytes=100_000) as transport:
        with pytest.raises(ProtocolError, match="larger than 100000 bytes"):
            async with transport.stream(post(server)) as answer:
                _ = [chunk async for chunk in answer.chunks]


@with_options
async def test_more_requests_than_connections_wait(kind: str) -> None:
    """F35: with two connections ten requests at once all succeed."""
    async with serve(plain()) as server, opened(kind, max_connections=2) as transport:
        answers = await asyncio.gather(*(transport.send(post(server)) for _ in range(10)))
    assert [answer.status for answer in answers] == [200] * 10
    assert server.connections <= 2


@with_options
@pytest.mark.parametrize("streamed", [False, True])
async def test_no_free_connection_meets_the_pool_limit(kind: str, streamed: bool) -> None:
    """The wait for a connection is bounded, and the one in use goes on."""
    gate = asyncio.Event()

    async def end(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await gate.wait()
        await raw(b"0\r\n\r\n")(reader, writer)

    async with serve(chunked(b"a", after=end), plain()) as server, opened(kind, max_connections=1) as transport:
        impatient = post(server, timeouts=replace(PATIENT, pool=0.1))
        async with transport.stream(post(server)) as answer:
            with pytest.raises(ModelTimeoutError, match=r"no free connection .* \(the pool limit\)"):
                await (transport.stream(impatient).__aenter__() if streamed else transport.send(impatient))
            gate.set()
            assert [chunk async for chunk in answer.chunks] == [b"a"]
        assert (await transport.send(post(server))).status == 200


# -- cancellation and closing --------------------------------------------------------------------


@every
@pytest.mark.parametrize("answer", [stall(), stall(FULL + b"abc")], ids=["before headers", "in mid body"])
async def test_cancelling_closes_the_connection(kind: str, answer: Answer) -> None:
    """F25: a cancelled request leaves nothing behind and passes the cancellation on."""
    async with serve(answer, plain()) as server, opened(kind) as transport:
        task = asyncio.ensure_future(transport.send(post(server)))
        await server.asked()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await server.all_closed()
        assert (await transport.send(post(server))).status == 200


@with_options
async def test_closing(kind: str) -> None:
    """Connections end, closing again is harmless, and a closed transport says so."""
    async with serve(plain()) as server:
        transport = make_transport(kind)
        await transport.send(post(server))
        await transport.aclose()
        await transport.aclose()
        await server.all_closed()
        with pytest.raises(ConfigurationError, match="transport is closed"):
            await transport.send(post(server))


@pytest.mark.parametrize("kind", ["httpx", "aiohttp"])
async def test_a_given_client_that_is_closed(kind: str) -> None:
    """Using it is a mistake of the configuration, said as one."""
    import aiohttp
    import httpx

    transport: HttpTransport
    if kind == "httpx":
        client = httpx.AsyncClient()
        transport = HttpxTransport(client=client)
        await client.aclose()
    else:
        session = aiohttp.ClientSession()
        transport = AiohttpTransport(session=session)
        await session.close()
    with pytest.raises(ConfigurationError, match=r"(client|session) is closed"):
        await transport.send(HttpRequest("POST", "http://127.0.0.1:1/", (), b"", PATIENT))


@with_options
async def test_many_addresses(kind: str) -> None:
    """What is kept for each address is bounded; all are served."""
    async with serve(plain()) as server, opened(kind) as transport:
        for number in range(70):
            await transport.send(post(server, url=server.url(f"/{number}")))
    assert [seen.target for seen in server.requests] == [f"/{number}" for number in range(70)]


# -- what cannot be sent -------------------------------------------------------------------------


@every
@pytest.mark.parametrize(
    "url",
    [
        "127.0.0.1/v1",
        "ftp://127.0.0.1/",
        "http://",
        "http://127.0.0.1:99999999/",
        "http://a b/",
        "http://u:canary-pw@127.0.0.1/",
    ],
)
async def test_an_address_that_is_none(kind: str, url: str) -> None:
    """Refused before anything is sent, without a secret in it."""
    async with opened(kind) as transport:
        with pytest.raises(ConfigurationError) as caught:
            await transport.send(HttpRequest("POST", url, (), b"", PATIENT))
    assert "canary-pw" not in words(caught.value)


@every
@pytest.mark.parametrize("value", [b"Bearer canary-key\n", b"Bearer canary-key\r\nx: y", b"canary-key\0"])
async def test_a_key_with_a_line_break_is_refused_unseen(kind: str, value: bytes) -> None:
    """S8, S9: no header is smuggled, and no error or traceback shows the key."""
    async with serve(plain()) as server, opened(kind) as transport:
        with pytest.raises(ConfigurationError, match="line break") as caught:
            await transport.send(post(server, headers=((b"authorization", value),)))
        assert server.requests == []
    assert "canary-key" not in words(caught.value)
