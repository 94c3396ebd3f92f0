"""Histories on this wire: roles, results with their calls, signatures in their places, media, instructions."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import InvalidRequestError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
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
from agentforge_gemini.wire.joining import BEGINNING
from agentforge_gemini.wire.turns import NO_SIGNATURE
from plugins.gemini.tests.support import body, body_of, call_part, contents_of, model_on, notice_codes, own, plain

SIGNED = {"thoughtSignature": "c2ln"}
FOREIGN = ProviderState("openai/chat", {"x": 1})
DATA = "QUJD"
OLD = "gemini-2.5-flash"


def call(name: str = "get_weather", arguments: str = "{}", **state: Any) -> ToolExecutionRequest:
    return ToolExecutionRequest(f"id_{name}", name, arguments, provider_state=own(**state) if state else None)


def result(name: str = "get_weather", said: Any = "fine", **more: Any) -> ToolExecutionResultMessage:
    return ToolExecutionResultMessage(f"id_{name}", name, said, **more)


def parts_of(*parts: Any, **options: Any) -> list[dict[str, Any]]:
    """The model's parts of a turn with these."""
    message = AiMessage(list(parts))
    results = [ToolExecutionResultMessage(each.id, each.name, "ok") for each in message.tool_execution_requests]
    found: list[dict[str, Any]] = contents_of(message, *results, **options)[1]["parts"]
    return found


def test_contents_have_two_roles_and_neighbours_are_one() -> None:
    """Instructions stand apart, wherever they came."""
    sent = body_of(
        [
            SystemMessage("be brief"),
            UserMessage("a"),
            UserMessage("b"),
            AiMessage("c"),
            AiMessage("d"),
            SystemMessage("and kind"),
            UserMessage("e"),
        ]
    )
    assert sent["systemInstruction"] == {"parts": [{"text": "be brief"}, {"text": "and kind"}]}
    assert sent["contents"] == [
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}]},
        {"role": "model", "parts": [{"text": "c"}, {"text": "d"}]},
        {"role": "user", "parts": [{"text": "e"}]},
    ]


def test_a_conversation_that_begins_with_the_model_gets_a_line_before_it() -> None:
    [first, second, _] = body_of([AiMessage("Hello!"), UserMessage("q")])["contents"]
    assert first == {"role": "user", "parts": [{"text": BEGINNING}]}
    assert second["role"] == "model"


def test_empty_texts_and_turns_are_left_out() -> None:
    """White space says something; nothing says nothing."""
    sent = body_of([UserMessage(["", " "]), AiMessage(""), UserMessage("q")])["contents"]
    assert sent == [{"role": "user", "parts": [{"text": " "}, {"text": "q"}]}]
    with pytest.raises(InvalidRequestError, match="no message that can be sent"):
        body_of([SystemMessage("be brief"), UserMessage("")])


def test_results_stand_alone_in_the_order_of_the_calls() -> None:
    """As many as calls, in one content; what the user says next is another."""
    message = AiMessage([call("a"), call("b")])
    contents = contents_of(message, result("a", "one"), result("b", "two", is_error=True))
    assert contents[2] == {
        "role": "user",
        "parts": [
            {"functionResponse": {"name": "a", "response": {"output": "one"}}},
            {"functionResponse": {"name": "b", "response": {"error": "two"}}},
        ],
    }
    assert contents[3] == {"role": "user", "parts": [{"text": "and?"}]}


@pytest.mark.parametrize(
    ("said", "failed", "response"),
    [
        ("", False, {"output": ""}),
        ("", True, {"error": "The tool failed and said nothing about it."}),
        ('{"a": 1}', False, {"output": '{"a": 1}'}),
        (["a", "b"], False, {"output": "ab"}),
    ],
)
def test_a_result_is_an_object(said: Any, failed: bool, response: dict[str, Any]) -> None:
    contents = contents_of(AiMessage([call()]), result(said=said, is_error=failed))
    assert contents[2]["parts"] == [{"functionResponse": {"name": "get_weather", "response": response}}]


