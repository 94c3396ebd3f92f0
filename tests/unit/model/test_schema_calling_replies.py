"""Tools over a schema: what the model's JSON becomes, whole or in any cuts of a stream."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge.errors import StreamTruncatedError
from agentforge.model.content import ProviderState, TextContent, ThinkingContent
from agentforge.model.events import (
    ChatEvent,
    Notice,
    ResponseDone,
    TextDelta,
    ThinkingDelta,
    ToolCallDelta,
    ToolCallReady,
    UsageEvent,
)
from agentforge.model.messages import (
    AiMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.request import ResponseFormat
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.schema_calling import SchemaTurn, translate_request
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage
from tests.unit.model.support import NOW, WEATHER, request_for

PROPERTY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


# -- replies -----------------------------------------------------------------------------------------------------

FREE = translate_request(request_for(WEATHER, NOW))
FORCED = translate_request(request_for(WEATHER, NOW, tool_choice="required"))
SINGLE = translate_request(request_for(WEATHER, tool_choice="required"))
STRUCTURED = translate_request(request_for(WEATHER, response_format=ResponseFormat.json_schema({"type": "object"})))

CITY = ("get_weather", '{"city": "杭州"}')
AS_IT_IS = "<the text as it is>"


@dataclass(frozen=True)
class Reply:
    """The model's text and the reason it ended, then what is to become of it."""

    what: str
    turn: SchemaTurn
    text: str
    finish: FinishReason = FinishReason.STOP
    shown: str | None = None
    calls: Sequence[tuple[str, str]] = ()
    reason: FinishReason | None = None
    notices: Sequence[str] = ()

    @property
    def expected_text(self) -> str | None:
        return self.text if self.shown == AS_IT_IS else self.shown

    @property
    def expected_reason(self) -> FinishReason:
        return self.reason or (FinishReason.TOOL_EXECUTION if self.calls else self.finish)


