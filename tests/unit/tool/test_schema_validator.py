"""Arguments against a foreign JSON Schema: coerced exactly, checked whole, safe against hostile schemas."""

from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge.errors import ToolArgumentsError, ToolDeclarationError
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


OPEN: dict[str, dict[str, Any]] = {
    "said to be open": {"type": "object", "additionalProperties": True},
    "open for one type": {"type": "object", "additionalProperties": {"type": "integer"}},
    "open by pattern": {"type": "object", "patternProperties": {"^z": {}}},
}


@pytest.mark.parametrize("schema", OPEN.values(), ids=OPEN)
def test_surplus_arguments_pass_only_where_the_schema_says_so(schema: dict[str, Any]) -> None:
    assert SchemaValidator(specification(schema))({"z": 1}) == {"z": 1}
    with pytest.raises(ToolArgumentsError):
        SchemaValidator(specification({"type": "object"}))({"z": 1})


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
