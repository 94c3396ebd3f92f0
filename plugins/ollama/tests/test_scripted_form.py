"""What the scripted endpoint says in this form is what the official package's types of answers read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import ModelError, OverloadedError
from agentforge.model import (
    AiMessage,
    ChatResponse,
    FinishReason,
    TokenUsage,
    ToolExecutionRequest,
)
from agentforge.testing.ollama_form import OllamaForm
from plugins.ollama.tests.support import ASKING, READING, events_in
from tests.support.form_checks import check_counts, read_both_ways, two_calls

FORM = OllamaForm()
REPLIES = {
    "text": ChatResponse(AiMessage("杭州 is sunny."), token_usage=TokenUsage(30, 2, 32), model_name="m"),
    "calls": ChatResponse(
        two_calls("call_", "hm, two of them"),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(3, 2, 5),
        model_name="m",
    ),
    "cut": ChatResponse(AiMessage("cut"), FinishReason.LENGTH, model_name="m"),
    "loaded": ChatResponse(AiMessage(), FinishReason.OTHER, model_name="m", raw_finish_reason="load"),
}


def lines(response: ChatResponse, error: ModelError | None = None) -> list[dict[str, Any]]:
    return [json.loads(each) for each in FORM.events(response, {}, error)]


@pytest.mark.parametrize("name", REPLIES)
def test_replies_and_lines_fit_the_types(name: str) -> None:
    """Each call is whole, in a line of its own, before the one line that is done."""
    from ollama import ChatResponse as Official

    response = REPLIES[name]
    Official.model_validate(FORM.reply(response, {}))
    said = lines(response)
    for each in said:
        Official.model_validate(each)
    assert [each["done"] for each in said] == [False] * (len(said) - 1) + [True]
    calls = [len(each["message"]["tool_calls"]) for each in said if "tool_calls" in each["message"]]
    assert calls == [1] * len(response.ai_message.tool_execution_requests)


@pytest.mark.parametrize("name", REPLIES)
def test_both_ways_say_the_same(name: str) -> None:
    response = REPLIES[name]
    read = read_both_ways(FORM, READING, response)
    assert read.ai_message.tool_execution_requests == response.ai_message.tool_execution_requests
    assert read.token_usage == response.token_usage


def test_an_error_is_a_text_and_ends_the_lines() -> None:
    error = OverloadedError("server busy")
    assert lines(REPLIES["text"], error)[-1] == FORM.error(error) == {"error": "server busy"}
    with pytest.raises(OverloadedError):
        [events_in(each) for each in list(FORM.events(REPLIES["text"], {}, error))[-1:]]


def test_a_request_streams_unless_it_says_otherwise() -> None:
    path = "/api/chat"
    assert FORM.streams(path, {}, {}) and FORM.streams(path, {}, {"stream": True})
    assert not FORM.streams(path, {}, {"stream": False})


def test_a_request_is_counted_and_its_calls_are_known() -> None:
    check_counts(FORM, ASKING, AiMessage(REPLIES["calls"].ai_message.contents[1:]))
    assert list(FORM.call_ids({"messages": [{"tool_calls": [{}]}]})) == []
    assert FORM.characters({"messages": [{"content": 5, "tool_calls": [{"function": None}]}]}) == 0


def test_a_call_that_is_nested_too_deep_is_said_as_a_text() -> None:
    """A script may have any; the endpoint must not fail by it."""
    deep = '{"a":' * 100_000 + "1" + "}" * 100_000
    response = ChatResponse(AiMessage([ToolExecutionRequest("c", "look", deep)]), model_name="m")
    assert FORM.reply(response, {})["message"]["tool_calls"][0]["function"]["arguments"] == deep
