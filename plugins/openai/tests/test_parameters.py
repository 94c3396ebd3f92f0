"""What the parameters of a request become in the body."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import (
    ChatRequest,
    ChatRequestParameters,
    ResponseFormat,
    ToolChoice,
    ToolParameters,
    ToolSpecification,
)
from plugins.openai.tests.support import WEATHER, FakeTransport, exchange, model_on

TIME = ToolSpecification("get_time", "the time")


def body_of(vendor: str = "generic", *, options: dict[str, Any] | None = None, **parameters: Any) -> dict[str, Any]:
    body, _ = exchange(ChatRequest("q", ChatRequestParameters(**parameters)), vendor, **(options or {}))
    return body


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, {}),
        ({"temperature": 0.0}, {"temperature": 0.0}),
        ({"top_p": 0.5}, {"top_p": 0.5}),
        ({"max_output_tokens": 9}, {"max_tokens": 9}),
        ({"stop": ["a", "b"]}, {"stop": ["a", "b"]}),
        ({"seed": 7}, {"seed": 7}),
        ({"reasoning_effort": "low"}, {"reasoning_effort": "low"}),
        ({"model_name": "another"}, {"model": "another"}),
        ({"custom_parameters": {"top_k": 3, "safe": {"on": True}}}, {"top_k": 3, "safe": {"on": True}}),
        ({"custom_parameters": {"temperature": 1}, "temperature": 0.2}, {"temperature": 1}),
        ({"response_format": ResponseFormat.TEXT}, {}),
        ({"response_format": ResponseFormat.JSON}, {"response_format": {"type": "json_object"}}),
        ({"tool_choice": "auto"}, {}),
        ({"parallel_tool_calls": False}, {}),
        ({"tools": []}, {}),
    ],
)
def test_a_parameter_is_sent_only_when_it_is_set(parameters: dict[str, Any], expected: dict[str, Any]) -> None:
    """No key with a default or an empty list: many servers refuse what they do not know."""
    expected = {"model": "some-model", "messages": [{"role": "user", "content": "q"}], **expected}
    assert body_of(**parameters) == expected


def test_tools_are_sent_in_the_functions_form() -> None:
    assert body_of(tools=[WEATHER])["tools"] == [
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


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"},
        {"$schema": "http://json-schema.org/draft-07/schema#"},
        {"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object", "properties": {}},
    ],
)
def test_a_schema_is_completed_to_an_object_with_properties(schema: dict[str, Any]) -> None:
    """Case MC-26: servers refuse less, and ``$schema`` is left out."""
    tool = ToolSpecification("a", parameters=ToolParameters(schema))
    function = body_of(tools=[tool])["tools"][0]["function"]
    assert function == {"name": "a", "parameters": {"type": "object", "properties": {}}}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        ("auto", "auto"),
        ("none", "none"),
        ("required", "required"),
        ("get_time", {"type": "function", "function": {"name": "get_time"}}),
        (
            ToolChoice.allowed(["get_time"]),
            {
                "type": "allowed_tools",
                "allowed_tools": {"mode": "auto", "tools": [{"type": "function", "function": {"name": "get_time"}}]},
            },
        ),
        (
            ToolChoice.allowed(["get_time"], required=True),
            {
                "type": "allowed_tools",
                "allowed_tools": {
                    "mode": "required",
                    "tools": [{"type": "function", "function": {"name": "get_time"}}],
                },
            },
        ),
    ],
)
def test_every_tool_choice_has_its_form(choice: Any, expected: Any) -> None:
    body = body_of("openai", tools=[WEATHER, TIME], tool_choice=choice)
    assert body["tool_choice"] == expected
    assert [tool["function"]["name"] for tool in body["tools"]] == ["get_weather", "get_time"]


@pytest.mark.parametrize("flag", [True, False])
def test_the_parallel_flag_is_sent_when_it_was_set(flag: bool) -> None:
    assert body_of(tools=[TIME], parallel_tool_calls=flag)["parallel_tool_calls"] is flag


@pytest.mark.parametrize(
    ("parameters", "what"),
    [
        ({"tool_choice": "required"}, "forces a call, and the request offers no tools"),
        ({"tool_choice": "get_time", "tools": [WEATHER]}, "'get_time'"),
        ({"tool_choice": ToolChoice.allowed(["x"]), "tools": [WEATHER]}, "'x'"),
        ({"custom_parameters": {"messages": []}}, "'messages'"),
        ({"custom_parameters": {"stream": True}}, "'stream'"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_it_is_sent(parameters: dict[str, Any], what: str) -> None:
    transport = FakeTransport()
    with pytest.raises(UnsupportedFeatureError, match=what):
        asyncio.run(model_on(transport).chat(ChatRequest("q", ChatRequestParameters(**parameters))))
    assert transport.requests == []


def test_tools_of_the_vendors_own_stand_beside_ours() -> None:
    own = {"type": "web_search"}
    assert body_of(tools=[TIME], custom_parameters={"tools": [own]})["tools"][1] == own
    assert body_of(custom_parameters={"tools": [own]})["tools"] == [own]


def test_a_value_that_is_no_json_is_a_configuration_error() -> None:
    with pytest.raises(ConfigurationError, match="cannot be written as JSON"):
        body_of(custom_parameters={"x": float("nan")})


@pytest.mark.parametrize("key", [1, None, ("a",)])
def test_a_custom_parameter_has_a_text_as_its_name(key: Any) -> None:
    transport = FakeTransport()
    parameters = ChatRequestParameters(custom_parameters={key: 2})
    with pytest.raises(ConfigurationError, match="custom_parameters has the key"):
        asyncio.run(model_on(transport).chat(ChatRequest("q", parameters)))
    assert transport.requests == []


def test_a_response_schema_is_sent_strict_and_fitted() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    wanted = ResponseFormat.json_schema(schema, name="reply", description="d")
    assert body_of(response_format=wanted)["response_format"] == {
        "type": "json_schema",
        "json_schema": {
            "name": "reply",
            "schema": {
                "type": "object",
                "properties": {"a": {"type": ["string", "null"]}},
                "required": ["a"],
                "additionalProperties": False,
            },
            "description": "d",
            "strict": True,
        },
    }


def test_a_response_schema_without_strict_is_sent_as_it_is() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string"}}}
    sent = body_of(response_format=ResponseFormat.json_schema(schema, strict=None))["response_format"]
    assert sent == {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema}}


def test_defaults_of_the_model_lie_below_the_requests_parameters() -> None:
    defaults = ChatRequestParameters(temperature=0.1, seed=1, tools=(TIME,))
    body = body_of(options={"defaults": defaults}, temperature=0.9)
    assert (body["temperature"], body["seed"], body["tools"][0]["function"]["name"]) == (0.9, 1, "get_time")


async def test_only_streams_carry_the_stream_flags() -> None:
    transport = FakeTransport([b'data: {"choices":[{"delta":{"content":"x"},"finish_reason":"stop"}]}\n\n'])
    model = model_on(transport)
    async for _ in model.stream(ChatRequest("q")):
        pass
    assert transport.bodies[0]["stream"] is True
    assert transport.bodies[0]["stream_options"] == {"include_usage": True}
