"""Responses streams that say less, or otherwise, than the official one: items without numbers, pieces without their
whole, cuts within a character. Nothing of it is lost or mixed up."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from agentforge.errors import InvalidRequestError, ModelError, ProtocolError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    FinishReason,
    ProviderState,
    ResponseDone,
    SystemMessage,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge_openai.responses.response import decode_response
from agentforge_openai.responses.stream import ResponsesDecoder
from plugins.openai.tests.responses.support import (
    SEARCH,
    answer,
    answering,
    body_of,
    call_item,
    calls_of,
    custom_item,
    event,
    events_in,
    item_events,
    model_on,
    plain,
    reasoning_item,
    stream_of,
    streamed,
    text_item,
)
from plugins.openai.tests.responses.test_recorded_answers import answers
from tests.support.mutated_json import check_mutated, mutated, sse_of

SMILE = "\U0001f600"


def without(stream: list[bytes], *names: str, kinds: tuple[str, ...] = ()) -> list[bytes]:
    """The stream without these members of its events, and without events of these kinds."""
    made = []
    for one in stream:
        data = json.loads(one.split(b"data: ", 1)[1])
        if not data["type"].endswith(kinds or ("\0",)):
            made.append(event(data.pop("type"), **{key: value for key, value in data.items() if key not in names}))
    return made


ITEMS = [
    reasoning_item("First.", "Then."),
    text_item("Oslo ", "it is."),
    call_item(),
    call_item(arguments='{"city":"Rome"}', n=2),
    custom_item('SELECT "x"', n=3),
]


@pytest.mark.parametrize("said", [True, False], ids=["with the output at the end", "without"])
def test_items_are_known_by_their_ids_where_a_server_does_not_number_them(said: bool) -> None:
    body = answer(*ITEMS)
    stream = [*stream_of(body)[:-1], event("response.completed", response=body if said else {**body, "output": []})]
    bare = without(stream, "output_index")
    assert streamed(bare) == streamed(stream)
    assert events_in(bare)[:-1] == events_in(stream)[:-1]


def test_items_with_neither_number_nor_id_are_those_that_began_last() -> None:
    items = [call_item(), call_item(arguments='{"city":"Rome"}', n=2)]
    for one in items:
        del one["id"]
    stream = [part for item in items for part in item_events(0, item)]
    bare = without([*stream, event("response.completed", response=answer())], "output_index", "item_id")
    assert calls_of(streamed(bare)) == calls_of(plain(*items))


def test_an_item_may_be_numbered_at_its_beginning_only() -> None:
    stream = stream_of(answer(*ITEMS))
    bare = [
        one if b"output_item.added" in one else without([one], "output_index")[0]
        for one in stream
        if b"delta" not in one
    ]
    assert streamed(bare) == streamed(stream)


@pytest.mark.parametrize("status", ["completed", "incomplete"])
def test_what_comes_in_pieces_only_is_the_reply(status: str) -> None:
    """No event gives an item whole, and neither does the end."""
    body = answer(*ITEMS, status=status)
    stream = stream_of({**body, "output": []})
    for index, item in enumerate(ITEMS):
        stream[-1:-1] = without(list(item_events(index, item)), kinds=("output_item.done",))
    reply = streamed(stream)
    assert (reply.ai_message.thinking, reply.ai_message.text) == ("First.\n\nThen.", "Oslo it is.")
    assert calls_of(reply) == calls_of(plain(*ITEMS))
    assert reply.finish_reason is (FinishReason.TOOL_EXECUTION if status == "completed" else FinishReason.LENGTH)
    events = events_in(stream)
    assert "".join(each.text for each in events if isinstance(each, TextDelta)) == reply.ai_message.text
    ready = tuple(each.request for each in events if isinstance(each, ToolCallReady))
    assert ready == reply.ai_message.tool_execution_requests


def test_what_came_in_pieces_goes_back_as_a_turn() -> None:
    stream = [
        event("response.created", response=answer(status="in_progress")),
        event("response.output_text.delta", output_index=0, item_id="msg_1", content_index=0, delta="hello"),
        event("response.completed", response=answer()),
    ]
    reply = streamed(stream).ai_message
    assert reply.text == "hello"
    sent = body_of([UserMessage("q"), reply, UserMessage("z")])["input"][1]
    assert sent["role"] == "assistant" and sent["content"][0]["text"] == "hello"


@pytest.mark.parametrize("kind", ["output_text", "refusal"])
def test_a_text_that_only_its_end_says_is_shown_and_taken(kind: str) -> None:
    key = "text" if kind == "output_text" else "refusal"
    stream = [
        event(f"response.{kind}.done", output_index=0, content_index=0, **{key: "hello"}),
        event("response.completed", response=answer()),
    ]
    assert [each.text for each in events_in(stream) if isinstance(each, TextDelta)] == ["hello"]
    assert streamed(stream).ai_message.text == "hello"


@pytest.mark.parametrize("item", [call_item(), custom_item()])
@pytest.mark.parametrize("done", [True, False], ids=["item ends", "item does not end"])
@pytest.mark.parametrize("pieces", [True, False], ids=["pieces", "no pieces"])
def test_arguments_that_stand_apart_from_the_item_are_its_own(item: dict[str, Any], done: bool, pieces: bool) -> None:
    bare = {**item, "arguments" if item["type"] == "function_call" else "input": ""}
    kinds = (*(() if pieces else (".delta",)), "output_item.done")
    stream = without(list(item_events(0, item)), kinds=kinds)
    stream += [event("response.output_item.done", output_index=0, item=bare)] if done else []
    stream.append(event("response.completed", response=answer()))
    assert calls_of(streamed(stream)) == calls_of(plain(item))
    shown = [each.arguments_delta for each in events_in(stream) if isinstance(each, ToolCallDelta)]
    assert "".join(shown) == calls_of(plain(item))[0][2]


def test_a_call_of_a_response_that_was_cut_is_not_whole() -> None:
    """Unless its own end came."""
    stream = [
        event("response.output_item.added", output_index=0, item=call_item(arguments="")),
        event("response.function_call_arguments.delta", output_index=0, delta='{"city":'),
        event("response.incomplete", response=answer(status="incomplete")),
    ]
    reply = streamed(stream)
    assert (reply.finish_reason, calls_of(reply)[0][2]) == (FinishReason.LENGTH, '{"city":')


@pytest.mark.parametrize("kind", ["output_text", "refusal", "reasoning_text"])
def test_halves_of_a_character_that_a_cut_parted_are_one(kind: str) -> None:
    stream = [
        *(event(f"response.{kind}.delta", output_index=0, content_index=0, delta=t) for t in ("a\\ud83d", "\\ude00b")),
        event("response.completed", response=answer()),
    ]
    stream = [one.replace(b"\\\\ud", b"\\ud") for one in stream]  # as escapes, which cannot be written otherwise
    reply = streamed(stream).ai_message
    assert (reply.thinking if kind == "reasoning_text" else reply.text) == f"a{SMILE}b"
    shown = [each.text for each in events_in(stream) if isinstance(each, TextDelta | ThinkingDelta)]
    assert shown == ["a", f"{SMILE}b"]


def test_an_event_may_be_as_large_as_the_answer() -> None:
    image = {"id": "ig", "type": "image_generation_call", "status": "completed", "result": "A" * (9 * 1024 * 1024)}
    stream = event("response.completed", response=answer(image, text_item("ok")))
    decoder = ResponsesDecoder(answering(), max_bytes=20 * 1024 * 1024)
    last = [*decoder.feed(stream), *decoder.finish()][-1]
    assert isinstance(last, ResponseDone) and last.response.ai_message.text == "ok"
    with pytest.raises(ProtocolError, match="max_body_bytes"):
        ResponsesDecoder(answering(), max_bytes=1024).feed(stream)


OWNER = "generic@llm.example/v1/responses"
KEPT = AiMessage("kept", provider_state=ProviderState(OWNER, {"response_id": "resp_1"}))


def test_a_turn_that_the_server_keeps_is_named_also_after_a_request_that_ended_with_it() -> None:
    """That request had nothing new to say and was sent whole."""
    model = model_on(state="previous_response")
    history: list[ChatMessage] = [UserMessage("q"), KEPT]
    first = json.loads(model.preview(ChatRequest(history))[0])
    assert len(first["input"]) == 2 and "previous_response_id" not in first
    second = json.loads(model.preview(ChatRequest([*history, UserMessage("z")]))[0])
    assert second["previous_response_id"] == "resp_1"
    assert second["input"] == [{"role": "user", "content": "z"}]


@pytest.mark.parametrize(
    "messages",
    [
        [AiMessage()],
        [SystemMessage("s"), AiMessage(), AiMessage()],
        [ToolExecutionResultMessage("c", "look", "of no call")],
    ],
)
def test_a_history_of_which_nothing_can_be_sent_is_refused_before_it_is(messages: list[Any]) -> None:
    with pytest.raises(InvalidRequestError, match="holds no message"):
        body_of(messages)


RECORDED = [
    answer(*ITEMS, SEARCH),
    answer(text_item({"type": "refusal", "refusal": "no"}), status="incomplete"),
    answer(call_item("parallel", '{"tool_uses":[{"recipient_name":"functions.a","parameters":{}}]}')),
    {"error": {"message": "no", "code": "x"}, "status": "failed"},
]
STREAMS: list[Any] = [
    [json.loads(one.split(b"data: ", 1)[1]) for one in stream_of(answer(*items))]
    for items in (ITEMS[:2], ITEMS[2:], [SEARCH, call_item("parallel", '{"tool_uses":[]}')])
]


@settings(max_examples=120, deadline=None)
@given(mutated(RECORDED))
def test_a_reply_with_members_of_other_kinds_is_read_or_is_a_model_error(body: Any) -> None:
    with contextlib.suppress(ModelError):
        decode_response(json.dumps(body).encode(), answering())


@settings(max_examples=120, deadline=None)
@given(mutated(STREAMS))
def test_a_stream_with_members_of_other_kinds_is_read_or_is_a_model_error(events: Any) -> None:
    with contextlib.suppress(ModelError):
        streamed(sse_of(events))


def test_recorded_answers_with_members_of_other_kinds_are_read_or_are_model_errors(shared: Path) -> None:
    bodies = [body for _, _, body in answers(shared)]
    check_mutated(bodies, lambda content: decode_response(content, answering()), streamed)
