"""Messages are frozen values whose parts keep their order."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import pytest

from agentforge.errors import RunStateError, ToolArgumentsError
from agentforge.model.content import (
    AudioContent,
    FileContent,
    ImageContent,
    ProviderState,
    TextContent,
    ThinkingContent,
)
from agentforge.model.messages import (
    AiMessage,
    Message,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.tool_call import ToolExecutionRequest, new_call_id
from agentforge.model.usage import TokenUsage

IMAGE = ImageContent(url="http://127.0.0.1/a.png")
NOW = ToolExecutionRequest("c1", "now", "{}")


@pytest.mark.parametrize(
    "make", [SystemMessage, UserMessage, lambda given: ToolExecutionResultMessage("c1", "now", given)]
)
@pytest.mark.parametrize(
    ("given", "contents", "text"),
    [
        ("Hello", (TextContent("Hello"),), "Hello"),
        ("", (TextContent(""),), ""),
        (TextContent("Hello"), (TextContent("Hello"),), "Hello"),
        (IMAGE, (IMAGE,), ""),
        ([TextContent("a"), IMAGE, TextContent("b")], (TextContent("a"), IMAGE, TextContent("b")), "ab"),
        ((TextContent("a"),), (TextContent("a"),), "a"),
        ([], (), ""),
    ],
)
def test_contents_are_a_text_a_part_or_parts(make: Any, given: Any, contents: tuple[Any, ...], text: str) -> None:
    message = make(given)
    assert message.contents == contents
    assert message.text == text


@pytest.mark.parametrize(
    ("message", "text", "thinking", "calls"),
    [
        (AiMessage(), None, None, ()),
        (AiMessage(""), "", None, ()),
        (AiMessage("Hello"), "Hello", None, ()),
        (AiMessage([NOW]), None, None, (NOW,)),
        (AiMessage(tool_execution_requests=[NOW]), None, None, (NOW,)),
        (
            AiMessage([ThinkingContent("a"), TextContent("x"), NOW, ThinkingContent("b"), TextContent("y")]),
            "xy",
            "ab",
            (NOW,),
        ),
    ],
)
def test_a_models_turn_tells_its_text_thinking_and_calls(
    message: AiMessage, text: str | None, thinking: str | None, calls: tuple[ToolExecutionRequest, ...]
) -> None:
    assert message.text == text
    assert message.thinking == thinking
    assert message.tool_execution_requests == calls
    assert message.has_tool_execution_requests == bool(calls)


def test_calls_given_apart_come_last_and_parts_keep_their_order() -> None:
    message = AiMessage([NOW, TextContent("x")], tool_execution_requests=[NOW])
    assert message.contents == (NOW, TextContent("x"), NOW)
    assert message.tool_execution_requests == (NOW, NOW)
    assert AiMessage("x", tool_execution_requests=[NOW]) == AiMessage([TextContent("x"), NOW])


def test_provider_state_is_part_of_a_turns_identity() -> None:
    state = ProviderState("acme", {"signature": "s"})
    assert AiMessage("a", provider_state=state) != AiMessage("a")
    assert AiMessage("a", provider_state=state) == AiMessage(
        "a", provider_state=ProviderState("acme", {"signature": "s"})
    )
    assert hash(AiMessage("a", provider_state=state)) == hash(AiMessage("a", provider_state=state))


@pytest.mark.parametrize(
    "message",
    [SystemMessage("a"), UserMessage("a"), AiMessage("a"), ToolExecutionResultMessage("c", "t", "a"), NOW],
)
def test_messages_are_frozen_and_hashable(message: Any) -> None:
    field = dataclasses.fields(message)[0].name
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(message, field, "other")
    assert not hasattr(message, "__dict__")
    assert isinstance(hash(message), int)


@pytest.mark.parametrize("kind", [ImageContent, AudioContent, FileContent])
def test_media_have_exactly_one_source(kind: Any) -> None:
    with pytest.raises(ValueError, match="exactly one of url and data"):
        kind()
    with pytest.raises(ValueError, match="exactly one of url and data"):
        kind(url="https://a.example/a", data="AAAA")
    assert kind(url="https://a.example/a").data is None
    assert kind(data="AAAA").url is None


def test_a_result_keeps_its_notes_for_the_application() -> None:
    message = ToolExecutionResultMessage("c1", "now", "noon", is_error=True, attributes={"rows": 3})
    assert (message.id, message.tool_name, message.is_error, message.attributes) == ("c1", "now", True, {"rows": 3})
    assert message != ToolExecutionResultMessage("c1", "now", "noon", is_error=True)
    assert ToolExecutionResultMessage("c1", "now", "noon").attributes == {}


def test_a_users_name_tells_users_apart() -> None:
    assert UserMessage("a", name="ann") != UserMessage("a")
    assert UserMessage("a").name is None


def test_a_call_parses_its_arguments_and_can_be_given_others() -> None:
    request = ToolExecutionRequest("c1", "now", '{"zone":"UTC"}')
    assert request.arguments_as_map() == {"zone": "UTC"}
    assert request.with_arguments("").arguments_as_map() == {}
    assert request.with_arguments("").id == "c1"
    with pytest.raises(ToolArgumentsError):
        request.with_arguments("{broken").arguments_as_map()


def test_made_up_call_ids_do_not_repeat() -> None:
    ids = {new_call_id() for _ in range(1000)}
    assert len(ids) == 1000
    assert all(id_.startswith("call_") and len(id_) == 29 for id_ in ids)


@pytest.mark.parametrize(
    ("a", "b", "total"),
    [
        (TokenUsage(), TokenUsage(), TokenUsage()),
        (TokenUsage(1), TokenUsage(), TokenUsage(1)),
        (TokenUsage(), TokenUsage(1), TokenUsage(1)),
        (TokenUsage(1, 2, 3, 4, 5, 6), TokenUsage(10, 20, 30, 40, 50, 60), TokenUsage(11, 22, 33, 44, 55, 66)),
        (TokenUsage(0), TokenUsage(None, 0), TokenUsage(0, 0)),
    ],
)
def test_usage_adds_up_and_unknown_stays_unknown(a: TokenUsage, b: TokenUsage, total: TokenUsage) -> None:
    assert a + b == total


def test_the_providers_own_usage_is_kept_but_neither_compared_nor_added() -> None:
    usage = TokenUsage(1, raw={"prompt_tokens": 1})
    assert usage == TokenUsage(1)
    assert usage.raw == {"prompt_tokens": 1}
    assert (usage + TokenUsage()).raw is None


MESSAGES = [
    SystemMessage("be brief"),
    UserMessage("hello", name="ann"),
    AiMessage("hi", tool_execution_requests=[ToolExecutionRequest("c1", "now", "{}")]),
    ToolExecutionResultMessage("c1", "now", "10:00", is_error=True, attributes={"n": 1}),
]


@pytest.mark.parametrize("message", MESSAGES)
def test_every_message_is_written_as_json_and_read_back_equal(message: Any) -> None:
    data = json.loads(json.dumps(message.to_json()))
    assert type(message).from_json(data) == message
    assert Message.from_json(data) == message


def test_a_message_of_another_kind_is_refused() -> None:
    with pytest.raises(RunStateError, match="a SystemMessage was expected, a UserMessage came"):
        SystemMessage.from_json(UserMessage("hello").to_json())
