"""The client's transports: one for each event loop, built once, closed by whom they belong to."""

from __future__ import annotations

import asyncio
import gc
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import (
    ConfigurationError,
)
from agentforge.http import HttpClient
from tests.support.loopback import plain, serve
from tests.support.scripted_transport import REQUEST, Script, answer, client_over, read


async def test_a_given_transport_is_not_closed() -> None:
    """It belongs to whoever gave it."""
    script = Script([answer()])
    client, _ = client_over(script)
    await client.send(REQUEST)
    await client.aclose()
    assert (await client.send(REQUEST)).status == 200
    assert script.closed == 0


def test_each_loop_gets_one_transport() -> None:
    """F36: made at its first request, closed with the client, and let go when its loop is gone."""
    made: list[Script] = []

    def make() -> Script:
        made.append(Script([answer()]))
        return made[-1]

    client = HttpClient(transport=make)

    async def twice(close: bool) -> None:
        await client.send(REQUEST)
        await asyncio.gather(client.send(REQUEST), client.send(REQUEST))
        if close:
            await client.aclose()
            await client.aclose()

    asyncio.run(twice(close=True))
    asyncio.run(twice(close=False))
    asyncio.run(twice(close=True))
    assert [(script.sent, script.closed) for script in made] == [(3, 1), (3, 0), (3, 1)]


def test_a_class_is_a_function_that_makes_transports() -> None:
    """A class has the methods too, but is not meant as the transport itself."""

    class Good(Script):
        def __init__(self) -> None:
            super().__init__([answer()])

    async def main() -> int:
        return (await HttpClient(transport=Good).send(REQUEST)).status

    assert asyncio.run(main()) == 200


async def test_closing_reaches_the_transports_of_other_loops() -> None:
    """A loop that runs elsewhere closes its own, on itself."""
    closed_on: list[asyncio.AbstractEventLoop] = []

    class Noting(Script):
        async def aclose(self) -> None:
            closed_on.append(asyncio.get_running_loop())

    client = HttpClient(transport=lambda: Noting([answer()]))
    other = asyncio.new_event_loop()
    thread = asyncio.create_task(asyncio.to_thread(other.run_forever))
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(client.send(REQUEST), other))
    await client.send(REQUEST)
    await client.aclose()
    await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), other))
    other.call_soon_threadsafe(other.stop)
    await thread
    other.close()
    assert set(closed_on) == {other, asyncio.get_running_loop()}


@pytest.mark.parametrize("name", ["httpx", "aiohttp"])
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_loop_that_ended_without_closing_does_no_harm(name: str, caplog: pytest.LogCaptureFixture) -> None:
    """One client over two short programs works; the first one's connections are let go without an error."""
    client = HttpClient(transport=name)

    async def once(close: bool) -> int:
        async with serve(plain()) as server:
            status = (await client.send(replace(REQUEST, url=server.url()))).status
            if close:
                await client.aclose()
            return status

    assert [asyncio.run(once(close=False)), asyncio.run(once(close=True))] == [200, 200]
    gc.collect()
    assert [record.getMessage() for record in caplog.records] == []


@pytest.mark.parametrize("name", ["httpx", "aiohttp"])
async def test_nothing_is_built_after_the_first_request(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """No context, client, pool, address or time-out value is made again."""
    import ssl

    import aiohttp
    import httpx

    made: list[str] = []

    def count(owner: Any, method: str) -> None:
        original = getattr(owner, method)

        def counted(*args: Any, **kwargs: Any) -> Any:
            made.append(f"{owner.__name__}.{method}")
            return original(*args, **kwargs)

        monkeypatch.setattr(owner, method, counted)

    for owner in (
        httpx.AsyncClient,
        httpx.AsyncHTTPTransport,
        httpx.Limits,
        aiohttp.ClientSession,
        aiohttp.TCPConnector,
    ):
        count(owner, "__init__")
    count(ssl, "create_default_context")
    count(ssl, "SSLContext")
    count(httpx, "URL")
    async with serve(plain()) as server:
        client = HttpClient(transport=name)
        request = replace(REQUEST, url=server.url())
        await client.send(request)
        assert made
        before = len(made)
        for _ in range(3):
            await client.send(request)
            await read(client, request)
        assert (made[before:], server.connections) == ([], 1)
        await client.aclose()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"transport": "htpx"}, "no HTTP transport 'htpx'"),
        ({"transport": "curl"}, "no HTTP transport 'curl'"),
        ({"transport_options": {"verfy": False}}, "no option 'verfy'"),
        ({"transport": "aiohttp", "transport_options": {"client": None}}, "no option 'client'"),
    ],
)
def test_what_is_wrong_is_found_when_the_client_is_made(options: dict[str, Any], message: str) -> None:
    """Before the first request, with a suggestion."""
    with pytest.raises(ConfigurationError, match=message) as caught:
        HttpClient(**options)
    assert caught.value.next_step


def test_a_missing_library_is_found_when_the_client_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(__import__("sys").modules, "aiohttp", None)
    with pytest.raises(ConfigurationError, match="needs the package aiohttp") as caught:
        HttpClient(transport="aiohttp")
    assert "the extra 'fast' of agentforge-kit" in (caught.value.next_step or "")
