"""What a method of an AI service gives: each type that it may return, alone and as a `Result`."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType, Protocol, TypedDict

import pytest
from pydantic import BaseModel, Field

from agentforge import FinishReason, P, Result, ReturnBehavior, TokenUsage, ToolChatResult, tool
from agentforge.advisor import StructuredOutputError
from agentforge.errors import ContextLengthError, ModelError
from agentforge.model import AiMessage, ChatResponse, Citation, ToolExecutionResultMessage, UserMessage
from agentforge.testing import call
from tests.unit.client.served import served


class Colour(enum.Enum):
    """An enum."""

    RED = "red"
    BLUE = "blue"


class Weekday(enum.IntEnum):
    """One of numbers."""

    MONDAY = 1


@dataclass
class Order:
    """A dataclass with a default, and a list of others."""

    item: str
    count: int = 1
    due: date | None = None


class Town(BaseModel):
    """A model with a constraint."""

    name: str
    people: int = Field(ge=0)


class Place(TypedDict):
    """A typed dict."""

    name: str
    at: tuple[float, float]


Stars = Annotated[int, Field(ge=1, le=5)]
CustomerId = NewType("CustomerId", str)
PEN = '{"item": "pen", "count": 3}'
PENS = Order("pen", 3)
OSLO = '{"name": "Oslo", "people": 700000}'

# what the method returns, what the model writes, the answer
TYPES: list[tuple[Any, str, object]] = [
    (str, "It is red.", "It is red."),
    (str, '{"value": 3}', '{"value": 3}'),
    (str, "", ""),
    (int, '{"value": 3}', 3),
    (int, "3", 3),
    (float, '{"value": 3.5}', 3.5),
    (bool, '{"value": false}', False),
    (Decimal, '{"value": "1.10"}', Decimal("1.10")),
    (date, '{"value": "2026-01-31"}', date(2026, 1, 31)),
    (Colour, '{"value": "red"}', Colour.RED),
    (Weekday, '{"value": 1}', Weekday.MONDAY),
    (Literal["order", 1], '{"value": "order"}', "order"),
    (Literal["order", 1], '{"value": 1}', 1),
    (Order, PEN, PENS),
    (Order, '```json\n{"item": "pen"}\n```', Order("pen")),
    (Town, OSLO, Town(name="Oslo", people=700_000)),
    (Place, '{"name": "Oslo", "at": [59.9, 10.7]}', {"name": "Oslo", "at": (59.9, 10.7)}),
    (list[str], '{"value": ["a", "b"]}', ["a", "b"]),
    (list[int], "[1, 2]", [1, 2]),
    (list[Colour], '{"value": ["red", "blue"]}', [Colour.RED, Colour.BLUE]),
    (list[Order], f"[{PEN}]", [PENS]),
    (list[Town], f'{{"value": [{OSLO}]}}', [Town(name="Oslo", people=700_000)]),
    (list[Order], "[]", []),
    (tuple[int, str], '{"value": [1, "a"]}', (1, "a")),
    (set[int], '{"value": [1, 2]}', {1, 2}),
    (dict[str, int], '{"a": 1}', {"a": 1}),
    (int | None, '{"value": null}', None),
    (Order | None, f'{{"value": {PEN}}}', PENS),
    (str | None, '{"value": "a"}', "a"),
    (int | str, '{"value": "3"}', "3"),
    (Stars, '{"value": 5}', 5),
    (Annotated[str, P("a name")], '{"value": "Ada"}', "Ada"),
    (CustomerId, '{"value": "C-1"}', "C-1"),
]


def interface_giving(hint: Any) -> Any:
    """An interface of one async and one synchronous method that return this."""

    class Giving(Protocol):
        async def later(self, message: str) -> Any: ...

        def now(self, message: str) -> Any: ...

    for method in (Giving.later, Giving.now):
        method.__annotations__["return"] = hint
    return Giving


async def _later(service: Any) -> Any:
    return await service.later("?")


async def _now(service: Any) -> Any:
    return service.now("?")


WAYS = pytest.mark.parametrize("ask", [_later, _now])


@WAYS
@pytest.mark.parametrize(("hint", "text", "value"), TYPES)
async def test_the_answer_is_of_the_type_that_the_method_returns(ask: Any, hint: Any, text: str, value: object) -> None:
    """Async and not; as itself, and as the content of a Result."""
    service, model = served(interface_giving(hint), text)
    answer = await ask(service)
    assert (answer, type(answer)) == (value, type(value))

    service, again = served(interface_giving(Result[hint]), text)
    result = await ask(service)
    assert type(result) is Result and (result.content, type(result.content)) == (value, type(value))
    assert result.turn.text == result.turn.messages[-1].text
    # Both asked alike, and a text is asked for as it always is.
    assert again.requests[0].parameters == model.requests[0].parameters
    assert (model.requests[0].parameters.response_format is None) == (hint is str)


@WAYS
async def test_nothing_and_the_whole_turn(ask: Any) -> None:
    """None is given for whatever the model says; a ToolChatResult is the turn itself; a bare Result has a text."""
    assert await ask(served(interface_giving(None), "Done.")[0]) is None
    turn = await ask(served(interface_giving(ToolChatResult), "Done.")[0])
    assert isinstance(turn, ToolChatResult) and list(turn.messages) == [UserMessage("?"), AiMessage("Done.")]
    assert (await ask(served(interface_giving(Result), "Done.")[0])).content == "Done."


def test_a_type_may_be_written_as_a_text() -> None:
    """As all are with `from __future__ import annotations`; it is read where the method was defined."""

    class Giving(Protocol):
        def ask(self, message: str) -> Result[list[Order]]: ...

    assert Giving.ask.__annotations__["return"] == "Result[list[Order]]"
    service, _ = served(Giving, f"[{PEN}]")
    assert service.ask("?").content == [PENS]


# -- answers that do not fit ---------------------------------------------------------------------

# what the method returns, what does not fit it, what the model is told
WRONG: list[tuple[Any, str, str]] = [
    (int, "three", "it is not JSON"),
    (int, '{"value": 3.5}', "value: an integer was expected, the number 3.5 came"),
    (int | None, "", "it has no text"),
    (bool, '{"value": "yes"}', "value: true or false was expected, the text 'yes' came"),
    (Colour, '{"value": "green"}', "value: one of 'red', 'blue' was expected, the text 'green' came"),
    (Literal["order", 1], '{"value": "c"}', "value: one of 'order', 1 was expected, the text 'c' came"),
    (Order, '{"count": 3}', "item: is required and was not given"),
    (Order, '{"item": "pen", "colour": "red"}', "colour: is not a known field"),
    (Town, OSLO.replace("700000", "-1"), "people: input should be greater than or equal to 0; the number -1 came"),
    (list[Order], f"[{PEN}, 3]", "value.1: input should be an object; the number 3 came"),
    (Stars, '{"value": 6}', "value: input should be less than or equal to 5; the number 6 came"),
]


@WAYS
@pytest.mark.parametrize("wrap", [False, True])
@pytest.mark.parametrize(("hint", "text", "problem"), WRONG)
async def test_an_answer_that_does_not_fit_is_asked_for_again(
    ask: Any, hint: Any, text: str, problem: str, wrap: bool
) -> None:
    """With what is wrong in words; when it never fits, the error has the last text and what was wrong with it."""
    interface = interface_giving(Result[hint] if wrap else hint)
    right, value = next((written, made) for kind, written, made in TYPES if kind == hint)
    service, model = served(interface, text, right)
    answer = await ask(service)

    assert (answer.content if wrap else answer) == value
    assert f"Your last answer cannot be used: {problem}." in (model.requests[1].messages[-1].text or "")
    service, model = served(interface, *[text] * 3)
    with pytest.raises(StructuredOutputError) as raised:
        await ask(service)
    assert (raised.value.text, raised.value.problems) == (text, (problem,))
    assert raised.value.attempts == len(model.requests) == 3


async def test_no_attempt_that_was_refused_is_in_the_result() -> None:
    """It was paid for, and is in no history."""
    service, _ = served(interface_giving(Result[int]), "three", "3")
    result = await service.later("?")

    assert list(result.turn.messages) == [UserMessage("?"), AiMessage("3")]
    assert [each.code for each in result.turn.notices] == ["structured_output_reprompted"]


@WAYS
async def test_an_error_of_the_turn_is_the_method_s(ask: Any) -> None:
    """Whatever the type, with what was done until then."""
    for hint in (str, int, Order, None, ToolChatResult, Result[str]):
        service, _ = served(interface_giving(hint), ContextLengthError("too long"))
        with pytest.raises(ModelError, match="too long") as raised:
            await ask(service)
        assert [each.text for each in raised.value.partial.messages] == ["?"]


# -- a Result, and what tools return to the caller -----------------------------------------------


@tool("How many of an item there are.")
def in_stock(item: str) -> int:
    """Back to the model."""
    return 7


@tool("Searches.", return_behavior=ReturnBehavior.IMMEDIATE)
def search(text: str) -> list[str]:
    """Straight to the caller."""
    return [f"{text} 1", f"{text} 2"]


@tool("Counts.", return_behavior=ReturnBehavior.IMMEDIATE)
def count(text: str) -> int:
    """Straight to the caller, too."""
    return 2


async def test_a_result_has_all_that_led_to_it() -> None:
    """The calls, what all replies took, why the last one ended, its sources, and the turn itself."""
    source = Citation(url="https://pens.example", title="Pens")
    last = ChatResponse(
        AiMessage('{"value": 7}'),
        finish_reason=FinishReason.LENGTH,
        token_usage=TokenUsage(20, 5),
        citations=(source,),
    )
    first = {"calls": [call("in_stock", item="pen")], "usage": {"input": 10, "output": 4}}
    service, _ = served(interface_giving(Result[int]), first, last, tools=[in_stock])
    result = await service.later("How many pens?")

    assert result.content == 7
    assert [(each.request.name, each.result.result) for each in result.tool_executions] == [("in_stock", 7)]
    assert (result.token_usage.input_tokens, result.token_usage.output_tokens) == (30, 9)
    assert result.finish_reason is FinishReason.LENGTH
    assert list(result.citations) == [source]
    assert result.suspended is None
    assert result.turn.tool_executions == result.tool_executions and len(result.turn.messages) == 4


# what the method returns, which tool is called, the answer, how often the model is asked
DIRECT: list[tuple[Any, str, object, int]] = [
    (str, "search", '["pen 1","pen 2"]', 1),
    (str, "count", "2", 1),
    (list[str], "search", ["pen 1", "pen 2"], 1),
    (int, "count", 2, 1),
    (int, "search", 5, 2),
    (None, "search", None, 1),
]


@WAYS
@pytest.mark.parametrize(("hint", "name", "value", "asked"), DIRECT)
async def test_what_a_tool_returns_to_the_caller_is_the_answer(
    ask: Any, hint: Any, name: str, value: object, asked: int
) -> None:
    """As text, or read as the value; what does not fit is asked for, as any other answer."""
    service, model = served(interface_giving(hint), call(name, text="pen"), "5", tools=[search, count])

    assert (await ask(service), len(model.requests)) == (value, asked)


@WAYS
@pytest.mark.parametrize("hint", [str, int, list[str]])
async def test_a_result_leaves_it_with_the_tools(ask: Any, hint: Any) -> None:
    """No content, and nothing is asked for again: the objects are in the turn."""
    service, model = served(interface_giving(Result[hint]), call("search", text="pen"), tools=[search])
    result = await ask(service)

    assert (result.content, len(model.requests)) == (None, 1)
    assert result.turn.returned_directly
    assert [each.result.result for each in result.tool_executions] == [["pen 1", "pen 2"]]
    assert isinstance(result.turn.messages[-1], ToolExecutionResultMessage)
    assert result.finish_reason is FinishReason.TOOL_EXECUTION
