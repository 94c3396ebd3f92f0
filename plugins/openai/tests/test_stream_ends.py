"""How a stream ends: whole, cut, broken, or with an error in it; and whatever arrives, in no other way."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ModelError, OverloadedError, ProtocolError, StreamTruncatedError
from agentforge.model import ChatRequest, FinishReason
from agentforge_openai.wire.stream import StreamDecoder
from plugins.openai.tests.support import (
    USAGE,
    FakeTransport,
    answering,
    call_delta,
    calls_of,
    delta,
    events_in,
    message,
    model_on,
    piece,
    plain,
    sse,
    streamed,
)


@pytest.mark.parametrize(
    ("chunks", "done"),
    [
        ([delta(content="a")], True),
        ([delta("stop", content="a")], False),
        ([delta("stop", content="a"), {"choices": [], "usage": USAGE}], False),
    ],
)
def test_a_reason_or_the_end_mark_makes_a_stream_whole(chunks: list[Any], done: bool) -> None:
    assert streamed(sse(*chunks, done=done)).finish_reason is FinishReason.STOP


def test_what_follows_the_end_mark_is_not_read() -> None:
    body = sse(delta("stop", content="a")) + sse(delta(content="b")) + b"data: not json\n\n"
    assert streamed(body).ai_message.text == "a"


TRUNCATED = [
    pytest.param(b"", "", id="nothing at all"),
    pytest.param(sse(delta(content="par"), delta(content="tial"), done=False), "partial", id="text"),
    pytest.param(
        sse(call_delta(piece("a", '{"path": "a', index=0, id="c1")), done=False), "", id="an open call (ST-10)"
    ),
    pytest.param(sse(call_delta(piece("a", "{}", index=0, id="c1")), done=False), "", id="a complete call"),
    pytest.param(sse(delta(content="a"), delta(content="b"), done=False)[:-10], "a", id="inside an event"),
    pytest.param(sse(delta(content="a"), done=False) + b"data: [DO", "a", id="inside the end mark"),
    pytest.param(sse(delta("", content="a"), done=False), "a", id="blank reasons are none"),
    pytest.param(sse(call_delta(piece("a", '{"n": 1}', index=0, id="c1"), finish=""), done=False), "", id="a call too"),
    pytest.param(sse(delta("null", content="a"), done=False), "a", id="the word null is no reason"),
    pytest.param(b": ping\n\n: ping\n\n", "", id="comments only"),
    pytest.param(b'data: {"choi', "", id="inside the first event"),
]


@pytest.mark.parametrize(("body", "text"), TRUNCATED)
def test_a_stream_that_ends_early_is_an_error_with_the_text_so_far(body: bytes, text: str) -> None:
    with pytest.raises(StreamTruncatedError) as caught:
        streamed(body)
    assert caught.value.partial_text == text


def test_a_row_may_trust_complete_calls_of_a_stream_without_end() -> None:
    whole = sse(call_delta(piece("a", "{}", index=0, id="c1"), piece("b", index=1, id="c2")), done=False)
    assert len(calls_of(streamed(whole, unfinished_calls_allowed=True))) == 2
    for cut in (
        sse(call_delta(piece("a", '{"x"', index=0, id="c1")), done=False),
        sse(call_delta(piece(None, "{}", index=0, id="c1")), done=False),
        sse(delta(content="text"), done=False),
    ):
        with pytest.raises(StreamTruncatedError):
            streamed(cut, unfinished_calls_allowed=True)


def test_a_last_event_without_its_blank_line_counts() -> None:
    assert streamed(sse(delta("stop", content="a"), done=False).rstrip()).ai_message.text == "a"
    assert streamed(sse(delta(content="a")).rstrip()).ai_message.text == "a"


def test_a_blank_reason_before_the_end_mark_leaves_the_reply_whole() -> None:
    response = streamed(sse(call_delta(piece("a", "{}", index=0, id="c1"), finish="")))
    assert calls_of(response) == [("c1", "a", "{}")]
    assert response.finish_reason is FinishReason.TOOL_EXECUTION


@pytest.mark.parametrize(
    ("status", "body", "shown"),
    [
        (200, b"<html><title>Sign in</title></html>", "Sign in"),
        (200, b'{"status": "starting"}', "starting"),
        (200, b"upstream gone\n\nbye", "upstream gone"),
        (204, b"", "status 204.*body is empty"),
    ],
)
def test_a_body_that_is_no_stream_is_shown(status: int, body: bytes, shown: str) -> None:
    decoder = StreamDecoder(answering(), status=status)
    with pytest.raises(ProtocolError, match=f"not an event stream.*{shown}"):
        [*decoder.feed(body[:9]), *decoder.feed(body[9:]), *decoder.finish()]


def test_a_stream_is_bounded_as_an_answer_is() -> None:
    chunk = sse(delta(content="more "), done=False)
    decoder = StreamDecoder(answering(), max_bytes=10 * len(chunk))
    for _ in range(10):
        decoder.feed(chunk)
    with pytest.raises(ProtocolError, match=f"max_body_bytes \\({10 * len(chunk)} bytes\\)") as caught:
        decoder.feed(chunk)
    assert caught.value.details["partial_text"] == "more " * 10


@pytest.mark.parametrize("bad", [b"{broken", b"[1]", b"hello"])
def test_an_event_that_is_no_object_is_an_error_with_its_number(bad: bytes) -> None:
    """Never skipped: what it held is unknown."""
    with pytest.raises(ProtocolError, match="event 2 ") as caught:
        events_in(sse(delta(content="a"), b"data: " + bad + b"\n\n", delta("stop")))
    assert caught.value.details == {"event": 2, "partial_text": "a"}


@pytest.mark.parametrize("choices", [[], [{}], [None], None])
def test_an_end_mark_without_any_choice_is_a_protocol_error(choices: Any) -> None:
    with pytest.raises(ProtocolError, match="without any choice"):
        events_in(sse({"choices": choices, "usage": USAGE}))


@pytest.mark.parametrize(
    ("chunk", "kind", "words"),
    [
        ({"error": {"message": "queue is full", "type": "overloaded", "code": 503}}, OverloadedError, "queue is full"),
        ({"error": "no more"}, ModelError, "no more"),
        ({"choices": [{"delta": {}, "error": {"message": "upstream", "code": 502}}]}, OverloadedError, "upstream"),
        ({"error": {"message": "down", "type": "server_error"}, "choices": [{"delta": {}}]}, OverloadedError, "down"),
        ({"object": "error", "message": "CUDA", "type": "InternalServerError", "code": 500}, OverloadedError, "CUDA"),
        ({"object": "error", "code": 50001}, ModelError, "without any detail"),
        ({"type": "error", "message": "CUDA"}, ModelError, "CUDA"),
        ({"message": "gone", "choices": []}, ModelError, "gone"),
        ({"detail": "worker died"}, ModelError, "worker died"),
        ({"detail": [{"loc": ["body", "n"], "msg": "too many"}]}, ModelError, "body.n: too many"),
        (b'event: error\ndata: {"message": "busy", "code": 503}\n\n', OverloadedError, "busy"),
        (b'event: error\ndata: {"error": {"message": "busy", "code": 503}}\n\n', OverloadedError, "busy"),
        (b'event: error\ndata: {"code": 503, "msg": "busy"}\n\n', OverloadedError, "busy"),
        (b'event: error\ndata: {"status": 1}\n\n', ModelError, "no message"),
        (b"event: error\ndata: worker died\n\n", ModelError, "worker died"),
        (b'event: error\ndata: "worker died"\n\n', ModelError, "worker died"),
        (b"event: error\ndata: [7]\n\n", ModelError, "7"),
    ],
)
def test_an_error_inside_a_good_stream_is_raised(chunk: Any, kind: type[ModelError], words: str) -> None:
    """Case ST-08: no reason is made up, no call is handed out, and the text so far is kept."""
    call = call_delta(piece("pay", "{}", index=0, id="c1"), finish="tool_calls")
    with pytest.raises(kind, match=words) as caught:
        events_in(sse(delta(content="par"), call, chunk))
    assert caught.value.details["partial_text"] == "par"


@pytest.mark.parametrize("end", [b"", b"\n\n"])
def test_an_error_event_counts_also_as_the_last_words_of_a_stream(end: bytes) -> None:
    with pytest.raises(ModelError, match="gone"):
        events_in(sse(delta("stop", content="a"), done=False) + b"event: error\ndata: gone" + end)


@pytest.mark.parametrize(
    "chunk",
    [
        {**delta(content=""), "message": "queued", "detail": "x"},
        {"choices": [], "usage": USAGE, "detail": "tier 1"},
        {"message": "", "detail": None},
        {"message": {"role": "assistant"}},
        b'event: message\ndata: {"choices": []}\n\n',
    ],
)
def test_a_chunk_that_only_looks_like_an_error_is_none(chunk: Any) -> None:
    assert streamed(sse(delta(content="a"), chunk, delta("stop"))).ai_message.text == "a"


@given(st.binary(max_size=300))
def test_no_bytes_break_the_decoder(body: bytes) -> None:
    """Whatever arrives ends in events or in an error of the model's taxonomy."""
    with suppress(ModelError):
        events_in(body)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-3, 3) | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
