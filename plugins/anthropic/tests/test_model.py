"""The model over its transport: addresses, headers, retries, streams and their ends."""

from __future__ import annotations

import logging
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    ConfigurationError,
    OverloadedError,
    StreamTruncatedError,
    UnsupportedFeatureError,
)
from agentforge.model import (
    AiMessage,
    ChatModel,
    ChatRequest,
    ChatRequestParameters,
    FinishReason,
    History,
    ResponseDone,
    ResponseFormat,
    TextDelta,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge_anthropic import VENDORS, AnthropicChatModel, MessagesRow, vendor_row
from plugins.anthropic.tests.support import (
    GOOD,
    FakeTransport,
    body_of,
    call_block,
    ended,
    event,
    message,
    model_on,
    started,
    text_block,
)
from tests.support.wire_exchange import AT_ONCE, TIME, WEATHER

STREAM = started() + text_block(0, "Hel", "lo") + ended()
BUSY = {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}


def test_it_is_a_chat_model() -> None:
    assert isinstance(model_on(), ChatModel)


# -- where requests go, and what they carry -------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "url"),
    [
        ({}, "https://api.anthropic.com/v1/messages"),
        ({"base_url": "https://api.anthropic.com/v1/"}, "https://api.anthropic.com/v1/messages"),
        (
            {"vendor": "generic", "base_url": "https://llm.example/anthropic"},
            "https://llm.example/anthropic/v1/messages",
        ),
        ({"environment": {"ANTHROPIC_BASE_URL": "https://proxy.example"}}, "https://proxy.example/v1/messages"),
    ],
)
async def test_the_address_is_the_base_and_the_path(options: dict[str, Any], url: str) -> None:
    transport = FakeTransport()
    await model_on(transport, **options).chat(ChatRequest("q"))
    assert transport.requests[0].url == url


@pytest.mark.parametrize(
    ("options", "present", "absent"),
    [
        ({}, {"x-api-key": "key-for-tests", "anthropic-version": "2023-06-01"}, ["authorization", "anthropic-beta"]),
        ({"auth": "bearer"}, {"authorization": "Bearer key-for-tests"}, ["x-api-key"]),
        ({"version": "2026-10-21"}, {"anthropic-version": "2026-10-21"}, []),
        (
            {"betas": ["a-2026-01-01", "b-2026-01-01", "a-2026-01-01"]},
            {"anthropic-beta": "a-2026-01-01,b-2026-01-01"},
            [],
        ),
        ({"headers": {"Anthropic-Beta": "mine, a"}, "betas": ["a"]}, {"anthropic-beta": "a,mine"}, []),
        ({"vendor": "generic"}, {"x-api-key": "key-for-tests", "anthropic-version": "2023-06-01"}, []),
    ],
)
async def test_headers_carry_key_version_and_features(
    options: dict[str, Any], present: dict[str, str], absent: list[str]
) -> None:
    """A user's own win; features that a header asks for come beside those of the setting."""
    transport = FakeTransport()
    await model_on(transport, **options).chat(ChatRequest("q"))
    assert {name: transport.header(name) for name in present} == present
    assert not any(transport.header(name) for name in absent)


