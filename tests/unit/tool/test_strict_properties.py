"""Any schema, in any subset: inside it, sound, stable, and the input left alone."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.tool.spec import PORTABLE, STANDARD, SubsetLimits, check_portable_strict, compile_schema
from tests.support.plain_subsets import DEFINED, NESTED, PLAIN_SUBSETS
from tests.support.strict_schemas import (
    CALM,
    holds_what_it_promises,
    is_inside_and_stays,
    outside,
    schemas,
    takes_what_fits,
)

SUBSETS = (
    STANDARD,
    PORTABLE,
    replace(STANDARD, name="optional ones stay", optional="stay", recursion=False, limits=SubsetLimits(optionals=4)),
    replace(PORTABLE, name="no lists of types", type_lists="none", recursion=True, references="$defs"),
    replace(STANDARD, name="written out in choices", references_in_choices=False, most_min_items=1, const=False),
    replace(STANDARD, name="fixed places", allowed=STANDARD.allowed | {"prefixItems"}),
    replace(PORTABLE, name="nullable", null="nullable", says_closed=False, enum_types=frozenset({"string"})),
    replace(STANDARD, name="simple patterns", no_word_boundaries=True, most_repeats=100, left_out=frozenset()),
)


@settings(CALM, max_examples=60)
@given(schema=schemas(), seed=st.integers(0, 2**32))
def test_any_schema_in_any_subset(schema: dict[str, Any], seed: int) -> None:
    """Its strict form is inside the subset and is its own strict form. What is valid in it is valid in the original,
    once the nulls of what was left out are removed, or the notices say which keyword is not held."""
    for subset in SUBSETS:
        is_inside_and_stays(schema, subset)
        holds_what_it_promises(schema, subset, seed)


@settings(CALM, max_examples=25)
@given(schema=schemas(), seed=st.integers(0, 2**32))
def test_any_schema_that_no_model_is_held_to(schema: dict[str, Any], seed: int) -> None:
    """It is inside the subset whatever is wrong with it. What is valid in it is valid in the original, or the notices
    say which keyword or place may differ; and what is valid in the original is valid in it."""
    for subset in PLAIN_SUBSETS:
        is_inside_and_stays(schema, subset, strict=False)
        holds_what_it_promises(schema, subset, seed, strict=False)
        # Which alternative a further key belongs to, closed ones say and the original does not.
        takes_what_fits(schema, replace(subset, says_closed=False), seed)


@settings(CALM, max_examples=60)
@given(schema=schemas())
def test_the_portable_form_is_portable_and_inside_every_other_subset(schema: dict[str, Any]) -> None:
    """So that one schema goes everywhere; a check that was written on its own agrees."""
    made = compile_schema(schema, PORTABLE)
    if made.problems:
        return
    assert check_portable_strict(made.schema) == ()
    assert outside(made.schema, STANDARD) == []
    assert compile_schema(made.schema).problems == ()


MANY = {
    "parts that hold each other": {
        "type": "object",
        "properties": {"a": {"allOf": [{"$ref": "#/$defs/x"}, {"$ref": "#/$defs/y"}]}},
        "$defs": {
            name: {
                "type": "object",
                "properties": {key: {"$ref": f"#/$defs/{name}"} for key in "abcdef"},
                "anyOf": [{"minProperties": 1}, {"minProperties": 2}],
            }
            for name in "xy"
        },
    },
    "an alternative that leads back to itself": {
        "type": "object",
        "properties": {
            "a": {"anyOf": [{"$ref": "#/$defs/a"}, {"type": "string"}]},
            "b": {"type": "object", "properties": {"c": {}}, "anyOf": [{"$ref": "#/$defs/a"}, {"maxProperties": 3}]},
        },
        "$defs": {
            "a": {"oneOf": [{"oneOf": [{"$ref": "#/$defs/a", "description": "d"}]}, {"type": "array", "items": {}}]}
        },
    },
    "alternatives of alternatives": {
        "type": "object",
        "properties": {"a": {"allOf": [{"anyOf": [{"minimum": n} for n in range(9)]} for _ in range(9)]}},
    },
    "definitions that double": {
        "type": "object",
        "properties": {"a": {"$ref": "#/$defs/0"}},
        "$defs": {
            **{
                str(n): {"type": "object", "properties": {key: {"$ref": f"#/$defs/{n + 1}"} for key in "ab"}}
                for n in range(40)
            },
            "40": {"type": "string"},
        },
    },
}


@pytest.mark.parametrize("subset", [STANDARD, PORTABLE], ids=lambda subset: subset.name)
@pytest.mark.parametrize("schema", MANY.values(), ids=MANY)
def test_small_schemas_that_mean_very_large_ones_end_soon(schema: dict[str, Any], subset: Any) -> None:
    """They are of strangers, and none may hold up the program: such a tool is not strict."""
    start = time.process_time()
    assert compile_schema(schema, subset).problems
    assert time.process_time() - start < 5


@pytest.mark.parametrize("subset", [NESTED, DEFINED], ids=lambda subset: subset.name)
@pytest.mark.parametrize("schema", MANY.values(), ids=MANY)
def test_where_no_model_is_held_to_them_they_become_wider_as_soon(schema: dict[str, Any], subset: Any) -> None:
    start = time.process_time()
    made = compile_schema(schema, subset, strict=False)
    assert made.problems == ()
    assert time.process_time() - start < 5
