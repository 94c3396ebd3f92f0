"""Schemas that no model is held to: in what an endpoint takes, and wider where it has no words for something."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from agentforge.tool.spec import PORTABLE, STANDARD, SubsetLimits, compile_schema
from tests.support.plain_subsets import DEFINED, FEW_WORDS, NESTED, WRITTEN_OUT

STRING, INTEGER, NULL = ({"type": kind} for kind in ("string", "integer", "null"))
SCALARS = [{"type": kind} for kind in ("string", "number", "boolean")]
NODE = {"type": "object", "description": "a node", "properties": {"name": STRING, "next": {"$ref": "#/$defs/node"}}}
CLOSED = {"additionalProperties": False}


def obj(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties)}


def converted(schema: Any, subset: Any) -> tuple[Any, list[str]]:
    """What the schema of one required property becomes, and the codes of what is noted."""
    made = compile_schema({**obj(a=schema), "$defs": {"node": NODE}}, subset, strict=False)
    assert made.problems == ()
    return made.schema["properties"]["a"], [note.code for note in made.notices]


ANY_IN_FEW_WORDS = {
    "anyOf": [
        *SCALARS,
        {"type": "object"},
        {"type": "array", "items": {"anyOf": [*SCALARS, {"type": "object"}], "nullable": True}},
    ],
    "nullable": True,
}
ANY_OBJECT = {"type": "object", "additionalProperties": True}
ANY_DEFINED = {
    "anyOf": [
        *SCALARS,
        ANY_OBJECT,
        {"type": "array", "items": {"anyOf": [*SCALARS, ANY_OBJECT, NULL]}},
        NULL,
    ]
}

FORMS: dict[str, tuple[Any, Any, Any, list[str]]] = {
    "any value, where none needs a type": ({}, NESTED, {}, []),
    "any value, where each needs one": ({}, FEW_WORDS, ANY_IN_FEW_WORDS, []),
    "any value, where objects say that they are open": ({}, DEFINED, ANY_DEFINED, []),
    "any value with words": (
        {"description": "d", "minLength": 2, "not": {"const": 1}},
        NESTED,
        {"description": "d (minLength: 2)"},
        ["told", "left_out"],
    ),
    "a list of anything": ({"type": "array"}, NESTED, {"type": "array"}, []),
    "a list of anything that needs a type": (
        {"type": "array", "items": True},
        FEW_WORDS,
        {"type": "array", "items": {"anyOf": [*SCALARS, {"type": "object"}], "nullable": True}},
        [],
    ),
    "a list that must be empty": ({"type": "array", "items": False}, NESTED, {"type": "array"}, ["widened"]),
    "an object of anything": ({"type": "object"}, FEW_WORDS, {"type": "object"}, []),
    "an object of anything, said": ({"type": "object"}, DEFINED, ANY_OBJECT, []),
    "an object with further keys": (
        {**obj(b=STRING), "additionalProperties": True},
        FEW_WORDS,
        {**obj(b=STRING), "description": "further keys are welcome"},
        [],
    ),
    "an object with further keys, said": (
        {**obj(b=STRING), "additionalProperties": True},
        WRITTEN_OUT,
        {**obj(b=STRING), "additionalProperties": True},
        [],
    ),
    "a closed object": ({**obj(b=STRING), **CLOSED}, DEFINED, {**obj(b=STRING), **CLOSED}, []),
    "a closed object where none says it": ({**obj(b=STRING), **CLOSED}, NESTED, obj(b=STRING), []),
    "an object without properties": (
        {"type": "object", **CLOSED},
        DEFINED,
        {"type": "object", "properties": {}, "required": [], **CLOSED},
        [],
    ),
    "an object of numbers": (
        {"type": "object", "additionalProperties": INTEGER},
        FEW_WORDS,
        {"type": "object", "description": "keys of any name, each of type integer"},
        ["told"],
    ),
    "an object of numbers, said": (
        {"type": "object", "additionalProperties": INTEGER},
        DEFINED,
        {"type": "object", "additionalProperties": INTEGER},
        [],
    ),
    "an object of objects": (
        {"type": "object", "description": "d", "additionalProperties": obj(b=STRING)},
        NESTED,
        {"type": "object", "description": "d (keys of any name, each of type object)"},
        ["widened"],
    ),
    "an object with further choices": (
        {**obj(b=STRING), "additionalProperties": {"anyOf": [STRING, INTEGER]}},
        NESTED,
        {**obj(b=STRING), "description": "further keys of any name"},
        ["widened"],
    ),
    "keys that match a pattern": (
        {"type": "object", "patternProperties": {"^x": INTEGER}, "additionalProperties": False},
        DEFINED,
        {**ANY_OBJECT, "description": "keys that match ^x, each of type integer"},
        ["widened"],
    ),
    "numbers of an enum of texts only": (
        {"enum": [1, 2]},
        FEW_WORDS,
        {"type": "integer", "description": "one of: 1, 2"},
        ["told"],
    ),
    "an object as a value": (
        {"enum": [{"x": 1}, "a"]},
        NESTED,
        {"type": ["object", "string"], "description": 'one of: {"x": 1}, "a"'},
        ["told"],
    ),
    "text or null": ({"type": ["string", "null"]}, FEW_WORDS, {"type": "string", "nullable": True}, []),
    "a choice with null": (
        {"anyOf": [STRING, {"type": ["integer", "null"]}]},
        FEW_WORDS,
        {"anyOf": [STRING, {"type": "integer", "nullable": True}]},
        [],
    ),
    "choices of choices with null": (
        {"anyOf": [STRING, {"anyOf": [INTEGER, NULL]}]},
        FEW_WORDS,
        {"anyOf": [STRING, {"type": "integer", "nullable": True}]},
        [],
    ),
    "a choice with anything": ({"anyOf": [STRING, {}]}, NESTED, {"anyOf": [STRING, {}]}, []),
    "a choice with anything that needs a type": (
        {"anyOf": [STRING, {}], "description": "d"},
        FEW_WORDS,
        {**ANY_IN_FEW_WORDS, "description": "d"},
        [],
    ),
    "texts and lists": (
        {"type": ["string", "array"], "items": STRING, "maxLength": 3},
        DEFINED,
        {"anyOf": [{"type": "string", "maxLength": 3}, {"type": "array", "items": STRING}]},
        [],
    ),
    "fixed places": (
        {"type": "array", "prefixItems": [STRING, INTEGER], "items": False},
        WRITTEN_OUT,
        {"type": "array", "prefixItems": [STRING, INTEGER], "items": False},
        [],
    ),
    "what is required, but not declared": (
        {"type": "object", "properties": {"b": STRING}, "required": ["b", "c"]},
        NESTED,
        {**obj(b=STRING), "description": "must be given, too: c"},
        ["told"],
    ),
    "any format": ({"type": "string", "format": "iban"}, WRITTEN_OUT, {"type": "string", "format": "iban"}, []),
    "a schema in a keyword": ({**STRING, "not": {"const": "x"}}, WRITTEN_OUT, {**STRING, "not": {"const": "x"}}, []),
    "a schema in a keyword that would lead elsewhere": (
        {**STRING, "not": {"$ref": "#/$defs/node"}},
        WRITTEN_OUT,
        STRING,
        ["left_out"],
    ),
    "a keyword that nobody thought of": ({**STRING, "contentEncoding": "x"}, FEW_WORDS, STRING, ["left_out"]),
    "what cannot be one": (
        {"type": "array", "allOf": [{"prefixItems": [STRING]}, {"prefixItems": [INTEGER]}], "description": "d"},
        NESTED,
        {"type": "array", "description": "d"},
        ["widened"],
    ),
    "no value": ({"allOf": [STRING, INTEGER]}, NESTED, {}, ["widened"]),
    "no value of any alternative": ({"anyOf": [False, {"not": {}}]}, FEW_WORDS, ANY_IN_FEW_WORDS, ["widened"]),
    "what holds itself": (
        {"$ref": "#/$defs/node"},
        NESTED,
        {
            "type": "object",
            "description": "a node",
            "properties": {"name": STRING, "next": {"type": "object", "description": "a node"}},
            "required": [],
        },
        ["widened"],
    ),
    "what holds itself, where that may be": ({"$ref": "#/$defs/node"}, DEFINED, {"$ref": "#/$defs/node"}, []),
    "what holds itself, where only that may not be": (
        {"$ref": "#/$defs/node"},
        replace(DEFINED, recursion=False),
        {**NODE, "properties": {"name": STRING, "next": {**ANY_OBJECT, "description": "a node"}}, "required": []}
        | CLOSED,
        ["widened"],
    ),
    "the root": ({"$ref": "#"}, NESTED, {"type": "object"}, ["widened"]),
}


@pytest.mark.parametrize(("schema", "subset", "expected", "codes"), FORMS.values(), ids=FORMS)
def test_each_form(schema: Any, subset: Any, expected: Any, codes: list[str]) -> None:
    """As the subset says it, or in words, or wider; and whether something was noted of it."""
    assert converted(schema, subset) == (expected, codes)


def test_properties_stay_as_optional_as_they_are() -> None:
    """Whatever the subset says for what is strict: no model has to send a null."""
    schema = {"type": "object", "properties": {"a": STRING, "b": {"anyOf": [STRING, NULL]}}, "required": ["b"]}
    for subset in (STANDARD, PORTABLE):
        assert compile_schema(schema, subset, strict=False).schema == {**schema, "additionalProperties": False} | (
            {"properties": {"a": STRING, "b": {"anyOf": [STRING, NULL]}}}
        )


# -- the root ------------------------------------------------------------------------------------

BY_URL = {"type": "object", "properties": {"name": STRING, "url": STRING}, "required": ["name", "url"]}
BY_ID = {"type": "object", "properties": {"name": STRING, "id": INTEGER}, "required": ["name", "id"]}


def test_alternatives_of_the_root_are_one_object() -> None:
    """With all their properties, of which those are required that each needs; which belong together is told."""
    made = compile_schema({"description": "d", "oneOf": [BY_URL, BY_ID, NULL]}, NESTED, strict=False)
    assert made.problems == ()
    assert made.schema == {
        "type": "object",
        "description": "d (given must be url or id)",
        "properties": {"name": STRING, "url": STRING, "id": INTEGER},
        "required": ["name"],
    }
    assert ("widened", "") in [(note.code, note.path) for note in made.notices]


def test_a_property_of_several_alternatives_may_be_what_it_is_in_any() -> None:
    schema = {"type": "object", "anyOf": [obj(a=STRING), {**obj(a=INTEGER, b=STRING), "additionalProperties": True}]}
    made = compile_schema(schema, DEFINED, strict=False)
    assert made.schema == {
        **obj(a={"anyOf": [STRING, INTEGER]}),
        "properties": {"a": {"anyOf": [STRING, INTEGER]}, "b": STRING},
        "description": "given must be none of these or b",
        "additionalProperties": True,
    }


@pytest.mark.parametrize("schema", [STRING, {"anyOf": [STRING, INTEGER]}, {"type": "object", "not": {}}])
def test_a_root_that_is_no_object_is_a_problem(schema: Any) -> None:
    """Arguments are one, whatever the schema; what may be sent instead takes any."""
    made = compile_schema(schema, NESTED, strict=False)
    assert {problem.code for problem in made.problems} <= {"not_an_object", "unsatisfiable"} and made.problems
    assert made.schema == {"type": "object", "properties": {}}


def test_a_root_of_too_many_combinations_keeps_its_own_properties() -> None:
    """Which of them belong together nobody could read; a form that a model is held to has to refuse it."""
    schema = {**obj(a=STRING), "allOf": [{"anyOf": [obj(**{f"p{n}": STRING}) for n in range(9)]} for _ in range(3)]}
    made = compile_schema(schema, DEFINED, strict=False)
    assert (made.problems, made.schema) == ((), {**obj(a=STRING), "additionalProperties": True})
    assert "only its own properties were sent, as there are more than 64" in str(made.notices[0])
    assert [problem.code for problem in compile_schema(schema, DEFINED).problems] == ["too_large"]


# -- what is broken ------------------------------------------------------------------------------

BROKEN: dict[str, tuple[Any, str, str]] = {
    "a reference to nothing": ({"$ref": "#/$defs/gone"}, "/properties/a", "reference"),
    "a reference to elsewhere": ({"items": {"$ref": "https://a.example/b"}}, "/properties/a/items", "reference"),
    "a name that cannot be": (obj(required=STRING), "/properties/a/properties/required", "name"),
}


@pytest.mark.parametrize(("schema", "path", "code"), BROKEN.values(), ids=BROKEN)
def test_a_broken_part_is_a_problem_and_something_wider_stands_there(schema: Any, path: str, code: str) -> None:
    """So that who wants to send it all the same can."""
    subset = replace(DEFINED, any_value=True)
    made = compile_schema(obj(a=schema, b=STRING), subset, strict=False)
    assert [(problem.path, problem.code) for problem in made.problems] == [(path, code)]
    assert made.schema["properties"]["b"] == STRING
    assert compile_schema(made.schema, subset, strict=False).problems == ()


def test_a_branch_that_can_never_be_is_left_out() -> None:
    """An alternative whose required property no value fits is none; strict or not, nothing is lost with it."""
    never = obj(kind={"type": "string", "enum": [1]})
    for strict in (True, False):
        made = compile_schema(obj(a={"anyOf": [never, STRING]}), NESTED, strict=strict)
        assert (made.schema["properties"]["a"], made.problems) == (STRING, ())


def test_what_goes_together_is_told_also_where_one_alternative_is_left() -> None:
    """Of two alternatives one cannot be; the other says which of its properties must be given."""
    needs = {**obj(), "properties": {"x": STRING}, "anyOf": [{"required": ["x"]}, {"required": ["y"]}]}
    schema = obj(a={"type": "object", "minProperties": 1, "anyOf": [{"type": "array"}, needs]})
    for strict in (True, False):
        made = compile_schema(schema, STANDARD, strict=strict)
        assert made.schema["properties"]["a"]["description"] == "minProperties: 1; given must be x or y"


# -- size ----------------------------------------------------------------------------------------


def wide(levels: int, names: str) -> dict[str, Any]:
    """Definitions of which each uses the next one under every name."""
    used = {
        str(n): {"type": "object", "description": f"level {n}"}
        | {"properties": {name: {"$ref": f"#/$defs/{n + 1}"} for name in names}}
        for n in range(levels)
    }
    return {**obj(a={"$ref": "#/$defs/0"}), "$defs": {**used, str(levels): STRING}}


def test_what_would_grow_too_much_is_written_out_less_deep() -> None:
    """A schema of 40 definitions that means 2 to the 40: it stays near the size of the original, and says what a part
    is that was left out."""
    schema = wide(40, "xy")
    made = compile_schema(schema, NESTED, strict=False)
    assert made.problems == ()
    assert len(json.dumps(made.schema)) < 2 * len(json.dumps(schema))
    assert {(note.code, note.text) for note in made.notices} == {
        ("widened", "what #/$defs/5 names was left out, as all of it would be too large")
    }
    place = made.schema["properties"]["a"]
    for _ in range(5):
        place = place["properties"]["x"]
    assert place == {"type": "object", "description": "level 5"}


def test_what_is_small_enough_is_written_out_whole() -> None:
    made = compile_schema(wide(7, "xy"), NESTED, strict=False)
    assert (made.problems, made.notices) == ((), ())
    assert made.size.levels == 8


def test_a_definition_is_compiled_once_however_often_it_is_used() -> None:
    """What it became is the same object; what is noted of it is noted once, at its own place."""
    schema = obj(a={"$ref": "#/$defs/x"}, b={"$ref": "#/$defs/x"}) | {"$defs": {"x": {**STRING, "maxLength": 3}}}
    made = compile_schema(schema, NESTED, strict=False)
    assert made.schema["properties"]["a"] is made.schema["properties"]["b"]
    assert [str(note) for note in made.notices] == ["/$defs/x: maxLength was moved into the description"]


def test_what_is_very_deep_ends_in_anything() -> None:
    schema: dict[str, Any] = STRING
    for _ in range(300):
        schema = obj(a=schema)
    made = compile_schema(schema, NESTED, strict=False)
    assert (made.problems, [note.code for note in made.notices]) == ((), ["widened"])
    assert made.size.levels < 100


def test_levels_that_an_endpoint_does_not_take_are_left_out() -> None:
    """A limit of what else it holds is a problem, as nobody can say what is to go."""
    schema = obj(a=obj(b=obj(c=obj(d=STRING))))
    made = compile_schema(schema, replace(NESTED, limits=SubsetLimits(levels=3)), strict=False)
    assert (made.problems, made.size.levels) == ((), 3)
    assert made.schema["properties"]["a"]["properties"]["b"]["properties"]["c"] == {"type": "object"}
    assert [str(note) for note in made.notices] == [
        "/properties/a/properties/b/properties/c: what is deeper than 3 objects was left out"
    ]
    many = compile_schema(schema, replace(NESTED, limits=SubsetLimits(properties=3)), strict=False)
    assert [problem.code for problem in many.problems] == ["limit"]


def test_definitions_have_names_of_plain_characters() -> None:
    """Some endpoints refuse a slash in one, and two that become one name stay two."""
    schema = obj(a={"$ref": "#/$defs/x~1y"}, b={"$ref": "#/$defs/x y"}) | {"$defs": {"x/y": NODE, "x y": obj(c=NODE)}}
    made = compile_schema(schema | {"$defs": {**schema["$defs"], "node": NODE}}, DEFINED, strict=False)
    assert list(made.schema["$defs"]) == ["x_y", "x_y_2", "node"]
