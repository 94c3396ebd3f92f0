"""Faults of a provider on a real socket, for each wire, plain and streamed: what becomes of them, and how often and how
soon a request is sent again. Streams that break are beside this in `tests.contracts.test_llmock`.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from email.utils import formatdate
from typing import Any

import pytest

from agentforge import RunFinished, ToolService
from agentforge.errors import (
    AuthenticationError,
    InvalidRequestError,
    ModelConnectionError,
    ModelError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
    ToolUseFailedError,
)
from agentforge.http import RetryPolicy
from agentforge.model import ChatModel, ChatRequest, ChatResponse, ResponseDone
from agentforge.model.scripted import call
from agentforge.testing import ScriptedEndpoint
from agentforge_anthropic import AnthropicChatModel
from agentforge_openai import OpenAiChatModel, OpenAiResponsesModel
from tests.support.loopback import raw, reset, serve
from tests.support.weather import WeatherTools

WIRES: dict[str, type[Any]] = {
    "chat": OpenAiChatModel,
    "responses": OpenAiResponsesModel,
    "messages": AnthropicChatModel,
}
KEY = "canary-key-of-this-test"
QUICK = RetryPolicy(max_retries=2, base=0.001, cap=0.004, retry_after_cap=60.0)
HTML: dict[str, Any] = {
    "headers": {"content-type": "text/html"},
    "body": f"<html><h1>Sign in</h1>{'x' * 500} {KEY}</html>",
}

wires = pytest.mark.parametrize("wire", WIRES)
both = pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])


@asynccontextmanager
async def model_of(wire: str, base_url: str) -> AsyncIterator[ChatModel]:
    """A model of the wire that counts on nothing but itself."""
    options = {"retry": QUICK, "circuit_breaker": False, "retry_budget": False}
    vendor = {} if wire == "messages" else {"vendor": "generic"}
    base = base_url.removesuffix("/v1") if wire == "messages" else base_url
    async with WIRES[wire](model="some-model", base_url=base, api_key=KEY, **vendor, **options) as model:
        yield model


@asynccontextmanager
async def scripted(wire: str, *turns: Any) -> AsyncIterator[tuple[ChatModel, ScriptedEndpoint]]:
    async with ScriptedEndpoint(turns) as endpoint, model_of(wire, endpoint.base_url) as model:
        yield model, endpoint


async def asked(model: ChatModel, streamed: bool) -> ChatResponse:
    if not streamed:
        return await model.chat(ChatRequest("q"))
    last = [event async for event in model.stream(ChatRequest("q"))][-1]
    assert isinstance(last, ResponseDone)
    return last.response


async def failing(model: ChatModel, streamed: bool) -> ModelError:
    with pytest.raises(ModelError) as caught:
        await asked(model, streamed)
    assert KEY not in f"{caught.value} {caught.value!r} {caught.value.details}"
    return caught.value


# -- the connection (F1) ---------------------------------------------------------------------------


@wires
@both
async def test_a_connection_that_is_reset_before_the_headers_is_made_again(wire: str, streamed: bool) -> None:
    """F1: and where it lasts, it is a typed error after few attempts; no tool ran."""
    async with scripted(wire, {"disconnect": True}, "ok") as (model, endpoint):
        assert (await asked(model, streamed)).ai_message.text == "ok"
        assert len(endpoint.requests) == 2
    tools = WeatherTools()
    async with serve(reset()) as server, model_of(wire, server.url("/v1")) as model:
        service = ToolService(tools)
        with pytest.raises(ModelConnectionError) as caught:
            await (_streamed(service, model) if streamed else service.chat(model, None, "q"))
    assert caught.value.attempts == len(server.requests) == 3
    assert tools.asked == []


async def _streamed(service: ToolService, model: ChatModel) -> Any:
    async with service.stream(model, None, "q") as events:
        last = [event async for event in events][-1]
    assert isinstance(last, RunFinished)
    return last.result


# -- statuses (F9 to F12) --------------------------------------------------------------------------


@wires
@both
async def test_what_may_pass_is_asked_again_with_a_back_off(wire: str, streamed: bool) -> None:
    """F9, F11: twice at the most, for each status of that kind."""
    statuses = (408, 409, 429, 500, 502, 503, 504, 529)
    turns: list[Any] = []
    for status in statuses:
        busy = {"status": status, "body": {"error": {"message": f"busy {status}"}}}
        turns += [busy, busy, "ok", busy, busy, busy]
    async with scripted(wire, *turns) as (model, endpoint):
        for number, status in enumerate(statuses):
            assert (await asked(model, streamed)).ai_message.text == "ok"
            assert len(endpoint.requests) == 6 * number + 3
            error = await failing(model, streamed)
            assert (error.status, error.attempts, len(endpoint.requests)) == (status, 3, 6 * number + 6)
            assert f"busy {status}" in error.message


async def test_the_wait_that_a_provider_asks_for_is_kept() -> None:
    """F9, F10: seconds, milliseconds and a date, on each wire: that long, and not much longer. (All of them at once, as
    the waits are real; how much longer is tested without a clock, in `tests.unit.http.test_retry`.)"""

    async def waited(wire: str, streamed: bool, headers: dict[str, str], least: float, most: float) -> None:
        busy = {"status": 429, "headers": headers, "body": {"error": {"message": "slow down"}}}
        async with scripted(wire, busy, "ok") as (model, _):
            began = time.monotonic()
            assert (await asked(model, streamed)).ai_message.text == "ok"
            took = time.monotonic() - began
        assert least <= took <= most + 1.5, (wire, headers, took)

    await asyncio.gather(
        *(
            waited(wire, streamed, headers, least, most)
            for wire in WIRES
            for streamed in (False, True)
            for headers, least, most in [
                ({"retry-after": "0.3"}, 0.3, 0.36),
                ({"retry-after-ms": "300"}, 0.3, 0.36),
                ({"retry-after": formatdate(time.time() + 2, usegmt=True)}, 0.5, 2.4),
                ({"retry-after": formatdate(time.time() - 60, usegmt=True)}, 0.0, 0.1),
                ({"retry-after": "soon"}, 0.0, 0.1),
            ]
        )
    )


@wires
@both
async def test_a_wait_beyond_the_cap_ends_the_call_at_once(wire: str, streamed: bool) -> None:
    """F10: with the wait named."""
    busy = {"status": 429, "headers": {"retry-after": "86400"}, "body": {"error": {"message": "tomorrow"}}}
    async with scripted(wire, busy, "never") as (model, endpoint):
        error = await failing(model, streamed)
    assert isinstance(error, RateLimitError)
    assert (error.retry_after, len(endpoint.requests)) == (86400.0, 1)
    assert "86400" in str(error)


REFUSALS = {
    400: InvalidRequestError,
    401: AuthenticationError,
    402: RateLimitError,
    403: PermissionDeniedError,
    404: NotFoundError,
    422: InvalidRequestError,
}


@wires
@both
async def test_what_cannot_succeed_is_sent_once(wire: str, streamed: bool) -> None:
    """F12: the provider's words and id are kept, the key in them is masked."""
    body = {"error": {"message": f"no, not with {KEY}", "code": "x1"}}
    turns = [{"status": status, "headers": {"x-request-id": f"req_{status}"}, "body": body} for status in REFUSALS]
    async with scripted(wire, *turns) as (model, endpoint):
        for number, (status, kind) in enumerate(REFUSALS.items(), 1):
            error = await failing(model, streamed)
            assert (type(error), error.attempts, len(endpoint.requests)) == (kind, 1, number)
            assert "no, not with ***" in error.message
            assert (error.request_id, error.provider_code) == (f"req_{status}", "x1")


