"""The JSON Schema of a tool's parameters: seed A's type table, and the types beyond it."""

from __future__ import annotations

import collections.abc as abc
import enum
import json
import subprocess
import sys
import typing
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Optional, TypeVar
from uuid import UUID

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field

from agentforge.errors import ToolDeclarationError
from agentforge.tool.declare import P, tool
from agentforge.tool.spec import tool_specification_from
from agentforge.tool.spec.schema import tidy_schema
from tests.unit.tool.samples import Level, Node, Open, Pair, Place

OrderNumber = NewType("OrderNumber", str)
Bound = TypeVar("Bound", bound=int)


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"

    def __str__(self) -> str:
        return "a display text"


class Shape(enum.Enum):
    POINT = (0, 0)
    LINE = (0, 1)


class Money(BaseModel):
    """An amount."""

    cents: int = Field(description="in cents")
    title: str = "t"


class Options(typing.TypedDict, total=False):
    limit: int
    deep: typing.Required[bool]


def schema_of(hint: Any, default: Any = ...) -> dict[str, Any]:
    """The schema of one parameter of this type."""

    def sample(a: Any = default) -> None: ...

    if default is ...:

        def sample(a: Any) -> None: ...

    sample.__annotations__ = {"a": hint}
    whole = tool_specification_from(sample).parameters.schema
    jsonschema_rs.meta.validate(whole)
    made = dict(whole["properties"]["a"])  # type: ignore[index]
    if "$defs" in whole:
        made["$defs"] = whole["$defs"]
    return made


