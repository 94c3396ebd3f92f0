"""What a plain answer becomes."""

from __future__ import annotations

from dataclasses import replace
from math import inf, nan
from typing import Any

import pytest

from agentforge.errors import ProtocolError, ToolArgumentsError
from agentforge.model import (
    FinishReason,
    ProviderState,
    TextContent,
    ThinkingContent,
    TokenUsage,
    response_from_json,
    response_to_json,
)
from agentforge_openai.wire.usage import decode_usage
from plugins.openai.tests.support import calls_of, message, piece, plain, sse, streamed

CALL = piece("look", '{"a": 1}', id="c1", type="function")


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        pytest.param(CALL, ("c1", "look", '{"a": 1}'), id="as documented"),
        pytest.param(piece("look", "{}", id=""), ("made_1", "look", "{}"), id="blank id"),
        pytest.param(piece("look", "{}"), ("made_1", "look", "{}"), id="no id"),
        pytest.param(piece("look", "{}", id=None), ("made_1", "look", "{}"), id="null id"),
        pytest.param(piece("look", "", id="c1"), ("c1", "look", "{}"), id="empty arguments (MO-01)"),
        pytest.param(piece("look", id="c1"), ("c1", "look", "{}"), id="no arguments"),
        pytest.param(piece("look", {"a": "é"}, id="c1"), ("c1", "look", '{"a":"é"}'), id="arguments as an object"),
        pytest.param(
            piece("look", {"a": nan}, id="c1"), ("c1", "look", '{"a":NaN}'), id="NaN in an object of arguments"
        ),
        pytest.param(piece("look", [inf], id="c1"), ("c1", "look", "[Infinity]"), id="a list of arguments"),
        pytest.param(piece("look\n", "{}", id="c1"), ("c1", "look", "{}"), id="name with white space (MO-17)"),
        pytest.param(
            piece("look", '{"a": ', id="c1"), ("c1", "look", '{"a": '), id="broken arguments stay as they came"
        ),
        pytest.param(
            {"id": "c1", "type": "custom", "custom": {"name": "sql", "input": "select 1"}},
            ("c1", "sql", "select 1"),
            id="custom call",
        ),
        pytest.param(
            {**CALL, "custom": {"name": "", "input": ""}}, ("c1", "look", '{"a": 1}'), id="blank custom beside function"
        ),
    ],
)
def test_a_call_is_read_however_it_is_written(call: dict[str, Any], expected: tuple[str, str, str]) -> None:
    response = plain(message("tool_calls", content=None, tool_calls=[call]))
    assert calls_of(response) == [expected]
    assert response.finish_reason is FinishReason.TOOL_EXECUTION


def test_an_id_that_was_made_up_says_so() -> None:
    response = plain(message(tool_calls=[CALL, piece("look")]))
    assert [call.id_was_given for call in response.ai_message.tool_execution_requests] == [True, False]


def test_repeated_ids_of_one_reply_are_made_unique() -> None:
    """Case MO-14, and servers that number every call alike."""
    response = plain(message(tool_calls=[CALL, CALL, piece("look", id=""), piece("look", id="")]))
    assert [identity for identity, _, _ in calls_of(response)] == ["c1", "made_1", "made_2", "made_3"]


def test_arguments_that_are_no_object_are_the_tools_business() -> None:
    """Case MO-04: the reply is read, the call's arguments are not."""
    texts = ['["Oslo"]', '"Oslo"', "7", "true", '{"a": NaN}', '{"a": 1, "a": 2}']
    response = plain(message(tool_calls=[piece("look", text, id=f"c{n}") for n, text in enumerate(texts)]))
    requests = response.ai_message.tool_execution_requests
    assert [request.arguments for request in requests] == texts
    for request in requests:
        with pytest.raises(ToolArgumentsError):
            request.arguments_as_map()


def test_an_object_of_arguments_with_a_number_that_is_none_is_refused_as_arguments_are() -> None:
    """Nothing takes its place, and the rest of the reply is whole."""
    body = (
        b'{"choices":[{"message":{"content":"so","tool_calls":[{"id":"c1","function":{"name":"a","arguments":%b}}]}}]}'
    )
    for number in (b"NaN", b"-Infinity", b"1e400"):
        response = plain(body % (b'{"n":' + number + b"}"))
        assert response.ai_message.text == "so"
        assert response.notices == ()
        with pytest.raises(ToolArgumentsError, match="is not a JSON number"):
            response.ai_message.tool_execution_requests[0].arguments_as_map()


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e400"])
@pytest.mark.parametrize("way", ["plain", "streamed"])
def test_a_number_that_json_has_not_becomes_null_with_a_notice(number: str, way: str) -> None:
    """What is kept of a reply can always be saved and sent again."""
    kept = '"content":"so","extra_content":{"a":[N,1]},"reasoning_details":[{"type":"t","score":N}]'
    rest = '"usage":{"prompt_tokens":3,"completion_tokens":N,"cost":N}'
    if way == "plain":
        body = f'{{"choices":[{{"message":{{{kept}}}}}],{rest}}}'
        response = plain(body.replace("N", number).encode())
    else:
        body = f'data: {{"choices":[{{"delta":{{{kept}}}}}]}}\n\ndata: {{"choices":[],{rest}}}\n\n'
        response = streamed(sse(body.replace("N", number).encode()))
    assert [notice.code for notice in response.notices] == ["number_not_finite"]
    assert response.ai_message.provider_state == ProviderState("tests", {"extra_content": {"a": [None, 1]}})
    assert (response.token_usage.input_tokens, response.token_usage.output_tokens) == (3, None)
    assert response_from_json(response_to_json(response)) == replace(response, raw_body=None)