REPLIES = [
    Reply("an answer", FREE, '{"answer": "22 \\u00b0 \\ud83d\\ude00\\n\\"ok\\""}', shown='22 ° 😀\n"ok"'),
    Reply("a call", FREE, '{"calls":[{"tool":"get_weather","arguments":{"city": "杭州"}}]}', calls=[CITY]),
    Reply(
        "two calls",
        FREE,
        '{"calls" : [ {"tool":"get_weather","arguments":{"city": "杭州"}} , {"tool":"now","arguments":{}} ] }\n',
        calls=[CITY, ("now", "{}")],
    ),
    Reply(
        "arguments before the name",
        FREE,
        '{"calls":[{"arguments":{"city": "杭州"},"tool":"get_weather"}]}',
        calls=[CITY],
    ),
    Reply("no arguments", FREE, '{"calls":[{"tool":"now"}]}', calls=[("now", "")]),
    Reply(
        "arguments of any kind",
        FREE,
        '{"calls":[{"tool":"now","arguments":"{\\"a\\":1}"},'
        '{"tool":"now","arguments":-1.5e3},'
        '{"tool":"now","arguments":null},'
        '{"tool":"now","arguments":["}\\"]"]}]}',
        calls=[("now", '"{\\"a\\":1}"'), ("now", "-1.5e3"), ("now", "null"), ("now", '["}\\"]"]')],
    ),
    Reply("the single form", SINGLE, '{"tool":"get_weather","arguments":{"city": "杭州"}}', calls=[CITY]),
    Reply("the single form where a list was asked for", FREE, '{"tool":"now","arguments":{}}', calls=[("now", "{}")]),
    Reply(
        "words beside calls",
        FREE,
        '{"answer":"A moment.","calls":[{"tool":"now","arguments":{}}]}',
        shown="A moment.",
        calls=[("now", "{}")],
    ),
    Reply(
        "words behind calls",
        FREE,
        '{"calls":[{"tool":"now","arguments":{}}],"answer":"A moment."}',
        shown="A moment.",
        calls=[("now", "{}")],
    ),
    Reply(
        "a fence around it", FREE, '```json\n{"calls":[{"tool":"now","arguments":{}}]}\n```\n', calls=[("now", "{}")]
    ),
    Reply(
        "a structured answer", STRUCTURED, '{"answer":{"degrees": [22, "a\\"}"]}}', shown='{"degrees": [22, "a\\"}"]}'
    ),
    Reply("an answer that is no text", FREE, '{"answer": 22 }', shown="22"),
    Reply("plain words", FREE, " It is 22 degrees.", shown=AS_IT_IS),
    Reply("other JSON", FREE, '{"degrees": 22}', shown=AS_IT_IS),
    Reply("words that name the form", FREE, 'Send "calls": [] to end.', shown=AS_IT_IS),
    Reply(
        "a surplus key before the calls",
        FREE,
        '{"why":"x","calls":[{"tool":"now","arguments":{}}]}',
        shown=AS_IT_IS,
        notices=["schema_reply_unreadable"],
    ),
    Reply(
        "a surplus key before the answer",
        FREE,
        '{"why":1,"answer":"x"}',
        shown=AS_IT_IS,
        notices=["schema_reply_unreadable"],
    ),
    Reply(
        "another name of the tool's key",
        FREE,
        '{"name":"now","arguments":{}}',
        shown=AS_IT_IS,
        notices=["schema_reply_unreadable"],
    ),
    Reply(
        "calls without their object",
        FREE,
        '[{"tool":"now","arguments":{}}]',
        shown=AS_IT_IS,
        notices=["schema_reply_unreadable"],
    ),
    Reply(
        "a fence around another form",
        FREE,
        '```json\n{"x":1,"tool":"now"}\n```',
        shown=AS_IT_IS,
        notices=["schema_reply_unreadable"],
    ),
    Reply("a fence around words", FREE, "```\nls\n```", shown=AS_IT_IS),
    Reply("a fence with no space", FREE, "```{}```", shown=AS_IT_IS),
    Reply(
        "words for a call", FREE, "calls", finish=FinishReason.TOOL_EXECUTION, shown=AS_IT_IS, reason=FinishReason.STOP
    ),
    Reply(
        "words where a call was forced", FORCED, "I would rather not.", shown=AS_IT_IS, notices=["schema_call_missing"]
    ),
    Reply("an answer where a call was forced", FORCED, '{"answer":"no"}', shown="no", notices=["schema_call_missing"]),
    Reply("nothing where a call was forced", FORCED, "", shown=AS_IT_IS, notices=["schema_call_missing"]),
    Reply("an empty list", FREE, '{"calls":[]}', shown=AS_IT_IS, notices=["schema_reply_unreadable"]),
    Reply(
        "a call cut off",
        FREE,
        '{"calls":[{"tool":"get_weather","arguments":{"ci',
        finish=FinishReason.LENGTH,
        shown=AS_IT_IS,
        notices=["schema_calls_dropped"],
    ),
    Reply(
        "a whole call at the limit",
        FREE,
        '{"calls":[{"tool":"now","arguments":{}}]}',
        finish=FinishReason.LENGTH,
        shown=AS_IT_IS,
        notices=["schema_calls_dropped"],
    ),
    Reply(
        "a filtered call",
        FREE,
        '{"tool":"now","arguments":{}}',
        finish=FinishReason.CONTENT_FILTER,
        shown=AS_IT_IS,
        notices=["schema_calls_dropped"],
    ),
    Reply("an answer cut off", FREE, '{"answer":"It is 2', finish=FinishReason.LENGTH, shown="It is 2"),
    Reply(
        "an answer that never ends", FREE, '{"answer":"It is 2', shown="It is 2", notices=["schema_reply_unreadable"]
    ),
    Reply("half a surrogate pair", FREE, '{"answer":"\\ud83dx\\ude00\\ud83d"}', shown="\ufffdx\ufffd\ufffd"),
    Reply("odd escapes", FREE, '{"answer":"\\/\\q\\\\"}', shown="/q\\"),
    Reply(
        "a number cut by its list",
        FREE,
        '{"calls":[{"tool":"now","arguments":1]}',
        shown=AS_IT_IS,
        notices=["schema_reply_unreadable"],
    ),
]
_BROKEN = [
    '{"calls":{}}',
    '{"calls":[1]}',
    '{"calls":[("tool":"a"}]}',
    '{"calls":[{"tool":"now"},]}',
    '{"calls":[{"tool":"now"} {"tool":"now"}]}',
    '{"calls":[{"tool":""}]}',
    '{"calls":[{"arguments":{}}]}',
    '{"calls":[{"tool":7}]}',
    '{"calls":[{"tool":"a","tool":"b"}]}',
    '{"calls":[{"tool":"a","arguments":{},"arguments":{}}]}',
    '{"calls":[{"tool":"a","why":1}]}',
    '{"calls":[{"tool":"a","arguments":{]}}]}',
    '{"calls":[{"tool":"a","arguments":}]}',
    '{"calls":[{"tool" "a"}]}',
    '{"calls":[{"tool":"a"}] "x"}',
    '{"calls":[{"tool":"a"}]} and more',
    '{"calls":[{"tool":"a"}]}````',
    '{"calls":[{"tool":"a"}],"calls":[]}',
    '{"calls":[{"tool":"a"}],"tool":"b"}',
    '{"tool":"a","calls":[{"tool":"b"}]}',
    '{"tool":xa"}',
    '{"tool":"\\u12x4"}',
    '{"tool":"a",}',
]
EVERY_REPLY = pytest.mark.parametrize("reply", REPLIES, ids=[reply.what for reply in REPLIES])


