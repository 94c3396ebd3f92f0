"""What a request becomes in this form: messages, parameters, tools."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    ChatRequestParameters,
    Content,
    FileContent,
    ImageContent,
    ProviderState,
    ResponseFormat,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.dashscope.tests.support import OWNER, body_of, exchange, messages_of, notice_codes, parameters_of
from tests.support.wire_exchange import TIME, WEATHER

ASK = UserMessage("q")
CALL = ToolExecutionRequest("c1", "get_weather", '{"city": "Oslo"}')
WIRE_CALL = {
    "id": "c1",
    "type": "function",
    "function": {"name": "get_weather", "arguments": '{"city": "Oslo"}'},
}
PNG = ImageContent(data="QUJD")
PNG_URL = "data:image/png;base64,QUJD"
SEES: dict[str, Any] = {"model": "qwen3-vl-plus"}


def result(parts: Any = "22 degrees", **options: Any) -> ToolExecutionResultMessage:
    return ToolExecutionResultMessage("c1", "get_weather", parts, **options)


def test_the_body_has_three_parts() -> None:
    """Streams have the same one, with the form of their events."""
    said = {"model": "qwen-plus", "input": {"messages": [{"role": "user", "content": "q"}]}}
    assert body_of([ASK]) == {**said, "parameters": {"result_format": "message"}}
    assert body_of([ASK], stream=True) == {
        **said,
        "parameters": {"result_format": "message", "incremental_output": True},
    }


# -- messages --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "text", "parts"),
    [
        pytest.param(
            SystemMessage([TextContent("be "), TextContent("brief")]),
            {"role": "system", "content": "be brief"},
            {"role": "system", "content": [{"text": "be brief"}]},
            id="system",
        ),
        pytest.param(
            UserMessage([TextContent("a"), TextContent("b")]),
            {"role": "user", "content": "ab"},
            {"role": "user", "content": [{"text": "a"}, {"text": "b"}]},
            id="user",
        ),
        pytest.param(
            AiMessage("I see."),
            {"role": "assistant", "content": "I see."},
            {"role": "assistant", "content": [{"text": "I see."}]},
            id="assistant",
        ),
        pytest.param(
            AiMessage(),
            {"role": "assistant", "content": ""},
            {"role": "assistant", "content": [{"text": ""}]},
            id="empty",
        ),
    ],
)
def test_a_content_is_a_text_or_a_list_by_the_model(
    given: ChatMessage, text: dict[str, Any], parts: dict[str, Any]
) -> None:
    """Models of texts take nothing but a text, those of images a list always."""
    assert messages_of(ASK, given, ASK)[1] == text
    assert messages_of(ASK, given, ASK, **SEES)[1] == parts


def test_a_turn_with_a_call_and_its_result() -> None:
    """Beside calls the text may be empty; a result names its call and its tool."""
    sent = messages_of(ASK, AiMessage([CALL]), result())
    assert sent[1:] == [
        {"role": "assistant", "content": "", "tool_calls": [WIRE_CALL]},
        {"role": "tool", "content": "22 degrees", "tool_call_id": "c1", "name": "get_weather"},
    ]
    assert messages_of(ASK, AiMessage([CALL]), result(), **SEES)[1:] == [
        {"role": "assistant", "content": [{"text": ""}], "tool_calls": [WIRE_CALL]},
        {"role": "tool", "content": [{"text": "22 degrees"}], "tool_call_id": "c1", "name": "get_weather"},
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no such city", "Error: no such city"),
        ("An error occurred.", "An error occurred."),
        ("", "Error: "),
    ],
)
def test_a_failed_call_says_so(text: str, expected: str) -> None:
    """The API has no mark for it."""
    assert messages_of(ASK, AiMessage([CALL]), result(text, is_error=True))[2]["content"] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param('{"a": 1}', '{"a": 1}', id="valid text stays as it was"),
        pytest.param("", "{}", id="empty text is an empty object"),
        pytest.param('{"a": 1,}', '{"a":1}', id="what was read with a repair is sent as it was read"),
        pytest.param('{"city": ', '{"invalid_arguments":"{\\"city\\": "}', id="a fragment stays visible"),
        pytest.param("[1]", '{"invalid_arguments":"[1]"}', id="a list is no object"),
        pytest.param('{"a": NaN}', '{"invalid_arguments":"{\\"a\\": NaN}"}', id="NaN is no JSON"),
    ],
)
def test_replayed_arguments_are_always_an_object(text: str, expected: str) -> None:
    turn = AiMessage([ToolExecutionRequest("c1", "get_weather", text)])
    sent = messages_of(ASK, turn, result())
    assert sent[1]["tool_calls"][0]["function"]["arguments"] == expected


def test_names_that_are_refused_have_an_alias_in_the_history() -> None:
    """A conversation may come from another provider; the tool is called the same in its call and in its result."""
    turn = AiMessage([ToolExecutionRequest("c1", "files/read", "{}")])
    sent = messages_of(ASK, turn, ToolExecutionResultMessage("c1", "files/read", "ok"))
    alias = sent[1]["tool_calls"][0]["function"]["name"]
    assert alias.startswith("files_read_") and sent[2]["name"] == alias


def test_what_has_no_place_is_told() -> None:
    assert notice_codes([UserMessage("q", name="anna")]) == ["user_name_left_out"]
    assert notice_codes([ASK, AiMessage([TextContent("see"), PNG]), ASK]) == ["assistant_media_left_out"]
    with pytest.raises(UnsupportedFeatureError, match="system_media") as caught:
        body_of([SystemMessage([TextContent("see"), PNG]), ASK])
    assert "user message" in (caught.value.next_step or "")


# -- media -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "model", "expected"),
    [
        (PNG, "qwen3-vl-plus", {"image": PNG_URL}),
        (ImageContent(url="https://x.example/a.png"), "qwen3.7-plus", {"image": "https://x.example/a.png"}),
        (AudioContent(data="QUJD"), "qwen2-audio-instruct", {"audio": "data:audio/wav;base64,QUJD"}),
        (AudioContent(url="https://x.example/a.mp3"), "qwen3-omni-flash", {"audio": "https://x.example/a.mp3"}),
        (FileContent(url="https://x.example/a.pdf"), "qwen3-vl-plus", {"file": "https://x.example/a.pdf"}),
        (
            FileContent(data="QUJD", media_type="video/mp4"),
            "qvq-max",
            {"video": "data:video/mp4;base64,QUJD"},
        ),
        (
            FileContent(url="https://x.example/a.mp4", media_type="video/mp4"),
            "qwen3-vl-plus",
            {"video": "https://x.example/a.mp4"},
        ),
    ],
)
def test_media_are_parts_of_one_key(part: Content, model: str, expected: dict[str, str]) -> None:
    sent = messages_of(UserMessage([TextContent("see"), part]), model=model)
    assert sent == [{"role": "user", "content": [{"text": "see"}, expected]}]


@pytest.mark.parametrize(
    ("part", "model", "feature"),
    [
        (PNG, "qwen-plus", "images"),
        (AudioContent(data="QUJD"), "qwen3-vl-plus", "audio"),
        (FileContent(url="https://x.example/a.pdf"), "qwen-plus", "files"),
        (FileContent(data="QUJD"), "qwen3-vl-plus", "files"),
    ],
)
def test_media_that_the_model_cannot_take_are_refused_or_noted(part: Content, model: str, feature: str) -> None:
    """By default nothing is sent; with ``drop`` a note stands in its place and the response says so."""
    request = [UserMessage([TextContent("see "), part])]
    with pytest.raises(UnsupportedFeatureError, match=feature):
        body_of(request, model=model)
    dropping: dict[str, Any] = {"model": model, "profile_overrides": {"unsupported": {feature: "drop"}}}
    content = str(messages_of(*request, **dropping)[0]["content"])
    assert "see " in content and f"[{feature} left out" in content
    assert notice_codes(request, **dropping) == ["feature_dropped"]


def test_media_of_a_result_follow_it() -> None:
    """In a user message behind the last result of the turn, which names the call."""
    turn = AiMessage([CALL, ToolExecutionRequest("c2", "get_time", "{}")])
    sent = messages_of(ASK, turn, result([PNG]), ToolExecutionResultMessage("c2", "get_time", "noon"), **SEES)
    assert [each["role"] for each in sent] == ["user", "assistant", "tool", "tool", "user"]
    assert sent[2]["content"] == [{"text": "The result follows in the next user message."}]
    assert sent[4]["content"] == [
        {"text": "Attached to the result of get_weather (call c1): "},
        {"image": PNG_URL},
    ]


def test_media_of_a_result_become_a_note_for_a_model_of_texts() -> None:
    """A tool must not make every later request fail."""
    sent = messages_of(ASK, AiMessage([CALL]), result([TextContent("see"), PNG]))
    assert sent[2]["content"] == "see"
    assert sent[3]["content"].startswith("Attached to the result of get_weather (call c1): [images left out")


def test_what_stands_beside_media_is_told() -> None:
    parts: list[Content] = [
        ImageContent(data="QUJD", detail="high"),
        FileContent(url="https://x.example/a.pdf", name="a.pdf"),
    ]
    assert notice_codes([UserMessage(parts)], **SEES) == ["image_detail_left_out", "file_name_left_out"]


def test_an_override_makes_a_list_of_a_model_of_texts_where_it_has_to_be_one() -> None:
    sent = messages_of(ASK, UserMessage([PNG]), profile_overrides={"images": True})
    assert sent == [{"role": "user", "content": "q"}, {"role": "user", "content": [{"image": PNG_URL}]}]


# -- parameters ------------------------------------------------------------------------------------


def test_parameters_have_the_names_of_this_api() -> None:
    parameters = ChatRequestParameters(
        temperature=0.5,
        top_p=0.9,
        max_output_tokens=100,
        stop=["END"],
        seed=7,
        custom_parameters={"top_k": 20, "enable_search": True, "search_options": {"forced_search": True}},
    )
    assert parameters_of(parameters) == {
        "temperature": 0.5,
        "top_p": 0.9,
        "max_tokens": 100,
        "stop": ["END"],
        "seed": 7,
        "top_k": 20,
        "enable_search": True,
        "search_options": {"forced_search": True},
    }


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("qwen-plus", "max_tokens"),
        ("qwen3-max", "max_tokens"),
        ("qwen3.5-flash", "max_completion_tokens"),
        ("qwen3.6-max-preview", "max_tokens"),
        ("qwen3.7-max", "max_completion_tokens"),
    ],
)
def test_the_limit_holds_for_thinking_too_where_there_is_such_a_one(model: str, name: str) -> None:
    asked = ChatRequestParameters(max_output_tokens=100)
    assert [key for key in parameters_of(asked, model=model) if key.startswith("max_")] == [name]


@pytest.mark.parametrize("name", ["input", "messages", "model", "parameters", "result_format", "stream"])
def test_what_the_wire_sets_no_custom_parameter_may_set(name: str) -> None:
    with pytest.raises(UnsupportedFeatureError, match=name):
        body_of("q", ChatRequestParameters(custom_parameters={name: "x"}))


@pytest.mark.parametrize("name", ["enable_thinking", "incremental_output", "preserve_thinking"])
@pytest.mark.parametrize("value", ["yes", 1])
def test_switches_of_the_vendor_are_true_or_false(name: str, value: object) -> None:
    """As what is sent and read hangs on them."""
    with pytest.raises(ConfigurationError, match=f"{name} must be true or false") as caught:
        body_of("q", ChatRequestParameters(custom_parameters={name: value}))
    assert caught.value.next_step
    assert name not in parameters_of(ChatRequestParameters(custom_parameters={"top_k": 2}))


def test_response_formats() -> None:
    """An object, or one of a schema, which is sent as it is; nothing is said of texts."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": {"type": "integer"}}}
    form = ResponseFormat.json_schema(schema, name="the answer", description="all of it")
    assert parameters_of(ChatRequestParameters(response_format=ResponseFormat.JSON)) == {
        "response_format": {"type": "json_object"}
    }
    found = parameters_of(ChatRequestParameters(response_format=form))["response_format"]
    assert found["type"] == "json_schema"
    name = found["json_schema"].pop("name")
    assert name.startswith("the_answer_")
    assert found["json_schema"] == {
        "schema": {"type": "object", "properties": {"a": {"type": "integer"}}},
        "description": "all of it",
        "strict": True,
    }
    loose = ResponseFormat.json_schema(schema, strict=None)
    made = parameters_of(ChatRequestParameters(response_format=loose))["response_format"]["json_schema"]
    assert "strict" not in made and made["name"] == "answer"
    assert parameters_of(ChatRequestParameters(response_format=ResponseFormat.TEXT)) == {}


