"""From arguments to parameters: exact conversion or a problem with its path, and all problems at once."""

from __future__ import annotations

import enum
import typing
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Annotated, Any, Literal, Optional
from uuid import UUID

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field

from agentforge.errors import ToolArgumentsError
from agentforge.tool.declare import P, tool
from agentforge.tool.execution.default_executor import DefaultToolExecutor
from agentforge.tool.spec import compile_schema
from tests.unit.tool.samples import Level, Open, Pair, Place


class Unit(enum.Enum):
    CELSIUS = "c"
    FAHRENHEIT = "f"


class Size(enum.Enum):
    Big = "big"
    BIG = "BIG"


class Kind(enum.Enum):
    TITLE = "title"


class Inner(BaseModel):
    count: int
    ratio: float = 1.0


class Outer(BaseModel):
    inner: Inner
    items: list[Inner] = []
    either: int | Inner = 0
    note: str = "n"


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int = 9


class Dog(BaseModel):
    kind: Literal["dog"]
    bark: str | None = None
    friend: Cat | Dog | None = None


class Small(BaseModel):
    v: int = 1


class Large(BaseModel):
    w: str = "w"
    s: Small = Small()
    many: list[Small] = []


class HasOpen(BaseModel):
    open: Open
    n: int = 0


class Options(typing.TypedDict, total=False):
    limit: int


def executor(hint: Any, default: Any = ..., *, strict: bool | None = None) -> DefaultToolExecutor:
    """A tool ``sample`` with the one parameter ``a``."""
    if default is ...:

        def sample(a: Any) -> None: ...

    else:

        def sample(a: Any = default) -> None: ...

    sample.__annotations__ = {"a": hint}
    return DefaultToolExecutor(tool("d", strict=strict)(sample))


def bind(hint: Any, value: Any, *, strict: bool | None = None) -> Any:
    return executor(hint, strict=strict).bind({"a": value})["a"]


ALWAYS: dict[str, tuple[Any, Any, Any]] = {
    "text": (str, "abc", "abc"),
    "empty text": (str, "", ""),
    "text that looks like a number": (str, "007", "007"),
    "true": (bool, True, True),
    "integer": (int, 5, 5),
    "whole float as integer": (int, 1.0, 1),
    "an integer beyond floats": (int, 2**53 + 1, 2**53 + 1),
    "a very large integer": (int, 10**30, 10**30),
    "float": (float, 1.5, 1.5),
    "integer as float": (float, 3, 3.0),
    "decimal from a float": (Decimal, 0.1, Decimal("0.1")),
    "decimal from an integer": (Decimal, 10**30, Decimal(10**30)),
    "decimal from text": (Decimal, "0.10", Decimal("0.10")),
    "any value": (Any, {"x": [1]}, {"x": [1]}),
    "null": (None, None, None),
    "optional text": (str | None, "a", "a"),
    "optional null": (str | None, None, None),
    "enum by value": (Unit, "f", Unit.FAHRENHEIT),
    "enum by exact value before near ones": (Size, "big", Size.Big),
    "enum by integer": (Level, 2, Level.HIGH),
    "enum by whole float": (Level, 2.0, Level.HIGH),
    "literal": (Literal["a", 1, True], 1, 1),
    "literal true is not 1": (Literal["a", 1, True], True, True),
    "list": (list[int], [1.0, 2.0, 3], [1, 2, 3]),
    "list of lists": (list[list[str]], [["a"], []], [["a"], []]),
    "set of enums": (set[Unit], ["c", "f"], {Unit.CELSIUS, Unit.FAHRENHEIT}),
    "frozenset": (frozenset[str], ["a"], frozenset({"a"})),
    "tuple": (tuple[int, str], [1, "a"], (1, "a")),
    "tuple of any length": (tuple[int, ...], [1, 2], (1, 2)),
    "sequence": (Sequence[int], [1], [1]),
    "iterable": (Iterable[int], [1], [1]),
    "mapping": (Mapping[str, int], {"k": 1.0}, {"k": 1}),
    "list of mappings": (list[dict[str, Any]], [{"a": [1]}], [{"a": [1]}]),
    "date": (date, "2026-10-02", date(2026, 10, 2)),
    "moment": (datetime, "2026-10-02T08:30:00Z", datetime(2026, 10, 2, 8, 30, tzinfo=UTC)),
    "time": (time, "08:30:00", time(8, 30)),
    "duration": (timedelta, "PT1H", timedelta(hours=1)),
    "UUID": (UUID, "00000000-0000-0000-0000-000000000001", UUID(int=1)),
    "bytes": (bytes, "abc", b"abc"),
    "constraint": (Annotated[int, Field(ge=1)], 1.0, 1),
    "model": (Outer, {"inner": {"count": 1.0}}, Outer(inner=Inner(count=1))),
    "union by type": (int | str, "5", "5"),
    "union of number and model": (int | Inner, {"count": 1}, Inner(count=1)),
    "dataclass": (Place, {"city": "Oslo"}, Place("Oslo")),
    "typed dict": (Options, {"limit": 1.0}, {"limit": 1}),
    "named tuple": (Pair, [1], Pair(1)),
    "iterable of models": (Iterable[Inner], [{"count": 1}], [Inner(count=1)]),
    "keys that are numbers": (dict[int, str], {"1": "a"}, {1: "a"}),
    "an open model takes more": (Open, {"a": 1, "z": [2]}, Open(a=1, z=[2])),  # type: ignore[call-arg]
    "an open model inside": (HasOpen, {"open": {"a": 1, "z": 2}}, HasOpen(open=Open(a=1, z=2))),  # type: ignore[call-arg]
}


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lax"])
@pytest.mark.parametrize(("hint", "value", "expected"), ALWAYS.values(), ids=ALWAYS)
def test_a_value_that_fits_exactly_is_bound(hint: Any, value: Any, expected: Any, strict: bool) -> None:
    made = bind(hint, value, strict=strict)
    assert made == expected
    assert type(made) is type(expected)


