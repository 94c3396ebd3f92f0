"""Schemas of three dialects as JSON Schema 2020-12 for the arguments of a tool."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ToolArgumentsError
from agentforge.tool.execution import bound_tool_from
from agentforge_http.openapi.texts import argument_name, plain_text, shortened
from plugins.http.tests.openapi.support import body, imported, notes, one, translated

BYTES = {"type": "string", "contentEncoding": "base64", "description": "Bytes as base64 text."}


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "x-nullable": True}, {"type": ["string", "null"]}),
        ({"type": "string", "nullable": False}, {"type": "string"}),
        (
            {"type": "string", "nullable": True, "enum": ["a", "b"]},
            {"type": ["string", "null"], "enum": ["a", "b", None]},
        ),
        (
            {"type": "string", "nullable": True, "enum": ["a", None]},
            {"type": ["string", "null"], "enum": ["a", None]},
        ),
        ({"nullable": True, "enum": ["a"]}, {"enum": ["a", None]}),
        ({"type": "string", "nullable": True, "const": "a"}, {"type": ["string", "null"], "enum": ["a", None]}),
        (
            {"nullable": True, "description": "D", "oneOf": [{"type": "string"}, {"type": "integer"}]},
            {
                "description": "D",
                "anyOf": [{"oneOf": [{"type": "string"}, {"type": "integer"}]}, {"type": "null"}],
            },
        ),
        ({"nullable": True}, {}),
        (
            {"anyOf": [{"type": "string"}, {"nullable": True}]},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        ({"type": "integer", "minimum": 1, "exclusiveMinimum": True}, {"type": "integer", "exclusiveMinimum": 1}),
        ({"type": "integer", "maximum": 9, "exclusiveMaximum": False}, {"type": "integer", "maximum": 9}),
        ({"type": "integer", "exclusiveMinimum": True}, {"type": "integer"}),
        ({"type": "string", "format": "binary"}, BYTES),
        ({"type": "string", "format": "byte"}, {**BYTES, "description": "Base64 text."}),
        (
            {"type": "string", "format": "byte", "description": "The key."},
            {"type": "string", "contentEncoding": "base64", "description": "The key. (Base64 text.)"},
        ),
        ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
        (
            {"type": "string", "example": "x", "xml": {}, "externalDocs": {}, "x-mine": 1, "title": "T"},
            {"type": "string"},
        ),
        (
            {"type": "string", "default": "a", "deprecated": True},
            {"type": "string", "default": "a", "deprecated": True},
        ),
        ({"allOf": [{"type": "string"}]}, {"type": "string"}),
        ({"allOf": [{"type": "string"}], "description": "D"}, {"type": "string", "description": "D"}),
        ({"allOf": [{"type": "string"}], "nullable": True}, {"type": ["string", "null"]}),
    ],
)
@pytest.mark.parametrize("version", ["3.0.3", "2.0"])
def test_the_older_dialect_is_brought_to_the_present(schema: Any, expected: Any, version: str) -> None:
    """Null, exclusive bounds, bytes; what says nothing of values is left out."""
    made = translated(schema, version)
    if version == "2.0" and "description" not in expected:
        made = {key: value for key, value in made.items() if key != "description"}
    assert made == expected


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"type": ["string"]}, {"type": "string"}),
        ({"exclusiveMinimum": 3}, {"exclusiveMinimum": 3}),
        ({"const": None}, {"const": None}),
        ({"prefixItems": [{"type": "string"}], "items": False}, {"prefixItems": [{"type": "string"}], "items": False}),
        ({"items": [{"type": "string"}]}, {"prefixItems": [{"type": "string"}]}),
        (
            {"if": {"const": 1}, "then": {"type": "integer"}, "else": True},
            {"if": {"const": 1}, "then": {"type": "integer"}, "else": True},
        ),
        ({"patternProperties": {"^a": {"type": "string"}}}, {"patternProperties": {"^a": {"type": "string"}}}),
        (
            {"dependencies": {"a": ["b"], "c": {"type": "object"}}},
            {"dependentRequired": {"a": ["b"]}, "dependentSchemas": {"c": {"type": "object"}}},
        ),
        (
            {"type": "string", "contentMediaType": "image/png"},
            {**BYTES, "description": "image/png as base64 text."},
        ),
        (
            {"type": "string", "contentMediaType": "image/png", "contentEncoding": "base64"},
            {
                "type": "string",
                "contentMediaType": "image/png",
                "contentEncoding": "base64",
                "description": "Base64 text.",
            },
        ),
        (
            {"type": "string", "contentMediaType": "application/json"},
            {"type": "string", "contentMediaType": "application/json"},
        ),
        ({"enum": ["a", "a", 1, 1.5, True, None]}, {"enum": ["a", 1, 1.5, True, None]}),
        ({"type": "string", "enum": ["a", None]}, {"type": "string", "enum": ["a"]}),
        ({"type": "string", "enum": [1, 2.5, False]}, {"type": "string", "enum": ["1", "2.5", "false"]}),
        (True, {}),
        (False, {"not": {}}),
        ({"title": "T", "examples": ["a"], "$comment": "c", "$id": "i", "discriminator": {}}, {}),
        (
            {"properties": {"title": {"type": "string"}, "x-y": {}, "$ref": {"type": "string"}}},
            {"properties": {"title": {"type": "string"}, "x-y": {}, "$ref": {"type": "string"}}},
        ),
    ],
)
def test_the_present_dialect_stays_as_it_is(schema: Any, expected: Any) -> None:
    """But for annotations, and older forms that are still written; a member may be called like a keyword."""
    assert translated(schema) == expected


@pytest.mark.parametrize(
    ("schema", "expected", "note"),
    [
        ({"type": "date"}, {"type": "string"}, "the type 'date' was read as 'string'"),
        ({"type": "Int"}, {"type": "integer"}, "the type 'Int' was read as 'integer'"),
        ({"type": "whatever", "minLength": 1}, {"minLength": 1}, "the type 'whatever' is none and was left out"),
        ({"type": {"a": 1}}, {}, "is none and was left out"),
        ({"pattern": "(unclosed"}, {}, "the pattern '(unclosed' cannot be checked and was left out"),
        ({"pattern": "^(?!x)y$"}, {"pattern": "^(?!x)y$"}, None),
        ({"patternProperties": {"[": {}, "^b": {}}}, {"patternProperties": {"^b": {}}}, "the pattern '[' cannot be"),
        ({"properties": {"a": 5}}, {"properties": {"a": {}}}, "a schema that is none was left out"),
        ({"type": []}, {}, None),
        ({"items": {"type": "string", "enum": [1]}}, {"items": {"type": "string", "enum": ["1"]}}, "were read as text"),
    ],
)
def test_what_has_no_sense_is_left_out_and_noted(schema: Any, expected: Any, note: str | None) -> None:
    """By operation, in the report."""
    assert translated(schema) == expected
    said = "; ".join(notes({"parameters": [{"name": "v", "in": "query", "schema": schema}]}))
    assert note in said if note is not None else said == ""


@pytest.mark.parametrize(
    "schema",
    [
        {"minLength": "3"},
        {"maxItems": -1},
        {"multipleOf": 0},
        {"minimum": "0"},
        {"uniqueItems": "yes"},
        {"required": True},
        {"enum": []},
        {"anyOf": []},
        {"allOf": {}},
        {"items": "x"},
        {"properties": []},
        {"additionalProperties": "no"},
        {"$dynamicRef": "#node"},
        {"minWidth": 5},
    ],
)
def test_keywords_that_cannot_be_are_named_in_the_report(schema: Any) -> None:
    """Those of the whole description together; the schema is the same without them."""
    made = imported({"/x": {"get": {"parameters": [{"name": "v", "in": "query", "schema": schema}]}}})
    assert made.operations[0].schema["properties"]["v"] == {}
    assert made.report.keywords == tuple(schema)


READ_ONLY = {
    "type": "object",
    "required": ["id", "name", "inner"],
    "properties": {
        "id": {"type": "integer", "readOnly": True},
        "name": {"type": "string"},
        "password": {"type": "string", "writeOnly": True},
        "inner": {"type": "object", "required": ["made"], "properties": {"made": {"type": "string", "readOnly": True}}},
        "by_reference": {"$ref": "#/components/schemas/Stamp"},
    },
}
STAMP = {"Stamp": {"type": "string", "readOnly": True}}


def test_what_only_an_answer_has_is_no_argument() -> None:
    """Here, in objects inside, and behind a reference; what only a request has stays, without the keyword."""
    made = one(body(READ_ONLY), components={"schemas": STAMP}).schema
    assert list(made["properties"]) == ["name", "password", "inner"]
    assert made["required"] == ["name", "inner"]
    assert made["properties"]["password"] == {"type": "string"}
    assert made["properties"]["inner"] == {"type": "object", "properties": {}}


def test_a_part_that_asks_for_what_only_an_answer_has_asks_for_less() -> None:
    """In ``allOf`` one part declares and another requires."""
    schemas = {
        "Base": {
            "type": "object",
            "properties": {"id": {"type": "integer", "readOnly": True}, "n": {"type": "string"}},
        },
        "Full": {"allOf": [{"$ref": "#/components/schemas/Base"}, {"type": "object", "required": ["id", "n"]}]},
    }
    made = one(body({"$ref": "#/components/schemas/Full"}), components={"schemas": schemas})
    tool = bound_tool_from(made.specification, lambda request: "")
    assert tool.bind({"body": {"n": "x"}}) == {"body": {"n": "x"}}
    with pytest.raises(ToolArgumentsError):
        tool.bind({"body": {}})
    with pytest.raises(ToolArgumentsError):
        tool.bind({"body": {"n": "x", "id": 1}})


def test_what_is_required_and_declared_nowhere_can_be_given() -> None:
    """An object takes only what it declares, so that it has to be declared."""
    schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a", "b"]}
    made = one(body(schema))
    assert made.schema["properties"] == {"a": {"type": "string"}, "b": {}}
    assert bound_tool_from(made.specification, lambda request: "").bind({"a": "x", "b": 1}) == {"a": "x", "b": 1}


@pytest.mark.parametrize(
    ("version", "beside", "expected", "note"),
    [
        ("3.1.0", {"description": "D"}, {"type": "string", "description": "D"}, None),
        ("3.0.0", {"description": "D"}, {"type": "string", "description": "D"}, None),
        ("3.1.0", {"minLength": 3}, {"allOf": [{"type": "string", "description": "T"}], "minLength": 3}, None),
        ("3.0.0", {"minLength": 3}, {"type": "string", "description": "T"}, "beside a $ref, minLength has no meaning"),
        ("3.0.0", {"nullable": True}, {"type": ["string", "null"], "description": "T"}, None),
    ],
)
def test_what_stands_beside_a_reference(version: str, beside: Any, expected: Any, note: str | None) -> None:
    """In 3.1 it holds, too; before that only what is meant for readers, and null, which all tools understand."""
    schemas = {"Text": {"type": "string", "description": "T"}}
    schema = {"$ref": "#/components/schemas/Text", **beside}
    more: Any = {"components": {"schemas": schemas}}
    assert translated(schema, version, **more) == expected
    said = notes({"parameters": [{"name": "v", "in": "query", "schema": schema}]}, version=version, **more)
    assert note in "; ".join(said) if note is not None else said == ()


def test_a_definition_keeps_its_reference_with_a_description_beside() -> None:
    """An object is not written out for the sake of a description."""
    schemas = {"Thing": {"type": "object", "properties": {"a": {"type": "string"}}}}
    made = translated(
        {"allOf": [{"$ref": "#/components/schemas/Thing"}], "description": "D"}, components={"schemas": schemas}
    )
    assert made == {"$ref": "#/$defs/Thing", "description": "D"}


def test_a_schema_that_is_nested_too_deep_leaves_its_operation_out() -> None:
    """The core's bound for schemas holds."""
    schema: dict[str, Any] = {"type": "string"}
    for _ in range(70):
        schema = {"type": "array", "items": schema}
    made = imported({"/x": {"get": {"parameters": [{"name": "v", "in": "query", "schema": schema}]}}})
    assert made.operations == () and "nested deeper than 64 levels" in made.report.left_out[0].reason


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("Short.", 10, "Short."),
        ("One. Two. Three.", 11, "One. Two. …"),
        ("One two three four", 12, "One two …"),
        ("Unbroken" * 4, 10, "Unbroken …"),
        ("一。二。三。四。五。六。", 8, "一。二。三。 …"),
    ],
)
def test_long_descriptions_end_at_a_sentence(text: str, limit: int, expected: str) -> None:
    """Or at a word where there is none in reach."""
    assert shortened(text, limit) == expected