@wires
@both
async def test_a_quota_that_is_used_up_is_no_matter_of_waiting(wire: str, streamed: bool) -> None:
    spent = {"status": 429, "body": {"error": {"message": "no credit", "code": "insufficient_quota"}}}
    async with scripted(wire, spent, "never") as (model, endpoint):
        error = await failing(model, streamed)
    assert isinstance(error, RateLimitError)
    assert not error.retryable
    assert len(endpoint.requests) == 1


# -- bodies (F14) ----------------------------------------------------------------------------------

#: A body of status 200 that is no answer, and what of it is shown.
NO_ANSWERS: dict[str, tuple[dict[str, Any], str]] = {
    "a page": (HTML, "Sign in"),
    "a page that is called JSON": ({"headers": {"content-type": "application/json"}, "body": "<html>no"}, "<html>no"),
    "nothing": ({"headers": {"content-type": "application/json"}, "body": ""}, "empty"),
    "another object": ({"body": {"status": "starting"}}, ""),
    "a list": ({"body": [1, 2]}, ""),
}


@wires
@both
async def test_a_good_status_over_something_else_is_a_typed_error(wire: str, streamed: bool) -> None:
    """F14: at most 200 characters of it are shown, without the key; it is not asked again. An empty stream is one that
    ended too early."""
    async with scripted(wire, *({"status": 200, **turn} for turn, _ in NO_ANSWERS.values())) as (model, endpoint):
        for number, (name, (_, shown)) in enumerate(NO_ANSWERS.items(), 1):
            error = await failing(model, streamed)
            assert isinstance(error, ProtocolError), name
            assert len(endpoint.requests) == number
            assert len(error.message) < 400
            if streamed and name == "nothing":
                assert isinstance(error, StreamTruncatedError)
            else:
                assert shown in error.message
                assert error.next_step, name


