"""A streamed answer of the Responses form: what is shown, when, and how streams end."""

from __future__ import annotations

import itertools
import json
from typing import Any, get_args

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import (
    AuthenticationError,
    ModelError,
    OverloadedError,
    ProtocolError,
    RateLimitError,
    StreamTruncatedError,
)
from agentforge.model import (
    ChatEvent,
    FinishReason,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageEvent,
)
from agentforge.testing.contracts.streams import check_stream
from agentforge_openai.responses.stream import ResponsesDecoder
from plugins.openai.tests.responses.support import (
    SEARCH,
    answer,
    answering,
    call_item,
    calls_of,
    custom_item,
    event,
    events_in,
    plain,
    reasoning_item,
    stream_of,
    streamed,
    text_item,
)

REFUSED = {"type": "refusal", "refusal": "I cannot."}
CUT = call_item(arguments='{"city":"Os', n=2, status="incomplete")
LENGTH = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
PARALLEL = call_item(
    "parallel",
    json.dumps({"tool_uses": [{"recipient_name": f"functions.{name}", "parameters": {}} for name in ("one", "two")]}),
)
REPLIES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "text": ([text_item("Hello there. ☃")], {}),
    "nothing": ([], {}),
    "parts": ([text_item("One. ", "Two."), text_item("Three.", id="msg_2")], {}),
    "refusal": ([text_item(REFUSED)], {}),
    "reasoning": ([reasoning_item("First.", "Second."), text_item("ok", phase="final_answer")], {}),
    "raw reasoning": (
        [
            reasoning_item(
                content=[{"type": "reasoning_text", "text": "Raw."}, {"type": "reasoning_text", "text": "On."}]
            )
        ],
        {},
    ),
    "call": ([call_item()], {}),
    "call without arguments": ([call_item(arguments="")], {}),
    "calls": ([text_item("I look."), call_item(), call_item(n=2, arguments='{"city":"Bergen"}')], {}),
    "custom": ([custom_item('SELECT "ä" \\ \n')], {}),
    "empty custom": ([custom_item("")], {}),
    "search": ([reasoning_item("Hm."), SEARCH, text_item("It rains.")], {}),
    "cut call": ([call_item(), CUT], LENGTH),
    "parallel": ([text_item("Both."), PARALLEL, call_item(n=2)], {}),
    "kept": ([text_item("ok")], {"store": True}),
}


@pytest.mark.parametrize("name", REPLIES)
def test_a_stream_says_what_a_plain_answer_says(name: str) -> None:
    """The same response, and its pieces make it; the usage comes before the end."""
    items, fields = REPLIES[name]
    events = events_in(stream_of(answer(*items, **fields)))
    response = check_stream(events)
    assert response == plain(*items, **fields)
    assert any(isinstance(one, UsageEvent) for one in events)


@pytest.mark.parametrize("name", REPLIES)
def test_a_server_that_sends_no_deltas_is_read_as_well(name: str) -> None:
    """What an item holds is shown when it is whole, or at the end."""
    items, fields = REPLIES[name]
    body = answer(*items, **fields)
    done = [event("response.output_item.done", output_index=at, item=item) for at, item in enumerate(items)]
    end = event(f"response.{body['status']}", response=body)
    whole = plain(*items, **fields)
    assert check_stream(events_in([*done, end])) == whole
    assert check_stream(events_in([end])) == whole


@pytest.mark.parametrize("name", REPLIES)
def test_a_last_object_without_output_leaves_the_items_as_they_came(name: str) -> None:
    items, fields = REPLIES[name]
    stream = stream_of(answer(*items, **fields))
    body = answer(**fields)
    stream[-1] = event(f"response.{body['status']}", response=body)
    assert streamed(stream).ai_message == plain(*items, **fields).ai_message


def test_events_without_names_are_read_by_their_type() -> None:
    stream = b"".join(stream_of(answer(text_item("ok"), call_item())))
    unnamed = b"\n".join(line for line in stream.split(b"\n") if not line.startswith(b"event:"))
    assert streamed(unnamed) == plain(text_item("ok"), call_item())


def test_a_call_is_ready_as_soon_as_it_is_whole() -> None:
    """Before the next item begins, and before the end."""
    decoder = ResponsesDecoder(answering())
    seen: list[ChatEvent] = []
    for one in stream_of(answer(call_item(), text_item("More.")))[:-1]:
        seen += decoder.feed(one)
    ready = [at for at, one in enumerate(seen) if isinstance(one, ToolCallReady)]
    texts = [at for at, one in enumerate(seen) if isinstance(one, TextDelta)]
    assert len(ready) == 1
    assert ready[0] < min(texts)


def test_pieces_of_a_call_carry_its_place_id_and_name() -> None:
    events = events_in(stream_of(answer(text_item("x"), call_item(), call_item("a_1", n=2))), aliases={"a_1": "a/1"})
    deltas = [one for one in events if isinstance(one, ToolCallDelta)]
    assert {(one.index, one.id, one.name) for one in deltas} == {(0, "call_1", "get_weather"), (1, "call_2", "a/1")}