def _response(text: str, finish: FinishReason = FinishReason.STOP) -> ChatResponse:
    return ChatResponse(AiMessage(text), finish, TokenUsage(1, 2, 3), "r1", "tiny")


@EVERY_REPLY
def test_a_reply_becomes_calls_or_an_answer(reply: Reply) -> None:
    response = reply.turn.decode(_response(reply.text, reply.finish))
    made = response.ai_message.tool_execution_requests
    assert response.ai_message.text == reply.expected_text
    assert [(call.name, call.arguments) for call in made] == list(reply.calls)
    assert [call.id for call in made] == [f"call_{number + 1}" for number in range(len(reply.calls))]
    assert not any(call.id_was_given for call in made)
    assert response.finish_reason is reply.expected_reason
    assert [notice.code for notice in response.notices] == list(reply.notices)
    assert (response.token_usage, response.id, response.model_name) == (TokenUsage(1, 2, 3), "r1", "tiny")


def test_a_forced_call_that_the_token_limit_cut_says_so() -> None:
    (notice,) = FORCED.decode(_response('{"tool":"now","argu', FinishReason.LENGTH)).notices
    assert notice.code == "schema_call_missing"
    assert "token limit" in notice.message


@pytest.mark.parametrize("text", _BROKEN)
def test_a_broken_reply_runs_nothing_and_stays_as_words(text: str) -> None:
    response = FREE.decode(_response(text))
    assert response.ai_message == AiMessage(text)
    assert [notice.code for notice in response.notices] == ["schema_reply_unreadable"]


def test_ids_go_on_above_those_of_the_conversation() -> None:
    earlier = AiMessage([ToolExecutionRequest("call_1", "now"), ToolExecutionRequest("call_2", "now")])
    turn = translate_request(request_for(NOW, messages=[UserMessage("?"), earlier]))
    assert turn.decode(_response('{"tool":"now"}')).ai_message.tool_execution_requests[0].id == "call_3"


def test_thinking_and_provider_state_stay_in_place_and_go_back() -> None:
    state = ProviderState("acme", {"signature": "s"})
    turn_state = ProviderState("acme", {"turn": 1})
    thinking = ThinkingContent("hm", ProviderState("acme", {"t": 1}))

    def reply(text: str) -> AiMessage:
        return AiMessage([thinking, TextContent(text, state)], provider_state=turn_state)

    answered = FREE.decode(ChatResponse(reply('{"answer":"22"}'))).ai_message
    assert answered == AiMessage([thinking, TextContent("22", state)], provider_state=turn_state)
    text = '{"calls":[{"tool":"now","arguments":{}}]}'
    called = FREE.decode(ChatResponse(reply(text))).ai_message
    assert called.contents[0] == thinking
    assert called.provider_state == turn_state
    again = translate_request(
        request_for(NOW, messages=[UserMessage("?"), called, ToolExecutionResultMessage("call_1", "now", "noon")])
    )
    assert again.request.messages[2] == reply(text)


def test_calls_that_a_model_makes_by_itself_are_left_alone() -> None:
    response = ChatResponse(AiMessage([TextContent("x"), ToolExecutionRequest("c1", "now", "{}")]))
    assert FREE.decode(response) is response


# -- streams -----------------------------------------------------------------------------------------------------


async def _stream(events: Iterable[ChatEvent]) -> AsyncIterator[ChatEvent]:
    for event in events:
        yield event


async def _read(turn: SchemaTurn, events: Iterable[ChatEvent]) -> list[ChatEvent]:
    return [event async for event in turn.decode_stream(_stream(events))]


def _joined(events: Iterable[ChatEvent]) -> list[Any]:
    """The events with deltas joined, so that streams of other cuts can be compared."""
    text, arguments, rest = "", dict[int, str](), list[Any]()
    for event in events:
        if isinstance(event, TextDelta):
            text += event.text
        elif isinstance(event, ToolCallDelta):
            arguments[event.index] = arguments.get(event.index, "") + event.arguments_delta
        else:
            rest.append(event)
    return [text, arguments, *rest]


def _cut(text: str, places: Iterable[int]) -> list[str]:
    at = sorted({place % (len(text) + 1) for place in places})
    return [text[start:end] for start, end in zip([0, *at], [*at, len(text)], strict=True)]


