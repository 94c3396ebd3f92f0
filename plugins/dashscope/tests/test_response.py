"""Plain answers in forms that nothing recorded covers, made by hand after the vendor's reference."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ContentFilterError, ProtocolError, RateLimitError, StreamTruncatedError
from agentforge.model import Citation, FinishReason, ProviderState, TextContent, ThinkingContent, TokenUsage
from plugins.dashscope.tests.support import OWNER, call_piece, event, events, events_in, plain, reply
from tests.support.wire_exchange import calls_of


def test_an_answer_without_a_format_is_a_text() -> None:
    """As the vendor answers where ``result_format: message`` was not honoured."""
    response = plain({"output": {"text": "ok", "finish_reason": "stop"}, "request_id": "r-2"})
    assert (response.ai_message.text, response.finish_reason, response.id) == ("ok", FinishReason.STOP, "r-2")


def test_an_answer_with_everything_is_read_in_its_order() -> None:
    body = reply(
        "tool_calls",
        reasoning_content="Hm.",
        content=[{"text": "I "}, {"text": "look."}, {"image_hw": []}],
        tool_calls=[call_piece('{"a": 1}', id="c1", name="f")],
    )
    body["output"]["search_info"] = {
        "search_results": [
            {"site_name": "yr", "icon": "", "index": 1, "title": "Oslo today", "url": "https://yr.example/oslo"},
            {"site_name": "yr", "icon": "", "index": 2, "title": "Oslo today", "url": "https://yr.example/oslo"},
            {"site_name": "met", "index": 3, "title": "", "url": None},
            "malformed",
        ]
    }
    body["output"]["audio"] = {"url": "https://x.example/a.wav"}
    response = plain(body)
    assert response.ai_message.contents[:2] == (
        ThinkingContent("Hm.", ProviderState(OWNER, {"reasoning_content": "Hm."})),
        TextContent("I look."),
    )
    assert calls_of(response) == [("c1", "f", '{"a": 1}')]
    assert response.citations == (Citation("https://yr.example/oslo", "Oslo today"), Citation(None, "met"))
    assert response.ai_message.provider_state == ProviderState(OWNER, {"audio": body["output"]["audio"]})
    assert response.raw == body


@pytest.mark.parametrize(
    ("word", "calls", "expected"),
    [
        ("stop", False, FinishReason.STOP),
        ("stop", True, FinishReason.TOOL_EXECUTION),
        ("tool_calls", True, FinishReason.TOOL_EXECUTION),
        ("length", True, FinishReason.LENGTH),
        ("length", False, FinishReason.LENGTH),
        ("content_filter", False, FinishReason.CONTENT_FILTER),
        ("null", False, FinishReason.STOP),
        (None, True, FinishReason.TOOL_EXECUTION),
        ("error", False, FinishReason.ERROR),
        ("pondering", False, FinishReason.OTHER),
    ],
)
def test_the_calls_decide_and_the_word_colours(word: str | None, calls: bool, expected: FinishReason) -> None:
    made = [call_piece("{}", id="c1", name="f")] if calls else None
    response = plain(reply(word, content="ok", tool_calls=made))
    assert response.finish_reason is expected
    assert response.raw_finish_reason == (word if word != "null" else None)


def test_a_word_that_contradicts_the_reply_is_told() -> None:
    response = plain(reply("tool_calls", content="ok"))
    assert response.finish_reason is FinishReason.STOP
    assert [notice.code for notice in response.notices] == ["finish_reason_without_calls"]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        (None, TokenUsage()),
        (
            {
                "input_tokens": 30,
                "output_tokens": 5,
                "total_tokens": 35,
                "prompt_tokens_details": {"cached_tokens": 20, "cache_creation_input_tokens": 4},
                "output_tokens_details": {"reasoning_tokens": 3, "text_tokens": 2},
            },
            TokenUsage(30, 5, 35, 20, 4, 3),
        ),
        ({"input_tokens": 1277, "output_tokens": 81, "image_tokens": 1247}, TokenUsage(1277, 81)),
        ({"input_tokens": 3.0, "output_tokens": "2", "prompt_tokens_details": None}, TokenUsage(3)),
        ({"input_tokens": -1, "output_tokens": True, "total_tokens": 4}, TokenUsage(None, None, 4)),
    ],
)
def test_tokens_are_those_that_were_reported(usage: Any, expected: TokenUsage) -> None:
    """A total is never computed; the vendor's own object is kept."""
    response = plain({**reply(content="ok"), "usage": usage})
    assert response.token_usage == expected and response.token_usage.raw == usage


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"[]", "is not a JSON object"),
        (b"<html>", "is not a JSON object"),
        (b'{"output": {}}', "no output with a message"),
        (b'{"output": {"choices": []}}', "no output with a message"),
        (b'{"output": {"choices": [{"finish_reason": "stop"}]}}', "no output with a message"),
        (b'{"request_id": "r-1"}', "no output with a message"),
        (b'{"choices": [{"message": {"content": "ok"}}]}', "no output with a message"),
    ],
)
def test_what_is_no_answer_of_this_api_is_an_error(body: bytes, message: str) -> None:
    """Also one of the vendor's compatible API, which has another address."""
    with pytest.raises(ProtocolError, match=message):
        plain(body)