@wires
@both
async def test_a_page_of_a_gateway_with_a_bad_status_is_shown_in_part(wire: str, streamed: bool) -> None:
    """F14."""
    page = {"status": 503, **HTML}
    async with scripted(wire, page, page, page) as (model, _):
        error = await failing(model, streamed)
    assert isinstance(error, OverloadedError)
    assert "Sign in" in error.message and len(error.message) < 300


@wires
async def test_a_body_that_is_longer_than_its_length_is_no_longer_answer(wire: str) -> None:
    """F14: the surplus is dropped, or the exchange counts as broken; it is never read as a part of the answer."""
    content = json.dumps({"error": {"message": "first"}}).encode()
    head = f"HTTP/1.1 400 Bad Request\r\nContent-Type: application/json\r\nContent-Length: {len(content)}\r\n\r\n"
    async with serve(raw(head.encode() + content + b"surplus")) as server, model_of(wire, server.url("/v1")) as model:
        error = await failing(model, False)
    assert isinstance(error, (InvalidRequestError, ModelConnectionError))
    assert "surplus" not in str(error)


# -- errors inside good answers --------------------------------------------------------------------


@wires
async def test_an_error_event_behind_text_has_its_class_and_is_not_asked_again(wire: str) -> None:
    """The status was 200 then, and something was shown; whether asking again may help is said all the same."""
    overloaded = {"type": "overloaded", "message": "no room", "provider_code": "overloaded_error"}
    turn = {"text": "so far ", "error": overloaded}
    async with scripted(wire, turn, "never") as (model, endpoint):
        error = await failing(model, True)
    assert isinstance(error, OverloadedError)
    assert error.retryable
    assert "no room" in error.message
    assert str(error.details["partial_text"]).strip() == "so far"
    assert len(endpoint.requests) == 1


@both
async def test_a_refused_call_is_told_to_the_model_over_a_real_connection(streamed: bool) -> None:
    """On the wire that has such an error."""
    tools = WeatherTools()
    made = '{"name": "get_weather", "arguments": {}}'
    refusal = ToolUseFailedError("did not match schema", details={"failed_generation": made})
    async with scripted("chat", refusal, [call("get_weather", city="Rome")], "Sunny.") as (model, endpoint):
        service = ToolService(tools)
        result = await (_streamed(service, model) if streamed else service.chat(model, None, "q"))
    assert (result.text, tools.asked) == ("Sunny.", ["Rome"])
    sent = [request.body["messages"] for request in endpoint.requests]
    assert sent[1][1] == {"role": "assistant", "content": made}
    assert "did not match schema" in sent[1][2]["content"]
    assert [message["role"] for message in sent[2]] == ["user", "assistant", "tool"]
