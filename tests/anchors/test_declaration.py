"""Section E: which functions and methods become tools, by what name and description."""

from __future__ import annotations

import abc
import json
import logging
from collections.abc import Callable
from typing import Annotated, Any, Generic, TypeVar

import pytest
from pydantic import BaseModel

from agentforge import P, ToolParameters, ToolService, ToolSpecification, tool
from agentforge.errors import DuplicateToolError, ToolDeclarationError
from agentforge.model.scripted import call
from agentforge.tool.spec import (
    tool_name_from,
    tool_specification_from,
    tool_specifications_from,
    validate_specifications,
)
from tests.anchors.support import ANSWER, FACES, converse, differs, row, rows, source_of

T = TypeVar("T")


def names(target: Any) -> list[str]:
    return [specification.name for specification in tool_specifications_from(target)]


# -- names and descriptions ----------------------------------------------------------------------


@rows(118, "empty name")
def test_an_empty_name_means_the_name_of_the_function(anchor: int) -> None:
    @tool("Adds.", name="")
    def add(a: int) -> int:
        return a

    assert tool_name_from(add) == tool_specification_from(add).name == "add"


@rows(119, "a parameter with a name alone")
def test_a_parameter_that_has_only_a_name_has_no_description(anchor: int) -> None:
    def add(a: Annotated[int, P(name="first")]) -> int:
        return a

    assert tool_specification_from(add).parameters.properties == {"first": {"type": "integer"}}


class Point(BaseModel):
    """A place on a plane."""

    x: int
    y: int


@rows(130, "two parameters of one type")
def test_two_parameters_of_one_type_keep_their_own_descriptions(anchor: int) -> None:
    def line(start: Annotated[Point, P("where it begins")], end: Annotated[Point, P("where it ends")]) -> None: ...

    properties: Any = tool_specification_from(line).parameters.properties
    assert [properties[name]["description"] for name in ("start", "end")] == ["where it begins", "where it ends"]


@rows(142, "a name in camel case")
def test_a_function_that_is_not_decorated_is_described_by_its_name_in_words(anchor: int) -> None:
    def getOrderCount(shop: str) -> int:  # noqa: N802  (the case of the row)
        return len(shop)

    assert tool_specification_from(getOrderCount).description == "get order count"


ODD_NAMES = [
    row(143, "blanks", "get the weather"),
    row(143, "special characters", "weather/now!"),
    row(143, "parentheses", "weather (now)"),
    row(143, "no Latin letters", "查询天气"),
]


@FACES
@pytest.mark.parametrize("name", ODD_NAMES)
async def test_a_name_of_any_characters_is_accepted_and_called(name: str, streamed: bool) -> None:
    """What a provider takes is its wire's concern, which sends an alias."""

    @tool("Weather.", name=name)
    def weather(city: str) -> str:
        return city

    validate_specifications([tool_specification_from(weather)])
    done = await converse(ToolService(weather), [call(name, city="Lima"), ANSWER], streamed=streamed)
    assert done.texts == ["Lima"]


# -- discovery -----------------------------------------------------------------------------------


class Twice:
    """Two methods of one tool name."""

    @tool("One.", name="same")
    def one(self) -> str:
        return "1"

    @tool("Two.", name="same")
    def two(self) -> str:
        return "2"


class Overloaded:
    """The name of one method is the tool name of another: what overloads come to."""

    @tool("By number.")
    def find(self, number: int) -> str:
        return "1"

    @tool("By name.", name="find")
    def find_by_name(self, name: str) -> str:
        return "2"


class Base:
    """A superclass with tools."""

    @tool("Base's price.")
    def price(self) -> str:
        return "base"

    @tool("Stock.")
    def stock(self) -> str:
        return f"stock of {type(self).__name__}"


class Child(Base):
    """Overrides one tool with a declaration of its own."""

    @tool("Child's price.")
    def price(self) -> str:
        return "child"


class Contract(abc.ABC):
    """An interface whose method is declared a tool."""

    @abc.abstractmethod
    @tool("Reads.")
    def read(self) -> str: ...


