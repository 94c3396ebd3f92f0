"""The model over a transport: what it sends, raises, closes and keeps to itself."""

from __future__ import annotations

import asyncio
import io
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    ConfigurationError,
    InvalidRequestError,
    ModelConnectionError,
    OverloadedError,
    ProtocolError,
    StreamTruncatedError,
)
from agentforge.http import HttpTimeouts, HttpxTransport, RetryPolicy
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatMessage,
    ChatModel,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    FinishReason,
    History,
    ResponseDone,
    TextDelta,
    ToolCallDelta,
    ToolCallReady,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UsageEvent,
    UserMessage,
)
from agentforge_openai import OpenAiChatModel
from plugins.openai.tests.support import (
    GOOD,
    WEATHER,
    FakeTransport,
    delta,
    message,
    model_on,
    piece,
    sse,
)

ASK = ChatRequest("q")
KEY = "sk-canary-0123456789"


async def all_of(model: OpenAiChatModel, request: ChatRequest = ASK) -> list[ChatEvent]:
    return [event async for event in model.stream(request)]


def response_of(events: list[ChatEvent]) -> ChatResponse:
    assert isinstance(events[-1], ResponseDone)
    return events[-1].response


def test_it_is_a_chat_model() -> None:
    assert isinstance(model_on(FakeTransport()), ChatModel)


async def test_plain_and_streamed_give_the_same_response() -> None:
    usage = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}
    whole = {"id": "r", "model": "m", "usage": usage, **message(content="hello")}
    chunks = [
        {"id": "r", "model": "m", **delta(role="assistant", content="hel")},
        delta("stop", content="lo"),
        {"choices": [], "usage": usage},
    ]
    model = model_on(FakeTransport(whole, [sse(*chunks)]))
    assert await model.chat(ASK) == response_of(await all_of(model))


async def test_a_server_that_answers_whole_is_understood_as_a_stream() -> None:
    whole = message("tool_calls", content="wait", reasoning_content="hm", tool_calls=[piece("a", '{"x": 1}', id="c1")])
    transport = FakeTransport({**whole, "usage": {"prompt_tokens": 1}})
    events = await all_of(model_on(transport))
    assert [type(event).__name__ for event in events] == [
        "ThinkingDelta",
        "TextDelta",
        "ToolCallDelta",
        "UsageEvent",
        "ToolCallReady",
        "ResponseDone",
    ]
    assert isinstance(events[2], ToolCallDelta)
    assert isinstance(events[3], UsageEvent)
    assert isinstance(events[4], ToolCallReady)
    assert response_of(events).finish_reason is FinishReason.TOOL_EXECUTION


# -- failures -------------------------------------------------------------------------------------


async def test_a_refused_key_is_not_tried_again_and_does_not_show() -> None:
    transport = FakeTransport(
        (401, {"error": {"message": f"Incorrect key {KEY}", "code": "invalid_api_key", "param": KEY}})
    )
    model = model_on(transport, api_key=KEY, max_retries=3)
    with pytest.raises(AuthenticationError) as caught:
        await model.chat(ASK)
    assert len(transport.requests) == 1
    assert KEY not in f"{caught.value}{caught.value.details}{caught.value.args}"


async def test_an_overloaded_server_is_asked_again_as_often_as_allowed() -> None:
    busy = (503, {"error": {"message": "busy"}})
    transport = FakeTransport(busy, GOOD, headers={"retry-after-ms": "1"})
    assert (await model_on(transport, max_retries=1).chat(ASK)).ai_message.text == "ok"
    assert len(transport.requests) == 2
    never = FakeTransport(busy)
    with pytest.raises(OverloadedError):
        await model_on(never, max_retries=0).chat(ASK)
    assert len(never.requests) == 1


async def test_a_stream_is_tried_again_before_its_first_event_only() -> None:
    broken = [sse(delta(content="par"), done=False), ModelConnectionError("reset")]
    transport = FakeTransport((503, b""), broken, headers={"retry-after-ms": "1"})
    stream = model_on(transport, max_retries=5).stream(ASK)
    assert await anext(stream) == TextDelta("par")
    with pytest.raises(ModelConnectionError) as caught:
        await anext(stream)
    assert len(transport.requests) == 2
    assert caught.value.details["partial_text"] == "par"
    assert transport.open_streams == 0


async def test_a_truncated_stream_is_an_error_and_closed() -> None:
    transport = FakeTransport([sse(delta(content="par"), done=False)])
    with pytest.raises(StreamTruncatedError) as caught:
        await all_of(model_on(transport))
    assert caught.value.partial_text == "par"
    assert transport.open_streams == 0


async def test_closing_the_generator_closes_the_connection() -> None:
    transport = FakeTransport([sse(delta(content="a"), done=False), sse(delta(content="b"))])
    stream = model_on(transport).stream(ASK)
    assert await anext(stream) == TextDelta("a")
    assert transport.open_streams == 1
    await stream.aclose()
    assert transport.open_streams == 0