LAX_ONLY: dict[str, tuple[Any, Any, Any]] = {
    "integer from text": (int, "5", 5),
    "negative integer from text": (int, "-5", -5),
    "float from text": (float, "1.5e1", 15.0),
    "float from integer text": (float, "5", 5.0),
    "optional integer from text": (int | None, "5", 5),
    "integers from texts in a list": (list[int], ["1", 2], [1, 2]),
    "integers from texts in a mapping": (dict[str, int], {"a": "1"}, {"a": 1}),
    "decimal with an exponent": (Decimal, "1e2", Decimal("1e2")),
    "enum by name": (Unit, "FAHRENHEIT", Unit.FAHRENHEIT),
    "enum by name in other case": (Unit, "fahrenheit", Unit.FAHRENHEIT),
    "enum by value in other case": (Unit, "F", Unit.FAHRENHEIT),
    "enum of integers by text": (Level, "2", Level.HIGH),
    "enum of integers by name": (Level, "high", Level.HIGH),
    "enum in capitals, whatever the locale": (Kind, "TITLE", Kind.TITLE),
    "literal in other case": (Literal["fast", "slow"], "FAST", "fast"),
    "text in a model": (Outer, {"inner": {"count": "2", "ratio": "0.5"}}, Outer(inner=Inner(count=2, ratio=0.5))),
    "text deep in a model": (
        Outer,
        {"inner": {"count": 1}, "items": [{"count": "2"}, {"count": "3"}]},
        Outer(inner=Inner(count=1), items=[Inner(count=2), Inner(count=3)]),
    ),
    "text in a union": (int | Inner, {"count": "2"}, Inner(count=2)),
    "text in a dataclass": (Place, {"city": "x", "tags": {"a": "1"}}, Place("x", {"a": 1})),
    "text under a constraint": (Annotated[int, Field(ge=1)], "5", 5),
    "the same value twice in a set": (set[int], [1, 1], {1}),
}


@pytest.mark.parametrize(("hint", "value", "expected"), LAX_ONLY.values(), ids=LAX_ONLY)
def test_a_clear_near_form_is_understood_unless_strict(hint: Any, value: Any, expected: Any) -> None:
    assert bind(hint, value) == expected
    with pytest.raises(ToolArgumentsError):
        bind(hint, value, strict=True)