def test_a_long_description_of_an_operation_is_noted() -> None:
    """What a model does not read, the report tells of."""
    text = "A sentence of some words. " * 100
    made = imported({"/x": {"get": {"summary": "Get it", "description": text}}})
    description = made.operations[0].description
    assert description is not None and description.startswith("Get it\n\nA sentence") and len(description) <= 1000
    assert made.report.operations[0].notes[0].startswith("its description has 2,607 characters and was cut to ")


def test_characters_that_nobody_sees_are_left_out() -> None:
    """A description could hide text in them."""
    assert plain_text("a\u200bb\u202ec\x00d\r\n\U000e0041e") == "abcd\ne"


@pytest.mark.parametrize(
    ("wire", "name"),
    [
        ("page", "page"),
        ("filter[status]", "filter_status"),
        ("$top", "top"),
        ("2fa", "_2fa"),
        ("X-Key.id", "X-Key.id"),
        ("日本", "value_"),
        ("a" * 70, "a" * 55 + "_"),
    ],
)
def test_arguments_have_names_that_every_provider_takes(wire: str, name: str) -> None:
    """The wire name stays with the parameter; what cannot be cleaned gets a mark of its own."""
    made = argument_name(wire)
    assert made == name or (name.endswith("_") and made.startswith(name) and len(made) <= 64)


@pytest.mark.parametrize("key", ["minimum", "multipleOf", "minLength", "maxItems"])
@pytest.mark.parametrize("value", [float("inf"), float("nan"), 10**400])
def test_a_bound_that_is_no_number_of_a_schema_is_left_out(key: str, value: Any) -> None:
    """And takes no tool with it."""
    assert translated({key: value}) == {}
