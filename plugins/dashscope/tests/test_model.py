"""The model over a transport and over a real socket: addresses, headers, streams, and endpoints that fail."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    ConfigurationError,
    ModelConnectionError,
    ModelError,
    ModelTimeoutError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
)
from agentforge.http import HttpTimeouts
from agentforge.model import (
    ChatEvent,
    ChatRequest,
    ChatRequestParameters,
    ResponseDone,
    TextDelta,
    ToolCallDelta,
    ToolChoice,
)
from agentforge.testing import ScriptedEndpoint, call, calls
from agentforge.testing.contracts.streams import check_stream, same_reply
from agentforge_dashscope import VENDORS, DashScopeChatModel, vendor_row
from plugins.dashscope.tests.support import GOOD, FakeTransport, call_piece, event, events, exchange, model_on, reply
from tests.support.wire_exchange import AT_ONCE, TIME, WEATHER, calls_of

HOME = "https://dashscope.aliyuncs.com/api/v1/services/aigc"


async def all_events(model: DashScopeChatModel, request: ChatRequest | None = None) -> list[ChatEvent]:
    async with aclosing(model.stream(request or ChatRequest("q"))) as found:
        return [each async for each in found]


# -- addresses and headers ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({}, f"{HOME}/text-generation/generation"),
        ({"model": "qwen3-vl-plus", "reasoning_effort": "none"}, f"{HOME}/multimodal-generation/generation"),
        ({"model": "qwen3-max"}, f"{HOME}/text-generation/generation"),
        ({"model": "qwen3.6-plus"}, f"{HOME}/multimodal-generation/generation"),
        ({"model": "qwen3.7-max"}, f"{HOME}/text-generation/generation"),
        ({"model": "qwen3.8-max"}, f"{HOME}/multimodal-generation/generation"),
        ({"model": "qwen2-audio-instruct"}, f"{HOME}/multimodal-generation/generation"),
        ({"multimodal": True}, f"{HOME}/multimodal-generation/generation"),
        ({"model": "qwen3-vl-plus", "multimodal": False}, f"{HOME}/text-generation/generation"),
        (
            {"vendor": "dashscope-intl"},
            "https://dashscope-intl.aliyuncs.com/api/v1/services/aigc/text-generation/generation",
        ),
        (
            {"base_url": "https://llm.example/gate"},
            "https://llm.example/gate/api/v1/services/aigc/text-generation/generation",
        ),
        (
            {"base_url": "https://llm.example/gate/api"},
            "https://llm.example/gate/api/v1/services/aigc/text-generation/generation",
        ),
        (
            {"base_url": "https://llm.example/gate/v1/"},
            "https://llm.example/gate/v1/services/aigc/text-generation/generation",
        ),
    ],
)
async def test_the_model_is_asked_at_one_of_two_paths(options: dict[str, Any], url: str) -> None:
    """By the kind of the model, whatever form the base has."""
    transport = FakeTransport([events(reply(content="ok"))])
    options.pop("reasoning_effort", None)
    await all_events(model_on(transport, **options))
    assert transport.requests[-1].url == url


async def test_a_request_may_name_another_model() -> None:
    """Which has its own path, form and families."""
    transport = FakeTransport([events(reply(content="ok"))])
    await all_events(model_on(transport), ChatRequest("q", ChatRequestParameters(model_name="qwen3-vl-plus")))
    assert transport.requests[-1].url == f"{HOME}/multimodal-generation/generation"
    assert transport.bodies[-1]["model"] == "qwen3-vl-plus"
    assert transport.bodies[-1]["input"]["messages"] == [{"role": "user", "content": [{"text": "q"}]}]


async def test_headers_say_who_asks_and_whether_for_a_stream() -> None:
    transport = FakeTransport(GOOD)
    model = model_on(transport, workspace="ws-1", headers={"x-team": "blue"})
    await model.chat(ChatRequest("q"))
    assert transport.header("authorization") == "Bearer key-for-tests"
    assert (transport.header("x-dashscope-workspace"), transport.header("x-team")) == ("ws-1", "blue")
    assert transport.header("x-dashscope-sse") is None
    transport.answers = [[events(reply(content="ok"))]]
    await all_events(model)
    assert transport.header("x-dashscope-sse") == "enable"
    assert transport.header("authorization") == "Bearer key-for-tests"


def test_the_row_is_that_of_the_address() -> None:
    """A key of the environment goes to the vendor's own hosts only."""
    environment = {"DASHSCOPE_API_KEY": "k", "DASHSCOPE_HTTP_BASE_URL": "https://other.example/api/v1"}

    def made(**options: Any) -> DashScopeChatModel:
        return DashScopeChatModel(model="qwen-plus", environment=environment, **options)

    assert repr(made(base_url="https://dashscope-intl.aliyuncs.com/api/v1")).startswith(
        "DashScopeChatModel(vendor='dashscope-intl'"
    )
    assert made(base_url="https://llm.example/api/v1").profile.name == "generic"
    assert made().base_url == "https://other.example/api/v1"
    assert made(vendor="dashscope-intl").base_url == "https://dashscope-intl.aliyuncs.com/api/v1"
    with pytest.raises(ConfigurationError, match="DASHSCOPE_API_KEY"):
        DashScopeChatModel(model="qwen-plus", environment={})


