"""Strict subsets: the form that strict modes take, and what keeps a schema out of it."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator, Mapping
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from agentforge.tool.spec import check_portable_strict, strict_schema, tool_specification_from
from agentforge.tool.spec.walk import subschemas

# A busy machine is no fault of the code: no example has a time limit.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

STRING, INTEGER, NULL = ({"type": kind} for kind in ("string", "integer", "null"))


def root(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def converted(schema: dict[str, Any]) -> dict[str, Any]:
    """What one required property's schema becomes."""
    made = strict_schema(root(a=schema))
    assert made.problems == ()
    return made.schema["properties"]["a"]  # type: ignore[no-any-return]


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a text": (STRING, STRING),
    "a closed object": (root(b=STRING), root(b=STRING)),
    "an object without its type": ({"properties": {"b": STRING}, "required": ["b"]}, {**root(b=STRING), "type": None}),
    "an object or null": (
        {"type": ["object", "null"], "properties": {"b": STRING}, "required": ["b"]},
        {**root(b=STRING), "type": ["object", "null"]},
    ),
    "an optional text": (
        {"type": "object", "properties": {"b": STRING}},
        root(b={"type": ["string", "null"]}),
    ),
    "an optional enum": (
        {"type": "object", "properties": {"b": {"type": "string", "enum": ["x"], "description": "d"}}},
        root(b={"anyOf": [{"type": "string", "enum": ["x"]}, NULL], "description": "d"}),
    ),
    "an optional choice": (
        {"type": "object", "properties": {"b": {"anyOf": [STRING, INTEGER]}}},
        root(b={"anyOf": [STRING, INTEGER, NULL]}),
    ),
    "an optional one that is nullable already": (
        {"type": "object", "properties": {"b": {"anyOf": [STRING, NULL]}}},
        root(b={"anyOf": [STRING, NULL]}),
    ),
    "an optional object": (
        {"type": "object", "properties": {"b": root(c=STRING)}},
        root(b={"anyOf": [root(c=STRING), NULL]}),
    ),
    "nullable in OpenAPI's way": ({"type": "string", "nullable": True}, {"type": ["string", "null"]}),
    "a default": ({"type": "integer", "default": 3}, {"type": "integer", "description": "default: 3"}),
    "a default of null": ({"type": ["string", "null"], "default": None}, {"type": ["string", "null"]}),
    "lengths": (
        {"type": "string", "description": "code", "minLength": 2, "maxLength": 4},
        {"type": "string", "description": "code (minLength: 2; maxLength: 4)"},
    ),
    "allowed keywords": (
        {"type": "integer", "minimum": 1, "multipleOf": 2},
        {"type": "integer", "minimum": 1, "multipleOf": 2},
    ),
    "an allowed format": ({"type": "string", "format": "date-time"}, {"type": "string", "format": "date-time"}),
    "another format": ({"type": "string", "format": "iban"}, {"type": "string", "description": "format: iban"}),
    "a pattern": ({"type": "string", "pattern": "^a+$"}, {"type": "string", "pattern": "^a+$"}),
    "a pattern with look-around": (
        {"type": "string", "pattern": "^(?=a)"},
        {"type": "string", "description": "pattern: ^(?=a)"},
    ),
    "oneOf": ({"oneOf": [STRING, INTEGER]}, {"anyOf": [STRING, INTEGER]}),
    "allOf of one": ({"allOf": [{"type": "string"}], "description": "d"}, {"type": "string", "description": "d"}),
    "allOf of one reference": (
        {"allOf": [{"$ref": "#"}], "description": "d"},
        {"anyOf": [{"$ref": "#"}], "description": "d"},
    ),
    "a reference": ({"$ref": "#"}, {"$ref": "#"}),
    "a reference with a description": (
        {"$ref": "#", "description": "d"},
        {"anyOf": [{"$ref": "#"}], "description": "d"},
    ),
    "a tuple": (
        {"type": "array", "prefixItems": [STRING, INTEGER], "minItems": 2, "maxItems": 2},
        {
            "type": "array",
            "items": {"anyOf": [STRING, INTEGER]},
            "description": "In this order: string, integer",
            "minItems": 2,
            "maxItems": 2,
        },
    ),
    "titles and examples": ({"type": "string", "title": "T", "examples": ["x"], "$comment": "c"}, STRING),
    "keywords it lacks": ({"type": "string", "not": {"const": "x"}, "if": {}, "then": {}}, STRING),
}


