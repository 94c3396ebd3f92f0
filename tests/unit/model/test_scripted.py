"""The scripted model keeps the contract of `ChatModel`, and a script says what is wrong with it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    ConfigurationError,
    ContextLengthError,
    ModelError,
    OverloadedError,
    RateLimitError,
    ToolUseFailedError,
)
from agentforge.model.chat_model import ChatModel
from agentforge.model.citation import Citation
from agentforge.model.content import TextContent, ThinkingContent
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
from agentforge.model.messages import AiMessage, ToolExecutionResultMessage, UserMessage
from agentforge.model.profile import ModelProfile
from agentforge.model.request import ChatRequest, ChatRequestParameters
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.scripted import ScriptedChatModel, call, calls
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage

ASK = ChatRequest("What is the weather in Hangzhou?")
WEATHER = ToolExecutionRequest("call_1", "get_weather", '{"city":"杭州"}')


async def _ask(turn: Any, request: ChatRequest = ASK) -> ChatResponse:
    return await ScriptedChatModel([turn]).chat(request)


async def _events(model: ChatModel, request: ChatRequest = ASK) -> list[ChatEvent]:
    return [event async for event in model.stream(request)]


async def _answer(request: ChatRequest) -> str:
    return f"heard {len(request.messages)}"


TURNS: list[tuple[Any, AiMessage, FinishReason]] = [
    ("22 degrees.", AiMessage("22 degrees."), FinishReason.STOP),
    (AiMessage("Hello."), AiMessage("Hello."), FinishReason.STOP),
    (call("get_weather", city="杭州"), AiMessage([WEATHER]), FinishReason.TOOL_EXECUTION),
    (call("get_weather", {"city": "杭州"}), AiMessage([WEATHER]), FinishReason.TOOL_EXECUTION),
    (
        [call("now"), call("today", "{broken")],
        AiMessage([ToolExecutionRequest("call_1", "now", "{}"), ToolExecutionRequest("call_2", "today", "{broken")]),
        FinishReason.TOOL_EXECUTION,
    ),
    (
        calls(call("now"), text="One moment.", thinking="I need the time."),
        AiMessage(
            [
                ThinkingContent("I need the time."),
                TextContent("One moment."),
                ToolExecutionRequest("call_1", "now", "{}"),
            ]
        ),
        FinishReason.TOOL_EXECUTION,
    ),
    (
        ToolExecutionRequest("mine", "now", "{}"),
        AiMessage([ToolExecutionRequest("mine", "now", "{}")]),
        FinishReason.TOOL_EXECUTION,
    ),
    ({"calls": [{"name": "get_weather", "args": {"city": "杭州"}}]}, AiMessage([WEATHER]), FinishReason.TOOL_EXECUTION),
    (
        {"calls": [{"name": "now", "arguments": "not JSON", "id": "c9"}]},
        AiMessage([ToolExecutionRequest("c9", "now", "not JSON")]),
        FinishReason.TOOL_EXECUTION,
    ),
    ({"text": "Cut o", "finish_reason": "length"}, AiMessage("Cut o"), FinishReason.LENGTH),
    (lambda request: "from a function", AiMessage("from a function"), FinishReason.STOP),
    (_answer, AiMessage("heard 1"), FinishReason.STOP),
    (lambda request: _answer, AiMessage("heard 1"), FinishReason.STOP),
    (lambda request: {"text": "a mapping"}, AiMessage("a mapping"), FinishReason.STOP),
]


@pytest.mark.parametrize(("turn", "message", "finish"), TURNS)
async def test_every_form_of_a_turn_becomes_its_message(turn: Any, message: AiMessage, finish: FinishReason) -> None:
    response = await _ask(turn)
    assert response.ai_message == message
    assert response.finish_reason is finish


@pytest.mark.parametrize("turn", [turn for turn, _, _ in TURNS])
async def test_a_stream_ends_with_the_response_that_a_plain_call_gives(turn: Any) -> None:
    events = await _events(ScriptedChatModel([turn]))
    done = events[-1]
    assert isinstance(done, ResponseDone)
    assert done.response == await _ask(turn)
    assert isinstance(events[-2], UsageEvent)
    assert events[-2].usage == done.response.token_usage


async def test_the_pieces_of_a_stream_joined_are_the_whole_parts() -> None:
    turn = calls(call("get_weather", city="杭州"), text="Let me look that up.", thinking="The user wants weather.")
    events = await _events(ScriptedChatModel([turn]))
    texts = [event.text for event in events if isinstance(event, TextDelta)]
    thoughts = [event.text for event in events if isinstance(event, ThinkingDelta)]
    pieces = [event for event in events if isinstance(event, ToolCallDelta)]
    assert len(texts) > 1
    assert "".join(texts) == "Let me look that up."
    assert len(thoughts) > 1
    assert "".join(thoughts) == "The user wants weather."
    assert "".join(piece.arguments_delta for piece in pieces) == WEATHER.arguments
    assert {(piece.index, piece.id, piece.name) for piece in pieces} == {(0, "call_1", "get_weather")}
    assert [event.request for event in events if isinstance(event, ToolCallReady)] == [WEATHER]


async def test_a_chat_response_is_used_as_it_is() -> None:
    given = ChatResponse(
        AiMessage("No."),
        FinishReason.REFUSAL,
        TokenUsage(1, 2, 3),
        "r1",
        "tiny",
        "refused",
        (Notice("dropped", "seed was dropped"),),
        citations=(Citation("https://house.example", "House rules"),),
    )
    assert await _ask(given) == given
    events = await _events(ScriptedChatModel([given]))
    assert given.notices[0] in events
    assert events[-1] == ResponseDone(given)


async def test_made_up_ids_go_on_above_those_of_the_conversation() -> None:
    earlier = ToolExecutionRequest("call_7", "now", "{}")
    request = ChatRequest(
        [UserMessage("time?"), AiMessage([earlier]), ToolExecutionResultMessage("call_7", "now", "noon")]
    )
    response = await _ask([call("now"), call("today")], request)
    assert [made.id for made in response.ai_message.tool_execution_requests] == ["call_8", "call_9"]


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"input": 10, "output": 5}, TokenUsage(10, 5, 15)),
        ({"input": 10}, TokenUsage(10)),
        (TokenUsage(1, 2, 3), TokenUsage(1, 2, 3)),
        (
            {"input": 9, "output": 5, "total": 20, "cached_input": 3, "cache_write": 2, "reasoning": 1},
            TokenUsage(9, 5, 20, 3, 2, 1),
        ),
        (None, TokenUsage(8, 2, 10)),
    ],
)
async def test_usage_is_the_scripts_or_a_quarter_of_the_characters(usage: Any, expected: TokenUsage) -> None:
    response = await _ask({"text": "12345678", "usage": usage}, ChatRequest("a" * 31))
    assert response.token_usage == expected


async def test_the_model_records_every_request_and_names_itself() -> None:
    model = ScriptedChatModel(["a", "b"], profile=ModelProfile(name="tiny"))
    other = ChatRequest("Again?", ChatRequestParameters(model_name="chosen"))
    first, second = await model.chat(ASK), await model.chat(other)
    assert model.requests == [ASK, other]
    assert (first.model_name, second.model_name) == ("tiny", "chosen")
    assert (first.id, second.id) == ("scripted-1", "scripted-2")
    assert model.profile.name == "tiny"
    assert isinstance(model, ChatModel)


async def test_a_script_that_is_used_up_says_how_long_it_was() -> None:
    model = ScriptedChatModel(["a", "b"])
    await model.chat(ASK)
    await _events(model)
    with pytest.raises(ModelError, match=r"the script has 2 turns, and this is request 3") as caught:
        await model.chat(ASK)
    assert caught.value.code == "AF300"
    with pytest.raises(ModelError, match=r"request 4"):
        await _events(model)
    assert len(model.requests) == 4


async def test_a_repeating_script_starts_over() -> None:
    model = ScriptedChatModel(["a", "b"], repeat=True)
    assert [(await model.chat(ASK)).ai_message.text for _ in range(5)] == ["a", "b", "a", "b", "a"]


async def test_a_single_text_is_a_script_of_one_turn() -> None:
    model = ScriptedChatModel("abc")
    assert (await model.chat(ASK)).ai_message.text == "abc"
    assert model.turns_left == 0


async def test_concurrent_requests_get_one_turn_each() -> None:
    model = ScriptedChatModel([str(number) for number in range(50)])
    replies = await asyncio.gather(*(model.chat(ASK) for _ in range(50)))
    assert sorted(int(reply.ai_message.text or "") for reply in replies) == list(range(50))


async def test_an_exception_is_raised_plain_and_streamed() -> None:
    error = RateLimitError("slow down", retry_after=2.0)
    with pytest.raises(RateLimitError) as caught:
        await _ask(error)
    assert caught.value is error
    with pytest.raises(RateLimitError):
        await _events(ScriptedChatModel([error]))


async def test_a_failing_stream_shows_its_text_first() -> None:
    shown: list[ChatEvent] = []
    turn = {"text": "Half of ", "error": {"type": "overloaded", "message": "gone", "status": 503}}

    async def read() -> None:
        async for event in ScriptedChatModel([turn]).stream(ASK):
            shown.append(event)

    with pytest.raises(OverloadedError, match="gone"):
        await read()
    assert shown == [TextDelta("Half of ")]


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        ({}, ModelError),
        ({"type": "rate_limit", "retry_after": 1.5, "provider_code": "quota"}, RateLimitError),
        ({"type": "authentication", "status": 401}, AuthenticationError),
        ({"type": "context_length"}, ContextLengthError),
        ({"type": "tool_use_failed", "status": 400}, ToolUseFailedError),
        (ValueError("mine"), ValueError),
    ],
)
async def test_an_error_in_a_mapping_is_the_taxonomys(error: Any, expected: type[Exception]) -> None:
    with pytest.raises(expected) as caught:
        await _ask({"error": error})
    assert type(caught.value) is expected
    if isinstance(error, dict):
        for name in ("status", "retry_after", "provider_code"):
            assert getattr(caught.value, name) == error.get(name)


@pytest.mark.parametrize(
    ("turn", "says"),
    [
        (3, "int is not a turn"),
        (None, "NoneType is not a turn"),
        (b"bytes", "bytes is not a turn"),
        (RateLimitError, "RateLimitError is not a turn"),
        ({}, "the turn is empty"),
        ({"txt": "a"}, "Did you mean 'text'"),
        ({"nonsense": 1}, "Known keys: text, thinking"),
        ({"text": 3}, "a text is needed, not int"),
        ({"calls": {"name": "a"}}, "'calls' must be a list"),
        ({"calls": ["now"]}, "a call is a mapping, not str"),
        ({"calls": [{}]}, "the call has no name"),
        ({"calls": [{"name": "a", "args": {}, "arguments": ""}]}, "exclude each other"),
        ({"calls": [{"name": "a", "args": "x"}]}, "arguments are a mapping, not str"),
        ({"calls": [{"name": "a", "args": {"x": {1}}}]}, "the arguments are not JSON"),
        ({"calls": [{"name": "a", "args": {"x": float("nan")}}]}, "the arguments are not JSON"),
        ({"text": "a", "finish_reason": "done"}, "unknown finish reason 'done'"),
        ({"text": "a", "finish_reason": 3}, "a finish reason is a text"),
        ({"text": "a", "usage": 3}, "usage is a mapping"),
        ({"text": "a", "usage": {"input": -1}}, "'input' must be a whole number"),
        ({"text": "a", "usage": {"input": "3"}}, "'input' must be a whole number"),
        ({"text": "a", "usage": {"in": 1}}, "unknown key 'in'"),
        ({"error": "boom"}, "an error is a mapping"),
        ({"error": {"type": "boom"}}, "unknown error type 'boom'"),
        ({"error": {"status": "401"}}, "an HTTP status is a whole number"),
        ({"error": {"retry_after": "2"}}, "'retry_after' is a number of seconds"),
    ],
)
def test_a_mistake_in_a_script_is_found_when_it_is_read(turn: Any, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ScriptedChatModel(["fine", turn])
    assert says in str(caught.value)
    assert "turn 2" in str(caught.value)


@pytest.mark.parametrize(
    ("turn", "place"),
    [
        ({"text": 3}, "turn 2, text"),
        ({"calls": [{"name": "a"}, {"args": {}}]}, "turn 2, call 2"),
        ({"calls": [{"name": 3}]}, "turn 2, call 1, name"),
        ([{"name": "a", "args": [1]}], "turn 2, call 1, args"),
        ({"calls": 3}, "turn 2, calls"),
    ],
)
def test_places_are_counted_from_one(turn: Any, place: str) -> None:
    """Turns and calls alike, as in every other message about a script."""
    with pytest.raises(ConfigurationError) as caught:
        ScriptedChatModel(["fine", turn])
    assert caught.value.location == place


async def test_a_callable_must_come_to_an_answer() -> None:
    def again(request: ChatRequest) -> Any:
        return again

    with pytest.raises(ConfigurationError, match="keeps answering with another callable"):
        await _ask(again)


def test_raw_text_and_keywords_exclude_each_other() -> None:
    with pytest.raises(ConfigurationError, match="not both"):
        call("now", "{}", zone="UTC")
    with pytest.raises(ConfigurationError, match="not JSON"):
        call("now", zone={1})


def test_a_tools_own_arguments_may_have_any_name() -> None:
    assert call("order", id=7, name="x", arguments="y").arguments == '{"id":7,"name":"x","arguments":"y"}'


async def test_closing_is_noted_and_may_happen_twice() -> None:
    model = ScriptedChatModel([])
    assert not model.closed
    await model.aclose()
    await model.aclose()
    assert model.closed
    assert repr(model) == "ScriptedChatModel(0 turns, 0 requests)"


YAML = """\
# A weather conversation.
- thinking: I need the weather.
  calls:
    - {name: get_weather, args: {city: 杭州}}
