"""What strict tools take of JSON Schema here."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.tool.spec import beyond_request_limits, compile_schema
from agentforge_anthropic.subset import ANTHROPIC
from tests.support.strict_schemas import CALM, holds_what_it_promises, is_inside_and_stays, schemas

STRING, INTEGER, NULL = ({"type": kind} for kind in ("string", "integer", "null"))


def root(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a bound": ({"type": "integer", "minimum": 1}, {"type": "integer", "description": "minimum: 1"}),
    "a length": ({"type": "string", "maxLength": 3}, {"type": "string", "description": "maxLength: 3"}),
    "a format": ({"type": "string", "format": "uri"}, {"type": "string", "format": "uri"}),
    "another format": ({"type": "string", "format": "iban"}, {"type": "string", "description": "format: iban"}),
    "a pattern": ({"type": "string", "pattern": "^[a-z]{2,4}$"}, {"type": "string", "pattern": "^[a-z]{2,4}$"}),
    "word boundaries": ({"type": "string", "pattern": r"\bx"}, {"type": "string", "description": r"pattern: \bx"}),
    "a word boundary that is a backspace": (
        {"type": "string", "pattern": r"[\b]"},
        {"type": "string", "pattern": r"[\b]"},
    ),
    "a back-reference": ({"type": "string", "pattern": r"(a)\1"}, {"type": "string", "description": r"pattern: (a)\1"}),
    "look-behind": ({"type": "string", "pattern": "(?<=a)b"}, {"type": "string", "description": "pattern: (?<=a)b"}),
    "many repetitions": ({"type": "string", "pattern": "a{500}"}, {"type": "string", "description": "pattern: a{500}"}),
    "one item at least": (
        {"type": "array", "items": STRING, "minItems": 1},
        {"type": "array", "items": STRING, "minItems": 1},
    ),
    "three items at least": (
        {"type": "array", "items": STRING, "minItems": 3},
        {"type": "array", "items": STRING, "minItems": 1, "description": "minItems: 3"},
    ),
    "a constant": ({"const": "x"}, {"type": "string", "const": "x"}),
    "a default": ({"type": "integer", "default": 3}, {"type": "integer", "description": "default: 3"}),
    "oneOf": ({"oneOf": [STRING, INTEGER]}, {"anyOf": [STRING, INTEGER]}),
    "allOf with a reference": (
        {"allOf": [{"$ref": "#/$defs/n"}, {"maximum": 2}]},
        {**INTEGER, "description": "maximum: 2"},
    ),
    "an object with optional ones": (
        {"type": "object", "properties": {"b": STRING, "c": STRING}, "required": ["c"]},
        {**root(b=STRING, c=STRING), "required": ["c"]},
    ),
}


@pytest.mark.parametrize(("schema", "expected"), FORMS.values(), ids=FORMS)
def test_a_schema_and_its_strict_form(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    """Optional properties stay optional; what the mode does not know is told."""
    made = compile_schema({**root(a=schema), "$defs": {"n": INTEGER}}, ANTHROPIC)
    assert made.problems == ()
    assert made.schema["properties"]["a"] == expected


OPTIONAL = {"type": "object", "properties": {f"p{n}": STRING for n in range(24)}}
UNIONS = root(**{f"p{n}": {"type": ["string", "null"]} for n in range(16)})
PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "a recursion": (
        {**root(a={"$ref": "#/$defs/n"}), "$defs": {"n": root(b={"type": "array", "items": {"$ref": "#/$defs/n"}})}},
        "recursive schemas are not supported",
    ),
    "a recursion of the root": (root(a={"type": "array", "items": {"$ref": "#"}}), "recursive schemas"),
    "values that are objects": (root(a={"enum": [{}]}), "objects and lists as values"),
    "an open object": (root(a={"type": "object", "additionalProperties": STRING}), "further properties"),
    "25 optional properties": (
        {**OPTIONAL, "properties": {**OPTIONAL["properties"], "q": STRING}},
        "25 optional properties, at most 24",
    ),
    "17 unions": (root(**UNIONS["properties"], q={"anyOf": [STRING, INTEGER]}), "17 properties of several types"),
}


@pytest.mark.parametrize(("schema", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_cannot_be_strict(schema: dict[str, Any], problem: str) -> None:
    found = [str(each) for each in compile_schema(schema, ANTHROPIC).problems]
    assert any(problem in each for each in found), found


def test_limits_are_those_of_a_whole_request() -> None:
    """24 optional properties, 16 of several types and 20 tools are the most, over all strict ones."""
    optional, unions = (compile_schema(schema, ANTHROPIC) for schema in (OPTIONAL, UNIONS))
    empty = compile_schema(root(), ANTHROPIC).size
    assert (optional.problems, unions.problems) == ((), ())
    assert beyond_request_limits([optional.size, unions.size, *[empty] * 18], ANTHROPIC.limits) is None
    assert "48 optional" in str(beyond_request_limits([optional.size] * 2, ANTHROPIC.limits))
    assert "32 properties of several types" in str(beyond_request_limits([unions.size] * 2, ANTHROPIC.limits))
    assert "21 strict tools" in str(beyond_request_limits([empty] * 21, ANTHROPIC.limits))


@settings(CALM, max_examples=40)
@given(schema=schemas(), seed=st.integers(0, 2**32))
def test_any_schema_is_inside_and_sound(schema: dict[str, Any], seed: int) -> None:
    is_inside_and_stays(schema, ANTHROPIC)
    holds_what_it_promises(schema, ANTHROPIC, seed)
