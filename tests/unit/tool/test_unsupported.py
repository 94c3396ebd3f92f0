"""Signatures that no model can use are refused when a tool is registered, with the parameter, the type and the reason;
and absent, null and default are three different things."""

from __future__ import annotations

import asyncio
import concurrent.futures
import enum
import functools
import io
import json
import sys
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal, NewType, TextIO, TypedDict, TypeVar
from uuid import UUID

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

from agentforge import P, ToolParameters, ToolService, ToolSpecification, tool
from agentforge.errors import ToolArgumentsError, ToolDeclarationError
from agentforge.model import ToolExecutionRequest
from agentforge.tool import BoundTool, function_tool
from agentforge.tool.execution import DefaultToolExecutor, bound_tool_from
from agentforge.tool.spec import tool_specification_from


def taking(hint: Any) -> Callable[[Any], None]:
    """A function with the one parameter ``a``."""

    def sample(a: Any) -> None: ...

    sample.__annotations__ = {"a": hint}
    return sample


def giving(hint: Any) -> Callable[..., Any]:
    """A function with this result."""

    def sample(a: Any) -> Any: ...

    sample.__annotations__ = {"return": hint}
    return sample


def taking_all(function: Any) -> BoundTool:
    """The function as a tool that gets all its arguments as one object."""
    return function_tool(function, schema={"type": "object"})


async def later(*items: str) -> AsyncIterator[str]:
    """The items, one after the other."""
    for item in items:
        yield item


class Pages:
    """Items that come later; nothing else."""

    def __aiter__(self) -> AsyncIterator[str]:
        return later("one", "two")


@dataclass
class Page:
    """A page of items, and the way to all others: it has fields, so a JSON form."""

    items: list[str]

    def __aiter__(self) -> AsyncIterator[str]:
        return later(*self.items)


Rows = NewType("Rows", Pages)
T = TypeVar("T")
Endless = TypeVar("Endless", bound=Iterator[int])

RUN, WAIT, DRAW = "something to call", "something to wait for", "something to draw from once"

PARAMETERS: dict[str, tuple[Any, str, str]] = {
    "a callable": (Callable[[], int], "Callable", RUN),
    "a bare callable": (Callable, "Callable", RUN),
    "an optional callable": (Callable[[], int] | None, "Callable", RUN),
    "an annotated callable": (Annotated[Callable[[], int], P("c")], "Callable", RUN),
    "a list of callables": (list[Callable[[], int]], "inside it type Callable", RUN),
    "a map to callables": (dict[str, Callable[[], int]], "inside it type Callable", RUN),
    "a future": (asyncio.Future[int], "Future", WAIT),
    "a thread's future": (concurrent.futures.Future[int], "Future", WAIT),
    "a task": (asyncio.Task[int], "Task", WAIT),
    "an awaitable": (Awaitable[int], "Awaitable", WAIT),
    "a coroutine": (Coroutine[Any, Any, int], "Coroutine", WAIT),
    "a list of futures": (list[asyncio.Future[int]], "inside it type Future", WAIT),
    "a generator": (Generator[int, None, None], "Generator", DRAW),
    "an iterator": (Iterator[int], "Iterator", DRAW),
    "an async generator": (AsyncGenerator[int, None], "AsyncGenerator", DRAW),
    "an async iterator": (AsyncIterator[int], "AsyncIterator", DRAW),
    "a stream": (AsyncIterable[int], "AsyncIterable", DRAW),
    "a text or a stream": (str | AsyncIterator[str], "AsyncIterator", DRAW),
    "a tuple with a generator": (tuple[int, Generator[int, None, None]], "inside it type Generator", DRAW),
    "an optional generator": (Generator[int, None, None] | None, "Generator", DRAW),
    "an annotated iterator": (Annotated[Iterator[int], P("i")], "Iterator", DRAW),
    "an open file": (TextIO, "TextIO", DRAW),
    "a file of the standard library": (io.BytesIO, "BytesIO", DRAW),
    "a reader": (asyncio.StreamReader, "StreamReader", DRAW),
    "an own stream": (Pages, "Pages", DRAW),
    "a new type of one": (Rows, "Pages", DRAW),
    "a type variable": (Endless, "Iterator", DRAW),
    "a named type": (TypeAliasType("Lines", Iterator[str]), "Iterator", DRAW),
    "a named type of something": (TypeAliasType("Of", Iterator[T], type_params=(T,))[int], "Iterator", DRAW),
}