# -- tools -----------------------------------------------------------------------------------------


def test_tools_stand_among_the_parameters() -> None:
    sent = parameters_of(ChatRequestParameters(tools=[WEATHER]))
    assert sent == {
        "tools": [
            {
                "type": "function",
                "function": {
                    "name": "get_weather",
                    "description": "current weather of a city",
                    "parameters": {
                        "type": "object",
                        "properties": {"city": {"type": "string", "description": "name of the city"}},
                        "required": ["city"],
                        "additionalProperties": False,
                    },
                },
            }
        ]
    }


def test_tools_of_the_provider_stand_beside_ours() -> None:
    own = {"type": "web_search"}
    custom = ChatRequestParameters(custom_parameters={"tools": [own]})
    assert parameters_of(custom) == {"tools": [own]}
    both = parameters_of(custom.with_(tools=[WEATHER]))["tools"]
    assert [tool["type"] for tool in both] == ["function", "web_search"]


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (None, None),
        (ToolChoice.AUTO, "auto"),
        (ToolChoice.NONE, "none"),
        (ToolChoice.tool("get_time"), {"type": "function", "function": {"name": "get_time"}}),
    ],
)
def test_choices_of_tools(choice: ToolChoice | None, expected: object) -> None:
    sent = parameters_of(ChatRequestParameters(tools=[WEATHER, TIME], tool_choice=choice))
    assert sent.get("tool_choice") == expected