def test_a_declared_write_is_strict_unless_it_says_otherwise() -> None:
    def pay(amount: int) -> None: ...

    assert DefaultToolExecutor(tool("d", effect="read")(pay)).bind({"amount": "5"}) == {"amount": 5}
    with pytest.raises(ToolArgumentsError):
        DefaultToolExecutor(tool("d", effect="write")(pay)).bind({"amount": "5"})
    assert DefaultToolExecutor(tool("d", effect="write", strict=False)(pay)).bind({"amount": "5"}) == {"amount": 5}


NEVER: dict[str, tuple[Any, Any, str, str]] = {
    "number for a text": (str, 5, "a", "a text was expected, the number 5 came"),
    "null for a text": (str, None, "a", "a text was expected, null came"),
    "text for true": (bool, "true", "a", "true or false was expected, the text 'true' came"),
    "1 for true": (bool, 1, "a", "true or false was expected, the number 1 came"),
    "true for an integer": (int, True, "a", "an integer was expected, true came"),
    "true for a float": (float, True, "a", "a number was expected, true came"),
    "true for a decimal": (Decimal, True, "a", "a decimal number was expected, true came"),
    "true for an enum of integers": (Level, True, "a", "one of 1, 2 was expected, true came"),
    "a fraction for an integer": (int, 1.5, "a", "an integer was expected, the number 1.5 came"),
    "leading zeros": (int, "007", "a", "an integer was expected, the text '007' came"),
    "blanks around a number": (int, " 5", "a", "the text ' 5' came"),
    "a decimal's text for an integer": (int, "5.0", "a", "the text '5.0' came"),
    "words for a number": (float, "NaN", "a", "the text 'NaN' came"),
    "an integer that no float holds": (float, 2**53 + 1, "a", "that a float can hold exactly"),
    "an integer beyond all floats": (float, 10**400, "a", "that a float can hold exactly"),
    "no member": (Unit, "kelvin", "a", "one of 'c', 'f' was expected, the text 'kelvin' came"),
    "two members alike": (Size, "bIg", "a", "one of 'big', 'BIG' was expected"),
    "a list for an enum": (Unit, ["c"], "a", "a list of 1 came"),
    "a text for a list": (list[str], "abc", "a", "a list was expected, the text 'abc' came"),
    "an object for a list": (list[str], {}, "a", "a list was expected, an object came"),
    "a list for an object": (dict[str, int], [1], "a", "an object was expected, a list of 1 came"),
    "an item": (list[int], [1, "x"], "a.1", "an integer was expected, the text 'x' came"),
    "an item of an item": (list[list[int]], [[1], [2, None]], "a.1.1", "an integer was expected, null came"),
    "a member": (dict[str, int], {"k": "x"}, "a.k", "an integer was expected"),
    "a tuple of another length": (tuple[int, int], [1], "a", "a list of exactly 2 was expected"),
    "a tuple's item": (tuple[int, str], [1, 2], "a.1", "a text was expected"),
    "objects in a set": (set[Any], [{}], "a", "single values"),
    "no date": (date, "2026-13-02", "a", "a date such as 2026-10-02 was expected"),
    "a number for a date": (date, 5, "a", "a date such as"),
    "a moment for a date": (date, "2026-10-02T00:00:00", "a", "a date such as"),
    "a date for a moment": (datetime, "2026-10-02", "a", "a date and time such as"),
    "no time": (time, "25:00", "a", "a time such as"),
    "no UUID": (UUID, "1", "a", "a UUID was expected"),
    "a constraint": (Annotated[int, Field(ge=1)], 0, "a", "greater than or equal to 1; the number 0 came"),
    "a missing field": (Outer, {"inner": {}}, "a.inner.count", "is required and was not given"),
    "a surplus field": (Outer, {"inner": {"count": 1, "x": 2}}, "a.inner.x", "is not a known field"),
    "a surplus field of a dataclass": (Place, {"city": "x", "y": 1}, "a.y", "is not a known field"),
    "a surplus field of a typed dict": (Options, {"limt": 1}, "a.limt", "is not a known field"),
    "a surplus field beside an open model": (HasOpen, {"open": {"a": 1}, "x": 1}, "a.x", "is not a"),
    "a wrong field": (Outer, {"inner": {"count": "x"}}, "a.inner.count", "valid integer; the text 'x' came"),
    "true in a model": (Outer, {"inner": {"count": True}}, "a.inner.count", "true came"),
    "a text for a model": (Outer, "{}", "a", "the text '{}' came"),
    "a missing tuple item": (Pair, [], "a.0", "is required"),
}


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lax"])
@pytest.mark.parametrize(("hint", "value", "path", "message"), NEVER.values(), ids=NEVER)
def test_what_does_not_fit_is_a_problem_with_its_path(
    hint: Any, value: Any, path: str, message: str, strict: bool
) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        bind(hint, value, strict=strict)
    assert [problem.path for problem in caught.value.problems] == [path]
    assert message in caught.value.problems[0].message
    assert caught.value.tool == "sample"
    assert "'sample'" in caught.value.message
    assert path in caught.value.message


