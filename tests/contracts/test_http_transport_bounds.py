"""What every transport promises of bounds, cancellation, closing, and of requests that are none."""

from __future__ import annotations

import asyncio
import gzip
from dataclasses import replace

import pytest

from agentforge.errors import (
    ConfigurationError,
    ModelConnectionError,
    ModelTimeoutError,
    ProtocolError,
)
from agentforge.http import AiohttpTransport, HttpRequest, HttpTransport, HttpxTransport, make_transport
from tests.support.loopback import (
    Answer,
    chunked,
    endless,
    gzipped,
    hang_up,
    plain,
    raw,
    reset,
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
@pytest.mark.parametrize("answer", [plain(b"x" * 50_000), gzipped(b"x" * 50_000)], ids=["plain", "gzip"])
async def test_a_body_as_large_as_the_bound_passes(kind: str, answer: Answer) -> None:
    """Not one byte less is allowed than was said."""
    async with serve(answer) as server, opened(kind, max_body_bytes=50_000) as transport:
        assert len((await transport.send(post(server))).content) == 50_000


@every
async def test_a_compressed_stream_is_bounded_too(kind: str) -> None:
    """A bomb does not pass as a stream."""
    async with serve(gzipped(b"\0" * 20_000_000)) as server, opened(kind, max_body_bytes=100_000) as transport:
        with pytest.raises(ProtocolError, match="larger than 100000 bytes"):
            async with transport.stream(post(server)) as answer:
                _ = [chunk async for chunk in answer.chunks]


@every
async def test_what_was_compressed_is_bounded_lower(kind: str) -> None:
    """S14: unset, ten megabytes after decoding, as so few bytes can hold so many; a plain answer may be larger."""
    body = b"\0" * (10 * 1024 * 1024 + 1)
    async with serve(gzipped(body), plain(body)) as server, opened(kind) as transport:
        with pytest.raises(ProtocolError, match="larger than 10485760 bytes") as caught:
            await transport.send(post(server))
        assert "max_body_bytes" in (caught.value.next_step or "")
        assert len((await transport.send(post(server))).content) == len(body)


@with_options
async def test_more_requests_than_connections_wait(kind: str) -> None:
    """F35: with two connections ten requests at once all succeed."""
    async with serve(plain()) as server, opened(kind, max_connections=2) as transport:
        answers = await asyncio.gather(*(transport.send(post(server)) for _ in range(10)))
    assert [answer.status for answer in answers] == [200] * 10
    assert server.connections <= 2


@with_options
async def test_those_who_wait_come_in_their_order(kind: str) -> None:
    """First come, first served; one that gives up takes nobody's place."""
    async with serve(plain()) as server, opened(kind, max_connections=1) as transport:
        tasks = [asyncio.ensure_future(transport.send(post(server, b"%d" % number))) for number in range(10)]
        await asyncio.sleep(0)
        tasks[3].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
    assert [int(seen.body) for seen in server.requests] == [0, 1, 2, 4, 5, 6, 7, 8, 9]


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
@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("used", [False, True], ids=["new connection", "kept connection"])
@pytest.mark.parametrize("again", [None, 0, 1, 2], ids=["once", "twice at once", "twice", "twice later"])
async def test_cancelling_at_any_moment_frees_the_slot(
    kind: str, streamed: bool, used: bool, again: int | None
) -> None:
    """F25: at each turn of the loop from the start to the wait for an answer, also while the first one is handled."""
    turns = range(24)
    async with serve(*(plain() for _ in turns)) as other:
        for turn in turns:
            answers = [plain(), stall()] if used else [stall()]
            async with serve(*answers) as server, opened(kind, max_connections=1) as transport:
                if used:
                    await transport.send(post(server))
                sending = transport.stream(post(server)).__aenter__() if streamed else transport.send(post(server))
                task = asyncio.ensure_future(sending)
                for _ in range(turn):
                    await asyncio.sleep(0)
                task.cancel()
                if again is not None:
                    for _ in range(again):
                        await asyncio.sleep(0)
                    task.cancel()
                await asyncio.wait([task])
                assert task.cancelled()
                assert (await transport.send(post(other, timeouts=replace(PATIENT, pool=0.0)))).status == 200
                await transport.aclose()
                await server.all_closed()


@with_options
async def test_cancelling_a_handshake_closes_the_connection(kind: str) -> None:
    """The connection that TLS was to be spoken on ends with the request."""
    asked, gone = asyncio.Event(), asyncio.Event()

    async def never_greet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read(1)
        asked.set()
        await reader.read()
        gone.set()
        writer.close()

    listener = await asyncio.start_server(never_greet, "127.0.0.1", 0)
    url = f"https://127.0.0.1:{listener.sockets[0].getsockname()[1]}/"
    async with asyncio.timeout(10), opened(kind) as transport:
        task = asyncio.ensure_future(transport.send(HttpRequest("POST", url, (), b"", PATIENT)))
        await asked.wait()
        task.cancel()
        await asyncio.wait([task])
        await gone.wait()
    listener.close()


# -- kept connections ----------------------------------------------------------------------------


@with_options
@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("end", [hang_up(), reset()], ids=["closed", "reset"])
async def test_a_kept_connection_that_was_closed_is_replaced(kind: str, streamed: bool, end: Answer) -> None:
    """The request is sent again on a new one, as no answer had begun; whoever sent it does not notice."""
    async with serve(plain(), end, plain(b"again"), plain()) as server, opened(kind) as transport:
        await transport.send(post(server))
        if streamed:
            async with transport.stream(post(server)) as answer:
                content = b"".join([chunk async for chunk in answer.chunks])
        else:
            content = (await transport.send(post(server))).content
        await transport.send(post(server))
    assert content == b"again"
    assert [seen.connection for seen in server.requests[:3]] == [1, 1, 2]


@with_options
@pytest.mark.parametrize(
    ("answers", "sent"),
    [
        pytest.param([hang_up()], 1, id="a new connection"),
        pytest.param([plain(), hang_up(), hang_up(), plain()], 3, id="the one in its place too"),
        pytest.param([plain(), reset(FULL + b"abc"), plain()], 2, id="after the answer began"),
        pytest.param([plain(), stall(), plain()], 2, id="no answer in time"),
    ],
)
async def test_what_is_not_sent_again(kind: str, answers: list[Answer], sent: int) -> None:
    """Only a kept connection that was closed without a word, and only once: all else is the retry policy's."""
    async with serve(*answers) as server, opened(kind) as transport:
        request = post(server, timeouts=replace(PATIENT, read=0.3))
        if len(answers) > 1:
            await transport.send(request)
        with pytest.raises((ModelConnectionError, ModelTimeoutError)):
            await transport.send(request)
        assert len(server.requests) == sent


@with_options
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "GET"])
@pytest.mark.parametrize("end", [hang_up(), reset()], ids=["closed", "reset"])
async def test_what_is_not_repeatable_never_arrives_twice(kind: str, end: Answer, method: str) -> None:
    """Whatever its method. It goes on a connection of its own, so that no kept one can break under it; the next may be
    kept again."""
    async with serve(plain(), end, plain()) as server, opened(kind) as transport:
        await transport.send(post(server))
        once = replace(post(server), method=method, repeatable=False)
        with pytest.raises(ModelConnectionError) as caught:
            await transport.send(once)
        assert caught.value.sent
        assert (await transport.send(post(server))).status == 200
        assert (await transport.send(once)).status == 200
    assert [seen.connection for seen in server.requests] == [1, 2, 1, 3]


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