@pytest.mark.parametrize(("hint", "kind", "reason"), PARAMETERS.values(), ids=PARAMETERS)
def test_a_parameter_that_json_cannot_say_is_refused(hint: Any, kind: str, reason: str) -> None:
    with pytest.raises(ToolDeclarationError, match=rf"parameter 'a' of tool 'sample' has .*{kind}: {reason}") as caught:
        tool_specification_from(taking(hint))
    assert caught.value.next_step


RESULTS: dict[str, tuple[Any, str, str]] = {
    **PARAMETERS,
    "a map to awaitables": (dict[str, Awaitable[int]], "inside it type Awaitable", WAIT),
    "a list of generators": (list[Generator[int, None, None]], "inside it type Generator", DRAW),
    "a stream of streams": (AsyncIterator[AsyncIterator[int]], "type AsyncIterator", DRAW),
    "a coroutine or nothing": (Coroutine[Any, Any, int] | None, "Coroutine", WAIT),
    "an annotated awaitable": (Annotated[Awaitable[int], "later"], "Awaitable", WAIT),
}
INSTEAD = {RUN: "call it in the tool", WAIT: "Make the function async", DRAW: "Return a list"}


@pytest.mark.parametrize(("hint", "kind", "reason"), RESULTS.values(), ids=RESULTS)
def test_a_result_that_no_model_can_read_is_refused(hint: Any, kind: str, reason: str) -> None:
    """With what to write instead; for a function of one argument too."""
    fault = rf"the result of tool 'sample' has .*{kind}: {reason}"
    for register in (tool_specification_from, taking_all):
        with pytest.raises(ToolDeclarationError, match=fault) as caught:
            register(giving(hint))
        assert INSTEAD[reason] in str(caught.value.next_step)


RESULTS_TO_READ: dict[str, Any] = {
    "a list": list[str],
    "a sequence": Sequence[str],
    "what may be a list": Iterable[str],
    "text or nothing": str | None,
    "nothing": None,
    "anything": Any,
    "any object": object,
    "a page that has fields": Page,
    "a type that is not known": "Nowhere",
}


@pytest.mark.parametrize("hint", RESULTS_TO_READ.values(), ids=RESULTS_TO_READ)
def test_a_result_that_a_model_can_read_is_fine(hint: Any) -> None:
    assert tool_specification_from(giving(hint)).name == "sample"
    assert taking_all(giving(hint)).name == "sample"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="the statement came with Python 3.12")
def test_a_named_type_may_hold_itself() -> None:
    space: dict[str, Any] = {}
    exec("type Tree = dict[str, Tree]", space)
    assert tool_specification_from(giving(space["Tree"])).name == "sample"


async def waits(a: int) -> str:
    return str(a)


async def waits_for_items(a: int) -> list[str]:
    return [str(a)]


@pytest.mark.parametrize("function", [waits, waits_for_items], ids=["a text", "a list"])
def test_an_async_function_is_awaited(function: Any) -> None:
    assert not DefaultToolExecutor(function).blocking
    assert not taking_all(function).blocking


def yields(a):  # type: ignore[no-untyped-def]
    yield a


async def yields_later(a):  # type: ignore[no-untyped-def]
    yield a


def yields_but_says_list(a: int) -> list[int]:  # type: ignore[misc]
    yield a


class Yields:
    @tool("d")
    def method(self, a: int) -> Any:
        yield a

    @classmethod
    @tool("d")
    async def of_class(cls, a: int) -> Any:
        yield a

    @staticmethod
    @tool("d")
    def static(a: int) -> Any:
        yield a

    def __call__(self, a: int) -> Any:
        yield a


YIELDING: dict[str, Any] = {
    "without annotations": yields,
    "without annotations, async": yields_later,
    "with another annotation": yields_but_says_list,
    "a partial": functools.partial(yields_later),
    "a method": Yields().method,
    "a class method": Yields.of_class,
    "a static method": Yields.static,
    "an object that is called": Yields(),
}


@pytest.mark.parametrize("function", YIELDING.values(), ids=YIELDING)
def test_a_function_that_yields_is_refused_whatever_its_annotation_says(function: Any) -> None:
    for register in (tool_specification_from, DefaultToolExecutor, taking_all):
        with pytest.raises(ToolDeclarationError, match=r"the function of tool '\w+' yields") as caught:
            register(function)
        assert "Return a list" in str(caught.value.next_step)


def test_of_an_object_the_tool_that_yields_is_named() -> None:
    with pytest.raises(ToolDeclarationError, match="the function of tool 'method' yields"):
        ToolService(Yields())


# -- unions --------------------------------------------------------------------------------------


class Colour(enum.StrEnum):
    RED = "red"


