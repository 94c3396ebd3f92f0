"""Chat streams that servers get wrong, or cut where it hurts: nothing is lost, and nothing grows with the reply."""

from __future__ import annotations

import asyncio
import contextlib
import json
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from agentforge.errors import ModelError, ProtocolError
from agentforge.model import (
    ChatRequest,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UserMessage,
)
from agentforge_openai.wire.stream import StreamDecoder
from plugins.openai.tests.support import (
    GOOD,
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
from plugins.openai.tests.test_cassettes import answers
from tests.support.mutated_json import check_mutated, mutated, sse_of

SMILE = "\U0001f600"


@pytest.mark.parametrize("member", ["content", "reasoning_content", "reasoning", "refusal"])
def test_halves_of_a_character_that_a_cut_parted_are_one(member: str) -> None:
    """The reply is the plain one, and no event shows half of a character."""
    stream = sse(*(delta(**{member: text}) for text in ("a\ud83d", "\ude00b", "c")), delta("stop"))
    assert streamed(stream).ai_message == plain(message(**{member: f"a{SMILE}bc"})).ai_message
    shown = [each.text for each in events_in(stream) if isinstance(each, TextDelta | ThinkingDelta)]
    assert shown == ["a", f"{SMILE}b", "c"]


def test_halves_in_details_and_in_lists_of_parts_are_one_character() -> None:
    stream = sse(
        *(delta(reasoning_details=[{"type": "t", "index": 0, "text": text}]) for text in ("a\ud83d", "\ude00")),
        *(delta(content=[{"type": "text", "text": text}]) for text in ("b\ud83d", "\ude00")),
        delta("stop"),
    )
    reply = streamed(stream).ai_message
    assert (reply.thinking, reply.text) == (f"a{SMILE}", f"b{SMILE}")
    state = reply.contents[0].provider_state  # type: ignore[union-attr]
    assert state is not None
    assert state.data["reasoning_details"] == [{"type": "t", "index": 0, "text": f"a{SMILE}"}]


def test_half_a_character_that_nothing_follows_is_shown_at_the_end() -> None:
    stream = sse(delta(content="a\ud83d"), delta("stop"))
    assert "".join(each.text for each in events_in(stream) if isinstance(each, TextDelta)) == "a\ud83d"


def test_halves_in_arguments_are_one_character() -> None:
    first = piece("find", '{"q":"\ud83d', index=0, id="c1")
    stream = sse(call_delta(first), call_delta(piece(None, '\ude00"}', index=0)), delta("tool_calls"))
    assert calls_of(streamed(stream)) == [("c1", "find", f'{{"q":"{SMILE}"}}')]


def choice(index: int, text: str, finish: str | None = None) -> dict[str, Any]:
    return {"choices": [{"index": index, "delta": {"content": text}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        ([choice(1, "a"), choice(1, "b", "stop")], "ab"),
        ([choice(1, "x"), choice(0, "a"), choice(1, "y"), choice(0, "b", "stop")], "ab"),
        ([choice(2, "a"), choice(1, "x"), choice(2, "b", "stop"), choice(1, "", "stop")], "ab"),
    ],
)
def test_the_only_answer_is_read_whatever_its_number(chunks: list[dict[str, Any]], text: str) -> None:
    """Where several came, that of the number 0, else the one that came first."""
    assert streamed(sse(*chunks)).ai_message.text == text


def test_what_comes_behind_the_finish_reason_does_not_change_a_call_that_was_told() -> None:
    stream = sse(
        call_delta(piece("find", '{"q":1}', index=0, id="c1"), finish="tool_calls"),
        call_delta(piece(None, "}", index=0)),
        call_delta(piece("find", '{"q":2}', index=1, id="c2")),
    )
    events = events_in(stream)
    ready = [each.request for each in events if isinstance(each, ToolCallReady)]
    assert tuple(ready) == streamed(stream).ai_message.tool_execution_requests
    assert [one.arguments for one in ready] == ['{"q":1}', '{"q":2}']
    assert [each.arguments_delta for each in events if isinstance(each, ToolCallDelta)] == ['{"q":1}', '{"q":2}']


@pytest.mark.parametrize(
    ("pieces", "arguments"),
    [
        (['{"a":"}', '{"', "}"], ['{"a":"}{"}']),
        (['{"a":"\\', '"}', '"}'], ['{"a":"\\"}"}']),
        (['{"a":{}', "}", '{"b":1}'], ['{"a":{}}', '{"b":1}']),
        (['{"a":1} ', '{"b":1}'], ['{"a":1} ', '{"b":1}']),
        (["}", "{}"], ["}{}"]),
        (['{"a":"\\\\', '"}', '{"b":1}'], ['{"a":"\\\\"}', '{"b":1}']),
    ],
)
def test_a_name_that_is_repeated_begins_a_call_only_behind_a_whole_object(
    pieces: list[str], arguments: list[str]
) -> None:
    """Wherever the pieces are cut."""
    stream = sse(*(call_delta(piece("find", text, index=0)) for text in pieces), delta("tool_calls"))
    assert [text for _, _, text in calls_of(streamed(stream))] == arguments


def _repeated_name(count: int) -> list[dict[str, Any]]:
    return [call_delta(piece("find", '{"q":"' if n == 0 else "xyz}", index=0)) for n in range(count)]


def _details(count: int) -> list[dict[str, Any]]:
    return [delta(reasoning_details=[{"type": "t", "index": 0, "text": "word " * 5}]) for _ in range(count)]


def _many_details(count: int) -> list[dict[str, Any]]:
    return [delta(reasoning_details=[{"type": "t", "index": n, "text": "a"}]) for n in range(count)]


def _ids(count: int) -> list[dict[str, Any]]:
    return [call_delta(piece("find", "{}", id=f"c{n}")) for n in range(count)]


@pytest.mark.parametrize("made", [_repeated_name, _details, _many_details, _ids])
def test_the_work_for_a_piece_does_not_grow_with_the_reply(made: Any) -> None:
    """Eight times the pieces are about eight times the work; it was sixty-four times."""

    def seconds(count: int) -> float:
        chunks = [sse(chunk, done=False) for chunk in made(count)]
        best = 10.0
        for _ in range(2):
            decoder = StreamDecoder(answering())
            began = time.process_time()
            for chunk in chunks:
                decoder.feed(chunk)
            best = min(best, time.process_time() - began)
        return best

    assert seconds(3200) < 30 * seconds(400)


def test_an_event_may_be_as_large_as_the_answer() -> None:
    big = "x" * (9 * 1024 * 1024)
    decoder = StreamDecoder(answering(), max_bytes=20 * 1024 * 1024)
    last = [*decoder.feed(sse(delta("stop", content=big))), *decoder.finish()][-1]
    assert isinstance(last, ResponseDone) and last.response.ai_message.text == big
    with pytest.raises(ProtocolError, match="max_body_bytes"):
        StreamDecoder(answering(), max_bytes=1024).feed(sse(delta("stop", content=big)))


@pytest.mark.parametrize("kind", ["Application/JSON", "text/json", "text/plain", "text/event-stream", ""])
@pytest.mark.parametrize("before", [b"", b"\n \r\n", b"\xef\xbb\xbf"])
def test_a_whole_reply_to_a_streamed_request_is_read_whatever_it_is_called(kind: str, before: bytes) -> None:
    whole = before + json.dumps(GOOD).encode()
    transport = FakeTransport([whole[:1], whole[1:5], whole[5:]], headers={"content-type": kind})

    async def ask() -> Any:
        return [event async for event in model_on(transport).stream(ChatRequest([UserMessage("q")]))]

    assert asyncio.run(ask())[-1].response.ai_message.text == "ok"


def test_a_stream_is_read_whatever_it_is_called() -> None:
    body = sse(delta(content="ok"), delta("stop"))
    transport = FakeTransport([b": wait\n\n", body], headers={"content-type": "application/json"})

    async def ask() -> Any:
        return [event async for event in model_on(transport).stream(ChatRequest([UserMessage("q")]))]

    assert asyncio.run(ask())[-1].response.ai_message.text == "ok"


CALL = {"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q":1}'}}
BODIES = [
    {"id": "x", "model": "m", **message("tool_calls", content="hi", tool_calls=[CALL]), "usage": {"prompt_tokens": 1}},
    message(content=[{"type": "text", "text": "a"}], reasoning_details=[{"type": "t", "text": "x", "index": 0}]),
    message(content="a", annotations=[{"type": "url_citation", "url_citation": {"url": "u", "start_index": 0}}]),
    message(refusal="no", function_call={"name": "find", "arguments": "{}"}, extra_content={"a": 1}),
    {"error": {"message": "no", "code": "x", "type": "y"}},
]
STREAMS: list[Any] = [
    [delta(role="assistant", content="a"), call_delta(piece("find", '{"q"', index=0, id="c")), delta("tool_calls")],
    [delta(reasoning_details=[{"type": "t", "index": 0, "text": "x", "id": "r"}]), *([delta(reasoning="x")] * 2)],
    [delta(content=[{"type": "thinking", "thinking": [{"type": "text", "text": "x"}]}]), delta("stop", content="b")],
    [delta(refusal="no", function_call={"name": "f", "arguments": "{}"}), {"choices": [], "usage": {"a": {"b": 1}}}],
]


@settings(max_examples=120, deadline=None)
@given(mutated(BODIES))
def test_a_reply_with_members_of_other_kinds_is_read_or_is_a_model_error(body: Any) -> None:
    with contextlib.suppress(ModelError):
        plain(json.dumps(body).encode())


@settings(max_examples=120, deadline=None)
@given(mutated(STREAMS))
def test_a_stream_with_members_of_other_kinds_is_read_or_is_a_model_error(chunks: Any) -> None:
    with contextlib.suppress(ModelError):
        streamed(sse_of(chunks) + b"data: [DONE]\n\n")


def test_recorded_answers_with_members_of_other_kinds_are_read_or_are_model_errors(shared: Path) -> None:
    check_mutated([body for _, _, _, body in answers(shared)], plain, streamed)
