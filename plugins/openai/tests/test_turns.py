"""What one message of ours becomes on the wire."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    ChatRequest,
    FileContent,
    ImageContent,
    ProviderState,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.provider import provider_id
from agentforge_openai.vendors import DEEPSEEK
from plugins.openai.tests.support import FakeTransport, exchange, message, model_on

ASK = UserMessage("q")
CALL = ToolExecutionRequest("c1", "look", '{"a": 1}')
OURS = "generic@llm.example/v1"


def sent(*messages: ChatMessage, vendor: str = "generic", **options: Any) -> list[dict[str, Any]]:
    body, _ = exchange(ChatRequest(messages), vendor, **options)
    found: list[dict[str, Any]] = body["messages"]
    return found


def wire_call(arguments: str = '{"a": 1}', **more: Any) -> dict[str, Any]:
    return {"id": "c1", "type": "function", "function": {"name": "look", "arguments": arguments}, **more}


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        pytest.param(SystemMessage("be brief"), {"role": "system", "content": "be brief"}, id="system"),
        pytest.param(UserMessage("hi"), {"role": "user", "content": "hi"}, id="user"),
        pytest.param(UserMessage("hi", name="ann"), {"role": "user", "content": "hi", "name": "ann"}, id="named user"),
        pytest.param(
            UserMessage([TextContent("a"), TextContent("b")]), {"role": "user", "content": "ab"}, id="texts are joined"
        ),
        pytest.param(AiMessage("hello"), {"role": "assistant", "content": "hello"}, id="assistant"),
        pytest.param(AiMessage(), {"role": "assistant", "content": ""}, id="an empty reply keeps its turn"),
        pytest.param(
            UserMessage([TextContent("see"), ImageContent(url="https://x.example/a.png", detail="low")]),
            {
                "role": "user",
                "content": [
                    {"type": "text", "text": "see"},
                    {"type": "image_url", "image_url": {"url": "https://x.example/a.png", "detail": "low"}},
                ],
            },
            id="image by url",
        ),
        pytest.param(
            UserMessage(ImageContent(data="QUJD", media_type="image/jpeg")),
            {
                "role": "user",
                "content": [{"type": "image_url", "image_url": {"url": "data:image/jpeg;base64,QUJD"}}],
            },
            id="image as data",
        ),
        pytest.param(
            UserMessage(AudioContent(data="QUJD", media_type="audio/mpeg")),
            {"role": "user", "content": [{"type": "input_audio", "input_audio": {"data": "QUJD", "format": "mp3"}}]},
            id="audio",
        ),
        pytest.param(
            UserMessage(FileContent(data="QUJD", name="a.pdf")),
            {
                "role": "user",
                "content": [
                    {
                        "type": "file",
                        "file": {"filename": "a.pdf", "file_data": "data:application/pdf;base64,QUJD"},
                    }
                ],
            },
            id="file",
        ),
    ],
)
def test_a_message_has_one_form(given: ChatMessage, expected: dict[str, Any]) -> None:
    assert sent(ASK, given, ASK)[1] == expected


@pytest.mark.parametrize(
    ("part", "vendor", "feature"),
    [
        (ImageContent(data="QUJD"), "deepseek", "images"),
        (ImageContent(url="https://x.example/a.png"), "ollama", "image_urls"),
        (AudioContent(data="QUJD"), "ollama", "audio"),
        (AudioContent(url="https://x.example/a.wav"), "openai", "audio_urls"),
        (FileContent(data="QUJD"), "dashscope", "files"),
        (FileContent(url="https://x.example/a.pdf"), "openai", "file_urls"),
        (AudioContent(data="QUJD", media_type="audio/ogg"), "openai", "audio"),
        (AudioContent(data="QUJD", media_type="audio/x-m4a"), "azure", "audio"),
    ],
)
def test_media_that_the_endpoint_cannot_take_are_refused_or_noted(part: Any, vendor: str, feature: str) -> None:
    """By default nothing is sent; with ``drop`` a note stands in its place and the response says so."""
    request = ChatRequest([UserMessage([TextContent("see"), part])])
    with pytest.raises(UnsupportedFeatureError, match=feature):
        exchange(request, vendor)
    body, response = exchange(request, vendor, profile_overrides={"unsupported": {feature: "drop"}})
    assert body["messages"][0]["content"][1]["type"] == "text"
    assert feature in body["messages"][0]["content"][1]["text"]
    assert [notice.details["feature"] for notice in response.notices] == [feature]


def test_media_in_a_system_message_are_refused() -> None:
    """The wire takes texts only there; dropping instructions is no choice."""
    with pytest.raises(UnsupportedFeatureError, match="system_media") as caught:
        sent(SystemMessage([TextContent("see"), ImageContent(data="QUJD")]), ASK)
    assert "user message" in (caught.value.next_step or "")
    assert sent(SystemMessage([TextContent("a"), TextContent("b")]), ASK)[0] == {"role": "system", "content": "ab"}


def test_sound_of_any_type_goes_where_the_vendor_names_none() -> None:
    (asked,) = sent(UserMessage(AudioContent(data="QUJD", media_type="audio/ogg")))
    assert asked["content"][0]["input_audio"]["format"] == "ogg"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a": 1}', '{"a": 1}', id="valid text stays as it was"),
        pytest.param("", "{}", id="empty text is an empty object"),
        pytest.param("  ", "{}", id="blank text is an empty object"),
        pytest.param('{"a": 1,}', '{"a":1}', id="what was read with a repair is sent as it was read"),
        pytest.param('{"city": ', '{"invalid_arguments":"{\\"city\\": "}', id="a fragment stays visible"),
        pytest.param("[1]", '{"invalid_arguments":"[1]"}', id="a list is no object"),
        pytest.param('{"a": NaN}', '{"invalid_arguments":"{\\"a\\": NaN}"}', id="NaN is no JSON"),
    ],
)
def test_replayed_arguments_are_always_an_object(text: str, expected: str) -> None:
    """One broken call must not make every later request fail (case MO-30)."""
    call = ToolExecutionRequest("c1", "look", text)
    messages = sent(ASK, AiMessage([call]), ToolExecutionResultMessage("c1", "look", "r"))
    arguments = messages[1]["tool_calls"][0]["function"]["arguments"]
    assert arguments == expected
    assert isinstance(json.loads(arguments), dict)


def test_calls_go_back_complete_beside_their_text() -> None:
    messages = sent(ASK, AiMessage([TextContent("wait"), CALL]), ToolExecutionResultMessage("c1", "look", "found"))
    assert messages[1:] == [
        {"role": "assistant", "content": "wait", "tool_calls": [wire_call()]},
        {"role": "tool", "tool_call_id": "c1", "content": "found"},
    ]


def test_the_content_beside_calls_without_text_is_null() -> None:
    messages = sent(ASK, AiMessage([CALL]), ToolExecutionResultMessage("c1", "look", "found"))
    assert messages[1] == {"role": "assistant", "content": None, "tool_calls": [wire_call()]}


@pytest.mark.parametrize(
    ("text", "is_error", "expected"),
    [
        ("fine", False, "fine"),
        ("no such city", True, "Error: no such city"),
        ("Error: no such city", True, "Error: no such city"),
        ("HTTPError 500 from the server", True, "HTTPError 500 from the server"),
        ("an error, but not ours", False, "an error, but not ours"),
    ],
)
def test_an_error_result_says_so_in_its_text(text: str, is_error: bool, expected: str) -> None:
    """The wire has no flag, and a text that says it already is not marked twice."""
    result = ToolExecutionResultMessage("c1", "look", text, is_error=is_error)
    assert sent(ASK, AiMessage([CALL]), result)[2]["content"] == expected


def test_media_of_results_follow_after_the_last_result_and_name_their_call() -> None:
    """A user message between two results would be refused, and so would media in a tool message."""
    second = ToolExecutionRequest("c2", "look", "{}")
    messages = sent(
        ASK,
        AiMessage([CALL, second]),
        ToolExecutionResultMessage("c1", "look", [TextContent("a map"), ImageContent(data="QUJD")]),
        ToolExecutionResultMessage("c2", "look", ImageContent(data="REVG")),
        UserMessage("and now?"),
    )
    assert [entry["role"] for entry in messages] == ["user", "assistant", "tool", "tool", "user", "user", "user"]
    assert messages[2]["content"] == "a map"
    assert messages[3]["content"] == "The result follows in the next user message."
    assert messages[4]["content"] == [
        {"type": "text", "text": "Attached to the result of look (call c1):"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,QUJD"}},
    ]
    assert "c2" in messages[5]["content"][0]["text"]


def test_media_of_an_earlier_reply_are_left_out_with_a_notice() -> None:
    reply = AiMessage([TextContent("here"), ImageContent(data="QUJD")])
    body, response = exchange(ChatRequest([ASK, reply, ASK]))
    assert body["messages"][1] == {"role": "assistant", "content": "here"}
    assert [notice.code for notice in response.notices] == ["assistant_media_left_out"]


def test_a_refusal_goes_back_as_one_and_only_to_its_provider() -> None:
    def refusal(provider: str) -> AiMessage:
        return AiMessage([TextContent("I will not", ProviderState(provider, {"refusal": True}))])

    assert sent(ASK, refusal(OURS), ASK)[1] == {"role": "assistant", "content": None, "refusal": "I will not"}
    assert sent(ASK, refusal("elsewhere"), ASK)[1] == {"role": "assistant", "content": "I will not"}


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning_details"])
def test_reasoning_is_replayed_verbatim_to_its_provider_only(field: str) -> None:
    value: Any = "because" if field == "reasoning_content" else [{"type": "reasoning.text", "signature": "s"}]

    def turn(provider: str) -> AiMessage:
        return AiMessage([ThinkingContent("because", ProviderState(provider, {field: value})), TextContent("so")])

    assert sent(ASK, turn(OURS), ASK)[1] == {"role": "assistant", field: value, "content": "so"}
    assert sent(ASK, turn("elsewhere"), ASK)[1] == {"role": "assistant", "content": "so"}
    assert sent(ASK, turn(OURS), ASK, vendor="openai")[1] == {"role": "assistant", "content": "so"}


@pytest.mark.parametrize(
    ("to", "is_the_same"),
    [
        ("https://llm.example/v1/", True),
        ("https://LLM.example/v1", True),
        ("https://other.example/v1", False),
        ("https://llm.example:8443/v1", False),
        ("https://llm.example/anthropic", False),
        ("http://llm.example/v1", False),
    ],
)
def test_one_address_is_one_provider(to: str, is_the_same: bool) -> None:
    """A gateway has several providers behind one host."""
    answer = message(content="so", reasoning_content="because", extra_content={"s": 1})
    _, response = exchange(ChatRequest([ASK]), answer=answer)
    (_, replayed) = sent(ASK, response.ai_message, base_url=to)
    assert ("reasoning_content" in replayed, "extra_content" in replayed) == (is_the_same, is_the_same)


def test_the_paths_of_a_vendors_own_host_are_one_provider() -> None:
    assert provider_id(DEEPSEEK, "https://api.deepseek.com/beta") == "deepseek"
    assert provider_id(DEEPSEEK, "http://api.deepseek.com") == "deepseek@http://api.deepseek.com"


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["c1", "c2"], ["c1", "c2"]),
        (["c1", "c1", "c1"], ["c1", "c1-2", "c1-3"]),
        (["", ""], ["call-1", "call-2"]),
        (["", "call-1", "x", "x"], ["call-5", "call-1", "x", "x-4"]),
        ([""], ["call-1"]),
    ],
)
def test_calls_of_one_turn_have_ids_of_their_own_and_so_have_their_results(ids: list[str], expected: list[str]) -> None:
    """Histories pair by position; servers by id."""
    calls = [ToolExecutionRequest(identity, "look", "{}") for identity in ids]
    results: list[ChatMessage] = [ToolExecutionResultMessage(one, "look", str(n)) for n, one in enumerate(ids)]
    transport = FakeTransport()
    model = model_on(transport)
    turn = [ASK, AiMessage([TextContent("so"), *calls]), *results]
    for history in (turn, [*turn, AiMessage("x"), ASK], [SystemMessage("s"), *turn]):
        asyncio.run(model.chat(ChatRequest(history)))
    for body in transport.bodies:
        asked = next(entry for entry in body["messages"] if "tool_calls" in entry)
        assert [call["id"] for call in asked["tool_calls"]] == expected
        answered = [entry for entry in body["messages"] if entry["role"] == "tool"]
        assert [(entry["tool_call_id"], entry["content"]) for entry in answered] == [
            (identity, str(n)) for n, identity in enumerate(expected)
        ]


def test_signatures_of_calls_and_messages_go_back_where_the_row_keeps_them() -> None:
    extra: dict[str, Any] = {"extra_content": {"google": {"thought_signature": "sig"}}}

    def turn(provider: str) -> AiMessage:
        state = ProviderState(provider, extra)
        return AiMessage([ToolExecutionRequest("c1", "look", '{"a": 1}', True, state)], provider_state=state)

    result = ToolExecutionResultMessage("c1", "look", "r")
    kept = sent(ASK, turn(OURS), result)[1]
    assert kept == {"role": "assistant", "content": None, "tool_calls": [wire_call(**extra)], **extra}
    assert sent(ASK, turn("elsewhere"), result)[1] == {
        "role": "assistant",
        "content": None,
        "tool_calls": [wire_call()],
    }


def test_text_with_half_a_surrogate_pair_is_sent_as_valid_utf_8() -> None:
    """Whole pairs become their character, halves the replacement character."""
    assert sent(UserMessage("a\ud83d b\ud83d\ude00"))[0]["content"] == "a\ufffd b\U0001f600"


async def test_text_is_sent_as_utf_8_not_as_escapes() -> None:
    transport = FakeTransport()
    await model_on(transport).chat(ChatRequest("杭州"))
    assert "杭州".encode() in transport.requests[0].content
