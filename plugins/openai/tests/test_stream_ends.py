"""How a stream ends: whole, cut, broken, or with an error in it; and whatever arrives, in no other way."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ModelError, OverloadedError, ProtocolError, StreamTruncatedError
from agentforge.model import (
    FinishReason,
)
from plugins.openai.tests.support import (
    call_delta,
    calls_of,
    delta,
    events_in,
    message,
    piece,
    plain,
    sse,
    streamed,
)

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}


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


@pytest.mark.parametrize("bad", [b"{broken", b"[1]", b"hello"])
def test_an_event_that_is_no_object_is_an_error_with_its_number(bad: bytes) -> None:
    """Never skipped: what it held is unknown."""
    with pytest.raises(ProtocolError, match="event 2 ") as caught:
        events_in(sse(delta(content="a"), b"data: " + bad + b"\n\n", delta("stop")))
    assert caught.value.details == {"event": 2, "partial_text": "a"}


def test_an_end_mark_without_any_choice_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="without any choice"):
        events_in(sse({"choices": [], "usage": USAGE}))


@pytest.mark.parametrize(
    ("chunk", "kind", "words"),
    [
        ({"error": {"message": "queue is full", "type": "overloaded", "code": 503}}, OverloadedError, "queue is full"),
        ({"error": "no more"}, ModelError, "no more"),
        ({"choices": [{"delta": {}, "error": {"message": "upstream", "code": 502}}]}, OverloadedError, "upstream"),
        ({"error": {"message": "down", "type": "server_error"}, "choices": [{"delta": {}}]}, OverloadedError, "down"),
    ],
)
def test_an_error_inside_a_good_stream_is_raised(chunk: dict[str, Any], kind: type[ModelError], words: str) -> None:
    """Case ST-08: no reason is made up, and the text so far is kept."""
    with pytest.raises(kind, match=words) as caught:
        events_in(sse(delta(content="par"), chunk))
    assert caught.value.details["partial_text"] == "par"


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
