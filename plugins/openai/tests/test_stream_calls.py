"""When a streamed call is told to be complete: as soon as nothing can be added to it, and never before."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import ModelError, OverloadedError, StreamTruncatedError
from agentforge.model import ChatEvent, ResponseDone, ToolCallDelta, ToolCallReady, UsageEvent
from agentforge_openai.wire.stream import StreamDecoder
from plugins.openai.tests.support import USAGE, answering, call_delta, delta, events_in, piece, sse

END = delta("tool_calls")
LAST = {"choices": [], "usage": USAGE}


def told(*chunks: Any, **changes: Any) -> list[str]:
    """The events of a stream in short: ``+0`` a piece of call 0, ``!0`` call 0 is complete, ``$`` usage, ``.`` the
    end. What is told complete must be the call of the response."""
    events = events_in(sse(*chunks), **changes)
    done = events[-1]
    assert isinstance(done, ResponseDone)
    ready = [event.request for event in events if isinstance(event, ToolCallReady)]
    assert ready == list(done.response.ai_message.tool_execution_requests)
    assert [event.index for event in events if isinstance(event, ToolCallReady)] == list(range(len(ready)))
    return [_short(event) for event in events]


def _short(event: ChatEvent) -> str:
    match event:
        case ToolCallDelta():
            return f"+{event.index}"
        case ToolCallReady():
            return f"!{event.index}"
        case UsageEvent():
            return "$"
        case _:
            return "."


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        pytest.param(
            [
                call_delta(piece("a", "", index=0, id="c1")),
                call_delta(piece(None, '{"x":', index=0)),
                call_delta(piece(None, "1}", index=0)),
                call_delta(piece("b", "", index=1, id="c2")),
                call_delta(piece(None, "{}", index=1)),
                END,
                LAST,
            ],
            "+0 +0 +0 !0 +1 +1 !1 $ .",
            id="one after the other: the first is complete when the second begins, the last with the reason",
        ),
        pytest.param(
            [
                call_delta(piece("a", '{"x"', index=0, id="c1")),
                call_delta(piece("b", '{"y"', index=1, id="c2")),
                call_delta(piece(None, ": 1}", index=0)),
                call_delta(piece(None, ": 2}", index=1)),
                END,
                LAST,
            ],
            "+0 +1 +0 +1 !0 !1 $ .",
            id="pieces that alternate: none is complete before the reason (ST-18)",
        ),
        pytest.param(
            [call_delta(piece("a", "{}", id="c1"), piece("b", "{}", id="c2"), finish="tool_calls"), LAST],
            "+0 !0 +1 !1 $ .",
            id="whole calls in one chunk together with the reason",
        ),
        pytest.param(
            [
                call_delta(piece("a", '{"q": 1}', index=0, id="c1")),
                call_delta(piece("a", '{"q": 2}', index=0, id="c2")),
                delta("stop"),
            ],
            "+0 !0 +1 !1 .",
            id="every call with index 0 (ST-19)",
        ),
        pytest.param(
            [call_delta(piece("a", "{}", index=0)), call_delta(piece("b", "{}", index=1, id="c2")), END, LAST],
            "+0 +1 $ !0 !1 .",
            id="an id that may still come, and is made up at the end: those behind wait, so that the order holds",
        ),
        pytest.param(
            [
                call_delta(piece("a", "{}", index=0, id="c1")),
                call_delta(piece("b", "{}", index=1, id="c1")),
                END,
                LAST,
            ],
            "+0 !0 +1 $ !1 .",
            id="an id for the second time gets another at the end",
        ),
        pytest.param(
            [call_delta(piece("a", "", index=0, id="c1")), call_delta(piece("b", "{}", index=1, id="c2")), END, LAST],
            "+0 +1 $ !0 !1 .",
            id="no arguments yet, which may still come",
        ),
        pytest.param(
            [call_delta(piece("a", '{"x', index=0, id="c1")), delta("length"), LAST],
            "+0 $ !0 .",
            id="a call that was cut",
        ),
        pytest.param(
            [call_delta(piece(None, '{"q"', index=0, id="c1")), call_delta(piece("find", ": 1}", index=0)), END],
            "+0 +0 !0 .",
            id="the name comes late (ST-16)",
        ),
        pytest.param(
            [call_delta(piece("a", '{"x": 1}', index=0, id="c1")), LAST],
            "+0 $ !0 .",
            id="no reason at all, only the end mark",
        ),
    ],
)
def test_a_call_is_told_complete_as_soon_as_nothing_can_be_added(chunks: list[Any], expected: str) -> None:
    assert " ".join(told(*chunks)) == expected


def test_names_are_ours_when_a_call_is_complete() -> None:
    events = events_in(
        sse(
            call_delta(piece("a_1", "{}", index=0, id="c1")),
            call_delta(piece("b", "{}", index=1, id="c2")),
            END,
        ),
        aliases={"a_1": "a/1"},
    )
    assert [event.request.name for event in events if isinstance(event, ToolCallReady)] == ["a/1", "b"]


@pytest.mark.parametrize(
    ("rest", "error"),
    [
        (b"", StreamTruncatedError),
        (sse({"error": {"message": "queue is full", "code": 503}}), OverloadedError),
    ],
)
def test_a_stream_that_fails_after_a_complete_call_has_no_response(rest: bytes, error: type[ModelError]) -> None:
    """What was told complete is for display; without a response nothing of it runs."""
    begun = sse(
        call_delta(piece("a", "{}", index=0, id="c1")), call_delta(piece("b", "{", index=1, id="c2")), done=False
    )
    decoder = StreamDecoder(answering())
    events = decoder.feed(begun)
    assert [_short(event) for event in events] == ["+0", "!0", "+1"]
    with pytest.raises(error) as caught:
        [*decoder.feed(rest), *decoder.finish()]
    assert type(caught.value) is error


CALLS = st.lists(
    st.tuples(
        st.sampled_from(["", "c1", "c2", "c3", "c4"]),
        st.sampled_from(["a", "b"]),
        st.sampled_from(["", "{}", '{"x": [1, "{"]}', "[1]", "{", '{"a": NaN}']),
        st.integers(1, 4),
    ),
    max_size=5,
)


@settings(max_examples=150, deadline=None)
@given(CALLS, st.randoms(use_true_random=False), st.sampled_from(["tool_calls", "stop", "length"]))
def test_however_pieces_alternate_each_call_is_told_once_and_as_it_is(calls: Any, random: Any, finish: str) -> None:
    queues: list[list[dict[str, Any]]] = []
    for index, (identity, name, text, parts) in enumerate(calls):
        size = max(1, -(-len(text) // parts))
        texts = [text[at : at + size] for at in range(0, len(text), size)] or [""]
        first = piece(name, texts[0], index=index, **({"id": identity} if identity else {}))
        queues.append([first, *(piece(None, more, index=index) for more in texts[1:])])
    chunks = []
    while queues := [queue for queue in queues if queue]:
        chunks.append(call_delta(random.choice(queues).pop(0)))
    told(*chunks, delta(finish), LAST)


def test_recorded_streams_tell_each_call_once_and_as_it_is(shared: Path) -> None:
    """And most calls with an id of their own before the usage, which comes at the end."""
    early = late = 0
    for file in sorted((shared / "cassettes").glob("*/chatcompletions-*.json")):
        for interaction in json.loads(file.read_text())["interactions"]:
            body = interaction["response"]["body"]
            if not isinstance(body, str) or '"error":{' in body or interaction["response"]["status"] >= 400:
                continue
            decoder = StreamDecoder(answering())
            fed = decoder.feed(body.encode())
            ready = [event for event in fed if isinstance(event, ToolCallReady)]
            ends = decoder.finish()
            done = ends[-1]
            assert isinstance(done, ResponseDone)
            calls = done.response.ai_message.tool_execution_requests
            waited = [event for event in ends if isinstance(event, ToolCallReady)]
            assert tuple(event.request for event in ready + waited) == calls, file.name
            early += len(ready)
            late += len(waited)
    assert early > 50
    assert late < early / 5