def test_all_problems_come_at_once() -> None:
    def order(number: str, amounts: list[int], unit: Unit, *, note: str = "") -> None: ...

    with pytest.raises(ToolArgumentsError) as caught:
        DefaultToolExecutor(order).bind({"number": 5, "amounts": ["x", 1, None], "nota": "n"})
    assert [str(problem) for problem in caught.value.problems] == [
        "number: a text was expected, the number 5 came",
        "amounts.0: an integer was expected, the text 'x' came",
        "amounts.2: an integer was expected, null came",
        "unit: is required and was not given",
        "nota: is not a parameter of this tool; did you mean 'note'?",
    ]


def test_a_made_up_outer_key_names_what_is_missing_and_what_is_too_much() -> None:
    def ask(question: str, reason: str) -> None: ...

    with pytest.raises(ToolArgumentsError) as caught:
        DefaultToolExecutor(ask).bind({"_": {"question": "q", "reason": "r"}})
    assert [problem.path for problem in caught.value.problems] == ["question", "reason", "_"]


def test_long_values_are_shortened_in_problems() -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        bind(int, "s" * 10_000)
    assert len(str(caught.value)) < 400
    with pytest.raises(ToolArgumentsError) as caught:
        bind(list[int], ["x"] * 500)
    assert len(caught.value.problems) == 500
    assert "and 480 more" in caught.value.message


def test_of_very_many_surplus_keys_only_those_that_are_shown_are_compared_with_the_known() -> None:
    def find(query: str) -> None: ...

    with pytest.raises(ToolArgumentsError) as caught:
        DefaultToolExecutor(find).bind({"query": "x", **{f"quer{n}": 1 for n in range(9_990)}})
    assert sum("did you mean 'query'" in problem.message for problem in caught.value.problems) == 20
    assert len(caught.value.problems) == 9_990
    assert len(caught.value.message) < 2_000


def test_of_very_many_wrong_items_of_a_union_the_first_is_told() -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        bind(list[Inner | Cat | int], [{"z": 1}] * 9_990)
    assert [problem.path for problem in caught.value.problems] == ["a.0", "a"]
    assert caught.value.problems[1].message == "there may be more problems, which are not listed"


# -- defaults ------------------------------------------------------------------------------------

_DEFAULTS: dict[str, tuple[Any, Any]] = {
    "integer": (int, 3),
    "float": (float, 0.5),
    "false": (bool, False),
    "text": (str, "x"),
    "empty text": (str, ""),
    "none": (Optional[str], None),  # noqa: UP045
    "none for a type without null": (int, None),
    "UUID": (UUID, UUID(int=1)),
    "decimal": (Decimal, Decimal("0.1")),
    "enum": (Unit, Unit.CELSIUS),
    "list": (list[int], [1]),
    "set": (set[int], {1}),
    "mapping": (dict[str, int], {}),
    "list of enums": (list[Unit], [Unit.CELSIUS]),
    "model": (Outer, Outer(inner=Inner(count=1))),
    "dataclass": (Place, Place("Oslo", {"a": 1})),
    "an object without a type": (Any, object()),
}


@pytest.mark.parametrize(("hint", "default"), _DEFAULTS.values(), ids=_DEFAULTS)
def test_what_is_not_given_is_the_default(hint: Any, default: Any) -> None:
    made = executor(hint, default).bind({})["a"]
    assert type(made) is type(default)
    assert made == default or type(default) is object


@pytest.mark.parametrize(
    ("hint", "default"), [(int, 3), (str, "x"), (list[int], [1]), (Unit, Unit.CELSIUS), (int, None)]
)
def test_null_where_the_type_has_none_means_not_given(hint: Any, default: Any) -> None:
    assert executor(hint, default).bind({"a": None}) == {"a": default}


