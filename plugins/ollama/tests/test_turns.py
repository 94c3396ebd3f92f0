"""Each message of ours as one message on the wire."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    Content,
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
from plugins.ollama.tests.support import OWNER, body_of, call, notices_of, plain, reply

OWN = ProviderState(OWNER, {"field": "thinking"})


def sent(*messages: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    return list(body_of(messages, **options)["messages"])


def asked(*calls: ToolExecutionRequest, result: str = "ok") -> Sequence[ChatMessage]:
    return [AiMessage(list(calls)), *(ToolExecutionResultMessage(c.id, c.name, result) for c in calls)]


def test_texts_have_their_roles_and_their_places() -> None:
    """System messages stay where they are, neighbours of one role stay apart."""
    messages = [
        SystemMessage("be brief"),
        UserMessage("q"),
        UserMessage([TextContent("a"), TextContent("b")]),
        AiMessage("r"),
        SystemMessage("be briefer"),
        UserMessage(""),
    ]
    assert sent(*messages) == [
        {"role": "system", "content": "be brief"},
        {"role": "user", "content": "q"},
        {"role": "user", "content": "ab"},
        {"role": "assistant", "content": "r"},
        {"role": "system", "content": "be briefer"},
        {"role": "user", "content": ""},
    ]


def test_a_round_with_calls_goes_back_whole() -> None:
    """Arguments are objects, each call has its id and its number, each result its call's id and the tool's name."""
    first = ToolExecutionRequest("call_1", "get_weather", '{"city": "杭州", "n": 12345678901234567890}')
    second = ToolExecutionRequest("call_2", "get_time", "")
    turn = AiMessage([ThinkingContent("hm", OWN), TextContent("I look."), first, second])
    results = [
        ToolExecutionResultMessage("call_1", "get_weather", "rain"),
        ToolExecutionResultMessage("call_2", "get_time", "no clock", is_error=True),
    ]
    assert sent(UserMessage("q"), turn, *results)[1:] == [
        {
            "role": "assistant",
            "content": "I look.",
            "thinking": "hm",
            "tool_calls": [
                {
                    "id": "call_1",
                    "function": {
                        "index": 0,
                        "name": "get_weather",
                        "arguments": {"city": "杭州", "n": 12345678901234567890},
                    },
                },
                {"id": "call_2", "function": {"index": 1, "name": "get_time", "arguments": {}}},
            ],
        },
        {"role": "tool", "tool_name": "get_weather", "tool_call_id": "call_1", "content": "rain"},
        {"role": "tool", "tool_name": "get_time", "tool_call_id": "call_2", "content": "Error: no clock"},
    ]


@pytest.mark.parametrize(
    ("text", "arguments"),
    [
        ("", {}),
        ("{}", {}),
        ('{"a": 1}', {"a": 1}),
        ('{"city": "Ro', {"invalid_arguments": '{"city": "Ro'}),
        ("[1]", {"invalid_arguments": "[1]"}),
        ('"a"', {"invalid_arguments": '"a"'}),
        ('{"n": NaN}', {"invalid_arguments": '{"n": NaN}'}),
    ],
)
def test_arguments_are_always_an_object(text: str, arguments: dict[str, Any]) -> None:
    """A text is refused by the server; what is none stays readable for the model."""
    [turn, _] = sent(*asked(ToolExecutionRequest("c", "a", text)))
    assert turn["tool_calls"][0]["function"]["arguments"] == arguments


@pytest.mark.parametrize(
    ("said", "content"),
    [
        ("no such city", "Error: no such city"),
        ("", "Error: "),
        ("An error occurred", "An error occurred"),
        ("ERROR 5", "ERROR 5"),
        ("x" * 80 + " error", "Error: " + "x" * 80 + " error"),
    ],
)
def test_an_error_says_so_in_its_text(said: str, content: str) -> None:
    """There is no flag for it on this wire."""
    result = ToolExecutionResultMessage("c", "a", said, is_error=True)
    assert sent(AiMessage([ToolExecutionRequest("c", "a", "{}")]), result)[1]["content"] == content


def test_calls_without_ids_and_ids_that_repeat_differ_in_the_whole_request() -> None:
    """Models' templates look a result's call up by its id; the results follow."""
    rounds = [*asked(ToolExecutionRequest("c", "a", "{}")), *asked(ToolExecutionRequest("c", "a", "{}"))]
    nameless = asked(ToolExecutionRequest("", "a", "{}"), ToolExecutionRequest("", "b", "{}"))
    messages = sent(*rounds, *nameless)
    ids = [one["id"] for message in messages for one in message.get("tool_calls", ())]
    assert len(set(ids)) == len(ids) == 4 and "" not in ids
    assert [message["tool_call_id"] for message in messages if message["role"] == "tool"] == ids


def test_a_reply_of_its_own_goes_back_as_it_came() -> None:
    """Thinking, text and calls with their ids."""
    message = reply(
        "I look.", thinking="hm", tool_calls=[call(id="call_1"), call("get_time", {}, index=1, id="call_2")]
    )
    turn = plain(message).ai_message
    results = [ToolExecutionResultMessage(c.id, c.name, "ok") for c in turn.tool_execution_requests]
    assert sent(UserMessage("q"), turn, *results)[1] == message["message"]


@pytest.mark.parametrize(
    ("state", "options", "goes"),
    [
        (OWN, {}, True),
        (ProviderState("ollama@http://127.0.0.1:11434/chat", {}), {}, False),
        (ProviderState("ollama", {"reasoning": "hm"}), {}, False),
        (None, {}, False),
        (OWN, {"profile_overrides": {"replay": []}}, False),
        (OWN, {"vendor": "ollama-cloud"}, False),
    ],
    ids=["own", "another server", "its OpenAI form", "nobody's", "switched off", "the cloud"],
)
def test_thinking_goes_back_to_the_server_that_made_it(
    state: ProviderState | None, options: dict[str, Any], goes: bool
) -> None:
    turn = AiMessage([ThinkingContent("h", state), ThinkingContent("m", state), TextContent("a")])
    wire = {"role": "assistant", "content": "a", **({"thinking": "hm"} if goes else {})}
    assert sent(UserMessage("q"), turn, UserMessage("r"), **options)[1] == wire


def test_names_outside_the_rule_have_an_alias_everywhere() -> None:
    [turn, result] = sent(*asked(ToolExecutionRequest("c", "files/read", "{}")))
    alias = turn["tool_calls"][0]["function"]["name"]
    assert alias.startswith("files_read_") and result["tool_name"] == alias


def test_the_name_of_a_user_is_left_out_with_a_notice() -> None:
    message = UserMessage("q", name="anna")
    assert sent(message) == [{"role": "user", "content": "q"}]
    assert notices_of([message]) == ["user_name_left_out"]


# -- media ----------------------------------------------------------------------------------------


def test_images_stand_beside_the_text() -> None:
    """As bare base64, in their order, whatever kind of image; those of a result in its own message."""
    parts = [
        TextContent("see"),
        ImageContent(data="QUJD"),
        ImageContent(url="data:image/webp;base64,REVG"),
        ImageContent(url="data:image/webp;base64,QQ%3D%3D"),
        ImageContent(url="data:image/svg+xml,%3Csvg/%3E"),
        TextContent("and say"),
    ]
    assert sent(UserMessage(parts)) == [
        {"role": "user", "content": "see\nand say", "images": ["QUJD", "REVG", "QQ==", "PHN2Zy8+"]}
    ]
    result = ToolExecutionResultMessage("c", "a", [ImageContent(data="QUJD")])
    assert sent(AiMessage([ToolExecutionRequest("c", "a", "{}")]), result)[1] == {
        "role": "tool",
        "tool_name": "a",
        "tool_call_id": "c",
        "content": "",
        "images": ["QUJD"],
    }


MEDIA = {
    "image_urls": ImageContent(url="https://pics.example/a.png"),
    "audio": AudioContent(data="QUJD"),
    "files": FileContent(data="QUJD", name="a.pdf"),
}


@pytest.mark.parametrize("feature", MEDIA)
def test_other_media_are_refused_or_become_a_note(feature: str) -> None:
    """In a user's message by the policy; in a result always a note, as nobody can foresee what a tool returns."""
    asking: Sequence[Content] = [TextContent("see"), MEDIA[feature]]
    with pytest.raises(UnsupportedFeatureError) as caught:
        sent(UserMessage(asking))
    assert caught.value.details["feature"] == feature and caught.value.next_step
    note = f"see\n[{feature} left out: this model cannot take it]"
    lenient = {"profile_overrides": {"unsupported": {feature: "drop"}}}
    assert sent(UserMessage(asking), **lenient)[0]["content"] == note
    assert notices_of([UserMessage(asking)], **lenient) == ["feature_dropped"]
    result = ToolExecutionResultMessage("c", "a", asking)
    assert sent(AiMessage([ToolExecutionRequest("c", "a", "{}")]), result)[1]["content"] == note


