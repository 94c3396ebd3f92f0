"""Strict subsets: the form that strict modes take, and what keeps a schema out of it."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel

from agentforge.tool.spec import STANDARD, SchemaNote, check_portable_strict, compile_schema, tool_specification_from

STRING, INTEGER, NULL = ({"type": kind} for kind in ("string", "integer", "null"))


def root(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def converted(schema: dict[str, Any]) -> dict[str, Any]:
    """What one required property's schema becomes."""
    made = compile_schema({**root(a=schema), "$defs": {"n": INTEGER}})
    assert made.problems == ()
    return made.schema["properties"]["a"]  # type: ignore[no-any-return]


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a text": (STRING, STRING),
    "a closed object": (root(b=STRING), root(b=STRING)),
    "an object without its type": ({"properties": {"b": STRING}, "required": ["b"]}, root(b=STRING)),
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
    "a tuple of places that are alike": (
        {"type": "array", "prefixItems": [STRING, STRING], "items": False},
        {"type": "array", "items": STRING, "maxItems": 2},
    ),
    "a tuple with more of the same": (
        {"type": "array", "prefixItems": [STRING], "items": STRING},
        {"type": "array", "items": STRING},
    ),
    "a tuple in an older dialect": (
        {"type": "array", "items": [STRING, STRING], "additionalItems": False},
        {"type": "array", "items": STRING, "maxItems": 2},
    ),
    "allOf of objects": (
        {"allOf": [{**root(b=STRING), "additionalProperties": True}, {"properties": {"c": STRING}, "required": ["c"]}]}
        | {"additionalProperties": False, "properties": {"b": {}, "c": {"maxLength": 3}}},
        root(b=STRING, c={"type": "string", "description": "maxLength: 3"}),
    ),
    "allOf of bounds": (
        {"type": "number", "allOf": [{"minimum": 1}, {"minimum": 2, "maximum": 9}, {"type": "integer"}]},
        {"type": "integer", "minimum": 2, "maximum": 9},
    ),
    "allOf of enums": ({"allOf": [{"enum": [1, 2, "3"]}, {"enum": [2, "3", 4]}, INTEGER]}, {**INTEGER, "enum": [2]}),
    "allOf of a choice": (
        {"allOf": [{"anyOf": [STRING, INTEGER]}, {"anyOf": [INTEGER, NULL]}]},
        INTEGER,
    ),
    "a choice that says more": (
        {"type": "integer", "anyOf": [{"minimum": 9}, {"maximum": 1}], "description": "d"},
        {"anyOf": [{**INTEGER, "minimum": 9}, {**INTEGER, "maximum": 1}], "description": "d"},
    ),
    "a choice in a choice": ({"anyOf": [STRING, {"anyOf": [INTEGER, STRING]}]}, {"anyOf": [STRING, INTEGER]}),
    "a choice of one": ({"anyOf": [STRING], "description": "d"}, {"type": "string", "description": "d"}),
    "a branch that nothing fits": ({"anyOf": [STRING, False]}, STRING),
    "a branch of which its parts leave nothing": ({"anyOf": [STRING, {"allOf": [STRING, INTEGER]}]}, STRING),
    "an optional property that nothing fits": (
        {"type": "object", "properties": {"b": STRING, "c": False}},
        root(b={"type": ["string", "null"]}),
    ),
    "values that the type forbids": ({"type": "string", "enum": ["a", 1, None]}, {"type": "string", "enum": ["a"]}),
    "values without a type": ({"enum": ["a", "b"]}, {"type": "string", "enum": ["a", "b"]}),
    "a constant without a type": ({"const": 3}, {"type": "integer", "const": 3}),
    "keywords of other types": ({"type": "integer", "minLength": 3, "properties": {}}, INTEGER),
    "keywords that say nothing": ({"type": "string", "minLength": 0}, STRING),
    "keywords of nobody": ({"type": "string", "x-note": 1, "discriminator": {"propertyName": "k"}}, STRING),
    "unevaluated properties": (
        {"allOf": [{"properties": {"b": STRING}, "required": ["b"]}], "unevaluatedProperties": False, "type": "object"},
        root(b=STRING),
    ),
    "a reference beside a constraint": (
        {"$ref": "#/$defs/n", "maximum": 3},
        {"type": "integer", "maximum": 3},
    ),
    "keywords it lacks": ({"type": "string", "not": {"const": "x"}, "if": {}, "then": {}}, STRING),
}


