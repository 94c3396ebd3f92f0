"""What a plain answer becomes: each form of block, the reason, the counts, the sources."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import InvalidRequestError, OverloadedError, ProtocolError, ToolArgumentsError
from agentforge.model import (
    AiMessage,
    Citation,
    Content,
    FinishReason,
    ProviderState,
    TextContent,
    ThinkingContent,
    TokenUsage,
    ToolExecutionRequest,
)
from plugins.anthropic.tests.support import GOOD, message, plain
from tests.support.wire_exchange import calls_of


def text(words: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": words, **more}


def call(arguments: Any, id: Any = "toolu_1", **more: Any) -> dict[str, Any]:
    return {"type": "tool_use", "id": id, "name": "look", "input": arguments, **more}


def state(**data: Any) -> ProviderState:
    return ProviderState("anthropic/messages", data)


SEARCH = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "x"}}
FOUND = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"type": "web_search_result"}]}
NEWER = {"type": "hologram", "rays": [1, 2, {"x": None}]}


@pytest.mark.parametrize(
    ("block", "part"),
    [
        pytest.param(text("hello"), TextContent("hello"), id="text"),
        pytest.param(text("hello", citations=None), TextContent("hello"), id="text with no sources"),
        pytest.param(
            {"type": "thinking", "thinking": "hm", "signature": "s=="},
            ThinkingContent("hm", state(type="thinking", signature="s==")),
            id="thinking",
        ),
        pytest.param(
            {"type": "thinking", "thinking": "", "signature": "s=="},
            ThinkingContent("", state(type="thinking", signature="s==")),
            id="thinking without its text",
        ),
        pytest.param(
            {"type": "redacted_thinking", "data": "x=="},
            ThinkingContent("", state(type="redacted_thinking", data="x==")),
            id="redacted thinking",
        ),
        pytest.param(call({"a": 1}), ToolExecutionRequest("toolu_1", "look", '{"a":1}'), id="call"),
        pytest.param(call({}), ToolExecutionRequest("toolu_1", "look", "{}"), id="call without arguments"),
        pytest.param(
            call({}, caller={"type": "direct"}),
            ToolExecutionRequest("toolu_1", "look", "{}", provider_state=state(caller={"type": "direct"})),
            id="call with more members",
        ),
        pytest.param(
            call({}, caller=None, toolset_name=None),
            ToolExecutionRequest("toolu_1", "look", "{}"),
            id="call with members that say nothing",
        ),
        pytest.param(SEARCH, ThinkingContent("", state(**SEARCH)), id="a call of the provider's own"),
        pytest.param(FOUND, ThinkingContent("", state(**FOUND)), id="its result"),
        pytest.param(NEWER, ThinkingContent("", state(**NEWER)), id="a kind that is newer than this code"),
    ],
)
def test_a_block_becomes_one_part(block: dict[str, Any], part: Content) -> None:
    """With all that has to go back; before and behind it the other parts keep their places."""
    response = plain(message(text("before"), block, text("behind")))
    assert response.ai_message == AiMessage([TextContent("before"), part, TextContent("behind")])


def test_the_whole_answer_is_read() -> None:
    response = plain(GOOD)
    assert response.ai_message == AiMessage("ok")
    assert (response.id, response.model_name) == ("msg_1", "claude-test")
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.STOP, "end_turn")
    assert response.raw == GOOD
    assert response.notices == ()


@pytest.mark.parametrize(
    ("word", "calls", "expected"),
    [
        ("end_turn", False, FinishReason.STOP),
        ("stop_sequence", False, FinishReason.STOP),
        (None, False, FinishReason.STOP),
        ("max_tokens", False, FinishReason.LENGTH),
        ("model_context_window_exceeded", False, FinishReason.LENGTH),
        ("pause_turn", False, FinishReason.PAUSE),
        ("refusal", False, FinishReason.REFUSAL),
        ("something_new", False, FinishReason.OTHER),
        ("tool_use", True, FinishReason.TOOL_EXECUTION),
        ("end_turn", True, FinishReason.TOOL_EXECUTION),
        ("pause_turn", True, FinishReason.TOOL_EXECUTION),
        ("max_tokens", True, FinishReason.LENGTH),
        ("refusal", True, FinishReason.REFUSAL),
    ],
)
def test_the_reason_is_ours(word: str | None, calls: bool, expected: FinishReason) -> None:
    """Whether there are calls is decided from the calls."""
    response = plain(message(call({}) if calls else text("x"), stop=word))
    assert response.finish_reason is expected
    assert response.raw_finish_reason == word


def test_calls_that_were_said_and_are_not_there_make_a_final_answer() -> None:
    response = plain(message(text("x"), stop="tool_use"))
    assert response.finish_reason is FinishReason.STOP
    assert [notice.code for notice in response.notices] == ["finish_reason_without_calls"]


@pytest.mark.parametrize(
    ("details", "words"),
    [
        (None, None),
        ({"type": "refusal", "category": None, "explanation": None}, None),
        ({"type": "refusal", "category": "bio", "explanation": None}, "the provider refused to answer (bio)"),
        ({"type": "refusal", "category": "cyber", "explanation": "no."}, "the provider refused to answer (cyber): no."),
    ],
)
def test_a_refusal_without_content_says_why(details: Any, words: str | None) -> None:
    response = plain(message(stop="refusal", stop_details=details))
    assert response.ai_message == AiMessage()
    assert response.finish_reason is FinishReason.REFUSAL
    assert [notice.message for notice in response.notices] == ([words] if words else [])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ({"input_tokens": 3, "output_tokens": 2}, TokenUsage(3, 2, 5)),
        (
            {
                "input_tokens": 3,
                "cache_creation_input_tokens": 100,
                "cache_read_input_tokens": 20,
                "output_tokens": 7,
                "output_tokens_details": {"thinking_tokens": 4},
            },
            TokenUsage(123, 7, 130, 20, 100, 4),
        ),
        ({"cache_read_input_tokens": None, "input_tokens": 3}, TokenUsage(3)),
        ({"input_tokens": "many", "output_tokens": 2}, TokenUsage(output_tokens=2)),
        ({}, TokenUsage()),
    ],
)
def test_input_counts_the_cache_and_output_the_thinking(raw: dict[str, Any], expected: TokenUsage) -> None:
    usage = plain(message(text("x"), usage=raw)).token_usage
    assert usage == expected
    assert (usage.raw or {}) == {name: value for name, value in raw.items() if value is not None}


def test_sources_stand_on_the_text_that_they_are_for() -> None:
    """Addresses of the web and passages of documents; the block goes back with them."""
    web = {
        "type": "web_search_result_location",
        "url": "https://yr.example",
        "title": "Oslo",
        "cited_text": "rain",
        "encrypted_index": "x==",
    }
    page = {"type": "page_location", "cited_text": "p. 3", "document_index": 0, "document_title": "Report"}
    response = plain(message(text("First. "), text("It rains", citations=[web, page, "bad", {}]), text(".")))
    assert response.ai_message.text == "First. It rains."
    assert response.citations == (
        Citation("https://yr.example", "Oslo", "rain", 7, 15),
        Citation(None, "Report", "p. 3", 7, 15),
    )
    cited = response.ai_message.contents[1]
    assert isinstance(cited, TextContent) and cited.provider_state == state(citations=[web, page, "bad", {}])


def test_a_call_without_an_id_or_with_one_that_was_there_gets_its_own() -> None:
    response = plain(message(call({}, id=None), call({}, id="a"), call({}, id="a"), stop="tool_use"))
    assert [identity for identity, _, _ in calls_of(response)] == ["made_1", "a", "made_2"]
    given = [request.id_was_given for request in response.ai_message.tool_execution_requests]
    assert given == [False, True, False]


def test_aliases_are_taken_back() -> None:
    response = plain(message(call({})), aliases={"look": "files/look"})
    assert calls_of(response)[0][1] == "files/look"


@pytest.mark.parametrize("arguments", ['{"a": ', "[1]"])
def test_arguments_that_are_a_text_stay_one(arguments: str) -> None:
    """No server of the vendor's sends it; another may, and the check of the arguments answers."""
    [request] = plain(message(call(arguments))).ai_message.tool_execution_requests
    assert request.arguments == arguments
    with pytest.raises(ToolArgumentsError):
        request.arguments_as_map()


def test_a_number_that_json_has_not_is_null_but_in_arguments() -> None:
    """There it stays, for the check of the arguments to refuse."""
    body = message(call({"a": float("nan")}), usage={"input_tokens": 3, "cost": float("inf")})
    response = plain(json.dumps(body).encode())
    assert response.token_usage.raw == {"input_tokens": 3}
    assert [notice.code for notice in response.notices] == ["number_not_finite"]
    [request] = response.ai_message.tool_execution_requests
    with pytest.raises(ToolArgumentsError):
        request.arguments_as_map()


@pytest.mark.parametrize("body", [b"<html>", b"", b"[]", b"null", b'{"choices": []}', b'{"content": "text"}'])
def test_what_is_no_answer_is_a_protocol_error(body: bytes) -> None:
    with pytest.raises(ProtocolError):
        plain(body)


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        ({"type": "overloaded_error", "message": "busy"}, OverloadedError),
        ({"type": "invalid_request_error", "message": "no"}, InvalidRequestError),
    ],
)
def test_an_error_under_a_good_status_is_raised(error: dict[str, Any], kind: type[Exception]) -> None:
    with pytest.raises(kind):
        plain({"type": "error", "error": error, "request_id": "req_1"})
