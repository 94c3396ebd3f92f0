"""Streams that hosts get wrong: what they hold is taken or refused, and never lost in silence."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from agentforge.errors import ModelError, ProtocolError
from agentforge.model import TextDelta, ThinkingDelta, ToolCallDelta, ToolCallReady
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
from plugins.anthropic.tests.test_cassettes import answers
from tests.support.mutated_json import events_of, mutated, sse_of
from tests.support.wire_exchange import calls_of

CALL = {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {}}


def arguments(text: Any) -> dict[str, Any]:
    return {"type": "input_json_delta", "partial_json": text}


@pytest.mark.parametrize("index", [0, 3])
def test_a_delta_for_a_block_that_never_began_begins_one(index: int) -> None:
    stream = (
        started()
        + event("content_block_delta", index=index, delta={"type": "thinking_delta", "thinking": "hm"})
        + event("content_block_delta", index=index + 1, delta={"type": "text_delta", "text": "a"})
        + event("content_block_delta", index=index + 1, delta={"type": "text_delta", "text": "b"})
        + ended()
    )
    reply = streamed(stream).ai_message
    assert (reply.thinking, reply.text) == ("hm", "ab")
    shown = [each.text for each in events_in(stream) if isinstance(each, TextDelta | ThinkingDelta)]
    assert shown == ["hm", "a", "b"]


def test_events_without_an_index_are_of_the_block_that_began_last() -> None:
    stream = started() + event("content_block_start", content_block={"type": "text", "text": "a"})
    stream += event("content_block_delta", delta={"type": "text_delta", "text": "b"}) + event("content_block_stop")
    stream += event("content_block_start", content_block=CALL)
    stream += event("content_block_delta", delta=arguments('{"a":1}')) + event("content_block_stop")
    reply = streamed(stream + ended("tool_use"))
    assert reply.ai_message.text == "ab"
    assert calls_of(reply) == [("c1", "get_weather", '{"a":1}')]


def test_a_text_goes_on_behind_its_end() -> None:
    late = event("content_block_delta", index=0, delta={"type": "text_delta", "text": "b"})
    assert streamed(started() + text_block(0, "a") + late + ended()).ai_message.text == "ab"


def test_arguments_of_a_call_that_nothing_names_are_an_error() -> None:
    with pytest.raises(ProtocolError, match="arguments of a call that no event began") as caught:
        events_in(started() + event("content_block_delta", index=0, delta=arguments("{")) + ended("tool_use"))
    assert caught.value.details["event"] == 2


def test_arguments_that_come_as_an_object_are_written_as_text() -> None:
    reply = streamed(started() + block(0, CALL, arguments({"a": 1})) + ended("tool_use"))
    assert calls_of(reply) == [("c1", "get_weather", '{"a":1}')]


def test_a_block_that_begins_at_an_open_index_ends_the_one_before() -> None:
    """What is told of the calls as they end is what the reply holds."""
    stream = started()
    for identity in ("c1", "c2"):
        stream += event("content_block_start", index=0, content_block={**CALL, "id": identity})
        stream += event("content_block_delta", index=0, delta=arguments(json.dumps({"of": identity})))
    stream += event("content_block_stop", index=0) + ended("tool_use")
    ready = [each.request for each in events_in(stream) if isinstance(each, ToolCallReady)]
    assert [(one.id, one.arguments) for one in ready] == [("c1", '{"of": "c1"}'), ("c2", '{"of": "c2"}')]
    assert tuple(ready) == streamed(stream).ai_message.tool_execution_requests


def test_arguments_behind_the_end_of_a_call_change_nothing() -> None:
    late = event("content_block_delta", index=0, delta=arguments("}"))
    stream = started() + call_block(0, '{"city": "Oslo"}') + late + ended("tool_use")
    assert calls_of(streamed(stream)) == [("toolu_1", "get_weather", '{"city": "Oslo"}')]
    assert sum(isinstance(each, ToolCallDelta) for each in events_in(stream)) == 2


@pytest.mark.parametrize("member", ["text", "thinking"])
def test_halves_of_a_character_that_a_cut_parted_are_one(member: str) -> None:
    pieces = [{"type": f"{member}_delta", member: text} for text in ("a\ud83d", "\ude00b", "c")]
    stream = started() + block(0, {"type": member, member: ""}, *pieces) + ended()
    whole = plain(message({"type": member, member: "a\U0001f600bc"}))
    assert streamed(stream).ai_message == whole.ai_message
    shown = [each.text for each in events_in(stream) if isinstance(each, TextDelta | ThinkingDelta)]
    assert shown == ["a", "\U0001f600b", "c"]


def test_half_a_character_that_nothing_follows_is_shown_at_the_end() -> None:
    stream = started() + text_block(0, "a\ud83d") + ended()
    shown = "".join(each.text for each in events_in(stream) if isinstance(each, TextDelta))
    assert shown == streamed(stream).ai_message.text == "a\ud83d"


@pytest.mark.parametrize("kind", ["tool_use", "server_tool_use"])
def test_halves_in_arguments_are_one_character(kind: str) -> None:
    stream = started() + block(0, {**CALL, "type": kind}, arguments('{"a":"\ud83d'), arguments('\ude00"}')) + ended()
    reply = streamed(stream).ai_message
    if kind == "tool_use":
        assert reply.tool_execution_requests[0].arguments_as_map() == {"a": "\U0001f600"}
    else:
        state = reply.contents[0].provider_state  # type: ignore[union-attr]
        assert state is not None and state.data["input"] == {"a": "\U0001f600"}


def test_an_event_may_be_as_large_as_the_answer() -> None:
    """The bound that a setting raises is the only one."""
    big = "x" * (9 * 1024 * 1024)
    stream = started() + text_block(0, big) + ended()
    decoder = StreamDecoder(answering(), max_bytes=20 * 1024 * 1024)
    assert [*decoder.feed(stream), *decoder.finish()][-1].response.ai_message.text == big  # type: ignore[union-attr]
    with pytest.raises(ProtocolError, match="max_body_bytes"):
        StreamDecoder(answering(), max_bytes=1024).feed(stream)


RECORDED = [
    message({"type": "text", "text": "hi", "citations": [{"type": "char_location", "cited_text": "x", "url": "u"}]}),
    message({"type": "thinking", "thinking": "hm", "signature": "s"}, {**CALL, "input": {"a": [1]}}, stop="tool_use"),
    message({"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"q": "x"}}),
    {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
]
STREAMS = [
    [json.loads(line[6:]) for line in stream.decode().splitlines() if line.startswith("data: ")]
    for stream in (
        started() + text_block(0, "a", "b") + call_block(1, '{"a":', "1}") + ended("tool_use"),
        started()
        + block(0, {"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": "s"})
        + block(1, {**CALL, "type": "server_tool_use"}, arguments('{"q":1}'))
        + block(2, {"type": "text", "text": ""}, {"type": "citations_delta", "citation": {"url": "u", "title": "t"}})
        + ended(),
    )
]


@settings(max_examples=120, deadline=None)
@given(mutated(RECORDED))
def test_a_reply_with_members_of_other_kinds_is_read_or_is_a_model_error(body: Any) -> None:
    with contextlib.suppress(ModelError):
        plain(json.dumps(body).encode())


@settings(max_examples=120, deadline=None)
@given(mutated(STREAMS))
def test_a_stream_with_members_of_other_kinds_is_read_or_is_a_model_error(events: Any) -> None:
    with contextlib.suppress(ModelError):
        streamed(sse_of(events))


def test_recorded_answers_with_members_of_other_kinds_are_read_or_are_model_errors(shared: Path) -> None:
    bodies = [body for _, _, body in answers(shared)]
    values = [events_of(body) if isinstance(body, str) else body for body in bodies]

    @settings(max_examples=80, deadline=None)
    @given(mutated(values))
    def holds(value: Any) -> None:
        with contextlib.suppress(ModelError):
            if isinstance(value, list):
                streamed(sse_of(value))
            else:
                plain(json.dumps(value).encode())

    holds()