async def test_what_follows_the_end_mark_is_read_away_so_that_the_connection_can_be_used_again() -> None:
    seen: list[str] = []

    class Watched(FakeTransport):
        def stream(self, request: Any) -> Any:
            return _watched(super().stream(request), seen)

    transport = Watched([sse(delta("stop", content="a")), b": bye\n\n"])
    assert response_of(await all_of(model_on(transport))).ai_message.text == "a"
    assert seen == ["to the end"]


@asynccontextmanager
async def _watched(inner: Any, seen: list[str]) -> AsyncIterator[Any]:
    async with inner as answer:
        chunks = answer.chunks

        async def watch() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                yield chunk
            seen.append("to the end")

        answer.chunks = watch()
        yield answer


@pytest.mark.parametrize("kind", ["text/event-stream", "application/json", "text/html"])
async def test_what_answers_a_streamed_request_is_bounded_whatever_it_is(kind: str) -> None:
    """An endless answer ends at ``max_body_bytes``, and the connection with it."""
    transport = FakeTransport(_endless(sse(delta(content="x"), done=False)), headers={"content-type": kind})
    model = model_on(transport, max_body_bytes=5000)
    with pytest.raises(ProtocolError, match=r"max_body_bytes \(5000 bytes\)"):
        await all_of(model)
    assert transport.open_streams == 0


def _endless(chunk: bytes) -> Iterator[bytes]:
    while True:
        yield chunk


async def test_a_page_without_a_type_is_shown() -> None:
    model = model_on(FakeTransport([b"<html>Sign", b" in</html>"], headers={"content-type": ""}))
    with pytest.raises(ProtocolError, match="Sign in"):
        await all_of(model)


async def test_the_response_does_not_wait_for_a_server_that_keeps_the_stream_open() -> None:
    released = asyncio.Event()

    class Lingering(FakeTransport):
        def stream(self, request: Any) -> Any:
            return _lingering(super().stream(request), released)

    model = model_on(Lingering([sse(delta("stop", content="a"))]))
    seen: list[ChatEvent] = []
    async with asyncio.timeout(20):
        async for event in model.stream(ASK):
            seen.append(event)
            if isinstance(event, ResponseDone):
                released.set()
    assert response_of(seen).ai_message.text == "a"


async def test_a_server_that_keeps_its_streams_open_is_waited_for_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agentforge.provider.wire_model._DRAIN_SECONDS", 0.01)
    waited = []

    class Never(asyncio.Event):
        async def wait(self) -> Any:
            waited.append(1)
            return await super().wait()

    class Lingering(FakeTransport):
        def stream(self, request: Any) -> Any:
            return _lingering(super().stream(request), Never())

    model = model_on(Lingering(*[[sse(delta("stop", content="a"))]] * 3))
    for _ in range(3):
        await all_of(model)

    assert len(waited) == 1


@asynccontextmanager
async def _lingering(inner: Any, released: asyncio.Event) -> AsyncIterator[Any]:
    async with inner as answer:
        chunks = answer.chunks

        async def linger() -> AsyncIterator[bytes]:
            async for chunk in chunks:
                yield chunk
            await released.wait()

        answer.chunks = linger()
        yield answer


# -- requests -------------------------------------------------------------------------------------


async def test_a_broken_history_is_mended_and_the_response_says_so() -> None:
    """Case MO-13: the second call of one id has no result."""
    call = ToolExecutionRequest("b9", "ping", "{}")
    messages: list[ChatMessage] = [
        UserMessage("go"),
        AiMessage([call]),
        ToolExecutionResultMessage("b9", "ping", "ok"),
        AiMessage([call]),
        UserMessage("again"),
    ]
    transport = FakeTransport()
    response = await model_on(transport).chat(ChatRequest(messages))
    roles = [entry["role"] for entry in transport.bodies[0]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "user"]
    assert [notice.code for notice in response.notices] == ["history_call_without_result"]


@pytest.mark.parametrize(
    ("messages", "what"),
    [([], "no message"), ([ToolExecutionResultMessage("c1", "ping", "ok")], "results belong to no call")],
)
async def test_a_request_without_a_message_is_refused_before_it_is_sent(messages: list[ChatMessage], what: str) -> None:
    transport = FakeTransport()
    model = model_on(transport)
    with pytest.raises(InvalidRequestError, match=what):
        await model.chat(ChatRequest(messages))
    with pytest.raises(InvalidRequestError, match=what):
        await all_of(model, ChatRequest(messages))
    assert transport.requests == []


async def test_a_history_is_sent_as_it_is() -> None:
    transport = FakeTransport()
    request = ChatRequest(History.of([UserMessage("q")]))
    assert isinstance(request.messages, History)
    response = await model_on(transport).chat(request)
    assert response.notices == ()


