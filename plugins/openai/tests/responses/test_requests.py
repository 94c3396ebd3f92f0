"""What a request of the Responses form asks: parameters, tools, choices, forms of the answer, state of the server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, InvalidRequestError, NotFoundError, UnsupportedFeatureError
from agentforge.model import (
    ChatRequest,
    ChatRequestParameters,
    ResponseFormat,
    SystemMessage,
    ToolChoice,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.openai.tests.responses.support import answer, body_of, call_item, exchange, model_on, text_item
from plugins.openai.tests.support import WEATHER, FakeTransport

P = ChatRequestParameters
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
CLOCK = ToolSpecification("get_time", "the time", ToolParameters.builder().build())
TOOLS = (WEATHER, CLOCK)
STRICT = ToolSpecification("get_weather", "current weather of a city", WEATHER.parameters, strict=True)
SENT_WEATHER = {
    "type": "function",
    "name": "get_weather",
    "description": "current weather of a city",
    "parameters": WEATHER.parameters.schema,
    "strict": False,
}


def test_a_question_is_sent_whole_and_nothing_is_kept() -> None:
    assert body_of("Hello") == {
        "model": "some-model",
        "input": [{"role": "user", "content": "Hello"}],
        "store": False,
    }
    assert body_of("Hello", stream=True)["stream"] is True


FIELDS: list[tuple[str, ChatRequestParameters, dict[str, Any]]] = [
    ("temperature", P(temperature=0.5), {"temperature": 0.5}),
    ("top_p", P(top_p=0.9), {"top_p": 0.9}),
    ("max tokens", P(max_output_tokens=100), {"max_output_tokens": 100}),
    ("effort", P(reasoning_effort="low"), {"reasoning": {"effort": "low"}}),
    ("no effort", P(reasoning_effort="none"), {"reasoning": {"effort": "none"}}),
    ("model", P(model_name="other"), {"model": "other"}),
    ("text", P(response_format=ResponseFormat.TEXT), {}),
    ("json", P(response_format=ResponseFormat.JSON), {"text": {"format": {"type": "json_object"}}}),
    (
        "schema",
        P(response_format=ResponseFormat.json_schema(SCHEMA, name="where", description="A place.")),
        {
            "text": {
                "format": {
                    "type": "json_schema",
                    "name": "where",
                    "schema": {**SCHEMA, "additionalProperties": False},
                    "description": "A place.",
                    "strict": True,
                }
            }
        },
    ),
    (
        "schema that need not hold",
        P(response_format=ResponseFormat.json_schema(SCHEMA, strict=None)),
        {"text": {"format": {"type": "json_schema", "name": "answer", "schema": SCHEMA}}},
    ),
    ("tools", P(tools=[WEATHER]), {"tools": [SENT_WEATHER]}),
    ("auto", P(tools=[WEATHER], tool_choice="auto"), {"tools": [SENT_WEATHER], "tool_choice": "auto"}),
    ("none", P(tools=[WEATHER], tool_choice="none"), {"tools": [SENT_WEATHER], "tool_choice": "none"}),
    ("required", P(tools=[WEATHER], tool_choice="required"), {"tools": [SENT_WEATHER], "tool_choice": "required"}),
    (
        "one tool",
        P(tools=[WEATHER], tool_choice="get_weather"),
        {"tools": [SENT_WEATHER], "tool_choice": {"type": "function", "name": "get_weather"}},
    ),
    ("parallel", P(tools=[WEATHER], parallel_tool_calls=True), {"tools": [SENT_WEATHER], "parallel_tool_calls": True}),
    ("custom", P(custom_parameters={"truncation": "auto", "user": "u"}), {"truncation": "auto", "user": "u"}),
    ("custom store", P(custom_parameters={"store": True}), {"store": True}),
    (
        "custom reasoning adds to the effort",
        P(reasoning_effort="high", custom_parameters={"reasoning": {"context": "all_turns"}}),
        {"reasoning": {"effort": "high", "context": "all_turns"}},
    ),
    (
        "custom text adds to the format",
        P(response_format=ResponseFormat.JSON, custom_parameters={"text": {"verbosity": "low"}}),
        {"text": {"format": {"type": "json_object"}, "verbosity": "low"}},
    ),
    (
        "tools of the server stand behind ours as they are",
        P(tools=[WEATHER], custom_parameters={"tools": [{"type": "web_search"}]}),
        {"tools": [SENT_WEATHER, {"type": "web_search"}]},
    ),
    (
        "tools of the server alone",
        P(custom_parameters={"tools": [{"type": "web_search"}]}),
        {"tools": [{"type": "web_search"}]},
    ),
    (
        "a custom tool with the name of ours stands in its place",
        P(tools=[CLOCK, WEATHER], custom_parameters={"tools": [{"type": "custom", "name": "get_time"}]}),
        {"tools": [SENT_WEATHER, {"type": "custom", "name": "get_time"}]},
    ),
    (
        "and so it does alone",
        P(tools=[CLOCK], custom_parameters={"tools": [{"type": "custom", "name": "get_time"}]}),
        {"tools": [{"type": "custom", "name": "get_time"}]},
    ),
    ("no tools of the server", P(tools=[WEATHER], custom_parameters={"tools": []}), {"tools": [SENT_WEATHER]}),
]


@pytest.mark.parametrize(("parameters", "sent"), [row[1:] for row in FIELDS], ids=[row[0] for row in FIELDS])
def test_how_parameters_are_sent(parameters: ChatRequestParameters, sent: dict[str, Any]) -> None:
    """Flat tools that say their ``strict``, flat choices, the form of the answer in ``text``."""
    plain = {"model": "some-model", "input": [{"role": "user", "content": "Hello"}], "store": False}
    assert body_of("Hello", parameters) == {**plain, **sent}


def test_an_allowed_list_is_flat_where_the_vendor_has_it_and_narrows_the_tools_elsewhere() -> None:
    choice = P(tools=TOOLS, tool_choice=ToolChoice.allowed(["get_weather"], required=True))
    body = body_of("Hello", choice, vendor="openai", model="gpt-4o")
    named = [{"type": "function", "name": "get_weather"}]
    assert body["tool_choice"] == {"type": "allowed_tools", "mode": "required", "tools": named}
    assert len(body["tools"]) == 2
    body = body_of("Hello", choice, vendor="deepseek", model="deepseek-chat")
    assert body["tool_choice"] == "required"
    assert [tool["name"] for tool in body["tools"]] == ["get_weather"]


def test_strict_tools_go_without_parallel_calls_where_the_vendor_cannot_do_both() -> None:
    strict = {
        **SENT_WEATHER,
        "parameters": {**WEATHER.parameters.schema, "additionalProperties": False},
        "strict": True,
    }
    body = body_of("Hello", P(tools=[STRICT]), vendor="openai", model="gpt-4o")
    assert (body["tools"], body["parallel_tool_calls"]) == ([strict], False)
    assert "parallel_tool_calls" not in body_of("Hello", P(tools=[STRICT]))
    assert "parallel_tool_calls" not in body_of("Hello", P(tools=[STRICT]), vendor="openai", model="o4-mini")
    with pytest.raises(UnsupportedFeatureError, match="strict_with_parallel"):
        body_of("Hello", P(tools=[STRICT], parallel_tool_calls=True), vendor="openai", model="gpt-4o")


REASONING_MODELS = [
    ("openai", "gpt-5.6-sol", True),
    ("openai", "gpt-5-mini", True),
    ("openai", "gpt-5.1-chat-latest", True),
    ("openai", "gpt-6-astra", True),
    ("openai", "o4-mini", True),
    ("openai", "o1", True),
    ("openai", "codex-mini-latest", True),
    ("openai", "gpt-5-chat-latest", False),
    ("openai", "gpt-4o", False),
    ("openai", "gpt-4.1-mini", False),
    ("openai", "omni-moderation-latest", False),
    ("azure", "gpt-5-nano", True),
    ("azure", "our-deployment", False),
    ("generic", "gpt-5", False),
    ("deepseek", "deepseek-v4-flash", False),
]


@pytest.mark.parametrize(("vendor", "model", "asked"), REASONING_MODELS)
def test_reasoning_is_asked_for_encrypted_where_the_model_reasons(vendor: str, model: str, asked: bool) -> None:
    """Other models refuse the question; a setting says what the name cannot."""
    expected = ["reasoning.encrypted_content"]
    assert body_of("Hello", vendor=vendor, model=model).get("include") == (expected if asked else None)
    assert "include" not in body_of("Hello", vendor=vendor, model=model, encrypted_reasoning=False)
    assert body_of("Hello", vendor=vendor, model=model, encrypted_reasoning=True)["include"] == expected


@pytest.mark.parametrize("again", [[], ["reasoning.encrypted_content"]])
def test_more_can_be_included(again: list[str]) -> None:
    more = P(custom_parameters={"include": [*again, "web_search_call.action.sources"]})
    body = body_of("Hello", more, vendor="openai", model="gpt-5")
    assert body["include"] == ["reasoning.encrypted_content", "web_search_call.action.sources"]


def test_a_summary_of_the_reasoning_is_a_setting() -> None:
    body = body_of("Hello", P(reasoning_effort="low"), reasoning_summary="auto")
    assert body["reasoning"] == {"effort": "low", "summary": "auto"}


def test_an_endpoint_that_keeps_nothing_is_not_told_so() -> None:
    assert "store" not in body_of("Hello", vendor="deepseek", model="deepseek-v4-flash")


def test_options_of_streams_are_sent_with_streams_only() -> None:
    options = P(custom_parameters={"stream_options": {"include_obfuscation": False}})
    assert "stream_options" not in body_of("Hello", options)
    assert body_of("Hello", options, stream=True)["stream_options"] == {"include_obfuscation": False}


REFUSED: list[tuple[str, ChatRequestParameters, dict[str, Any], str]] = [
    ("stop", P(stop="END"), {}, "stop texts"),
    ("seed", P(seed=1), {}, "a seed"),
    ("input", P(custom_parameters={"input": "x"}), {}, "custom_parameters.input"),
    ("instructions", P(custom_parameters={"instructions": "x"}), {}, "custom_parameters.instructions"),
    ("previous id", P(custom_parameters={"previous_response_id": "r"}), {}, "previous_response_id"),
    ("conversation", P(custom_parameters={"conversation": "c"}), {}, "conversation"),
    ("background", P(custom_parameters={"background": True}), {}, "background"),
    ("tools", P(tools=[WEATHER] * 1), {"profile_overrides": {"tool_mode": "none"}}, "tools"),
    ("many tools", P(tools=TOOLS), {"profile_overrides": {"max_tools": 1}}, "max_tools"),
    ("unknown choice", P(tools=TOOLS, tool_choice="other"), {}, "not among the tools"),
    ("names", P(tools=[ToolSpecification("a/b", "x")]), {"names": "error"}, "tool_name"),
    (
        "forced while thinking",
        P(tools=TOOLS, tool_choice="required"),
        {"vendor": "deepseek", "model": "deepseek-v4-flash"},
        "while thinking",
    ),
]


@pytest.mark.parametrize(("parameters", "options", "words"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
def test_what_is_refused_before_it_is_sent(
    parameters: ChatRequestParameters, options: dict[str, Any], words: str
) -> None:
    with pytest.raises(UnsupportedFeatureError, match=words) as raised:
        body_of("Hello", parameters, **options)
    assert raised.value.next_step


def test_what_cannot_be_said_is_dropped_with_a_notice_where_that_is_the_policy() -> None:
    drop = {"unsupported": {"stop": "drop", "seed": "drop"}}
    model = model_on(profile_overrides=drop)
    body, notices = model.preview(ChatRequest("Hello", P(stop="END", seed=1)))
    assert b"END" not in body
    assert b"seed" not in body
    assert sorted(str(notice.details["feature"]) for notice in notices) == ["seed", "stop"]


def test_tools_go_with_reasoning_here() -> None:
    """The models that refuse that on the other API take it on this one."""
    body = body_of("Hello", P(tools=[WEATHER], reasoning_effort="high"), vendor="openai", model="gpt-5.6-sol")
    assert body["reasoning"] == {"effort": "high"}
    assert len(body["tools"]) == 1


def test_what_thinking_forbids_hangs_on_the_vendors_own_switch() -> None:
    """As on the other API, whatever the model does by default."""
    parameters = {
        on: P(tools=TOOLS, tool_choice="get_weather", custom_parameters={"enable_thinking": on}) for on in (True, False)
    }
    with pytest.raises(UnsupportedFeatureError, match="while thinking"):
        body_of("Hello", parameters[True], vendor="dashscope", model="qwen-plus")
    for model in ("qwen-plus", "qwen3-30b-a3b-thinking"):
        assert body_of("Hello", parameters[False], vendor="dashscope", model=model)["enable_thinking"] is False


def test_names_may_be_longer_here() -> None:
    """128 characters with OpenAI; beyond that, and with other signs, they get an alias that is taken back."""
    tools = [ToolSpecification("n" * 128, "x"), ToolSpecification("n" * 129, "y"), ToolSpecification("a/b", "z")]
    sent = [tool["name"] for tool in body_of("Hello", P(tools=tools), vendor="openai", model="gpt-5")["tools"]]
    assert sent[0] == "n" * 128
    assert all(len(name) <= 128 and "/" not in name for name in sent)
    assert all(len(tool["name"]) <= 64 for tool in body_of("Hello", P(tools=tools))["tools"])
    response = exchange("Hello", answer(call_item(sent[2])), P(tools=tools))
    assert response.ai_message.tool_execution_requests[0].name == "a/b"


def test_the_first_system_messages_are_the_instructions_and_later_ones_stand_in_their_place() -> None:
    messages = [
        SystemMessage("Be brief."),
        SystemMessage("Be kind."),
        UserMessage("Hi"),
        SystemMessage("Now in verse."),
    ]
    body = body_of(messages, vendor="openai", model="gpt-4o")
    assert body["instructions"] == "Be brief.\n\nBe kind."
    assert body["input"] == [
        {"role": "user", "content": "Hi"},
        {"role": "developer", "content": "Now in verse."},
    ]
    assert body_of(messages)["input"][1] == {"role": "system", "content": "Now in verse."}


def test_system_messages_alone_are_the_input() -> None:
    """An input may not be empty."""
    body = body_of([SystemMessage("Tell a joke.")])
    assert body["input"] == [{"role": "system", "content": "Tell a joke."}]
    assert "instructions" not in body


URLS = [
    ({}, "https://llm.example/v1/responses"),
    ({"api_version": "7"}, "https://llm.example/v1/responses?api-version=7"),
    ({"vendor": "openai"}, "https://api.openai.com/v1/responses"),
    ({"vendor": "deepseek"}, "https://api.deepseek.com/responses"),
    ({"vendor": "azure"}, "https://desk.example/openai/v1/responses"),
    ({"vendor": "azure", "base_url": "https://desk.example/openai/v1"}, "https://desk.example/openai/v1/responses"),
    ({"vendor": "azure", "base_url": "https://desk.example/openai"}, "https://desk.example/openai/v1/responses"),
    (
        {"vendor": "azure", "api_version": "2025-04-01-preview"},
        "https://desk.example/openai/responses?api-version=2025-04-01-preview",
    ),
    (
        {
            "vendor": "azure",
            "api_version": "2025-04-01-preview",
            "base_url": "https://desk.example/openai/deployments/d",
        },
        "https://desk.example/openai/responses?api-version=2025-04-01-preview",
    ),
]


@pytest.mark.parametrize(("options", "url"), URLS)
def test_where_requests_go(options: dict[str, Any], url: str) -> None:
    transport = FakeTransport(answer(text_item("ok")))
    asyncio.run(model_on(transport, **options).chat(ChatRequest("Hello")))
    assert transport.requests[0].url == url


def test_azure_takes_its_key_in_a_header_of_its_own() -> None:
    transport = FakeTransport(answer(text_item("ok")))
    asyncio.run(model_on(transport, "azure").chat(ChatRequest("Hello")))
    assert transport.header("api-key") == "key-for-tests"


SETTINGS: list[tuple[dict[str, Any], str]] = [
    ({"state": "server"}, "state must be"),
    ({"state": "previous_response", "vendor": "deepseek"}, "keeps no responses"),
    ({"defaults": {"temperature": 1}}, "defaults must be"),
    ({"tool_mode": "no"}, "tool_mode must be"),
]


@pytest.mark.parametrize(("options", "words"), SETTINGS)
def test_settings_that_cannot_be_honoured_are_refused(options: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words) as raised:
        model_on(**options)
    assert raised.value.next_step


STEPS = [
    (404, "previous_response_not_found", "Previous response with id 'resp_1' not found.", "state='replay'"),
    (400, None, "Encrypted content is not supported with this model.", "encrypted_reasoning=False"),
    (400, None, "Reasoning input items can only be provided to a reasoning model.", "encrypted_reasoning=False"),
]


@pytest.mark.parametrize(("status", "code", "message", "step"), STEPS)
def test_errors_of_this_api_say_what_to_set(status: int, code: str | None, message: str, step: str) -> None:
    transport = FakeTransport((status, {"error": {"message": message, "code": code, "type": "invalid_request_error"}}))
    with pytest.raises((InvalidRequestError, NotFoundError)) as raised:
        asyncio.run(model_on(transport).chat(ChatRequest("Hello")))
    assert step in (raised.value.next_step or "")


def test_tools_over_a_schema_in_the_prompt_work_here_as_well() -> None:
    """For endpoints without tools: the answer is held to a schema by ``text.format``."""
    transport = FakeTransport(answer(text_item('{"action":"answer","text":"ok"}')))
    model = model_on(transport, tool_mode="json_schema")
    asyncio.run(model.chat(ChatRequest("Hello", P(tools=[WEATHER]))))
    body = transport.bodies[0]
    assert "tools" not in body
    assert body["text"]["format"]["type"] == "json_schema"