def test_an_empty_text_is_an_answer() -> None:
    response = plain(reply(content=""))
    assert response.ai_message.contents == () and response.finish_reason is FinishReason.STOP


def test_numbers_that_json_has_not_become_null() -> None:
    response = plain(b'{"output": {"text": "ok"}, "usage": {"input_tokens": Infinity}}')
    assert [notice.code for notice in response.notices] == ["number_not_finite"]


def test_arguments_that_are_no_text_are_written_as_json() -> None:
    calls = [call_piece({"a": [1]}, id="c1", name="f"), call_piece(None, index=1, id="c1", name="g")]
    response = plain(reply("tool_calls", tool_calls=calls))
    assert calls_of(response) == [("c1", "f", '{"a":[1]}'), ("made_1", "g", "{}")]


@pytest.mark.parametrize("more", [{"index": 0}, {"index": None}, {"index": 0, "id": "c1"}])
def test_each_item_of_a_whole_answer_is_a_call(more: dict[str, Any]) -> None:
    """Whatever index, and whatever id, a server gives to all of them."""
    calls = [call_piece('{"a": 1}', **more, name="f"), call_piece('{"b": 2}', **more, name="f")]
    made = calls_of(plain(reply("tool_calls", tool_calls=calls)))
    assert [(name, arguments) for _, name, arguments in made] == [("f", '{"a": 1}'), ("f", '{"b": 2}')]
    assert len({identity for identity, _, _ in made}) == 2


@pytest.mark.parametrize(
    "bodies",
    [
        pytest.param(
            [
                reply("null", content="It "),
                reply("null", content="rains.", tool_calls=[call_piece('{"a"', id="c1", name="f")]),
                reply("tool_calls", tool_calls=[call_piece(": 1}")]),
            ],
            id="what is new",
        ),
        pytest.param(
            [
                reply("null", content="It "),
                reply("null", content="It rains.", tool_calls=[call_piece('{"a"', id="c1", name="f")]),
                reply("tool_calls", content="It rains.", tool_calls=[call_piece('{"a": 1}', id="c1", name="f")]),
            ],
            id="everything so far",
        ),
    ],
)
def test_a_stream_where_a_whole_answer_was_asked_for_is_joined(bodies: list[dict[str, Any]]) -> None:
    """Which kind it is, the events show."""
    body = events(*bodies)
    for content in (body, b"\xef\xbb\xbf: hello\n\n" + body.replace(b"\n", b"\r\n")):
        response = plain(content)
        assert (response.ai_message.text, calls_of(response)) == ("It rains.", [("c1", "f", '{"a": 1}')])
        assert response.notices == () and response.raw_body == content


def test_such_a_stream_fails_as_streams_do() -> None:
    """By an error in it, or by its early end."""
    begun = event(reply("null", content="It "))
    with pytest.raises(RateLimitError, match="status 429: slow"):
        plain(begun + event({"code": "Throttling", "message": "slow"}, 2, kind="error", status=429))
    with pytest.raises(StreamTruncatedError) as caught:
        plain(begun)
    assert caught.value.partial_text == "It "


@pytest.mark.parametrize(
    "beside",
    [{"usage": {"input_tokens": 1}}, {"output": {"choices": []}}, {"output": {"text": None, "finish_reason": None}}],
)
def test_a_code_beside_no_answer_is_an_error_whatever_else_stands_there(beside: dict[str, Any]) -> None:
    body = {"code": "DataInspectionFailed", "message": "no", "request_id": "r-9", **beside}
    with pytest.raises(ContentFilterError, match="no"):
        plain(body)
    with pytest.raises(ContentFilterError, match="no"):
        events_in(event(body))
