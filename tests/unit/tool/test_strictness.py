"""What a tool may say about strict mode, where it is said, and what it means for the arguments that come."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from pydantic import ValidationError

from agentforge import ToolParameters, ToolSpecification, tool
from agentforge.errors import ToolArgumentsError, ToolDeclarationError, UnsupportedFeatureError
from agentforge.model import ModelProfile, Notice
from agentforge.plugin.declared_tool import DeclaredToolSettings
from agentforge.provider import Endpoint, EndpointRow, profile_of, sent_schemas
from agentforge.tool import function_tool
from agentforge.tool.execution import bound_tool_from
from agentforge.tool.spec import STANDARD, SubsetLimits, compile_schema, tool_specification_from

VALUES: tuple[Any, ...] = (None, True, False, "auto", "portable")
OTHERS: tuple[Any, ...] = ("yes", "AUTO", "", 1, 0, [], {})


@pytest.mark.parametrize("strict", VALUES)
def test_it_is_carried_to_the_specification_and_through_json(strict: Any) -> None:
    """By the decorator, by a function with a schema, and by a file."""

    @tool("Find.", strict=strict)
    def find(text: str) -> str:
        return text

    made = tool_specification_from(find)
    assert made.strict is strict or made.strict == strict
    assert ToolSpecification.from_json(made.to_json()) == made
    assert (
        function_tool(lambda given: "", name="a", schema={"type": "object"}, strict=strict).specification.strict
        == strict
    )
    assert DeclaredToolSettings(name="a", strict=strict).specification.strict == strict
    assert hash(made) == hash(dataclasses.replace(made, strict=None))


@pytest.mark.parametrize("strict", OTHERS)
def test_any_other_value_is_refused_with_those_that_there_are(strict: Any) -> None:
    with pytest.raises(ValueError, match="strict of tool 'a' must be True, False, 'auto', 'portable' or None"):
        ToolSpecification("a", strict=strict)
    with pytest.raises(ValueError, match="'strict' of tool 'a' must be true, false, \"auto\", \"portable\" or null"):
        ToolSpecification.from_json({"name": "a", "strict": strict})
    with pytest.raises(ToolDeclarationError, match="strict must be True, False, 'auto' or 'portable'"):
        tool(strict=strict)
    with pytest.raises(ToolDeclarationError, match="strict must be"):
        function_tool(lambda given: "", name="a", schema={"type": "object"}, strict=strict)


def test_a_file_with_another_value_is_refused() -> None:
    with pytest.raises(ValidationError, match="'auto' or 'portable'"):
        DeclaredToolSettings.model_validate({"name": "a", "strict": "always"})


@pytest.mark.parametrize(
    ("strict", "effect", "reads_texts"),
    [
        (True, None, False),
        ("portable", None, False),
        ("auto", None, True),
        ("auto", "write", False),
        (None, None, True),
        (None, "write", False),
        (False, "write", True),
    ],
)
def test_who_asks_for_strict_takes_values_in_their_type_only(strict: Any, effect: Any, reads_texts: bool) -> None:
    """``auto`` asks for nothing: there a model may not be held, so the text of a number is understood."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}

    def count(n: int) -> str:
        return str(n)

    specification = ToolSpecification("count", parameters=ToolParameters(schema), strict=strict)
    binds = [
        bound_tool_from(specification, lambda request: "", effect=effect).bind,
        function_tool(lambda given: "", name="a", schema=schema, strict=strict, effect=effect).bind,
    ]
    for bind in binds:
        if reads_texts:
            assert bind({"n": "3"})
        else:
            with pytest.raises(ToolArgumentsError):
                bind({"n": "3"})


# -- nulls ---------------------------------------------------------------------------------------

