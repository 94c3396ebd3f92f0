"""Tools of a request: the OpenAI form, and of their schemas what the server keeps."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ConfigurationError, UnsupportedFeatureError
from agentforge.model import ChatRequestParameters, ToolChoice, ToolParameters, ToolSpecification
from plugins.ollama.tests.support import body_of, exchange, model_on
from tests.support.wire_exchange import TIME, WEATHER

#: The members of a property that the server reads; any other is dropped there without a word.
KEPT = {"anyOf", "description", "enum", "items", "properties", "required", "type"}


def sent(*properties: Any, **schema: Any) -> dict[str, Any]:
    """The parameters of one tool as they are sent; a property that is given is called ``a``."""
    made = {"type": "object", "properties": {"a": properties[0]} if properties else {}, **schema}
    tool = ToolSpecification("t", "d", ToolParameters(made))
    return dict(body_of("q", ChatRequestParameters(tools=[tool]))["tools"][0]["function"]["parameters"])


def test_tools_are_in_openais_form() -> None:
    """An empty list is no list; a tool without a description has none."""
    bare = ToolSpecification("bare", None, ToolParameters({}))
    assert body_of("q", ChatRequestParameters(tools=[WEATHER, bare]))["tools"] == [
        {
            "type": "function",
            "function": {
                "name": "get_weather",
                "description": "current weather of a city",
                "parameters": {
                    "type": "object",
                    "properties": {"city": {"type": "string", "description": "name of the city"}},
                    "required": ["city"],
                },
            },
        },
        {
            "type": "function",
            "function": {"name": "bare", "parameters": {"type": "object", "properties": {}, "required": []}},
        },
    ]
    assert "tools" not in body_of("q")


@pytest.mark.parametrize(
    ("given", "property"),
    [
        ({"type": "string", "title": "A", "examples": ["x"]}, {"type": "string"}),
        ({"type": "string", "default": "x"}, {"type": "string", "description": 'default: "x"'}),
        (
            {"type": "integer", "description": "how many", "minimum": 1, "maximum": 9},
            {"type": "integer", "description": "how many (minimum: 1; maximum: 9)"},
        ),
        (
            {"type": "string", "pattern": "^a", "format": "date", "minLength": 2},
            {"type": "string", "description": "pattern: ^a; format: date; minLength: 2"},
        ),
        (
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "uniqueItems": True},
            {"type": "array", "items": {"type": "string"}, "description": "minItems: 1; uniqueItems: true"},
        ),
        ({"const": 3}, {"type": "integer", "enum": [3]}),
        ({"type": ["string", "null"], "enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"anyOf": [{"type": "string"}, {"type": "integer"}]}),
        (
            {
                "type": "object",
                "properties": {"b": {"type": "number"}},
                "required": ["b"],
                "additionalProperties": False,
            },
            {"type": "object", "properties": {"b": {"type": "number"}}, "required": ["b"]},
        ),
    ],
    ids=["hints", "default", "bounds", "texts", "lists", "const", "null", "oneOf", "closed"],
)
def test_what_the_server_would_drop_is_said_in_words(given: dict[str, Any], property: dict[str, Any]) -> None:
    assert sent(given)["properties"]["a"] == property


def test_references_are_written_out() -> None:
    """A property's own is dropped by the server, and so the model would see nothing of it."""
    city = {"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}, "required": ["name"]}
    made = sent({"$ref": "#/$defs/City"}, **{"$defs": {"City": city}}, required=["a"])
    assert made == {
        "type": "object",
        "properties": {
            "a": {
                "type": "object",
                "properties": {"name": {"type": "string", "description": "maxLength: 9"}},
                "required": ["name"],
            }
        },
        "required": ["a"],
    }


def test_nothing_is_sent_that_the_server_does_not_keep() -> None:
    """In no place of a schema that has much of what JSON Schema has."""
    made = sent(
        {
            "anyOf": [
                {"$ref": "#/$defs/Point"},
                {"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]},
                {"type": "string", "format": "uri", "contentEncoding": "base64"},
            ],
            "title": "A",
        },
        **{"$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number", "multipleOf": 0.5}}}}},
        title="Arguments",
        additionalProperties=False,
    )

    def check(node: dict[str, Any]) -> None:
        assert node.keys() <= KEPT, node
        for inner in (*node.get("properties", {}).values(), *node.get("anyOf", ())):
            check(inner)
        if "items" in node:
            check(node["items"])

    assert made.keys() == {"type", "properties", "required"}
    for inner in made["properties"].values():
        check(inner)


