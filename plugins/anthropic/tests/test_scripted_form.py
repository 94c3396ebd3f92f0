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
    TokenUsage,
)
from agentforge.testing.messages_form import MessagesForm
from plugins.anthropic.tests.support import ASKING, READING, events_in
from tests.support.form_checks import check_counts, read_both_ways, two_calls

FORM = MessagesForm()
REPLIES = {
    "text": ChatResponse(
        AiMessage("杭州 is sunny."), token_usage=TokenUsage(30, 2, 32, 5, 10, 1), id="msg_1", model_name="m"
    ),
    "calls": ChatResponse(
        two_calls("toolu_"),
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
    read = read_both_ways(FORM, READING, response)
    assert read.ai_message.tool_execution_requests == response.ai_message.tool_execution_requests


def test_an_error_ends_the_events() -> None:
    error = OverloadedError("busy", provider_code="overloaded_error")
    with pytest.raises(OverloadedError):
        [events_in(event) for event in list(FORM.events(REPLIES["text"], {}, error))[-1:]]


def test_a_request_is_counted_and_its_calls_are_known() -> None:
    check_counts(FORM, ASKING, AiMessage(REPLIES["calls"].ai_message.contents[1:]))
    assert FORM.characters({"system": "be", "messages": [{"role": "user", "content": "hello"}]}) == 7