def test_null_where_the_type_has_one_is_none() -> None:
    assert executor(str | None, "x").bind({"a": None}) == {"a": None}
    assert executor(Any, "x").bind({"a": None}) == {"a": None}
    assert executor(Inner | None, Inner(count=1)).bind({"a": None}) == {"a": None}


def test_null_deep_in_a_model_means_not_given_too() -> None:
    """Strict modes make models name every field, also those that have a default."""
    assert bind(Outer, {"inner": {"count": 1, "ratio": None}, "note": None}, strict=True) == Outer(inner=Inner(count=1))


LEFT_OUT: dict[str, tuple[Any, Any, Any]] = {
    "by a constant": (Cat | Dog, {"kind": "cat", "lives": None}, Cat(kind="cat")),
    "by a discriminator": (
        Annotated[Cat | Dog, Field(discriminator="kind")],
        {"kind": "cat", "lives": None},
        Cat(kind="cat"),
    ),
    "by its keys": (Small | Large, {"w": None, "s": {"v": None}, "many": None}, Large()),
    "in a list": (
        list[Small | Large | int],
        [{"v": None}, {"w": "x", "s": None, "many": None}, 3],
        [Small(), Large(w="x"), 3],
    ),
    "in a list of an alternative": (
        Small | Large,
        {"w": None, "s": None, "many": [{"v": None}]},
        Large(many=[Small()]),
    ),
    "in a union in a union": (
        Cat | Dog,
        {"kind": "dog", "bark": None, "friend": {"kind": "cat", "lives": None}},
        Dog(kind="dog", friend=Cat(kind="cat")),
    ),
    "not where null is a value": (Cat | Dog, {"kind": "dog", "bark": None, "friend": None}, Dog(kind="dog")),
}


@pytest.mark.parametrize("strict", [True, False], ids=["strict", "lax"])
@pytest.mark.parametrize(("hint", "value", "expected"), LEFT_OUT.values(), ids=LEFT_OUT)
def test_null_in_a_union_means_not_given_in_the_alternative_that_is_meant(
    hint: Any, value: Any, expected: Any, strict: bool
) -> None:
    made = executor(hint, strict=strict)
    sent = compile_schema(made.specification.parameters.schema)
    assert sent.problems == ()
    assert jsonschema_rs.is_valid(sent.schema, {"a": value})
    assert made.bind({"a": value})["a"] == expected


@pytest.mark.parametrize("default", [[1], {"a": 1}, {1}, Place("x")])
def test_every_call_gets_a_fresh_default(default: Any) -> None:
    made = executor(Any, default)
    first, second = made.bind({})["a"], made.bind({})["a"]
    assert first == default
    assert first is not second
    assert first is not default


def test_a_default_factory_is_called_for_every_call() -> None:
    def count(items: list[str] = Field(default_factory=list, description="Things")) -> None: ...  # noqa: B008

    made = DefaultToolExecutor(count)
    first = made.bind({})["items"]
    first.append("x")
    assert made.bind({}) == {"items": []}


def test_a_given_value_wins_and_a_wrong_one_is_not_hidden_by_the_default() -> None:
    assert executor(int, 3).bind({"a": 4}) == {"a": 4}
    with pytest.raises(ToolArgumentsError):
        executor(int, 3).bind({"a": "x"})


def test_notes_decide_default_name_and_need() -> None:
    def f(
        a: Annotated[int, P(default=7)],
        b: Annotated[str, P(name="wire")],
        c: Annotated[int, P(required=True)] = 1,
        d: Annotated[str, P(required=False)] = "d",
        e: Annotated[list[int] | None, P(required=False)] = None,
    ) -> None: ...

    made = DefaultToolExecutor(f)
    assert made.bind({"wire": "x", "c": 2}) == {"a": 7, "b": "x", "c": 2, "d": "d", "e": None}
    with pytest.raises(ToolArgumentsError) as caught:
        made.bind({"b": "x"})
    assert [problem.path for problem in caught.value.problems] == ["wire", "c", "b"]


def test_not_required_without_a_default_is_none() -> None:
    def f(a: Annotated[int, P(required=False)], b: Optional[str]) -> None: ...  # noqa: UP045

    assert DefaultToolExecutor(f).bind({}) == {"a": None, "b": None}