@pytest.mark.parametrize(("schema", "expected"), FORMS.values(), ids=FORMS)
def test_a_schema_and_its_strict_form(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    made = converted(schema)
    assert made == {key: value for key, value in expected.items() if value is not None}


def test_names_of_properties_are_never_keywords() -> None:
    schema = root(default=STRING, title=STRING, minLength=STRING, properties=STRING, **{"$ref": STRING, "not": STRING})
    assert strict_schema(schema).schema == schema


def test_the_cases_of_the_field() -> None:
    """Objects without a type or with one of object and null are closed (SC-11)."""
    schema = {"properties": {"a": {"type": ["object", "null"], "properties": {"b": STRING}}}}
    made = strict_schema({"type": "object", **schema}).schema
    assert made["additionalProperties"] is False
    assert made["properties"]["a"]["additionalProperties"] is False
    assert made["properties"]["a"]["required"] == ["b"]
    assert made["required"] == ["a"]


PROBLEMS: dict[str, tuple[dict[str, Any], str]] = {
    "further properties of any kind": (root(a={**root(), "additionalProperties": {}}), "/properties/a: further"),
    "further properties": (root(a={**root(), "additionalProperties": True}), "further properties"),
    "further properties of a type": (root(a={"type": "object", "additionalProperties": STRING}), "further properties"),
    "an open root": ({**root(), "additionalProperties": {}}, "the root: further properties"),
    "patterns of names": (root(a={**root(), "patternProperties": {"^x": STRING}}), "patternProperties"),
    "an object of anything": (root(a={"type": "object"}), "without declared properties"),
    "anything": (root(a={}), "any value is allowed"),
    "anything by true": (root(a=True), "any value is allowed"),
    "a list of anything": (root(a={"type": "array"}), "needs a type for its items"),
    "a list of anything by an empty schema": (root(a={"type": "array", "items": {}}), "needs a type for its items"),
    "allOf of several": (root(a={"allOf": [root(b=STRING), root(c=STRING)]}), "allOf is not supported"),
    "a choice at the root": ({"anyOf": [root()]}, "the root must be an object"),
    "a list at the root": ({"type": "array", "items": STRING}, "the root must be an object"),
    "very many properties": (root(**{f"p{n}": STRING for n in range(5001)}), "5,001 properties"),
    "very many choices": (root(a={"type": "string", "enum": [str(n) for n in range(1001)]}), "1,001 enum values"),
    "very long names": (root(**{f"{n}" + "x" * 50_000: STRING for n in range(3)}), "characters of names"),
}


@pytest.mark.parametrize(("schema", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_cannot_be_strict_is_a_problem(schema: dict[str, Any], problem: str) -> None:
    made = strict_schema(schema)
    assert any(problem in text for text in made.problems), made.problems


def test_more_than_ten_levels_are_a_problem() -> None:
    def nested(levels: int) -> dict[str, Any]:
        schema = root(leaf=STRING)
        for _ in range(levels - 1):
            schema = root(next=schema)
        return schema

    assert strict_schema(nested(10)).problems == ()
    assert strict_schema(nested(11)).problems == ("the root: 11 levels of objects, at most 10 are allowed",)
    assert strict_schema(nested(300)).problems


def test_notices_say_what_was_moved_or_left_out() -> None:
    made = strict_schema(root(a={"type": "string", "minLength": 1, "not": {"const": "x"}}, b={"oneOf": [STRING]}))
    assert made.notices == (
        "/properties/a: minLength was moved into the description",
        "/properties/a: not was left out",
        "/properties/b: oneOf was sent as anyOf",
    )
    assert strict_schema(root(a=STRING)).notices == ()


def test_no_parameters_are_strict() -> None:
    assert strict_schema({"type": "object"}).schema == root()
    assert strict_schema({"type": "object"}).problems == ()


class Line(BaseModel):
    article: str
    amount: int = 1
    next: Line | None = None


def test_a_python_tool_with_defaults_becomes_strict() -> None:
    def search(query: str, limit: int = 10, tag: str | None = None, lines: list[Line] = []) -> str:  # noqa: B006
        return query

    made = strict_schema(tool_specification_from(search).parameters.schema)
    assert made.problems == ()
    assert made.schema["required"] == ["query", "limit", "tag", "lines"]
    assert made.schema["$defs"]["Line"]["required"] == ["article", "amount", "next"]
    check = jsonschema_rs.validator_for(made.schema)
    assert check.is_valid({"query": "q", "limit": None, "tag": None, "lines": None})


# -- the portable subset -------------------------------------------------------------------------


def levels(count: int) -> dict[str, Any]:
    schema = root(leaf=STRING)
    for _ in range(count - 1):
        schema = root(next=schema)
    return schema


PORTABLE: dict[str, dict[str, Any]] = {
    "an empty object": root(),
    "nullable by two types": root(a={"type": ["string", "null"]}),
    "a choice inside": root(a={"anyOf": [STRING, NULL]}),
    "a list of objects": root(a={"type": "array", "items": root(b=INTEGER)}),
    "an enum": root(a={"type": "string", "enum": ["x"]}),
    "five levels": levels(5),
    "a hundred properties": root(**{f"p{n}": STRING for n in range(100)}),
    "a recursion": {**root(a={"$ref": "#/$defs/n"}), "$defs": {"n": root(next={"$ref": "#/$defs/n"})}},
}
NOT_PORTABLE: dict[str, tuple[dict[str, Any], str]] = {
    "a list at the root": ({"type": "array"}, "the root must be an object"),
    "a choice at the root": ({**root(), "anyOf": []}, "must not be a choice"),
    "an open object": ({"type": "object", "properties": {}, "required": []}, "additionalProperties must be false"),
    "an open object inside": (root(a={"type": ["object", "null"]}), "/properties/a: additionalProperties"),
    "an optional property": ({**root(a=STRING), "required": []}, "not required: a"),
    "oneOf": (root(a={"oneOf": [STRING]}), "/properties/a: oneOf"),
    "allOf": (root(a={"allOf": [STRING]}), "allOf"),
    "not": (root(a={"not": STRING}), "not is not portable"),
    "if": (root(a={"if": STRING}), "if is not portable"),
    "a tuple": (root(a={"type": "array", "prefixItems": [STRING]}), "prefixItems"),
    "a pattern": (root(a={"type": "string", "pattern": "a"}), "pattern"),
    "a format": (root(a={"type": "string", "format": "date"}), "format"),
    "a length": (root(a={"type": "string", "minLength": 1}), "minLength"),
    "a bound": (root(a={"type": "integer", "minimum": 1}), "minimum"),
    "a number of items": (root(a={"type": "array", "items": STRING, "minItems": 1}), "minItems"),
    "six levels": (levels(6), "more than 5 levels"),
    "more than a hundred properties": (root(**{f"p{n}": STRING for n in range(101)}), "101 properties"),
    "a reference elsewhere": (root(a={"$ref": "#/gone"}), "not inside the schema"),
    "one behind a reference": ({**root(a={"$ref": "#/$defs/n"}), "$defs": {"n": {"oneOf": []}}}, "oneOf"),
}


@pytest.mark.parametrize("schema", PORTABLE.values(), ids=PORTABLE)
def test_a_portable_schema(schema: dict[str, Any]) -> None:
    assert check_portable_strict(schema) == ()


@pytest.mark.parametrize(("schema", "problem"), NOT_PORTABLE.values(), ids=NOT_PORTABLE)
def test_a_schema_that_is_not_portable(schema: dict[str, Any], problem: str) -> None:
    found = check_portable_strict(schema)
    assert any(problem in text for text in found), found


def test_a_property_may_be_called_like_a_keyword() -> None:
    assert check_portable_strict(root(pattern=STRING, oneOf=STRING)) == ()


# -- both never change what they are given -------------------------------------------------------

_LEAVES = st.sampled_from([STRING, INTEGER, {"type": "string", "enum": ["a"]}, {}, {"type": "number", "default": 1}])


def _objects(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries(
        {"type": st.just("object"), "properties": st.dictionaries(st.sampled_from("abc"), inner, max_size=3)},
        optional={"required": st.just(["a"]), "additionalProperties": st.sampled_from([False, True, {}])},
    )


_SCHEMAS = st.recursive(
    _LEAVES,
    lambda inner: (
        st.builds(lambda items: {"type": "array", "items": items}, inner)
        | st.builds(lambda parts: {"anyOf": parts}, st.lists(inner, min_size=1, max_size=2))
        | _objects(inner)
    ),
    max_leaves=8,
)


def objects_in(schema: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    if "properties" in schema:
        yield schema
    for _, inner in subschemas(schema):
        yield from objects_in(inner)


@CALM
@given(_objects(_SCHEMAS))
def test_the_strict_form_is_closed_everywhere_and_the_input_is_left_alone(schema: dict[str, Any]) -> None:
    before = copy.deepcopy(schema)
    made = strict_schema(schema)
    check_portable_strict(schema)
    assert schema == before
    for node in objects_in(made.schema):
        assert node["additionalProperties"] is False
        assert list(node["required"]) == list(node["properties"])
    assert strict_schema(made.schema).schema == made.schema
    json.dumps(made.schema)


def test_a_place_of_a_foreign_tuple_may_be_one_that_anything_can_take() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "prefixItems": [True, INTEGER]}}, "required": []}
    made = strict_schema(schema).schema["properties"]["a"]

    assert (made["items"], made["description"]) == ({"anyOf": [{}, INTEGER]}, "In this order: any value, integer")