def test_a_cut_call_is_announced_only_at_the_end_and_never_runs() -> None:
    events = events_in(stream_of(answer(call_item(), CUT, **LENGTH)))
    kinds = [type(one) for one in events if not isinstance(one, (ToolCallDelta, UsageEvent))]
    assert kinds == [ToolCallReady, ToolCallReady, ResponseDone]
    assert events.index(next(one for one in events if isinstance(one, UsageEvent))) < len(events) - 2
    last = events[-1]
    assert isinstance(last, ResponseDone)
    assert last.response.finish_reason is FinishReason.LENGTH


def test_summary_parts_are_apart_by_a_blank_line() -> None:
    events = events_in(stream_of(answer(reasoning_item("One.", "Two."), text_item("ok"))))
    assert "".join(one.text for one in events if isinstance(one, ThinkingDelta)) == "One.\n\nTwo."


def test_of_summary_and_text_of_one_reasoning_the_first_is_shown() -> None:
    item = reasoning_item("Short.", content=[{"type": "reasoning_text", "text": "Long."}])
    assert check_stream(events_in(stream_of(answer(item, text_item("ok"))))).ai_message.thinking == "Short."


def test_the_done_item_wins_over_its_deltas_and_the_last_object_over_both() -> None:
    done = event("response.output_item.done", output_index=0, item=text_item("better"))
    first = [event("response.output_text.delta", output_index=0, delta="worse"), done]
    assert streamed([*first, event("response.completed", response=answer())]).ai_message.text == "better"
    last = event("response.completed", response=answer(text_item("best")))
    assert streamed([*first, last]).ai_message.text == "best"


def test_encrypted_reasoning_is_that_of_the_done_item() -> None:
    """Not that of the begun one, which may be cut; each copy is encrypted anew, and the first whole one is kept."""
    stream = [
        event("response.output_item.added", output_index=0, item=reasoning_item(encrypted_content="cut")),
        event("response.output_item.done", output_index=0, item=reasoning_item(encrypted_content="whole")),
        event("response.completed", response=answer(reasoning_item(encrypted_content="anew"), text_item("ok"))),
    ]
    state = streamed(stream).ai_message.contents[0].provider_state  # type: ignore[union-attr]
    assert state is not None
    assert state.data == {"item": reasoning_item(encrypted_content="whole")}


UNKNOWN = [
    event("response.web_search_call.searching", item_id="ws_1", output_index=0),
    event("response.output_text.annotation.added", item_id="m", annotation={}),
    event("response.shell_call_command.delta", delta="ls"),
    event("response.audio.delta", delta="AAAA"),
    event("keepalive", sequence_number=3),
    b"event: keepalive\ndata: ping\n\n",
    b": comment\n\n",
    b"data:\n\n",
    event("response.output_item.added", output_index=0, item=None),
    event("response.output_item.done", output_index=0),
    event("response.output_text.delta", output_index=0, delta=None),
    event("response.function_call_arguments.delta", output_index=77, delta="{"),
    event("response.function_call_arguments.delta", output_index=0, delta=3),
    event("response.created"),
    event("response.created", response={"id": 3, "usage": 4}),
]


@pytest.mark.parametrize("odd", UNKNOWN)
def test_events_of_other_kinds_and_forms_are_passed_over(odd: bytes) -> None:
    stream = stream_of(answer(text_item("ok"), call_item()))
    assert streamed([stream[0], odd, *stream[1:]]) == plain(text_item("ok"), call_item())


def test_every_event_type_that_the_official_package_knows_is_read_or_passed_over() -> None:
    """None of them breaks a stream, whatever else it holds."""
    from openai.types.responses import ResponseStreamEvent

    union = get_args(ResponseStreamEvent)[0]
    kinds = sorted(get_args(kind.model_fields["type"].annotation)[0] for kind in get_args(union))
    assert len(kinds) > 50
    ends = {"error", "response.failed", "response.completed", "response.incomplete"}
    body = answer(text_item("ok"))
    for kind in kinds:
        if kind not in ends:
            stream = stream_of(body)
            stream.insert(2, event(kind, output_index=9, item_id="x", delta="d", sequence_number=1))
            stream.insert(2, event(kind))
            assert streamed(stream).raw_finish_reason == "completed", kind


ERRORS = [
    (event("error", code="rate_limit_exceeded", message="slow down", param=None), RateLimitError, "slow down"),
    (event("error", error={"code": "server_error", "message": "it broke"}), OverloadedError, "it broke"),
    (b"event: error\ndata: it broke\n\n", ModelError, "it broke"),
    (b'data: {"error": {"code": "invalid_api_key", "message": "bad key"}}\n\n', AuthenticationError, "bad key"),
    (
        event("response.failed", response=answer(status="failed", error={"code": "server_error", "message": "no"})),
        OverloadedError,
        "no",
    ),
    (event("response.failed", response=answer(status="failed")), ModelError, "did not say why"),
    (event("response.failed"), ModelError, "did not say why"),
    (
        event("response.completed", response=answer(error={"code": "server_error", "message": "late"})),
        OverloadedError,
        "late",
    ),
]