def test_a_model_without_images_can_be_said_to_be_one() -> None:
    with pytest.raises(UnsupportedFeatureError, match="does not support images"):
        sent(UserMessage([ImageContent(data="QUJD")]), profile_overrides={"images": False})


def test_a_model_that_hears_takes_sound_where_others_take_images() -> None:
    [message] = sent(UserMessage([TextContent("hear"), AudioContent(data="QUJD")]), profile_overrides={"audio": True})
    assert message["images"] == ["QUJD"]
    with pytest.raises(UnsupportedFeatureError, match="audio by URL"):
        sent(UserMessage([AudioContent(url="https://a.example/a.wav")]), profile_overrides={"audio": True})


def test_media_in_instructions_are_refused() -> None:
    with pytest.raises(UnsupportedFeatureError, match="media in a system message") as caught:
        sent(SystemMessage([TextContent("see"), ImageContent(data="QUJD")]), UserMessage("q"))
    assert caught.value.next_step


def test_media_of_an_earlier_reply_are_left_out_with_a_notice() -> None:
    turn = AiMessage([TextContent("a"), ImageContent(data="QUJD")])
    messages = [UserMessage("q"), turn, UserMessage("r")]
    assert sent(*messages)[1] == {"role": "assistant", "content": "a"}
    assert notices_of(messages) == ["assistant_media_left_out"]
