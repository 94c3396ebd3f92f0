"""The settings of connections as a bean has them: headers, proxies, trust and the pool, on real sockets."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge, ChatModel, ChatRequest, ToolService, tool
from agentforge.errors import ModelConnectionError, ModelTimeoutError
from agentforge.http import HttpTimeouts
from agentforge.model import ResponseDone
from agentforge.testing import ScriptedEndpoint, call
from agentforge_openai import OpenAiChatModel
from tests.support.loopback import Answer, make_certificate, plain, serve, stall, tunnel

over_both = pytest.mark.parametrize("transport", ["httpx", "aiohttp"])


def reply(text: str = "Hello.") -> Answer:
    message = {"role": "assistant", "content": text}
    return plain(json.dumps({"choices": [{"message": message, "finish_reason": "stop"}]}).encode())


def bean(base_url: str, **settings: Any) -> dict[str, Any]:
    return {"type": "openai.chat", "model": "m", "base_url": base_url, "api_key": "canary-key", **settings}


def app_of(folder: Path, **beans: dict[str, Any]) -> AgentForge:
    """The application of a file with these beans in this folder."""
    file = folder / "agentforge.yaml"
    file.write_text(json.dumps({"beans": beans}), "utf-8")
    return AgentForge.load(file, environment={})


def model_at(endpoint: ScriptedEndpoint, **settings: Any) -> OpenAiChatModel:
    return OpenAiChatModel(base_url=endpoint.base_url, model="m", **settings)


async def said(model: ChatModel) -> str | None:
    return (await model.chat(ChatRequest("Hello"))).ai_message.text


@over_both
async def test_headers_of_ones_own_go_with_every_request_and_win(transport: str, tmp_path: Path) -> None:
    """Each bean has its own; one of a name that we send as well takes its place."""
    async with serve(reply()) as server:
        headers = {"x-team": "blue", "Authorization": "Token canary-own", "user-agent": "desk/1"}
        beans = {
            "own": bean(server.url("/v1"), headers=headers, transport=transport),
            "usual": bean(server.url("/v1"), transport=transport),
        }
        async with app_of(tmp_path, **beans) as app:
            for name in beans:
                assert await said(app.get(name)) == "Hello."
    first, second = server.requests
    assert {name: first.headers[name] for name in ("x-team", "authorization", "user-agent")} == {
        "x-team": "blue",
        "authorization": "Token canary-own",
        "user-agent": "desk/1",
    }
    assert "x-team" not in second.headers and second.headers["authorization"] == "Bearer canary-key"


@over_both
async def test_a_bean_goes_through_its_proxy_with_credentials(transport: str, tmp_path: Path) -> None:
    """The proxy gets the whole address and its own credentials, the other bean goes straight."""
    async with serve(reply("By the proxy.")) as proxy, serve(reply("Straight.")) as server:
        address = f"http://desk:canary-password@127.0.0.1:{proxy.port}"
        beans = {
            "behind": bean("http://llm.example/v1", proxy=address, transport=transport),
            "straight": bean(server.url("/v1"), transport=transport),
        }
        async with app_of(tmp_path, **beans) as app:
            assert await said(app.get("behind")) == "By the proxy."
            assert await said(app.get("straight")) == "Straight."
    [seen] = proxy.requests
    assert seen.target == "http://llm.example/v1/chat/completions"
    assert seen.headers["proxy-authorization"] == "Basic ZGVzazpjYW5hcnktcGFzc3dvcmQ="
    assert "proxy-authorization" not in server.requests[0].headers


@over_both
async def test_a_proxy_that_refuses_is_named_without_its_password(transport: str, tmp_path: Path) -> None:
    """The error says that it was the proxy; it is the circuit of the way through it that counts, not of another."""
    answer = plain(b"", "Proxy-Authenticate: Basic", status="407 Proxy Authentication Required")
    async with serve(answer) as proxy:
        address = f"http://desk:canary-password@127.0.0.1:{proxy.port}"
        settings: dict[str, Any] = {"proxy": address, "transport": transport, "max_retries": 0}
        async with app_of(tmp_path, behind=bean("https://llm.example/v1", **settings)) as app:
            with pytest.raises(ModelConnectionError) as caught:
                await said(app.get("behind"))
    assert "the proxy to 'llm.example' refused" in caught.value.message
    assert not any(secret in str(caught.value) for secret in ("canary-password", "canary-key"))


@over_both
async def test_each_bean_trusts_its_own_certificates(transport: str, tmp_path: Path) -> None:
    """A bundle beside the file, for one bean alone: others, and one that trusts another authority, refuse."""
    (tmp_path / "other").mkdir()
    certificate, context = make_certificate(tmp_path)
    other, _ = make_certificate(tmp_path / "other")
    async with serve(reply(), context=context) as server:
        url, usual = server.url("/v1", "localhost"), {"transport": transport, "max_retries": 0}
        beans = {
            "trusting": bean(url, ca_bundle=certificate.name, **usual),
            "usual": bean(url, **usual),
            "elsewhere": bean(url, ca_bundle=str(other), **usual),
        }
        async with app_of(tmp_path, **beans) as app:
            assert await said(app.get("trusting")) == "Hello."
            for name in ("usual", "elsewhere"):
                with pytest.raises(ModelConnectionError, match="certificate"):
                    await said(app.get(name))
            assert await said(app.get("trusting")) == "Hello."


@over_both
async def test_trust_holds_behind_a_proxy_too(transport: str, tmp_path: Path) -> None:
    """The tunnel carries TLS with the server; the proxy sees neither the key nor the conversation."""
    certificate, context = make_certificate(tmp_path)
    async with serve(reply(), context=context) as server, serve(tunnel(server.port)) as proxy:
        settings: dict[str, Any] = {"proxy": f"http://127.0.0.1:{proxy.port}", "ca_bundle": certificate.name}
        beans = {"behind": bean(server.url("/v1", "localhost"), transport=transport, **settings)}
        async with app_of(tmp_path, **beans) as app:
            assert await said(app.get("behind")) == "Hello."
    [seen] = proxy.requests
    assert (seen.method, seen.target) == ("CONNECT", f"localhost:{server.port}")
    assert "authorization" not in seen.headers


# -- the pool ------------------------------------------------------------------------------------


@pytest.mark.parametrize(("transport", "chats"), [("httpx", 200), ("aiohttp", 1000)])
async def test_f35_a_thousand_chats_over_ten_connections(transport: str, chats: int) -> None:
    """F35: all are answered, over ten connections, in the order of coming."""
    echo = ScriptedEndpoint([lambda request: request.body["messages"][-1]["content"]], repeat=True)
    async with echo as endpoint, model_at(endpoint, transport=transport, max_connections=10) as model:
        answers = await asyncio.gather(*(model.chat(ChatRequest(f"number {n}")) for n in range(chats)))
        assert [each.ai_message.text for each in answers] == [f"number {n}" for n in range(chats)]
        assert endpoint.connections <= 10
        came = [int(request.body["messages"][-1]["content"].split()[1]) for request in endpoint.requests]
        assert all(abs(number - at) < 10 for at, number in enumerate(came))


@over_both
async def test_f35_no_free_connection_within_the_limit_is_an_error_that_names_it(transport: str) -> None:
    """F35: typed, with what to do; it says nothing of the endpoint, so that no circuit counts it."""
    async with serve(stall()) as server:
        model = OpenAiChatModel(
            base_url=server.url("/v1"),
            model="m",
            max_connections=1,
            max_retries=0,
            timeouts=HttpTimeouts(pool=0.01),
            transport=transport,
        )
        async with model:
            first = asyncio.create_task(said(model))
            await server.asked()
            for _ in range(25):
                with pytest.raises(ModelTimeoutError) as caught:
                    await said(model)
                assert "no free connection" in caught.value.message and caught.value.local
                assert "Raise max_connections" in (caught.value.next_step or "")
            first.cancel()
            await asyncio.wait([first])


@over_both
@pytest.mark.parametrize("streamed", [False, True])
async def test_f35_tools_that_ask_the_model_themselves_do_not_wait_for_each_other(
    transport: str, streamed: bool
) -> None:
    """F35: three deep over one connection, which is free again before a tool runs."""
    depth = 3
    turns: list[Any] = [*[call("deeper")] * depth, *(f"back from {n}" for n in reversed(range(depth + 1)))]
    async with ScriptedEndpoint(turns) as endpoint:
        settings: dict[str, Any] = {"base_url": endpoint.base_url, "model": "m", "transport": transport}
        async with OpenAiChatModel(**settings, max_connections=1) as model:

            @tool("Asks the model again.")
            async def deeper() -> str:
                return await ask()

            service = ToolService(deeper)

            async def ask() -> str:
                if not streamed:
                    return (await service.chat(model, None, "Go")).text or ""
                async with service.stream(model, None, "Go") as stream:
                    async for _ in stream:
                        pass
                return stream.result.text or ""

            async with asyncio.timeout(20):
                assert await ask() == "back from 0"
    assert endpoint.connections == 1


async def test_a_stream_holds_its_connection_until_it_is_read_or_left() -> None:
    """Leaving it makes room at once."""
    script = ScriptedEndpoint(["One, two, three.", "Next."])
    async with script as endpoint, model_at(endpoint, max_connections=1) as model:
        events = model.stream(ChatRequest("Count"))
        await anext(events)
        waiting = asyncio.create_task(said(model))
        for _ in range(20):
            await asyncio.sleep(0)
        assert len(endpoint.requests) == 1
        await events.aclose()
        assert await waiting == "Next."


async def test_what_is_read_to_its_end_needs_no_leaving() -> None:
    async with ScriptedEndpoint(["One.", "Two."]) as endpoint, model_at(endpoint, max_connections=1) as model:
        for text in ("One.", "Two."):
            events = [event async for event in model.stream(ChatRequest("Count"))]
            assert isinstance(events[-1], ResponseDone) and events[-1].response.ai_message.text == text
    assert endpoint.connections == 1
