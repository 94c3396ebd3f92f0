"""What the events of a stream become: pieces as they come, each call when it is complete, and the plain answer's equal
at the end."""

from __future__ import annotations

import contextlib
import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ModelError, OverloadedError, ProtocolError, RateLimitError, StreamTruncatedError
from agentforge.model import (
    ChatEvent,
    FinishReason,
    ProviderState,
    ResponseDone,
    TextDelta,
    ThinkingContent,
    ThinkingDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
    UsageEvent,
)
from agentforge_anthropic.wire.stream import StreamDecoder
from plugins.anthropic.tests.support import (
    answering,
    block,
    call_block,
    ended,
    event,
    events_in,
    message,
    plain,
    started,
    streamed,
    text_block,
)
from tests.support.wire_exchange import calls_of

PING = event("ping")
THINKING = block(
    0,
    {"type": "thinking", "thinking": "", "signature": ""},
    {"type": "thinking_delta", "thinking": "Let me "},
    {"type": "thinking_delta", "thinking": "see"},
    {"type": "signature_delta", "signature": "sig=="},
)
SERVER = block(
    2,
    {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}},
    {"type": "input_json_delta", "partial_json": '{"query": '},
    {"type": "input_json_delta", "partial_json": '"rain"}'},
)
CITED = {"type": "web_search_result_location", "url": "https://yr.example", "title": "Oslo", "cited_text": "rain"}
#: The same reply as a stream and as a plain body.
REPLIES: dict[str, tuple[bytes, dict[str, Any]]] = {
    "text": (
        started() + PING + text_block(0, "Hel", "lo 杭州") + ended(),
        message({"type": "text", "text": "Hello 杭州"}),
    ),
    "thinking, text and calls": (
        started()
        + THINKING
        + text_block(1, "I look.")
        + call_block(2, "", '{"city":', '"Oslo"}')
        + call_block(3, '{"city":"Rome"}', id="toolu_2")
        + ended("tool_use"),
        message(
            {"type": "thinking", "thinking": "Let me see", "signature": "sig=="},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}},
            {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {"city": "Rome"}},
            stop="tool_use",
        ),
    ),
    "what the provider runs": (
        started()
        + text_block(0, "Wait.")
        + block(1, {"type": "redacted_thinking", "data": "x=="})
        + SERVER
        + block(3, {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]})
        + block(4, {"type": "text", "text": "Rain"}, {"type": "citations_delta", "citation": CITED})
        + ended("pause_turn"),
        message(
            {"type": "text", "text": "Wait."},
            {"type": "redacted_thinking", "data": "x=="},
            {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "rain"}},
            {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": [{"url": "u"}]},
            {"type": "text", "text": "Rain", "citations": [CITED]},
            stop="pause_turn",
        ),
    ),
    "a call without arguments": (
        started() + call_block(0) + call_block(1, "", id="toolu_2") + ended("tool_use"),
        message(
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {}},
            {"type": "tool_use", "id": "toolu_2", "name": "get_weather", "input": {}},
            stop="tool_use",
        ),
    ),
    "arguments at the start of the block": (
        started()
        + block(0, {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}})
        + ended("tool_use"),
        message(
            {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Oslo"}}, stop="tool_use"
        ),
    ),
    "a summary of the provider's": (
        started()
        + block(0, {"type": "compaction", "content": None}, {"type": "compaction_delta", "content": "so far"})
        + text_block(1, "Go on.")
        + ended(),
        message({"type": "compaction", "content": "so far"}, {"type": "text", "text": "Go on."}),
    ),
    "a refusal": (
        started() + ended("refusal", stop_details={"type": "refusal", "category": "bio", "explanation": None}),
        message(stop="refusal", stop_details={"type": "refusal", "category": "bio", "explanation": None}),
    ),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_stream_becomes_what_the_plain_answer_becomes(name: str) -> None:
    stream, body = REPLIES[name]
    assert streamed(stream) == plain(body)


@pytest.mark.parametrize("name", REPLIES)
@settings(max_examples=20, deadline=None)
@given(cuts=st.lists(st.integers(0, 3000), max_size=8))
def test_where_the_network_cuts_a_stream_changes_nothing(name: str, cuts: list[int]) -> None:
    stream, _ = REPLIES[name]
    edges = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    decoder = StreamDecoder(answering())
    events: list[ChatEvent] = []
    for at, to in itertools.pairwise(edges):
        events += decoder.feed(stream[at:to])
    assert [*events, *decoder.finish()] == events_in(stream)


