"""The model over its transport: headers, keys, retries, streams and their ends."""

from __future__ import annotations

import itertools
import logging
from contextlib import aclosing
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    ConfigurationError,
    ContextLengthError,
    OverloadedError,
    StreamTruncatedError,
)
from agentforge.model import (
    AiMessage,
    ChatModel,
    ChatRequest,
    ChatRequestParameters,
    History,
    ResponseDone,
    TextDelta,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge_ollama import VENDORS, OllamaChatModel, OllamaRow, vendor_row
from plugins.ollama.tests.support import GOOD, FakeTransport, call, dumped, last, line, model_on, reply
from tests.support.wire_exchange import AT_ONCE, WEATHER

STREAM = line("Hel") + line("lo") + last()


def test_it_is_a_chat_model() -> None:
    assert isinstance(model_on(), ChatModel)


# -- what requests carry, and who may read it -----------------------------------------------------


@pytest.mark.parametrize(
    ("options", "authorization"),
    [
        ({}, None),
        ({"environment": {"OLLAMA_API_KEY": "k"}}, None),
        ({"api_key": "k"}, "Bearer k"),
        ({"vendor": "ollama-cloud", "api_key": None, "environment": {"OLLAMA_API_KEY": "k"}}, "Bearer k"),
        ({"vendor": "generic", "environment": {"OLLAMA_API_KEY": "k"}}, None),
    ],
)
async def test_the_key_goes_to_the_cloud_or_where_it_is_sent(
    options: dict[str, Any], authorization: str | None
) -> None:
    """A key in the environment is the cloud's, and a server of one's own does not get it by itself."""
    transport = FakeTransport()
    await model_on(transport, **options).chat(ChatRequest("q"))
    assert transport.header("authorization") == authorization
    assert transport.header("accept") == "application/json, application/x-ndjson"


def test_the_cloud_needs_a_key() -> None:
    with pytest.raises(ConfigurationError) as caught:
        OllamaChatModel(model="m", vendor="ollama-cloud", environment={})
    assert "OLLAMA_API_KEY" in (caught.value.next_step or "")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"vendor": "nobody"}, "there is no vendor row 'nobody'"),
        ({"num_ctx": 0}, "num_ctx must be a number of tokens"),
        ({"num_ctx": "many"}, "num_ctx must be a number of tokens"),
        ({"num_ctx": True}, "num_ctx must be a number of tokens"),
        ({"model": ""}, "model is empty"),
        ({"profile_overrides": {"max_tool": 1}}, "max_tool"),
    ],
)
def test_a_setting_that_cannot_be_honoured_is_found_at_once(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        model_on(**options)
    assert what in caught.value.message and caught.value.next_step


async def test_a_row_of_ones_own_brings_its_facts() -> None:
    """As for a gateway in front of such servers."""
    row = replace(
        vendor_row("generic"),
        name="house",
        base_url="https://house.example/llm",
        headers={"x-region": "eu"},
        always_thinks="^house-",
        cuts_histories=False,
    )
    transport = FakeTransport()
    model = model_on(transport, row, model="house-large")
    await model.chat(ChatRequest("q", ChatRequestParameters(reasoning_effort="max")))
    assert transport.requests[0].url == "https://house.example/llm/api/chat"
    assert transport.header("x-region") == "eu"
    assert transport.bodies[0]["think"] == "high" and "truncate" not in transport.bodies[0]
    assert repr(model) == "OllamaChatModel(vendor='house', model='house-large', base_url='https://house.example/llm')"
    assert set(VENDORS) == {"ollama", "ollama-cloud", "generic"}
    assert OllamaRow(name="bare").cuts_histories


async def test_a_row_may_be_described_by_a_mapping() -> None:
    """As in a file; what it does not say is that of the row it is like, whose environment it does not read."""
    transport = FakeTransport()
    row = {"like": "ollama", "name": "house", "base_url": "https://house.example", "cuts_histories": False}
    model = OllamaChatModel(model="m", vendor=row, transport=transport, environment={"OLLAMA_HOST": "gpu-box"})
    await model.chat(ChatRequest("q"))
    assert transport.requests[0].url == "https://house.example/api/chat" and "truncate" not in transport.bodies[0]


def test_what_was_sent_is_not_encoded_again() -> None:
    """Round by round only what is new is; the tools once."""
    model = model_on()
    parameters = ChatRequestParameters(tools=[WEATHER])
    history = History.of([UserMessage("q " * 500)])
    sizes = []
    for number in range(4):
        model.preview(ChatRequest(history, parameters))
        sizes.append(model._encoder.encoded_bytes)
        asked = AiMessage([ToolExecutionRequest(f"c{number}", "get_weather", "{}")])
        history = History.of([*history, asked, ToolExecutionResultMessage(f"c{number}", "get_weather", "rain")])
    assert sizes[0] > 1000 and all(later - before < 300 for before, later in itertools.pairwise(sizes))


def test_the_profile_says_what_the_model_can() -> None:
    profile = model_on().profile
    assert profile.tool_choice == {"auto"} and profile.parallel_tool_calls == "always"
    assert (profile.strict_tools, profile.audio, profile.files, profile.max_tools) == (False, False, False, None)
    assert profile.response_formats == {"text", "json", "json_schema"}
    assert model_on(vendor="ollama-cloud").profile.response_formats == {"text"}


def test_the_key_shows_nowhere(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG):
        model = model_on(api_key="sk-123456")
    assert "sk-123456" not in repr(model) + caplog.text


# -- answers --------------------------------------------------------------------------------------


async def test_plain_and_streamed_give_the_same_response() -> None:
    plain = await model_on(FakeTransport(reply("Hello"))).chat(ChatRequest("q"))
    events = [each async for each in model_on(FakeTransport([STREAM])).stream(ChatRequest("q"))]
    done = events[-1]
    assert isinstance(done, ResponseDone) and done.response == plain
    assert [each.text for each in events if isinstance(each, TextDelta)] == ["Hel", "lo"]


async def test_a_server_that_answers_whole_is_understood_as_a_stream() -> None:
    events = [each async for each in model_on(FakeTransport(GOOD)).stream(ChatRequest("q"))]
    assert isinstance(events[-1], ResponseDone) and events[-1].response.ai_message.text == "ok"


async def test_a_refused_key_is_not_tried_again_and_does_not_show() -> None:
    transport = FakeTransport((401, {"error": "unauthorized key-for-tests"}))
    with pytest.raises(AuthenticationError) as caught:
        await model_on(transport, "ollama-cloud", max_retries=2).chat(ChatRequest("q"))
    assert len(transport.requests) == 1 and "key-for-tests" not in str(caught.value)


async def test_a_conversation_that_is_too_long_is_not_tried_again() -> None:
    """Whatever status it has."""
    transport = FakeTransport((500, {"error": "input exceeds maximum context length and cannot be truncated further"}))
    with pytest.raises(ContextLengthError) as caught:
        await model_on(transport, max_retries=2, retry=AT_ONCE).chat(ChatRequest("q"))
    assert len(transport.requests) == 1 and "num_ctx" in (caught.value.next_step or "")


async def test_a_stream_is_tried_again_before_its_first_event_only() -> None:
    busy = FakeTransport((503, {"error": "server busy, please try again."}), [STREAM])
    events = [each async for each in model_on(busy, retry=AT_ONCE).stream(ChatRequest("q"))]
    assert isinstance(events[-1], ResponseDone) and len(busy.requests) == 2
    late = FakeTransport([line("so far") + dumped({"error": "server busy"})], [STREAM])
    with pytest.raises(OverloadedError) as caught:
        [each async for each in model_on(late, retry=AT_ONCE).stream(ChatRequest("q"))]
    assert len(late.requests) == 1 and caught.value.details["partial_text"] == "so far"


async def test_a_truncated_stream_is_an_error_and_closed() -> None:
    transport = FakeTransport([line("so far"), line(tool_calls=[call(id="a")])])
    with pytest.raises(StreamTruncatedError) as caught:
        [each async for each in model_on(transport).stream(ChatRequest("q"))]
    assert caught.value.partial_text == "so far" and transport.open_streams == 0


async def test_closing_the_generator_closes_the_connection() -> None:
    transport = FakeTransport([line("a"), line("b"), last()])
    async with aclosing(model_on(transport).stream(ChatRequest("q"))) as events:
        await anext(events)
        assert transport.open_streams == 1
    assert transport.open_streams == 0


async def test_a_broken_history_is_mended_and_the_response_says_so() -> None:
    transport = FakeTransport()
    asked = AiMessage([ToolExecutionRequest("c1", "get_weather", "{}")])
    response = await model_on(transport).chat(ChatRequest([UserMessage("q"), asked, UserMessage("well?")]))
    assert [notice.code for notice in response.notices] == ["history_call_without_result"]
    assert transport.bodies[0]["messages"][2]["role"] == "tool"


async def test_tools_over_a_schema_are_not_on_the_wire() -> None:
    """For models without tools of their own; the answer is held to a schema instead."""
    transport = FakeTransport()
    model = model_on(transport, tool_mode="json_schema")
    await model.chat(ChatRequest("q", ChatRequestParameters(tools=[WEATHER])))
    assert "tools" not in transport.bodies[0] and transport.bodies[0]["format"]["type"] == "object"


async def test_results_of_a_streamed_call_go_back_under_its_id() -> None:
    """Also where the server gave none."""
    transport = FakeTransport([line(tool_calls=[call()]) + last()], GOOD)
    model = model_on(transport)
    events = [each async for each in model.stream(ChatRequest("q"))]
    assert isinstance(events[-1], ResponseDone)
    turn = events[-1].response.ai_message
    [made] = turn.tool_execution_requests
    result = ToolExecutionResultMessage(made.id, made.name, "rain")
    await model.chat(ChatRequest([UserMessage("q"), turn, result]))
    asked, answered = transport.bodies[1]["messages"][1:]
    assert asked["tool_calls"][0]["function"]["arguments"] == {"city": "Oslo"}
    assert answered["tool_call_id"] == asked["tool_calls"][0]["id"] == made.id