EXACT = {
    "alternatives with another constant each": [
        {"type": "object", "properties": {"k": {"const": kind}}, "required": ["k"]} for kind in "ab"
    ],
    "alternatives with another enum each": [
        {"type": "object", "properties": {"k": {"enum": values}}, "required": ["k"]} for values in (["a", "b"], ["c"])
    ],
    "alternatives of other types": [STRING, INTEGER, root(b=STRING)],
    "closed alternatives with a key of their own": [root(b=STRING), root(c=STRING)],
    "one alternative": [STRING],
    "alternatives told apart further inside": [root(b=root(k={"const": kind})) for kind in "ab"],
}
VAGUE = {
    "texts": [STRING, {"type": "string", "pattern": "a"}],
    "numbers": [INTEGER, {"type": "number"}],
    "open objects": [{"type": "object", "properties": {name: STRING}, "required": [name]} for name in "bc"],
    "a constant that may be missing": [{"type": "object", "properties": {"k": {"const": kind}}} for kind in "ab"],
    "one number written twice": [{"const": 1}, {"const": 1.0}],
}


@pytest.mark.parametrize("branches", EXACT.values(), ids=EXACT)
def test_alternatives_of_which_no_two_can_hold_are_anyof_without_a_word(branches: list[Any]) -> None:
    """``oneOf`` says no more than ``anyOf`` there."""
    made = compile_schema(root(a={"oneOf": branches}))
    assert (made.problems, made.notices) == ((), ())
    assert "oneOf" not in json.dumps(made.schema)


@pytest.mark.parametrize("branches", VAGUE.values(), ids=VAGUE)
def test_alternatives_that_could_hold_together_are_anyof_with_a_notice(branches: list[Any]) -> None:
    assert "one_of" in {note.code for note in compile_schema(root(a={"oneOf": branches})).notices}


def test_alternatives_that_could_hold_together_are_said_where_they_are_merged_too() -> None:
    inner = {"anyOf": [{"oneOf": [STRING, {"type": "string", "pattern": "a"}]}, INTEGER]}
    made = compile_schema(root(a={"allOf": [STRING, inner]}))
    assert {note.code for note in made.notices} == {"one_of"}


def test_alternatives_are_told_apart_behind_references() -> None:
    """As descriptions of HTTP APIs have them: each a base and its own part."""
    cat, dog = (
        {"allOf": [{"$ref": "#/$defs/pet"}, {"properties": {"kind": {"const": kind}}, "required": ["kind"]}]}
        for kind in ("cat", "dog")
    )
    schema = root(a={"oneOf": [{"$ref": "#/$defs/cat"}, {"$ref": "#/$defs/dog"}]})
    made = compile_schema({**schema, "$defs": {"cat": cat, "dog": dog, "pet": {"properties": {"name": STRING}}}})
    assert (made.problems, made.notices) == ((), ())
    assert list(made.schema["$defs"]) == ["cat", "dog"]
    assert made.schema["$defs"]["cat"]["properties"] == {
        "name": {"type": ["string", "null"]},
        "kind": {"type": "string", "const": "cat"},
    }


def test_which_properties_go_together_is_told() -> None:
    """At the root, where no choice can be, and anywhere else."""
    inner = {"type": "object", "properties": {"b": STRING, "c": STRING}}
    schema = {**inner, "anyOf": [{"required": ["b"]}, {"required": ["c"], "not": {"required": ["b"]}}]}
    made = compile_schema(schema)
    assert made.schema["description"] == "given must be b or c without b"
    assert [(note.code, note.path) for note in made.notices] == [("told", "")]
    assert compile_schema(root(a=schema)).schema["properties"]["a"]["required"] == ["b", "c"]


def test_what_two_parts_say_differently_is_told() -> None:
    parts = [{"pattern": "^a"}, {"pattern": "z$"}, {"not": {"const": "x"}}, {"not": {"const": "y"}}]
    made = compile_schema(root(a={"type": "string", "allOf": parts}))
    assert made.schema["properties"]["a"] == {"type": "string", "pattern": "^a", "description": "pattern: z$"}
    assert [note.code for note in made.notices] == ["left_out", "told"]


def test_a_whole_number_with_a_point_is_among_the_integers_where_types_are_apart() -> None:
    """JSON Schema has 2.0 as an integer."""
    mixed = root(a={"type": ["integer", "string"], "enum": [2.0, "a"]})
    made = compile_schema(mixed, replace(STANDARD, name="no lists of types", type_lists="none"))
    assert made.schema["properties"]["a"]["anyOf"] == [
        {"type": "integer", "enum": [2.0]},
        {"type": "string", "enum": ["a"]},
    ]


def test_many_definitions_of_one_name_are_numbered_in_little_time() -> None:
    """A stranger's schema must not hold up whoever brings it into a strict form."""
    lists = {f"l{n}": {"type": "array", "items": root(k=STRING)} for n in range(1_100)}
    schema = root(**lists, **{f"r{n}": {"$ref": f"#/properties/l{n}/items"} for n in range(1_100)})
    begun = time.process_time()
    made = compile_schema(schema)
    assert time.process_time() - begun < 3  # where each looked at all the others it was more than twice that
    assert list(made.schema["$defs"]) == ["items", *(f"items_{n}" for n in range(2, 1_101))]


