"""Each vendor's row both ways: what is said in its own form, what is refused, what is dropped with a notice."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ProviderState,
    ResponseFormat,
    ThinkingContent,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge_openai import VENDORS, OpenAiChatModel, ThinkingRule, VendorRow, vendor_row
from agentforge_openai.vendors import GENERIC
from plugins.openai.tests.support import WEATHER, FakeTransport, delta, exchange, model_on, sse

TIME = ToolSpecification("get_time", "the time")
STRICT = ToolSpecification("look", "looks", ToolParameters({"type": "object", "properties": {}}), True)
DOTTED = ToolSpecification("files.read", "reads")
SILENT = ToolSpecification("look")
ONE = {"type": "function", "function": {"name": "get_time"}}


def outcome(vendor: str, model: str, policy: dict[str, str] | None = None, **parameters: Any) -> tuple[Any, Any]:
    overrides = {"unsupported": policy} if policy else None
    request = ChatRequest("q", ChatRequestParameters(**parameters))
    body, response = exchange(request, vendor, model=model, profile_overrides=overrides)
    return body, response.notices


MAPPED = [
    ("openai", "gpt-x", {"max_output_tokens": 5}, {"max_completion_tokens": 5}),
    ("azure", "desk", {"max_output_tokens": 5}, {"max_completion_tokens": 5}),
    ("deepseek", "deepseek-chat", {"max_output_tokens": 5}, {"max_tokens": 5}),
    ("dashscope", "qwen-plus", {"max_output_tokens": 5}, {"max_tokens": 5}),
    ("ollama", "qwen3", {"max_output_tokens": 5}, {"max_tokens": 5}),
    ("generic", "m", {"max_output_tokens": 5}, {"max_tokens": 5}),
    ("openai", "gpt-5.4", {"tools": [TIME]}, {"reasoning_effort": None}),
    ("openai", "gpt-5.6", {"tools": [TIME], "reasoning_effort": "none"}, {"reasoning_effort": "none"}),
    ("openai", "gpt-5.6", {"reasoning_effort": "high"}, {"reasoning_effort": "high"}),
    ("deepseek", "deepseek-chat", {"tools": [TIME], "tool_choice": "required"}, {"tool_choice": "required"}),
    ("deepseek", "deepseek-chat", {"tools": [TIME], "tool_choice": "get_time"}, {"tool_choice": ONE}),
    ("deepseek", "deepseek-v4-flash", {"tools": [TIME], "tool_choice": "auto"}, {"tool_choice": "auto"}),
    (
        "deepseek",
        "deepseek-v4-flash",
        {"tools": [TIME], "tool_choice": "required", "reasoning_effort": "none"},
        {"tool_choice": "required", "thinking": {"type": "disabled"}, "reasoning_effort": None},
    ),
    (
        "deepseek",
        "deepseek-v4-flash",
        {"tools": [TIME], "tool_choice": "required", "custom_parameters": {"thinking": {"type": "disabled"}}},
        {"tool_choice": "required", "thinking": {"type": "disabled"}},
    ),
    ("deepseek", "deepseek-v4-flash", {"custom_parameters": {"thinking": {"n": 1}}}, {"thinking": {"n": 1}}),
    ("deepseek", "deepseek-v4-flash", {"reasoning_effort": "low"}, {"reasoning_effort": "low", "thinking": None}),
    ("deepseek", "deepseek-chat", {"tools": [TIME], "parallel_tool_calls": True}, {"parallel_tool_calls": None}),
    ("deepseek", "deepseek-chat", {"temperature": 0.5}, {"temperature": 0.5}),
    ("dashscope", "qwen-plus", {"tools": [TIME], "parallel_tool_calls": True}, {"parallel_tool_calls": True}),
    ("dashscope", "qwen-plus", {"tools": [TIME], "parallel_tool_calls": False}, {"parallel_tool_calls": False}),
    ("dashscope", "qwen-plus", {"tools": [TIME], "tool_choice": "get_time"}, {"tool_choice": ONE}),
    ("dashscope", "qwen-plus", {"reasoning_effort": "none"}, {"enable_thinking": False, "reasoning_effort": None}),
    ("ollama", "qwen3", {"tools": [TIME], "tool_choice": "none"}, {"tools": None, "tool_choice": None}),
    ("ollama", "qwen3", {"tools": [TIME], "tool_choice": "auto"}, {"tool_choice": "auto"}),
    ("ollama", "qwen3", {"tools": [TIME], "parallel_tool_calls": True}, {"parallel_tool_calls": None}),
]


@pytest.mark.parametrize(("vendor", "model", "parameters", "expected"), MAPPED)
def test_what_a_row_maps_is_said_in_the_vendors_form(
    vendor: str, model: str, parameters: dict[str, Any], expected: dict[str, Any]
) -> None:
    """``None`` means that the key is not there; an exact mapping needs no notice."""
    body, notices = outcome(vendor, model, **parameters)
    assert {key: body.get(key) for key in expected} == expected
    assert notices == ()


REFUSED = [
    ("openai", "gpt-5.4", {"tools": [TIME], "reasoning_effort": "low"}, "tools_with_thinking"),
    ("openai", "gpt-5.6-sol", {"tools": [TIME]}, "tools_with_thinking"),
    ("azure", "gpt-5.6", {"tools": [TIME]}, "tools_with_thinking"),
    ("openai", "gpt-x", {"tools": [ToolSpecification(f"t{n}") for n in range(129)]}, "max_tools"),
    ("deepseek", "deepseek-v4-flash", {"tools": [TIME], "tool_choice": "required"}, "forced_choice_with_thinking"),
    ("deepseek", "deepseek-reasoner", {"tools": [TIME], "tool_choice": "get_time"}, "forced_choice_with_thinking"),
    ("deepseek", "deepseek-chat", {"tools": [TIME], "parallel_tool_calls": False}, "parallel_tool_calls"),
    ("deepseek", "deepseek-chat", {"tools": [STRICT]}, "strict_tools"),
    ("deepseek", "deepseek-chat", {"response_format": ResponseFormat.json_schema({})}, "response_format.json_schema"),
    ("dashscope", "qwen-plus", {"tools": [TIME], "tool_choice": "required"}, "tool_choice.required"),
    ("dashscope", "qwq-plus", {"tools": [TIME], "tool_choice": "get_time"}, "forced_choice_with_thinking"),
    (
        "dashscope",
        "qwen-plus",
        {"tools": [TIME], "tool_choice": "get_time", "custom_parameters": {"enable_thinking": True}},
        "forced_choice_with_thinking",
    ),
    ("dashscope", "qwen-plus", {"tools": [STRICT]}, "strict_tools"),
    ("dashscope", "qwen-plus", {"tools": [DOTTED]}, "tool_name"),
    ("dashscope", "qwen-plus", {"tools": [SILENT]}, "tool_description"),
    ("ollama", "qwen3", {"tools": [TIME], "tool_choice": "required"}, "tool_choice.required"),
    ("ollama", "qwen3", {"tools": [TIME], "tool_choice": "get_time"}, "tool_choice.tool"),
    (
        "ollama",
        "qwen3",
        {"tools": [TIME], "tool_choice": ToolChoice.allowed(["get_time"], required=True)},
        "tool_choice.required",
    ),
    ("ollama", "qwen3", {"tools": [TIME], "parallel_tool_calls": False}, "parallel_tool_calls"),
    ("ollama", "qwen3", {"tools": [STRICT]}, "strict_tools"),
]


@pytest.mark.parametrize(("vendor", "model", "parameters", "feature"), REFUSED)
def test_what_a_row_cannot_do_is_refused_before_anything_is_sent(
    vendor: str, model: str, parameters: dict[str, Any], feature: str
) -> None:
    """The error names the vendor, the model and the feature, and says what to do."""
    transport = FakeTransport()
    with pytest.raises(UnsupportedFeatureError) as caught:
        asyncio.run(
            model_on(transport, vendor, model=model).chat(ChatRequest("q", ChatRequestParameters(**parameters)))
        )
    assert transport.requests == []
    assert caught.value.details == {"vendor": vendor, "model": model, "feature": feature}
    assert vendor in caught.value.message
    assert repr(model) in caught.value.message
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("vendor", "overrides", "most"),
    [
        ("openai", {}, 128),
        ("azure", {}, 128),
        ("deepseek", {}, 128),
        ("dashscope", {"unsupported": {"tool_description": "map"}}, 128),
        ("openai", {"max_tools": 130}, 130),
        ("openai", {"max_tools": 5}, 5),
        ("openai", {"max_tools": None}, None),
        ("ollama", {}, None),
        ("generic", {}, None),
        ("generic", {"max_tools": 5}, 5),
    ],
)
def test_a_request_offers_so_many_tools_and_one_more_is_refused(
    vendor: str, overrides: dict[str, Any], most: int | None
) -> None:
    """All are sent or nothing is: none is left out to stay below the limit."""

    def request(count: int) -> ChatRequest:
        return ChatRequest("q", ChatRequestParameters(tools=[ToolSpecification(f"t{n}") for n in range(count)]))

    body, response = exchange(request(most or 300), vendor, model="m", profile_overrides=overrides)
    assert len(body["tools"]) == (most or 300)
    assert response.notices == ()
    if most is None:
        return
    transport = FakeTransport()
    with pytest.raises(
        UnsupportedFeatureError, match=f"{most + 1} tools in one request; the limit is {most}"
    ) as caught:
        asyncio.run(model_on(transport, vendor, model="m", profile_overrides=overrides).chat(request(most + 1)))
    assert transport.requests == []
    for way in ("tool_search", "selecting", "max_tools in profile_overrides"):
        assert way in (caught.value.next_step or "")


DROPPED = [
    ("openai", "gpt-5.6", {"tools": [TIME]}, "tools_with_thinking", {"reasoning_effort": "none"}),
    (
        "deepseek",
        "deepseek-v4-flash",
        {"tools": [TIME], "tool_choice": "required"},
        "forced_choice_with_thinking",
        {"tool_choice": None},
    ),
    (
        "deepseek",
        "deepseek-chat",
        {"tools": [TIME], "parallel_tool_calls": False},
        "parallel_tool_calls",
        {"parallel_tool_calls": None},
    ),
    ("deepseek", "deepseek-chat", {"response_format": ResponseFormat.json_schema({})}, "response_format", {}),
    ("ollama", "qwen3", {"tools": [TIME], "tool_choice": "required"}, "tool_choice", {"tool_choice": None}),
    ("dashscope", "qwen-plus", {"tools": [STRICT]}, "strict_tools", {}),
    ("generic", "m", {"seed": 3}, "seed", {"seed": None}),
    ("generic", "m", {"reasoning_effort": "low"}, "reasoning_effort", {"reasoning_effort": None}),
]


@pytest.mark.parametrize(("vendor", "model", "parameters", "feature", "expected"), DROPPED)
def test_what_a_user_lets_drop_is_left_out_with_a_notice(
    vendor: str, model: str, parameters: dict[str, Any], feature: str, expected: dict[str, Any]
) -> None:
    overrides: dict[str, Any] = {"unsupported": {feature: "drop"}}
    if vendor == "generic":
        overrides[feature] = False
    request = ChatRequest("q", ChatRequestParameters(**parameters))
    body, response = exchange(request, vendor, model=model, profile_overrides=overrides)
    assert {key: body.get(key) for key in expected} == expected
    assert [notice.code for notice in response.notices] == ["feature_dropped"]
    assert str(response.notices[0].details["feature"]).startswith(feature)


def test_sampling_that_thinking_ignores_is_dropped_with_a_notice() -> None:
    body, notices = outcome("deepseek", "deepseek-v4-flash", temperature=0.1, top_p=0.2)
    assert not {"temperature", "top_p"} & body.keys()
    assert [notice.details["feature"] for notice in notices] == ["thinking_ignores", "thinking_ignores"]


def test_an_effort_without_levels_turns_thinking_on_and_says_that_the_level_is_lost() -> None:
    body, notices = outcome("dashscope", "qwen-plus", reasoning_effort="high")
    assert body["enable_thinking"] is True
    assert "reasoning_effort" not in body
    assert [notice.details["feature"] for notice in notices] == ["reasoning_effort.level"]


@pytest.mark.parametrize("vendor", ["deepseek", "dashscope", "ollama", "generic"])
def test_an_allowed_list_is_mapped_to_those_tools_where_the_wire_has_none(vendor: str) -> None:
    overrides = {"tool_choice": ["auto", "none", "required", "tool"]} if vendor == "generic" else None
    request = ChatRequest(
        "q", ChatRequestParameters(tools=(WEATHER, TIME), tool_choice=ToolChoice.allowed(["get_time"]))
    )
    body, _ = exchange(request, vendor, model="deepseek-chat", profile_overrides=overrides)
    assert [tool["function"]["name"] for tool in body["tools"]] == ["get_time"]
    assert "tool_choice" not in body


def test_names_and_descriptions_can_be_mapped_by_option() -> None:
    policy = {"tool_name": "map", "tool_description": "map"}
    body, _ = outcome("dashscope", "qwen-plus", policy, tools=[ToolSpecification("files.read")])
    function = body["tools"][0]["function"]
    assert function["name"].startswith("files_read_")
    assert function["description"] == "files.read"


def test_an_override_allows_what_the_row_refuses() -> None:
    request = ChatRequest("q", ChatRequestParameters(tools=(TIME,), tool_choice=ToolChoice.REQUIRED))
    overrides = {"tool_choice": ["auto", "none", "tool", "required"]}
    body, _ = exchange(request, "dashscope", model="qwen-plus", profile_overrides=overrides)
    assert body["tool_choice"] == "required"


def test_deepseeks_strict_tools_need_the_beta_base() -> None:
    request = ChatRequest("q", ChatRequestParameters(tools=(STRICT,)))
    transport = FakeTransport()
    model = model_on(transport, "deepseek", base_url="https://api.deepseek.com/beta")
    asyncio.run(model.chat(request))
    assert transport.bodies[0]["tools"][0]["function"]["strict"] is True
    moved = FakeTransport()
    asyncio.run(model_on(moved, "deepseek", profile_overrides={"unsupported": {"strict_tools": "map"}}).chat(request))
    assert moved.requests[0].url == "https://api.deepseek.com/beta/chat/completions"
    assert moved.bodies[0]["tools"][0]["function"]["strict"] is True


# -- what goes back -------------------------------------------------------------------------------


def thought(text: str, provider: str) -> ThinkingContent:
    return ThinkingContent(text, ProviderState(provider, {"reasoning_content": text, "reasoning": text}))


def turns(provider: str) -> list[ChatMessage]:
    call = ToolExecutionRequest("c1", "get_time", "{}")
    return [
        UserMessage("q"),
        AiMessage([thought("think-1", provider), call]),
        ToolExecutionResultMessage("c1", "get_time", "noon"),
        AiMessage("done"),
        UserMessage("thanks"),
    ]


REPLAYED = [
    # vendor, model, tools offered, reasoning of the call's turn, of the plain turn
    ("deepseek", "deepseek-v4-flash", True, "think-1", ""),
    ("deepseek", "deepseek-v4-flash", False, "think-1", ""),
    ("deepseek", "deepseek-chat", True, "think-1", None),
    ("deepseek", "deepseek-r1", True, None, None),
    ("openai", "gpt-x", True, None, None),
    ("dashscope", "qwen-plus", True, None, None),
]


@pytest.mark.parametrize(("vendor", "model", "offered", "first", "second"), REPLAYED)
def test_reasoning_goes_back_as_the_row_says(
    vendor: str, model: str, offered: bool, first: str | None, second: str | None
) -> None:
    """Case TL-16: DeepSeek wants it on every assistant turn of a conversation with tools, empty where none came."""
    parameters = ChatRequestParameters(tools=(TIME,) if offered else ())
    body, _ = exchange(ChatRequest(turns(vendor), parameters), vendor, model=model)
    assert body["messages"][1].get("reasoning_content") == first
    assert body["messages"][3].get("reasoning_content") == second


def test_deepseeks_reasoning_stays_away_where_there_are_no_tools() -> None:
    messages: list[ChatMessage] = [UserMessage("q"), AiMessage([thought("t", "deepseek")]), UserMessage("more")]
    body, _ = exchange(ChatRequest(messages), "deepseek", model="deepseek-v4-flash")
    assert body["messages"][1] == {"role": "assistant", "content": ""}


def test_foreign_reasoning_never_reaches_a_vendor_that_wants_the_field() -> None:
    body, _ = exchange(ChatRequest(turns("someone@else")), "deepseek", model="deepseek-v4-flash")
    assert body["messages"][1]["reasoning_content"] == ""


def test_ollama_gets_its_own_field() -> None:
    body, _ = exchange(ChatRequest(turns("ollama")), "ollama", model="qwen3")
    assert body["messages"][1]["reasoning"] == "think-1"
    assert "reasoning_content" not in body["messages"][1]


# -- addresses and keys ---------------------------------------------------------------------------

ADDRESSES = [
    ("openai", {}, "https://api.openai.com/v1/chat/completions"),
    ("openai", {"base_url": "https://eu.example/v1/"}, "https://eu.example/v1/chat/completions"),
    ("deepseek", {}, "https://api.deepseek.com/chat/completions"),
    ("dashscope", {}, "https://dashscope.aliyuncs.com/compatible-mode/v1/chat/completions"),
    ("ollama", {}, "http://localhost:11434/v1/chat/completions"),
    ("azure", {}, "https://desk.example/openai/v1/chat/completions"),
    ("azure", {"base_url": "https://desk.example/openai/v1"}, "https://desk.example/openai/v1/chat/completions"),
    (
        "azure",
        {"api_version": "2026-01-01", "model": "my deployment"},
        "https://desk.example/openai/deployments/my%20deployment/chat/completions?api-version=2026-01-01",
    ),
    (
        "azure",
        {"api_version": "2026-01-01", "base_url": "https://desk.example/openai/deployments/other"},
        "https://desk.example/openai/deployments/other/chat/completions?api-version=2026-01-01",
    ),
]


@pytest.mark.parametrize(("vendor", "options", "url"), ADDRESSES)
def test_every_row_knows_its_address(
    vendor: str, options: dict[str, Any], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for row in VENDORS.values():
        if row.base_url_variable:
            monkeypatch.delenv(row.base_url_variable, raising=False)
    transport = FakeTransport()
    asyncio.run(model_on(transport, vendor, **options).chat(ChatRequest("q")))
    assert transport.requests[0].url == url


def test_the_vendor_is_generic_where_an_address_is_given_and_openai_where_not() -> None:
    transport = FakeTransport()
    given = OpenAiChatModel(model="m", base_url="https://llm.example/v1", transport=transport)
    assert given.profile.name == "generic"
    assert OpenAiChatModel(model="m", api_key="key-for-tests", transport=transport).profile.name == "openai"


@pytest.mark.parametrize("vendor", ["openai", "azure", "deepseek", "dashscope"])
def test_a_missing_key_is_an_error_that_names_the_variable(vendor: str, monkeypatch: pytest.MonkeyPatch) -> None:
    variable = VENDORS[vendor].key_variable
    assert variable
    monkeypatch.delenv(variable, raising=False)
    with pytest.raises(ConfigurationError) as caught:
        model_on(FakeTransport(), vendor, api_key=None)
    assert variable in str(caught.value)


@pytest.mark.parametrize(
    ("vendor", "header", "value"),
    [("openai", "authorization", "Bearer key-from-environment"), ("azure", "api-key", "key-from-environment")],
)
def test_the_key_comes_from_the_rows_variable(
    vendor: str, header: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VENDORS[vendor].key_variable or "", "key-from-environment")
    transport = FakeTransport()
    asyncio.run(model_on(transport, vendor, api_key=None).chat(ChatRequest("q")))
    assert transport.header(header) == value


def test_a_key_of_one_vendor_never_goes_to_an_unknown_endpoint(monkeypatch: pytest.MonkeyPatch) -> None:
    for row in VENDORS.values():
        if row.key_variable:
            monkeypatch.setenv(row.key_variable, "key-from-environment")
    transport = FakeTransport()
    model = OpenAiChatModel(model="m", base_url="https://llm.example/v1", transport=transport)
    asyncio.run(model.chat(ChatRequest("q")))
    assert transport.header("authorization") is None


def test_the_environment_can_move_the_base(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://from.example/")
    transport = FakeTransport()
    asyncio.run(model_on(transport, "azure", base_url=None).chat(ChatRequest("q")))
    assert transport.requests[0].url.startswith("https://from.example/openai/v1/")


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"vendor": "nobody"}, "no vendor row 'nobody'"),
        ({"vendor": "azure", "base_url": None}, "no address of its own"),
        ({"base_url": "llm.example/v1"}, "not an http or https address"),
        ({"base_url": "https://user:secret-word@llm.example/v1"}, "holds credentials"),
        ({"base_url": "https://llm.example/v1?key=secret-word"}, "holds a query"),
        ({"base_url": "https://llm.example:secret-word/v1"}, "base_url is not valid"),
        ({"model": ""}, "model is empty"),
        ({"timeouts": 0}, "above 0"),
        ({"api_key": "key\nsecret-word"}, "no header can carry"),
        ({"headers": {"x-token": "secret-word\r\n"}}, "HTTP cannot carry"),
        ({"profile_overrides": {"no_such": 1}}, "no field 'no_such'"),
        ({"proxy": "http://proxy.example"}, "beside a transport of your own"),
        ({"max_retries": -1}, "max_retries must be a whole number from 0"),
        ({"retry": 2}, "retry must be a RetryPolicy, not int"),
        ({"defaults": {"temperature": 0}}, "defaults must be ChatRequestParameters, not dict"),
        ({"tool_mode": "schema"}, "tool_mode must be 'native' or 'json_schema'"),
    ],
)
def test_a_setting_that_cannot_be_honoured_is_found_at_once(
    options: dict[str, Any], what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AZURE_OPENAI_ENDPOINT", raising=False)
    with pytest.raises(ConfigurationError, match=what) as caught:
        model_on(FakeTransport(), **{"vendor": "generic", **options})
    assert caught.value.next_step and "secret-word" not in str(caught.value)


async def test_a_row_of_ones_own_brings_its_quirks() -> None:
    """A model that only streams is asked for a stream, and a plain reply is made of it."""
    row = replace(
        GENERIC,
        name="house",
        base_url="https://house.example/v1",
        stream_only="^live",
        stream_usage=False,
        thinking=ThinkingRule(models="^live", switch="enable_thinking"),
    )
    assert isinstance(vendor_row(row), VendorRow)
    transport = FakeTransport([sse(delta(content="hi"), delta("stop"))])
    model = OpenAiChatModel(model="live-1", vendor=row, transport=transport)
    response = await model.chat(ChatRequest("q"))
    assert response.ai_message.text == "hi"
    assert transport.bodies[0]["stream"] is True
    assert "stream_options" not in transport.bodies[0]
