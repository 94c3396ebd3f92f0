"""Numbers from a call's text to the tool: every digit, the nearest float for a fraction, or a refusal."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from agentforge.errors import ToolArgumentsError
from agentforge.model.arguments import parse_arguments
from agentforge.tool.execution.default_executor import DefaultToolExecutor
from tests.unit.tool.samples import Level, Open


class Money(BaseModel):
    amount: Decimal = Decimal(0)
    rate: float = 0.0
    count: int = 0
    one: Literal[1] = 1
    either: float | str = ""
    anything: Any = None
    bounded: Annotated[Decimal, Field(gt=0, max_digits=30)] | None = None


def bind(hint: Any, text: str) -> Any:
    """What a tool's one parameter gets from the number as a model wrote it."""

    def sample(a: Any) -> None: ...

    sample.__annotations__ = {"a": hint}
    return DefaultToolExecutor(sample).bind(parse_arguments(f'{{"a": {text}}}'))["a"]


WRITTEN: dict[str, tuple[Any, str, Any]] = {
    "integer with a point": (int, "9007199254740993.0", 9007199254740993),
    "integer with an exponent": (int, "1e23", 10**23),
    "decimal": (Decimal, "12345678901234567.89", Decimal("12345678901234567.89")),
    "decimal of many places": (Decimal, "1.00000000000000000001", Decimal("1.00000000000000000001")),
    "decimal with an exponent": (Decimal, "1e23", Decimal(10**23)),
    "decimal in a list": (list[Decimal], "[12345678901234567.89]", [Decimal("12345678901234567.89")]),
    "fraction": (float, "3.14159265358979323846", 3.141592653589793),
    "float with an exponent": (float, "1e23", 1e23),
    "fraction for any value": (Any, "1.00000000000000000001", 1.0),
    "integer in a model": (Money, '{"count": 9007199254740993.0}', Money(count=9007199254740993)),
    "integer with an exponent in a model": (Money, '{"count": 1e23}', Money(count=10**23)),
    "decimal in a model": (Money, '{"amount": 12345678901234567.89}', Money(amount=Decimal("12345678901234567.89"))),
    "optional decimal in a model": (
        Money,
        '{"bounded": 12345678901234567.89}',
        Money(bounded=Decimal("12345678901234567.89")),
    ),
    "fraction in a model": (Money, '{"rate": 3.14159265358979323846}', Money(rate=3.141592653589793)),
    "fraction of a union in a model": (Money, '{"either": 1.00000000000000000001}', Money(either=1.0)),
    "any value in a model": (Money, '{"anything": 1.00000000000000000001}', Money(anything=1.0)),
    "fraction in an open model": (Open, '{"a": 1, "z": 1.00000000000000000001}', Open(a=1, z=1.0)),  # type: ignore[call-arg]
}
ROUNDED: dict[str, tuple[Any, str, str]] = {
    "integer": (int, "1.00000000000000000001", "an integer was expected, the number 1.00000000000000000001 came"),
    "float": (float, "9007199254740993.0", "that a float can hold exactly"),
    "text of a float": (float, '"1e-400"', "a number was expected, the text '1e-400' came"),
    "whole text of a float": (float, '"9007199254740993.0"', "that a float can hold exactly"),
    "literal": (Literal[1], "1.00000000000000000001", "one of 1 was expected, the number 1.00000000000000000001 came"),
    "enum": (Level, "1.00000000000000000001", "the number 1.00000000000000000001 came"),
    "integer in a model": (Money, '{"count": 1.00000000000000000001}', "the number 1.00000000000000000001 came"),
    "float in a model": (Money, '{"rate": 9007199254740993}', "that a float can hold exactly"),
    "text of a float in a model": (Money, '{"rate": "9007199254740993.0"}', "that a float can hold exactly"),
    "text of a tiny float in a model": (Money, '{"rate": "1e-400"}', "the text '1e-400' came"),
    "literal in a model": (Money, '{"one": 1.00000000000000000001}', "the number 1.00000000000000000001 came"),
}


@pytest.mark.parametrize(("hint", "text", "expected"), WRITTEN.values(), ids=WRITTEN)
def test_a_number_keeps_every_digit_that_its_type_can_hold(hint: Any, text: str, expected: Any) -> None:
    made = bind(hint, text)
    assert made == expected
    assert isinstance(made, type(expected))


@pytest.mark.parametrize(("hint", "text", "message"), ROUNDED.values(), ids=ROUNDED)
def test_a_number_that_would_have_to_be_rounded_is_refused(hint: Any, text: str, message: str) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        bind(hint, text)
    assert message in str(caught.value.problems[0])