class Implementation(Contract):
    """Its implementation, which is not declared."""

    def read(self) -> str:
        return "x"

    @tool("Writes.")
    def write(self) -> str:
        return "y"


class Store(Generic[T]):
    """A generic class whose method takes its type variable."""

    @tool("Puts.")
    def put(self, item: T) -> str:
        return f"{item}"


class Numbers(Store[int]):
    """What a compiler would give a bridge method."""

    @tool("Puts a number.")
    def put(self, item: int) -> str:
        return f"number {item}"

    again = put


def audited(function: Callable[..., Any]) -> Callable[..., Any]:
    """A project's own decorator, which carries ours."""
    return tool("Audited.", metadata={"audited": True})(function)


class Audited:
    """A tool by way of that decorator."""

    @audited
    def pay(self, amount: int) -> int:
        return amount


TWICE = [row(121, "two explicit names", Twice, "same"), row(121, "a method's own name", Overloaded, "find")]


@pytest.mark.parametrize(("target", "name"), TWICE)
def test_one_name_twice_in_a_class_is_refused_at_registration(target: type, name: str) -> None:
    for register in (tool_specifications_from, ToolService):
        with pytest.raises(DuplicateToolError, match=f"two tools named '{name}'"):
            register(target())


FOUND = [
    row(122, "in a superclass", Base(), Child(), {"price", "stock"}),
    row(127, "not by an interface", Implementation(), Implementation(), {"write"}),
    row(139, "by a decorator that carries it", Audited(), Audited(), {"pay"}),
    row(140, "one method, not its bridge", Numbers(), Numbers(), {"put"}),
]


@pytest.mark.parametrize(("first", "second", "expected"), FOUND)
def test_what_is_declared_is_found_once(first: object, second: object, expected: set[str]) -> None:
    for target in (first, second):
        found = names(target)
        assert (set(found), len(found)) == (expected, len(expected))


@rows(123, "the child's declaration wins")
async def test_an_override_with_its_own_declaration_is_the_one_tool(anchor: int) -> None:
    described = {made.name: made.description for made in tool_specifications_from(Child())}
    assert described == {"price": "Child's price.", "stock": "Stock."}
    assert (await converse(ToolService(Child()), [call("price"), ANSWER])).texts == ["child"]


@rows(122, "an inherited tool runs")
async def test_a_tool_of_a_superclass_runs_on_the_object_itself(anchor: int) -> None:
    assert (await converse(ToolService(Child()), [call("stock"), ANSWER])).texts == ["stock of Child"]


@rows(140, "the user's own method runs")
async def test_the_method_of_the_child_is_the_one_that_runs(anchor: int) -> None:
    assert (await converse(ToolService(Numbers()), [call("put", item=7), ANSWER])).texts == ["number 7"]


class NoTools:
    """An object without a tool."""

    def price(self) -> str:
        return "1"


class OnlyFunctions:
    """All tools return functions."""

    @tool("A function.")
    def make(self) -> Callable[[int], int]:
        return abs


NO_TOOLS = [
    row(135, "no declared method", NoTools(), "no method that is decorated", "@tool"),
    row(
        136, "all return functions", OnlyFunctions(), "the result of tool 'make' has type Callable", "value's own type"
    ),
]


@pytest.mark.parametrize(("target", "fault", "hint"), NO_TOOLS)
def test_an_object_without_a_usable_tool_is_refused_with_a_hint(target: object, fault: str, hint: str) -> None:
    with pytest.raises(ToolDeclarationError, match=fault) as caught:
        ToolService(target)
    assert isinstance(caught.value, TypeError)
    assert hint in str(caught.value.next_step)


# -- names that clash ----------------------------------------------------------------------------


@FACES
@rows(134, "registered and from a source")
async def test_a_name_from_a_source_that_is_registered_already_is_refused(anchor: int, streamed: bool) -> None:
    service = ToolService(Base(), source_of(Child()))
    with pytest.raises(DuplicateToolError, match="two tools are named 'price'"):
        await converse(service, [ANSWER], streamed=streamed)