def test_of_several_answers_the_first_by_its_number_is_read() -> None:
    choices = [{"index": n, "message": {"content": text}} for n, text in ((1, "b"), (0, "a"))]
    assert plain({"choices": choices}).ai_message.text == "a"
    assert plain({"choices": choices[:1]}).ai_message.text == "b"


def test_the_old_function_call_is_a_call() -> None:
    response = plain(message("function_call", content=None, function_call={"name": "look", "arguments": "{}"}))
    assert calls_of(response) == [("made_1", "look", "{}")]
    empty = plain(message("stop", content="x", function_call={"name": "", "arguments": ""}))
    assert calls_of(empty) == []


@pytest.mark.parametrize(
    ("fields", "parts"),
    [
        ({"content": "hi"}, [TextContent("hi")]),
        ({"content": None}, []),
        ({"content": ""}, []),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, [TextContent("ab")]),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]},
                    {"type": "text", "text": "so"},
                    {"type": "reference", "ids": [1]},
                ]
            },
            [
                ThinkingContent(
                    "hm",
                    ProviderState(
                        "tests",
                        {"thinking_parts": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}]},
                    ),
                ),
                TextContent("so"),
            ],
        ),
        ({"content": "<tool_call> opens a block"}, [TextContent("<tool_call> opens a block")]),
        (
            {"content": [{"type": "thinking", "thinking": "hm"}, "so"]},
            [
                ThinkingContent(
                    "hm", ProviderState("tests", {"thinking_parts": [{"type": "thinking", "thinking": "hm"}]})
                ),
                TextContent("so"),
            ],
        ),
        ({"content": [{"type": "thinking", "thinking": 3}, {"text": "so"}]}, [TextContent("so")]),
        (
            {"content": "", "refusal": "I will not"},
            [TextContent("I will not", ProviderState("tests", {"refusal": True}))],
        ),
        (
            {"content": [{"type": "refusal", "refusal": "no"}]},
            [TextContent("no", ProviderState("tests", {"refusal": True}))],
        ),
        (
            {"content": "so", "reasoning_content": "hm"},
            [ThinkingContent("hm", ProviderState("tests", {"reasoning_content": "hm"})), TextContent("so")],
        ),
        (
            {"content": "so", "reasoning": "hm"},
            [ThinkingContent("hm", ProviderState("tests", {"reasoning": "hm"})), TextContent("so")],
        ),
        (
            {"content": "so", "reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "s"}]},
            [
                ThinkingContent(
                    "hm",
                    ProviderState(
                        "tests",
                        {"reasoning_details": [{"type": "reasoning.text", "text": "hm", "signature": "s"}]},
                    ),
                ),
                TextContent("so"),
            ],
        ),
        ({"content": "so", "reasoning_content": ""}, [TextContent("so")]),
    ],
)
def test_the_parts_of_a_reply_keep_what_must_go_back(fields: dict[str, Any], parts: list[Any]) -> None:
    assert list(plain(message(**fields)).ai_message.contents) == parts


def test_items_of_a_whole_answer_are_never_merged() -> None:
    items = [{"type": "reasoning.text", "index": 0, "text": text} for text in ("a", "b")]
    (thinking,) = plain(message(reasoning_details=items)).ai_message.contents
    assert thinking == ThinkingContent("ab", ProviderState("tests", {"reasoning_details": items}))


def test_opaque_fields_of_message_and_call_are_kept_for_replay() -> None:
    extra: dict[str, Any] = {"extra_content": {"google": {"thought_signature": "sig"}}}
    response = plain(message(content=None, tool_calls=[{**CALL, **extra}], **extra))
    assert response.ai_message.provider_state == ProviderState("tests", extra)
    assert response.ai_message.tool_execution_requests[0].provider_state == ProviderState("tests", extra)


FINISHES = [
    # the vendor's word, with calls, the reason
    ("stop", False, FinishReason.STOP),
    ("eos", False, FinishReason.STOP),
    (None, False, FinishReason.STOP),
    ("", False, FinishReason.STOP),
    ("length", False, FinishReason.LENGTH),
    ("model_length", False, FinishReason.LENGTH),
    ("content_filter", False, FinishReason.CONTENT_FILTER),
    ("error", False, FinishReason.ERROR),
    ("insufficient_system_resource", False, FinishReason.ERROR),
    ("a_new_word", False, FinishReason.OTHER),
    ("tool_calls", True, FinishReason.TOOL_EXECUTION),
    ("function_call", True, FinishReason.TOOL_EXECUTION),
    ("stop", True, FinishReason.TOOL_EXECUTION),
    ("", True, FinishReason.TOOL_EXECUTION),
    (None, True, FinishReason.TOOL_EXECUTION),
    ("length", True, FinishReason.LENGTH),
    ("content_filter", True, FinishReason.CONTENT_FILTER),
    ("error", True, FinishReason.ERROR),
    ("sensitive", False, FinishReason.CONTENT_FILTER),
    ("network_error", False, FinishReason.ERROR),
]