TEXT, NUMBER, NULL = ({"type": kind} for kind in ("string", "integer", "null"))
PET = {"type": "object", "properties": {"name": TEXT, "age": NUMBER}, "required": ["name"]}
KINDS = {
    "cat": {"allOf": [{"$ref": "#/$defs/pet"}, {"properties": {"kind": {"const": "cat"}}, "required": ["kind"]}]},
    "dog": {
        "allOf": [
            {"$ref": "#/$defs/pet"},
            {"properties": {"kind": {"const": "dog"}, "tag": {"type": ["string", "null"]}}, "required": ["kind"]},
        ]
    },
}
NULLS: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "an object inside": (PET, {"name": "a", "age": None}, {"name": "a"}),
    "objects in a list": (
        {"type": "array", "items": PET},
        [{"name": "a", "age": None}, {"name": "b", "age": 2}],
        [{"name": "a"}, {"name": "b", "age": 2}],
    ),
    "a place of a list": (
        {"type": "array", "prefixItems": [TEXT, PET]},
        ["x", {"name": "a", "age": None}],
        ["x", {"name": "a"}],
    ),
    "a place of a list in an older dialect": (
        {"$ref": "#/$defs/pair"},
        [{"name": "a", "age": None}],
        [{"name": "a"}],
    ),
    "behind a reference": ({"$ref": "#/$defs/pet"}, {"name": "a", "age": None}, {"name": "a"}),
    "an object or null": ({"anyOf": [PET, NULL]}, {"name": "a", "age": None}, {"name": "a"}),
    "one of several objects": (
        {"oneOf": [{"$ref": "#/$defs/cat"}, {"$ref": "#/$defs/dog"}]},
        {"name": "a", "kind": "cat", "age": None},
        {"name": "a", "kind": "cat"},
    ),
    "not where null is a value": (
        {"oneOf": [{"$ref": "#/$defs/cat"}, {"$ref": "#/$defs/dog"}]},
        {"name": "a", "kind": "dog", "age": None, "tag": None},
        {"name": "a", "kind": "dog", "tag": None},
    ),
    "alternatives that say no type": (
        {"anyOf": [{"properties": {"b": TEXT, "c": TEXT}, "required": ["b"]}, {"type": "string"}]},
        {"b": "x", "c": None},
        {"b": "x"},
    ),
    "keys declared beside alternatives": (
        {
            "type": "object",
            "properties": {"a": TEXT},
            "anyOf": [
                {"properties": {"b": TEXT, "c": NUMBER}, "required": ["b"]},
                {"properties": {"d": TEXT}, "required": ["d"]},
            ],
        },
        {"a": None, "b": "x", "c": None},
        {"b": "x"},
    ),
    "values without a type": (
        {"type": "object", "properties": {"e": {"enum": ["a", 1]}, "k": {"const": "x"}, "n": {"enum": ["a", None]}}},
        {"e": None, "k": None, "n": None},
        {"n": None},
    ),
    "what parts say together": (
        {"type": "object", "properties": {"e": {"allOf": [{"maxLength": 3}, TEXT]}}},
        {"e": None},
        {},
    ),
    "nullable of OpenAPI, which is no keyword": (
        {"type": "object", "properties": {"e": {"type": "string", "nullable": True}}},
        {"e": None},
        {},
    ),
    "not what must be given": (
        {"type": "object", "properties": {"e": {"type": ["string", "null"]}}, "required": ["e"]},
        {"e": None},
        {"e": None},
    ),
    "not what may be anything": ({"type": "object", "properties": {"e": {}}}, {"e": None}, {"e": None}),
}


@pytest.mark.parametrize("strict", [True, "auto", "portable"])
@pytest.mark.parametrize(("schema", "came", "meant"), NULLS.values(), ids=NULLS)
def test_null_for_what_may_be_left_out_means_not_given(
    schema: dict[str, Any], came: Any, meant: Any, strict: Any
) -> None:
    """Wherever it stands in a foreign schema, of an HTTP API or an MCP server, before the tool sees it."""
    whole = {
        "type": "object",
        "properties": {"a": schema, "b": TEXT},
        "required": ["a"],
        "$defs": {"pet": PET, **KINDS},
    }
    if schema.get("$ref") == "#/$defs/pair":
        whole["$schema"] = "http://json-schema.org/draft-07/schema#"
        whole["$defs"]["pair"] = {"type": "array", "items": [PET], "additionalItems": False}
    specification = ToolSpecification("t", parameters=ToolParameters(whole), strict=strict)
    assert bound_tool_from(specification, lambda request: "").bind({"a": came, "b": None}) == {"a": meant}