def test_an_allowed_list_offers_fewer_tools() -> None:
    asked = ChatRequestParameters(tools=[WEATHER, TIME], tool_choice=ToolChoice.allowed(["get_time"]))
    assert [tool["function"]["name"] for tool in parameters_of(asked)["tools"]] == ["get_time"]
    assert notice_codes("q", asked) == ["tools_narrowed"]


def test_an_alias_is_taken_back() -> None:
    """Where names that are refused are mapped, also the one name that no tool may have."""
    tools = [ToolSpecification(name, "a tool", ToolParameters({"type": "object"})) for name in ("search", "files/read")]
    asked = ChatRequestParameters(tools=tools, tool_choice=ToolChoice.tool("search"))
    names = [tool["function"]["name"] for tool in parameters_of(asked, names="alias")["tools"]]
    assert names[0].startswith("search_") and names[1].startswith("files_read_")
    calls = [{"id": f"c{at}", "function": {"name": name, "arguments": "{}"}} for at, name in enumerate(names)]
    answer = {"output": {"choices": [{"message": {"tool_calls": calls}, "finish_reason": "tool_calls"}]}}
    sent, response = exchange("q", asked, answer, names="alias")
    assert [call.name for call in response.ai_message.tool_execution_requests] == ["search", "files/read"]
    assert sent["parameters"]["tool_choice"]["function"]["name"] == names[0]