STRING, INTEGER, NUMBER, BOOLEAN, NULL = ({"type": kind} for kind in ("string", "integer", "number", "boolean", "null"))
TYPES: dict[str, tuple[Any, dict[str, Any]]] = {
    # Seed A's table.
    "str": (str, STRING),
    "int": (int, INTEGER),
    "float": (float, NUMBER),
    "bool": (bool, BOOLEAN),
    "enum of texts": (Unit, {"type": "string", "enum": ["celsius", "fahrenheit"]}),
    "list": (list[str], {"type": "array", "items": STRING}),
    "set": (set[int], {"type": "array", "items": INTEGER, "uniqueItems": True}),
    "dict": (dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    # Beyond it, still without pydantic.
    "any value": (Any, {}),
    "object": (object, {}),
    "None": (None, NULL),
    "bare list": (list, {"type": "array", "items": {}}),
    "bare dict": (dict, {"type": "object", "additionalProperties": True}),
    "dict of anything": (dict[str, Any], {"type": "object", "additionalProperties": True}),
    "typing.Dict": (typing.Dict[str, str], {"type": "object", "additionalProperties": STRING}),  # noqa: UP006
    "mapping": (abc.Mapping[str, bool], {"type": "object", "additionalProperties": BOOLEAN}),
    "sequence": (abc.Sequence[int], {"type": "array", "items": INTEGER}),
    "iterable": (abc.Iterable[int], {"type": "array", "items": INTEGER}),
    "frozenset": (frozenset[str], {"type": "array", "items": STRING, "uniqueItems": True}),
    "list of lists": (list[list[str]], {"type": "array", "items": {"type": "array", "items": STRING}}),
    "tuple of any length": (tuple[int, ...], {"type": "array", "items": INTEGER}),
    "tuple of one type": (tuple[int, int], {"type": "array", "items": INTEGER, "minItems": 2, "maxItems": 2}),
    "tuple of several types": (
        tuple[int, str, int],
        {
            "type": "array",
            "items": {"anyOf": [INTEGER, STRING]},
            "description": "In this order: integer, string, integer",
            "minItems": 3,
            "maxItems": 3,
        },
    ),
    "optional": (Optional[str], {"type": ["string", "null"]}),  # noqa: UP045
    "optional by a bar": (int | None, {"type": ["integer", "null"]}),
    "optional enum": (Unit | None, {"anyOf": [{"type": "string", "enum": ["celsius", "fahrenheit"]}, NULL]}),
    "literal": (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
    "literal of several types": (Literal["a", 1], {"type": ["string", "integer"], "enum": ["a", 1]}),
    "enum of integers": (Level, {"type": "integer", "enum": [1, 2]}),
    "enum of objects, by name": (Shape, {"type": "string", "enum": ["POINT", "LINE"]}),
    "new type": (OrderNumber, STRING),
    "type variable by its bound": (list[Bound], {"type": "array", "items": INTEGER}),
    "date": (date, {"type": "string", "format": "date"}),
    "moment": (datetime, {"type": "string", "format": "date-time"}),
    "time": (time, {"type": "string", "format": "time"}),
    "UUID": (UUID, {"type": "string", "format": "uuid"}),
    # Through pydantic.
    "duration": (timedelta, {"type": "string", "format": "duration"}),
    "constraint": (Annotated[int, Field(ge=1, le=9)], {"type": "integer", "minimum": 1, "maximum": 9}),
    "union": (int | str, {"anyOf": [INTEGER, STRING]}),
    "list of a union": (list[int | str], {"type": "array", "items": {"anyOf": [INTEGER, STRING]}}),
    "keys that are numbers": (dict[int, str], {"type": "object", "additionalProperties": STRING}),
    "model": (
        Money,
        {
            "$ref": "#/$defs/Money",
            "$defs": {
                "Money": {
                    "description": "An amount.",
                    "properties": {
                        "cents": {"type": "integer", "description": "in cents"},
                        "title": {"type": "string", "default": "t"},
                    },
                    "required": ["cents"],
                    "type": "object",
                    "additionalProperties": False,
                }
            },
        },
    ),
    "open model": (
        Open,
        {
            "$ref": "#/$defs/Open",
            "$defs": {
                "Open": {
                    "type": "object",
                    "properties": {"a": INTEGER},
                    "required": ["a"],
                    "additionalProperties": True,
                }
            },
        },
    ),
    "recursive model": (
        Node,
        {
            "$ref": "#/$defs/Node",
            "$defs": {
                "Node": {
                    "type": "object",
                    "properties": {
                        "name": STRING,
                        "kids": {"type": "array", "items": {"$ref": "#/$defs/Node"}, "default": []},
                    },
                    "required": ["name"],
                    "additionalProperties": False,
                }
            },
        },
    ),
    "dataclass": (
        Place,
        {
            "$ref": "#/$defs/Place",
            "$defs": {
                "Place": {
                    "type": "object",
                    "properties": {"city": STRING, "tags": {"type": "object", "additionalProperties": INTEGER}},
                    "required": ["city"],
                    "additionalProperties": False,
                }
            },
        },
    ),
    "typed dict": (
        Options,
        {
            "$ref": "#/$defs/Options",
            "$defs": {
                "Options": {
                    "type": "object",
                    "properties": {"limit": INTEGER, "deep": BOOLEAN},
                    "required": ["deep"],
                    "additionalProperties": False,
                }
            },
        },
    ),
    "named tuple": (
        Pair,
        {
            "type": "array",
            "items": {"anyOf": [INTEGER, {"type": "string", "default": "r"}]},
            "description": "In this order: integer, string",
            "minItems": 1,
            "maxItems": 2,
        },
    ),
}


@pytest.mark.parametrize(("hint", "expected"), TYPES.values(), ids=TYPES)
def test_a_type_and_its_schema(hint: Any, expected: dict[str, Any]) -> None:
    made = schema_of(hint)
    if "$defs" not in made and "$ref" in made:
        pytest.fail("a reference without its definition")
    assert _sorted(made) == _sorted(expected)


def _sorted(schema: Any) -> Any:
    """Named tuples and the like may be put below $defs or not; the content is compared."""
    if isinstance(schema, dict) and "$ref" in schema and len(schema.get("$defs", ())) == 1:
        (inner,) = schema["$defs"].values()
        if "#/$defs/" not in json.dumps(inner):
            return {**inner}
    return schema


def test_a_decimal_is_a_number_or_its_text() -> None:
    made = schema_of(Decimal)
    check = jsonschema_rs.validator_for(made)
    assert [check.is_valid(value) for value in (1, 0.5, "0.10", "-3", "x", "1e5", None)] == [True] * 4 + [False] * 3


def test_the_whole_schema_is_closed_and_in_the_order_of_declaration() -> None:
    def find(query: str, unit: Unit, limit: int = 10, *, tag: str | None = None, deep: Optional[bool]) -> None: ...  # noqa: UP045

    assert tool_specification_from(find).parameters.schema == {
        "type": "object",
        "properties": {
            "query": STRING,
            "unit": {"type": "string", "enum": ["celsius", "fahrenheit"]},
            "limit": {"type": "integer", "default": 10},
            "tag": {"type": ["string", "null"], "default": None},
            "deep": {"type": ["boolean", "null"]},
        },
        "required": ["query", "unit"],
        "additionalProperties": False,
    }


def test_without_parameters_the_schema_is_an_empty_closed_object() -> None:
    assert tool_specification_from(lambda_free).parameters.schema == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


def lambda_free() -> None: ...


def test_names_like_those_of_schemas_and_models_stay_as_written() -> None:
    """Clean-up works by position: a parameter may be called title, type, json or model_config."""

    def save(title: str, type: str = "vis", default: str = "d", properties: str = "p") -> None: ...
    def export(json: bool, schema: str, copy: int = 1, model_config: str = "c", model_dump: bool = False) -> None: ...

    made = tool_specification_from(save).parameters
    assert list(made.properties) == ["title", "type", "default", "properties"]
    assert made.required == ("title",)
    assert list(tool_specification_from(export).parameters.properties) == [
        "json",
        "schema",
        "copy",
        "model_config",
        "model_dump",
    ]


def test_only_generated_titles_are_removed() -> None:
    schema = {"title": "T", "type": "object", "properties": {"title": {"title": "Title", "type": "string"}}}
    assert tidy_schema(schema)["properties"] == {"title": {"type": "string"}}
    assert "title" not in tidy_schema(schema)
    assert schema["title"] == "T"


class _Here:
    class Item(BaseModel):
        here: int


class _There:
    class Item(BaseModel):
        there: int
        next: _There.Item | None = None


def test_two_types_of_one_name_do_not_collide() -> None:
    def both(a: _Here.Item, b: _There.Item) -> None: ...

    made = tool_specification_from(both).parameters.schema
    check = jsonschema_rs.validator_for(made)
    assert check.is_valid({"a": {"here": 1}, "b": {"there": 1, "next": {"there": 2}}})
    assert not check.is_valid({"a": {"there": 1}, "b": {"here": 1}})
    assert len(made["$defs"]) == 2  # type: ignore[arg-type]


# -- descriptions --------------------------------------------------------------------------------

GOOGLE = "Sum.\n\nArgs:\n    a: first\n      of two\n    b (int): second\n"
NUMPY = "Sum.\n\nParameters\n----------\na : int\n    first\n    of two\nb : int, optional\n    second\n"
SPHINX = "Sum.\n\n:param a: first\n    of two\n:param int b: second\n:returns: x\n"


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["google", "numpy", "sphinx"])
def test_parameters_are_described_by_docstrings(text: str) -> None:
    def add(a: int, b: int = 1) -> int:
        return a + b

    add.__doc__ = text
    made = tool_specification_from(add)
    described = {name: schema["description"] for name, schema in made.parameters.properties.items()}  # type: ignore[index]
    assert {name: " ".join(text.split()) for name, text in described.items()} == {"a": "first of two", "b": "second"}
    assert made.description == "Sum."


def test_a_type_over_two_lines_does_not_become_the_name() -> None:
    def f(out: Literal["a", "b"]) -> str:
        """F.

        Args:
            out (Literal["a",
                "b"]): Output form:
                - a is short
                - b is long
        """
        return out

    made = tool_specification_from(f).parameters.properties
    assert list(made) == ["out"]
    assert made["out"]["description"].startswith("Output form:")  # type: ignore[index]


@pytest.mark.parametrize("text", ["Args:", "A.\n\nArgs:\n  (((", ":param", "---\n---", "\x00", "Args:\n" + "x" * 9999])
def test_a_docstring_that_cannot_be_read_never_breaks_a_tool(text: str) -> None:
    def f(a: int) -> int:
        return a

    f.__doc__ = text
    assert list(tool_specification_from(f).parameters.properties) == ["a"]


def described_by(
    note: Annotated[str, P("first line", "second line")],
    plain: Annotated[str, "a bare text"],
    both: Annotated[str, P("ours"), "theirs"],
    other: Annotated[str, P(name="wire-name")],
    by_field: Annotated[int, Field(description="by field", ge=0)],
    as_default: int = Field(7, description="as default", alias="asDefault"),
    listed: list[str] = Field(default_factory=list, description="Things"),  # noqa: B008
    given: Annotated[int, P("with default", default=3)] = 4,
    needed: Annotated[int, P(required=True)] = 5,
    optional: Annotated[str, P(required=False)] = "x",
) -> None: ...


def test_notes_and_fields_describe_parameters() -> None:
    made = tool_specification_from(described_by).parameters
    assert dict(made.properties) == {
        "note": {"type": "string", "description": "first line\nsecond line"},
        "plain": {"type": "string", "description": "a bare text"},
        "both": {"type": "string", "description": "ours"},
        "wire-name": {"type": "string"},
        "by_field": {"type": "integer", "minimum": 0, "description": "by field"},
        "asDefault": {"type": "integer", "description": "as default", "default": 7},
        "listed": {"type": "array", "items": {"type": "string"}, "description": "Things"},
        "given": {"type": "integer", "description": "with default", "default": 3},
        "needed": {"type": "integer", "default": 5},
        "optional": {"type": "string", "default": "x"},
    }
    assert made.required == ("note", "plain", "both", "wire-name", "by_field", "needed")


def test_two_parameters_of_one_model_keep_their_own_descriptions() -> None:
    def move(source: Annotated[Money, P("from")], target: Annotated[Money, P("to")]) -> None: ...

    made = tool_specification_from(move).parameters.properties
    assert [made[name]["description"] for name in ("source", "target")] == ["from", "to"]  # type: ignore[index]


DEFAULTS: dict[str, tuple[Any, Any, Any]] = {
    "enum": (Unit, Unit.C, "celsius"),
    "date": (date, date(2026, 1, 2), "2026-01-02"),
    "tuple": (tuple[int, str], (1, "x"), [1, "x"]),
    "model": (Money, Money(cents=5), {"cents": 5, "title": "t"}),
    "dataclass": (Place, Place("Oslo"), {"city": "Oslo", "tags": {}}),
}


@pytest.mark.parametrize(("hint", "default", "shown"), DEFAULTS.values(), ids=DEFAULTS)
def test_defaults_are_shown_as_json(hint: Any, default: Any, shown: Any) -> None:
    assert schema_of(hint, default)["default"] == shown


def test_a_default_that_the_type_does_not_take_is_not_shown() -> None:
    assert schema_of(int, None) == {"type": "integer"}
    assert schema_of(Any, object()) == {}


@tool("Plain.")
def plain_tool(a: int, b: list[str], c: Literal["x"] = "x", d: date | None = None) -> str:
    return f"{a}{b}{c}{d}"


def test_plain_tools_load_no_library() -> None:
    """Neither declaring, describing, binding nor running a tool of plain types imports pydantic or a parser."""
    source = (
        "import sys, typing\n"
        "from agentforge.tool import tool\n"
        "from agentforge.tool.execution.default_executor import DefaultToolExecutor\n"
        "from agentforge.model.tool_call import ToolExecutionRequest as R\n"
        "@tool('Plain.')\n"
        "def f(a: int, b: list[str], c: typing.Literal['x'] = 'x') -> dict:\n"
        "    'Doc.'\n"
        "    return {'a': a, 'b': b, 'c': c}\n"
        "print(DefaultToolExecutor(f).execute(R('1', 'f', '{\"a\": 1, \"b\": [\"q\"]}')))\n"
        "print(sorted({'pydantic', 'docstring_parser', 'jsonschema_rs', 'httpx', 'yaml'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.splitlines() == ['{"a":1,"b":["q"],"c":"x"}', "[]"]


def test_a_type_without_a_json_form_is_refused_by_parameter_and_type() -> None:
    class Runtime: ...

    with pytest.raises(ToolDeclarationError, match="parameter 'a' of tool 'sample' has type Runtime"):
        schema_of(Runtime)
    with pytest.raises(ToolDeclarationError, match="parameter 'a' of tool 'sample'"):
        schema_of(dict[str, Runtime])