MEMBERS = ["content", "tool_calls", "function_call", "reasoning_details", "reasoning", "refusal", "role", "function"]


@settings(max_examples=150, deadline=None)
@given(
    st.lists(
        st.dictionaries(st.sampled_from(MEMBERS), JSON | st.lists(st.fixed_dictionaries({"function": JSON}))),
        max_size=4,
    ),
    st.sampled_from(["choices", "usage", "error", "id", "x_groq"]),
    JSON,
)
def test_no_json_breaks_the_decoder(deltas: list[dict[str, Any]], key: str, value: Any) -> None:
    """Members of any type are read or passed over, plain and streamed."""
    chunks = [delta(**fields) for fields in deltas] + [{key: value}]
    with suppress(ModelError):
        events_in(sse(*chunks))
    for fields in deltas:
        with suppress(ModelError):
            plain({**message(**fields), key: value})


@pytest.mark.parametrize("size", [1, 17, 10_000])
async def test_what_came_before_an_error_is_shown_however_the_bytes_are_cut(size: int) -> None:
    """Also where a text and the error behind it arrive in one piece."""
    failure = {"error": {"message": "overloaded", "code": 503}}
    body = sse(delta(content="Half "), delta(content="of it"), failure, done=False)
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    model = model_on(FakeTransport(pieces))
    shown: list[str] = []

    async def show() -> None:
        async for event in model.stream(ChatRequest("Hello")):
            shown.append(getattr(event, "text", ""))

    with pytest.raises(OverloadedError) as caught:
        await show()

    assert "".join(shown) == "Half of it"
    assert caught.value.details["partial_text"] == "Half of it"