def test_a_description_of_the_whole_goes_to_the_tools_own() -> None:
    """At the root the server has no place for one."""
    schema = ToolParameters({"type": "object", "properties": {}, "description": "Give nothing.", "minProperties": 1})
    tools = [ToolSpecification("t", "Does it.", schema), ToolSpecification("u", None, schema)]
    functions = [one["function"] for one in body_of("q", ChatRequestParameters(tools=tools))["tools"]]
    assert [one["description"] for one in functions] == [
        "Does it.\nGive nothing. (minProperties: 1)",
        "Give nothing. (minProperties: 1)",
    ]
    assert all("description" not in one["parameters"] for one in functions)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"$ref": "#/$defs/None"}, "not inside the schema"),
        ({"type": "array", "items": {"$ref": "https://a.example/b"}}, "not inside the schema"),
    ],
    ids=["a reference to nothing", "a reference to elsewhere"],
)
def test_a_schema_without_a_form_is_refused_with_the_reason(given: dict[str, Any], reason: str) -> None:
    """Before anything is sent; by a policy it goes without the parts that have none, with a notice."""
    schema = ToolParameters({"type": "object", "properties": {"a": given}, "required": ["a"]})
    parameters = ChatRequestParameters(tools=[ToolSpecification("t", "d", schema)])
    with pytest.raises(UnsupportedFeatureError, match=reason) as caught:
        body_of("q", parameters)
    assert "tool 't'" in caught.value.message and "tool_schema" in (caught.value.next_step or "")
    _, response = exchange("q", parameters, profile_overrides={"unsupported": {"tool_schema": "drop"}})
    assert [notice.code for notice in response.notices] == ["schema_simplified"]


@pytest.mark.parametrize(
    ("schema", "made"),
    [
        (
            {
                "properties": {"a": {"$ref": "#/$defs/Node"}},
                "$defs": {"Node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Node"}}}},
            },
            {
                "a": {
                    "type": "object",
                    "properties": {"next": {"type": "object"}},
                    "required": [],
                }
            },
        ),
        ({"properties": {"a": {"type": "string", "not": {"enum": ["x"]}}}}, {"a": {"type": "string"}}),
    ],
    ids=["recursive", "not"],
)
def test_what_no_words_say_is_told_in_a_notice(schema: dict[str, Any], made: dict[str, Any]) -> None:
    """The arguments are checked against the whole schema all the same."""
    tool = ToolSpecification("t", "d", ToolParameters({"type": "object", **schema}))
    body, response = exchange("q", ChatRequestParameters(tools=[tool]))
    assert body["tools"][0]["function"]["parameters"]["properties"] == made
    assert [notice.code for notice in response.notices] == ["schema_simplified"]


@pytest.mark.parametrize(
    ("given", "made"),
    [
        ({}, {}),
        ({"type": "array"}, {"type": "array"}),
        (
            {"type": "object", "additionalProperties": {"type": "integer"}},
            {"type": "object", "description": "keys of any name, each of type integer"},
        ),
    ],
    ids=["anything", "any list", "a mapping"],
)
def test_open_values_stay_open(given: dict[str, Any], made: dict[str, Any]) -> None:
    """As they are for many tools of HTTP APIs and MCP servers."""
    assert sent(given)["properties"]["a"] == made


def test_names_have_aliases_that_are_taken_back() -> None:
    tool = ToolSpecification("files/read", "d", WEATHER.parameters)
    preview = model_on().preview_tools([tool])
    alias = preview.aliases["files/read"]
    assert preview.tools[0]["function"]["name"] == alias
    answer = {"message": {"tool_calls": [{"function": {"name": alias, "arguments": {}}}]}, "done": True}
    _, response = exchange("q", ChatRequestParameters(tools=[tool]), answer)
    assert response.ai_message.tool_execution_requests[0].name == "files/read"
    with pytest.raises(UnsupportedFeatureError, match="files/read"):
        body_of("q", ChatRequestParameters(tools=[tool]), names="error")


# -- what the server has no word for --------------------------------------------------------------