def test_the_key_comes_from_the_vendors_variable_and_never_goes_elsewhere() -> None:
    environment = {"ANTHROPIC_API_KEY": "sk-1"}
    assert AnthropicChatModel(model="m", environment=environment).secrets.mask("sk-1") == "***"
    other = AnthropicChatModel(model="m", base_url="https://llm.example", environment=environment)
    assert other.secrets.mask("sk-1") == "sk-1"
    with pytest.raises(ConfigurationError) as caught:
        AnthropicChatModel(model="m", environment={})
    assert "ANTHROPIC_API_KEY" in (caught.value.next_step or "")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"vendor": "nobody"}, "there is no vendor row 'nobody'"),
        ({"auth": "basic"}, "auth must be"),
        ({"betas": "one"}, "betas is a list"),
        ({"cache": "everything"}, "cache must be one of"),
        ({"cache_ttl": "2h"}, "cache_ttl must be"),
        ({"thinking_display": "loud"}, "thinking_display must be"),
        ({"profile_overrides": {"max_tool": 1}}, "max_tool"),
    ],
)
def test_a_setting_that_cannot_be_honoured_is_found_at_once(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        model_on(**options)
    assert what in caught.value.message and caught.value.next_step


async def test_a_row_of_ones_own_brings_its_facts() -> None:
    """As for another host that speaks the form."""
    row = replace(
        vendor_row("generic"),
        name="house",
        base_url="https://house.example",
        auth="bearer",
        betas=("tools-2026-01-01",),
        headers={"x-region": "eu"},
    )
    transport = FakeTransport()
    model = model_on(transport, row)
    await model.chat(ChatRequest("q"))
    assert transport.requests[0].url == "https://house.example/v1/messages"
    assert transport.header("x-region") == "eu" and transport.header("anthropic-beta") == "tools-2026-01-01"
    assert transport.header("authorization") == "Bearer key-for-tests"
    assert (
        repr(model) == "AnthropicChatModel(vendor='house', model='claude-sonnet-4-5', base_url='https://house.example')"
    )
    assert set(VENDORS) == {"anthropic", "generic"}
    assert MessagesRow(name="bare").families == ()


async def test_another_model_of_a_request_has_its_own_facts() -> None:
    transport = FakeTransport()
    model = model_on(transport)
    await model.chat(ChatRequest("q", ChatRequestParameters(model_name="claude-3-haiku-20240307")))
    assert (transport.bodies[0]["model"], transport.bodies[0]["max_tokens"]) == ("claude-3-haiku-20240307", 4096)


def test_the_profile_says_what_the_model_can() -> None:
    profile = model_on(model="claude-opus-5-5").profile
    assert profile.tool_choice == {"auto", "none"}
    assert (profile.strict_subset, profile.seed, profile.audio) == ("anthropic", False, False)
    assert model_on(model="claude-3-haiku-20240307").profile.response_formats == {"text"}
    assert model_on(vendor="generic").profile.strict_tools is False


@pytest.mark.parametrize(
    ("override", "asked", "feature"),
    [
        ({"seed": True}, {"seed": 1}, "seed"),
        (
            {"response_formats": ["text", "json", "json_schema"]},
            {"response_format": ResponseFormat.JSON},
            "response_format.json",
        ),
    ],
)
def test_what_the_form_has_no_place_for_is_refused_whatever_an_override_says(
    override: dict[str, Any], asked: dict[str, Any], feature: str
) -> None:
    """Else it would be left out of the request without a word."""
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", ChatRequestParameters(**asked), profile_overrides=override)
    assert caught.value.details["feature"] == feature


def test_an_allowed_list_is_narrowed_whatever_an_override_says() -> None:
    parameters = ChatRequestParameters(tools=[WEATHER, TIME], tool_choice=ToolChoice.allowed(["get_time"]))
    body = body_of("q", parameters, profile_overrides={"tool_choice": ["auto", "allowed"]})
    assert [tool["name"] for tool in body["tools"]] == ["get_time"] and "tool_choice" not in body


def test_the_key_shows_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        model = model_on(api_key="sk-123456")
    assert "sk-123456" not in repr(model) + caplog.text


async def test_a_reply_has_its_cost_at_the_vendors_own_endpoint_only() -> None:
    """Elsewhere the same name may cost anything."""
    answer = {**GOOD, "model": "claude-opus-5-5"}
    own = await model_on(FakeTransport(answer), model="claude-opus-5-5").chat(ChatRequest("q"))
    assert own.token_usage.cost is not None and own.token_usage.cost > 0
    other = await model_on(FakeTransport(answer), "generic", model="claude-opus-5-5").chat(ChatRequest("q"))
    assert other.token_usage.cost is None


# -- answers --------------------------------------------------------------------------------------


async def test_plain_and_streamed_give_the_same_response() -> None:
    plain = await model_on(FakeTransport(message({"type": "text", "text": "Hello"}))).chat(ChatRequest("q"))
    events = [each async for each in model_on(FakeTransport([STREAM])).stream(ChatRequest("q"))]
    last = events[-1]
    assert isinstance(last, ResponseDone) and last.response == plain
    assert [each.text for each in events if isinstance(each, TextDelta)] == ["Hel", "lo"]


async def test_a_server_that_answers_whole_is_understood_as_a_stream() -> None:
    events = [each async for each in model_on(FakeTransport(GOOD)).stream(ChatRequest("q"))]
    assert isinstance(events[-1], ResponseDone) and events[-1].response.ai_message.text == "ok"


async def test_a_refused_key_is_not_tried_again_and_does_not_show() -> None:
    refused = {"type": "error", "error": {"type": "authentication_error", "message": "invalid x-api-key key-for-tests"}}
    transport = FakeTransport((401, refused), headers={"request-id": "req_1"})
    with pytest.raises(AuthenticationError) as caught:
        await model_on(transport, max_retries=2).chat(ChatRequest("q"))
    assert len(transport.requests) == 1
    assert caught.value.request_id == "req_1" and "key-for-tests" not in str(caught.value)


async def test_a_stream_is_tried_again_before_its_first_event_only() -> None:
    busy = FakeTransport((529, BUSY), [STREAM])
    events = [each async for each in model_on(busy, retry=AT_ONCE).stream(ChatRequest("q"))]
    assert isinstance(events[-1], ResponseDone) and len(busy.requests) == 2
    late = FakeTransport([started() + text_block(0, "so far") + event("error", error=BUSY["error"])], [STREAM])
    with pytest.raises(OverloadedError) as caught:
        [each async for each in model_on(late, retry=AT_ONCE).stream(ChatRequest("q"))]
    assert len(late.requests) == 1 and caught.value.details["partial_text"] == "so far"


async def test_a_truncated_stream_is_an_error_and_closed() -> None:
    transport = FakeTransport([started() + text_block(0, "so far")])
    with pytest.raises(StreamTruncatedError) as caught:
        [each async for each in model_on(transport).stream(ChatRequest("q"))]
    assert caught.value.partial_text == "so far" and transport.open_streams == 0


async def test_closing_the_generator_closes_the_connection() -> None:
    transport = FakeTransport([started(), text_block(0, "a"), ended()])
    async with aclosing(model_on(transport).stream(ChatRequest("q"))) as events:
        await anext(events)
        assert transport.open_streams == 1
    assert transport.open_streams == 0


async def test_a_paused_turn_is_sent_as_it_is_and_goes_on() -> None:
    """The provider's own tool takes long; the next request ends with the model's turn, and what comes joins it."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
    transport = FakeTransport(message(search, stop="pause_turn"), message({"type": "text", "text": "Found."}))
    model = model_on(transport)
    first = await model.chat(ChatRequest("q"))
    assert first.finish_reason is FinishReason.PAUSE
    second = await model.chat(ChatRequest([UserMessage("q"), first.ai_message]))
    assert transport.bodies[1]["messages"][1] == {"role": "assistant", "content": [search]}
    await model.chat(ChatRequest([UserMessage("q"), first.ai_message, second.ai_message, UserMessage("and?")]))
    assert transport.bodies[2]["messages"][1] == {
        "role": "assistant",
        "content": [search, {"type": "text", "text": "Found."}],
    }


async def test_a_broken_history_is_mended_and_the_response_says_so() -> None:
    transport = FakeTransport()
    asked = AiMessage([ToolExecutionRequest("c1", "get_weather", "{}")])
    response = await model_on(transport).chat(ChatRequest([UserMessage("q"), asked, UserMessage("well?")]))
    assert [notice.code for notice in response.notices] == ["history_call_without_result"]
    assert transport.bodies[0]["messages"][2]["content"][0]["is_error"] is True


async def test_a_history_is_sent_as_it_is() -> None:
    transport = FakeTransport()
    history = History.of([UserMessage("q"), AiMessage("a"), UserMessage("r")])
    response = await model_on(transport).chat(ChatRequest(history))
    assert len(transport.bodies[0]["messages"]) == 3 and response.notices == ()


async def test_tools_over_a_schema_are_not_on_the_wire_and_calls_come_all_the_same() -> None:
    transport = FakeTransport()
    model = model_on(transport, tool_mode="json_schema")
    await model.chat(ChatRequest("q", ChatRequestParameters(tools=[WEATHER])))
    assert "tools" not in transport.bodies[0]
    assert transport.bodies[0]["output_config"]["format"]["type"] == "json_schema"


async def test_results_of_a_streamed_call_go_back_under_its_id() -> None:
    transport = FakeTransport([started() + call_block(0, '{"city": "Oslo"}') + ended("tool_use")], GOOD)
    model = model_on(transport)
    events = [each async for each in model.stream(ChatRequest("q"))]
    assert isinstance(events[-1], ResponseDone)
    reply = events[-1].response.ai_message
    result = ToolExecutionResultMessage("toolu_1", "get_weather", "rain")
    await model.chat(ChatRequest([UserMessage("q"), reply, result]))
    sent = transport.bodies[1]["messages"]
    assert sent[1]["content"][0]["input"] == {"city": "Oslo"}
    assert sent[2]["content"] == [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "rain"}]
