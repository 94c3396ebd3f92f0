"""How the schemas of tools and answers go out to vendors that take less of JSON Schema than they say, or more than they
read well."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ChatRequest, ChatRequestParameters, ResponseFormat, ToolParameters, ToolSpecification
from agentforge_openai import subsets
from plugins.openai.tests.support import FakeTransport, exchange, model_on

TEXT = {"type": "string"}
POINT = {"type": "object", "properties": {"x": {"type": "number", "minimum": 1}}, "required": ["x"]}
REFERS = {"type": "object", "properties": {"p": {"$ref": "#/$defs/P"}}, "$defs": {"P": POINT}}
RECURSIVE = {"type": "object", "properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"$ref": "#/$defs/N"}}}


def tool(schema: dict[str, Any], name: str = "look") -> ToolSpecification:
    return ToolSpecification(name, "looks", ToolParameters(schema))


def sent(vendor: str, schema: dict[str, Any], **options: Any) -> tuple[Any, list[str]]:
    """The parameters that this schema goes out as, and the notices."""
    request = ChatRequest("q", ChatRequestParameters(tools=(tool(schema),)))
    body, response = exchange(request, vendor, **options)
    return body["tools"][0]["function"]["parameters"], [notice.code for notice in response.notices]


def test_a_local_server_gets_what_it_keeps_and_the_rest_in_words() -> None:
    made, _ = sent("ollama", {**REFERS, "additionalProperties": False})
    assert made == {
        "type": "object",
        "properties": {
            "p": {
                "type": "object",
                "properties": {"x": {"type": "number", "description": "minimum: 1"}},
                "required": ["x"],
            }
        },
        "required": [],
    }


def test_the_form_of_its_answer_is_what_its_grammar_holds() -> None:
    wanted = ResponseFormat.json_schema({**REFERS, "additionalProperties": False})
    body, _ = exchange(ChatRequest("q", ChatRequestParameters(response_format=wanted)), "ollama")
    made = body["response_format"]["json_schema"]["schema"]
    assert "$defs" not in made
    assert made["properties"]["p"]["properties"]["x"] == {"type": "number", "description": "minimum: 1"}


def test_both_ways_to_that_server_know_the_same_of_it() -> None:
    """They are written twice, as plugins do not import each other."""
    native = pytest.importorskip("agentforge_ollama.subsets")
    assert (subsets.OLLAMA, subsets.OLLAMA_FORMAT) == (native.TOOLS, native.FORMAT)


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        (REFERS, {"type": "object", "properties": {"p": POINT}}),
        (RECURSIVE, RECURSIVE),
        ({**REFERS, "pattern": "x"}, {"type": "object", "properties": {"p": POINT}, "pattern": "x"}),
    ],
    ids=["a definition", "one that holds itself", "any other keyword"],
)
def test_definitions_are_written_out_for_qwen_and_nothing_else_changes(
    schema: dict[str, Any], expected: dict[str, Any]
) -> None:
    """Also in the form of an answer, where it takes one."""
    assert sent("dashscope", schema) == (expected, [])
    wanted = ResponseFormat.json_schema(schema, strict=None)
    body, _ = exchange(
        ChatRequest("q", ChatRequestParameters(response_format=wanted)),
        "dashscope",
        profile_overrides={"response_formats": ["text", "json_schema"]},
    )
    assert body["response_format"]["json_schema"]["schema"] == expected
    assert sent("generic", schema) == (schema, [])


def test_qwen_has_no_tool_of_the_name_that_is_its_own() -> None:
    request = ChatRequest("q", ChatRequestParameters(tools=(tool({"type": "object"}, "search"),)))
    with pytest.raises(UnsupportedFeatureError, match="'search'"):
        asyncio.run(model_on(FakeTransport(), "dashscope").chat(request))
    body, _ = exchange(request, "dashscope", profile_overrides={"unsupported": {"tool_name": "map"}})
    assert body["tools"][0]["function"]["name"] not in ("search", "")


@pytest.mark.parametrize("name", sorted(subsets.KIMI.refused_names))
def test_kimi_refuses_properties_that_are_called_like_keywords(name: str) -> None:
    """Before anything is sent, or it gets the tool without them."""
    schema = {"type": "object", "properties": {name: TEXT, "a": TEXT}}
    with pytest.raises(UnsupportedFeatureError) as caught:
        sent("moonshot", schema)
    assert caught.value.details["feature"] == "tool_schema"
    made, codes = sent("moonshot", schema, profile_overrides={"unsupported": {"tool_schema": "drop"}})
    assert (list(made["properties"]), codes) == (["a"], ["schema_simplified"])


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({}, {"anyOf": [{"type": kind} for kind in ("string", "number", "boolean")]}),
        ({"type": ["string", "null"]}, {"anyOf": [TEXT, {"type": "null"}]}),
        ({"enum": ["a", 1]}, {"anyOf": [{"type": "string", "enum": ["a"]}, {"type": "integer", "enum": [1]}]}),
        ({"type": "string", "minLength": 1, "maxLength": 2}, {"type": "string", "minLength": 1, "maxLength": 2}),
        ({"type": "string", "pattern": "^a"}, {"type": "string", "description": "pattern: ^a"}),
        ({"type": "object", "additionalProperties": TEXT}, {"type": "object", "additionalProperties": TEXT}),
    ],
)
def test_a_property_at_kimi_says_its_one_type(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    made, _ = sent("moonshot", {"type": "object", "properties": {"a": schema}})
    found = made["properties"]["a"]
    if not schema:  # lists and objects of anything follow
        assert found["anyOf"][:3] == expected["anyOf"]
        assert all("type" in branch for branch in found["anyOf"])
    else:
        assert found == expected
