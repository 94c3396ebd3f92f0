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
    TokenUsage,
)
from agentforge.testing.gemini_form import GeminiForm
from plugins.gemini.tests.support import ASKING, READING, events_in, plain
from tests.support.form_checks import check_counts, read_both_ways, two_calls

FORM = GeminiForm()
REPLIES = {
    "text": ChatResponse(
        AiMessage("杭州 is sunny."), token_usage=TokenUsage(30, 3, 33, 5, None, 1), id="r1", model_name="m"
    ),
    "calls": ChatResponse(
        two_calls("x"),
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
    assert read_both_ways(FORM, READING, response).citations == response.citations


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
    check_counts(FORM, ASKING, plain(FORM.reply(REPLIES["calls"], {})).ai_message)