# -- as it is sent -------------------------------------------------------------------------------

CLOSED = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 3}}}
OPEN = {"type": "object", "additionalProperties": True}


def endpoint(limits: SubsetLimits | None = None, **profile: Any) -> Endpoint[EndpointRow]:
    subset = dataclasses.replace(STANDARD, name="house", limits=limits or SubsetLimits())
    row = EndpointRow(name="house", subset=subset, capabilities=ModelProfile(**profile))
    return Endpoint(row, profile_of(row, "m", base_url="https://llm.example"), "m", "https://llm.example")


def sent(
    where: Endpoint[EndpointRow], *tools: tuple[Any, Any]
) -> tuple[list[bool], list[bool], list[dict[str, object]], list[str]]:
    """Which go out strict, which of them as asked, their schemas, and the notices' codes."""
    notices: list[Notice] = []
    made = [
        ToolSpecification(f"t{index}", parameters=ToolParameters(schema), strict=strict)
        for index, (schema, strict) in enumerate(tools)
    ]
    found = sent_schemas(made, where, notices)
    return (
        [each.strict for each in found],
        [each.asked for each in found],
        [each.parameters for each in found],
        [notice.code for notice in notices],
    )


def test_each_value_as_it_is_sent() -> None:
    strict, asked, schemas, codes = sent(endpoint(), *((CLOSED, value) for value in VALUES))
    assert strict == [False, True, False, True, True]
    assert asked == [False, True, False, False, True]
    assert schemas[0] == schemas[2] == CLOSED
    assert schemas[1] == schemas[3] == schemas[4] == compile_schema(CLOSED).schema
    assert codes == ["schema_narrowed"] * 2  # of the two that asked for it


def test_each_value_where_the_schema_cannot_be_strict() -> None:
    """Only who asked for it is told."""
    strict, asked, schemas, codes = sent(endpoint(), *((OPEN, value) for value in VALUES))
    assert (strict, asked) == ([False] * 5, [False] * 5)
    assert schemas == [{**OPEN, "properties": {}}] * 5
    assert codes == ["not_strict"] * 2


def test_a_profile_can_refuse_what_cannot_be_strict() -> None:
    """``auto`` is not refused, it asked for nothing."""
    where = endpoint(unsupported={"strict_schema": "error"})
    assert sent(where, (OPEN, "auto"))[0] == [False]
    for strict in (True, "portable"):
        with pytest.raises(UnsupportedFeatureError, match="tool 't0' as strict: the root: further properties"):
            sent(where, (OPEN, strict))


def test_where_a_request_has_room_for_few_strict_tools_those_that_asked_come_first() -> None:
    """What is left over goes out as it is; who asked is told why."""
    where = endpoint(SubsetLimits(tools=2))
    tools = [(CLOSED, "auto"), (CLOSED, True), (CLOSED, "auto"), (CLOSED, True), (CLOSED, True)]
    strict, _, schemas, codes = sent(where, *tools)
    assert strict == [False, True, False, True, False]
    assert schemas[4] == CLOSED
    assert codes.count("not_strict") == 1


def test_without_strict_tools_a_portable_one_keeps_its_form() -> None:
    where = endpoint(strict_tools=False)
    strict, _, schemas, codes = sent(where, (CLOSED, "portable"), (CLOSED, "auto"))
    assert strict == [False, False]
    assert schemas == [compile_schema(CLOSED).schema, CLOSED]
    assert codes == ["not_strict", "schema_narrowed"]
