"""Schemas of strangers: what it would take to check arguments against them is known before it is tried."""

from __future__ import annotations

from typing import Any

import pytest

from agentforge.errors import ToolArgumentsError, ToolDeclarationError
from agentforge.model import ToolParameters, ToolSpecification
from agentforge.tool.execution.schema_validator import SchemaValidator
from agentforge.tool.spec.checks import check_schema
from agentforge.tool.spec.schema_cost import check_cost, has_references, is_cheap


def twice(part: dict[str, Any]) -> dict[str, Any]:
    """Both of them have to be looked at."""
    return {"anyOf": [part, part]}


def chain(length: int, link: Any = lambda part: part) -> dict[str, Any]:
    """A schema whose parts lead to one another."""
    parts = {f"d{at}": link({"$ref": f"#/$defs/d{at + 1}"}) for at in range(length)}
    return {
        "type": "object",
        "properties": {"x": {"$ref": "#/$defs/d0"}},
        "$defs": {**parts, f"d{length}": {"type": "string"}},
    }


NODE: dict[str, Any] = {"type": "object", "properties": {"c": {"$ref": "#/$defs/n"}}}
BRANCHING = {"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": twice(NODE)}}
TREE = {"type": "object", "properties": {"x": {"$ref": "#/$defs/n"}}, "$defs": {"n": NODE}}


def nested(depth: int) -> dict[str, object]:
    """Arguments so deep."""
    value: object = "end"
    for _ in range(depth):
        value = {"c": value}
    return {"x": value}


@pytest.mark.parametrize(
    ("schema", "arguments", "cheap"),
    [
        (chain(40, twice), {"x": "a"}, False),
        (chain(40, lambda part: {"allOf": [{"not": part}, part]}), {"x": "a"}, False),
        (chain(5, twice), {"x": "a"}, True),
        (chain(40, twice), {"y": "a"}, True),
        (BRANCHING, nested(40), False),
        (BRANCHING, nested(5), True),
        (TREE, nested(60), True),
    ],
    ids=["a bomb", "another", "a small one", "not touched", "a deep argument", "a flat one", "a tree"],
)
def test_arguments_that_would_take_years_are_refused_at_once(
    schema: dict[str, Any], arguments: dict[str, Any], cheap: bool
) -> None:
    """And those that a schema of that kind is made for are checked."""
    if cheap:
        check_cost(schema, arguments, "t")
        return
    with pytest.raises(ToolArgumentsError, match="'t' are too deep or too many"):
        SchemaValidator(ToolSpecification("t", parameters=ToolParameters(schema)))(arguments)


def test_many_values_are_no_bomb() -> None:
    """What is allowed grows with what is given."""
    rows = {"type": "array", "items": {"$ref": "#/$defs/row"}}
    row = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}
    schema = {"type": "object", "properties": {"rows": rows}, "$defs": {"row": row}}
    arguments = {"rows": [{"a": "x", "b": "y"}] * 9_000}
    check_cost(schema, arguments, "t")


def test_steps_are_counted_wherever_a_schema_looks_at_a_value() -> None:
    """Each keyword that takes a part of it, or the whole."""
    for part in (
        {"properties": {"a": {}}},
        {"patternProperties": {"^a": {}}},
        {"additionalProperties": {}},
        {"propertyNames": {}},
        {"allOf": [{}]},
        {"if": {}},
        {"dependentSchemas": {"a": {}}},
        {"$dynamicRef": "#/$defs/a", "$defs": {"a": {}}},
    ):
        assert is_cheap(part, {"a": 1}, 2) and not is_cheap(part, {"a": 1}, 1), part
    for part in ({"items": {}}, {"prefixItems": [{}]}, {"items": [{}]}, {"contains": {}}):
        assert is_cheap(part, [1], 2) and not is_cheap(part, [1], 1), part


def test_only_what_refers_is_counted() -> None:
    """Wherever in it that stands."""
    assert has_references(chain(1)) and not has_references({"properties": {"a": [{"b": 1}]}})


@pytest.mark.parametrize(
    ("schema", "fault"),
    [
        (chain(5_000), "has a chain of more than 64 references"),
        (chain(65), "has a chain of more than 64 references"),
        ({"type": "object", "$ref": "#"}, "refers to itself"),
    ],
    ids=["a long one", "one too many", "a circle"],
)
def test_a_chain_of_references_has_an_end_soon(schema: dict[str, Any], fault: str) -> None:
    """A circle is another fault, and told as that."""
    check_schema(chain(63), tool="t")
    with pytest.raises(ToolDeclarationError, match=fault):
        check_schema(schema, tool="t")
