"""Whole conversations over a real socket: our loop, our model, a scripted server of this API."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from agentforge import RunFinished, ToolOutcome, ToolService
from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    FinishReason,
    ProviderState,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolCallReady,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.testing import ScriptedEndpoint, call, calls
from agentforge_openai import OpenAiChatModel, OpenAiResponsesModel
from plugins.openai.tests.responses.support import answer, call_item, custom_item, model_on, stream_of, text_item
from plugins.openai.tests.support import GOOD, WEATHER, FakeTransport


def get_weather(city: str) -> str:
    """Current weather of a city."""
    return f"{city}: 22 degrees"


def run_sql(input: str) -> str:
    """Runs a statement."""
    return f"ran {input}"


SCRIPT = [
    calls(call("get_weather", city="Oslo"), call("get_weather", city="Rome"), thinking="Two cities."),
    {"text": "Both have 22 degrees.", "thinking": "That is it."},
]


@asynccontextmanager
async def served(turns: Sequence[Any], **options: Any) -> AsyncIterator[tuple[ScriptedEndpoint, OpenAiResponsesModel]]:
    """A scripted server and a model that asks it."""
    async with (
        ScriptedEndpoint(turns) as endpoint,
        OpenAiResponsesModel(base_url=endpoint.base_url, model="m", max_retries=0, **options) as model,
    ):
        yield endpoint, model


@pytest.mark.parametrize("streamed", [False, True])
async def test_a_tool_conversation_replays_its_reasoning(streamed: bool) -> None:
    """Plain and streamed: each item of the answer is in the next request, encrypted content and all."""
    async with served(SCRIPT, encrypted_reasoning=True) as (endpoint, model):
        service = ToolService(get_weather)
        if streamed:
            async with service.stream(model, None, "Weather?") as events:
                seen = [event async for event in events]
            last = seen[-1]
            assert isinstance(last, RunFinished)
            result = last.result
            assert sum(isinstance(event, ToolCallReady) for event in seen) == 2
        else:
            result = await service.chat(model, None, "Weather?")
    assert result.text == "Both have 22 degrees."
    first, second = (request.body for request in endpoint.requests)
    assert first["include"] == second["include"] == ["reasoning.encrypted_content"]
    kinds = [item.get("type", item.get("role")) for item in second["input"]]
    assert kinds == ["user", "reasoning", *["function_call"] * 2, *["function_call_output"] * 2]
    assert second["input"][1]["encrypted_content"]
    assert second["input"][4]["output"] == "Oslo: 22 degrees"


async def test_a_kept_conversation_sends_only_what_is_new() -> None:
    """From round to round and from question to question; the instructions go with every request."""
    turns = [call("get_weather", city="Oslo"), "22 degrees.", "You are welcome."]
    async with served(turns, state="previous_response") as (endpoint, model):
        service = ToolService(get_weather)
        first = await service.chat(model, None, [SystemMessage("Be brief."), UserMessage("Weather?")])
        await service.chat(model, None, [*first.messages, UserMessage("Thanks.")])
    bodies = [request.body for request in endpoint.requests]
    assert [body.get("previous_response_id") for body in bodies] == [None, "resp_1", "resp_2"]
    assert [len(body["input"]) for body in bodies] == [1, 1, 1]
    assert {body["instructions"] for body in bodies} == {"Be brief."}
    assert all(body["store"] is True for body in bodies)


PARALLEL = call_item(
    "parallel",
    json.dumps(
        {
            "tool_uses": [
                {"recipient_name": "functions.get_weather", "parameters": {"city": city}} for city in ("Oslo", "Rome")
            ]
        }
    ),
)
CUT = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}


@pytest.mark.parametrize("streamed", [False, True])
async def test_calls_inside_one_of_parallel_run_as_calls(streamed: bool) -> None:
    first, last = answer(PARALLEL), answer(text_item("Done."))
    transport = FakeTransport(*([stream_of(first), stream_of(last)] if streamed else [first, last]))
    service = ToolService(get_weather)
    if streamed:
        async with service.stream(model_on(transport), None, "Weather?") as events:
            done = [event async for event in events][-1]
        assert isinstance(done, RunFinished)
        result = done.result
    else:
        result = await service.chat(model_on(transport), None, "Weather?")
    assert [one.result_text() for one in result.tool_executions] == ["Oslo: 22 degrees", "Rome: 22 degrees"]
    outputs = [item for item in transport.bodies[1]["input"] if item.get("type") == "function_call_output"]
    assert [item["call_id"] for item in outputs] == ["call_1-0", "call_1-1"]


@pytest.mark.parametrize("status", ["incomplete", "completed"])
async def test_a_call_that_is_not_whole_never_runs(status: str) -> None:
    """Nor does one beside it, and the model may go on."""
    cut = call_item(arguments='{"city":"Os', n=2, status="incomplete")
    first = answer(call_item(), cut, **(CUT if status == "incomplete" else {}))
    transport = FakeTransport(first, answer(text_item("Again.")))
    result = await ToolService(get_weather).chat(model_on(transport), None, "Weather?")
    assert [one.outcome for one in result.tool_executions] == [ToolOutcome.CANCELLED, ToolOutcome.CANCELLED]
    assert result.text == "Again."


async def test_a_custom_tool_runs_as_ours_and_its_result_goes_back_in_its_form() -> None:
    """Declared to the server with a grammar of its own, under the name of a tool of ours."""
    transport = FakeTransport(answer(custom_item("SELECT 1")), answer(text_item("One.")))
    grammar = {"type": "custom", "name": "run_sql", "format": {"type": "text"}}
    parameters = ChatRequestParameters(custom_parameters={"tools": [grammar]})
    result = await ToolService(run_sql).chat(model_on(transport), parameters, "How many?")
    assert [one.result_text() for one in result.tool_executions] == ["ran SELECT 1"]
    assert transport.bodies[0]["tools"] == [grammar]
    assert transport.bodies[1]["input"][1:] == [
        {"id": "ctc_1", "type": "custom_tool_call", "call_id": "call_1", "name": "run_sql", "input": "SELECT 1"},
        {"type": "custom_tool_call_output", "call_id": "call_1", "output": "ran SELECT 1"},
    ]


# -- another model in the middle ---------------------------------------------------------------------------------

ELSEWHERE: list[ChatMessage] = [
    SystemMessage("Be brief."),
    UserMessage("Weather?"),
    AiMessage(
        [
            ThinkingContent("Oslo.", ProviderState("anthropic", {"thinking": "Oslo.", "signature": "sig"})),
            TextContent("I look."),
            ToolExecutionRequest("toolu_01", "get_weather", '{"city":"Oslo"}'),
        ]
    ),
    ToolExecutionResultMessage("toolu_01", "get_weather", "22 degrees"),
    AiMessage(
        [ThinkingContent("So.", ProviderState("openai", {"reasoning_content": "So."})), TextContent("22 degrees.")],
        provider_state=ProviderState("openai", {"extra_content": {"x": 1}}),
    ),
    UserMessage("And in Rome?"),
]


async def test_a_conversation_comes_from_another_provider_and_goes_back_to_it() -> None:
    """Made elsewhere, gone on here, and taken up by Chat Completions: nothing opaque crosses, and it stays valid."""
    async with served([call("get_weather", city="Rome"), {"text": "22 as well.", "thinking": "Hm."}]) as (
        endpoint,
        model,
    ):
        result = await ToolService(get_weather).chat(model, None, ELSEWHERE)
    sent = endpoint.requests[0].body
    assert sent["instructions"] == "Be brief."
    assert [item.get("type", item.get("role")) for item in sent["input"]] == [
        "user",
        "assistant",
        "function_call",
        "function_call_output",
        "assistant",
        "user",
    ]
    text = endpoint.requests[1].content.decode()
    assert not any(secret in text for secret in ("sig", "reasoning_content", "extra_content", "anthropic", "So."))
    async with (
        ScriptedEndpoint(["Bye."]) as chat_endpoint,
        OpenAiChatModel(base_url=chat_endpoint.base_url, model="m", max_retries=0) as chat,
    ):
        await chat.chat(ChatRequest([*result.messages, UserMessage("Thanks.")]))
    got = chat_endpoint.requests[0].body["messages"]
    assert [message["role"] for message in got[-5:]] == ["user", "assistant", "tool", "assistant", "user"]
    assert "rs_" not in json.dumps(got)
    assert "response_id" not in json.dumps(got)


# -- Chat Completions of models that take tools here only --------------------------------------------------------

TOOLS = ChatRequestParameters(tools=[WEATHER])


def chat_model(transport: FakeTransport, **options: Any) -> OpenAiChatModel:
    settings: dict[str, Any] = {"model": "gpt-5.6", "api_key": "k", "max_retries": 0, **options}
    return OpenAiChatModel(transport=transport, **settings)


ROUTES: list[tuple[dict[str, Any], ChatRequestParameters, str]] = [
    ({}, TOOLS, "/v1/responses"),
    ({"model": "gpt-5.4"}, TOOLS.with_(reasoning_effort="high"), "/v1/responses"),
    ({"defaults": TOOLS}, ChatRequestParameters(), "/v1/responses"),
    ({"model": "gpt-4o"}, TOOLS.with_(model_name="gpt-5.6"), "/v1/responses"),
    ({}, ChatRequestParameters(), "/v1/chat/completions"),
    ({}, TOOLS.with_(reasoning_effort="none"), "/v1/chat/completions"),
    ({"model": "gpt-5.4"}, TOOLS, "/v1/chat/completions"),
    ({"model": "gpt-4o"}, TOOLS, "/v1/chat/completions"),
    ({"profile_overrides": {"tools_with_thinking": True}}, TOOLS, "/v1/chat/completions"),
]


@pytest.mark.parametrize(("options", "parameters", "path"), ROUTES)
async def test_tools_that_chat_completions_refuses_go_to_responses_by_setting(
    options: dict[str, Any], parameters: ChatRequestParameters, path: str
) -> None:
    """And nothing else does."""
    body = answer(call_item()) if path == "/v1/responses" else GOOD
    transport = FakeTransport(body)
    async with chat_model(transport, tools_need_responses="responses", **options) as model:
        response = await model.chat(ChatRequest("Hello", parameters))
        preview, _ = model.preview(ChatRequest("Hello", parameters))
    assert transport.requests[0].url.removeprefix("https://api.openai.com") == path
    assert preview == transport.requests[0].content
    assert response.finish_reason in (FinishReason.TOOL_EXECUTION, FinishReason.STOP)


async def test_streams_go_there_as_well() -> None:
    transport = FakeTransport(stream_of(answer(call_item())))
    async with chat_model(transport, tools_need_responses="responses") as model:
        events = [event async for event in model.stream(ChatRequest("Hello", TOOLS))]
        assert model.profile.tools_with_thinking
    assert any(isinstance(event, ToolCallReady) for event in events)


async def test_without_the_setting_the_error_names_the_other_api() -> None:
    transport = FakeTransport()
    async with chat_model(transport) as model:
        with pytest.raises(UnsupportedFeatureError) as raised:
            await model.chat(ChatRequest("Hello", TOOLS))
    assert "Responses API" in (raised.value.next_step or "")
    assert transport.requests == []
