"""Strict tools: sent only when asked, only in the subset, never together with parallel calls where that voids them."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest

from agentforge.model import ChatRequest, ChatRequestParameters, ToolParameters, ToolSpecification
from agentforge_openai.vendors import GENERIC
from plugins.openai.tests.support import GOOD, FakeTransport, exchange, model_on


def tool(schema: dict[str, Any], *, strict: bool | None = True) -> ToolSpecification:
    return ToolSpecification("a", "does", ToolParameters(schema), strict)


def sent(schema: dict[str, Any], vendor: str = "openai", **options: Any) -> tuple[dict[str, Any], list[str]]:
    parameters = ChatRequestParameters(tools=(tool(schema),))
    body, response = exchange(ChatRequest("q", parameters), vendor, **options)
    return body["tools"][0]["function"], [notice.code for notice in response.notices]


@pytest.mark.parametrize("strict", [None, False])
def test_strict_is_not_mentioned_unless_asked(strict: bool | None) -> None:
    parameters = ChatRequestParameters(tools=(tool({"type": "object"}, strict=strict),))
    body, _ = exchange(ChatRequest("q", parameters), "openai")
    assert "strict" not in body["tools"][0]["function"]
    assert "parallel_tool_calls" not in body


def test_a_row_can_say_that_false_must_be_said() -> None:
    """Some vendors are strict by default."""
    transport = FakeTransport(GOOD)
    model = model_on(transport, replace(GENERIC, sends_strict_false=True), base_url="https://llm.example/v1")
    parameters = ChatRequestParameters(tools=(tool({"type": "object"}, strict=None),))
    asyncio.run(model.chat(ChatRequest("q", parameters)))
    assert transport.bodies[0]["tools"][0]["function"]["strict"] is False


def test_every_object_is_closed_and_optional_members_become_nullable() -> None:
    """Case SC-11: also nodes without a type, or with object among several types."""
    function, notices = sent(
        {"properties": {"a": {"type": ["object", "null"], "properties": {"b": {"type": "string"}}}}}
    )
    assert function["strict"] is True
    root = function["parameters"]
    assert (root["type"], root["additionalProperties"], root["required"]) == ("object", False, ["a"])
    inner = root["properties"]["a"]
    assert (inner["additionalProperties"], inner["required"]) == (False, ["b"])
    assert inner["properties"]["b"]["type"] == ["string", "null"]
    assert notices == []


@pytest.mark.parametrize("vendor", ["openai", "azure", "generic"])
def test_an_open_object_is_sent_without_strict_and_with_a_notice(vendor: str) -> None:
    """Case SC-10: an empty ``additionalProperties`` means that anything goes."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {}}
    function, notices = sent(schema, vendor)
    assert "strict" not in function
    assert function["parameters"] == schema
    assert notices == ["not_strict"]


def test_keywords_outside_the_subset_are_taken_out_with_a_notice() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "minLength": 2}}, "required": ["a"]}
    function, notices = sent(schema)
    assert function["strict"] is True
    assert "minLength" not in function["parameters"]["properties"]["a"]
    assert notices == ["schema_narrowed"]


def test_deepseek_is_told_of_more_keywords_and_properties_of_their_name_stay() -> None:
    schema = {
        "type": "object",
        "properties": {"pattern": {"type": "string", "pattern": "^a"}, "n": {"type": "integer", "minimum": 1}},
        "required": ["pattern", "n"],
        "additionalProperties": False,
    }
    function, notices = sent(schema, "deepseek", base_url="https://api.deepseek.com/beta")
    assert function["strict"] is True
    assert function["parameters"]["properties"] == {
        "pattern": {"type": "string", "description": "pattern: ^a"},
        "n": {"type": "integer", "description": "minimum: 1"},
    }
    assert notices == ["schema_narrowed", "schema_narrowed"]


def test_refused_keywords_are_found_wherever_schemas_nest() -> None:
    text = {"type": "string", "format": "date"}
    schema = {
        "type": "object",
        "properties": {
            "list": {"type": "array", "items": text, "minItems": 1},
            "either": {"anyOf": [text, {"type": "null"}]},
            "word": {"type": "string", "enum": ["format", "pattern"]},
            "other": {"$ref": "#/$defs/day"},
        },
        "required": ["list", "either", "word", "other"],
        "additionalProperties": False,
        "$defs": {"day": text},
    }
    function, _ = sent(schema, "deepseek", base_url="https://api.deepseek.com/beta")
    plain = {"type": "string", "description": "format: date"}
    assert function["parameters"]["properties"] == {
        "list": {"type": "array", "items": plain, "description": "minItems: 1"},
        "either": {"anyOf": [plain, {"type": "null"}]},
        "word": {"type": "string", "enum": ["format", "pattern"]},
        "other": {"$ref": "#/$defs/day"},
    }
    assert function["parameters"]["$defs"] == {"day": plain}


def test_strict_elsewhere_leaves_the_parallel_flag_alone() -> None:
    parameters = ChatRequestParameters(tools=(tool({"type": "object"}),), parallel_tool_calls=True)
    body, _ = exchange(ChatRequest("q", parameters), "generic")
    assert (body["parallel_tool_calls"], body["tools"][0]["function"]["strict"]) == (True, True)