def test_a_row_of_ones_own_starts_from_another() -> None:
    row = {"like": "dashscope", "name": "house", "base_url": "https://llm.example/api/v1", "sees": "^house-eye"}
    model = DashScopeChatModel(model="house-eye-1", vendor=row, environment={})
    assert model.profile.images and model.profile.name == "house"
    assert vendor_row("dashscope") is VENDORS["dashscope"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"incremental_output": "yes"}, "incremental_output must be true or false"),
        ({"multimodal": 1}, "multimodal must be true or false"),
        ({"base_url": "https://dashscope.aliyuncs.com/compatible-mode/v1"}, "compatible API"),
        ({"vendor": "nobody"}, "there is no vendor row 'nobody'"),
    ],
)
def test_settings_that_cannot_be_are_found_at_once(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message) as caught:
        DashScopeChatModel(**{"model": "m", "api_key": "k", "environment": {}, **options})
    assert caught.value.next_step


# -- answers ---------------------------------------------------------------------------------------


async def test_a_stream_and_a_plain_answer_are_one_reply() -> None:
    turn = calls(call("get_weather", city="Oslo"), call("get_time", city="Oslo"), text="I look.", thinking="Hm.")
    asked = ChatRequest("q", ChatRequestParameters(tools=[WEATHER, TIME]))
    async with ScriptedEndpoint([turn, turn, turn]) as endpoint:
        options: dict[str, Any] = {"model": "qwen-plus", "base_url": endpoint.base_url, "max_retries": 0}
        async with DashScopeChatModel(**options) as model:
            plain = await model.chat(asked)
            growing = check_stream(await all_events(model, asked))
        async with DashScopeChatModel(**options, incremental_output=False) as model:
            repeating = check_stream(await all_events(model, asked))
    same_reply(plain, growing)
    assert growing.ai_message == repeating.ai_message
    flags = [request.body["parameters"].get("incremental_output") for request in endpoint.requests]
    assert flags == [None, True, False]


async def test_one_request_may_ask_for_events_that_repeat_everything() -> None:
    """By a custom parameter; what is shown is the same."""
    custom = ChatRequestParameters(custom_parameters={"incremental_output": False})
    async with (
        ScriptedEndpoint(["A text of some length, 杭州."], repeat=True) as endpoint,
        DashScopeChatModel(model="qwen-plus", base_url=endpoint.base_url) as model,
    ):
        repeated = await all_events(model, ChatRequest("q", custom))
        grown = await all_events(model)
    texts = [[each.text for each in found if isinstance(each, TextDelta)] for found in (repeated, grown)]
    assert texts[0] == texts[1] and len(texts[0]) > 2


