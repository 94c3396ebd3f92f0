"""Section B: what a model writes as arguments, and what arrives at the tool."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agentforge import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    FinishReason,
    ResponseDone,
    ToolExecutionRequest,
    ToolOutcome,
    ToolParameters,
    ToolService,
    ToolSpecification,
    tool,
)
from agentforge.errors import ToolArgumentsError
from agentforge.model import ChatEvent, ModelProfile
from agentforge.model.scripted import call
from agentforge.tool.error import ReturnToModel
from tests.anchors.support import ANSWER, FACES, converse, differs, differs_row, received, row, rows

SQL = 'SELECT "name" FROM users WHERE note = "a\\b"'
EXPRESSION = '${input | default("x") | upper}'

READ = [
    row(50, "text, integer, decimal", '{"a": "x", "b": 1, "c": 1.5}', {"a": "x", "b": 1, "c": 1.5}),
    row(51, "trailing comma", '{"a": 1,}', {"a": 1}),
    row(53, "a comma alone in an object", "{,}", {}),
    row(53, "a comma alone in a list", '{"a": [,]}', {"a": []}),
    row(54, "trailing comma and blanks", '{"a": [1,  ],  }', {"a": [1]}),
    row(54, "trailing comma and a line break", '{"a": "x, }",\n}', {"a": "x, }"}),
    row(56, "one extra pair of quotes", '"{"a": "x"}"', {"a": "x"}),
    row(58, "SQL with escaped quotes", json.dumps({"sql": SQL}), {"sql": SQL}),
    row(59, "template expression", json.dumps({"body": {"text": EXPRESSION}}), {"body": {"text": EXPRESSION}}),
]


@pytest.mark.parametrize(("text", "arguments"), READ)
def test_the_text_is_read(text: str, arguments: dict[str, Any]) -> None:
    """Every value keeps its type; a repair takes away what has no meaning and nothing else."""
    made = ToolExecutionRequest("c1", "keep", text).arguments_as_map()
    assert made == arguments
    assert [type(value) for value in made.values()] == [type(value) for value in arguments.values()]


class SaysNull:
    """A model whose wire handed on the null that came in place of the arguments."""

    def __init__(self) -> None:
        self.profile = ModelProfile(name="null")
        self.answered = 0

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """A call with null arguments, then an answer."""
        self.answered += 1
        if self.answered > 1:
            return ChatResponse(AiMessage(ANSWER))
        made: Any = None
        return ChatResponse(AiMessage([ToolExecutionRequest("c1", "now", made)]), FinishReason.TOOL_EXECUTION)

    async def stream(self, request: ChatRequest) -> AsyncIterator[ChatEvent]:
        """The same reply as a stream."""
        yield ResponseDone(await self.chat(request))

    async def aclose(self) -> None:
        """Nothing to close."""


def called_without_arguments() -> tuple[ToolService, list[str]]:
    ran: list[str] = []

    @tool("The time.")
    def now(zone: str = "UTC") -> str:
        ran.append(zone)
        return "10:00"

    return ToolService(now), ran


def executed_without_arguments() -> tuple[ToolService, list[str]]:
    ran: list[str] = []

    def execute(request: ToolExecutionRequest) -> str:
        ran.append(str(request.arguments_as_map().get("zone", "UTC")))
        return "10:00"

    return ToolService().tool(ToolSpecification("now"), execute), ran


@FACES
@pytest.mark.parametrize(
    "make",
    [
        row(61, "null for a function", called_without_arguments),
        row(61, "null for an executor", executed_without_arguments),
    ],
)
async def test_null_means_no_arguments(make: Callable[[], tuple[ToolService, list[str]]], streamed: bool) -> None:
    service, ran = make()
    if streamed:
        async with service.stream(SaysNull(), None, "time?") as events:
            _ = [event async for event in events]
        text = events.result.text
    else:
        text = (await service.chat(SaysNull(), None, "time?")).text
    assert (ran, text) == (["UTC"], ANSWER)


@FACES
@pytest.mark.parametrize(
    "make",
    [
        row(62, "empty for a function", called_without_arguments),
        row(62, "empty for an executor", executed_without_arguments),
    ],
)
async def test_an_empty_text_means_no_arguments(
    make: Callable[[], tuple[ToolService, list[str]]], streamed: bool
) -> None:
    service, ran = make()
    await converse(service, [call("now", ""), ANSWER], streamed=streamed)
    assert ran == ["UTC"]


@rows(63, "deeply nested")
async def test_an_executor_gets_a_nested_text_as_it_was_written(anchor: int) -> None:
    text = '{"a": {"b": [{"c": {"d": [1, [2, {"e": null}]]}}]}, "f":   "x"}'
    seen: list[str] = []

    def execute(request: ToolExecutionRequest) -> str:
        seen.append(request.arguments)
        return "ok"

    parameters = ToolParameters.builder().add_property("a", {}).add_property("f", {}).build()
    await converse(ToolService().tool(ToolSpecification("keep", None, parameters), execute), [call("keep", text), "x"])
    assert seen == [text]


# -- where we decide otherwise -------------------------------------------------------------------

NOT_JSON = [
    differs_row(65, "text that is no JSON", '{"value": '),
    differs_row(67, "a broken literal", "nill"),
]


@pytest.mark.parametrize("text", NOT_JSON)
async def test_what_is_no_json_is_an_argument_error_with_a_handler_of_its_own(text: str) -> None:
    """By default it ends the run; a strategy for arguments tells the model. No tool runs, no execution handler."""
    with pytest.raises(ToolArgumentsError, match="not valid JSON"):
        await received(str, text)
    executions: list[BaseException] = []

    def on_execution(error: BaseException, context: Any) -> Any:
        executions.append(error)
        return ReturnToModel()(error, context)

    @tool("Keeps.")
    def keep(value: str) -> str:
        return value

    service = ToolService(keep, arguments_error_handler="return_to_model", execution_error_handler=on_execution)
    done = await converse(service, [call("keep", text), ANSWER])
    execution = done.result.tool_executions[0]
    assert execution.outcome is ToolOutcome.INVALID_ARGUMENTS
    assert "not valid JSON" in execution.result_text()
    assert executions == []


@differs(66, "arguments are an object")
async def test_a_json_text_alone_is_no_argument(anchor: int) -> None:
    """The empty text reaches a tool as the value of a parameter."""
    with pytest.raises(ToolArgumentsError, match="a text came"):
        await received(str, '""')
    assert await received(str, {"value": ""}) == ""