@pytest.mark.parametrize("vendor", ["ollama", "ollama-cloud", "generic"])
@pytest.mark.parametrize(
    ("asked", "feature"),
    [
        ({"tool_choice": "required"}, "tool_choice.required"),
        ({"tool_choice": "get_weather"}, "tool_choice.tool"),
        ({"tool_choice": ToolChoice.allowed(["get_time"], required=True)}, "tool_choice.required"),
        ({"parallel_tool_calls": False}, "parallel_tool_calls"),
    ],
)
def test_what_would_be_passed_over_in_silence_is_refused(vendor: str, asked: dict[str, Any], feature: str) -> None:
    """Or left out with a notice, where the policy says so."""
    parameters = ChatRequestParameters(tools=[WEATHER, TIME], **asked)
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", parameters, vendor=vendor)
    assert caught.value.details["feature"] == feature
    # An override of what the model can would change nothing.
    assert f"{feature}: drop" in (caught.value.next_step or "") and "[" not in (caught.value.next_step or "")
    lenient = {"unsupported": {feature: "drop"}}
    body, response = exchange("q", parameters, vendor=vendor, profile_overrides=lenient)
    assert "feature_dropped" in [notice.code for notice in response.notices]
    assert not {"tool_choice", "parallel_tool_calls"} & body.keys() and body["tools"]


@pytest.mark.parametrize(
    ("asked", "offered", "notices"),
    [
        ({}, ["get_weather", "get_time"], []),
        ({"tool_choice": "auto"}, ["get_weather", "get_time"], []),
        ({"tool_choice": "none"}, None, []),
        ({"tool_choice": ToolChoice.allowed(["get_time"])}, ["get_time"], ["tools_narrowed"]),
        ({"parallel_tool_calls": True}, ["get_weather", "get_time"], []),
    ],
    ids=["nothing", "auto", "none", "allowed", "parallel"],
)
def test_what_can_be_said_otherwise_is(asked: dict[str, Any], offered: list[str] | None, notices: list[str]) -> None:
    """No tool is to be called: none are offered. Some may be: only these are."""
    body, response = exchange("q", ChatRequestParameters(tools=[WEATHER, TIME], **asked))
    found = [tool["function"]["name"] for tool in body["tools"]] if "tools" in body else None
    assert found == offered and not {"tool_choice", "parallel_tool_calls"} & body.keys()
    assert [notice.code for notice in response.notices] == notices


def test_strict_is_refused_and_the_mildest_form_of_it_passed_over() -> None:
    strict = ToolSpecification(WEATHER.name, WEATHER.description, WEATHER.parameters, strict=True)
    with pytest.raises(UnsupportedFeatureError) as caught:
        body_of("q", ChatRequestParameters(tools=[strict]))
    assert caught.value.details["feature"] == "strict_tools"
    auto = ToolSpecification(WEATHER.name, WEATHER.description, WEATHER.parameters, strict="auto")
    body, response = exchange("q", ChatRequestParameters(tools=[auto]))
    assert body == body_of("q", ChatRequestParameters(tools=[WEATHER])) and response.notices == ()


@pytest.mark.parametrize(
    "overrides",
    [
        {"tool_choice": ["auto", "required"]},
        {"tool_choice": ["auto", "tool"]},
        {"tool_choice": ["none"], "unsupported": {"tool_choice.none": "error"}},
        {"parallel_tool_calls": "settable"},
        {"strict_tools": True},
        {"files": True},
        {"unsupported": {"tool_choice.required": "map"}},
    ],
)
def test_no_override_adds_what_the_form_has_no_place_for(overrides: dict[str, Any]) -> None:
    """It would be left out of the request without a word, so it is refused when the model is made."""
    with pytest.raises(ConfigurationError) as caught:
        body_of("q", ChatRequestParameters(tools=[WEATHER]), profile_overrides=overrides)
    assert f"profile_overrides.{next(reversed(overrides))}" in caught.value.message or "tool_choice" in overrides
    assert caught.value.next_step


@pytest.mark.parametrize(
    "overrides",
    [{"tool_choice": ["auto", "none", "allowed"]}, {"parallel_tool_calls": "always"}, {"strict_tools": False}],
)
def test_an_override_of_what_can_be_said_otherwise_is_taken(overrides: dict[str, Any]) -> None:
    """That no tool is to be called, or one of some, needs no field."""
    for choice in ("none", ToolChoice.allowed(["get_weather"])):
        parameters = ChatRequestParameters(tools=[WEATHER], tool_choice=choice)
        assert "tool_choice" not in body_of("q", parameters, profile_overrides=overrides)