def test_strict_has_no_place() -> None:
    """And no override makes one."""
    strict = ToolSpecification("f", "a tool", ToolParameters({"type": "object"}), strict=True)
    with pytest.raises(UnsupportedFeatureError, match="strict_tools"):
        body_of("q", ChatRequestParameters(tools=[strict]))
    with pytest.raises(ConfigurationError, match=r"profile_overrides.strict_tools has true"):
        body_of("q", ChatRequestParameters(tools=[strict]), profile_overrides={"strict_tools": True})


# -- streams ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "custom", "expected"),
    [
        ({}, {}, True),
        ({"incremental_output": False}, {}, False),
        ({"incremental_output": True}, {}, True),
        ({}, {"incremental_output": False}, False),
        ({"incremental_output": False}, {"incremental_output": True}, True),
    ],
)
def test_streams_are_asked_for_in_one_of_two_forms(
    settings: dict[str, bool], custom: dict[str, bool], expected: bool
) -> None:
    """What is new by default; the model's setting says otherwise, and one request otherwise than that."""
    asked = ChatRequestParameters(custom_parameters=custom)
    assert parameters_of(asked, stream=True, **settings) == {"incremental_output": expected}
    assert parameters_of(asked, **settings) == custom


def test_a_model_that_thinks_streams_what_is_new() -> None:
    """As the endpoint has it no other way; whoever insists may ask."""
    thinking = ChatRequestParameters(reasoning_effort="high")
    assert parameters_of(thinking, stream=True, incremental_output=False)["incremental_output"] is True
    insisting = thinking.with_(custom_parameters={"incremental_output": False})
    assert parameters_of(insisting, stream=True)["incremental_output"] is False


@pytest.mark.parametrize("name", ["incremental_output", "preserve_thinking"])
def test_a_switch_that_is_none_is_found_before_anything_is_sent(name: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        body_of("q", ChatRequestParameters(custom_parameters={name: "yes"}))


# -- reasoning of earlier turns ---------------------------------------------------------------------

THOUGHT = ThinkingContent("Hm.", ProviderState(OWNER, {"reasoning_content": "Hm."}))
#: Of another vendor, and of this one's other API.
OTHERS = [
    ThinkingContent("Ho.", ProviderState(provider, {"reasoning_content": "Ho."}))
    for provider in ("somebody-else", "dashscope")
]


@pytest.mark.parametrize(
    ("options", "custom", "goes_back"),
    [
        ({}, {}, False),
        ({"model": "qwen3.8-max"}, {}, True),
        ({"model": "qwen3.7-plus"}, {}, False),
        ({"model": "qwen3.7-plus"}, {"preserve_thinking": True}, True),
        ({"model": "qwen3.8-max"}, {"preserve_thinking": False}, False),
        ({"profile_overrides": {"replay": ["reasoning_content"]}}, {}, True),
    ],
)
def test_reasoning_goes_back_only_to_models_that_want_it(
    options: dict[str, Any], custom: dict[str, bool], goes_back: bool
) -> None:
    """And never what another provider thought."""
    history = [ASK, AiMessage([THOUGHT, *OTHERS, TextContent("Rain.")]), ASK]
    sent = body_of(history, ChatRequestParameters(custom_parameters=custom), **options)["input"]["messages"][1]
    assert sent.get("reasoning_content") == ("Hm." if goes_back else None)
    assert "Ho." not in str(sent)
