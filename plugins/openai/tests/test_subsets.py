"""The strict modes of the rows: what each sends, tells and refuses of a schema."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import ChatRequest, ChatRequestParameters, ToolParameters, ToolSpecification
from agentforge.tool.spec import compile_schema
from agentforge_openai import subsets
from plugins.openai.tests.support import exchange
from tests.support.strict_schemas import CALM, holds_what_it_promises, is_inside_and_stays, schemas

SUBSETS = {subset.name: subset for subset in (subsets.OPENAI, subsets.AZURE, subsets.DEEPSEEK, subsets.KIMI)}
STRING, INTEGER, NULL = ({"type": kind} for kind in ("string", "integer", "null"))
BETA = {"base_url": "https://api.deepseek.com/beta"}


def root(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


FORMS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a bound": (
        {"type": "integer", "minimum": 1},
        {
            "openai": {"type": "integer", "minimum": 1},
            "mfjs": {"type": "integer", "minimum": 1},
            "*": {"type": "integer", "description": "minimum: 1"},
        },
    ),
    "a length": (
        {"type": "string", "maxLength": 3},
        {"mfjs": {"type": "string", "maxLength": 3}, "*": {"type": "string", "description": "maxLength: 3"}},
    ),
    "a count": (
        {"type": "array", "items": INTEGER, "minItems": 2, "uniqueItems": True},
        {
            "openai": {"type": "array", "items": INTEGER, "minItems": 2, "description": "uniqueItems: true"},
            "mfjs": {"type": "array", "items": INTEGER, "minItems": 2, "description": "uniqueItems: true"},
            "*": {"type": "array", "items": INTEGER, "description": "minItems: 2; uniqueItems: true"},
        },
    ),
    "a format": (
        {"type": "string", "format": "uuid"},
        {"openai": {"type": "string", "format": "uuid"}, "*": {"type": "string", "description": "format: uuid"}},
    ),
    "a constant": (
        {"const": "x"},
        {"openai": {"type": "string", "const": "x"}, "*": {"type": "string", "enum": ["x"]}},
    ),
    "an object or null": (
        {**root(b=STRING), "type": ["object", "null"]},
        {
            "deepseek": {"anyOf": [NULL, root(b=STRING)]},
            "mfjs": {"anyOf": [root(b=STRING), NULL]},
            "*": {**root(b=STRING), "type": ["object", "null"]},
        },
    ),
    "a reference": ({"$ref": "#/$defs/n"}, {"*": {"$ref": "#/$defs/n"}}),
    "a reference among alternatives": (
        {"anyOf": [{"$ref": "#/$defs/n"}, NULL]},
        {"deepseek": {"anyOf": [root(b=INTEGER), NULL]}, "*": {"anyOf": [{"$ref": "#/$defs/n"}, NULL]}},
    ),
}


@pytest.mark.parametrize("name", SUBSETS)
@pytest.mark.parametrize(("schema", "expected"), FORMS.values(), ids=FORMS)
def test_a_schema_in_each_subset(schema: dict[str, Any], expected: dict[str, Any], name: str) -> None:
    made = compile_schema({**root(a=schema), "$defs": {"n": root(b=INTEGER)}}, SUBSETS[name])
    assert made.problems == ()
    assert made.schema["properties"]["a"] == expected.get(name, expected["*"])


def levels(count: int) -> dict[str, Any]:
    schema = root(leaf=STRING)
    for _ in range(count - 1):
        schema = root(next=schema)
    return schema


RECURSIVE = {**root(a={"$ref": "#/$defs/n"}), "$defs": {"n": root(b={"type": "array", "items": {"$ref": "#/$defs/n"}})}}
FITS: dict[str, tuple[dict[str, Any], set[str]]] = {
    "five levels": (levels(5), {"openai", "azure", "deepseek"}),
    "six levels": (levels(6), {"openai", "deepseek"}),
    "101 properties": (root(**{f"p{n}": STRING for n in range(101)}), {"openai", "deepseek"}),
    "501 values": (root(a={"type": "integer", "enum": list(range(501))}), {"openai", "deepseek"}),
    "an empty object inside": (root(a=root()), {"openai", "azure"}),
    "a recursion": (RECURSIVE, {"openai", "azure", "deepseek"}),
    "a recursion through an optional property": (
        {
            **root(a={"$ref": "#/$defs/n"}),
            "$defs": {"n": {"type": "object", "properties": {"n": {"$ref": "#/$defs/n"}}}},
        },
        {"openai", "azure"},
    ),
}


@pytest.mark.parametrize(("schema", "takes"), FITS.values(), ids=FITS)
def test_which_subsets_a_schema_fits(schema: dict[str, Any], takes: set[str]) -> None:
    """Kimi's has no limits, and takes each of these."""
    fits = {name for name, subset in SUBSETS.items() if not compile_schema(schema, subset).problems}
    assert fits == takes | {"mfjs"}


