"""Function calling end to end on this wire (seed A, sections 3 and 5): tools out, calls in, results back, answer in."""

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
    tool,
)
from agentforge.errors import ToolArgumentsError
from plugins.openai.tests.support import FakeTransport, call_delta, delta, model_on, piece, sse
from tests.support.weather import ANSWER, FOUND, QUESTION, SPECIFICATION, WeatherTools

WIRE_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "查询指定城市的当前天气",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string", "description": "城市名"}},
            "required": ["city"],
            "additionalProperties": False,
        },
    },
}
ASKS = {
    "id": "chatcmpl-1",
    "model": "gpt-4o-mini",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {
                        "id": "call_abc123",
                        "type": "function",
                        "function": {"name": "get_weather", "arguments": '{"city":"杭州"}'},
                    }
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 62, "completion_tokens": 18, "total_tokens": 80},
}
ANSWERS = {
    "id": "chatcmpl-2",
    "model": "gpt-4o-mini",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}],
    "usage": {"prompt_tokens": 96, "completion_tokens": 12, "total_tokens": 108},
}


# -- tools and tool_choice out --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, None),
        (ToolChoice.AUTO, "auto"),
        (ToolChoice.NONE, "none"),
        (ToolChoice.REQUIRED, "required"),
        (ToolChoice.tool("get_weather"), {"type": "function", "function": {"name": "get_weather"}}),
    ],
)
async def test_tools_and_choice_are_serialised(choice: ToolChoice | None, expected: Any) -> None:
    transport = FakeTransport(ASKS)
    parameters = ChatRequestParameters(tools=(SPECIFICATION,), tool_choice=choice)
    await model_on(transport, "openai", model="gpt-4o-mini").chat(ChatRequest(QUESTION, parameters))
    body = transport.bodies[0]
    assert body["tools"] == [WIRE_TOOL]
    assert body.get("tool_choice") == expected
    assert body["messages"] == [{"role": "user", "content": QUESTION}]


# -- calls in -------------------------------------------------------------------------------------


async def test_calls_are_parsed() -> None:
    response = await model_on(FakeTransport(ASKS), "openai").chat(ChatRequest(QUESTION))
    assert response.ai_message.text is None
    assert response.ai_message.has_tool_execution_requests
    assert response.ai_message.tool_execution_requests == (
        ToolExecutionRequest("call_abc123", "get_weather", '{"city":"杭州"}'),
    )
    assert response.finish_reason is FinishReason.TOOL_EXECUTION
    assert response.token_usage.total_tokens == 80


async def test_calls_are_parsed_from_a_stream_too() -> None:
    body = sse(
        delta(role="assistant", content=None),
        call_delta(piece("get_weather", "", index=0, id="call_abc123", type="function")),
        call_delta(piece(None, '{"city":', index=0)),
        call_delta(piece(None, '"杭州"}', index=0)),
        delta("tool_calls"),
    )
    events = [event async for event in model_on(FakeTransport([body]), "openai").stream(ChatRequest(QUESTION))]
    request = events[-1].response.ai_message.tool_execution_requests[0]  # type: ignore[union-attr]
    assert request == ToolExecutionRequest("call_abc123", "get_weather", '{"city":"杭州"}')


# -- results back ---------------------------------------------------------------------------------


