"""Section G: what a tool returns, and what the model and the application get of it."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest

from agentforge import ImageContent, ToolExecutionResult, ToolExecutionResultMessage, ToolService, tool
from agentforge.model import TextContent
from agentforge.model.scripted import call
from tests.anchors.support import ANSWER, FACES, converse, differs, row, rows

PIXELS = base64.b64encode(b"not really a picture").decode()


@tool("Takes nothing.")
def supplier() -> str:
    return "given"


@tool("Takes one.")
def function(a: int) -> int:
    return a + 1


@tool("Takes two.")
def two_arguments(a: int, b: int) -> int:
    return a + b


CALLABLE = [
    row(187, "supplier", supplier, {}, "given"),
    row(187, "function", function, {"a": 1}, "2"),
    row(187, "function of two", two_arguments, {"a": 1, "b": 2}, "3"),
]


@FACES
@pytest.mark.parametrize(("declared", "arguments", "text"), CALLABLE)
async def test_a_tool_of_any_arity_is_called_in_one_way(
    declared: Callable[..., Any], arguments: dict[str, object], text: str, streamed: bool
) -> None:
    done = await converse(ToolService(declared), [call(declared.__name__, arguments), ANSWER], streamed=streamed)
    assert done.texts == [text]


NO_RESULT: list[Any] = [
    row(193, "neither text nor parts", {}),
    row(194, "text and parts", {"text": "a", "parts": [TextContent("a")]}),
]


@pytest.mark.parametrize("given", NO_RESULT)
def test_a_result_has_text_or_parts_and_never_both_or_none(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="exactly one of text and parts"):
        ToolExecutionResult(**given)


@rows(195, "one text as parts")
def test_the_text_of_a_single_part_can_be_read(anchor: int) -> None:
    assert ToolExecutionResult(parts=[TextContent("22 degrees")]).text == "22 degrees"


@rows(198, "attributes count")
def test_results_of_one_text_and_other_attributes_are_not_equal(anchor: int) -> None:
    assert ToolExecutionResult("a", attributes={"n": 1}) == ToolExecutionResult("a", attributes={"n": 1})
    assert ToolExecutionResult("a", attributes={"n": 1}) != ToolExecutionResult("a", attributes={"n": 2})
    assert ToolExecutionResult("a", attributes={"n": 1}) != ToolExecutionResult("a")


# -- where we decide otherwise -------------------------------------------------------------------


@FACES
@differs(185, "an image is a part")
async def test_an_image_stays_a_part_with_its_type_and_base64(anchor: int, streamed: bool) -> None:
    @tool("A chart.")
    def chart() -> ImageContent:
        return ImageContent(data=PIXELS, media_type="image/png")

    done = await converse(ToolService(chart), [call("chart"), ANSWER], streamed=streamed)
    sent = done.requests[1].messages[-1]
    assert isinstance(sent, ToolExecutionResultMessage)
    (part,) = sent.contents
    assert isinstance(part, ImageContent)
    assert (part.media_type, part.data) == ("image/png", PIXELS)
    assert done.texts == [""]


@FACES
@differs(187, "a consumer reads success")
async def test_what_a_tool_without_a_result_returns_reads_success(anchor: int, streamed: bool) -> None:
    @tool("Takes and gives nothing.")
    def consumer(text: str) -> None:
        return None

    done = await converse(ToolService(consumer), [call("consumer", text="x"), ANSWER], streamed=streamed)
    assert done.texts == ["Success"]


@FACES
@differs(188, "null reads success")
async def test_null_in_place_of_an_integer_reads_success(anchor: int, streamed: bool) -> None:
    @tool("Counts, or not.")
    def count() -> int | None:
        return None

    done = await converse(ToolService(count), [call("count"), ANSWER], streamed=streamed)
    assert done.texts == ["Success"]
    assert done.result.tool_executions[0].result.result is None