@settings(CALM, max_examples=20)
@given(schema=schemas(), seed=st.integers(0, 2**32))
def test_any_schema_is_inside_and_sound_in_each_subset(schema: dict[str, Any], seed: int) -> None:
    for subset in SUBSETS.values():
        is_inside_and_stays(schema, subset)
        holds_what_it_promises(schema, subset, seed)


# -- per tool ------------------------------------------------------------------------------------

CLOSED = {"type": "object", "properties": {"a": {"type": "string", "minLength": 2}, "b": {"type": "integer"}}}
OPEN = {"type": "object", "properties": {"a": STRING}, "additionalProperties": True}


def sent(vendor: str, *tools: tuple[Any, Any], **options: Any) -> tuple[list[Any], dict[str, Any], list[str]]:
    """What tools of these schemas and values of ``strict`` go out as: their ``strict``, the body, the notices."""
    made = tuple(
        ToolSpecification(f"t{index}", "does", ToolParameters(schema), strict)
        for index, (schema, strict) in enumerate(tools)
    )
    body, response = exchange(ChatRequest("q", ChatRequestParameters(tools=made)), vendor, **options)
    functions = [tool["function"] for tool in body["tools"]]
    return [function.get("strict") for function in functions], body, [notice.code for notice in response.notices]


def test_auto_is_strict_where_the_schema_can_be_and_else_not_without_a_word() -> None:
    """It does not turn parallel calls off: it is no wish."""
    strict, body, notices = sent("openai", (CLOSED, "auto"), (OPEN, "auto"))
    assert (strict, notices) == ([True, None], [])
    assert body["tools"][1]["function"]["parameters"] == OPEN
    assert "parallel_tool_calls" not in body


def test_auto_is_not_strict_where_the_endpoint_has_no_strict_tools() -> None:
    strict, body, notices = sent("deepseek", (CLOSED, "auto"))
    assert (strict, notices) == ([None], [])
    assert body["tools"][0]["function"]["parameters"] == CLOSED


def test_portable_is_the_same_schema_everywhere() -> None:
    """Also where the endpoint has no strict tools, with a notice that they are not held to it."""
    bodies = [sent("openai", (CLOSED, "portable")), sent("azure", (CLOSED, "portable"))]
    bodies += [sent("deepseek", (CLOSED, "portable"), **BETA), sent("deepseek", (CLOSED, "portable"))]
    first = bodies[0][1]["tools"][0]["function"]["parameters"]
    assert first["properties"]["a"] == {"type": ["string", "null"], "description": "minLength: 2"}
    assert all(body["tools"][0]["function"]["parameters"] == first for _, body, _ in bodies)
    assert [strict for strict, _, _ in bodies] == [[True], [True], [True], [None]]
    assert bodies[3][2] == ["not_strict", "schema_narrowed"]


def test_a_portable_schema_that_is_none_goes_out_as_it_is() -> None:
    strict, body, notices = sent("openai", (OPEN, "portable"))
    assert (strict, notices) == ([None], ["not_strict"])
    assert body["tools"][0]["function"]["parameters"] == OPEN


def test_a_row_or_a_user_says_which_subset_counts() -> None:
    """By name: the row's own, the standard one or the portable one."""
    bound = root(a={"type": "integer", "minimum": 1})
    for name, keeps in (("openai", True), ("standard", True), ("portable", False)):
        _, body, _ = sent("openai", (bound, True), profile_overrides={"strict_subset": name})
        assert ("minimum" in body["tools"][0]["function"]["parameters"]["properties"]["a"]) is keeps
