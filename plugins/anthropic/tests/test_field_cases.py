"""The field cases of this wire: histories and streams that broke others, as the case expects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml

from agentforge import ToolService, ToolSpecification
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    ResponseDone,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from plugins.anthropic.tests.support import FakeTransport, body_of, events_in, message, model_on, request_types


def case(shared: Path, name: str) -> dict[str, Any]:
    rows = yaml.safe_load((shared / "cases" / "field-cases.yaml").read_text())["cases"]
    found: dict[str, Any] = next(row for row in rows if row["id"] == name)
    return found


def test_cumulative_usage_is_not_added_up(shared: Path) -> None:
    found = case(shared, "ST-23")
    last = events_in("".join(found["input"]["chunks"]).encode())[-1]
    assert isinstance(last, ResponseDone)
    expected = found["expected"]["values"]["usage"]
    usage = last.response.token_usage
    assert {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens} == expected


def test_broken_arguments_in_a_history_are_sent_as_an_object(shared: Path) -> None:
    history: list[ChatMessage] = []
    for entry in case(shared, "MO-30")["input"]["messages"]:
        if entry["role"] == "user":
            history.append(UserMessage(entry["content"]))
        elif entry["role"] == "assistant":
            calls = [
                ToolExecutionRequest(each["id"], each["function"]["name"], each["function"]["arguments"])
                for each in entry["tool_calls"]
            ]
            history.append(AiMessage(calls))
        else:
            history.append(ToolExecutionResultMessage(entry["tool_call_id"], "get_weather", entry["content"]))
    body = body_of(history)
    request_types().validate_python(body)
    assert body["messages"][1]["content"][0]["input"] == {"invalid_arguments": '{"city": '}


async def test_signed_thinking_comes_back_in_the_second_request(shared: Path) -> None:
    found = case(shared, "TL-18")
    first = found["input"]["model_turns"][0]
    thinking = {"type": "thinking", "thinking": first["thinking"]["text"], "signature": first["thinking"]["signature"]}
    use = [
        {"type": "tool_use", "id": each["id"], "name": each["name"], "input": each["args"]} for each in first["calls"]
    ]
    transport = FakeTransport(message(thinking, *use, stop="tool_use"), message({"type": "text", "text": "done"}))
    service = ToolService()
    service.tool(ToolSpecification("a", "a tool"), lambda request: "1")
    parameters = ChatRequestParameters(reasoning_effort="low")
    await service.chat(model_on(transport), parameters, "q")
    [sent, *_] = transport.bodies[1]["messages"][1]["content"]
    assert sent == found["expected"]["values"]["first_block"]