def test_events_come_as_they_are_known_and_the_response_is_last() -> None:
    """A call is ready as soon as its block ends, before the reply does."""
    events = events_in(REPLIES["thinking, text and calls"][0])
    oslo = ToolExecutionRequest("toolu_1", "get_weather", '{"city":"Oslo"}')
    rome = ToolExecutionRequest("toolu_2", "get_weather", '{"city":"Rome"}')
    assert events[:-1] == [
        UsageEvent(TokenUsage(3, 1, 4)),
        ThinkingDelta("Let me "),
        ThinkingDelta("see"),
        TextDelta("I look."),
        ToolCallDelta(0, "toolu_1", "get_weather", ""),
        ToolCallDelta(0, "toolu_1", "get_weather", '{"city":'),
        ToolCallDelta(0, "toolu_1", "get_weather", '"Oslo"}'),
        ToolCallReady(oslo, 0),
        ToolCallDelta(1, "toolu_2", "get_weather", ""),
        ToolCallDelta(1, "toolu_2", "get_weather", '{"city":"Rome"}'),
        ToolCallReady(rome, 1),
        UsageEvent(TokenUsage(3, 2, 5)),
    ]
    assert isinstance(events[-1], ResponseDone)


@pytest.mark.parametrize(
    "stream",
    [call_block(0), call_block(0, ""), block(0, {"type": "tool_use", "id": "c", "name": "n", "input": {"a": 1}})],
)
def test_the_pieces_of_a_call_are_its_arguments(stream: bytes) -> None:
    """Also where no piece came, or all stood in the beginning."""
    events = events_in(started() + stream + ended("tool_use"))
    [ready] = [each.request for each in events if isinstance(each, ToolCallReady)]
    assert "".join(each.arguments_delta for each in events if isinstance(each, ToolCallDelta)) == ready.arguments


def test_arguments_that_were_cut_stay_as_they_came() -> None:
    """With eager streaming they need not be JSON; nothing of such a reply runs."""
    response = streamed(started() + call_block(0, '{"city": "Os') + ended("max_tokens"))
    assert calls_of(response) == [("toolu_1", "get_weather", '{"city": "Os')]
    assert response.finish_reason is FinishReason.LENGTH


def test_aliases_are_taken_back_in_events_too() -> None:
    events = events_in(started() + call_block(0, "{}") + ended("tool_use"), aliases={"get_weather": "meteo/now"})
    assert {each.name for each in events if isinstance(each, ToolCallDelta)} == {"meteo/now"}


def test_counts_are_cumulative_and_null_keeps_the_old_one() -> None:
    """Field case ST-23: the last value wins, nothing is added."""
    stream = (
        started(usage={"input_tokens": 10, "cache_read_input_tokens": 4, "output_tokens": 1})
        + text_block(0, "x")
        + event("message_delta", delta={}, usage={"output_tokens": 4})
        + event(
            "message_delta",
            delta={"stop_reason": "end_turn"},
            usage={"output_tokens": 9, "input_tokens": None, "cache_read_input_tokens": None},
        )
        + event("message_stop")
    )
    events = events_in(stream)
    assert [each.usage.output_tokens for each in events if isinstance(each, UsageEvent)] == [1, 4, 9]
    assert streamed(stream).token_usage == TokenUsage(14, 9, 23, 4)


@pytest.mark.parametrize(
    "strange",
    [
        event("something_new", data=[1]),
        event("content_block_delta", index=0, delta={"type": "sparkle_delta", "x": 1}),
        event("content_block_delta", index=0, delta=None),
        event("content_block_delta", delta={}),
        event("content_block_stop", index=7),
        event("content_block_start", index=9, content_block=None),
        event("message_delta", delta=None, usage=None),
        PING,
        b": a comment\n\n",
        b"data: \n\n",
    ],
)
def test_what_is_unknown_is_passed_over(strange: bytes) -> None:
    begin = event("content_block_start", index=0, content_block={"type": "text", "text": ""})
    said = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "ok"})
    stream = started() + begin + strange + said + event("content_block_stop", index=0) + ended()
    assert streamed(stream).ai_message.text == "ok"


def test_a_host_that_streams_a_whole_reply_as_one_event_is_understood() -> None:
    whole = event("message_start", message=message({"type": "text", "text": "Hi"}))
    events = events_in(whole + event("message_stop"))
    assert TextDelta("Hi") in events
    assert streamed(whole + event("message_stop")).ai_message.text == "Hi"


# -- ends and errors ------------------------------------------------------------------------------


@pytest.mark.parametrize("behind", [b"", event("message_stop"), b"data: [DONE]\n\n", event("error", error={})])
def test_a_reason_or_the_end_mark_makes_a_stream_whole(behind: bytes) -> None:
    """What follows the end mark is not read."""
    last = event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 2})
    if b"error" in behind:
        last += event("message_stop")
    assert streamed(started() + text_block(0, "x") + last + behind).ai_message.text == "x"


