"""Streams in forms that nothing recorded covers: made by hand after the vendor's reference and its own library."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import (
    ContentFilterError,
    InvalidRequestError,
    ModelError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
)
from agentforge.model import (
    Citation,
    FinishReason,
    ProviderState,
    TextDelta,
    ThinkingContent,
    ThinkingDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    UsageEvent,
)
from agentforge_dashscope.wire.stream import StreamDecoder
from plugins.dashscope.tests.support import OWNER, answering, call_piece, event, events, events_in, reply, streamed
from tests.support.wire_exchange import calls_of

CALLS = [call_piece('{"a": 1}', id="c1", name="f"), call_piece("{}", index=1, id="c2", name="g")]


def texts_of(body: bytes, kind: type[Any] = TextDelta, **changes: Any) -> list[str]:
    return [each.text for each in events_in(body, **changes) if isinstance(each, kind)]


# -- streams that repeat everything ----------------------------------------------------------------


def test_a_cumulative_stream_is_shown_piece_by_piece() -> None:
    """Thinking, text and the arguments of two calls; nothing is doubled."""
    body = events(
        reply("null", reasoning_content="I"),
        reply("null", reasoning_content="I think"),
        reply("null", reasoning_content="I think", content="Look"),
        reply("null", content="Looking.", tool_calls=[call_piece('{"a"', id="c1", name="f")]),
        reply("null", content="Looking.", tool_calls=[call_piece('{"a": 1}', id="c1", name="f")]),
        reply("tool_calls", content="Looking.", tool_calls=CALLS),
    )
    found = events_in(body, cumulative=True)
    assert [type(each).__name__ for each in found] == [
        "ThinkingDelta",
        "ThinkingDelta",
        "TextDelta",
        "TextDelta",
        "ToolCallDelta",
        "ToolCallDelta",
        "ToolCallDelta",
        "UsageEvent",
        "ToolCallReady",
        "ToolCallReady",
        "ResponseDone",
    ]
    assert texts_of(body, ThinkingDelta, cumulative=True) == ["I", " think"]
    assert texts_of(body, cumulative=True) == ["Look", "ing."]
    pieces = [each.arguments_delta for each in found if isinstance(each, ToolCallDelta)]
    assert pieces == ['{"a"', ": 1}", "{}"]
    response = streamed(body, cumulative=True)
    assert calls_of(response) == [("c1", "f", '{"a": 1}'), ("c2", "g", "{}")]
    assert (response.ai_message.thinking, response.ai_message.text) == ("I think", "Looking.")
    assert response.notices == ()


def test_events_that_say_nothing_take_nothing_back() -> None:
    """Neither a last event without content, nor pieces without arguments."""
    body = events(
        reply("null", content="Hello", tool_calls=[call_piece('{"a": 1}', id="c1", name="f")]),
        reply("null", content=None, tool_calls=[call_piece(None, id="")]),
        reply("tool_calls", content="", tool_calls=None),
    )
    response = streamed(body, cumulative=True)
    assert response.ai_message.text == "Hello"
    assert calls_of(response) == [("c1", "f", '{"a": 1}')]


def test_a_character_that_was_cut_is_shown_when_it_is_whole() -> None:
    """A server that cuts its text within a character puts another in its place until the rest has come."""
    body = events(
        reply("null", content="in \ufffd"), reply("null", content="in 杭\ufffd"), reply("stop", content="in 杭州")
    )
    assert texts_of(body, cumulative=True) == ["in ", "杭", "州"]


def test_what_was_held_back_is_shown_at_the_end() -> None:
    """A text, and arguments, may end in that very character."""
    body = events(reply("tool_calls", content="?\ufffd", tool_calls=[call_piece('{"a\ufffd', id="c1", name="f")]))
    found = events_in(body, cumulative=True)
    assert texts_of(body, cumulative=True) == ["?", "\ufffd"]
    assert [each.arguments_delta for each in found if isinstance(each, ToolCallDelta)] == ['{"a', "\ufffd"]
    assert streamed(body, cumulative=True).ai_message.text == "?\ufffd"


def test_a_text_that_was_changed_is_the_last_one() -> None:
    """It is replaced, never appended to, and the response says that what was shown is not all of it."""
    body = events(
        reply("null", content="It rains"), reply("null", content="It snows"), reply("stop", content="It snows.")
    )
    response = streamed(body, cumulative=True)
    assert response.ai_message.text == "It snows."
    assert [notice.code for notice in response.notices] == ["stream_revised"]
    assert texts_of(body, cumulative=True) == ["It rains", "."]


def test_calls_of_a_cumulative_stream_without_indices_are_told_apart_by_their_place() -> None:
    """And where ids come, by those."""
    without = [{"function": {"name": "f", "arguments": "{}"}}, {"function": {"name": "f", "arguments": '{"b"'}}]
    body = events(
        reply("null", tool_calls=without[:1]),
        reply("null", tool_calls=without),
        reply("tool_calls", tool_calls=[without[0], {"function": {"name": "f", "arguments": '{"b": 2}'}}]),
    )
    assert calls_of(streamed(body, cumulative=True)) == [("made_1", "f", "{}"), ("made_2", "f", '{"b": 2}')]
    named = [{**one, "id": f"c{at}"} for at, one in enumerate(without)]
    body = events(reply("null", tool_calls=named[1:]), reply("tool_calls", tool_calls=named))
    assert calls_of(streamed(body, cumulative=True)) == [("c1", "f", '{"b"'), ("c0", "f", "{}")]


def test_one_index_for_all_calls_of_a_cumulative_stream_loses_none() -> None:
    """Each event lists all of them, so that two places of one list are two calls."""
    first, second = call_piece('{"a": 1}', name="f"), call_piece('{"b": 2}', name="f")
    body = events(reply("null", tool_calls=[first]), reply("tool_calls", tool_calls=[first, second]))
    response = streamed(body, cumulative=True)
    assert calls_of(response) == [("made_1", "f", '{"a": 1}'), ("made_2", "f", '{"b": 2}')]
    assert response.notices == ()


# -- streams of what is new ------------------------------------------------------------------------


def test_the_same_words_twice_are_two_words() -> None:
    """A delta that repeats all before it is a delta all the same."""
    body = events(reply("null", content="ha"), reply("null", content="ha"), reply("stop", content="haha"))
    assert streamed(body).ai_message.text == "hahahaha"


def test_half_a_surrogate_pair_waits_for_the_other_half() -> None:
    """Escaped in two events; alone at the end it is shown as it came."""
    body = event('{"output":{"choices":[{"message":{"content":"a\\ud83d"},"finish_reason":"null"}]}}')
    body += event('{"output":{"choices":[{"message":{"content":"\\ude00b\\ud83d"},"finish_reason":"stop"}]}}')
    assert texts_of(body) == ["a", "\U0001f600b", "\ud83d"]
    assert streamed(body).ai_message.text == "a\U0001f600b\ud83d"


def test_parallel_calls_whose_pieces_alternate() -> None:
    """Pieces go to the call of their index, whatever came between."""
    body = events(
        reply("null", tool_calls=[call_piece('{"a"', id="c1", name="f")]),
        reply("null", tool_calls=[call_piece('{"b"', index=1, id="c2", name="g")]),
        reply("null", tool_calls=[call_piece(": 1}"), call_piece(": 2}", index=1)]),
        reply("tool_calls"),
    )
    assert calls_of(streamed(body)) == [("c1", "f", '{"a": 1}'), ("c2", "g", '{"b": 2}')]


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        pytest.param(
            [
                call_piece("{}", id="c1", name="f"),
                call_piece('{"b"', id="c2", name="g"),
                call_piece(": 2}"),
                call_piece("", id="c1"),
            ],
            [("c1", "f", "{}"), ("c2", "g", '{"b": 2}')],
            id="one index for all calls, told apart by their ids",
        ),
        pytest.param(
            [
                {"id": "c1", "function": {"name": "f", "arguments": "{"}},
                {"function": {"arguments": "}"}},
                {"function": {"name": "g", "arguments": "{}"}},
                {"id": "c1", "function": {"arguments": " "}},
            ],
            [("c1", "f", "{} "), ("made_1", "g", "{}")],
            id="no index at all",
        ),
        pytest.param(
            [call_piece("{}", id="c1", name="f"), call_piece("{}", index=1, id="c1", name="f")],
            [("c1", "f", "{}"), ("made_1", "f", "{}")],
            id="one id for two calls",
        ),
        pytest.param(
            [call_piece('{"a": 1}', name="f"), call_piece('{"b"', name="f"), call_piece(": 2}")],
            [("made_1", "f", '{"a": 1}'), ("made_2", "f", '{"b": 2}')],
            id="one index and no ids: a name behind whole arguments begins a call",
        ),
        pytest.param(
            [call_piece({"a": 1}, id="c1", name="f")], [("c1", "f", '{"a":1}')], id="arguments that are an object"
        ),
        pytest.param(
            [
                call_piece("", id="c1", name="get_"),
                call_piece("{}", name="weather"),
                call_piece("", name="get_weather"),
            ],
            [("c1", "get_weather", "{}")],
            id="a name in pieces, and said again",
        ),
        pytest.param([call_piece(None, id=" ", name=" f ")], [("made_1", "f", "{}")], id="blanks around"),
        pytest.param([{"id": "c1", "function": None}, 7], [("c1", "", "{}")], id="nothing that is a function"),
    ],
)
def test_odd_pieces_of_calls(pieces: list[Any], expected: list[tuple[str, str, str]]) -> None:
    body = events(*(reply("null", tool_calls=[piece]) for piece in pieces), reply("tool_calls"))
    assert calls_of(streamed(body)) == expected


def test_content_that_is_a_list_of_parts() -> None:
    """As models of images answer; what stands beside the text is no text."""
    body = events(
        reply("null", content=[{"text": "A "}]),
        reply("null", content=[{"image_hw": [10, 20]}, 7]),
        reply("stop", content=[{"text": "cat"}, {"text": "."}]),
    )
    assert streamed(body).ai_message.text == "A cat."
    whole = events(reply("null", content=[{"text": "A "}]), reply("stop", content=[{"text": "A cat."}]))
    assert streamed(whole, cumulative=True).ai_message.text == "A cat."


def test_a_stream_whose_format_was_not_honoured() -> None:
    """The text stands in the output itself, and so does the reason."""
    said = [{"text": "He", "finish_reason": "null"}, {"text": "llo", "finish_reason": "length", "choices": None}]
    body = events(*({"output": output, "request_id": "r-2"} for output in said))
    response = streamed(body)
    assert (response.ai_message.text, response.finish_reason, response.id) == ("Hello", FinishReason.LENGTH, "r-2")


def test_only_the_first_of_several_answers_is_read() -> None:
    """A custom ``n``; each event holds one of them."""
    other = {"output": {"choices": [{"message": {"content": "B"}, "index": 1, "finish_reason": "stop"}]}}
    body = events(reply("null", content="A"), other, reply("stop", content="!"))
    assert streamed(body).ai_message.text == "A!"


def test_the_reason_may_stand_in_the_output_alone() -> None:
    body = events({"output": {"choices": [{"message": {"content": "ok"}}], "finish_reason": "stop"}})
    assert streamed(body).raw_finish_reason == "stop"


def test_sources_and_what_else_the_output_holds_are_kept() -> None:
    """Results of a search come with the first event or with each; of what the provider's tools did the last counts."""
    found = {"search_results": [{"index": 1, "title": "Oslo", "url": "https://yr.example"}, {"index": 2}]}
    first = reply("null", content="It ")
    first["output"]["search_info"] = found
    second = reply("stop", content="rains.")
    second["output"]["choices"][0]["search_info"] = {"search_results": []}
    second["output"]["tool_info"] = [{"type": "code_interpreter", "code_interpreter": {"code": "1"}}]
    response = streamed(events(first, second))
    assert response.citations == (Citation("https://yr.example", "Oslo"),)
    assert response.ai_message.provider_state == ProviderState(OWNER, {"tool_info": second["output"]["tool_info"]})


