"""Schemas of tools that are not strict, as they go into a request: in what the endpoint takes, or refused by name."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import ModelProfile, Notice, ToolParameters, ToolSpecification
from agentforge.provider import (
    Endpoint,
    EndpointRow,
    VendorTable,
    complete_schema,
    plain_schema,
    profile_of,
    sent_schemas,
)
from agentforge.tool.spec import PORTABLE, STANDARD, SchemaSubset, compile_schema
from tests.support.plain_subsets import DEFINED, FEW_WORDS, NESTED

STRING = {"type": "string"}
BOUND = {"type": "object", "properties": {"a": {**STRING, "maxLength": 3}, "b": STRING}, "required": ["b"]}
NEVER_X = {"type": "object", "properties": {"a": {**STRING, "not": {"const": "x"}}}, "required": []}
BROKEN = {"type": "object", "properties": {"a": {"$ref": "#/$defs/gone"}, "b": STRING}, "required": ["b"]}
MANY_LOST = {"type": "object", "properties": {name: {**STRING, "not": {"const": name}} for name in "abcdef"}}


def endpoint(schemas: SchemaSubset | None, *, tells_all: bool = False, **profile: Any) -> Endpoint[EndpointRow]:
    row = EndpointRow(name="house", schemas=schemas, capabilities=ModelProfile(**profile))
    return Endpoint(row, profile_of(row, "m", base_url="https://llm.example"), "m", "https://llm.example", tells_all)


def tool(schema: Any, strict: Any = None, name: str = "find") -> ToolSpecification:
    return ToolSpecification(name, parameters=ToolParameters(schema), strict=strict)


def sent(where: Endpoint[EndpointRow], *tools: ToolSpecification) -> tuple[list[Any], list[Notice]]:
    notices: list[Notice] = []
    return [each.parameters for each in sent_schemas(tools, where, notices)], notices


def test_without_a_subset_a_schema_goes_as_it_is() -> None:
    """Only completed, whatever is in it."""
    assert sent(endpoint(None), tool(BROKEN)) == ([complete_schema(BROKEN)], [])


@pytest.mark.parametrize("strict", [None, False, "auto", True])
def test_what_is_not_strict_is_in_the_subset(strict: Any) -> None:
    """Whatever was asked for, where the endpoint has no strict tools; properties stay as optional as they are."""
    found, notices = sent(endpoint(FEW_WORDS, strict_tools=False), tool(BOUND, strict))
    assert found == [
        {
            "type": "object",
            "properties": {"a": {**STRING, "description": "maxLength: 3"}, "b": STRING},
            "required": ["b"],
        }
    ]
    assert notices == []


def test_what_is_strict_is_in_the_subset_for_that() -> None:
    """The two are each other's business not at all: one holds, the other advises."""
    (strict, plain), _ = sent(endpoint(FEW_WORDS), tool(BOUND, True), tool(BOUND, False, "other"))
    assert strict == compile_schema(BOUND, STANDARD).schema
    assert plain == compile_schema(BOUND, FEW_WORDS, strict=False).schema


def test_a_portable_tool_keeps_its_form_in_what_the_endpoint_takes() -> None:
    """All is required and may be null, as everywhere; what closes an object is not said where nothing may."""
    (found,), notices = sent(endpoint(FEW_WORDS, strict_tools=False), tool(BOUND, "portable"))
    form = compile_schema(BOUND, PORTABLE).schema
    assert found == compile_schema(form, FEW_WORDS, strict=False).schema
    assert found["required"] == ["a", "b"]
    assert found["properties"]["a"] == {**STRING, "description": "maxLength: 3", "nullable": True}
    assert [notice.code for notice in notices] == ["not_strict", "schema_narrowed"]


def test_a_row_of_a_file_names_the_subset_of_another_row_or_describes_one() -> None:
    """Whatever that row has it for, and what differs from it."""
    table = VendorTable("tests", EndpointRow, {"house": EndpointRow(name="house", schemas=NESTED)}, default="house")
    assert table.row({"like": "house", "name": "other", "schemas": "nested"}).schemas == NESTED
    assert table.row({"like": "house", "name": "other", "subset": "nested"}).subset == NESTED
    changed = table.row({"like": "house", "name": "other", "schemas": {"null": "nullable"}}).schemas
    assert changed == replace(NESTED, null="nullable")