def test_an_id_that_the_vendor_gave_goes_back_and_no_other_does() -> None:
    """In the call and in its result; ours and those of other vendors stay here."""
    reply = plain(body(call_part(id="abc", args={}), call_part("get_time"))).ai_message
    one, other = reply.tool_execution_requests
    results = [ToolExecutionResultMessage(each.id, each.name, "ok") for each in (one, other)]
    contents = contents_of(reply, *results)
    assert contents[1]["parts"][0]["functionCall"]["id"] == "abc" == one.id
    assert [part["functionResponse"].get("id") for part in contents[2]["parts"]] == ["abc", None]
    assert "id" not in contents[1]["parts"][1]["functionCall"]
    foreign = AiMessage([ToolExecutionRequest("toolu_1", "get_weather", "{}")])
    answer = ToolExecutionResultMessage("toolu_1", "get_weather", "ok")
    assert "toolu_1" not in str(contents_of(foreign, answer))


def test_ids_that_repeat_are_the_vendors_business() -> None:
    """They go back as they came, and ours differ."""
    reply = plain(body(call_part(id="x"), call_part(id="x"))).ai_message
    assert len({each.id for each in reply.tool_execution_requests}) == 2
    results = [ToolExecutionResultMessage(each.id, each.name, "ok") for each in reply.tool_execution_requests]
    contents = contents_of(reply, *results)
    assert [part["functionResponse"]["id"] for part in contents[2]["parts"]] == ["x", "x"]


# -- signatures ------------------------------------------------------------------------------------


def test_signatures_go_back_at_their_parts() -> None:
    """On texts, on the first of parallel calls, on an empty text at the end; nothing is merged."""
    parts = [
        {"text": "I look."},
        {"text": " Really.", **SIGNED},
        call_part(args={"city": "Oslo"}, thoughtSignature="Zmlyc3Q="),
        call_part("get_time", args={}),
        {"text": "", "thoughtSignature": "bGFzdA=="},
    ]
    reply = plain(body(*parts)).ai_message
    assert parts_of(*reply.contents) == parts


def test_a_signature_is_for_one_model_at_one_place() -> None:
    """Another model of the same vendor, another region, another address: none gets it."""
    reply = plain(body({"text": "a", **SIGNED}, call_part(args={}, id="x", **SIGNED))).ai_message
    assert "c2ln" in str(parts_of(*reply.contents))
    for options in (
        {"model": "gemini-3.1-pro-preview"},
        {"vendor": "vertexai"},
        {"base_url": "https://proxy.example/v1beta"},
    ):
        sent = str(parts_of(*reply.contents, **options))
        assert "c2ln" not in sent and "'id'" not in sent, options


@pytest.mark.parametrize("model", ["gemini-3-pro-preview", "gemini-3.5-flash", "gemini-4-argon", "gemini-pro-latest"])
def test_calls_of_others_get_the_stand_in_where_signatures_are_wanted(model: str) -> None:
    """On the first call of each step, not on the others."""
    turn = [call("a"), call("b")]
    first, second = parts_of(*turn, model=model)
    assert first["thoughtSignature"] == NO_SIGNATURE
    assert "thoughtSignature" not in second
    steps = [UserMessage("q"), AiMessage([call("a")]), result("a"), AiMessage([call("b")]), result("b")]
    sent = [content["parts"][0] for content in body_of(steps, model=model)["contents"] if content["role"] == "model"]
    assert [part["thoughtSignature"] for part in sent] == [NO_SIGNATURE] * 2


@pytest.mark.parametrize("model", ["gemini-2.5-pro", "gemini-2.0-flash"])
def test_other_models_get_none(model: str) -> None:
    assert "thoughtSignature" not in str(parts_of(call("a"), call("b"), model=model))


def test_what_other_vendors_keep_stays_behind() -> None:
    """Their reasoning too."""
    sent = parts_of(ThinkingContent("hm", FOREIGN), TextContent("a", FOREIGN), call())
    assert sent == [{"text": "a"}, {**call_part(args={}), "thoughtSignature": NO_SIGNATURE}]


def test_thoughts_go_back_only_with_a_signature() -> None:
    """They are summaries for people, and would be paid for again."""
    signed = ThinkingContent("why", own(**SIGNED))
    assert parts_of(ThinkingContent("hm"), signed, TextContent("a")) == [
        {"text": "why", "thought": True, **SIGNED},
        {"text": "a"},
    ]