def test_reasoning_is_kept_with_what_may_have_to_go_back() -> None:
    body = events(reply("null", reasoning_content="Hm"), reply("null", reasoning_content="."), reply(content="ok"))
    assert streamed(body).ai_message.contents[0] == ThinkingContent(
        "Hm.", ProviderState(OWNER, {"reasoning_content": "Hm."})
    )


def test_the_tokens_are_those_of_the_last_event() -> None:
    """They grow with the stream."""
    bodies = [reply("null", content="a"), reply("stop", content="b")]
    bodies[0]["usage"] = {"input_tokens": 9, "output_tokens": 1}
    bodies[1]["usage"] = {"input_tokens": 9, "output_tokens": 7, "output_tokens_details": {"reasoning_tokens": 5}}
    found = events_in(events(*bodies))
    usages = [each.usage for each in found if isinstance(each, UsageEvent)]
    assert usages == [TokenUsage(9, 7, None, None, None, 5)]


def test_numbers_that_json_has_not_become_null() -> None:
    body = event('{"output":{"text":"ok","finish_reason":"stop"},"usage":{"input_tokens":NaN}}')
    response = streamed(body)
    assert response.ai_message.text == "ok"
    assert [notice.code for notice in response.notices] == ["number_not_finite"]


# -- frames ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "frame",
    [
        pytest.param(lambda data: f"data: {data}\n\n", id="data alone"),
        pytest.param(lambda data: f"event: result\r\ndata: {data}\r\n\r\n", id="CRLF and blanks"),
        pytest.param(lambda data: f": keep-alive\n\nid:1\nevent:result\ndata:{data}\n\n", id="keep-alive"),
        pytest.param(lambda data: f"event:result\n:HTTP_STATUS/200\ndata:{data}\n\ndata:[DONE]\n\n", id="an end mark"),
        pytest.param(lambda data: f"id:1\nevent:result\ndata:{data}", id="no blank line at the end"),
    ],
)
def test_frames_of_other_kinds(frame: Any) -> None:
    assert streamed(frame(json.dumps(reply(content="ok"))).encode()).ai_message.text == "ok"


