"""What the scripted endpoint says in this form is what the official package's types of answers read."""

from __future__ import annotations

import json

import pytest

from agentforge.errors import OverloadedError
from agentforge.model import (
    AiMessage,
    ChatResponse,
    Citation,
    FinishReason,
    SystemMessage,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.testing.gemini_form import GeminiForm
from plugins.gemini.tests.support import body_of, events_in, plain, streamed

FORM = GeminiForm()
REPLIES = {
    "text": ChatResponse(
        AiMessage("杭州 is sunny."), token_usage=TokenUsage(30, 3, 33, 5, None, 1), id="r1", model_name="m"
    ),
    "calls": ChatResponse(
        AiMessage(
            [
                ThinkingContent("hm"),
                TextContent("I look."),
                ToolExecutionRequest("x1", "look", '{"a":{"b":[1,2,3]}}'),
                ToolExecutionRequest("x2", "look", "{}"),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(3, 2, 5),
        id="r2",
        model_name="m",
    ),
    "sources": ChatResponse(
        AiMessage("rain"), id="r3", model_name="m", citations=(Citation("https://yr.example", "Oslo"),)
    ),
    "cut": ChatResponse(AiMessage("cut"), FinishReason.LENGTH, id="r4", model_name="m"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_replies_and_events_fit_the_types(name: str) -> None:
    from google.genai.types import GenerateContentResponse

    response = REPLIES[name]
    said = [FORM.reply(response, {}), *(json.loads(event[6:]) for event in FORM.events(response, {}, None))]
    for each in said:
        GenerateContentResponse.model_validate_json(json.dumps(each))


@pytest.mark.parametrize("name", REPLIES)
def test_both_ways_say_the_same(name: str) -> None:
    response = REPLIES[name]
    read = plain(FORM.reply(response, {}))
    assert read == streamed(b"".join(FORM.events(response, {}, None)))
    assert read.ai_message.text == response.ai_message.text
    assert read.ai_message.thinking == response.ai_message.thinking
    ours, theirs = (each.ai_message.tool_execution_requests for each in (read, response))
    assert [(c.id, c.name, c.arguments_as_map()) for c in ours] == [
        (c.id, c.name, c.arguments_as_map()) for c in theirs
    ]
    assert read.finish_reason is response.finish_reason
    assert (read.token_usage.input_tokens or 0) == (response.token_usage.input_tokens or 0)
    assert read.citations == response.citations


def test_an_error_ends_the_events() -> None:
    error = OverloadedError("busy", status=503)
    with pytest.raises(OverloadedError, match="busy"):
        [events_in(event) for event in list(FORM.events(REPLIES["text"], {}, error))[-1:]]


def test_the_path_says_the_model_and_whether_it_streams() -> None:
    path = "/v1/publishers/google/models/gemini-3.5-flash"
    assert FORM.model_name(f"{path}:generateContent", {}) == "gemini-3.5-flash"
    assert FORM.streams(f"{path}:streamGenerateContent", {}, {})
    assert not FORM.streams(f"{path}:generateContent", {}, {"stream": True})


def test_a_request_is_counted_and_its_calls_are_known() -> None:
    reply = plain(FORM.reply(REPLIES["calls"], {})).ai_message
    results = [ToolExecutionResultMessage(f"x{n}", "look", "ok") for n in (1, 2)]
    body = body_of([SystemMessage("be"), UserMessage("hello"), reply, *results])
    assert list(FORM.call_ids(body)) == ["x1", "x2"]
    words = len("be") + len("hello") + len("hm") + len("I look.") + 2 * len("look") + len('{"a":{"b":[1,2,3]}}') + 2
    assert FORM.characters(body) == words + 2 * len("ok")
    assert FORM.characters({}) == 0
