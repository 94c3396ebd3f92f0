"""Converters of what tools return: asked in order before the usual conversion, for every kind of tool."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService, ToolSpecification, tool
from agentforge.model.scripted import call
from agentforge.tool.execution import ToolExecution, ToolExecutionResult, ToolResultConverter


@dataclass
class Money:
    """An object of the application."""

    cents: int


class Unspeakable:
    """An object without a JSON form."""


class InEuros:
    """Says amounts in words, and notes what it is asked for."""

    def __init__(self) -> None:
        self.asked: list[tuple[object, str]] = []

    def convert(self, value: object, tool: str) -> ToolExecutionResult | None:
        """Money in euros; everything else is not its own."""
        self.asked.append((value, tool))
        return ToolExecutionResult.success(f"{value.cents / 100:.2f} EUR") if isinstance(value, Money) else None


class Describes:
    """Takes everything that it is asked for."""

    def convert(self, value: object, tool: str) -> ToolExecutionResult | None:
        """The class's name."""
        return ToolExecutionResult.success(f"a {type(value).__name__}")


class Shop:
    """Tools of every kind that give an amount."""

    @tool
    def plain(self) -> Money:
        "Plain."
        return Money(1250)

    @tool
    async def awaited(self) -> Money:
        "Awaited."
        await asyncio.sleep(0)
        return Money(1250)

    @tool
    def later(self) -> Any:
        "Gives something to await."
        return self.awaited()

    @tool
    def many(self) -> Any:
        "Several, one by one."
        return (Money(1250) for _ in range(1))

    @tool
    def stream(self) -> Any:
        "Several, one by one, later."

        async def items() -> AsyncIterator[Money]:
            yield await self.awaited()

        return items()

    @tool
    def text(self) -> str:
        "Words."
        return "words"

    @tool
    def nothing(self) -> None:
        "Nothing."

    @tool
    def decided(self) -> ToolExecutionResult:
        "A result already."
        return ToolExecutionResult.success("decided")

    @tool
    def unspeakable(self) -> Unspeakable:
        "What has no JSON form."
        return Unspeakable()


async def ran(name: str, *converters: ToolResultConverter, tools: object = None) -> ToolExecution:
    """One call of the tool in a conversation."""
    with ToolService(tools or Shop(), converters=converters) as service:
        result = await service.chat(ScriptedChatModel([call(name), "Done."]), None, "?")
    return result.tool_executions[0]


CONVERTED = {
    "a plain function": ("plain", "12.50 EUR"),
    "a coroutine function": ("awaited", "12.50 EUR"),
    "a function that gives something to await": ("later", "12.50 EUR"),
    "what is not its own": ("text", "words"),
    "nothing": ("nothing", "Success"),
    "a result already": ("decided", "decided"),
}


@pytest.mark.parametrize(("name", "text"), CONVERTED.values(), ids=CONVERTED.keys())
async def test_a_converter_says_what_the_model_reads_of_its_own_objects(name: str, text: str) -> None:
    assert (await ran(name, InEuros())).result_text() == text


async def test_it_is_asked_for_what_the_tool_returned_and_by_the_tool_s_name() -> None:
    """Not for a result, which the tool has made itself; of a stream for all of it."""
    converter = InEuros()
    for name in ("plain", "text", "nothing", "decided", "stream"):
        await ran(name, converter)

    assert converter.asked == [
        (Money(1250), "plain"),
        ("words", "text"),
        (None, "nothing"),
        ([Money(1250)], "stream"),
    ]


async def test_the_first_that_has_a_result_is_the_one() -> None:
    assert (await ran("plain", InEuros(), Describes())).result_text() == "12.50 EUR"
    assert (await ran("plain", Describes(), InEuros())).result_text() == "a Money"
    assert (await ran("nothing", InEuros(), Describes())).result_text() == "a NoneType"


async def test_what_has_no_json_form_can_be_said_all_the_same() -> None:
    assert (await ran("unspeakable", InEuros())).has_failed()
    assert (await ran("unspeakable", Describes())).result_text() == "a Unspeakable"


async def test_own_executors_are_converted_too() -> None:
    """Sync ones and async ones."""

    async def later(request: object) -> Money:
        return Money(990)

    tools = {
        ToolSpecification("now", "Now."): lambda request: Money(1),
        ToolSpecification("later", "Later."): later,
    }

    assert (await ran("now", InEuros(), tools=tools)).result_text() == "0.01 EUR"
    assert (await ran("later", InEuros(), tools=tools)).result_text() == "9.90 EUR"


class Fails:
    """Raises, or returns what is no result."""

    def __init__(self, *answers: object) -> None:
        self.answers = answers

    def convert(self, value: object, tool: str) -> Any:
        """Whatever the test wants."""
        if not self.answers:
            raise ValueError("cannot say it")
        return self.answers[0]


@pytest.mark.parametrize("name", ["plain", "awaited", "later"])
async def test_a_converter_that_raises_is_a_failure_of_the_tool(name: str) -> None:
    execution = await ran(name, Fails())

    assert execution.has_failed() and "cannot say it" in execution.result_text()


@pytest.mark.parametrize("answer", ["text", 0, False])
async def test_a_converter_that_gives_no_result_is_named(answer: object) -> None:
    execution = await ran("plain", Fails(answer))

    assert execution.has_failed()
    assert f"the converter Fails returned {type(answer).__name__} for the tool 'plain'" in execution.result_text()


async def test_one_service_s_converters_are_not_another_s() -> None:
    """The same tools in two services."""
    assert (await ran("plain", InEuros())).result_text() == "12.50 EUR"
    assert (await ran("plain")).result_text() == '{"cents":1250}'


def test_a_class_with_the_method_is_a_converter() -> None:
    assert isinstance(InEuros(), ToolResultConverter) and not isinstance(Shop(), ToolResultConverter)