def test_calls_are_told_when_the_reply_is_whole() -> None:
    found = events_in(events(reply("null", tool_calls=CALLS[:1]), reply("tool_calls", tool_calls=CALLS[1:])))
    ready = [(each.index, each.request.id) for each in found if isinstance(each, ToolCallReady)]
    assert ready == [(0, "c1"), (1, "c2")]


# -- streams that fail -----------------------------------------------------------------------------

STARTED = event(reply("null", content="Half"))


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("Throttling.RateQuota", 429, RateLimitError),
        ("DataInspectionFailed", 400, ContentFilterError),
        ("InvalidParameter", 400, InvalidRequestError),
        ("InternalError.Algo", 500, OverloadedError),
        ("SomethingNew", 503, OverloadedError),
        ("SomethingNew", 422, InvalidRequestError),
    ],
)
@pytest.mark.parametrize("begun", [b"", STARTED])
def test_an_error_event_is_an_error_of_its_code_and_status(
    code: str, status: int, kind: type[ModelError], begun: bytes
) -> None:
    """Under the status 200 of the whole; the other one stands in a comment."""
    said = event({"code": code, "message": "no", "request_id": "r-9"}, 2, kind="error", status=status)
    decoder = StreamDecoder(answering(), headers={"x-request-id": "r-header"})
    shown = decoder.feed(begun) if begun else []
    with pytest.raises(ModelError) as caught:
        decoder.feed(said)
    error = caught.value
    assert (type(error), error.status, error.provider_code, error.request_id) == (kind, status, code, "r-header")
    assert error.details.get("partial_text") == ("Half" if shown else None)
    assert error.retryable is kind.retryable