@rows(138, "two objects with one tool name")
def test_two_objects_with_one_tool_name_are_refused_by_name(anchor: int) -> None:
    with pytest.raises(DuplicateToolError, match="'price'") as caught:
        ToolService(Base(), Child())
    assert isinstance(caught.value, ValueError)
    assert caught.value.tool == "price"


# -- metadata and JSON ---------------------------------------------------------------------------


@rows(129, "metadata on the specification")
def test_metadata_is_a_mapping_on_the_specification(anchor: int) -> None:
    @tool("Pays.", metadata={"team": "shop", "level": {"n": 1}})
    def pay(amount: int) -> int:
        return amount

    assert tool_specification_from(pay).metadata == {"team": "shop", "level": {"n": 1}}


AMOUNT = ToolParameters.builder().add_property("amount", "integer", "in cents", True).build()
ROUND_TRIPS = [
    row(132, "nothing but a name", ToolSpecification("pay")),
    row(132, "parameters", ToolSpecification("pay", "Pays.", AMOUNT)),
    row(132, "metadata", ToolSpecification("pay", "Pays.", AMOUNT, None, {"team": "shop", "n": [1]})),
    row(132, "strict", ToolSpecification("pay", "Pays.", AMOUNT, True)),
    row(132, "not strict", ToolSpecification("pay", "Pays.", AMOUNT, False)),
]


@pytest.mark.parametrize("specification", ROUND_TRIPS)
def test_a_specification_survives_json(specification: ToolSpecification) -> None:
    made = ToolSpecification.from_json(json.loads(json.dumps(specification.to_json())))
    assert made == specification
    assert (made.strict, made.metadata) == (specification.strict, specification.metadata)


UNREADABLE = [
    row(133, "strict is no boolean", {"name": "pay", "strict": "yes"}, "'strict'"),
    row(133, "parameters are no object", {"name": "pay", "parameters": []}, "'parameters'"),
    row(133, "metadata is no object", {"name": "pay", "metadata": "shop"}, "'metadata'"),
    row(133, "name is no text", {"name": 7}, "'name'"),
    row(133, "null", None, "JSON object"),
]


@pytest.mark.parametrize(("data", "fault"), UNREADABLE)
def test_what_is_no_specification_is_refused_by_its_field(data: object, fault: str) -> None:
    with pytest.raises(ValueError, match=fault):
        ToolSpecification.from_json(data)


# -- where we decide otherwise -------------------------------------------------------------------


@differs(133, "any keyword of JSON Schema")
def test_a_keyword_of_the_parameters_is_kept_whether_we_know_it_or_not(anchor: int) -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "x-shown-as": "A"}}}
    assert ToolSpecification.from_json({"name": "pay", "parameters": schema}).parameters.schema == schema


class Mixed(NoTools):
    """One tool returns a function, the other does not."""

    @tool("A function.")
    def make(self) -> Callable[[int], int]:
        return abs

    @tool("A price.")
    def now(self) -> int:
        return 1


@differs(137, "refused, not left out")
def test_a_method_that_returns_a_function_is_never_left_out_in_silence(anchor: int) -> None:
    with pytest.raises(ToolDeclarationError, match="'make'"):
        ToolService(Mixed())


@differs(141, "words, with a declaration too")
def test_a_declared_tool_without_a_description_is_described_by_its_name_in_words(anchor: int) -> None:
    @tool
    def get_order_count(shop: str) -> int:
        return len(shop)

    assert tool_specification_from(get_order_count).description == "get order count"


@differs(131, "names are always known")
def test_parameters_are_named_by_the_signature_and_nothing_is_warned_about(
    anchor: int, caplog: pytest.LogCaptureFixture
) -> None:
    def add(first: int, second: int) -> int:
        return first + second

    with caplog.at_level(logging.DEBUG):
        assert list(tool_specification_from(add).parameters.properties) == ["first", "second"]
    assert caplog.records == []