async def test_an_error_under_a_good_status_is_an_error() -> None:
    """Plain, and where a stream was asked for."""
    failed = {"code": "InvalidApiKey", "message": "Invalid API-key provided.", "request_id": "r-9"}
    for asked in (lambda model: model.chat(ChatRequest("q")), all_events):
        with pytest.raises(AuthenticationError) as caught:
            await asked(model_on(FakeTransport(failed)))
        assert (caught.value.status, caught.value.request_id) == (401, "r-9")


async def test_a_server_that_does_not_stream_is_read_all_the_same() -> None:
    found = await all_events(model_on(FakeTransport(GOOD)))
    assert check_stream(found).ai_message.text == "ok"


async def test_the_key_is_in_no_error() -> None:
    said = {"code": "InvalidApiKey", "message": "key-for-tests is wrong", "request_id": "r"}
    with pytest.raises(AuthenticationError) as caught:
        await model_on(FakeTransport((401, said))).chat(ChatRequest("q"))
    assert "key-for-tests" not in str(caught.value)


def test_tools_in_the_prompt_need_no_tools() -> None:
    answer = reply(content='{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}')
    asked = ChatRequestParameters(tools=[WEATHER], tool_choice=ToolChoice.AUTO)
    sent, _ = exchange("q", asked, answer, tool_mode="json_schema")
    assert "tools" not in sent["parameters"]
    assert "get_weather" in str(sent["input"]["messages"])


# -- endpoints that fail, on a real socket -----------------------------------------------------------


async def asked_of(*turns: Any, **options: Any) -> tuple[ModelError | None, list[ChatEvent], int]:
    """What a stream ended with, what was shown of it, and how many requests came."""
    shown: list[ChatEvent] = []
    failed: ModelError | None = None
    settings = {"model": "qwen-plus", "retry": AT_ONCE, **options}
    async with (
        ScriptedEndpoint(turns) as endpoint,
        DashScopeChatModel(base_url=endpoint.base_url, **settings) as model,
    ):
        try:
            async with aclosing(model.stream(ChatRequest("q"))) as found:
                async for each in found:
                    shown.append(each)
        except ModelError as error:
            failed = error
        return failed, shown, len(endpoint.requests)


LONG = "An answer of some length, in several pieces."


@pytest.mark.parametrize(
    ("turn", "kind"),
    [
        pytest.param({"text": LONG, "disconnect_after": 2}, ModelConnectionError, id="reset"),
        pytest.param({"text": LONG, "truncate_after": 2}, StreamTruncatedError, id="truncated"),
        pytest.param({"text": LONG, "stall_after": 2}, ModelTimeoutError, id="stall"),
        pytest.param(
            {"text": LONG, "error": OverloadedError("busy", status=503)}, OverloadedError, id="an error event"
        ),
    ],
)
@pytest.mark.parametrize("incremental", [True, False])
async def test_a_stream_that_breaks_is_an_error_with_what_was_shown(
    turn: dict[str, Any], kind: type[ModelError], incremental: bool
) -> None:
    """It is not asked again, as part of it was seen."""
    timeouts = HttpTimeouts(read=0.2)
    failed, shown, count = await asked_of(turn, timeouts=timeouts, incremental_output=incremental)
    assert type(failed) is kind and count == 1
    text = "".join(each.text for each in shown if isinstance(each, TextDelta))
    assert text and LONG.startswith(text)
    assert failed.details.get("partial_text", getattr(failed, "partial_text", "")) == text
    assert not any(isinstance(each, ResponseDone) for each in shown)


async def test_a_call_that_was_cut_is_never_told_as_complete() -> None:
    failed, shown, _ = await asked_of({**_calling(), "truncate_after": 2})
    assert type(failed) is StreamTruncatedError
    assert [type(each) for each in shown] == [ToolCallDelta, ToolCallDelta]


def _calling() -> dict[str, Any]:
    return {"calls": [{"id": "c1", "name": "get_weather", "args": {"city": "Oslo, and further cities"}}]}