# -- what is said --------------------------------------------------------------------------------


def test_what_words_tell_the_model_needs_no_notice() -> None:
    """It can be read in the description; a tool with many bounds would fill every response."""
    assert sent(endpoint(FEW_WORDS), tool(BOUND))[1] == []


def test_what_the_model_can_no_longer_see_is_one_notice_for_a_tool() -> None:
    _, notices = sent(endpoint(FEW_WORDS), tool(NEVER_X), tool(MANY_LOST, name="other"))
    assert [(notice.code, notice.message) for notice in notices] == [
        ("schema_simplified", "tool 'find' was sent with a simpler schema: /properties/a: not was left out"),
        (
            "schema_simplified",
            "tool 'other' was sent with a simpler schema: /properties/a: not was left out; /properties/b: not was left "
            "out; /properties/c: not was left out; and 3 more",
        ),
    ]
    assert notices[0].details == {
        "what": "tool 'find'",
        "parts": [{"code": "left_out", "path": "/properties/a", "text": "not was left out"}],
    }


def test_who_only_looks_is_told_all() -> None:
    """As ``agentforge tools show`` does, which sends nothing."""
    _, notices = sent(endpoint(FEW_WORDS, tells_all=True), tool(BOUND))
    assert "maxLength was moved into the description" in notices[0].message


# -- what has no form ----------------------------------------------------------------------------


def test_a_schema_without_a_form_is_refused_before_the_request() -> None:
    """By the tool's name, with the reason and the way to send it all the same."""
    with pytest.raises(UnsupportedFeatureError) as caught:
        sent(endpoint(NESTED), tool(BOUND, name="fine"), tool(BROKEN))
    assert "the schema of tool 'find': /properties/a: the reference '#/$defs/gone' is not inside" in str(caught.value)
    assert caught.value.details["feature"] == "tool_schema"
    assert "profile_overrides: {unsupported: {tool_schema: drop}}" in str(caught.value.next_step)


def test_it_can_be_sent_without_the_broken_part() -> None:
    """Which then takes anything, with a notice; arguments are checked all the same."""
    (found,), notices = sent(endpoint(DEFINED, unsupported={"tool_schema": "drop"}), tool(BROKEN))
    assert found == compile_schema(BROKEN, DEFINED, strict=False).schema
    assert found["properties"]["b"] == STRING
    assert [notice.code for notice in notices] == ["schema_simplified"]
    assert "'#/$defs/gone' is not inside the schema" in notices[0].message


def test_what_is_no_tool_has_a_feature_and_a_subset_of_its_own() -> None:
    """Such as the form of an answer."""
    notices: list[Notice] = []
    where = endpoint(None)
    assert plain_schema(BOUND, "the answer", where, notices, subset=NESTED)["required"] == ["b"]
    with pytest.raises(UnsupportedFeatureError, match=r"\(response_format.json_schema\)"):
        plain_schema(BROKEN, "the answer", where, notices, subset=NESTED, feature="response_format.json_schema")


# -- once ----------------------------------------------------------------------------------------


def test_a_schema_is_compiled_once_in_whatever_company_its_tool_is_offered() -> None:
    """A search for tools offers another set of them in every round."""
    where, first = endpoint(NESTED), tool(BOUND)
    (once,), _ = sent(where, first)
    (other, again), _ = sent(where, tool(NEVER_X, name="other"), first)
    assert again == once
    assert again["properties"] is once["properties"]
    assert other["properties"] is not once["properties"]


def test_what_was_sent_can_be_changed_by_who_sends_it() -> None:
    """At the root, where wires add and take keys."""
    where, offered = endpoint(NESTED), tool(BOUND)
    (once,), _ = sent(where, offered)
    once["description"] = "changed"
    assert "description" not in sent(where, offered)[0][0]