async def _any_cut(turn: SchemaTurn, text: str, finish: FinishReason, places: list[int]) -> None:
    response = _response(text, finish)
    pieces: list[ChatEvent] = [TextDelta(piece) for piece in _cut(text, places)]
    events = await _read(turn, [*pieces, UsageEvent(response.token_usage), ResponseDone(response)])
    expected = turn.decode(response)
    assert events[-1] == ResponseDone(expected)
    joined = _joined(events)
    assert joined[0] == (expected.ai_message.text or "")
    made = [event.request for event in events if isinstance(event, ToolCallReady)]
    assert made == list(expected.ai_message.tool_execution_requests)
    for index, request in enumerate(made):
        assert joined[1][index] == request.arguments
    whole = await _read(turn, [TextDelta(text), UsageEvent(response.token_usage), ResponseDone(response)])
    assert joined == _joined(whole)


@PROPERTY
@given(st.sampled_from(REPLIES), st.lists(st.integers(0, 500), max_size=12))
def test_any_cut_of_a_stream_gives_the_same_events_and_the_plain_response(reply: Reply, places: list[int]) -> None:
    asyncio.run(_any_cut(reply.turn, reply.text, reply.finish, places))


@PROPERTY
@given(st.sampled_from([reply.text for reply in REPLIES] + _BROKEN), st.data())
def test_any_damage_to_a_reply_reads_the_same_whole_and_streamed(text: str, data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(text)))
    damaged = text[:at] + data.draw(st.text('{}[]",:\\ua1 `', max_size=3)) + text[at + data.draw(st.integers(0, 3)) :]
    asyncio.run(_any_cut(FREE, damaged, FinishReason.STOP, [at]))


@EVERY_REPLY
async def test_a_stream_of_single_characters_gives_the_plain_response(reply: Reply) -> None:
    response = _response(reply.text, reply.finish)
    events = await _read(reply.turn, [*(TextDelta(char) for char in reply.text), ResponseDone(response)])
    assert events[-1] == ResponseDone(reply.turn.decode(response))
    assert _joined(events)[0] == (reply.expected_text or "")
    assert [event.code for event in events if isinstance(event, Notice)] == list(reply.notices)


async def test_the_answer_is_shown_while_it_is_made() -> None:
    seen: list[str] = []
    text = '{"answer":"It is\\n22."}'

    async def events() -> AsyncIterator[ChatEvent]:
        for position, char in enumerate(text):
            yield TextDelta(char)
            seen.append(f"{position}")
        yield ResponseDone(_response(text))

    shown = []
    async for event in FREE.decode_stream(events()):
        if isinstance(event, TextDelta):
            shown.append((event.text, len(seen)))
    assert "".join(piece for piece, _ in shown) == "It is\n22."
    assert shown[0] == ("I", text.index("I"))
    assert len(shown) == 9


async def test_arguments_are_shown_while_they_are_made_and_calls_when_the_reply_is_whole() -> None:
    text = '{"calls":[{"tool":"now","arguments":{"zone":"UTC"}}]}'
    events = await _read(FREE, [*(TextDelta(char) for char in text), ResponseDone(_response(text))])
    deltas = [event for event in events if isinstance(event, ToolCallDelta)]
    assert deltas[0] == ToolCallDelta(0, "call_1", "now", "")
    assert len(deltas) > 10
    assert not any(isinstance(event, TextDelta) for event in events)
    assert events[-2] == ToolCallReady(ToolExecutionRequest("call_1", "now", '{"zone":"UTC"}', False), 0)


async def test_other_events_pass_and_a_stream_without_deltas_is_made_up_for() -> None:
    thought, usage = ThinkingDelta("hm"), UsageEvent(TokenUsage(1))
    answer = await _read(FREE, [thought, usage, ResponseDone(_response('{"answer":"22"}'))])
    assert answer[:3] == [thought, usage, TextDelta("22")]
    text = '{"calls":[{"tool":"now","arguments":{"a":1}}]}'
    called = await _read(FREE, [ResponseDone(_response(text))])
    assert called[0] == ToolCallDelta(0, "call_1", "now", '{"a":1}')
    native = ChatResponse(AiMessage([ToolExecutionRequest("c1", "now", "{}")]))
    assert await _read(FREE, [ResponseDone(native)]) == [ResponseDone(native)]


async def test_a_stream_that_ends_early_is_an_error_with_the_text_so_far() -> None:
    with pytest.raises(StreamTruncatedError) as caught:
        await _read(FREE, [TextDelta('{"answer":"It is')])
    assert caught.value.partial_text == "It is"