@pytest.mark.parametrize(("word", "calls", "reason"), FINISHES)
def test_the_calls_decide_and_the_word_only_colours(word: str | None, calls: bool, reason: FinishReason) -> None:
    response = plain(message(word, content="x", tool_calls=[CALL] if calls else None))
    assert response.finish_reason is reason
    assert response.raw_finish_reason == word
    assert response.notices == ()


def test_a_reason_that_promises_calls_without_any_is_a_stop_with_a_notice() -> None:
    response = plain(message("tool_calls", content="x"))
    assert response.finish_reason is FinishReason.STOP
    assert [notice.code for notice in response.notices] == ["finish_reason_without_calls"]


@pytest.mark.parametrize("word", ["stop", "tool_calls", None])
def test_a_refusal_is_an_answer(word: str | None) -> None:
    assert plain(message(word, refusal="no")).finish_reason is FinishReason.REFUSAL


USAGES = [
    ({"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}, False, (5, 2, 7, None, None, None)),
    ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 3}}, False, (5, None, None, 3, None, None)),
    ({"prompt_tokens": 5, "prompt_cache_hit_tokens": 4}, False, (5, None, None, 4, None, None)),
    ({"prompt_tokens": 5, "cached_tokens": 2}, False, (5, None, None, 2, None, None)),
    (
        {"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 1, "cache_creation_input_tokens": 2}},
        False,
        (5, None, None, 1, 2, None),
    ),
    (
        {"completion_tokens": 9, "completion_tokens_details": {"reasoning_tokens": 6}},
        False,
        (None, 9, None, None, None, 6),
    ),
    ({"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}, True, (35, 74, 109, None, None, 62)),
    ({"prompt_tokens": 35, "completion_tokens": 12, "total_tokens": 109}, False, (35, 12, 109, None, None, None)),
    (
        {
            "prompt_tokens": 3,
            "completion_tokens": 4,
            "total_tokens": 9,
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
        True,
        (3, 6, 9, None, None, 2),
    ),
    (
        {
            "prompt_tokens": 3,
            "completion_tokens": 6,
            "total_tokens": 9,
            "completion_tokens_details": {"reasoning_tokens": 2},
        },
        False,
        (3, 6, 9, None, None, 2),
    ),
    ({"prompt_tokens": 5, "num_cached_tokens": 2}, False, (5, None, None, 2, None, None)),
    ({"prompt_tokens": 5.0, "completion_tokens": None, "total_tokens": "7"}, False, (5, None, None, None, None, None)),
    ({"prompt_tokens": 5, "prompt_tokens_details": None}, False, (5, None, None, None, None, None)),
]


@pytest.mark.parametrize(("raw", "only_in_total", "expected"), USAGES)
def test_usage_is_read_from_where_each_vendor_puts_it(raw: dict[str, Any], only_in_total: bool, expected: Any) -> None:
    """Totals are never computed, and the vendor's object is kept."""
    usage = decode_usage(raw, reasoning_only_in_total=only_in_total)
    assert usage == TokenUsage(*expected)
    assert usage.raw is raw


def test_identity_usage_and_the_raw_body_are_on_the_response() -> None:
    body = {"id": "r1", "model": "m-2026", "usage": {"prompt_tokens": 3}, **message(content="hi")}
    response = plain(body)
    assert (response.id, response.model_name, response.token_usage.input_tokens) == ("r1", "m-2026", 3)
    assert response.raw == body


def test_a_list_that_holds_the_one_body_is_read() -> None:
    assert plain(b'[{"choices":[{"message":{"content":"hi"}}]}]').ai_message.text == "hi"


def test_keep_alive_lines_before_the_body_are_tolerated() -> None:
    assert plain(b'\n\n\n{"choices":[{"message":{"content":"hi"}}]}').ai_message.text == "hi"


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (b"", "body is empty"),
        (b"<html>login</html>", "not a JSON object"),
        (b'{"choices": [', "not a JSON object"),
        (b"[]", "not a JSON object"),
        (b"3", "not a JSON object"),
        (b"{}", "no choices"),
        (b'{"choices": []}', "no choices"),
        (b'{"choices": null}', "no choices"),
        (b'{"choices": [{"index": 0}]}', "no choices"),
        (b'{"choices": ["x"]}', "no choices"),
    ],
)
def test_what_is_no_answer_of_this_wire_is_a_protocol_error(body: bytes, what: str) -> None:
    with pytest.raises(ProtocolError, match=what) as caught:
        plain(body)
    assert caught.value.next_step
