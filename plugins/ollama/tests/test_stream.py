"""Streams: pieces to events to one response, wherever the network cuts them.

All of these are made by hand, after the server's own code, as nothing recorded covers a stream of this API with calls.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import (
    ContextLengthError,
    ModelError,
    OverloadedError,
    ProtocolError,
    StreamTruncatedError,
)
from agentforge.model import (
    AiMessage,
    ChatEvent,
    FinishReason,
    ProviderState,
    ResponseDone,
    TextContent,
    TextDelta,
    ThinkingContent,
    ThinkingDelta,
    TokenUsage,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionRequest,
    UsageEvent,
)
from agentforge_ollama.wire.stream import StreamDecoder
from plugins.ollama.tests.support import OWNER, answering, call, dumped, events_in, last, line, plain, reply, streamed
from tests.support.wire_exchange import calls_of

#: Thinking, text, and two calls in lines of their own, both with the index 0, before the line that ends it.
TURN = (
    line(thinking="They ask ")
    + line(thinking="for two.")
    + line("I look ")
    + line("it up. 🌤")
    + line(tool_calls=[call(id="call_a1")])
    + line(tool_calls=[call(arguments={"city": "杭州"}, id="call_b2")])
    + last()
)


def test_a_stream_becomes_events_in_its_order() -> None:
    """Each call is told whole; usage and the response come last."""
    first = ToolExecutionRequest("call_a1", "get_weather", '{"city":"Oslo"}')
    second = ToolExecutionRequest("call_b2", "get_weather", '{"city":"杭州"}')
    events = events_in(TURN)
    assert events[:-1] == [
        ThinkingDelta("They ask "),
        ThinkingDelta("for two."),
        TextDelta("I look "),
        TextDelta("it up. 🌤"),
        ToolCallDelta(0, "call_a1", "get_weather", first.arguments),
        ToolCallReady(first, 0),
        ToolCallDelta(1, "call_b2", "get_weather", second.arguments),
        ToolCallReady(second, 1),
        UsageEvent(TokenUsage(3, 2, 5)),
    ]
    done = events[-1]
    assert isinstance(done, ResponseDone)
    response = done.response
    assert response.ai_message == AiMessage(
        [
            ThinkingContent("They ask for two.", ProviderState(OWNER, {"field": "thinking"})),
            TextContent("I look it up. 🌤"),
            first,
            second,
        ]
    )
    assert (response.finish_reason, response.raw_finish_reason) == (FinishReason.TOOL_EXECUTION, "stop")
    assert response.model_name == "qwen3"
    assert response.token_usage.raw == {"total_duration": 1_500_000, "prompt_eval_count": 3, "eval_count": 2}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (line(tool_calls=[call(id="a"), call("get_time", id="b")]) + last(), ["a", "b"]),
        (line(tool_calls=[call(id="a", index=4)]) + line(tool_calls=[call(id="b", index=4)]) + last(), ["a", "b"]),
        (last(tool_calls=[call(id="a"), call(id="b", index=1)]), ["a", "b"]),
        (line(tool_calls=[call(id="a")]) + last(tool_calls=[call(id="b")]), ["a", "b"]),
        (line(tool_calls=[call()]) + line(tool_calls=[call()]) + last(), ["made_1", "made_2"]),
        (line(tool_calls=[call(id="a")]) + line(tool_calls=[call(id="a")]) + last(), ["a", "made_1"]),
        (line(tool_calls=[call(id="")]) + last(), ["made_1"]),
    ],
    ids=[
        "two in one line",
        "one index for both",
        "in the line that ends it",
        "in a line of its own and in the last",
        "no ids",
        "one id twice",
        "an empty id",
    ],
)
def test_calls_are_collected_over_all_lines(body: bytes, expected: list[str]) -> None:
    """In the order in which they came; ids are made where none, or no new one, was given."""
    response = streamed(body)
    assert [identity for identity, _, _ in calls_of(response)] == expected
    assert [c.id_was_given for c in response.ai_message.tool_execution_requests] == [
        not identity.startswith("made") for identity in expected
    ]
    assert response.finish_reason is FinishReason.TOOL_EXECUTION


def test_a_whole_reply_in_one_line_is_a_stream_too() -> None:
    body = reply("Rain.", thinking="hm", tool_calls=[call(id="a")])
    assert streamed(dumped(body)) == plain(body)


@pytest.mark.parametrize("before", [b"", b"\xef\xbb\xbf", b"\r\n"], ids=["at once", "its encoding", "a blank line"])
def test_a_whole_answer_that_is_indented_is_read(before: bytes) -> None:
    """As a proxy may answer; cut anywhere it is no answer."""
    body = reply("Rain.", thinking="hm", tool_calls=[call(id="a")])
    content = before + json.dumps(body, indent=2).encode()
    for size in (1, len(content)):
        assert streamed(*[content[at : at + size] for at in range(0, len(content), size)]) == replace(
            plain(body), raw_body=streamed(content).raw_body
        )
    for cut in (content[:-1], content[:-9]):
        with pytest.raises(StreamTruncatedError):
            streamed(cut)
    with pytest.raises(ModelError, match="error in the answer: no luck"):
        streamed(before + json.dumps({"error": "no luck"}, indent=2).encode())


@pytest.mark.parametrize(
    "body",
    [
        b"\n\n" + TURN.replace(b"\n", b"\n\n"),
        TURN.replace(b"\n", b"\r\n"),
        TURN[:-1],
        TURN + line("never read") + b"nor is this",
        TURN.replace(b'"done": false', b'"done": false, "rays": [1, {"x": null}]'),
        TURN.replace(b'"role": "assistant"', b'"role": "assistant", "images": null, "aura": 1'),
    ],
    ids=["blank lines", "CR and LF", "no last line end", "more behind the end", "unknown members", "in the message"],
)
def test_what_servers_may_add_changes_nothing(body: bytes) -> None:
    assert streamed(body) == streamed(TURN)


@pytest.mark.parametrize(
    ("word", "has_calls", "reason"),
    [
        ("stop", False, FinishReason.STOP),
        ("stop", True, FinishReason.TOOL_EXECUTION),
        ("length", False, FinishReason.LENGTH),
        ("length", True, FinishReason.LENGTH),
        ("load", False, FinishReason.OTHER),
        ("unload", False, FinishReason.OTHER),
        (None, False, FinishReason.STOP),
        (None, True, FinishReason.TOOL_EXECUTION),
        ("tool_calls", True, FinishReason.TOOL_EXECUTION),
        ("newer", False, FinishReason.OTHER),
    ],
)
def test_the_reason_is_read_with_the_calls(word: str | None, has_calls: bool, reason: FinishReason) -> None:
    """Plain and streamed alike."""
    end = {"done": True, **({"done_reason": word} if word else {})}
    calls = {"tool_calls": [call(id="a")]} if has_calls else {}
    for response in (streamed(last(end=end, **calls)), plain(reply(end=end, **calls))):
        assert (response.finish_reason, response.raw_finish_reason) == (reason, word)


def test_a_reason_of_calls_without_calls_is_told() -> None:
    response = streamed(last("Done.", end={"done": True, "done_reason": "tool_calls"}))
    assert response.finish_reason is FinishReason.STOP
    assert [notice.code for notice in response.notices] == ["finish_reason_without_calls"]


@pytest.mark.parametrize(
    ("end", "usage"),
    [
        ({"eval_count": 7, "total_duration": 9}, TokenUsage(None, 7)),
        ({"prompt_eval_count": 7}, TokenUsage(7)),
        ({}, TokenUsage()),
        ({"prompt_eval_count": "many", "eval_count": -1}, TokenUsage()),
        ({"prompt_eval_count": 7.0, "eval_count": 2}, TokenUsage(7, 2, 9)),
    ],
    ids=["input from the cache", "nothing made", "nothing at all", "no numbers", "a float"],
)
def test_counts_that_are_missing_are_not_known(end: dict[str, Any], usage: TokenUsage) -> None:
    """They are none, not 0; plain and streamed alike."""
    end = {"done": True, "done_reason": "stop", **end}
    assert streamed(last("a", end=end)).token_usage == usage
    assert plain(reply("a", end=end)).token_usage == usage


def test_halves_of_a_character_are_shown_together() -> None:
    """A piece of text may end in the middle of a character, in the escaped form that JSON has."""
    halves = [line("a@"), line("@b")]
    body = halves[0].replace(b"@", b"\\ud83c") + halves[1].replace(b"@", b"\\udf24") + last()
    events = events_in(body)
    assert [event.text for event in events if isinstance(event, TextDelta)] == ["a", "🌤b"]
    assert streamed(body).ai_message.text == "a🌤b"
    cut = line("a@").replace(b"@", b"\\ud83c") + last()
    assert "".join(event.text for event in events_in(cut) if isinstance(event, TextDelta)) == "a\ud83c"


def test_numbers_that_json_has_not_become_null_but_not_in_arguments() -> None:
    """There no other value may take their place, so that the check of the arguments refuses them."""
    body = line(tool_calls=[call(arguments={"n": "@"}, id="a")]).replace(b'"@"', b"NaN")
    body += last(end={"done": True, "eval_count": "@"}).replace(b'"@"', b"Infinity")
    response = streamed(body)
    assert calls_of(response) == [("a", "get_weather", '{"n":NaN}')]
    assert response.token_usage.output_tokens is None
    assert [notice.code for notice in response.notices] == ["number_not_finite"]


# -- failures -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("an error was encountered while running the model: CUDA error", ModelError),
        ("server busy, please try again.  maximum pending requests exceeded", OverloadedError),
        (
            '{"error":{"code":400,"message":"request (302 tokens) exceeds the available context size"}}',
            ContextLengthError,
        ),
    ],
)
def test_an_error_in_a_line_ends_the_stream(text: str, kind: type[ModelError]) -> None:
    """Under status 200; what was shown before stands, and no call of it is told as done."""
    decoder = StreamDecoder(answering())
    events = decoder.feed(line("so far") + line(tool_calls=[call(id="a")]) + dumped({"error": text}))
    assert [type(event) for event in events] == [TextDelta, ToolCallDelta, ToolCallReady]
    with pytest.raises(ModelError) as caught:
        decoder.finish()
    assert type(caught.value) is kind and caught.value is decoder.failure
    assert caught.value.details["partial_text"] == "so far"


def test_an_error_in_the_first_line_is_raised_at_once() -> None:
    with pytest.raises(ModelError, match="error in the answer: no luck"):
        StreamDecoder(answering()).feed(dumped({"error": "no luck"}))


@pytest.mark.parametrize(
    "body",
    [b"", line("so far"), line("so far") + line(tool_calls=[call(id="a")]), TURN[: -len(last()) // 2]],
    ids=["empty", "text", "a whole call", "half of the last line"],
)
def test_a_stream_without_its_last_line_is_cut(body: bytes) -> None:
    """Calls in it do not run, however whole they are."""
    decoder = StreamDecoder(answering())
    decoder.feed(body)
    with pytest.raises(StreamTruncatedError) as caught:
        decoder.finish()
    assert caught.value.partial_text == decoder.partial_text


@pytest.mark.parametrize(
    ("body", "what"),
    [
        (line("so far") + b"{not json\n" + last(), "line 2 of the stream is not a JSON object"),
        (line("so far") + b"[1]\n" + last(), "line 2 of the stream is not a JSON object"),
        (b"404 page not found\n", "the answer is not a stream of JSON lines (status 200, no content type): 404 page"),
        (b"upstream is away", "the answer is not a stream of JSON lines"),
    ],
)
def test_a_line_that_is_no_object_is_a_fault(body: bytes, what: str) -> None:
    """With its number; a body without any line that is one is something else altogether."""
    with pytest.raises(ProtocolError) as caught:
        events_in(body)
    assert what in caught.value.message
    assert "so far" not in str(body) or caught.value.details["partial_text"] == "so far"


@pytest.mark.parametrize(
    "said", [{"choices": [{"message": {"content": "hi"}}], "model": "m"}, {"done": True}, {"status": "pulling"}]
)
def test_a_stream_in_which_nobody_speaks_is_one_of_something_else(said: dict[str, Any]) -> None:
    """Such as an answer in the server's other form."""
    with pytest.raises(ProtocolError, match="the answer has no message") as caught:
        events_in(dumped(said))
    assert "base_url" in (caught.value.next_step or "")


