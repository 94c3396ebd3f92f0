"""Streams of every shape seen, in forms of our own: what they add up to."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    FinishReason,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageEvent,
)
from agentforge_openai.wire.stream import StreamDecoder
from plugins.openai.tests.support import (
    USAGE,
    answering,
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

END = delta("tool_calls")

# Name of the shape, its chunks, the calls it means.
SHAPES: dict[str, tuple[list[Any], list[tuple[str, str, str]]]] = {
    "openai: head first, arguments in pieces, reason on its own": (
        [
            delta(role="assistant", content=None),
            call_delta(piece("find", "", index=0, id="c1", type="function")),
            call_delta(piece(None, '{"q":', index=0)),
            call_delta(piece(None, ' "tea"}', index=0)),
            END,
            {"choices": [], "usage": USAGE},
        ],
        [("c1", "find", '{"q": "tea"}')],
    ),
    "openai: pieces of parallel calls alternate (ST-18)": (
        [
            call_delta(piece("a", '{"x"', index=0, id="c1")),
            call_delta(piece("b", '{"y"', index=1, id="c2")),
            call_delta(piece(None, ": 1}", index=0)),
            call_delta(piece(None, ": 2}", index=1)),
            END,
        ],
        [("c1", "a", '{"x": 1}'), ("c2", "b", '{"y": 2}')],
    ),
    "azure: a first chunk without choices": (
        [
            {"choices": [], "prompt_filter_results": [{"prompt_index": 0}]},
            call_delta(piece("a", "{}", index=0, id="c1")),
            END,
        ],
        [("c1", "a", "{}")],
    ),
    "dashscope: blank id and name later, role null": (
        [
            delta(role="assistant", content="", tool_calls=[piece("a", "", index=0, id="c1")]),
            delta(role=None, content=None, tool_calls=[piece("", '{"x"', index=0, id="c1")]),
            delta(role=None, content=None, tool_calls=[piece("", ": 1}", index=0, id="")]),
            END,
        ],
        [("c1", "a", '{"x": 1}')],
    ),
    "mistral: whole calls with the reason, without index": (
        [call_delta(piece("a", '{"x": 1}', id="c1"), piece("b", {"y": 2}, id="c2"), finish="tool_calls")],
        [("c1", "a", '{"x": 1}'), ("c2", "b", '{"y":2}')],
    ),
    "xai: whole call in one delta with usage": (
        [{**call_delta(piece("a", "{}", index=0, id="c1"), finish="tool_calls"), "usage": USAGE}],
        [("c1", "a", "{}")],
    ),
    "ollama: several calls, all with index 0 (ST-19)": (
        [
            call_delta(piece("a", '{"q": 1}', index=0, id="c1")),
            call_delta(piece("a", '{"q": 2}', index=0, id="c2")),
            delta("stop"),
        ],
        [("c1", "a", '{"q": 1}'), ("c2", "a", '{"q": 2}')],
    ),
    "old ollama: index 0 for all and no ids": (
        [
            call_delta(piece("a", '{"q": 1}', index=0)),
            call_delta(piece("a", '{"q": 2}', index=0)),
            delta("stop"),
        ],
        [("made_1", "a", '{"q": 1}'), ("made_2", "a", '{"q": 2}')],
    ),
    "a second complete call without id after one with it": (
        [
            call_delta(piece("a", "{}", index=0, id="c1")),
            call_delta(piece("b", "{}", index=0)),
            END,
        ],
        [("c1", "a", "{}"), ("made_1", "b", "{}")],
    ),
    "gemini layer: no index, blank id, whole call, reason stop": (
        [call_delta(piece("a", '{"x": 1}', id=""), finish="stop")],
        [("made_1", "a", '{"x": 1}')],
    ),
    "no index, no id: names open calls, the rest goes to the last": (
        [
            call_delta(piece("a", '{"x"')),
            call_delta(piece(None, ": 1}")),
            call_delta(piece("b", "{}")),
            END,
        ],
        [("made_1", "a", '{"x": 1}'), ("made_2", "b", "{}")],
    ),
    "no index: an id that is known goes on with its call": (
        [
            call_delta(piece("a", '{"x"', id="c1")),
            call_delta(piece("b", "{}", id="c2")),
            call_delta(piece(None, ": 1}", id="c1")),
            END,
        ],
        [("c1", "a", '{"x": 1}'), ("c2", "b", "{}")],
    ),
    "kimi: numbers as ids, arguments sent twice, no reason": (
        [
            call_delta(piece("a", "", index=0, id="0")),
            call_delta(piece("a", "{}", index=0, id="0")),
            delta(content=""),
        ],
        [("0", "a", "{}")],
    ),
    "kimi: arguments null and never sent": (
        [
            {
                "choices": [
                    {"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a:0", "function": {"name": "a"}}]}}
                ]
            },
            {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "function": {"arguments": None}}]}}]},
            END,
        ],
        [("a:0", "a", "{}")],
    ),
    "anthropic behind a compatible layer: the first index is 1": (
        [
            delta(content="see: "),
            call_delta(piece("a", "", index=1, id="t1")),
            call_delta(piece(None, "{}", index=1)),
            END,
        ],
        [("t1", "a", "{}")],
    ),
    "the name comes after the id (ST-16)": (
        [
            call_delta(piece(None, '{"q"', index=0, id="c1")),
            call_delta(piece("find", ': "z"}', index=0)),
            END,
        ],
        [("c1", "find", '{"q": "z"}')],
    ),
    "the id comes after the name": (
        [call_delta(piece("a", "{}", index=0)), call_delta({"index": 0, "id": "c1"}), END],
        [("c1", "a", "{}")],
    ),
    "the name is repeated on every piece": (
        [
            call_delta(piece("a", '{"x"', index=0, id="c1")),
            call_delta(piece("a", ": 1}", index=0)),
            END,
        ],
        [("c1", "a", '{"x": 1}')],
    ),
    "a name alone after a complete call is no new one": (
        [
            call_delta(piece("a", "{}", index=0, id="c1")),
            call_delta(piece("a", "", index=0)),
            END,
        ],
        [("c1", "a", "{}")],
    ),
    "a null beside a whole sibling (ST-14)": (
        [
            call_delta(
                {"index": 0, "id": "c1", "function": {"name": "a", "arguments": None}},
                piece("b", '{"x": 1}', index=1, id="c2"),
                finish="tool_calls",
            )
        ],
        [("c1", "a", "{}"), ("c2", "b", '{"x": 1}')],
    ),
    "no id at all (ST-26)": (
        [call_delta(piece("now", "{}", index=0)), END],
        [("made_1", "now", "{}")],
    ),
    "the old function_call": (
        [
            delta(function_call={"name": "a", "arguments": ""}),
            delta(function_call={"arguments": '{"x": 1}'}),
            delta("function_call"),
        ],
        [("made_1", "a", '{"x": 1}')],
    ),
    "a whole message in place of deltas": (
        [{"choices": [{"message": {"tool_calls": [piece("a", "{}", id="c1")]}, "finish_reason": "tool_calls"}]}],
        [("c1", "a", "{}")],
    ),
}


@pytest.mark.parametrize("shape", list(SHAPES))
def test_every_shape_adds_up_to_its_calls(shape: str) -> None:
    chunks, expected = SHAPES[shape]
    response = streamed(sse(*chunks))
    assert calls_of(response) == expected
    assert response.finish_reason is FinishReason.TOOL_EXECUTION


@pytest.mark.parametrize("shape", list(SHAPES))
def test_a_stream_equals_the_plain_answer_of_the_same_content(shape: str) -> None:
    """The same calls, ids, parts and reason, whichever way they came."""
    chunks, expected = SHAPES[shape]
    response = streamed(sse(*chunks))
    calls = [piece(name, text, id="" if made.startswith("made_") else made) for made, name, text in expected]
    body = message(response.raw_finish_reason, content=response.ai_message.text, tool_calls=calls)
    whole = plain({**body, "usage": response.token_usage.raw})
    assert whole == response


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(SHAPES)), st.lists(st.integers(0, 5000), max_size=12))
def test_where_the_network_cuts_a_stream_changes_nothing(shape: str, cuts: list[int]) -> None:
    body = sse(delta(content="你好🙂\u2028", reasoning_content="hm"), *SHAPES[shape][0])
    edges = sorted({0, len(body), *(cut % len(body) for cut in cuts)})
    decoder = StreamDecoder(answering())
    events = [event for at, to in itertools.pairwise(edges) for event in decoder.feed(body[at:to])]
    assert [*events, *decoder.finish()] == events_in(body)


def test_names_in_pieces_are_joined_only_where_the_row_says_so() -> None:
    chunks = [
        call_delta(piece("get_", "", index=0, id="c1")),
        call_delta(piece("weather", "{}", index=0)),
        END,
    ]
    assert calls_of(streamed(sse(*chunks), splits_names=True)) == [("c1", "get_weather", "{}")]
    assert calls_of(streamed(sse(*chunks))) == [("c1", "get_", "{}")]


def test_events_come_in_order_and_the_response_is_last() -> None:
    body = sse(
        delta(role="assistant", content="", reasoning_content=None),
        delta(reasoning_content="hm"),
        delta(content="so"),
        call_delta(piece("a", '{"x"', index=0, id="c1")),
        call_delta(piece(None, ": 1}", index=0)),
        END,
        {"choices": [], "usage": USAGE},
    )
    events = events_in(body)
    request = events[-1].response.ai_message.tool_execution_requests[0]  # type: ignore[union-attr]
    assert [type(event) for event in events] == [
        ThinkingDelta,
        TextDelta,
        ToolCallDelta,
        ToolCallDelta,
        ToolCallReady,
        UsageEvent,
        ResponseDone,
    ]
    assert events[2:4] == [ToolCallDelta(0, "c1", "a", '{"x"'), ToolCallDelta(0, "c1", "a", ": 1}")]
    assert events[4] == ToolCallReady(request, 0)


def test_aliases_are_taken_back_in_events_too() -> None:
    events = events_in(sse(call_delta(piece("a_1", "{}", index=0, id="c1")), END), aliases={"a_1": "a/1"})
    assert events[0] == ToolCallDelta(0, "c1", "a/1", "{}")
    assert events[1] == ToolCallReady(events[-1].response.ai_message.tool_execution_requests[0])  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("chunks", "text"),
    [
        pytest.param([b": PROCESSING\n\n", delta(content="hi"), b": ping\n\n"], "hi", id="comments (ST-04)"),
        pytest.param(
            [b"retry: 1500\n\n", b"id: 7\n\n", delta(content="x"), b"data:\n\n", b"data:  \n\n", b"event: ping\n\n"],
            "x",
            id="events without data (ST-05)",
        ),
        pytest.param(
            [
                delta(role=None, content="one", tool_calls=None),
                delta("stop", role=None, content=" two", tool_calls=None),
            ],
            "one two",
            id="nulls are absent (ST-15)",
        ),
        pytest.param([delta(content="a\u2028b")], "a\u2028b", id="line separators inside texts (ST-02)"),
        pytest.param(
            [{"choices": [{"delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]}], "a", id="n"
        ),
        pytest.param([delta(content="a"), {"choices": [{"index": 1, "delta": {"content": "b"}}]}], "a", id="other n"),
        pytest.param(
            [{"choices": [{"index": 1, "delta": {"content": "b"}}, {"index": 0, "delta": {"content": "a"}}]}],
            "a",
            id="n in another order",
        ),
        pytest.param([delta(content=[{"type": "text", "text": "a"}, "b"])], "ab", id="content as a list"),
        pytest.param([delta(content="a"), {"object": "unknown"}, {"choices": [None]}], "a", id="unknown chunks"),
        pytest.param([delta(content="a"), {"choices": [{"finish_reason": "stop"}]}], "a", id="a choice without delta"),
    ],
)
def test_what_is_no_content_is_passed_over(chunks: list[Any], text: str) -> None:
    assert streamed(sse(*chunks)).ai_message.text == text


def test_text_before_a_call_stays_and_the_call_counts() -> None:
    """Case ST-25."""
    response = streamed(sse(delta(content="Let me check. "), call_delta(piece("a", "{}", index=0, id="c1")), END))
    assert response.ai_message.text == "Let me check. "
    assert response.ai_message.has_tool_execution_requests


def test_a_refusal_is_text_and_a_reason() -> None:
    response = streamed(sse(delta(refusal="I "), delta(refusal="will not"), delta("stop")))
    assert response == plain(message("stop", refusal="I will not"))
    assert response.finish_reason is FinishReason.REFUSAL


def test_pieces_of_reasoning_details_become_the_items_of_a_plain_answer() -> None:
    head = {"type": "reasoning.text", "index": 0, "format": "f"}
    chunks = [
        delta(content="", reasoning="The ", reasoning_details=[{**head, "text": "The "}]),
        delta(content="", reasoning="user", reasoning_details=[{**head, "text": "user"}]),
        delta(content="", reasoning_details=[{**head, "signature": "sig"}]),
        delta(content="", reasoning_details=[{"type": "reasoning.encrypted", "index": 1, "data": "d"}]),
        delta(content="", reasoning_details=["odd"]),
        delta("stop", content="so"),
    ]
    details = [
        {**head, "text": "The user", "signature": "sig"},
        {"type": "reasoning.encrypted", "index": 1, "data": "d"},
    ]
    response = streamed(sse(*chunks))
    assert response == plain(message(content="so", reasoning="The user", reasoning_details=details))
    deltas = [event for event in events_in(sse(*chunks)) if isinstance(event, (ThinkingDelta, TextDelta))]
    assert deltas == [ThinkingDelta("The "), ThinkingDelta("user"), TextDelta("so")]


def test_thinking_in_content_lists_is_thinking() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}
    body = sse(delta(content=[thought]), delta(content=["s"]), delta("stop", content="o"))
    response, events = streamed(body), events_in(body)
    assert events[:-1] == [ThinkingDelta("hm"), TextDelta("s"), TextDelta("o")]
    assert response == plain(message(content=[thought, {"type": "text", "text": "so"}]))


def test_opaque_fields_are_gathered_over_the_stream() -> None:
    chunks = [
        delta(content="a", extra_content={"google": {"thought": True}}, thinking_blocks=[1]),
        delta(content="b", extra_content={"other": 1}, thinking_blocks=[2]),
        call_delta(piece("a", "{}", index=0, id="c1", extra_content={"google": {"thought_signature": "s"}})),
        END,
    ]
    ai_message = streamed(sse(*chunks)).ai_message
    assert ai_message.provider_state is not None
    assert ai_message.provider_state.data == {
        "extra_content": {"google": {"thought": True}, "other": 1},
        "thinking_blocks": [1, 2],
    }
    state = ai_message.tool_execution_requests[0].provider_state
    assert state is not None
    assert state.data == {"extra_content": {"google": {"thought_signature": "s"}}}


@pytest.mark.parametrize(
    "chunk",
    [
        {"choices": [], "usage": USAGE},
        {**delta(content="x"), "usage": USAGE},
        {"choices": [{"delta": {}, "finish_reason": "stop", "usage": USAGE}]},
        {"choices": [{"delta": {}, "finish_reason": "stop"}], "x_groq": {"usage": USAGE}},
    ],
)
def test_usage_is_read_wherever_it_comes_and_the_last_one_counts(chunk: dict[str, Any]) -> None:
    early = {"prompt_tokens": 1, "total_tokens": 1}
    response = streamed(sse({**delta(content="a"), "usage": early}, chunk, {"choices": [], "usage": None}))
    assert response.token_usage.total_tokens == 5