def test_the_status_is_found_wherever_the_event_is_cut() -> None:
    """Behind events in one piece, byte by byte, with other line ends, behind a long stream."""
    said = event({"code": "Whatever", "message": "no"}, 9, kind="error", status=429)
    long = events(*(reply("null", content="x" * 1000) for _ in range(200)))
    for body in (STARTED + said, STARTED + said.replace(b"\n", b"\r\n"), long + said, said + said):
        for size in (1, 7, len(body)) if len(body) < 10_000 else (4096,):
            with pytest.raises(RateLimitError) as caught:
                fed(body, size)
            assert caught.value.status == 429


def fed(body: bytes, size: int) -> None:
    """Read a body in pieces of this size."""
    decoder = StreamDecoder(answering())
    for at in range(0, len(body), size):
        decoder.feed(body[at : at + size])
    decoder.finish()


@pytest.mark.parametrize(
    ("said", "status", "message"),
    [
        ({"code": "Throttling", "message": "slow"}, 429, "status 429: slow"),
        ({"error": {"code": "Arrearage", "message": "pay"}}, 400, "status 400: pay"),
        ({"message": "no more"}, None, "error in the answer: no more"),
        ({"code": "Surprise"}, None, "the answer holds an error without any detail"),
    ],
)
def test_an_error_without_a_comment_has_the_status_of_its_code(
    said: dict[str, Any], status: int | None, message: str
) -> None:
    """Also where the event has not the name of an error."""
    for kind in ("error", "result"):
        with pytest.raises(ModelError) as caught:
            events_in(STARTED + event(said, 2, kind=kind, status=None))
        assert (caught.value.status, caught.value.message) == (status, message)


