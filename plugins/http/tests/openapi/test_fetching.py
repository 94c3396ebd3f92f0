"""A description at an address: fetched once, within bounds, from an address without secrets; and what uses it."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge
from agentforge.errors import ConfigurationError
from agentforge.masking import Secrets
from agentforge.plugin import BeanContext, Components
from agentforge.tool.execution import Run
from agentforge_http import Auth, Credentials, HttpSender
from agentforge_http.openapi import OpenApiSettings, OpenApiTools, fetching
from agentforge_http.openapi.fetching import fetch_description
from agentforge_http.openapi.schemes import auth_for
from agentforge_http.openapi.settings_findings import openapi_findings
from plugins.http.tests.openapi.support import document
from plugins.http.tests.support import FakeTransport, executed
from tests.support.loopback import plain, serve, stall

SPEC = document({"/health": {"get": {"operationId": "health"}}})
JSON = {"content-type": "application/json"}


def source_of(transport: Any, *, lazy: bool = True, now: Any = time.monotonic, **settings: Any) -> OpenApiTools:
    """A bean, over a transport that sends nothing or a real one."""
    made = OpenApiSettings(**{"spec": "http://127.0.0.1:9/api.json", "base_url": "http://127.0.0.1:9", **settings})
    here = BeanContext("api", Path(), Components((), Path()), Secrets(), lazy=lazy)
    sender = HttpSender.of(made, here, transport=transport)
    fetcher = HttpSender(transport=transport) if isinstance(transport, FakeTransport) else None
    return OpenApiTools(made, here, sender=sender, fetcher=fetcher, now=now)


async def test_runs_that_ask_at_once_share_one_fetch() -> None:
    """And one that ends early ends it for no other."""
    async with serve(stall()) as server:
        slow = source_of("httpx", spec=server.url("/api.json"))
        waiting = [asyncio.create_task(slow.tools(Run())) for _ in range(3)]
        await server.asked()
        await slow.aclose()
        ended = await asyncio.gather(*waiting, return_exceptions=True)
        assert len(server.requests) == 1 and all(isinstance(each, BaseException) for each in ended)

    transport = FakeTransport((200, JSON, SPEC))
    source = source_of(transport)
    tasks = [asyncio.create_task(source.tools(Run())) for _ in range(50)]
    await asyncio.sleep(0)
    tasks[0].cancel()
    found = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(found[0], asyncio.CancelledError)
    assert all(each is source.known_tools() for each in found[1:])
    assert len(transport.requests) == 1
    await source.aclose()


async def test_a_description_is_asked_for_without_what_is_the_apis_own() -> None:
    """With headers of its own; the credentials, headers and query of the API are for the API alone."""
    async with serve(plain(json.dumps(SPEC).encode()), plain()) as server:
        bean = {
            "type": "http.openapi",
            "spec": server.url("/api.json"),
            "base_url": server.url(""),
            "spec_headers": {"X-Docs-Key": "docs-key-1"},
            "headers": {"X-Team": "blue"},
            "query": {"v": "2"},
            "auth": {"bearer": "tok-12345"},
        }
        async with AgentForge.from_mapping({"beans": {"api": bean}}) as app:
            (tool,) = await app.get("api").tools(Run())
            await executed(tool)

    sent = [
        (seen.target, *(seen.headers.get(name) for name in ("x-docs-key", "x-team", "authorization")))
        for seen in server.requests
    ]
    assert sent == [("/api.json", "docs-key-1", None, None), ("/health?v=2", None, "blue", "Bearer tok-12345")]


async def test_a_fetch_that_failed_is_tried_again_by_the_next_run() -> None:
    """The API may have been down for a moment."""
    transport = FakeTransport((404, {}, b""), (200, JSON, SPEC))
    source = source_of(transport)
    with pytest.raises(ConfigurationError, match="cannot be fetched: the API answered with status 404") as caught:
        await source.tools(Run())
    assert caught.value.location == "bean 'api'"  # no container is there to say it
    assert [each.name for each in await source.tools(Run())] == ["health"]
    await source.aclose()


@pytest.mark.parametrize("lazy", [False, True])
async def test_an_optional_description_that_is_away_is_reported_once_and_tried_again(
    lazy: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """Beside the runs, which have none of its tools meanwhile; not at every request."""
    clock = [0.0]
    transport = FakeTransport((404, {}, b""), (404, {}, b""), (200, JSON, SPEC))
    source = source_of(transport, lazy=lazy, required=False, now=lambda: clock[0])
    await source.start()

    async def asked() -> list[str]:
        found = [each.name for each in await source.tools(Run())]
        if (load := source._loading.under_way()) is not None:
            await asyncio.wait([load])
        await asyncio.sleep(0)
        return found

    assert [await asked(), await asked()] == [[], []] and len(transport.requests) == 1
    clock[0] = 10.0
    assert [await asked(), await asked()] == [[], []] and len(transport.requests) == 2
    clock[0] = 20.0
    assert [await asked(), await asked()] == [[], ["health"]] and len(transport.requests) == 3
    assert caplog.text.count("bean 'api' has no tools for now: ") == 1
    await source.aclose()


async def test_an_optional_description_has_to_fit_all_the_same() -> None:
    """What nobody mends by waiting is an error at the start."""
    source = source_of(FakeTransport((200, JSON, SPEC)), lazy=False, required=False, only=["helth"])
    with pytest.raises(ConfigurationError, match=r"only\.0: no operation of the description is named 'helth'"):
        await source.start()
    await source.aclose()


async def test_a_description_that_cannot_be_fetched_is_a_fault_of_its_bean(tmp_path: Path) -> None:
    """With the place in the file, and the address."""
    file = tmp_path / "agentforge.yaml"
    async with serve(plain(b"", status="404 Not Found")) as server:
        url = server.url("/api.json")
        file.write_text(f"beans:\n  pets:\n    type: http.openapi\n    spec: {url}\n")
        with pytest.raises(ConfigurationError) as caught:
            async with AgentForge.load(file):
                pass

    assert caught.value.location is not None and caught.value.location.startswith("bean 'pets', ")
    assert f"the description at {url} cannot be fetched: the API answered with status 404" in caught.value.message


async def test_a_description_that_comes_drop_by_drop_is_waited_for_so_long_and_no_longer(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """However short the pauses between its bytes are."""
    monkeypatch.setattr(fetching, "_TOTAL", 0.1)

    async def dripping(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.02)

    async with serve(dripping) as server:
        sender = HttpSender()
        with pytest.raises(ConfigurationError, match=r"was not there within 0\.1 s"):
            await fetch_description(server.url("/api.json"), sender, max_bytes=1_000, trusted=True)
        await sender.aclose()
        await server.all_closed()


@pytest.mark.parametrize("url", ["http://ann:canary@127.0.0.1/api.json", "https://canary@a.test", "https://[/x"])
async def test_an_address_with_a_password_is_refused_and_not_shown(url: str) -> None:
    """In the settings, which `check` sees, and where a program gives it."""
    (found,) = openapi_findings(OpenApiSettings(spec=url))
    assert found.path == "spec" and "the address of spec" in found.message and "canary" not in str(found)

    with pytest.raises(ConfigurationError, match="the address of the description") as refused:
        await fetch_description(url, HttpSender(transport=FakeTransport()), max_bytes=1_000, trusted=True)
    assert "canary" not in str(refused.value)


async def test_text_in_front_of_a_value_of_the_run_is_sent() -> None:
    """As with a single endpoint."""
    transport = FakeTransport((200, JSON, SPEC), (200, JSON, {}))
    entry = {"value": "user_data.token", "prefix": "Bearer "}
    source = source_of(transport, from_context={"header.Authorization": entry})
    tool = (await source.tools(Run()))[0]
    await executed(tool, run=Run(user_data={"token": "user-token-1"}))

    assert transport.header("authorization") == "Bearer user-token-1"
    await source.aclose()


async def test_a_bean_that_is_closed_sends_nothing_more() -> None:
    """The connection would be nobody's to close."""
    async with serve(plain(json.dumps(SPEC).encode()), plain()) as server:
        source = source_of("httpx", spec=server.url("/api.json"), base_url=server.url(""))
        tool = (await source.tools(Run()))[0]
        await source.aclose()
        execution = await executed(tool)

    assert execution.result_text() == "nothing was sent: the bean of this tool is closed"
    assert len(server.requests) == 1


async def test_a_request_has_one_authorization() -> None:
    """Where two schemes that an operation asks for both would give one."""
    first, second = (Auth(Credentials((("Authorization", f"Bearer {name}"),))) for name in ("first", "second"))
    auth = auth_for((frozenset({"a", "b"}),), {"a": first, "b": second})

    assert auth is not None and (await auth.credentials()).headers == (("Authorization", "Bearer first"),)