@dataclass
class Cat:
    name: str
    lives: int = 9


@dataclass
class Dog:
    name: str


class Order(BaseModel):
    kind: Literal["order"]
    name: str


class Booking(BaseModel):
    kind: Literal["booking"]
    name: str


class Invoice(BaseModel):
    kind: Literal["invoice"] = "invoice"
    name: str


class Bill(BaseModel):
    kind: Literal["bill"] = "bill"
    name: str


class Point(TypedDict):
    x: int


class Size(TypedDict):
    width: int


Code = NewType("Code", str)

AMBIGUOUS: dict[str, tuple[Any, str]] = {
    "text or date": (str | date, '"2026-01-31"'),
    "text or moment": (datetime | str, '"2026-01-31T10:30:00Z"'),
    "text or id": (str | UUID, "5f0c6f0e"),
    "text or enum of texts": (str | Colour, '"red"'),
    "text or bytes": (str | bytes, '"text"'),
    "decimal or number": (Decimal | float, "1"),
    "told apart by a constant that may be left out": (Invoice | Bill, '{"name": "text"}'),
    "list or tuple": (list[int] | tuple[int, ...], r"\[1\]"),
    "list or set": (list[int] | set[int], r"\[1\]"),
    "two classes of the same fields": (Cat | Dog, '{"name": "text"}'),
    "a class or a map": (Dog | dict[str, str], '{"name": "text"}'),
    "anything or a date": (object | date, '"2026-01-31"'),
    "in a list": (list[str | date], '"2026-01-31"'),
    "in a map": (dict[str, Cat | Dog], '{"name": "text"}'),
    "beside null": (str | date | None, '"2026-01-31"'),
    "with a note": (Annotated[str | date, P("when")], '"2026-01-31"'),
    "behind a new type": (list[Code | date], '"2026-01-31"'),
}


@pytest.mark.parametrize(("hint", "value"), AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_a_union_that_takes_one_value_for_two_things_is_refused_with_the_value(hint: Any, value: str) -> None:
    with pytest.raises(ToolDeclarationError, match=r"parameter 'a' of tool 'sample' may be .* or .* is both") as caught:
        tool_specification_from(taking(hint))
    assert value.replace("\\", "") in caught.value.message
    assert caught.value.next_step


CLEAR: dict[str, Any] = {
    "text or number": str | int,
    "whole or broken number": int | float,
    "truth or number": bool | int,
    "text or null": str | None,
    "text or list": str | list[str],
    "lists of different things": list[int] | list[str],
    "text or literal": str | Literal["a"],
    "two literals": Literal["a"] | Literal["b"],
    "date or number": date | int,
    "told apart by a constant": Order | Booking,
    "told apart by a discriminator": Annotated[Order | Booking, Field(discriminator="kind")],
    "told apart by a discriminator alone": Annotated[Invoice | Bill, Field(discriminator="kind")],
    "told apart by their fields": Point | Size,
    "a class or a number": Dog | int,
    "a map or a list": dict[str, int] | list[int],
    "anything or a number": object | int,
}


@pytest.mark.parametrize("hint", CLEAR.values(), ids=CLEAR)
def test_a_union_whose_members_can_be_told_apart_is_fine(hint: Any) -> None:
    assert "a" in tool_specification_from(taking(hint)).parameters.properties


@dataclass
class WithCallable:
    done: Callable[[str], None]


class WithFuture(BaseModel):
    model_config = {"arbitrary_types_allowed": True}
    row: asyncio.Future[int]


class WithStream(TypedDict):
    lines: AsyncIterator[str]


@dataclass
class WithUnion:
    day: str | date


class WithModels(BaseModel):
    document: list[Invoice | Bill]


@dataclass
class Fine:
    """A class variable is no field."""

    when: ClassVar[Callable[[], date]] = date.today
    names: Iterable[str] = ()


class Discriminated(BaseModel):
    document: Invoice | Bill = Field(discriminator="kind")


INPUTS: dict[str, tuple[Any, str]] = {
    "a callable": (WithCallable, f"parameter 'done' of tool 'it' has type Callable: {RUN}"),
    "a future": (WithFuture, f"parameter 'row' of tool 'it' has type Future: {WAIT}"),
    "a stream": (WithStream, f"parameter 'lines' of tool 'it' has type AsyncIterator: {DRAW}"),
    "a union": (WithUnion, "parameter 'day' of tool 'it' may be str or date"),
    "a union of models": (WithModels, "parameter 'document' of tool 'it' may be Invoice or Bill"),
}


@pytest.mark.parametrize(("kind", "fault"), INPUTS.values(), ids=INPUTS)
def test_the_fields_of_an_input_type_are_parameters(kind: Any, fault: str) -> None:
    with pytest.raises(ToolDeclarationError, match=fault):
        function_tool(lambda it: "", name="it", input_type=kind)


@pytest.mark.parametrize("kind", [Fine, Discriminated], ids=["a list", "told apart by a discriminator"])
def test_an_input_type_whose_fields_json_can_say_is_fine(kind: Any) -> None:
    assert function_tool(lambda it: "", name="it", input_type=kind).name == "it"


# -- absent, null and default --------------------------------------------------------------------


@tool("d")
def three(
    needed: str,
    may_be_null: str | None,
    needed_or_null: Annotated[str | None, P(required=True)],
    with_default: str = "default",
    null_or_default: str | None = "default",
) -> list[object]:
    return [needed, may_be_null, needed_or_null, with_default, null_or_default]


FULL = {"needed": "n", "may_be_null": "m", "needed_or_null": "r", "with_default": "w", "null_or_default": "d"}
BOUND: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "all given": (FULL, FULL),
    "absent without a default": ({"may_be_null": ...}, {**FULL, "may_be_null": None}),
    "null where null is a value": ({"may_be_null": None}, {**FULL, "may_be_null": None}),
    "null where it must be given": ({"needed_or_null": None}, {**FULL, "needed_or_null": None}),
    "absent with a default": ({"with_default": ...}, {**FULL, "with_default": "default"}),
    "null with a default and no null": ({"with_default": None}, {**FULL, "with_default": "default"}),
    "absent with a default and null": ({"null_or_default": ...}, {**FULL, "null_or_default": "default"}),
    "null with a default and null": ({"null_or_default": None}, {**FULL, "null_or_default": None}),
}
REFUSED: dict[str, tuple[str, Any]] = {
    "absent though needed": ("needed", ...),
    "null though needed": ("needed", None),
    "absent though needed, where null is a value": ("needed_or_null", ...),
}


