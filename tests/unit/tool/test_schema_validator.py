"""Arguments against a foreign JSON Schema: coerced exactly, checked whole, safe against hostile schemas."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge.errors import ToolArgumentsError, ToolDeclarationError
from agentforge.model.arguments import parse_arguments
from agentforge.model.specification import ToolParameters, ToolSpecification
from agentforge.tool.execution.schema_validator import SchemaValidator

# A busy machine is no fault of the code: no example has a time limit.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])


def specification(schema: dict[str, Any], *, strict: bool | None = None) -> ToolSpecification:
    return ToolSpecification("remote", None, ToolParameters(schema), strict)


def validator(schema: dict[str, Any], *, strict: bool | None = None) -> SchemaValidator:
    """A validator of one property ``a``."""
    definitions = {"$defs": schema.pop("$defs")} if "$defs" in schema else {}
    whole = {"type": "object", "properties": {"a": schema}, "required": ["a"], **definitions}
    return SchemaValidator(specification(whole, strict=strict))


INTEGER, NUMBER, STRING, NULL = ({"type": kind} for kind in ("integer", "number", "string", "null"))
TREE: dict[str, Any] = {
    "$ref": "#/$defs/node",
    "$defs": {
        "node": {
            "type": "object",
            "properties": {"n": INTEGER, "kids": {"type": "array", "items": {"$ref": "#/$defs/node"}}},
            "additionalProperties": False,
        }
    },
}
EXACT: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "nothing to do": (INTEGER, 5, 5),
    "a whole float for an integer": (INTEGER, 2.0, 2),
    "one in a list": ({"type": "array", "items": INTEGER}, [1.0, 2], [1, 2]),
    "one in an object": ({"type": "object", "properties": {"n": INTEGER}}, {"n": 1.0}, {"n": 1}),
    "one among further properties": ({"type": "object", "additionalProperties": INTEGER}, {"n": 1.0}, {"n": 1}),
    "one behind references": (TREE, {"kids": [{"n": 1.0}]}, {"kids": [{"n": 1}]}),
    "one in a tuple": ({"type": "array", "prefixItems": [STRING, INTEGER]}, ["1", 1.0], ["1", 1]),
    "one that may be null": ({"type": ["integer", "null"]}, 1.0, 1),
    "one by alternatives": ({"anyOf": [INTEGER, NULL]}, 1.0, 1),
    "one in the object of the alternatives": (
        {"oneOf": [{"type": "object", "properties": {"n": INTEGER}}, STRING]},
        {"n": 1.0},
        {"n": 1},
    ),
    "one by allOf": ({"allOf": [INTEGER]}, 1.0, 1),
    "a whole float stays where any number will do": (NUMBER, 2.0, 2.0),
    "a large integer": (INTEGER, 10**30, 10**30),
    "text stays text": ({"type": ["string", "integer"]}, "5", "5"),
    "text among alternatives stays text": ({"anyOf": [STRING, INTEGER]}, "5", "5"),
    "no type at all": ({}, "5", "5"),
}
LAX: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "an integer's text": (INTEGER, "5", 5),
    "a number's text": (NUMBER, "1.5", 1.5),
    "one in a list": ({"type": "array", "items": INTEGER}, ["1", 2], [1, 2]),
    "one that may be null": ({"anyOf": [NUMBER, NULL]}, "1", 1),
    "one behind references": (TREE, {"kids": [{"n": "1"}]}, {"kids": [{"n": 1}]}),
}


@pytest.mark.parametrize("strict", [True, None], ids=["strict", "lax"])
@pytest.mark.parametrize(("schema", "value", "expected"), EXACT.values(), ids=EXACT)
def test_exact_forms_are_coerced(schema: dict[str, Any], value: Any, expected: Any, strict: bool | None) -> None:
    made = validator(dict(schema), strict=strict)({"a": value})
    assert made == {"a": expected}
    assert type(made["a"]) is type(expected)
    assert made.changed == (repr(value) != repr(expected))


@pytest.mark.parametrize(("schema", "value", "expected"), LAX.values(), ids=LAX)
def test_numbers_in_texts_are_read_unless_strict(schema: dict[str, Any], value: Any, expected: Any) -> None:
    given = {"a": value}
    made = validator(dict(schema))(given)
    assert (dict(made), made.changed) == ({"a": expected}, True)
    assert given == {"a": value}
    with pytest.raises(ToolArgumentsError):
        validator(dict(schema), strict=True)({"a": value})


WRONG: dict[str, tuple[dict[str, Any], Any, str]] = {
    "a type": (INTEGER, "x", "a: an integer was expected, the text 'x' came"),
    "true for an integer": (INTEGER, True, "a: an integer was expected, true came"),
    "leading zeros": (INTEGER, "007", "a: an integer was expected, the text '007' came"),
    "null": (STRING, None, "a: a text was expected, null came"),
    "one of several types": ({"type": ["string", "null"]}, 5, "the number 5 came"),
    "an item": ({"type": "array", "items": INTEGER}, [1, "x"], "a.1: an integer was expected"),
    "a missing property": ({"type": "object", "required": ["b"]}, {}, "a.b: is required and was not given"),
    "a surplus property": (TREE, {"kids": [{"m": 1}]}, "a.kids.0.m: is not a known field"),
    "an enum": ({"enum": ["x", "y"]}, "z", "a: one of 'x', 'y' was expected, the text 'z' came"),
    "a pattern": ({"type": "string", "pattern": "^a+$"}, "b", "a: a text of the form '^a+$' was expected"),
    "a bound": ({"type": "integer", "maximum": 3}, 4, "a: "),
    "no alternative": ({"anyOf": [INTEGER, NULL]}, "x", "a: "),
}


@pytest.mark.parametrize(("schema", "value", "problem"), WRONG.values(), ids=WRONG)
def test_what_does_not_fit_is_refused_with_its_path(schema: dict[str, Any], value: Any, problem: str) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        validator(dict(schema))({"a": value})
    assert str(caught.value.problems[0]).startswith(problem) or problem in str(caught.value.problems[0])
    assert "'remote'" in caught.value.message


def test_all_problems_come_at_once_and_name_the_surplus() -> None:
    made = SchemaValidator(
        specification({"type": "object", "properties": {"q": STRING, "n": INTEGER}, "required": ["q", "n"]})
    )
    with pytest.raises(ToolArgumentsError) as caught:
        made({"_": {"q": "x"}, "n": "many", "z": 1})
    assert {str(problem) for problem in caught.value.problems} == {
        "n: an integer was expected, the text 'many' came",
        "q: is required and was not given",
        "_: is not a parameter of this tool",
        "z: is not a parameter of this tool",
    }


INNER: dict[str, Any] = {"type": "object", "properties": {"n": INTEGER}}
ALTERNATIVES: list[dict[str, Any]] = [
    {"properties": {"a": STRING}, "required": ["a"]},
    {"properties": {"b": STRING}, "required": ["b"]},
]
DEFINED: dict[str, Any] = {"$defs": {"inner": INNER}, "definitions": {"old": INNER}}
# The schema, what it takes, and the key too many.
CLOSED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "nothing declared": ({}, {}, "z"),
    "alternatives": ({"properties": {"c": INTEGER}, "anyOf": ALTERNATIVES}, {"a": "x", "c": 1}, "z"),
    "keys of two alternatives": ({"anyOf": ALTERNATIVES}, {"a": "x", "b": "y"}, "z"),
    "exclusive alternatives": ({"oneOf": ALTERNATIVES}, {"b": "x"}, "z"),
    "all of several": ({"allOf": ALTERNATIVES}, {"a": "x", "b": "x"}, "z"),
    "conditions": (
        {"properties": {"c": INTEGER}, "if": {"required": ["c"]}, "then": ALTERNATIVES[0], "else": ALTERNATIVES[1]},
        {"b": "x"},
        "z",
    ),
    "a reference at the root": ({"$ref": "#/$defs/inner", **DEFINED}, {"n": 1}, "z"),
    "an alternative that is closed itself": (
        {"anyOf": [{**ALTERNATIVES[0], "additionalProperties": False}, ALTERNATIVES[1]]},
        {"b": "x"},
        "z",
    ),
    "by pattern": ({"patternProperties": {"^x": {}}, "properties": {"a": {}}}, {"a": 1, "x1": 1}, "z"),
    "an object inside": ({"properties": {"o": INNER}}, {"o": {"n": 1}}, "o.z"),
    "an object in a list": ({"properties": {"o": {"items": INNER}}}, {"o": [{"n": 1}]}, "o.0.z"),
    "an object in a tuple": ({"properties": {"o": {"prefixItems": [INNER]}}}, {"o": [{"n": 1}]}, "o.0.z"),
    "an object in a mapping": ({"properties": {"o": {"additionalProperties": INNER}}}, {"o": {"k": {"n": 1}}}, "o.k.z"),
    "an object behind a reference": (
        {"properties": {"o": {"$ref": "#/$defs/inner"}}, **DEFINED},
        {"o": {"n": 1}},
        "o.z",
    ),
    "an object of an older dialect": (
        {
            "$schema": "http://json-schema.org/draft-07/schema#",
            "properties": {"o": {"$ref": "#/definitions/old"}},
            **DEFINED,
        },
        {"o": {"n": 1}},
        "o.z",
    ),
    "an object of several parts": (
        {"properties": {"o": {"allOf": [{"$ref": "#/$defs/inner"}, ALTERNATIVES[0]]}}, **DEFINED},
        {"o": {"n": 1, "a": "x"}},
        "o.z",
    ),
    "an object in an alternative": ({"anyOf": [{"properties": {"o": INNER}}]}, {"o": {"n": 1}}, "o.z"),
    "a recursive one": (
        {"properties": {"kid": {"$ref": "#"}, "n": INTEGER}},
        {"kid": {"kid": {"n": 1}}},
        "kid.kid.z",
    ),
}


def _with_key(value: Any, path: list[str]) -> Any:
    step, *rest = path
    if isinstance(value, list):
        return [_with_key(item, rest) for item in value]
    return {**value, step: _with_key(value[step], rest) if rest else 1}


@pytest.mark.parametrize(("schema", "fitting", "surplus"), CLOSED.values(), ids=CLOSED)
def test_keys_that_no_part_of_the_schema_declares_are_refused(
    schema: dict[str, Any], fitting: dict[str, Any], surplus: str
) -> None:
    made = SchemaValidator(specification({"type": "object", **schema}))
    assert made(fitting) == fitting
    with pytest.raises(ToolArgumentsError) as caught:
        made(_with_key(fitting, surplus.split(".")))
    assert "is not a" in str(caught.value) or "anyOf" in str(caught.value)


OPEN: dict[str, dict[str, Any]] = {
    "said to be open": {"type": "object", "additionalProperties": True},
    "open for one type": {"type": "object", "additionalProperties": {"type": "integer"}},
    "open by pattern": {"type": "object", "patternProperties": {"^z": {}}},
    "open in an alternative": {"type": "object", "anyOf": [{"properties": {"a": {}}, "additionalProperties": True}]},
    "open to what no part looked at": {"type": "object", "allOf": [INNER], "unevaluatedProperties": {}},
}


@pytest.mark.parametrize("schema", OPEN.values(), ids=OPEN)
def test_surplus_arguments_pass_only_where_the_schema_says_so(schema: dict[str, Any]) -> None:
    assert SchemaValidator(specification(schema))({"z": 1}) == {"z": 1}
    with pytest.raises(ToolArgumentsError):
        SchemaValidator(specification({"type": "object"}))({"z": 1})


FREE: dict[str, dict[str, Any]] = {
    "without declared keys": {"type": "object"},
    "said to be open": {**INNER, "additionalProperties": True},
    "of any type": {},
}


@pytest.mark.parametrize("schema", FREE.values(), ids=FREE)
def test_an_object_inside_that_declares_nothing_or_says_so_takes_any_key(schema: dict[str, Any]) -> None:
    assert validator(dict(schema))({"a": {"z": 1}}) == {"a": {"z": 1}}


def test_a_schema_whose_definitions_multiply_is_refused() -> None:
    wide: dict[str, Any] = {f"p{n}": {} for n in range(1_000)}
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {f"o{n}": {"$ref": "#/$defs/wide"} for n in range(1_000)},
        "$defs": {"wide": {"properties": wide}},
    }
    with pytest.raises(ToolDeclarationError, match="too often"):
        SchemaValidator(specification(schema))({})


def test_nulls_in_alternatives_are_dropped_too() -> None:
    cat, dog = (
        {"type": "object", "properties": {"kind": {"const": kind}, **more}, "required": ["kind"]}
        for kind, more in (("cat", {"lives": INTEGER}), ("dog", {"bark": {"type": ["string", "null"]}}))
    )
    made = validator({"oneOf": [cat, dog]}, strict=True)
    given: list[dict[str, Any]] = [{"kind": "cat", "lives": None}, {"kind": "dog", "bark": None}]
    assert [made({"a": value})["a"] for value in given] == [{"kind": "cat"}, {"kind": "dog", "bark": None}]
    with pytest.raises(ToolArgumentsError):
        made({"a": {**given[0], "kind": "cow"}})


def test_nulls_that_a_strict_mode_asked_for_are_dropped() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {"q": STRING, "limit": INTEGER, "tag": {"type": ["string", "null"]}, "any": {}},
        "required": ["q"],
    }
    given = {"q": "x", "limit": None, "tag": None, "any": None}
    assert SchemaValidator(specification(schema, strict=True))(given) == {"q": "x", "tag": None, "any": None}
    with pytest.raises(ToolArgumentsError):
        SchemaValidator(specification(schema))(given)
    with pytest.raises(ToolArgumentsError):
        SchemaValidator(specification(schema, strict=True))({"q": None})


EVIL = [
    r"^(a+)+$",
    r"^([a-zA-Z]+)*$",
    r"^(a|aa)+$",
    r"^(a|a?)+$",
    r"^(.*a){20}$",
    r"^(\w+\s?)*$",
    r"^((a*)*)*$",
    r"^(?=(a+)+$)b",
    r"^(a+)+\1$",
    r"^(?!(x+x+)+y)(a+)+$",
]


@pytest.mark.parametrize("pattern", EVIL)
def test_an_evil_pattern_ends_soon(pattern: str) -> None:
    """Measured in processor time of this process; exponential patterns would need years."""
    made = validator({"type": "string", "pattern": pattern})
    begun = time.process_time()
    with pytest.raises(ToolArgumentsError):
        made({"a": "a" * 2000 + "!"})
    assert time.process_time() - begun < 2


@pytest.mark.parametrize("pattern", [r"^(a+)+\1$", r"^(?=(.*b)*)(a+)+\1$"])
def test_a_text_that_a_pattern_gives_up_on_does_not_fit(pattern: str) -> None:
    with pytest.raises(ToolArgumentsError, match="takes too long to be checked against the pattern"):
        validator({"type": "string", "pattern": pattern})({"a": "a" * 50_000 + "!"})


# What was written, the schema, and what the tool gets; nothing where a digit would be lost.
WRITTEN: dict[str, tuple[str, dict[str, Any], Any]] = {
    "whole with a point": ("9007199254740993.0", INTEGER, 9007199254740993),
    "whole with an exponent": ("1e23", INTEGER, 10**23),
    "nearly whole": ("1.00000000000000000001", INTEGER, None),
    "a long fraction": ("1.00000000000000000001", NUMBER, 1.0),
    "a long fraction over its bound": ("1.00000000000000000001", {"type": "number", "maximum": 1}, None),
    "nearly a constant": ("1.00000000000000000001", {"const": 1}, None),
}


@pytest.mark.parametrize(("text", "schema", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_numbers_are_held_against_the_schema_as_they_were_written(
    text: str, schema: dict[str, Any], expected: Any
) -> None:
    made = validator(dict(schema))
    arguments = parse_arguments(f'{{"a": {text}}}')
    if expected is not None:
        assert made(arguments) == {"a": expected}
        return
    with pytest.raises(ToolArgumentsError) as caught:
        made(arguments)
    assert f"the number {text} came" in str(caught.value)


def test_of_very_many_wrong_values_the_first_is_told() -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        validator({"type": "array", "items": INTEGER})({"a": ["x"] * 9_990})
    assert [str(problem) for problem in caught.value.problems] == [
        "a.0: an integer was expected, the text 'x' came",
        "there may be more problems, which are not listed",
    ]


UNUSABLE: dict[str, dict[str, Any]] = {
    "no such type": {"type": "object", "properties": {"a": {"type": "text"}}},
    "no pattern": {"type": "object", "properties": {"a": {"pattern": "("}}},
}


@pytest.mark.parametrize("schema", UNUSABLE.values(), ids=UNUSABLE)
def test_a_schema_that_is_none_is_the_tools_fault_not_the_models(schema: dict[str, Any]) -> None:
    with pytest.raises(ToolDeclarationError, match="'remote'"):
        SchemaValidator(specification(schema))({"a": "x"})


def test_remote_references_are_refused_and_never_fetched() -> None:
    with pytest.raises(ToolDeclarationError, match="not inside the schema"):
        validator({"$ref": "http://127.0.0.1:9/schema.json"})


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abn"), inner, max_size=3),
    max_leaves=8,
)


@CALM
@given(_JSON, st.booleans())
def test_what_passes_once_passes_again_unchanged(value: Any, strict: bool) -> None:
    made = validator({"anyOf": [INTEGER, {"type": "array", "items": NUMBER}, dict(TREE)], "$defs": TREE["$defs"]})
    try:
        first = made({"a": value})
    except ToolArgumentsError:
        return
    assert made(dict(first)) == first
    assert not made(dict(first)).changed
