"""What a reshaper, which takes nulls out of arguments again, does with alternatives that hold nothing or themselves."""

from __future__ import annotations

from agentforge.tool.spec import compile_schema
from agentforge.tool.spec.reshaping import Reshaper


def test_an_alternative_that_no_value_fits_says_nothing_of_null() -> None:
    """Null for the property means "not given" as without it."""
    schema = {"type": "object", "properties": {"a": {"anyOf": [{"type": "string"}, False]}}}
    reshaper = Reshaper(schema, text_to_number=False, drop_nulls=True)

    assert reshaper.reshape({"a": None}) == {}
    assert reshaper.reshape({"a": "x"}) == {"a": "x"}


def test_alternatives_that_hold_what_lists_them_have_an_end() -> None:
    """As in real descriptions: a base lists its kinds, and each kind holds all of the base."""
    own = {"type": "object", "properties": {"label": {"type": "string"}}}
    schema = {
        "type": "object",
        "properties": {"action": {"$ref": "#/$defs/Action"}},
        "$defs": {"Action": {"anyOf": [{"allOf": [{"$ref": "#/$defs/Action"}, own]}, own]}},
    }

    assert compile_schema(schema).problems
    assert Reshaper(schema, text_to_number=False, drop_nulls=True).reshape({"action": None}) is not None