- text: 22 degrees.
  usage: {input: 10, output: 5}
- error: {type: rate_limit, message: slow down, retry_after: 2}
"""


@pytest.mark.parametrize("form", ["text", "path", "name", "mapping"])
async def test_a_script_in_yaml_is_read_from_text_or_file(form: str, tmp_path: Path) -> None:
    file = tmp_path / "script.yaml"
    file.write_text(YAML, encoding="utf-8")
    source: Any = {
        "text": YAML,
        "path": file,
        "name": str(file),
        "mapping": "turns:\n" + "".join(f"  {line}\n" for line in YAML.splitlines()),
    }[form]
    model = ScriptedChatModel.from_yaml(source)
    assert (await model.chat(ASK)).ai_message == AiMessage([ThinkingContent("I need the weather."), WEATHER])
    assert (await model.chat(ASK)).token_usage == TokenUsage(10, 5, 15)
    with pytest.raises(RateLimitError, match="slow down"):
        await model.chat(ASK)


def test_a_text_of_several_lines_is_a_script_however_it_ends() -> None:
    assert ScriptedChatModel.from_yaml("- text: See\n- text: settings.yaml").turns_left == 2


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("- text: [a\n- b: {", ":2", "not valid YAML"),
        ("- text: a\n- text: b\n  cals: []\n", ":3", "Did you mean 'calls'"),
        ("- calls:\n  - name: a\n  - nam: b\n", ":3", "Did you mean 'name'"),
        ("- calls:\n  - name: a\n    args: {d: 2024-01-01}\n", ":3", "not JSON"),
        ("turns:\n- a\n- 3\n", ":3", "int is not a turn"),
        ("turns:\n- text: 3\n", ":2", "a text is needed, not int"),
        ("turn: []\n", ":1", "Did you mean 'turns'"),
        ("turns: 3\n", ":1", "a script is a list of turns"),
        ("text\n", ":1", "a script is a list of turns"),
        ("[]\n", ":1", "a script is a list of turns"),
        ("", "script", "a script is a list of turns"),
        ("- 2024-99-99\n", "script", "cannot be read"),
        ("- !!python/object:os.system {}\n", ":1", "not valid YAML"),
        ("[" * 5000, "script", "cannot be read"),
    ],
)
def test_a_malformed_script_is_refused_with_its_line(text: str, line: str, says: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        ScriptedChatModel.from_yaml(text)
    assert says in str(caught.value)
    assert line in (caught.value.location or "")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"cannot be read") as caught:
        ScriptedChatModel.from_yaml(tmp_path / "missing.yaml")
    assert "missing.yaml" in (caught.value.location or "")
    bad = tmp_path / "bad.yaml"
    bad.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        ScriptedChatModel.from_yaml(bad)