@pytest.mark.parametrize(("said", "kind", "words"), ERRORS)
def test_an_error_in_a_stream_is_typed_and_carries_the_text_so_far(
    said: bytes, kind: type[ModelError], words: str
) -> None:
    """However the network cuts it, the events before it are shown, and nothing after it is read."""
    before = stream_of(answer(text_item("Half")))[:5]
    stream = b"".join([*before, said, *stream_of(answer(text_item("More")))])
    for size in (1, 7, len(stream)):
        decoder = ResponsesDecoder(answering())
        texts: list[str] = []
        with pytest.raises(ModelError, match=words) as raised:  # noqa: PT012  (the pieces until it comes)
            for start in range(0, len(stream), size):
                texts += [one.text for one in decoder.feed(stream[start : start + size]) if isinstance(one, TextDelta)]
                if decoder.failure is not None:
                    raise decoder.failure
        assert type(raised.value) is kind
        assert texts == ["Ha", "lf"]
        assert raised.value.details["partial_text"] == "Half"


def test_a_stream_that_ends_before_the_response_is_cut() -> None:
    """After any event but the last, even when all its items are whole."""
    stream = stream_of(answer(text_item("Half"), call_item()))
    for count in range(1, len(stream)):
        with pytest.raises(StreamTruncatedError) as raised:
            streamed(stream[:count])
        assert raised.value.partial_text in ("", "Ha", "Half")


def test_a_last_event_that_is_cut_is_no_end() -> None:
    stream = b"".join(stream_of(answer(text_item("ok"))))
    assert streamed(stream.rstrip(b"\n")).ai_message.text == "ok"
    with pytest.raises(StreamTruncatedError):
        streamed(stream[:-20])


def test_what_follows_the_end_is_not_read() -> None:
    stream = [*stream_of(answer(text_item("ok"))), b"data: [DONE]\n\n", event("error", message="too late")]
    decoder = ResponsesDecoder(answering())
    decoder.feed(b"".join(stream))
    assert decoder.ended
    assert decoder.failure is None


WRONG = [
    (b'data: {"choices": []}\n\ndata: [DONE]\n\n', "without any event of a response"),
    (b"event: response.created\ndata: {oops\n\n", "event 1 of the stream is not a JSON object"),
    (b"event: response.content_part.added\ndata: {oops\n\n", "event 1 of the stream is not a JSON object"),
    (b"data: [1]\n\n", "event 1 of the stream is not a JSON object"),
    (b"<html>Sign in</html>", "not an event stream"),
]


@pytest.mark.parametrize(("body", "words"), WRONG)
def test_what_is_no_stream_of_this_form_is_a_protocol_error(body: bytes, words: str) -> None:
    with pytest.raises(ProtocolError, match=words):
        streamed(body)


def test_a_stream_is_bounded() -> None:
    decoder = ResponsesDecoder(answering(), max_bytes=300)
    with pytest.raises(ProtocolError, match="larger than max_body_bytes"):
        decoder.feed(b"".join(stream_of(answer(text_item("x" * 300)))))


def test_numbers_that_json_has_not_are_mended_with_a_notice() -> None:
    stream = b"".join(stream_of(answer(text_item("ok"))))
    response = streamed(stream.replace(b'"total_tokens": 5', b'"total_tokens": NaN'))
    assert response.token_usage.total_tokens is None
    assert [notice.code for notice in response.notices] == ["number_not_finite"]


def outcome(pieces: list[bytes]) -> list[ChatEvent]:
    """The events of a stream in pieces."""
    decoder = ResponsesDecoder(answering())
    return [*(one for piece in pieces for one in decoder.feed(piece)), *decoder.finish()]


@settings(max_examples=150, deadline=None)
@given(st.sampled_from(sorted(REPLIES)), st.lists(st.floats(0, 1), min_size=1, max_size=8), st.booleans())
def test_a_stream_is_read_the_same_at_every_cut(name: str, cuts: list[float], carriage: bool) -> None:
    items, fields = REPLIES[name]
    body = b"".join(stream_of(answer(*items, **fields)))
    if carriage:
        body = body.replace(b"\n", b"\r\n")
    edges = sorted({0, len(body), *(int(cut * len(body)) for cut in cuts)})
    assert outcome([body[at:to] for at, to in itertools.pairwise(edges)]) == outcome([body])


def test_calls_inside_one_of_a_tool_named_parallel_are_shown_when_it_is_whole() -> None:
    events = events_in(stream_of(answer(PARALLEL, call_item(n=2))))
    assert calls_of(check_stream(events)) == [
        ("call_1-0", "one", "{}"),
        ("call_1-1", "two", "{}"),
        ("call_2", "get_weather", '{"city":"Oslo"}'),
    ]
    assert {one.name for one in events if isinstance(one, ToolCallDelta)} == {"one", "two", "get_weather"}
