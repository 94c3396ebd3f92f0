"""Section C: a value in the arguments becomes the type that the tool declares, exactly or not at all."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from agentforge import Run, ToolContext, ToolErrorContext, ToolErrorHandlerResult, ToolOutcome, ToolService, tool
from agentforge.errors import ToolArgumentsError, ToolDeclarationError
from agentforge.model.scripted import call
from agentforge.tool.spec import tool_specification_from
from tests.anchors.support import ANSWER, FACES, converse, differs, differs_row, received, row, rows


class Unit(enum.Enum):
    """Constants whose values are not their names."""

    CELSIUS = "c"
    KILOGRAM_LIMIT = "k"


@dataclass
class Place:
    """As a record."""

    city: str
    floor: int = 0


class Order(BaseModel):
    """As a class with fields."""

    number: str
    amounts: list[int] = []


BYTE = Annotated[int, Field(ge=-(2**7), le=2**7 - 1)]
SHORT = Annotated[int, Field(ge=-(2**15), le=2**15 - 1)]
INT = Annotated[int, Field(ge=-(2**31), le=2**31 - 1)]
LONG = Annotated[int, Field(ge=-(2**63), le=2**63 - 1)]
WIDTHS = {"byte": (BYTE, 7), "short": (SHORT, 15), "int": (INT, 31), "long": (LONG, 63)}


def of_each_width() -> Iterator[Any]:
    for name, (hint, bits) in WIDTHS.items():
        yield row(70, f"whole float for {name}", hint, 1.0, 1)
        yield row(73, f"least {name}", hint, -(2**bits), -(2**bits))
        yield row(73, f"largest {name}", hint, 2**bits - 1, 2**bits - 1)


FITS = [
    row(69, "text", str, "abc", "abc"),
    *of_each_width(),
    row(77, "beyond the integers of floats", int, 2**53 + 1, 2**53 + 1),
    row(78, "above the largest long", int, 2**63 + 7, 2**63 + 7),
    row(79, "decimal", Decimal, 0.1, Decimal("0.1")),
    row(80, "true", bool, True, True),
    row(82, "constant by its name", Unit, "CELSIUS", Unit.CELSIUS),
    row(82, "constant by its value", Unit, "c", Unit.CELSIUS),
    # Case is folded without a look at the locale: the letter i is where a Turkish one would differ.
    row(83, "constant in lower case", Unit, "kilogram_limit", Unit.KILOGRAM_LIMIT),
    row(85, "whole floats in a list", list[int], [1.0, 2.0, 3.0], [1, 2, 3]),
    row(86, "names for a set of constants", set[Unit], ["CELSIUS", "k"], {Unit.CELSIUS, Unit.KILOGRAM_LIMIT}),
    row(87, "floats in a map", dict[str, int], {"a": 1.0}, {"a": 1}),
    row(88, "record", Place, {"city": "Lima", "floor": 2.0}, Place("Lima", 2)),
    row(88, "model", Order, {"number": "7", "amounts": [1.0]}, Order(number="7", amounts=[1])),
    row(95, "list of text", list[str], ["a", "b"], ["a", "b"]),
    row(95, "map of text to integer", dict[str, int], {"a": 1}, {"a": 1}),
    row(95, "list of maps", list[dict[str, int]], [{"a": 1.0}, {}], [{"a": 1}, {}]),
    row(96, "any text", object, "x", "x"),
    row(96, "any object", object, {"a": [1, None]}, {"a": [1, None]}),
    row(96, "any list", Any, [1, "x", None], [1, "x", None]),
    row(97, "date", date, "2026-10-02", date(2026, 10, 2)),
]


@pytest.mark.parametrize(("hint", "value", "expected"), FITS)
async def test_a_value_that_fits_arrives_in_its_type(hint: Any, value: object, expected: object) -> None:
    made = await received(hint, {"value": value})
    assert made == expected
    assert type(made) is type(expected)


DOES_NOT_FIT = [
    row(81, "the word true", bool, "true", "true or false was expected"),
    row(84, "no constant", Unit, "FURLONG", "one of 'c', 'k' was expected"),
]


@pytest.mark.parametrize(("hint", "value", "message"), DOES_NOT_FIT)
async def test_a_value_that_does_not_fit_is_an_argument_error(hint: Any, value: object, message: str) -> None:
    with pytest.raises(ToolArgumentsError, match=message):
        await received(hint, {"value": value})


@pytest.mark.parametrize(("hint", "bits"), WIDTHS.values(), ids=WIDTHS)
async def test_one_beyond_the_end_of_a_width_is_an_argument_error(hint: Any, bits: int) -> None:
    """So that the ends above are ends."""
    for value in (-(2**bits) - 1, 2**bits):
        with pytest.raises(ToolArgumentsError):
            await received(hint, {"value": value})


class Desk:
    """A tool object."""

    @tool("Area.")
    def area(self, width: int, height: int) -> int:
        return width * height

    def helper(self) -> str:
        return "no tool"


NO_TOOL = [
    row(90, "no method of that name", Desk(), "aera"),
    row(90, "a method that is no tool", Desk(), "helper"),
    row(90, "nothing", None, None),
]


@pytest.mark.parametrize(("target", "method"), NO_TOOL)
def test_what_is_no_tool_cannot_be_executed(target: object, method: str | None) -> None:
    with pytest.raises(ToolDeclarationError):
        ToolService().tool(target, method)


@rows(92, "names the parameter and the tool")
async def test_a_missing_value_is_an_error_that_names_parameter_and_tool(anchor: int) -> None:
    with pytest.raises(ToolArgumentsError, match=r"tool 'area'.*height.*was not given") as caught:
        await converse(ToolService(Desk()), [call("area", width=2)])
    assert caught.value.tool == "area"
    assert [problem.path for problem in caught.value.problems] == ["height"]


@FACES
@rows(93, "the argument handler sees it")
async def test_a_missing_value_goes_to_the_handler_of_arguments(anchor: int, streamed: bool) -> None:
    seen: list[BaseException] = []

    def on_arguments(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        seen.append(error)
        return ToolErrorHandlerResult.text("give both sides")

    service = ToolService(Desk(), arguments_error_handler=on_arguments)
    done = await converse(service, [call("area", width=2), ANSWER], streamed=streamed)
    assert [type(error) for error in seen] == [ToolArgumentsError]
    assert done.texts == ["give both sides"]
    assert done.result.tool_executions[0].outcome is ToolOutcome.INVALID_ARGUMENTS


def looking(seen: list[ToolContext]) -> Any:
    @tool("Looks at the run.")
    def look(what: str, context: ToolContext) -> str:
        seen.append(context)
        return what

    return look


@FACES
@rows(98, "injected and hidden")
async def test_a_context_is_injected_and_never_in_the_schema(anchor: int, streamed: bool) -> None:
    seen: list[ToolContext] = []
    look = looking(seen)
    assert list(tool_specification_from(look).parameters.properties) == ["what"]
    run = Run(user_data={"order": 7})
    await converse(ToolService(look), [call("look", what="x"), ANSWER], streamed=streamed, context=run)
    assert seen[0].user_data == {"order": 7}
    assert seen[0].run_id == run.id


# -- where we decide otherwise -------------------------------------------------------------------


@differs(89, "null only where the type has it")
async def test_null_is_passed_where_the_type_takes_it_and_refused_where_not(anchor: int) -> None:
    assert await received(Place | None, {"value": None}) is None
    with pytest.raises(ToolArgumentsError):
        await received(Place, {"value": None})


OPTIONAL = [
    differs_row(91, "given", {"value": "x"}, "x"),
    differs_row(91, "not given", {}, None),
]


@pytest.mark.parametrize(("arguments", "expected"), OPTIONAL)
async def test_an_optional_parameter_is_its_value_or_none(arguments: dict[str, object], expected: object) -> None:
    assert await received(str | None, arguments) == expected


@pytest.mark.parametrize("hint", [differs_row(94, "text", str), differs_row(94, "record", Place)])
async def test_a_required_object_that_is_missing_is_an_argument_error(hint: Any) -> None:
    with pytest.raises(ToolArgumentsError, match="value: is required and was not given"):
        await received(hint, {})


@differs(99, "there is always a context")
async def test_a_context_is_there_although_the_caller_supplied_none(anchor: int) -> None:
    seen: list[ToolContext] = []
    await converse(ToolService(looking(seen)), [call("look", what="x"), ANSWER])
    assert isinstance(seen[0], ToolContext)
    assert seen[0].user_data == {}
