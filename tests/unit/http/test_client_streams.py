"""The client's streams: retries until a good answer begins, the total limit, leaving early."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import (
    InvalidRequestError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
)
from agentforge.http import HttpClient, HttpTimeouts
from tests.support.loopback import chunked, plain, serve, stall
from tests.support.scripted_transport import BREAK, REQUEST, Script, client_over, read


async def test_a_stream() -> None:
    """Status, headers and chunks are handed through; the exchange is left at the end."""
    script = Script([(200, {"x-request-id": "r"}, [b"a", b"b"])])
    client, _ = client_over(script)
    async with client.stream(REQUEST) as stream:
        assert (stream.status, stream.headers) == (200, {"x-request-id": "r"})
        assert [chunk async for chunk in stream.chunks] == [b"a", b"b"]
        assert script.left == 0
    assert script.left == 1


@pytest.mark.parametrize(
    "first", [(503, {}, [b"down"]), ModelConnectionError("reset"), (200, {}, [])], ids=["503", "a reset", "good"]
)
async def test_a_stream_is_retried_until_a_good_answer_begins(first: Any) -> None:
    """Each failed exchange is left before the next begins."""
    script = Script([first, (200, {}, [b"good"])])
    client, sleeper = client_over(script)
    good = first == (200, {}, [])
    assert await read(client) == ([] if good else [b"good"])
    assert (script.sent, len(sleeper.slept)) == ((1, 0) if good else (2, 1))
    assert script.left == script.sent - isinstance(first, ModelError)


async def test_a_refused_stream_reads_why() -> None:
    """The body of the refusal is read, in bounds, and becomes the error."""
    body = [b'{"error": {"message": "no such', b' model"}}']
    client, sleeper = client_over(Script([(404, {"request-id": "r"}, [*body])]))
    with pytest.raises(ModelError, match="status 404: no such model") as caught:
        await read(client)
    assert (caught.value.request_id, sleeper.slept) == ("r", [])


async def test_a_refusal_without_end_is_cut() -> None:
    """S13: no more than its beginning is read."""
    taken: list[bytes] = []

    class Endless(Script):
        async def _chunks(self, chunks: list[bytes | BaseException]) -> AsyncIterator[bytes]:
            while True:
                taken.append(b"x" * 10_000)
                yield taken[-1]

    client, _ = client_over(Endless([(400, {}, [])]))
    with pytest.raises(InvalidRequestError):
        await read(client)
    assert len(taken) == 7


async def test_nothing_is_sent_again_once_chunks_flow() -> None:
    """F2: a break after the beginning reaches the reader, with what came before it."""
    script = Script([(200, {}, [b"text", BREAK]), (200, {}, [b"again"])])
    client, sleeper = client_over(script)
    async with client.stream(REQUEST) as stream:
        assert await anext(stream.chunks) == b"text"
        with pytest.raises(ModelConnectionError):
            await anext(stream.chunks)
    assert (script.sent, sleeper.slept, script.left) == (1, [], 1)


async def test_the_total_limit_of_a_stream() -> None:
    """F8: it ends the wait for a chunk, also in a task that did not open the stream."""
    for other_task in (False, True):
        script = Script([(200, {}, [b"a"])], hang=True)
        client, _ = client_over(script)
        async with client.stream(replace(REQUEST, timeouts=HttpTimeouts(total=0.05))) as stream:
            assert await anext(stream.chunks) == b"a"
            waiting = anext(stream.chunks)
            with pytest.raises(ModelTimeoutError, match="the total limit"):
                await (asyncio.ensure_future(waiting) if other_task else waiting)
        assert script.left == 1


async def test_the_total_limit_does_not_interrupt_the_readers_work() -> None:
    """It is raised when the next chunk is asked for."""
    client, _ = client_over(Script([(200, {}, [b"a", b"b"])]))
    async with client.stream(replace(REQUEST, timeouts=HttpTimeouts(total=0.02))) as stream:
        assert await anext(stream.chunks) == b"a"
        await asyncio.sleep(0.05)
        with pytest.raises(ModelTimeoutError):
            await anext(stream.chunks)


async def test_the_total_limit_covers_the_opening() -> None:
    """A stream whose headers never come ends too."""
    async with serve(stall()) as server:
        client = HttpClient()
        with pytest.raises(ModelTimeoutError, match="the total limit"):
            await read(client, replace(REQUEST, url=server.url(), timeouts=HttpTimeouts(total=0.1)))
        await client.aclose()


async def test_cancelling_a_reader_is_no_time_out() -> None:
    """A cancellation from outside stays one, also when a limit is set."""
    script = Script([(200, {}, [])], hang=True)
    client, _ = client_over(script)
    task = asyncio.ensure_future(read(client))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert script.left == 1


async def test_leaving_a_stream_early() -> None:
    """F26: the exchange is closed on a real socket, nothing is left over, the next request works."""
    async with serve(chunked(b"a", after=stall()), plain()) as server:
        client = HttpClient()
        request = replace(REQUEST, url=server.url())
        async with client.stream(request) as stream:
            async for chunk in stream.chunks:
                assert chunk == b"a"
                break
        await server.all_closed()
        assert (await client.send(request)).status == 200
        await client.aclose()
