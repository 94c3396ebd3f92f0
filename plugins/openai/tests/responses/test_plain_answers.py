"""A plain answer of the Responses form, item by item."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import ModelError, OverloadedError, ProtocolError, RateLimitError
from agentforge.model import Citation, FinishReason, TextContent, ThinkingContent, TokenUsage, ToolExecutionRequest
from agentforge_openai.responses.response import decode_response
from plugins.openai.tests.responses.support import (
    OWNER,
    SEARCH,
    answer,
    answering,
    call_item,
    calls_of,
    custom_item,
    plain,
    reasoning_item,
    text_item,
)

REFUSED = {"type": "refusal", "refusal": "I cannot help with that."}


def test_a_turn_keeps_the_order_of_its_items() -> None:
    """Reasoning, text, a search of the server, a call and more text come as they were made."""
    response = plain(
        reasoning_item("Look it up."),
        text_item("One moment. ", phase="commentary"),
        SEARCH,
        call_item(),
        text_item("Done.", id="msg_2"),
    )
    kinds = [type(part) for part in response.ai_message.contents]
    assert kinds == [ThinkingContent, TextContent, ThinkingContent, ToolExecutionRequest, TextContent]
    assert response.ai_message.thinking == "Look it up."
    assert response.ai_message.text == "One moment. Done."
    assert calls_of(response) == [("call_1", "get_weather", '{"city":"Oslo"}')]
    assert (response.id, response.model_name) == ("resp_1", "some-model-1")
    assert response.finish_reason is FinishReason.TOOL_EXECUTION
    assert response.raw["output"][2] == SEARCH


def test_every_part_keeps_what_has_to_go_back() -> None:
    """All of an item but what our own part holds, stamped with whose it is."""
    response = plain(reasoning_item("Hm."), text_item("Hello", phase="final_answer"), SEARCH, call_item())
    states = [part.provider_state for part in response.ai_message.contents if not isinstance(part, str)]  # type: ignore[union-attr]
    assert {state.provider for state in states if state is not None} == {OWNER}
    assert [state.data for state in states if state is not None] == [
        {"item": reasoning_item("Hm.")},
        {
            "message": {
                "id": "msg_1",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "phase": "final_answer",
            },
            "part": {"type": "output_text", "annotations": [], "logprobs": []},
        },
        {"item": SEARCH},
        {
            "item": {
                "id": "fc_1",
                "type": "function_call",
                "status": "completed",
                "call_id": "call_1",
                "name": "get_weather",
            }
        },
    ]


CUT = call_item(arguments='{"city":"Os', status="incomplete")
FINISH: list[tuple[str, list[dict[str, Any]], dict[str, Any], FinishReason, str | None]] = [
    ("text", [text_item("ok")], {}, FinishReason.STOP, "completed"),
    ("call", [call_item()], {}, FinishReason.TOOL_EXECUTION, "completed"),
    ("refusal", [text_item(REFUSED)], {}, FinishReason.REFUSAL, "completed"),
    ("no status", [text_item("ok")], {"status": None}, FinishReason.STOP, None),
    (
        "cut text",
        [text_item("o", status="incomplete")],
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        FinishReason.LENGTH,
        "max_output_tokens",
    ),
    (
        "cut call",
        [CUT],
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
        FinishReason.LENGTH,
        "max_output_tokens",
    ),
    (
        "whole call, then filtered",
        [call_item()],
        {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
        FinishReason.CONTENT_FILTER,
        "content_filter",
    ),
    ("incomplete without a reason", [call_item()], {"status": "incomplete"}, FinishReason.LENGTH, "incomplete"),
    ("cut call in a reply that says completed", [call_item(), CUT], {}, FinishReason.LENGTH, "completed"),
    ("cancelled", [text_item("o")], {"status": "cancelled"}, FinishReason.ERROR, "cancelled"),
    ("queued", [], {"status": "queued"}, FinishReason.OTHER, "queued"),
    ("unknown status with a call", [call_item()], {"status": "odd"}, FinishReason.ERROR, "odd"),
]


@pytest.mark.parametrize(("items", "fields", "reason", "word"), [row[1:] for row in FINISH], ids=[r[0] for r in FINISH])
def test_why_a_reply_ended(
    items: list[dict[str, Any]], fields: dict[str, Any], reason: FinishReason, word: str | None
) -> None:
    """Calls of a reply that is not whole never get a reason with which they run."""
    response = plain(*items, **fields)
    assert (response.finish_reason, response.raw_finish_reason) == (reason, word)
    assert [notice.code for notice in response.notices] == (["response_not_finished"] if word == "queued" else [])


def test_a_refusal_is_the_text_of_the_reply() -> None:
    assert plain(text_item(REFUSED)).ai_message.text == "I cannot help with that."


REASONING = [
    ("summary", reasoning_item("First.", "Second."), "First.\n\nSecond."),
    ("text", reasoning_item(content=[{"type": "reasoning_text", "text": "Raw."}]), "Raw."),
    (
        "summary before text",
        reasoning_item("Short.", content=[{"type": "reasoning_text", "text": "Long."}]),
        "Short.",
    ),
    ("encrypted only", reasoning_item(), ""),
    ("malformed", reasoning_item(content="?", summary=[1, {"text": 2}]), ""),
]


@pytest.mark.parametrize(("item", "text"), [row[1:] for row in REASONING], ids=[row[0] for row in REASONING])
def test_reasoning_is_readable_where_the_server_lets_it(item: dict[str, Any], text: str) -> None:
    assert plain(item, text_item("ok")).ai_message.thinking == text


ARGUMENTS = [('{"a":1}', '{"a":1}'), ("", "{}"), (" \n", "{}"), (None, "{}"), ({"a": 1}, '{"a":1}'), ("{oops", "{oops")]


@pytest.mark.parametrize(("sent", "read"), ARGUMENTS)
def test_arguments_are_text(sent: Any, read: str) -> None:
    """An empty text means an empty object; what is no JSON stays as it is, for the check of the arguments to say."""
    assert calls_of(plain(call_item(arguments=sent))) == [("call_1", "get_weather", read)]


def test_a_custom_tools_free_text_is_its_argument_input() -> None:
    response = plain(custom_item('SELECT "ä"\n'))
    assert response.ai_message.tool_execution_requests[0].arguments_as_map() == {"input": 'SELECT "ä"\n'}


def test_ids_that_are_missing_or_repeated_are_made_up() -> None:
    response = plain(call_item(call_id=None), call_item(n=2), call_item(n=2), call_item(call_id=""))
    given = [(one.id, one.id_was_given) for one in response.ai_message.tool_execution_requests]
    assert given == [("made_1", False), ("call_2", True), ("made_2", False), ("made_3", False)]


def test_aliases_are_taken_back() -> None:
    response = plain(call_item("a_b_1f"), asked={"aliases": {"a_b_1f": "a/b"}})
    assert [name for _, name, _ in calls_of(response)] == ["a/b"]


WRAPPED = call_item(
    "parallel",
    json.dumps(
        {
            "tool_uses": [
                {"recipient_name": "functions.get_weather", "parameters": {"city": "Oslo"}},
                {"recipient_name": "a_b_1f", "parameters": {}},
                {"recipient_name": "functions.get_time"},
            ]
        }
    ),
)


def test_calls_inside_one_of_a_tool_named_parallel_are_unpacked() -> None:
    """Models make that tool up; each call in it is a call, with an id of its own."""
    response = plain(WRAPPED, asked={"aliases": {"a_b_1f": "a/b"}})
    assert calls_of(response) == [
        ("call_1-0", "get_weather", '{"city":"Oslo"}'),
        ("call_1-1", "a/b", "{}"),
        ("call_1-2", "get_time", "{}"),
    ]


@pytest.mark.parametrize(
    "arguments",
    ["", "{}", "[]", "3", '{"tool_uses":3}', '{"tool_uses":[]}', '{"tool_uses":[3]}', '{"tool_uses":[{}]}', "{"],
)
def test_a_call_of_parallel_without_calls_is_a_call_of_an_unknown_tool(arguments: str) -> None:
    assert [name for _, name, _ in calls_of(plain(call_item("parallel", arguments)))] == ["parallel"]


def test_a_tool_that_is_named_parallel_is_called_as_any_other() -> None:
    response = plain(WRAPPED, asked={"offered": b'[{"type":"function","name":"parallel"}]'})
    assert [name for _, name, _ in calls_of(response)] == ["parallel"]


USAGES = [
    (
        {
            "input_tokens": 10,
            "output_tokens": 5,
            "total_tokens": 15,
            "input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
            "output_tokens_details": {"reasoning_tokens": 3},
        },
        TokenUsage(10, 5, 15, 4, 2, 3),
    ),
    ({"input_tokens": 10.0, "output_tokens": 5, "input_tokens_details": None}, TokenUsage(10, 5)),
    ({"input_tokens": "10", "output_tokens": True}, TokenUsage()),
    (None, TokenUsage()),
]


@pytest.mark.parametrize(("raw", "usage"), USAGES)
def test_tokens_are_as_reported(raw: Any, usage: TokenUsage) -> None:
    assert plain(text_item("ok"), usage=raw).token_usage == usage


def test_sources_have_their_place_in_the_whole_text() -> None:
    """The server counts from the beginning of each content part."""
    cited = {
        "type": "output_text",
        "text": "It rains (yr).",
        "annotations": [
            {"type": "url_citation", "url": "https://yr.example", "title": "Yr", "start_index": 9, "end_index": 13},
            {"type": "url_citation", "url": "https://no.example"},
            {"type": "file_citation", "file_id": "f"},
        ],
    }
    response = plain(text_item("Look: "), text_item(cited, cited, id="msg_2"))
    text = response.ai_message.text or ""
    assert response.citations == (
        Citation("https://yr.example", "Yr", None, 15, 19),
        Citation("https://no.example"),
        Citation("https://yr.example", "Yr", None, 29, 33),
    )
    assert {text[c.start : c.end] for c in response.citations if c.start is not None} == {"(yr)"}


@pytest.mark.parametrize("kind", ["mcp_approval_request", "computer_call", "local_shell_call"])
def test_an_item_that_asks_the_caller_to_act_is_noticed(kind: str) -> None:
    """There is no form for it; it is kept, and the reply says so."""
    response = plain({"type": kind, "id": "x_1"})
    assert [notice.code for notice in response.notices] == ["server_item_unanswered"]
    assert len(response.ai_message.contents) == 1


def test_items_of_unknown_kinds_and_forms_are_kept_and_do_not_break_the_reply() -> None:
    odd: list[Any] = [
        {"type": "hologram"},
        {},
        text_item({"type": "output_video"}),
        text_item(id="msg_2"),
        text_item("ok"),
    ]
    response = plain(*odd)
    assert response.ai_message.text == "ok"
    states = [part.provider_state for part in response.ai_message.contents[:4] if isinstance(part, ThinkingContent)]
    assert [state.data["item"] for state in states if state is not None] == odd[:4]


def test_a_response_that_the_server_keeps_has_its_id_on_the_turn() -> None:
    """So that a later request can name it; one that is not kept has none."""
    kept = plain(text_item("ok"), store=True).ai_message.provider_state
    assert kept is not None
    assert (kept.provider, kept.data) == (OWNER, {"response_id": "resp_1"})
    assert plain(text_item("ok")).ai_message.provider_state is None
    assert plain(text_item("ok"), store=None).ai_message.provider_state is None
    assert plain(text_item("ok"), store=None, asked={"stores": True}).ai_message.provider_state is not None


FAILED = [
    ({"error": {"code": "server_error", "message": "it broke"}, "status": "failed"}, OverloadedError, "it broke"),
    ({"error": {"code": "rate_limit_exceeded", "message": "slow"}, "status": "failed"}, RateLimitError, "slow"),
    ({"error": None, "status": "failed"}, ModelError, "did not say why"),
    ({"error": "quota", "code": "insufficient_quota"}, RateLimitError, "quota"),
]


@pytest.mark.parametrize(("fields", "kind", "words"), FAILED)
def test_a_response_that_failed_is_an_error(fields: dict[str, Any], kind: type[ModelError], words: str) -> None:
    with pytest.raises(ModelError, match=words) as raised:
        plain(**fields)
    assert type(raised.value) is kind


@pytest.mark.parametrize("code", ["invalid_prompt", "image_too_large", "failed_to_download_image"])
def test_a_failure_that_blames_the_request_is_of_that_class(code: str) -> None:
    with pytest.raises(ModelError) as raised:
        plain(status="failed", error={"code": code, "message": "no"})
    assert (type(raised.value).__name__, raised.value.provider_code) == ("InvalidRequestError", code)


@pytest.mark.parametrize("content", [b"<html>", b"[]", b"3", b"", b'{"choices":[]}', b'{"output":{}}'])
def test_what_is_no_answer_of_this_form_is_a_protocol_error(content: bytes) -> None:
    with pytest.raises(ProtocolError):
        decode_response(content, answering())


def test_numbers_that_json_has_not_are_mended_with_a_notice() -> None:
    body = json.dumps(answer(text_item("ok"))).replace('"total_tokens": 5', '"total_tokens": NaN')
    response = decode_response(body.encode(), answering())
    assert response.token_usage.total_tokens is None
    assert [notice.code for notice in response.notices] == ["number_not_finite"]