def test_an_error_that_has_not_the_name_of_one_has_not_the_status_of_a_later_one() -> None:
    """Wherever the network cuts them."""
    body = event({"code": "Surprise", "message": "no"}, status=200) + event({}, kind="error", status=429)
    for size in (len(body), 1):
        with pytest.raises(ModelError) as caught:
            fed(body, size)
        assert type(caught.value) is ModelError and caught.value.status is None


@pytest.mark.parametrize("comment", [":HTTP_STATUS/429", ": HTTP_STATUS/429", "status:429", "status: 429"])
@pytest.mark.parametrize("data", ["", "data:\n"])
def test_an_error_event_without_data_has_its_status_at_least(comment: str, data: str) -> None:
    """In any way in which a status was seen to be written."""
    body = STARTED + f"id:2\nevent:error\n{comment}\n{data}\n".encode()
    with pytest.raises(RateLimitError, match="status 429: the endpoint gave no message") as caught:
        events_in(body)
    assert caught.value.details["partial_text"] == "Half"


def test_an_error_event_that_is_no_json_is_told_as_it_is() -> None:
    with pytest.raises(OverloadedError, match="status 502: upstream gone"):
        events_in(event("upstream gone", kind="error", status=502))


@pytest.mark.parametrize(
    ("body", "kind", "message"),
    [
        pytest.param(STARTED, StreamTruncatedError, "no finish reason came", id="no reason"),
        pytest.param(b"", StreamTruncatedError, "no finish reason came", id="nothing"),
        pytest.param(event("{broken"), ProtocolError, "event 1 of the stream is not a JSON object", id="no JSON"),
        pytest.param(STARTED + event("[1]", 2), ProtocolError, "event 2 of the stream", id="a list"),
        pytest.param(
            event({"output": {"finish_reason": "stop"}}), ProtocolError, "no output with a message", id="no output"
        ),
        pytest.param(b"<html>login</html>", ProtocolError, "is not an event stream", id="a page"),
    ],
)
def test_streams_that_are_not_whole_are_errors(body: bytes, kind: type[ModelError], message: str) -> None:
    with pytest.raises(ModelError, match=message) as caught:
        events_in(body)
    assert type(caught.value) is kind


def test_events_of_no_known_kind_are_passed_over() -> None:
    body = event({"ping": 1}, kind="heartbeat") + event({"output": None}) + events(reply(content="ok"))
    assert streamed(body).ai_message.text == "ok"