async def test_headers_are_prepared_and_a_users_own_win() -> None:
    transport = FakeTransport()
    model = model_on(
        transport, "openai", organization="org-1", project="proj-1", headers={"X-Trace": "t", "Accept": "text/plain"}
    )
    await model.chat(ASK)
    await model.chat(ASK)
    assert transport.requests[0].headers is transport.requests[1].headers
    assert transport.header("openai-organization") == "org-1"
    assert transport.header("openai-project") == "proj-1"
    assert transport.header("x-trace") == "t"
    assert transport.header("accept") == "text/plain"
    assert transport.header("content-type") == "application/json"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (None, HttpTimeouts()),
        (5, HttpTimeouts(connect=5, read=5, write=5, pool=5, total=5)),
        (30.0, HttpTimeouts(connect=10, read=30, write=30, pool=30, total=30)),
        (HttpTimeouts(read=1), HttpTimeouts(read=1)),
    ],
)
async def test_timeouts_reach_the_transport(given: Any, expected: HttpTimeouts) -> None:
    transport = FakeTransport()
    await model_on(transport, timeouts=given).chat(ASK)
    assert transport.requests[0].timeouts == expected


async def test_another_model_of_a_request_is_asked_at_its_own_address() -> None:
    transport = FakeTransport()
    model = model_on(transport, "azure", api_version="v1", model="first")
    await model.chat(ChatRequest("q", ChatRequestParameters(model_name="second")))
    assert "/deployments/second/" in transport.requests[0].url
    assert model.model_name == "first"


def test_the_key_shows_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    transport = FakeTransport()
    model = model_on(transport, api_key=KEY, headers={"X-Api-Key": "canary word-1"})
    asyncio.run(model.chat(ASK))
    shown = io.StringIO()
    print(model, repr(model), vars(model), model.secrets, file=shown)
    assert KEY not in repr(model)
    assert KEY not in caplog.text
    assert model.secrets.mask(f"{KEY} canary word-1, word-1") == "*** ***, ***"
    assert "word-1" not in repr(model)


async def test_a_model_is_a_context_manager_and_closes_twice() -> None:
    transport = FakeTransport()
    async with model_on(transport) as model:
        await model.chat(ASK)
    await model.aclose()
    assert not transport.closed  # a transport that was given stays its owner's


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"http_client": object(), "transport": "aiohttp"}, "goes with transport 'httpx'"),
        ({"http_client": object(), "verify": False}, "without settings of connections"),
        ({"http_client": object(), "max_connections": 5}, "without settings of connections"),
        ({"transport": "carrier-pigeon"}, "carrier-pigeon"),
        ({"transport": HttpxTransport, "proxy": "http://127.0.0.1:9"}, "of your own"),
    ],
)
def test_transport_options_that_exclude_each_other_are_refused(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigurationError, match=what):
        OpenAiChatModel(model="m", base_url="https://llm.example/v1", **options)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"proxy": "http://127.0.0.1:9"},
        {"ca_bundle": "/no/such.pem"},
        {"verify": False},
        {"max_connections": 5, "max_body_bytes": 1024},
        {"transport": HttpxTransport},
        {"retry": RetryPolicy(max_retries=1, base=0.1)},
    ],
)
def test_transport_options_are_known_to_the_transport(options: dict[str, Any]) -> None:
    """Nothing is built or connected before the first request."""
    assert OpenAiChatModel(model="m", base_url="https://llm.example/v1", **options).profile.name == "generic"


# -- tools over a schema --------------------------------------------------------------------------


async def test_tools_over_a_schema_are_not_on_the_wire_and_calls_come_all_the_same() -> None:
    answer = message(content='{"calls": [{"tool": "get_weather", "arguments": {"city": "Oslo"}}]}')
    transport = FakeTransport(answer, [sse(delta("stop", content=answer["choices"][0]["message"]["content"]))])
    model = model_on(transport, tool_mode="json_schema", defaults=ChatRequestParameters(tools=(WEATHER,), seed=4))
    assert model.profile.tool_mode == "json_schema"
    response = await model.chat(ASK)
    streamed = response_of(await all_of(model))
    for body in transport.bodies:
        assert "tools" not in body
        assert body["response_format"]["type"] == "json_schema"
        assert body["seed"] == 4
    for reply in (response, streamed):
        (call,) = reply.ai_message.tool_execution_requests
        assert (call.name, call.arguments_as_map()) == ("get_weather", {"city": "Oslo"})


async def test_without_tools_such_a_model_answers_as_any_other() -> None:
    transport = FakeTransport()
    response = await model_on(transport, tool_mode="json_schema").chat(ASK)
    assert response.ai_message.text == "ok"
    assert "response_format" not in transport.bodies[0]


def test_tools_over_a_schema_need_a_model_that_is_held_to_one() -> None:
    with pytest.raises(ConfigurationError, match="cannot be held to a JSON Schema"):
        model_on(FakeTransport(), "deepseek", tool_mode="json_schema")


async def test_a_model_without_tools_refuses_or_drops_them() -> None:
    transport = FakeTransport()
    request = ChatRequest("q", ChatRequestParameters(tools=(WEATHER,), tool_choice=ToolChoice.AUTO))
    overrides = {"tool_mode": "none", "unsupported": {"tools": "drop"}}
    response = await model_on(transport, profile_overrides=overrides).chat(request)
    assert set(transport.bodies[0]) == {"model", "messages"}
    assert [notice.details["feature"] for notice in response.notices] == ["tools"]
