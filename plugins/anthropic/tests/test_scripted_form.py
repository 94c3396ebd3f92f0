"""What the scripted endpoint says in this form is what the official package's types of answers read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import OverloadedError
from agentforge.model import (
    AiMessage,
    ChatResponse,
    Citation,
    FinishReason,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolExecutionRequest,
)
from agentforge.testing.messages_form import MessagesForm
from plugins.anthropic.tests.support import body_of, events_in, plain, streamed

FORM = MessagesForm()
REPLIES = {
    "text": ChatResponse(
        AiMessage("杭州 is sunny."), token_usage=TokenUsage(30, 2, 32, 5, 10, 1), id="msg_1", model_name="m"
    ),
    "calls": ChatResponse(
        AiMessage(
            [
                ThinkingContent("hm"),
                TextContent("I look."),
                ToolExecutionRequest("toolu_1", "look", '{"a":{"b":[1,2,3]}}'),
                ToolExecutionRequest("toolu_2", "look", "{}"),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(3, 2, 5),
        id="msg_2",
        model_name="m",
    ),
    "sources": ChatResponse(
        AiMessage("rain"), id="msg_3", model_name="m", citations=(Citation("https://yr.example", "Oslo", "rain"),)
    ),
    "cut": ChatResponse(AiMessage("cut"), FinishReason.LENGTH, id="msg_4", model_name="m"),
}


def data_of(events: list[bytes]) -> list[dict[str, Any]]:
    return [json.loads(event.split(b"\ndata: ", 1)[1]) for event in events]


@pytest.mark.parametrize("name", REPLIES)
def test_replies_and_events_fit_the_types(name: str) -> None:
    from anthropic.types import Message, RawMessageStreamEvent
    from pydantic import TypeAdapter

    response = REPLIES[name]
    Message.model_validate(FORM.reply(response, {}), strict=True)
    adapter: TypeAdapter[Any] = TypeAdapter(RawMessageStreamEvent)
    for event in data_of(list(FORM.events(response, {}, None))):
        if event["type"] != "ping":
            adapter.validate_python(event)


@pytest.mark.parametrize("name", REPLIES)
def test_both_ways_say_the_same(name: str) -> None:
    response = REPLIES[name]
    read = plain(FORM.reply(response, {}))
    assert read == streamed(b"".join(FORM.events(response, {}, None)))
    assert read.ai_message.text == response.ai_message.text
    assert read.ai_message.thinking == response.ai_message.thinking
    assert read.ai_message.tool_execution_requests == response.ai_message.tool_execution_requests
    assert read.finish_reason is response.finish_reason
    assert (read.token_usage.input_tokens or 0) == (response.token_usage.input_tokens or 0)
    assert [each.url for each in read.citations] == [each.url for each in response.citations]


def test_an_error_ends_the_events() -> None:
    error = OverloadedError("busy", provider_code="overloaded_error")
    with pytest.raises(OverloadedError):
        [events_in(event) for event in list(FORM.events(REPLIES["text"], {}, error))[-1:]]


def test_a_request_is_counted_and_its_calls_are_known() -> None:
    reply = REPLIES["calls"].ai_message
    from agentforge.model import SystemMessage, ToolExecutionResultMessage, UserMessage

    results = [ToolExecutionResultMessage(f"toolu_{n}", "look", "ok") for n in (1, 2)]
    body = body_of([SystemMessage("be"), UserMessage("hello"), reply, *results])
    assert list(FORM.call_ids(body)) == ["toolu_1", "toolu_2"]
    words = len("be") + len("hello") + len("I look.") + 2 * len("look") + len('{"a":{"b":[1,2,3]}}') + 2 + 2 * len("ok")
    assert FORM.characters(body) == words
    assert FORM.characters({"system": "be", "messages": [{"role": "user", "content": "hello"}]}) == 7
    assert FORM.characters({}) == 0
