"""Section F: the JSON Schema that a model is given, and the strict form of it."""

from __future__ import annotations

import enum
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from types import GenericAlias
from typing import Annotated, Any, Literal, TypeVar

import pytest
from pydantic import BaseModel, Field

from agentforge import P, Run, ToolExecutionRequest, ToolParameters, ToolService, ToolSpecification, tool
from agentforge.errors import ToolDeclarationError
from agentforge.model.scripted import call
from agentforge.tool import AugmentedCall, StaticTools, augmented
from agentforge.tool.execution.default_executor import bound_tool_from
from agentforge.tool.spec import compile_schema, tool_specification_from
from tests.anchors.support import ANSWER, FACES, converse, differs, differs_row, received, row, rows, source_of

Bounded = TypeVar("Bounded", bound=int)


def schema_of(hint: Any) -> dict[str, Any]:
    """The schema of the one parameter of a tool, with the definitions of the whole beside it."""

    def sample(value: Any) -> None: ...

    sample.__annotations__ = {"value": hint}
    whole: Any = tool_specification_from(sample).parameters.schema
    definitions = {"$defs": whole["$defs"]} if "$defs" in whole else {}
    return {**whole["properties"]["value"], **definitions}


def nodes(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Every object inside a schema."""
    if isinstance(schema, Mapping):
        yield schema
        for inner in schema.values():
            yield from nodes(inner)
    elif isinstance(schema, list):
        for inner in schema:
            yield from nodes(inner)


def references(schema: Any) -> list[str]:
    return [node["$ref"] for node in nodes(schema) if "$ref" in node]


class Unit(enum.Enum):
    """Its display text is its own."""

    CELSIUS = "c"
    KELVIN = "k"

    def __str__(self) -> str:
        return "degrees"


class Money(BaseModel):
    """An amount."""

    cents: int
    note: str = ""


class Node(BaseModel):
    """A tree."""

    name: str
    children: list[Node] = []


class Here:
    """A place for a type of a common name."""

    class Item(BaseModel):
        """A recursive type."""

        here: int
        next: Here.Item | None = None


class There:
    """Another place."""

    class Item(BaseModel):
        """Another recursive type of the same short name."""

        there: int
        next: There.Item | None = None


class Box(BaseModel):
    """A sibling definition that refers to the second one."""

    item: There.Item


# -- the whole -----------------------------------------------------------------------------------


@rows(144, "closed, all required, in order")
def test_plain_parameters_are_a_closed_object_in_the_order_of_declaration(anchor: int) -> None:
    def find(query: str, limit: int, deep: bool, ratio: float) -> None: ...

    assert json.dumps(tool_specification_from(find).parameters.schema) == json.dumps(
        {
            "type": "object",
            "properties": {
                "query": {"type": "string"},
                "limit": {"type": "integer"},
                "deep": {"type": "boolean"},
                "ratio": {"type": "number"},
            },
            "required": ["query", "limit", "deep", "ratio"],
            "additionalProperties": False,
        }
    )


@rows(147, "not required, type unchanged")
def test_a_parameter_noted_as_not_required_keeps_its_type(anchor: int) -> None:
    def find(query: str, tag: Annotated[str, P(required=False)]) -> None: ...

    parameters = tool_specification_from(find).parameters
    assert parameters.required == ("query",)
    assert parameters.properties["tag"] == {"type": "string"}


@rows(154, "definitions at the root")
def test_a_recursive_type_has_its_definition_at_the_root(anchor: int) -> None:
    def walk(tree: Node) -> None: ...

    schema: Any = tool_specification_from(walk).parameters.schema
    assert set(schema["$defs"]) == {"Node"}
    assert set(references(schema)) == {"#/$defs/Node"}
    assert not any("$defs" in node for node in nodes(schema["properties"]))


@rows(157, "two recursive types of one name")
async def test_two_recursive_types_of_one_name_are_kept_apart(anchor: int) -> None:
    """References resolve to their own type, those in sibling definitions too."""
    seen: list[Any] = []

    @tool("Both.")
    def both(a: Here.Item, b: Box) -> None:
        seen.append((a, b))

    schema: Any = tool_specification_from(both).parameters.schema
    assert len(schema["$defs"]) == 3
    assert {reference.removeprefix("#/$defs/") for reference in references(schema)} == set(schema["$defs"])
    arguments = {"a": {"here": 1, "next": {"here": 2}}, "b": {"item": {"there": 3, "next": {"there": 4}}}}
    await converse(ToolService(both), [call("both", arguments), ANSWER])
    item = There.Item(there=3, next=There.Item(there=4))
    assert seen == [(Here.Item(here=1, next=Here.Item(here=2)), Box(item=item))]


@rows(158, "definitions are closed too")
def test_definitions_are_closed_as_the_root_is(anchor: int) -> None:
    schema = schema_of(Node)
    assert schema["$defs"]["Node"]["additionalProperties"] is False


NO_FUNCTION = [row(160, "nothing", None), row(160, "a class", Money)]


@pytest.mark.parametrize("value", NO_FUNCTION)
def test_what_is_no_function_has_no_schema(value: object) -> None:
    with pytest.raises(ToolDeclarationError, match="is not a function"):
        tool_specification_from(value)


# -- types ---------------------------------------------------------------------------------------

STRING, INTEGER = {"type": "string"}, {"type": "integer"}
TYPES = [
    row(149, "map, not closed", dict[str, int], {"type": "object", "additionalProperties": INTEGER}),
    row(
        162,
        "list of lists",
        list[list[str]],
        {"type": "array", "items": {"type": "array", "items": STRING}},
    ),
    row(163, "items by the bound of a variable", GenericAlias(list, (Bounded,)), {"type": "array", "items": INTEGER}),
    row(163, "array of a variable", GenericAlias(tuple, (Bounded, ...)), {"type": "array", "items": INTEGER}),
    row(163, "items of any type", list[Any], {"type": "array", "items": {}}),
    row(169, "alternatives", int | bool, {"anyOf": [INTEGER, {"type": "boolean"}]}),
    row(169, "alternatives in a list", list[int | str], {"type": "array", "items": {"anyOf": [INTEGER, STRING]}}),
]


@pytest.mark.parametrize(("hint", "expected"), TYPES)
def test_a_type_and_its_schema(hint: Any, expected: dict[str, Any]) -> None:
    assert schema_of(hint) == expected


@rows(168, "raw schema")
def test_a_schema_that_was_written_by_hand_is_kept_as_it_is(anchor: int) -> None:
    text = '{"type": "object", "properties": {"a": {"type": "string", "minLength": 2}}, "x-own": [1]}'
    specification = ToolSpecification("raw", None, ToolParameters(json.loads(text)))
    service = ToolService().tool(specification, lambda request: "ok")
    assert service.tool_specifications[0].parameters.schema == json.loads(text)


# -- strict --------------------------------------------------------------------------------------


@dataclass
class Order:
    """With a field that may be left out, and an inner object."""

    number: str
    total: Money
    tag: str | None = None


def pay(order: Order, limit: int = 10) -> None:
    """Pays."""


@rows(166, "strict")
def test_strict_means_all_required_optional_ones_nullable_and_closed_at_every_level(anchor: int) -> None:
    made = compile_schema(tool_specification_from(pay).parameters.schema)
    assert made.problems == ()
    objects = [node for node in nodes(made.schema) if node.get("type") == "object"]
    assert len(objects) == 3
    for node in objects:
        assert node["required"] == list(node["properties"])
        assert node["additionalProperties"] is False
    assert made.schema["properties"]["limit"]["type"] == ["integer", "null"]
    assert made.schema["$defs"]["Money"]["properties"]["note"]["type"] == ["string", "null"]


@rows(167, "not strict")
def test_without_strict_only_what_must_be_given_is_required(anchor: int) -> None:
    schema: Any = tool_specification_from(pay).parameters.schema
    assert schema["required"] == ["order"]
    assert schema["$defs"]["Order"]["required"] == ["number", "total"]
    assert schema["$defs"]["Money"]["required"] == ["cents"]


# -- polymorphism --------------------------------------------------------------------------------


class Card(BaseModel):
    """One subtype."""

    kind: Literal["card"]
    digits: str


class Transfer(BaseModel):
    """The other."""

    kind: Literal["transfer"]
    account: str


Payment = Annotated[Card | Transfer, Field(discriminator="kind")]


class Purchase(BaseModel):
    """A subtype inside an object."""

    payment: Payment


CARD, TRANSFER = {"kind": "card", "digits": "4242"}, {"kind": "transfer", "account": "7"}
SUBTYPES = [
    row(170, "one", Payment, TRANSFER, Transfer(kind="transfer", account="7")),
    row(
        170,
        "in a list",
        list[Payment],
        [CARD, TRANSFER],
        [Card(kind="card", digits="4242"), Transfer(kind="transfer", account="7")],
    ),
    row(170, "in an object", Purchase, {"payment": CARD}, Purchase(payment=Card(kind="card", digits="4242"))),
]


@pytest.mark.parametrize(("hint", "value", "expected"), SUBTYPES)
async def test_the_discriminator_decides_which_subtype_arrives(hint: Any, value: object, expected: object) -> None:
    assert await received(hint, {"value": value}) == expected


# -- further arguments ---------------------------------------------------------------------------


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


def ignore(noted: AugmentedCall) -> None:
    """Takes what the model wrote into the extra arguments."""


def reason(description: str | None) -> ToolParameters:
    return ToolParameters.builder().add_property("reason", "string", description, True).build()


@pytest.mark.parametrize("description", [row(171, "empty description", ""), row(171, "no description", None)])
async def test_a_further_argument_without_a_description_has_no_such_key(description: str | None) -> None:
    (offered,) = await augmented(source_of(add), reason(description), ignore).tools(Run())
    assert offered.specification.parameters.properties["reason"] == {"type": "string"}


UNUSABLE = [
    row(174, "no fields", source_of(add), ToolParameters.empty()),
    row(174, "no object", source_of(add), ToolParameters({"type": "array", "properties": {"a": STRING}})),
    row(174, "a name that is taken", source_of(add), ToolParameters.builder().add_property("a", "string").build()),
]


@pytest.mark.parametrize(("source", "parameters"), UNUSABLE)
async def test_arguments_that_cannot_be_added_are_refused(source: StaticTools, parameters: ToolParameters) -> None:
    with pytest.raises(ToolDeclarationError):
        await augmented(source, parameters, ignore).tools(Run())


@rows(174, "the tool's own schema is unusable")
def test_a_tool_with_an_unusable_schema_is_refused(anchor: int) -> None:
    with pytest.raises(ToolDeclarationError, match="root type 'array'"):
        bound_tool_from(ToolSpecification("raw", None, ToolParameters({"type": "array"})), lambda request: "ok")


def taking_more(seen: list[dict[str, object]], *, open_: bool) -> StaticTools:
    def execute(request: ToolExecutionRequest) -> str:
        seen.append(request.arguments_as_map())
        return "ok"

    schema = {"type": "object", "properties": {"a": INTEGER}, "required": ["a"], "additionalProperties": open_}
    return StaticTools([bound_tool_from(ToolSpecification("keep", None, ToolParameters(schema)), execute)])


OPEN_OR_CLOSED = [row(176, "an open tool", True), row(176, "a closed tool", False)]


@FACES
@pytest.mark.parametrize("open_", OPEN_OR_CLOSED)
async def test_without_removal_the_tool_sees_the_further_arguments_too(open_: bool, streamed: bool) -> None:
    seen: list[dict[str, object]] = []
    noted: list[Mapping[str, object]] = []
    tools = taking_more(seen, open_=open_)
    source = augmented(tools, reason(None), lambda made: noted.append(made.extra), remove=False)
    await converse(ToolService(source), [call("keep", a=1, reason="why"), ANSWER], streamed=streamed)
    assert noted == [{"reason": "why"}]
    assert seen == [{"a": 1, "reason": "why"}]


@pytest.mark.parametrize("open_", [True, False], ids=["an open tool", "a closed tool"])
async def test_with_removal_the_tool_never_sees_the_further_arguments(open_: bool) -> None:
    """The other side of row 176."""
    seen: list[dict[str, object]] = []
    source = augmented(taking_more(seen, open_=open_), reason(None), ignore)
    await converse(ToolService(source), [call("keep", a=1, reason="why"), ANSWER])
    assert seen == [{"a": 1}]


INCOMPLETE: Sequence[Any] = [
    row(178, "nothing", ()),
    row(178, "without arguments and consumer", (source_of(add),)),
    row(178, "without a consumer", (source_of(add), reason(None))),
]


@pytest.mark.parametrize("given", INCOMPLETE)
def test_further_arguments_need_a_source_their_type_and_a_consumer(given: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError):
        augmented(*given)


# -- where we decide otherwise -------------------------------------------------------------------


@differs(147, "null is part of the type")
def test_a_type_that_may_be_null_says_so_and_need_not_be_given(anchor: int) -> None:
    def find(query: str, tag: str | None) -> None: ...

    parameters = tool_specification_from(find).parameters
    assert parameters.required == ("query",)
    assert parameters.properties["tag"] == {"type": ["string", "null"]}


@differs(148, "open only where a schema says so")
async def test_an_object_is_opened_in_its_own_schema_and_generated_ones_are_closed(anchor: int) -> None:
    assert tool_specification_from(add).parameters.schema["additionalProperties"] is False
    opened = ToolParameters.builder().add_property("a", "string").allow_additional_properties().build()
    assert opened.schema.get("additionalProperties", True) is True
    seen: list[dict[str, object]] = []

    def execute(request: ToolExecutionRequest) -> str:
        seen.append(request.arguments_as_map())
        return "ok"

    service = ToolService().tool(ToolSpecification("keep", None, opened), execute)
    await converse(service, [call("keep", a="x", b=2), ANSWER])
    assert seen == [{"a": "x", "b": 2}]


FORMATS = [
    differs_row(150, "date", date, "date"),
    differs_row(150, "date and time", datetime, "date-time"),
    differs_row(150, "duration", timedelta, "duration"),
]


@pytest.mark.parametrize(("hint", "name"), FORMATS)
def test_dates_and_durations_are_texts_with_their_format(hint: Any, name: str) -> None:
    assert schema_of(hint) == {"type": "string", "format": name}


@differs(152, "JSON Schema's own words")
def test_types_are_named_in_lower_case(anchor: int) -> None:
    assert [schema_of(hint)["type"] for hint in (str, int, float, bool)] == ["string", "integer", "number", "boolean"]


@differs(154, "definitions come last")
def test_definitions_stand_behind_the_properties(anchor: int) -> None:
    def walk(tree: Node) -> None: ...

    assert list(tool_specification_from(walk).parameters.schema)[-1] == "$defs"


@differs(157, "both are named by their place")
def test_types_of_one_name_are_both_named_in_full(anchor: int) -> None:
    def both(a: Here.Item, b: There.Item) -> None: ...

    schema: Any = tool_specification_from(both).parameters.schema
    assert "Item" not in schema["$defs"]
    assert sorted(name.rpartition("__")[0].endswith(("Here", "There")) for name in schema["$defs"]) == [True, True]


@differs(161, "values")
def test_an_enum_is_the_list_of_its_values(anchor: int) -> None:
    assert schema_of(Unit) == {"type": "string", "enum": ["c", "k"]}


@differs(165, "one definition, referred to twice")
def test_a_type_that_is_used_twice_is_defined_once(anchor: int) -> None:
    def move(source: Money, target: Money) -> None: ...

    schema: Any = tool_specification_from(move).parameters.schema
    assert list(schema["$defs"]) == ["Money"]
    assert references(schema) == ["#/$defs/Money"] * 2