# -- calls -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "args"),
    [
        ("", {}),
        ('{"n": 1.0, "city": "Oslo"}', {"n": 1.0, "city": "Oslo"}),
        ("{bad", {"invalid_arguments": "{bad"}),
        ("[1]", {"invalid_arguments": "[1]"}),
    ],
)
def test_arguments_are_an_object(arguments: str, args: dict[str, Any]) -> None:
    """What is none stays visible to the model."""
    [part] = parts_of(call(arguments=arguments), model=OLD)
    assert part["functionCall"]["args"] == args


def test_names_that_the_rule_refuses_have_an_alias() -> None:
    """In calls and results; dots, colons and dashes are fine."""
    for name in ("files/read", "2fa", "w" * 65):
        contents = contents_of(AiMessage([call(name)]), result(name))
        alias = contents[1]["parts"][0]["functionCall"]["name"]
        assert alias != name and contents[2]["parts"][0]["functionResponse"]["name"] == alias
    assert parts_of(call("a.b:c-d"))[0]["functionCall"]["name"] == "a.b:c-d"


# -- parts of the vendor's own ---------------------------------------------------------------------


def test_parts_of_the_vendors_tools_are_kept_and_go_back() -> None:
    """Code, its result, calls of tools that the vendor runs: in place, as they came, and none of them is a call of
    ours."""
    parts = [
        {"executableCode": {"language": "PYTHON", "code": "print(1)"}, **SIGNED},
        {"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}},
        {"toolCall": {"toolType": "GOOGLE_SEARCH_WEB", "args": {"queries": ["x"]}, "id": "t1"}},
        {"toolResponse": {"toolType": "GOOGLE_SEARCH_WEB", "response": {}, "id": "t1"}},
        {"text": "one"},
        {"newerThing": {"a": [1]}},
    ]
    reply = plain(body(*parts)).ai_message
    assert not reply.has_tool_execution_requests and reply.text == "one"
    assert parts_of(*reply.contents) == parts
    assert parts_of(*reply.contents, model=OLD) == [{"text": "one"}]


def test_pictures_that_the_model_made_go_back_with_their_signatures() -> None:
    part = {"inlineData": {"mimeType": "image/png", "data": DATA}, **SIGNED}
    reply = plain(body({"text": "see"}, part)).ai_message
    assert reply.contents[1] == ImageContent(data=DATA)
    assert contents_of(reply)[1]["parts"] == [{"text": "see"}, part]
    assert contents_of(reply, model=OLD)[1]["parts"][1] == {"inlineData": part["inlineData"]}


# -- media -----------------------------------------------------------------------------------------

MEDIA: dict[str, tuple[Any, list[dict[str, Any]]]] = {
    "a picture": (ImageContent(data=DATA), [{"inlineData": {"mimeType": "image/png", "data": DATA}}]),
    "a photograph": (
        ImageContent(data=DATA, media_type="image/jpg"),
        [{"inlineData": {"mimeType": "image/jpeg", "data": DATA}}],
    ),
    "a picture by its address": (
        ImageContent(url="https://pics.example/a.webp?x=1"),
        [{"fileData": {"mimeType": "image/webp", "fileUri": "https://pics.example/a.webp?x=1"}}],
    ),
    "a data URL": (
        ImageContent(url="data:image/jpeg;base64,QUJD"),
        [{"inlineData": {"mimeType": "image/jpeg", "data": DATA}}],
    ),
    "a data URL without base64": (
        FileContent(url="data:text/plain,A%20B"),
        [{"inlineData": {"mimeType": "text/plain", "data": "QSBC"}}],
    ),
    "a bucket": (
        FileContent(url="gs://bucket/a.pdf"),
        [{"fileData": {"mimeType": "application/pdf", "fileUri": "gs://bucket/a.pdf"}}],
    ),
    "sound": (AudioContent(data=DATA), [{"inlineData": {"mimeType": "audio/wav", "data": DATA}}]),
    "a file with a name": (
        FileContent(data=DATA, name="a.pdf"),
        [{"text": "File a.pdf:"}, {"inlineData": {"mimeType": "application/pdf", "data": DATA}}],
    ),
    "JSON": (
        FileContent(data=DATA, media_type="application/json"),
        [{"inlineData": {"mimeType": "text/plain", "data": DATA}}],
    ),
}


@pytest.mark.parametrize(("part", "sent"), MEDIA.values(), ids=MEDIA)
def test_media_of_users(part: Any, sent: list[dict[str, Any]]) -> None:
    [content] = body_of([UserMessage(["see", part])])["contents"]
    assert content["parts"] == [{"text": "see"}, *sent]


@pytest.mark.parametrize(
    ("part", "feature"),
    [
        (ImageContent(data=DATA, media_type="image/gif"), "images"),
        (FileContent(data=DATA, media_type="application/zip"), "files"),
        (FileContent(data=""), "files"),
        (ImageContent(url="data:image/png;base64,"), "images"),
    ],
)
def test_media_that_the_vendor_does_not_take(part: Any, feature: str) -> None:
    """Refused with a way out, or a note where the policy says so."""
    with pytest.raises(
        UnsupportedFeatureError, match=f"does not support {feature} (of the type|without data)"
    ) as caught:
        body_of([UserMessage([part])])
    assert f"{feature}: drop" in str(caught.value.next_step)
    overrides = {"unsupported": {feature: "drop"}}
    [content] = body_of([UserMessage([part])], profile_overrides=overrides)["contents"]
    assert content["parts"] == [{"text": f"[{feature} left out: this model cannot take it]"}]


def test_media_of_results_stand_in_the_result_from_gemini_3_on() -> None:
    """What a result can hold; sound and addresses follow in the user's turn behind all results."""
    sound = AudioContent(data=DATA)
    said = [TextContent("see"), ImageContent(data=DATA), FileContent(data=DATA, name="a.pdf"), sound]
    contents = contents_of(AiMessage([call("a"), call("b")]), result("a", said), result("b"))
    first, second = contents[2]["parts"]
    assert first["functionResponse"] == {
        "name": "a",
        "response": {"output": "see\nFile a.pdf:"},
        "parts": [
            {"inlineData": {"mimeType": "image/png", "data": DATA}},
            {"inlineData": {"mimeType": "application/pdf", "data": DATA}},
        ],
    }
    assert "parts" not in second["functionResponse"]
    assert contents[3]["parts"] == [
        {"text": "Attached to the result of a:"},
        {"inlineData": {"mimeType": "audio/wav", "data": DATA}},
        {"text": "and?"},
    ]


def test_media_of_results_follow_them_before_gemini_3() -> None:
    said = [TextContent("see"), ImageContent(data=DATA)]
    contents = contents_of(AiMessage([call()]), result(said=said, is_error=True), model=OLD)
    assert contents[2]["parts"] == [{"functionResponse": {"name": "get_weather", "response": {"error": "see"}}}]
    assert contents[3]["parts"][1] == {"inlineData": {"mimeType": "image/png", "data": DATA}}


def test_media_of_results_that_the_vendor_does_not_take_leave_a_note() -> None:
    """A tool's result must not make every later request fail."""
    history: list[ChatMessage] = [
        UserMessage("q"),
        AiMessage([call()]),
        result(said=[ImageContent(data=DATA, media_type="image/gif")]),
    ]
    [_, _, answer] = body_of(history)["contents"]
    note = "[images left out: this model cannot take it]"
    assert answer["parts"][0]["functionResponse"]["response"] == {"output": note}
    assert notice_codes(history) == ["feature_dropped"]


def test_instructions_are_texts() -> None:
    with pytest.raises(UnsupportedFeatureError, match="images in instructions"):
        body_of([SystemMessage([ImageContent(data=DATA)]), UserMessage("q")])


def test_names_of_users_are_left_out_with_a_notice() -> None:
    assert notice_codes([UserMessage("q", name="Anna")]) == ["user_name_left_out"]


def test_a_history_that_grows_has_the_bytes_of_one_joined_anew() -> None:
    """Media behind results, empty turns and arguments that look like the wire among them."""
    odd = '{"role":"user","parts":[{"functionResponse":{"a":1}}]}'
    steps: list[list[ChatMessage]] = [
        [UserMessage("q")],
        [AiMessage([call(arguments=odd)]), result(said=[TextContent("x"), AudioContent(data=DATA)])],
        [UserMessage("and?")],
        [AiMessage([call(arguments=odd)]), result()],
        [AiMessage(""), UserMessage("")],
        [UserMessage("well?")],
        [AiMessage("a"), SystemMessage("s")],
        [AiMessage("b")],
        [UserMessage("end")],
    ]
    from agentforge.model import ChatRequest

    grown, history = model_on(), []
    for step in steps:
        history = [*history, *step]
        request = ChatRequest(history)
        assert grown.preview(request)[0] == model_on().preview(request)[0]