async def test_the_result_goes_back_under_the_calls_id() -> None:
    transport = FakeTransport(ASKS, ANSWERS)
    model = model_on(transport, "openai")
    parameters = ChatRequestParameters(tools=(SPECIFICATION,))
    first = await model.chat(ChatRequest(QUESTION, parameters))
    (request,) = first.ai_message.tool_execution_requests
    result = ToolExecutionResultMessage(request.id, request.name, FOUND)
    second = await model.chat(ChatRequest([UserMessage(QUESTION), first.ai_message, result], parameters))
    assert second.ai_message.text == ANSWER
    assert transport.bodies[1]["messages"] == [
        {"role": "user", "content": QUESTION},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "call_abc123",
                    "type": "function",
                    "function": {"name": "get_weather", "arguments": '{"city":"杭州"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "call_abc123", "content": FOUND},
    ]


async def test_the_service_drives_both_rounds() -> None:
    """Seed A 5.5: one line in place of the two requests."""
    transport = FakeTransport(ASKS, ANSWERS)
    tools = WeatherTools()
    result = await ToolService(tools).chat(model_on(transport, "openai"), None, [UserMessage(QUESTION)])
    assert result.final_response.ai_message.text == ANSWER
    assert tools.asked == ["杭州"]
    assert [execution.outcome for execution in result.tool_executions] == [ToolOutcome.OK]
    assert [entry["role"] for entry in transport.bodies[1]["messages"]] == ["user", "assistant", "tool"]
    assert transport.bodies[1]["messages"][2] == {
        "role": "tool",
        "tool_call_id": "call_abc123",
        "content": FOUND,
    }
    assert result.token_usage.total_tokens == 188


async def test_a_call_without_id_is_paired_by_the_id_that_was_made_for_it() -> None:
    choice = ASKS["choices"][0]  # type: ignore[index]
    nameless = {"choices": [{**choice, "message": {"tool_calls": [piece("get_weather", '{"city": "A"}', id="")] * 2}}]}
    transport = FakeTransport(nameless, ANSWERS)
    await ToolService(WeatherTools()).chat(model_on(transport, "openai"), None, QUESTION)
    turn, *results = transport.bodies[1]["messages"][1:]
    ids = [call["id"] for call in turn["tool_calls"]]
    assert len(set(ids)) == 2
    assert [result["tool_call_id"] for result in results] == ids


async def test_the_conversation_goes_on_after_arguments_that_are_no_json() -> None:
    """The broken text is answered, and the next request is one that every server takes."""
    broken = {
        "choices": [{"finish_reason": "tool_calls", "message": {"tool_calls": [piece("get_weather", '{"c', id="c1")]}}]
    }
    transport = FakeTransport(broken, ANSWERS)
    service = ToolService(WeatherTools(), arguments_error_handler="return_to_model")
    result = await service.chat(model_on(transport, "openai"), None, QUESTION)
    assert result.final_response.ai_message.text == ANSWER
    assert result.tool_executions[0].outcome is ToolOutcome.INVALID_ARGUMENTS
    sent = transport.bodies[1]["messages"]
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == '{"invalid_arguments":"{\\"c"}'
    assert sent[2]["tool_call_id"] == "c1"


async def test_nothing_of_a_reply_that_was_cut_runs() -> None:
    """Case MO-26: the fragment is valid JSON by accident."""
    cut = {
        "choices": [
            {"finish_reason": "length", "message": {"tool_calls": [piece("get_weather", '{"city": "A"}', id="c1")]}}
        ]
    }
    tools = WeatherTools()
    transport = FakeTransport(cut, ANSWERS)
    result = await ToolService(tools).chat(model_on(transport, "openai"), None, QUESTION)
    assert tools.asked == []
    assert result.tool_executions[0].outcome is ToolOutcome.CANCELLED


async def test_a_strict_tools_forced_null_does_not_reach_the_tool() -> None:
    """Strict makes optional arguments nullable; the null that comes back means: left out."""
    seen: list[str] = []

    @tool("greets", strict=True)
    def greet(name: str, word: str = "hello") -> str:
        seen.append(f"{word} {name}")
        return "done"

    asks = {"choices": [{"message": {"tool_calls": [piece("greet", '{"name": "Ann", "word": null}', id="c1")]}}]}
    transport = FakeTransport(asks, ANSWERS)
    await ToolService(greet).chat(model_on(transport, "openai"), None, QUESTION)
    function = transport.bodies[0]["tools"][0]["function"]
    assert function["strict"] is True
    assert function["parameters"]["required"] == ["name", "word"]
    assert seen == ["hello Ann"]


def test_arguments_as_a_map() -> None:
    """Seed A 3.2.4."""
    assert ToolExecutionRequest("c", "t", "").arguments_as_map() == {}
    assert ToolExecutionRequest("c", "t", "{}").arguments_as_map() == {}
    with pytest.raises(ToolArgumentsError):
        ToolExecutionRequest("c", "t", "{").arguments_as_map()