@pytest.mark.parametrize(
    ("first", "kind"),
    [
        pytest.param({"disconnect": True}, ModelConnectionError, id="reset"),
        pytest.param(
            {"status": 429, "body": {"code": "Throttling.RateQuota", "message": "slow"}}, RateLimitError, id="429"
        ),
        pytest.param(
            {"status": 500, "body": {"code": "InternalError.Algo", "message": "oh"}}, OverloadedError, id="500"
        ),
        pytest.param(
            {
                "status": 429,
                "headers": {"content-type": "text/event-stream"},
                "body": 'id:1\nevent:error\n:HTTP_STATUS/429\ndata:{"code":"Throttling","message":"slow"}\n\n',
            },
            RateLimitError,
            id="429 as an event",
        ),
    ],
)
async def test_what_may_pass_is_asked_again(first: dict[str, Any], kind: type[ModelError]) -> None:
    """Once, by this policy; where it does not pass, the error counts the sendings."""
    failed, shown, count = await asked_of(first, "ok")
    assert failed is None and count == 2 and isinstance(shown[-1], ResponseDone)
    failed, shown, count = await asked_of(first, first)
    assert type(failed) is kind and failed.attempts == count == 2 and shown == []


@pytest.mark.parametrize(
    "body",
    [
        {"code": "Arrearage", "message": "Access denied, please make sure your account is in good standing."},
        {"code": "InvalidApiKey", "message": "Invalid API-key provided."},
        {"code": "PrepaidBillOverdue", "message": "The prepaid bill is overdue."},
    ],
)
async def test_what_does_not_pass_is_not_asked_again(body: dict[str, str]) -> None:
    failed, _, count = await asked_of({"status": 429, "body": body}, "ok")
    assert failed is not None and not failed.retryable and count == 1


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        pytest.param(event("{broken"), ProtocolError, "event 1 of the stream", id="malformed"),
        pytest.param(
            event(reply("null", content="ok")) + event("{broken", 2), ProtocolError, "event 2", id="malformed later"
        ),
        pytest.param(b"", StreamTruncatedError, "no finish reason", id="empty"),
        pytest.param(
            event({"code": "Throttling", "message": "slow"}, kind="error", status=429),
            RateLimitError,
            "status 429: slow",
            id="an error event under a good status",
        ),
    ],
)
async def test_a_stream_of_something_else_is_an_error(body: bytes, kind: type[ModelError], message: str) -> None:
    failed, _, count = await asked_of({"headers": {"content-type": "text/event-stream"}, "body": body.decode()})
    assert type(failed) is kind and message in failed.message and count == 1


async def test_a_page_in_place_of_an_answer_is_told() -> None:
    page = {"headers": {"content-type": "text/html"}, "body": "<html>log in</html>"}
    failed, _, _ = await asked_of(page)
    assert type(failed) is ProtocolError and "log in" in failed.message


async def test_plain_requests_are_retried_too() -> None:
    turns = [{"status": 503, "body": {"code": "ModelUnavailable", "message": "later"}}, _calling()]
    async with (
        ScriptedEndpoint(turns) as endpoint,
        DashScopeChatModel(model="qwen-plus", base_url=endpoint.base_url, retry=AT_ONCE) as model,
    ):
        response = await model.chat(ChatRequest("q", ChatRequestParameters(tools=[WEATHER])))
    assert calls_of(response)[0][1] == "get_weather" and len(endpoint.requests) == 2


async def test_many_streams_at_once_do_not_mix() -> None:
    bodies = [
        [
            events(
                reply("null", content=f"{n}"), reply("tool_calls", tool_calls=[call_piece("{}", id="c", name=f"f{n}")])
            )
        ]
        for n in range(5)
    ]
    models = [model_on(FakeTransport(body)) for body in bodies]
    found = await asyncio.gather(*(all_events(model) for model in models))
    assert [check_stream(each).ai_message.text for each in found] == [str(n) for n in range(5)]
