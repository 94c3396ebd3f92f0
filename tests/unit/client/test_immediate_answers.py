"""What a service gives where tools return straight to the caller: by the method's return type."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import pytest

from agentforge import ChatClient, Result, ScriptedChatModel, ToolChatResult, ai_service, tool
from agentforge.testing import call


@dataclass
class Order:
    """A value that a method may promise."""

    number: str


@tool("Finds an order.", return_direct=True)
def find(number: str) -> Order:
    return Order(number)


@tool("Counts orders.", return_direct=True)
def count() -> int:
    return 7


@tool("Closes the desk.", return_direct=True)
def close() -> None:
    return None


class Desk(Protocol):
    """Methods of every kind of answer."""

    async def text(self, message: str) -> str: ...

    async def order(self, message: str) -> Order: ...

    async def number(self, message: str) -> int: ...

    async def nothing(self, message: str) -> None: ...

    async def text_with_all(self, message: str) -> Result[str]: ...

    async def order_with_all(self, message: str) -> Result[Order]: ...

    async def turn(self, message: str) -> ToolChatResult: ...


FIND, COUNT, CLOSE = call("find", number="A1"), call("count"), call("close")


async def given(method: str, calls: list[Any], *then: str) -> tuple[Any, int]:
    """What the method gives, and how often its model was asked."""
    model = ScriptedChatModel([calls, *then])
    async with ChatClient(model, tools=[find, count, close]) as client:
        answer = await getattr(ai_service(Desk, client), method)("?")
    return answer, len(model.requests)


@pytest.mark.parametrize(
    ("method", "calls", "answer"),
    [
        ("text", [FIND], '{"number":"A1"}'),
        ("text", [CLOSE, COUNT], "Success\n7"),
        ("order", [FIND], Order("A1")),
        ("order", [COUNT, FIND], Order("A1")),
        ("number", [COUNT], 7),
        ("nothing", [FIND, COUNT, CLOSE], None),
    ],
)
async def test_what_tools_return_is_the_answer_where_it_fits(method: str, calls: list[Any], answer: object) -> None:
    """And the model is not asked again."""
    assert await given(method, calls) == (answer, 1)


@pytest.mark.parametrize(
    ("method", "calls", "then", "answer"),
    [
        ("order", [COUNT], '{"number": "A2"}', Order("A2")),
        ("order", [CLOSE], '{"number": "A2"}', Order("A2")),
        ("number", [FIND], '{"value": 8}', 8),
    ],
)
async def test_a_value_that_was_promised_is_asked_for_where_tools_return_another(
    method: str, calls: list[Any], then: str, answer: object
) -> None:
    """The model makes it of what they returned."""
    assert await given(method, calls, then) == (answer, 2)


@pytest.mark.parametrize("calls", [[FIND], [COUNT], [CLOSE], [FIND, FIND], [COUNT, CLOSE, FIND]])
@pytest.mark.parametrize("method", ["text_with_all", "order_with_all"])
async def test_a_result_takes_whatever_tools_return(method: str, calls: list[Any]) -> None:
    """It has a place for it, so that nothing is asked again: no content, and the objects in the executions."""
    result, requests = await given(method, calls)
    returned = {"find": Order("A1"), "count": 7, "close": None}
    assert (result.content, result.turn.returned_directly, requests) == (None, True, 1)
    assert [each.result.result for each in result.tool_executions] == [returned[each.name] for each in calls]


async def test_a_result_of_a_value_is_checked_where_the_model_answers() -> None:
    """And asked for again, as ever."""
    model = ScriptedChatModel(["no order", '{"number": "A2"}'])
    result = await ai_service(Desk, ChatClient(model, tools=[find])).order_with_all("?")
    assert (result.content, len(model.requests)) == (Order("A2"), 2)


async def test_the_turn_itself_says_what_was_returned() -> None:
    """As it does without a service."""
    turn, requests = await given("turn", [COUNT, FIND])
    assert (turn.immediate_results, turn.returned_directly, requests) == ((7, Order("A1")), True, 1)
