"""Tool use end to end on this wire (seed A, sections 5.6 and 6): tools out, calls in, results back, answer in."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge import (
    ChatRequest,
    ChatRequestParameters,
    FinishReason,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolOutcome,
    ToolService,
    UserMessage,
)
from plugins.anthropic.tests.support import FakeTransport, call_block, ended, message, model_on, started, text_block
from tests.support.weather import ANSWER, FOUND, QUESTION, SPECIFICATION, WeatherTools

WIRE_TOOL = {
    "name": "get_weather",
    "description": "查询指定城市的当前天气",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "城市名"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
USE = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "杭州"}}
ASKS = message(
    {"type": "text", "text": "我来查询。"}, USE, stop="tool_use", usage={"input_tokens": 62, "output_tokens": 18}
)
ANSWERS = message({"type": "text", "text": ANSWER}, usage={"input_tokens": 96, "output_tokens": 12})


def blocks(words: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": words}]


# -- input_schema and tool_choice out ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, None),
        (ToolChoice.AUTO, {"type": "auto"}),
        (ToolChoice.NONE, {"type": "none"}),
        (ToolChoice.REQUIRED, {"type": "any"}),
        (ToolChoice.tool("get_weather"), {"type": "tool", "name": "get_weather"}),
    ],
)
async def test_the_input_schema_and_the_choice_are_serialised(choice: ToolChoice | None, expected: Any) -> None:
    transport = FakeTransport(ASKS)
    parameters = ChatRequestParameters(tools=(SPECIFICATION,), tool_choice=choice)
    await model_on(transport).chat(ChatRequest(QUESTION, parameters))
    body = transport.bodies[0]
    assert body["tools"] == [WIRE_TOOL]
    assert body.get("tool_choice") == expected
    assert body["messages"] == [{"role": "user", "content": blocks(QUESTION)}]


# -- tool_use in --------------------------------------------------------------------------------------


async def test_tool_use_is_parsed() -> None:
    response = await model_on(FakeTransport(ASKS)).chat(ChatRequest(QUESTION))
    assert response.ai_message.text == "我来查询。"
    assert response.ai_message.tool_execution_requests == (
        ToolExecutionRequest("toolu_1", "get_weather", '{"city":"杭州"}'),
    )
    assert response.finish_reason is FinishReason.TOOL_EXECUTION
    assert response.token_usage.total_tokens == 80


async def test_tool_use_is_parsed_from_a_stream_too() -> None:
    """The pieces of its input are put together."""
    body = started() + text_block(0, "我来", "查询。") + call_block(1, "", '{"city":', '"杭州"}') + ended("tool_use")
    events = [event async for event in model_on(FakeTransport([body])).stream(ChatRequest(QUESTION))]
    response = events[-1].response  # type: ignore[union-attr]
    assert response.ai_message.text == "我来查询。"
    assert response.ai_message.tool_execution_requests == (
        ToolExecutionRequest("toolu_1", "get_weather", '{"city":"杭州"}'),
    )


# -- tool_result back ---------------------------------------------------------------------------------


async def test_the_result_goes_back_in_a_users_message() -> None:
    transport = FakeTransport(ASKS, ANSWERS)
    model = model_on(transport)
    parameters = ChatRequestParameters(tools=(SPECIFICATION,))
    first = await model.chat(ChatRequest(QUESTION, parameters))
    (request,) = first.ai_message.tool_execution_requests
    result = ToolExecutionResultMessage(request.id, request.name, FOUND)
    second = await model.chat(ChatRequest([UserMessage(QUESTION), first.ai_message, result], parameters))
    assert second.ai_message.text == ANSWER
    assert transport.bodies[1]["messages"] == [
        {"role": "user", "content": blocks(QUESTION)},
        {"role": "assistant", "content": [*blocks("我来查询。"), USE]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": FOUND}]},
    ]


async def test_the_service_drives_both_rounds() -> None:
    """Seed A 5.6: the code of the other wire, unchanged."""
    transport = FakeTransport(ASKS, ANSWERS)
    tools = WeatherTools()
    result = await ToolService(tools).chat(model_on(transport), None, [UserMessage(QUESTION)])
    assert result.final_response.ai_message.text == ANSWER
    assert tools.asked == ["杭州"]
    assert [execution.outcome for execution in result.tool_executions] == [ToolOutcome.OK]
    assert transport.bodies[1]["messages"][2]["content"] == [
        {"type": "tool_result", "tool_use_id": "toolu_1", "content": FOUND}
    ]
    assert result.token_usage.total_tokens == 188


async def test_thinking_stays_in_place_through_the_loop() -> None:
    """Field case TL-18: the signed block is the first of the turn, byte for byte; redacted ones too."""
    thinking = {"type": "thinking", "thinking": "t", "signature": "sig=="}
    redacted = {"type": "redacted_thinking", "data": "x=="}
    transport = FakeTransport(message(thinking, redacted, USE, stop="tool_use"), ANSWERS)
    parameters = ChatRequestParameters(reasoning_effort="low")
    await ToolService(WeatherTools()).chat(model_on(transport), parameters, QUESTION)
    assert transport.bodies[1]["messages"][1]["content"] == [thinking, redacted, USE]
    assert transport.bodies[1]["thinking"]["type"] == "enabled"


async def test_results_of_a_parallel_turn_are_one_message_and_errors_are_flagged() -> None:
    other = {**USE, "id": "toolu_2", "name": "get_weather", "input": {}}
    transport = FakeTransport(message(USE, other, stop="tool_use"), ANSWERS)
    service = ToolService(WeatherTools(), arguments_error_handler="return_to_model")
    result = await service.chat(model_on(transport), None, QUESTION)
    assert [execution.outcome for execution in result.tool_executions] == [
        ToolOutcome.OK,
        ToolOutcome.INVALID_ARGUMENTS,
    ]
    answered = transport.bodies[1]["messages"][2]["content"]
    assert [(block["tool_use_id"], block.get("is_error")) for block in answered] == [
        ("toolu_1", None),
        ("toolu_2", True),
    ]


async def test_the_conversation_goes_on_after_arguments_that_are_no_json() -> None:
    """Field case MO-30: the input that goes back is an object, so that the API takes every later request."""
    broken = started() + call_block(0, '{"c') + ended("tool_use")
    transport = FakeTransport([broken], ANSWERS)
    model = model_on(transport)
    events = [event async for event in model.stream(ChatRequest(QUESTION))]
    reply = events[-1].response.ai_message  # type: ignore[union-attr]
    result = ToolExecutionResultMessage("toolu_1", "get_weather", "not JSON", is_error=True)
    await model.chat(ChatRequest([UserMessage(QUESTION), reply, result]))
    assert transport.bodies[1]["messages"][1]["content"][0]["input"] == {"invalid_arguments": '{"c'}


async def test_nothing_of_a_reply_that_was_cut_runs() -> None:
    tools = WeatherTools()
    transport = FakeTransport(message(USE, stop="max_tokens"), ANSWERS)
    result = await ToolService(tools).chat(model_on(transport), None, QUESTION)
    assert tools.asked == []
    assert result.tool_executions[0].outcome is ToolOutcome.CANCELLED


async def test_tools_that_the_provider_runs_are_none_of_ours() -> None:
    """They come and go with the turn; nothing is executed for them, and a pause is gone on from."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "杭州"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    transport = FakeTransport(message(search, stop="pause_turn"), message(found, USE, stop="tool_use"), ANSWERS)
    tools = WeatherTools()
    result = await ToolService(tools).chat(model_on(transport), None, QUESTION)
    assert result.final_response.ai_message.text == ANSWER
    assert tools.asked == ["杭州"] and len(result.tool_executions) == 1
    assert transport.bodies[2]["messages"][1] == {"role": "assistant", "content": [search, found, USE]}