def test_definitions_are_bundled_by_name_and_unused_ones_are_not_sent() -> None:
    """Those of older dialects and those that a reference finds elsewhere in the schema too."""
    schema = {
        "type": "object",
        "properties": {
            "a": {"$ref": "#/definitions/n"},
            "b": {"$ref": "#/$defs/n"},
            "c": {"$ref": "#/properties/d"},
            "d": STRING,
        },
        "required": ["a", "b", "c"],
        "definitions": {"n": INTEGER},
        "$defs": {"n": {"type": "boolean"}, "m": INTEGER},
    }
    made = compile_schema(schema).schema
    assert made["$defs"] == {"n": INTEGER, "n_2": {"type": "boolean"}, "d": STRING}
    references = [made["properties"][name]["$ref"] for name in "abc"]
    assert references == ["#/$defs/n", "#/$defs/n_2", "#/$defs/d"]


@pytest.mark.parametrize(("schema", "expected"), FORMS.values(), ids=FORMS)
def test_a_schema_and_its_strict_form(schema: dict[str, Any], expected: dict[str, Any]) -> None:
    made = converted(schema)
    assert made == expected


def test_names_of_properties_are_never_keywords() -> None:
    schema = root(default=STRING, title=STRING, minLength=STRING, properties=STRING, **{"$ref": STRING, "not": STRING})
    assert compile_schema(schema).schema == schema


def test_the_cases_of_the_field() -> None:
    """Objects without a type or with one of object and null are closed (SC-11)."""
    schema = {"properties": {"a": {"type": ["object", "null"], "properties": {"b": STRING}}}}
    made = compile_schema({"type": "object", **schema}).schema
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
    "allOf of lists of fixed places": (
        root(a={"allOf": [{"type": "array", "prefixItems": [STRING]}, {"items": STRING}]}),
        "/properties/a: allOf with lists of fixed places",
    ),
    "alternatives that nothing fits": (root(a={"anyOf": [False, {"not": {}}]}), "/properties/a: no value fits"),
    "allOf that nothing fits": (root(a={"allOf": [STRING, INTEGER]}), "/properties/a: no value fits"),
    "a required property that is not declared": ({**root(), "required": ["b"]}, "the root: b is required, but not"),
    "a required property that nothing fits": (root(a=False), "/properties/a: no value fits"),
    "values that are objects": (root(a={"enum": [{"b": 1}]}), "values of an enum are not supported"),
    "an object of nothing": (root(a={"type": "object", "properties": {}}), "without declared properties"),
    "a reference that leads nowhere": (root(a={"$ref": "#/gone"}), "'#/gone' is not inside the schema"),
    "a reference to an anchor": (root(a={"$ref": "#n"}), "'#n' is not inside the schema"),
    "a reference to elsewhere": (root(a={"$ref": "https://a.example/x"}), "is not inside the schema"),
    "a circle of references": ({**root(a={"$ref": "#/$defs/n"}), "$defs": {"n": {"$ref": "#/$defs/n"}}}, "leads back"),
    "a choice of several objects at the root": ({"oneOf": [root(a=STRING), root(b=STRING)]}, "not a choice"),
    "one very long enum": (
        root(a={"type": "string", "enum": [f"{n}" + "x" * 60 for n in range(251)]}),
        "at most 15,000 are allowed beyond 250 values",
    ),
    "a list at the root": ({"type": "array", "items": STRING}, "the root must be an object"),
    "very many properties": (root(**{f"p{n}": STRING for n in range(5001)}), "5,001 properties"),
    "very many choices": (root(a={"type": "string", "enum": [str(n) for n in range(1001)]}), "1,001 enum values"),
    "very long names": (root(**{f"{n}" + "x" * 50_000: STRING for n in range(3)}), "characters of names"),
}


@pytest.mark.parametrize(("schema", "problem"), PROBLEMS.values(), ids=PROBLEMS)
def test_what_cannot_be_strict_is_a_problem(schema: dict[str, Any], problem: str) -> None:
    made = compile_schema(schema)
    assert any(problem in str(each) for each in made.problems), made.problems


def test_more_than_ten_levels_are_a_problem() -> None:
    def nested(levels: int) -> dict[str, Any]:
        schema = root(leaf=STRING)
        for _ in range(levels - 1):
            schema = root(next=schema)
        return schema

    assert compile_schema(nested(10)).problems == ()
    assert compile_schema(nested(11)).problems == (
        SchemaNote("limit", "", "11 levels of objects, at most 10 are allowed"),
    )
    assert compile_schema(nested(300)).problems


