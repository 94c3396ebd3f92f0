"""Schemas whose definitions stand where they are referred to."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.model import ChatRequestParameters, ToolParameters, ToolSpecification
from agentforge.provider import inlined
from plugins.dashscope.tests.support import parameters_of

POINT = {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "object"}, {"type": "object"}, id="no definitions"),
        pytest.param(
            {"items": [{"$ref": "#/$defs/P"}, {"$ref": "#/definitions/a~1b~0"}], "$defs": {"P": POINT}}
            | {"definitions": {"a/b~": {"type": "null"}}},
            {"items": [POINT, {"type": "null"}]},
            id="in both places, with names that are escaped",
        ),
        pytest.param(
            {"$ref": "#/$defs/P", "description": "a point", "$defs": {"P": {**POINT, "description": "any"}}},
            {**POINT, "description": "a point"},
            id="what stands beside a reference goes before",
        ),
        pytest.param(
            {"anyOf": [{"$ref": "#/$defs/A"}], "$defs": {"A": {"items": {"$ref": "#/$defs/P"}}, "P": POINT}},
            {"anyOf": [{"items": POINT}]},
            id="definitions in definitions",
        ),
        pytest.param(
            {"properties": {"n": {"$ref": "#/$defs/N"}}, "$defs": {"N": {"items": {"$ref": "#/$defs/N"}}}},
            {
                "properties": {"n": {"items": {"$ref": "#/$defs/N"}}},
                "$defs": {"N": {"items": {"$ref": "#/$defs/N"}}},
            },
            id="what holds itself is left, with its definition",
        ),
        pytest.param(
            {"properties": {"a": {"$ref": "other.json#/a"}, "$ref": {"type": "string"}}, "$defs": {"P": POINT}},
            {
                "properties": {"a": {"$ref": "other.json#/a"}, "$ref": {"type": "string"}},
                "$defs": {"P": POINT},
            },
            id="a reference to elsewhere is left, and a property of that name is none",
        ),
        pytest.param({"$defs": ["odd"]}, {}, id="definitions that are none"),
        pytest.param(
            {"type": "object", "properties": {}, "required": [], "$ref": "#/$defs/P", "$defs": {"P": POINT}},
            POINT,
            id="the whole is a reference, and what was completed beside it says nothing",
        ),
        pytest.param(
            {"$ref": "#/$defs/P", "properties": {"y": {"$ref": "#/$defs/N"}}, "required": ["y"], "title": "T"}
            | {"allOf": [{"minProperties": 2}], "$defs": {"P": POINT, "N": {"type": "number"}}},
            {"properties": {"y": {"type": "number"}}, "required": ["y"], "title": "T"}
            | {"allOf": [POINT, {"minProperties": 2}]},
            id="bounds beside a reference hold beside those of its definition",
        ),
        pytest.param(
            {"$ref": "#/$defs/S", "minLength": 2, "$defs": {"S": {"type": "string", "maxLength": 3}}},
            {"type": "string", "maxLength": 3, "minLength": 2},
            id="bounds of other kinds stand together",
        ),
        pytest.param(
            {"enum": [{"$ref": "#/$defs/P"}], "default": {"$ref": "#/$defs/P"}, "$defs": {"P": POINT}},
            {"enum": [{"$ref": "#/$defs/P"}], "default": {"$ref": "#/$defs/P"}},
            id="values that look like a reference are none",
        ),
        pytest.param(
            {"properties": {"default": {"$ref": "#/$defs/P"}, "enum": {"$ref": "#/$defs/P"}}, "$defs": {"P": POINT}},
            {"properties": {"default": POINT, "enum": POINT}},
            id="properties that are called as values are",
        ),
    ],
)
def test_references_are_written_out(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    assert inlined(schema) == expected


def test_a_schema_that_would_grow_beyond_measure_is_left() -> None:
    """Each definition holds the next one twice."""
    definitions: dict[str, Any] = {
        f"D{at}": {"anyOf": [{"$ref": f"#/$defs/D{at + 1}"}, {"$ref": f"#/$defs/D{at + 1}"}]} for at in range(30)
    }
    schema = {"$ref": "#/$defs/D0", "$defs": {**definitions, "D30": {"type": "null"}}}
    assert inlined(schema) == schema
    deep: dict[str, Any] = {}
    for _ in range(3000):
        deep = {"items": deep}
    schema = {"properties": {"a": deep}, "$defs": {}}
    assert inlined(schema) is not schema and list(inlined(schema)) == ["properties", "$defs"]


def test_the_schema_of_a_tool_goes_out_so() -> None:
    schema = {"type": "object", "properties": {"at": {"$ref": "#/$defs/P"}}, "$defs": {"P": POINT}}
    tool = ToolSpecification("f", "a tool", ToolParameters(schema))
    [sent] = parameters_of(ChatRequestParameters(tools=[tool]))["tools"]
    assert sent["function"]["parameters"] == {"type": "object", "properties": {"at": POINT}}
    assert "$ref" in str(schema), "the tool's own schema stays"


def test_a_tool_that_is_one_reference_keeps_its_properties() -> None:
    """Where a root needs properties, those of the definition are there."""
    tool = ToolSpecification("f", "a tool", ToolParameters({"$ref": "#/$defs/P", "$defs": {"P": POINT}}))
    [sent] = parameters_of(ChatRequestParameters(tools=[tool]))["tools"]
    assert sent["function"]["parameters"] == POINT