def test_a_first_line_that_is_cut_is_a_stream_that_is_cut() -> None:
    with pytest.raises(StreamTruncatedError):
        events_in(line("so far")[:-9])


def test_a_body_beyond_the_bound_is_refused() -> None:
    decoder = StreamDecoder(answering(), max_bytes=300)
    assert decoder.feed(line("so far")) == [TextDelta("so far")]
    with pytest.raises(ProtocolError, match="max_body_bytes") as caught:
        decoder.feed(line("x" * 300))
    assert caught.value.details["partial_text"] == "so far"


# -- any stream, any cuts -------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8"), max_size=12)
values = st.none() | st.booleans() | st.integers() | words
arguments = st.dictionaries(words, values, max_size=3)
calls = st.lists(
    st.builds(
        lambda given_arguments, index: call(arguments=given_arguments, index=index), arguments, st.integers(0, 2)
    ),
    max_size=2,
)
lines = st.builds(
    lambda content, thinking, made: line(
        content, **({"thinking": thinking} if thinking else {}), **({"tool_calls": made} if made else {})
    ),
    words,
    words,
    calls,
)
ends = st.sampled_from([last(), last("z"), dumped({"error": "no luck"}), b"{broken\n", b""])


def outcome(pieces: list[bytes]) -> tuple[list[ChatEvent], str | None]:
    """What is seen of a stream that comes in these pieces: its events, and the error that ends it."""
    decoder = StreamDecoder(answering())
    events: list[ChatEvent] = []
    try:
        for piece in pieces:
            events += decoder.feed(piece)
            if decoder.failure is not None or decoder.ended:
                break
        events += decoder.finish()
    except ModelError as error:
        return events, f"{type(error).__name__}: {error.message}"
    return events, None


@settings(max_examples=80, deadline=None)
@given(st.lists(lines, max_size=4), ends, st.data())
def test_any_stream_reads_the_same_wherever_it_is_cut(made: list[bytes], end: bytes, data: st.DataObject) -> None:
    body = b"".join(made) + end
    places = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=8)))
    pieces = [body[a:b] for a, b in zip([0, *places], [*places, len(body)], strict=True)]
    assert outcome(pieces) == outcome([body]) == outcome([body[at : at + 1] for at in range(len(body))])


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_reply_or_an_error_of_ours(body: bytes) -> None:
    """Nothing that a server sends raises anything else."""
    events, error = outcome([body])
    assert error is not None or isinstance(events[-1], ResponseDone)
