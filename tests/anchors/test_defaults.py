"""Section D: what a tool gets when the model leaves an argument out."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from agentforge import P, ToolService, tool
from agentforge.errors import ToolArgumentsError
from agentforge.model.scripted import call, calls
from tests.anchors.support import ANSWER, converse, received, row, rows


class Unit(enum.Enum):
    """Constants."""

    CELSIUS = "c"
    KELVIN = "k"


@dataclass
class Street:
    """The inner object."""

    name: str
    numbers: list[int] = field(default_factory=list)


@dataclass
class Address:
    """The outer object."""

    city: str
    street: Street


class Customer(BaseModel):
    """The outer object, as a model."""

    name: str
    address: Address


LIMA = Address("Lima", Street("Larco", [1]))

DEFAULTS = [
    row(100, "int", int, 3),
    row(100, "long", int, 2**40),
    row(100, "double", float, 0.5),
    row(100, "boolean", bool, True),
    row(101, "integer that may be null", int | None, 3),
    row(102, "text", str, "x"),
    row(103, "empty text", str, ""),
    row(104, "UUID", UUID, UUID(int=1)),
    row(104, "decimal", Decimal, Decimal("0.10")),
    row(104, "constant", Unit, Unit.KELVIN),
    row(105, "object with an object", Address, LIMA),
    row(105, "model with an object", Customer, Customer(name="Ana", address=LIMA)),
    row(107, "list", list[int], [1, 2]),
    row(107, "set", set[str], {"a"}),
    row(107, "map", dict[str, int], {"a": 1}),
    row(107, "array", tuple[int, ...], (1, 2)),
    row(109, "empty list", list[int], []),
    row(109, "empty map", dict[str, int], {}),
    row(110, "list of constants", list[Unit], [Unit.KELVIN, Unit.CELSIUS]),
]


@pytest.mark.parametrize(("hint", "default"), DEFAULTS)
async def test_what_the_model_leaves_out_is_the_typed_default(hint: Any, default: object) -> None:
    """The signature's default, and the same one noted with `P`."""
    for made in (
        await received(hint, {}, default),
        await received(Annotated[hint, P(default=default)], {}),
    ):
        assert made == default
        assert type(made) is type(default)


CHANGED = [
    row(111, "list", [1], lambda value: value.append(2)),
    row(111, "set", {1}, lambda value: value.add(2)),
    row(111, "map", {"a": [1]}, lambda value: value["a"].append(2)),
    row(111, "object", LIMA, lambda value: value.street.numbers.append(2)),
]


@pytest.mark.parametrize(("default", "change"), CHANGED)
async def test_a_tool_that_changes_its_default_leaves_the_next_call_a_fresh_one(default: Any, change: Any) -> None:
    seen: list[str] = []

    @tool("Changes what it got.")
    def spoil(value: Any = default) -> None:
        seen.append(repr(value))
        change(value)

    await converse(ToolService(spoil), [calls(call("spoil"), call("spoil")), call("spoil"), ANSWER])
    assert seen == [repr(default)] * 3


@rows(113, "the model's value wins")
async def test_a_given_value_wins(anchor: int) -> None:
    assert await received(int, {"value": 5}, 3) == 5


@rows(114, "the default hides no fault")
async def test_a_value_that_does_not_fit_is_not_replaced_by_the_default(anchor: int) -> None:
    with pytest.raises(ToolArgumentsError, match="an integer was expected"):
        await received(int, {"value": "many"}, 3)


@rows(115, "some given, some not")
async def test_given_values_and_defaults_mix(anchor: int) -> None:
    seen: list[Any] = []

    @tool("Keeps all.")
    def keep(a: str, b: int = 2, c: Annotated[str, P(default="c")] = "unused", d: float = 0.5) -> None:
        seen.append((a, b, c, d))

    await converse(ToolService(keep), [call("keep", a="x", d=1), call("keep", a="y", c="z"), ANSWER])
    assert seen == [("x", 2, "c", 1.0), ("y", 2, "z", 0.5)]
