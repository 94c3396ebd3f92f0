"""What parameters become in a request's body."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ResponseFormat,
    SystemMessage,
    ToolChoice,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.anthropic.tests.support import FakeTransport, body_of, exchange, model_on, notice_codes
from tests.support.wire_exchange import TIME, WEATHER

BASE = {
    "model": "claude-sonnet-4-5",
    "max_tokens": 8000,
    "messages": [{"role": "user", "content": [{"type": "text", "text": "Hello"}]}],
}
WIRE_TOOL = {
    "name": "get_weather",
    "description": "current weather of a city",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string", "description": "name of the city"}},
        "required": ["city"],
        "additionalProperties": False,
    },
}
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, {}),
        ({"temperature": 0.5}, {"temperature": 0.5}),
        ({"top_p": 0.9}, {"top_p": 0.9}),
        ({"max_output_tokens": 100}, {"max_tokens": 100}),
        ({"stop": ["END", "STOP"]}, {"stop_sequences": ["END", "STOP"]}),
        ({"model_name": "claude-haiku-4-5"}, {"model": "claude-haiku-4-5"}),
        ({"response_format": ResponseFormat.TEXT}, {}),
        (
            {"response_format": ResponseFormat.json_schema(SCHEMA)},
            {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}}},
        ),
        ({"custom_parameters": {"top_k": 5, "metadata": {"user_id": "u"}}}, {"top_k": 5, "metadata": {"user_id": "u"}}),
        ({"custom_parameters": {"max_tokens": 7}}, {"max_tokens": 7}),
        (
            {
                "response_format": ResponseFormat.json_schema(SCHEMA),
                "custom_parameters": {"output_config": {"task_budget": 1}},
            },
            {"output_config": {"format": {"type": "json_schema", "schema": SCHEMA}, "task_budget": 1}},
        ),
    ],
)
def test_a_parameter_has_its_member(parameters: dict[str, Any], expected: dict[str, Any]) -> None:
    """``max_tokens`` has to be there; nothing else is sent unless it was set."""
    assert body_of("Hello", ChatRequestParameters(**parameters)) == {**BASE, **expected}


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("claude-opus-5-5", 32_000),
        ("claude-opus-4-6", 32_000),
        ("claude-haiku-4-5", 8_000),
        ("claude-3-5-haiku-20241022", 8_192),
        ("claude-3-haiku-20240307", 4_096),
        ("somebody-elses", 8_192),
    ],
)
def test_max_tokens_is_set_by_the_models_family(model: str, limit: int) -> None:
    assert body_of(model=model)["max_tokens"] == limit


def test_tools_are_sent_in_their_form() -> None:
    assert body_of("Hello", ChatRequestParameters(tools=[WEATHER])) == {**BASE, "tools": [WIRE_TOOL]}
    bare = body_of("Hello", ChatRequestParameters(tools=[ToolSpecification("now")]))
    schema = {"type": "object", "properties": {}, "required": [], "additionalProperties": False}
    assert bare["tools"] == [{"name": "now", "input_schema": schema}]


def test_a_name_that_the_api_refuses_goes_under_an_alias_or_is_refused() -> None:
    tool = ToolSpecification("files/read file", "reads", WEATHER.parameters)
    parameters = ChatRequestParameters(tools=[tool], tool_choice="files/read file")
    answer = {"type": "tool_use", "id": "c", "name": "files_read_file_d6387ca2", "input": {}}
    body, response = exchange("Hello", parameters, {"content": [answer], "stop_reason": "tool_use"})
    assert body["tools"][0]["name"] == body["tool_choice"]["name"] == "files_read_file_d6387ca2"
    assert response.ai_message.tool_execution_requests[0].name == "files/read file"
    with pytest.raises(UnsupportedFeatureError):
        body_of("Hello", parameters, names="error")


@pytest.mark.parametrize(
    ("choice", "parallel", "expected"),
    [
        (None, None, None),
        (None, True, None),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("auto", None, {"type": "auto"}),
        ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("none", None, {"type": "none"}),
        ("none", False, {"type": "none"}),
        ("required", None, {"type": "any"}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        ("get_time", True, {"type": "tool", "name": "get_time"}),
        ("get_time", False, {"type": "tool", "name": "get_time", "disable_parallel_tool_use": True}),
    ],
)
def test_every_tool_choice_has_its_form(choice: Any, parallel: bool | None, expected: Any) -> None:
    """That calls may not come side by side is said inside of it."""
    parameters = ChatRequestParameters(tools=[WEATHER, TIME], tool_choice=choice, parallel_tool_calls=parallel)
    assert body_of("Hello", parameters).get("tool_choice") == expected


@pytest.mark.parametrize(("required", "expected"), [(False, None), (True, {"type": "any"})])
def test_an_allowed_list_narrows_the_tools_and_says_so(required: bool, expected: Any) -> None:
    choice = ToolChoice.allowed(["get_time"], required=required)
    body, response = exchange("Hello", ChatRequestParameters(tools=[WEATHER, TIME], tool_choice=choice))
    assert [tool["name"] for tool in body["tools"]] == ["get_time"]
    assert body.get("tool_choice") == expected
    assert [(notice.code, notice.details) for notice in response.notices] == [
        ("tools_narrowed", {"offered": ["get_time"]})
    ]
    everything = ToolChoice.allowed(["get_weather", "get_time"])
    assert notice_codes("Hello", ChatRequestParameters(tools=[WEATHER, TIME], tool_choice=everything)) == []


@pytest.mark.parametrize(
    ("parameters", "feature"),
    [
        ({"response_format": ResponseFormat.JSON}, "response_format.json"),
        ({"seed": 1}, "seed"),
        ({"temperature": 0.5, "top_p": 0.9}, "top_p_with_temperature"),
        ({"tools": [WEATHER], "tool_choice": "get_rich"}, "tool_choice"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"custom_parameters": {"messages": []}}, "custom_parameters.messages"),
        ({"custom_parameters": {"system": "s"}}, "custom_parameters.system"),
        ({"custom_parameters": {"stream": True}}, "custom_parameters.stream"),
    ],
)
def test_what_cannot_be_said_is_refused_before_anything_is_sent(parameters: dict[str, Any], feature: str) -> None:
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("Hello", ChatRequestParameters(**parameters))
    assert caught.value.details["feature"] == feature
    assert caught.value.next_step


@pytest.mark.parametrize(
    ("parameters", "feature"),
    [
        ({"response_format": ResponseFormat.JSON}, "response_format"),
        ({"seed": 1}, "seed"),
        ({"temperature": 0.5, "top_p": 0.9}, "top_p_with_temperature"),
    ],
)
def test_what_a_user_lets_drop_is_left_out_with_a_notice(parameters: dict[str, Any], feature: str) -> None:
    body, response = exchange(
        "Hello", ChatRequestParameters(**parameters), profile_overrides={"unsupported": {feature: "drop"}}
    )
    assert set(body) - {"temperature"} == set(BASE)
    assert [notice.code for notice in response.notices] == ["feature_dropped"]


def test_tools_of_the_providers_own_stand_beside_ours() -> None:
    search = {"type": "web_search_20250305", "name": "web_search"}
    custom = {"tools": [search]}
    both = body_of("Hello", ChatRequestParameters(tools=[WEATHER], custom_parameters=custom))
    assert both["tools"] == [WIRE_TOOL, search]
    assert body_of("Hello", ChatRequestParameters(custom_parameters=custom))["tools"] == [search]


def test_a_value_that_is_no_json_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError):
        body_of("Hello", ChatRequestParameters(custom_parameters={"metadata": object()}))


# -- strict ---------------------------------------------------------------------------------------


def strict(schema: dict[str, Any], mode: Any = True) -> ToolSpecification:
    return ToolSpecification("look", "looks", ToolParameters(schema), strict=mode)


def test_a_strict_tool_says_so_and_is_closed() -> None:
    [tool] = body_of(
        "Hello", ChatRequestParameters(tools=[strict({"type": "object", "properties": {"a": {"type": "string"}}})])
    )["tools"]
    assert tool["strict"] is True
    assert tool["input_schema"]["additionalProperties"] is False


def test_a_tool_that_cannot_be_strict_goes_without_and_that_is_said() -> None:
    body, response = exchange(
        "Hello", ChatRequestParameters(tools=[strict({"type": "object", "additionalProperties": {"type": "string"}})])
    )
    assert "strict" not in body["tools"][0]
    assert [notice.code for notice in response.notices] == ["not_strict"]


def test_a_model_without_strict_tools_refuses_or_drops_them() -> None:
    parameters = ChatRequestParameters(tools=[strict({"type": "object"})])
    with pytest.raises(UnsupportedFeatureError):
        body_of("Hello", parameters, model="claude-3-5-haiku-20241022")
    drop = {"unsupported": {"strict_tools": "drop"}}
    body = body_of("Hello", parameters, model="claude-3-5-haiku-20241022", profile_overrides=drop)
    assert "strict" not in body["tools"][0]


def test_a_schema_of_an_answer_that_the_provider_cannot_hold_is_refused_or_dropped() -> None:
    """The provider holds to every schema; where that was not asked for, it may try."""
    schema = {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}
    loose = ChatRequestParameters(response_format=ResponseFormat.json_schema(schema, strict=None))
    body, response = exchange("Hello", loose)
    assert body["output_config"]["format"]["schema"] == schema
    assert [notice.code for notice in response.notices] == ["schema_as_it_is"]
    parameters = ChatRequestParameters(response_format=ResponseFormat.json_schema(schema))
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("Hello", parameters)
    assert caught.value.details["feature"] == "response_format.json_schema"
    drop = {"unsupported": {"response_format.json_schema": "drop"}}
    body, response = exchange("Hello", parameters, profile_overrides=drop)
    assert "output_config" not in body
    assert [notice.code for notice in response.notices] == ["feature_dropped"]


# -- caching --------------------------------------------------------------------------------------

EPHEMERAL = {"type": "ephemeral"}


@pytest.mark.parametrize(
    ("cache", "marks"),
    [
        ("off", []),
        ("auto", ["body"]),
        ("tools", ["tools"]),
        ("system", ["system"]),
        ("tools_and_system", ["tools", "system"]),
        ("all", ["body", "tools", "system"]),
    ],
)
@pytest.mark.parametrize(("ttl", "mark"), [("5m", EPHEMERAL), ("1h", {**EPHEMERAL, "ttl": "1h"})])
def test_marks_for_the_providers_cache(cache: str, marks: list[str], ttl: str, mark: dict[str, str]) -> None:
    """On the last tool, on the last of the instructions, or left to the provider."""
    messages = [SystemMessage("a"), SystemMessage("b"), UserMessage("q")]
    body = body_of(messages, ChatRequestParameters(tools=[WEATHER, TIME]), cache=cache, cache_ttl=ttl)
    found = {
        "body": body.get("cache_control"),
        "tools": body["tools"][-1].get("cache_control"),
        "system": body["system"][-1].get("cache_control"),
    }
    assert found == {place: mark if place in marks else None for place in found}
    assert not any("cache_control" in each for each in (body["tools"][0], body["system"][0]))


def test_a_mark_of_ones_own_on_the_last_tool_stays() -> None:
    search = {"type": "web_search_20250305", "name": "web_search", "cache_control": {"type": "ephemeral", "ttl": "1h"}}
    parameters = ChatRequestParameters(tools=[WEATHER], custom_parameters={"tools": [search]})
    assert body_of("Hello", parameters, cache="tools")["tools"] == [WIRE_TOOL, search]


def test_without_tools_and_instructions_there_is_nothing_to_mark() -> None:
    assert body_of("Hello", cache="tools_and_system") == BASE


# -- the rest -------------------------------------------------------------------------------------


def test_defaults_of_the_model_lie_below_the_requests_parameters() -> None:
    defaults = ChatRequestParameters(max_output_tokens=9, stop="END")
    body = body_of("Hello", ChatRequestParameters(max_output_tokens=7), defaults=defaults)
    assert (body["max_tokens"], body["stop_sequences"]) == (7, ["END"])


async def test_only_streams_carry_the_stream_flag() -> None:
    transport = FakeTransport()
    model = model_on(transport)
    await model.chat(ChatRequest("q"))
    [_ async for _ in model.stream(ChatRequest("q"))]
    assert [body.get("stream") for body in transport.bodies] == [None, True]


def test_what_would_be_sent_can_be_seen_before() -> None:
    body, notices = model_on().preview(ChatRequest([UserMessage("q"), AiMessage("a "), UserMessage("r", name="ann")]))
    assert b'"messages":[{"role":"user"' in body
    assert [notice.code for notice in notices] == ["user_name_left_out"]


def test_a_request_holds_twenty_strict_tools_and_no_more() -> None:
    """The others go without, and each says so."""
    schema = ToolParameters({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]})
    tools = [ToolSpecification(f"tool_{number}", "does", schema, strict=True) for number in range(22)]
    body, response = exchange("Hello", ChatRequestParameters(tools=tools))
    assert sum(tool.get("strict", False) for tool in body["tools"]) == 20
    assert [notice.code for notice in response.notices] == ["not_strict"] * 2