def changed(change: Mapping[str, Any]) -> dict[str, Any]:
    """All arguments but for these; an ellipsis leaves one out."""
    return {name: value for name, value in {**FULL, **change}.items() if value is not ...}


@pytest.mark.parametrize(("change", "expected"), BOUND.values(), ids=BOUND)
def test_absent_null_and_default_are_three_things(change: dict[str, Any], expected: dict[str, Any]) -> None:
    assert DefaultToolExecutor(three).bind(changed(change)) == expected


@pytest.mark.parametrize(("name", "value"), REFUSED.values(), ids=REFUSED)
def test_what_must_be_given_is_neither_absent_nor_silently_null(name: str, value: Any) -> None:
    with pytest.raises(ToolArgumentsError) as caught:
        DefaultToolExecutor(three).bind(changed({name: value}))
    assert [problem.path for problem in caught.value.problems] == [name]


def test_the_schema_says_which_is_which() -> None:
    parameters = tool_specification_from(three).parameters
    assert parameters.required == ("needed", "needed_or_null")
    assert parameters.properties["may_be_null"] == {"type": ["string", "null"]}
    assert parameters.properties["with_default"] == {"type": "string", "default": "default"}
    assert parameters.properties["null_or_default"] == {"type": ["string", "null"], "default": "default"}


@dataclass
class Input:
    null_or_default: str | None = "default"
    with_default: str = "default"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, Input()),
        ({"null_or_default": None}, Input(None)),
        ({"with_default": None}, Input()),
        ({"null_or_default": "x", "with_default": "y"}, Input("x", "y")),
    ],
    ids=["absent", "null", "null without null", "given"],
)
def test_in_an_input_type_they_are_three_things_too(given: dict[str, Any], expected: Input) -> None:
    assert function_tool(lambda it: "", name="it", input_type=Input).bind(given) == expected


@pytest.mark.parametrize(("given", "expected"), [("{}", {}), ('{"a": null}', {"a": None}), ('{"a": "x"}', {"a": "x"})])
def test_an_own_executor_sees_which_was_absent_and_which_was_null(given: str, expected: dict[str, Any]) -> None:
    """Its schema's ``default`` is the model's to know: nothing is filled in."""
    schema = ToolParameters.builder().add_property("a", {"type": ["string", "null"], "default": "d"}).build()
    bound = bound_tool_from(ToolSpecification("it", parameters=schema), lambda request: "")

    assert bound.bind(ToolExecutionRequest("c", "it", given).arguments_as_map()) == expected
    assert json.loads(given) == expected
