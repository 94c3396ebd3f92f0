"""Streams of this form: what is shown when, calls in pieces, ends that come too early, errors within."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import (
    InvalidRequestError,
    ModelError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
)
from agentforge.model import (
    ResponseDone,
    TextContent,
    TextDelta,
    ThinkingContent,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageEvent,
)
from agentforge_gemini.wire.partial_args import PartialCall
from agentforge_gemini.wire.stream import StreamDecoder
from plugins.gemini.tests.support import answering, call_part, event, events_in, own, piece, streamed
from tests.support.wire_exchange import calls_of

ENDED = piece(finish="STOP")


def test_what_is_shown() -> None:
    """Thoughts, texts, calls as they come; the counts and the whole reply at the end."""
    content = (
        piece({"text": "hm", "thought": True})
        + piece({"text": "I "}, {"text": "look."})
        + piece(call_part(args={"city": "Oslo"}))
        + piece(call_part("get_time", args={}), finish="STOP")
    )
    *shown, usage, done = events_in(content)
    assert isinstance(usage, UsageEvent) and isinstance(done, ResponseDone)
    one, other = done.response.ai_message.tool_execution_requests
    assert shown == [
        ThinkingDelta("hm"),
        TextDelta("I "),
        TextDelta("look."),
        ToolCallDelta(0, "made_1", "get_weather", ""),
        ToolCallDelta(0, "made_1", "get_weather", '{"city":"Oslo"}'),
        ToolCallReady(one, 0),
        ToolCallDelta(1, "made_2", "get_time", ""),
        ToolCallDelta(1, "made_2", "get_time", "{}"),
        ToolCallReady(other, 1),
    ]


def test_pieces_of_one_kind_are_one_part_and_signed_ones_stand_apart() -> None:
    content = (
        piece({"text": "a", "thought": True})
        + piece({"text": "b", "thought": True})
        + piece({"text": "c"})
        + piece({"text": "d"})
        + piece({"text": "e", "thoughtSignature": "c2ln"})
        + piece({"text": "f"})
        + piece({"text": "", "thoughtSignature": "bGFzdA=="}, {"text": ""}, finish="STOP")
    )
    assert streamed(content).ai_message.contents == (
        ThinkingContent("ab"),
        TextContent("cd"),
        TextContent("e", own(thoughtSignature="c2ln")),
        TextContent("f"),
        TextContent("", own(thoughtSignature="bGFzdA==")),
    )


def test_a_character_that_was_cut_in_two_is_shown_whole() -> None:
    """Half of it waits for the other."""
    content = piece({"text": "a\ud83d"}) + piece({"text": "\ude00b"}) + ENDED
    shown = [event.text for event in events_in(content) if isinstance(event, TextDelta)]
    assert shown == ["a", "\U0001f600b"]
    assert streamed(content).ai_message.text == "a\U0001f600b"
    alone = piece({"text": "a\ud83d"}) + ENDED
    assert "".join(event.text for event in events_in(alone) if isinstance(event, TextDelta)) == "a\ud83d"


# -- calls in pieces -------------------------------------------------------------------------------


def part(**call: Any) -> dict[str, Any]:
    return {"functionCall": call}


def arg(path: str, **value: Any) -> dict[str, Any]:
    return {"jsonPath": path, **value}


def test_arguments_in_pieces() -> None:
    """Texts in pieces, numbers, booleans, null, lists and objects by their places; shown when they are whole."""
    content = (
        piece({**part(name="book", id="x", willContinue=True), "thoughtSignature": "c2ln"})
        + piece(part(partialArgs=[arg("$.to.name", stringValue="An", willContinue=True)], willContinue=True))
        + piece(part(partialArgs=[arg("$.to.name", stringValue="na")], willContinue=True))
        + piece(part(partialArgs=[arg("$.n", numberValue=2), arg("$.ok", boolValue=False)], willContinue=True))
        + piece(part(partialArgs=[arg("$.days[0]", stringValue="Mon")], willContinue=True))
        + piece(part(partialArgs=[arg("$.days[1]", stringValue="Tue")], willContinue=True))
        + piece(part(partialArgs=[arg("$['odd key'].a", nullValue="NULL_VALUE")], willContinue=True))
        + piece(part())
        + piece(part(name="done"))
        + ENDED
    )
    expected = {"to": {"name": "Anna"}, "n": 2, "ok": False, "days": ["Mon", "Tue"], "odd key": {"a": None}}
    response = streamed(content)
    assert [(name, json.loads(arguments)) for _, name, arguments in calls_of(response)] == [
        ("book", expected),
        ("done", {}),
    ]
    [call, _] = response.ai_message.tool_execution_requests
    assert call.id == "x" and call.id_was_given
    assert call.provider_state == own(thoughtSignature="c2ln", functionCall={"id": "x"})


CALLS: dict[str, tuple[list[dict[str, Any]], list[tuple[str, str]]]] = {
    "a call that does not go on is whole": (
        [
            part(name="a", partialArgs=[arg("$.x", stringValue="1")]),
            part(name="b", willContinue=True),
            part(args={"y": 2}),
        ],
        [("a", '{"x":"1"}'), ("b", '{"y":2}')],
    ),
    "texts that go on with others between": (
        [
            part(name="a", partialArgs=[arg("$.x", stringValue="1", willContinue=True)], willContinue=True),
            part(partialArgs=[arg("$.y", stringValue="2", willContinue=True)], willContinue=True),
            part(partialArgs=[arg("$.x", stringValue="3"), arg("$.z", numberValue=4)], willContinue=True),
            part(partialArgs=[arg("$.y", stringValue="5", willContinue=True)]),
        ],
        [("a", '{"x":"13","y":"25","z":4}')],
    ),
    "every piece names its call": (
        [
            part(name="a", id="1", partialArgs=[arg("$.x", stringValue="1", willContinue=True)], willContinue=True),
            part(name="a", id="1", partialArgs=[arg("$.x", stringValue="2")], willContinue=True),
            part(name="a", id="1", willContinue=False),
        ],
        [("a", '{"x":"12"}')],
    ),
    "an end that comes once more": (
        [part(name="a", willContinue=True), part(), part(), part(name="b", args={})],
        [("a", "{}"), ("b", "{}")],
    ),
    "a number that JSON has not": (
        [part(name="a", partialArgs=[arg("$.x", numberValue=float("nan"))])],
        [("a", '{"x":NaN}')],
    ),
    "members without a value": (
        [part(name="a", partialArgs=[arg("$.x", stringValue=None, boolValue=None, numberValue=2, nullValue=None)])],
        [("a", '{"x":2}')],
    ),
}


@pytest.mark.parametrize(("parts", "calls"), CALLS.values(), ids=CALLS)
def test_where_a_call_begins_and_ends(parts: list[dict[str, Any]], calls: list[tuple[str, str]]) -> None:
    """No value takes the place of an argument that came, so that the check of the arguments sees it."""
    content = b"".join([*map(piece, parts), ENDED])
    assert [(name, arguments) for _, name, arguments in calls_of(streamed(content))] == calls


@pytest.mark.parametrize("more", [{"name": "b"}, {"name": "a"}, {"name": "a", "id": "2"}])
def test_a_call_that_begins_within_another_is_refused(more: dict[str, Any]) -> None:
    """The one before may lack arguments, and half a call must not run."""
    began = part(name="a", id="1", partialArgs=[arg("$.x", stringValue="1")], willContinue=True)
    with pytest.raises(ProtocolError, match="before that of 'a' was whole"):
        streamed(piece(began) + piece(part(args={}, **more)) + ENDED)


@pytest.mark.parametrize(
    "last",
    [
        part(name="a", willContinue=True),
        part(name="a", partialArgs=[arg("$.x", stringValue="1", willContinue=True)], willContinue=True),
    ],
)
def test_a_reply_that_ends_within_a_call_is_cut(last: dict[str, Any]) -> None:
    """Whatever its reason says."""
    with pytest.raises(StreamTruncatedError, match="within the arguments of a call of 'a'"):
        streamed(piece({"text": "so far"}) + piece(last) + ENDED)


@pytest.mark.parametrize(
    "path",
    ["", "$", "x", "$.", "$[0]", "$.a[1]", "$.a..b", "$.a[x]", "$.a[*]", "$.a['b", "$.s.x", "$.l.x", "$" + ".a" * 65],
)
def test_places_that_cannot_be(path: str) -> None:
    """A list grows at its end, and nothing lies inside of a text."""
    call = PartialCall()
    call.add([arg("$.s", stringValue="text"), arg("$.l[0]", numberValue=1)])
    with pytest.raises(ProtocolError, match="a place that cannot be"):
        call.add([arg(path, numberValue=1)])


def test_a_piece_without_a_place_is_refused() -> None:
    with pytest.raises(ProtocolError, match="names no place"):
        PartialCall().add([{"stringValue": "x"}])


names = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=8)
leaves = st.text(max_size=8) | st.integers(-99, 99) | st.booleans() | st.none()
trees = st.dictionaries(
    names,
    st.recursive(
        leaves,
        lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(names, inner, min_size=1, max_size=3),
        max_leaves=5,
    ),
    max_size=4,
)


def pieces_of(path: str, value: Any) -> list[dict[str, Any]]:
    if isinstance(value, dict):
        return [each for key, inner in value.items() for each in pieces_of(f"{path}[{json.dumps(key)}]", inner)]
    if isinstance(value, list):
        return [each for at, inner in enumerate(value) for each in pieces_of(f"{path}[{at}]", inner)]
    if isinstance(value, str):
        cut = len(value) // 2
        return [arg(path, stringValue=value[:cut], willContinue=True), arg(path, stringValue=value[cut:])]
    if value is None:
        return [arg(path, nullValue="NULL_VALUE")]
    return [arg(path, boolValue=value) if isinstance(value, bool) else arg(path, numberValue=value)]


@settings(max_examples=25, deadline=None)
@given(trees)
def test_any_arguments_come_whole_out_of_their_pieces(arguments: dict[str, Any]) -> None:
    call = PartialCall()
    for each in pieces_of("$", arguments):
        call.add([each])
    assert call.whole() == arguments


# -- ends and errors -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "content",
    [
        piece({"text": "so far"}),
        piece({"text": "so far"}, call_part(args={})),
        piece({"text": "so far"}) + b'data: {"candidates": [{"finishReason": "ST',
    ],
)
def test_a_stream_without_a_reason_is_cut(content: bytes) -> None:
    """Even when its calls look whole; the error carries the text."""
    with pytest.raises(StreamTruncatedError) as caught:
        events_in(content)
    assert caught.value.partial_text == "so far"


def test_a_stream_of_nothing_is_cut() -> None:
    for content in (b"", event({"usageMetadata": {"promptTokenCount": 1}})):
        with pytest.raises(ModelError, match="ended before the reply did"):
            events_in(content)


def test_a_last_event_without_its_blank_line_counts_when_it_is_whole() -> None:
    content = piece({"text": "a"}) + ENDED
    assert streamed(content.rstrip()).ai_message.text == "a"


def test_an_end_mark_of_other_hosts_is_one() -> None:
    """What follows it is not read; some give no reason beside it."""
    content = piece({"text": "a"}) + b"data: [DONE]\n\n" + piece({"text": "b"})
    assert streamed(content).ai_message.text == "a"


ERRORS: dict[str, tuple[bytes, type[ModelError]]] = {
    "an error": (event({"error": {"code": 503, "message": "busy", "status": "UNAVAILABLE"}}), OverloadedError),
    "in a list": (
        event([{"error": {"code": 429, "message": "busy", "status": "RESOURCE_EXHAUSTED"}}]),  # type: ignore[arg-type]
        RateLimitError,
    ),
    "an event of that name": (b'event: error\ndata: {"code": 400, "message": "busy"}\n\n', InvalidRequestError),
    "a text": (b"event: error\ndata: busy\n\n", ModelError),
}


@pytest.mark.parametrize(("said", "kind"), ERRORS.values(), ids=ERRORS)
def test_an_error_within_a_stream_ends_it(said: bytes, kind: type[ModelError]) -> None:
    """The text so far is shown before, and is in the error."""
    decoder = StreamDecoder(answering())
    assert decoder.feed(piece({"text": "so far"}) + said) == [TextDelta("so far")]
    assert type(decoder.failure) is kind
    assert decoder.failure is not None and decoder.failure.details["partial_text"] == "so far"
    assert "busy" in decoder.failure.message


def test_a_wait_that_an_error_asks_for_is_kept() -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31s"}]
    said = {"error": {"code": 429, "message": "m", "status": "RESOURCE_EXHAUSTED", "details": details}}
    with pytest.raises(RateLimitError) as caught:
        events_in(event(said))
    assert caught.value.retry_after == 31


@pytest.mark.parametrize("data", [b"not json", b"[1, 2]", b"3"])
def test_an_event_that_is_no_object_is_named_by_its_number(data: bytes) -> None:
    with pytest.raises(ProtocolError, match="event 2 of the stream") as caught:
        events_in(piece({"text": "a"}) + b"data: " + data + b"\n\n" + ENDED)
    assert caught.value.details["partial_text"] == "a"


def test_a_page_in_place_of_a_stream() -> None:
    with pytest.raises(ProtocolError, match="not an event stream"):
        events_in(b"<html><body>Sign in</body></html>")