def test_notices_say_what_was_moved_or_left_out() -> None:
    either = {"oneOf": [STRING, {"type": "string", "minLength": 9}]}
    made = compile_schema(root(a={"type": "string", "minLength": 1, "not": {"const": "x"}}, **{"b/c": either}))
    assert made.notices == (
        SchemaNote("told", "/properties/a", "minLength was moved into the description"),
        SchemaNote("left_out", "/properties/a", "not was left out"),
        SchemaNote("told", "/properties/b~1c/anyOf/1", "minLength was moved into the description"),
        SchemaNote("one_of", "/properties/b~1c", "oneOf was sent as anyOf"),
    )
    assert str(made.notices[0]) == "/properties/a: minLength was moved into the description"
    assert compile_schema(root(a=STRING)).notices == ()


@pytest.mark.parametrize(
    "schema",
    [
        {"anyOf": [root(a=STRING)]},
        {"anyOf": [root(a=STRING), NULL]},
        {"allOf": [{"$ref": "#/$defs/n"}], "$defs": {"n": root(a=STRING)}},
        {"$ref": "#/$defs/n", "$defs": {"n": root(a=STRING)}},
        {**root(a=STRING), "type": ["object", "null"]},
        {"properties": {"a": STRING}, "required": ["a"]},
    ],
)
def test_the_root_becomes_one_plain_object(schema: dict[str, Any]) -> None:
    """Arguments are an object, whatever else a schema would take."""
    made = compile_schema(schema)
    assert (made.schema, made.problems, made.notices) == (root(a=STRING), (), ())


def test_no_parameters_are_strict() -> None:
    assert compile_schema({}).schema == root()
    assert compile_schema({"type": "object"}).schema == root()
    assert compile_schema({"type": "object"}).problems == ()


class Line(BaseModel):
    article: str
    amount: int = 1
    next: Line | None = None


def test_a_python_tool_with_defaults_becomes_strict() -> None:
    def search(query: str, limit: int = 10, tag: str | None = None, lines: list[Line] = []) -> str:  # noqa: B006
        return query

    made = compile_schema(tool_specification_from(search).parameters.schema)
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
}
NOT_PORTABLE: dict[str, tuple[dict[str, Any], str]] = {
    "a list at the root": ({"type": "array"}, "the root must be an object"),
    "a choice at the root": ({**root(), "anyOf": []}, "must not be a choice"),
    "an open object": ({"type": "object", "properties": {}, "required": []}, "additionalProperties must be false"),
    "an open object inside": (root(a={"type": "object", "properties": {}}), "/properties/a: additionalProperties"),
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
    "six levels": (levels(6), "6 levels of objects, at most 5"),
    "more than a hundred properties": (root(**{f"p{n}": STRING for n in range(101)}), "101 properties"),
    "a reference": ({**root(a={"$ref": "#/$defs/n"}), "$defs": {"n": STRING}}, "/properties/a: $ref is not portable"),
    "a constant": (root(a={"const": 1}), "const is not portable"),
    "unique items": (root(a={"type": "array", "items": STRING, "uniqueItems": True}), "uniqueItems is not portable"),
    "a default": (root(a={"type": "string", "default": "x"}), "default is not portable"),
    "an object among several types": (root(a={**root(b=STRING), "type": ["object", "null"]}), "a list of types"),
    "an object without properties inside": (root(a=root()), "/properties/a: an object without properties"),
    "anything": (root(a={}), "/properties/a: any value"),
    "a list of anything": (root(a={"type": "array"}), "/properties/a: a list needs a type for its items"),
    "more than sixteen properties of several types": (
        root(**{f"p{n}": {"type": ["string", "null"]} for n in range(17)}),
        "17 properties of several types",
    ),
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


def test_a_place_of_a_foreign_tuple_may_be_one_that_anything_can_take() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "array", "prefixItems": [True, INTEGER]}}, "required": []}
    made = compile_schema(schema).schema["properties"]["a"]

    assert (made["items"], made["description"]) == ({"anyOf": [{}, INTEGER]}, "In this order: any value, integer")


@pytest.mark.parametrize("key", ["anyOf", "oneOf", "allOf"])
def test_a_definition_that_is_among_others_itself_is_a_problem(key: str) -> None:
    """It takes no step into a value, so it says nothing of one."""
    circle = {key: [{"$ref": "#/$defs/A"}, {"type": "string"}]}
    made = compile_schema({"type": "object", "properties": {"a": {"$ref": "#/$defs/A"}}, "$defs": {"A": circle}})

    assert {problem.code for problem in made.problems} & {"recursion", "too_large"}
