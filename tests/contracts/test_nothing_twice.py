"""After the first conversation nothing is built again: no TLS context, client, schema, validator or tool block."""

from __future__ import annotations

import ssl
from collections import Counter
from collections.abc import Callable
from typing import Any

import aiohttp
import httpx
import jsonschema_rs
import pydantic
import pytest

from agentforge import RunFinished, ToolParameters, ToolService, ToolSpecification, tool
from agentforge.testing import ScriptedEndpoint, call, calls
from agentforge_openai import OpenAiChatModel


class Order(pydantic.BaseModel):
    item: str
    quantity: int = 1


@tool
async def book(order: Order) -> str:
    "Books an order."
    return f"{order.quantity} {order.item}"


@tool
def look(city: str) -> str:
    "Looks."
    return city


ECHO = ToolSpecification("echo", "Echo.", ToolParameters.builder().add_property("text", "string", "", True).build())
TURNS = [calls(call("book", order={"item": "lamp"}), call("look", city="Oslo"), call("echo", text="x")), "done"]


CLASSES = [
    httpx.AsyncHTTPTransport,
    httpx.AsyncClient,
    aiohttp.ClientSession,
    aiohttp.TCPConnector,
    pydantic.TypeAdapter,
]
FUNCTIONS = [(ssl, "create_default_context"), (pydantic, "create_model"), (jsonschema_rs, "validator_cls_for")]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often each expensive thing was made; they still are."""
    counts: Counter[str] = Counter()

    def counting(name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            counts[name] += 1
            return original(*arguments, **options)

        return counted

    for kind in CLASSES:
        monkeypatch.setattr(kind, "__init__", counting(kind.__name__, kind.__init__))
    for module, name in FUNCTIONS:
        monkeypatch.setattr(module, name, counting(name, getattr(module, name)))
    return counts


@pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
async def test_the_second_conversation_builds_nothing(transport: str, made: Counter[str]) -> None:
    service = ToolService(book, look).tool(ECHO, lambda request: "said")
    async with ScriptedEndpoint(TURNS, repeat=True) as endpoint:
        async with OpenAiChatModel(model="scripted", base_url=endpoint.base_url, transport=transport) as model:
            first = await service.chat(model, None, "q")
            after_the_first = dict(made)
            second = await service.chat(model, None, "q")

        for result in (first, second):
            assert [e.result_text() for e in result.tool_executions] == ["1 lamp", "Oslo", "said"]
        assert {"TypeAdapter", "validator_cls_for"} < set(after_the_first), "the measure sees what is built at first"
        assert dict(made) == after_the_first
        assert endpoint.connections == 1
    service.close()


async def test_a_client_of_ones_own_is_used_as_it_is_and_not_closed() -> None:
    async with (
        httpx.AsyncClient(headers={"x-team": "tools"}) as client,
        ScriptedEndpoint(TURNS, repeat=True) as endpoint,
    ):
        async with OpenAiChatModel(model="scripted", base_url=endpoint.base_url, http_client=client) as model:
            plain = await ToolService(book, look).tool(ECHO, lambda request: "said").chat(model, None, "q")
            async with ToolService(book, look).tool(ECHO, lambda request: "said").stream(model, None, "q") as events:
                last = [event async for event in events][-1]
        assert plain.text == "done"
        assert isinstance(last, RunFinished)
        assert last.result.text == "done"
        assert {request.headers["x-team"] for request in endpoint.requests} == {"tools"}
        assert not client.is_closed