@pytest.mark.parametrize(
    "body",
    [
        started(),
        started() + text_block(0, "so far"),
        started() + call_block(0, '{"a": 1}'),
        started() + text_block(0, "so far") + b'event: message_delta\ndata: {"type": "message_de',
        b"",
    ],
)
def test_a_stream_that_ends_early_is_an_error_with_the_text_so_far(body: bytes) -> None:
    with pytest.raises(StreamTruncatedError) as caught:
        events_in(body)
    assert caught.value.partial_text == ("so far" if b"so far" in body else "")


@pytest.mark.parametrize(
    ("kind", "error"),
    [("overloaded_error", OverloadedError), ("rate_limit_error", RateLimitError), ("api_error", OverloadedError)],
)
def test_an_error_inside_a_stream_is_the_error_of_its_type(kind: str, error: type[ModelError]) -> None:
    """The status is 200 all the while; the text so far comes along."""
    stream = started() + text_block(0, "so far") + event("error", error={"type": kind, "message": "busy"})
    decoder = StreamDecoder(answering(), headers={"request-id": "req_7"})
    assert TextDelta("so far") in decoder.feed(stream)
    assert isinstance(decoder.failure, error)
    assert decoder.failure.retryable and decoder.failure.request_id == "req_7"
    assert decoder.failure.details["partial_text"] == "so far"


@pytest.mark.parametrize(
    "stream",
    [
        event("error", error={"type": "overloaded_error", "message": "busy"}),
        b'data: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}\n\n',
        b'event: error\ndata: {"type": "overloaded_error", "message": "busy"}\n\n',
        b'event: error\ndata: {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}',
    ],
)
def test_an_error_has_many_forms(stream: bytes) -> None:
    with pytest.raises(OverloadedError):
        events_in(stream)


@pytest.mark.parametrize("bad", [b"data: {not json\n\n", b"data: [1]\n\n", b"event: error\ndata: upstream broke\n\n"])
def test_an_event_that_is_no_object_is_an_error(bad: bytes) -> None:
    with pytest.raises(ModelError) as caught:
        events_in(bad)
    assert "event 1" in caught.value.message or "upstream broke" in caught.value.message


@pytest.mark.parametrize("body", [b"<html>login</html>", b'{"content": []}'])
def test_a_body_that_is_no_stream_is_shown(body: bytes) -> None:
    with pytest.raises(ProtocolError) as caught:
        events_in(body)
    assert "not an event stream" in caught.value.message


def test_a_stream_that_names_a_reason_and_no_end_of_its_blocks_is_whole() -> None:
    """The calls that were begun are there, each ready once."""
    begin = event(
        "content_block_start", index=0, content_block={"type": "tool_use", "id": "a", "name": "n", "input": {}}
    )
    piece = event("content_block_delta", index=0, delta={"type": "input_json_delta", "partial_json": '{"a":1}'})
    events = events_in(started() + begin + piece + ended("tool_use"))
    assert [each.request.arguments for each in events if isinstance(each, ToolCallReady)] == ['{"a":1}']


def test_an_end_without_any_message_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError) as caught:
        events_in(event("message_stop"))
    assert "without any message" in caught.value.message


def test_a_stream_is_bounded() -> None:
    decoder = StreamDecoder(answering(), max_bytes=100)
    with pytest.raises(ProtocolError) as caught:
        decoder.feed(started() + text_block(0, "x" * 100))
    assert "max_body_bytes (100 bytes)" in caught.value.message


@settings(max_examples=80, deadline=None)
@given(st.binary(max_size=200))
def test_no_bytes_break_the_decoder(body: bytes) -> None:
    """Whatever comes ends in a response or in a `ModelError`."""
    with contextlib.suppress(ModelError):
        events_in(started() + body + text_block(0, "x") + ended())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=True) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
KINDS = st.sampled_from(
    ["content_block_start", "content_block_delta", "content_block_stop", "message_start", "message_delta", "error"]
)
KEYS = st.sampled_from(["index", "content_block", "delta", "message", "usage", "error", "input"])


@settings(max_examples=80, deadline=None)
@given(st.lists(st.tuples(KINDS, st.dictionaries(KEYS, JSON, max_size=3)), max_size=4))
def test_no_json_breaks_the_decoder(strange: list[tuple[str, dict[str, Any]]]) -> None:
    with contextlib.suppress(ModelError):
        events_in(started() + b"".join(event(kind, **data) for kind, data in strange) + text_block(0, "x") + ended())


def test_thinking_is_signed_by_the_last_signature() -> None:
    response = streamed(started() + THINKING + ended())
    [part] = response.ai_message.contents
    assert part == ThinkingContent(
        "Let me see", ProviderState("anthropic/messages", {"type": "thinking", "signature": "sig=="})
    )
