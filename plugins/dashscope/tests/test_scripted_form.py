"""What the scripted endpoint says in this form is what was recorded, and what our wire reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import ModelError, OverloadedError, RateLimitError
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
from agentforge.testing.dashscope_form import DashScopeForm
from plugins.dashscope.tests.support import ASKING, READING, body_of, events_in, plain, streamed
from tests.support.form_checks import check_counts, read_both_ways

FORM = DashScopeForm()
GROWING = {"parameters": {"incremental_output": True}}
REPLIES = {
    "text": ChatResponse(AiMessage("杭州 is sunny."), token_usage=TokenUsage(30, 2, 32, 5, 10, 1), id="r-1"),
    "calls": ChatResponse(
        AiMessage(
            [
                ThinkingContent("hm, let me think"),
                TextContent("I look it up."),
                ToolExecutionRequest("c1", "look", '{"a":{"b":[1,2,3]}}'),
                ToolExecutionRequest("c2", "look", "{}"),
                ToolExecutionRequest("c3", "look", ""),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
        TokenUsage(3, 2, 5),
        id="r-2",
    ),
    "sources": ChatResponse(AiMessage("rain"), id="r-3", citations=(Citation("https://yr.example", "Oslo"),)),
    "cut": ChatResponse(AiMessage("cut"), FinishReason.LENGTH, id="r-4"),
    "word": ChatResponse(AiMessage("ok"), FinishReason.OTHER, id="r-5", raw_finish_reason="pondering"),
}


@pytest.mark.parametrize("name", REPLIES)
def test_all_ways_say_the_same(name: str) -> None:
    """Plain, in increments, and with everything in each event."""
    response = REPLIES[name]
    read = plain(FORM.reply(response, {}))
    assert read == read_both_ways(FORM, READING, response, GROWING)
    assert read == streamed(b"".join(FORM.events(response, {}, None)), cumulative=True)
    assert read.citations == response.citations


def test_the_contents_are_lists_where_those_of_the_request_are() -> None:
    body = body_of("q", model="qwen3-vl-plus")
    answer = FORM.reply(REPLIES["text"], body)
    assert answer["output"]["choices"][0]["message"]["content"] == [{"text": "杭州 is sunny."}]
    assert plain(answer).ai_message.text == "杭州 is sunny."


def test_events_have_the_frame_that_was_recorded(shared: Path) -> None:
    """Their lines, and the members of what they carry."""
    file = shared / "cassettes" / "dashscope" / "dashscope-loong-testagentbasic-test-agent-with-tool.json"
    recorded = json.loads(file.read_text())["interactions"][0]["response"]["body"].split("\n\n")[:-1]
    ours = b"".join(FORM.events(REPLIES["calls"], GROWING, None)).decode().split("\n\n")[:-1]
    assert [lines(each)[:3] for each in ours][:5] == [lines(each)[:3] for each in recorded]
    one, other = (json.loads(lines(each)[3].removeprefix("data:")) for each in (recorded[0], ours[-2]))
    assert one.keys() == other.keys()
    assert one["output"]["choices"][0].keys() == other["output"]["choices"][0].keys()
    assert one["usage"].keys() <= other["usage"].keys()


def lines(event: str) -> list[str]:
    return event.split("\n")


def test_an_error_ends_the_events() -> None:
    """With its status in a comment; a plain one is flat."""
    error = RateLimitError("slow down", status=429, provider_code="Throttling")
    *_, last = FORM.events(REPLIES["text"], GROWING, error)
    assert last.startswith(b"id:3\nevent:error\n:HTTP_STATUS/429\ndata:{")
    with pytest.raises(RateLimitError, match="slow down"):
        events_in(last)
    with pytest.raises(ModelError, match="slow down"):
        plain(FORM.error(error))
    *_, last = FORM.events(REPLIES["text"], GROWING, OverloadedError("busy"))
    with pytest.raises(OverloadedError) as caught:
        events_in(last)
    assert caught.value.status == 500


@pytest.mark.parametrize(("headers", "expected"), [({"x-dashscope-sse": "enable"}, True), ({}, False)])
def test_a_header_asks_for_a_stream(headers: dict[str, str], expected: bool) -> None:
    assert FORM.streams("/generation", headers, {"stream": True}) is expected


def test_a_request_is_counted_and_its_calls_are_known() -> None:
    """Whether contents are texts or lists."""
    message = AiMessage(REPLIES["calls"].ai_message.contents[1:4])
    for model in ("qwen-plus", "qwen3-vl-plus"):
        check_counts(FORM, ASKING, message, model=model)
    odd: dict[str, Any] = {"input": {"messages": [{"tool_calls": [{"id": 1, "function": None}]}, 7]}}
    assert FORM.characters(odd) == 0 and list(FORM.call_ids(odd)) == []
