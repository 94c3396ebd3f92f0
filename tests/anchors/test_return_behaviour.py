"""Section A: when a tool's result goes straight to the caller, and what the caller then gets.

T is ``TO_LLM``, I is ``IMMEDIATE``, L is ``IMMEDIATE_IF_LAST``; ``!`` says that this call fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

import pytest

from agentforge import (
    AiMessage,
    ChatClient,
    ChatResponse,
    FinishReason,
    ResponseDone,
    Result,
    ReturnBehavior,
    RunFinished,
    ScriptedChatModel,
    TokenUsage,
    ToolService,
    ToolSpecification,
    ai_service,
    tool,
)
from agentforge.model import ToolCallReady
from agentforge.model.scripted import call, calls
from tests.anchors.support import ANSWER, FACES, converse, differs, differs_row, row, rows


class Tools:
    """One tool for each behaviour, and one of each that fails."""

    @tool("To the model.")
    def t(self) -> str:
        return "t"

    @tool("To the model; fails.")
    def t_fails(self) -> str:
        raise RuntimeError("t failed")

    @tool("Immediate.", return_behavior=ReturnBehavior.IMMEDIATE)
    def i(self) -> str:
        return "i"

    @tool("Immediate; fails.", return_behavior=ReturnBehavior.IMMEDIATE)
    def i_fails(self) -> str:
        raise RuntimeError("i failed")

    @tool("Immediate if last.", return_behavior=ReturnBehavior.IMMEDIATE_IF_LAST)
    def l(self) -> str:  # noqa: E743  (the letter of the sheet)
        return "l"

    @tool("Immediate if last; fails.", return_behavior=ReturnBehavior.IMMEDIATE_IF_LAST)
    def l_fails(self) -> str:
        raise RuntimeError("l failed")


class Direct:
    """Immediate tools of every kind of result."""

    @tool("Nothing.", return_behavior=ReturnBehavior.IMMEDIATE)
    def void(self) -> None:
        return None

    @tool("A text that may be none.", return_behavior=ReturnBehavior.IMMEDIATE)
    def text(self, text: str | None = None) -> str | None:
        return text


class Caller(Protocol):
    """An AI service, whose methods say in which form the caller wants the answer."""

    async def text(self, message: str) -> str: ...

    async def nothing(self, message: str) -> None: ...

    async def text_with_all(self, message: str) -> Result[str]: ...

    async def number_with_all(self, message: str) -> Result[int]: ...


async def called(method: str, asked: AiMessage, tools: object) -> tuple[Any, int]:
    """What a method of the service gives where the model's first reply is ``asked``, and how often it was asked."""
    model = ScriptedChatModel([asked, ANSWER])
    async with ChatClient(model, tools=[tools]) as client:
        given = await getattr(ai_service(Caller, client), method)("question")
    return given, len(model.requests)


def reply(letters: Sequence[str]) -> AiMessage:
    return calls(*(call(letter.lower().replace("!", "_fails")) for letter in letters))


RETURN, AGAIN = "RETURN", "AGAIN"
COMBINATIONS = [
    row(1, "T", "T", AGAIN),
    row(2, "T,T", "T,T", AGAIN),
    row(4, "I,I", "I,I", RETURN),
    # The sheet's row says RETURN, against the rule at the head of its own section; the suite it names asserts this.
    row(5, "T,I", "T,I", AGAIN),
    row(7, "L", "L", RETURN),
    row(8, "L,L", "L,L", RETURN),
    row(9, "T,L", "T,L", RETURN),
    row(10, "L,T", "L,T", AGAIN),
    row(12, "L,I", "L,I", RETURN),
    row(13, "T,I,L", "T,I,L", RETURN),
    row(15, "I,T,L", "I,T,L", RETURN),
    row(16, "I,L,T", "I,L,T", AGAIN),
    row(17, "L,T,I", "L,T,I", AGAIN),
    row(18, "L,I,T", "L,I,T", AGAIN),
    row(19, "T!", "T!", AGAIN),
    row(21, "L!", "L!", AGAIN),
    row(22, "I!,I", "I!,I", AGAIN),
    row(23, "I,I!", "I,I!", AGAIN),
    row(24, "T!,L", "T!,L", AGAIN),
    row(26, "L!,T", "L!,T", AGAIN),
    row(27, "I!,L", "I!,L", AGAIN),
    row(29, "T!,I,L", "T!,I,L", AGAIN),
    row(31, "T,I,L!", "T,I,L!", AGAIN),
]


@FACES
@pytest.mark.parametrize(("letters", "outcome"), COMBINATIONS)
async def test_a_batch_returns_at_once_or_goes_to_the_model_again(letters: str, outcome: str, streamed: bool) -> None:
    """RETURN is one request and no text of the model; AGAIN is two, and the second reply is the answer."""
    done = await converse(ToolService(Tools()), [reply(letters.split(",")), ANSWER], streamed=streamed)
    returned = outcome == RETURN
    assert len(done.requests) == (1 if returned else 2)
    assert done.result.returned_directly is returned
    assert done.result.final_response.ai_message.text == (None if returned else ANSWER)


async def test_every_batch_of_up_to_three_calls_follows_the_one_rule() -> None:
    """No error, and the last is L or all are I or L: the rule at the head of the section, exhaustively."""
    service = ToolService(Tools())
    letters = [behaviour + failure for behaviour in "TIL" for failure in ("", "!")]
    for batch in (batch for size in (1, 2, 3) for batch in itertools.product(letters, repeat=size)):
        failed = any("!" in letter for letter in batch)
        expected = not failed and (batch[-1] == "L" or "T" not in batch)
        done = await converse(service, [reply(batch), ANSWER])
        assert (batch, done.result.returned_directly) == (batch, expected)


# -- what the caller gets ------------------------------------------------------------------------


@rows(33, "the final response carries the calls and no text")
async def test_the_last_response_of_a_stream_is_the_reply_that_asked(anchor: int) -> None:
    done = await converse(ToolService(Tools()), [reply("I")], streamed=True)
    message = done.result.final_response.ai_message
    assert [request.name for request in message.tool_execution_requests] == ["i"]
    assert message.text is None


@FACES
@rows(34, "no content, results in the executions, finish reason tool execution")
async def test_the_results_are_found_in_the_executions(anchor: int, streamed: bool) -> None:
    done = await converse(ToolService(Tools()), [reply("IL")], streamed=streamed)
    assert done.result.final_response.ai_message.text is None
    assert done.texts == ["i", "l"]
    assert done.result.final_response.finish_reason is FinishReason.TOOL_EXECUTION


RESULTS = [
    row(34, "a Result of a text", "text_with_all"),
    row(34, "a Result of a value, which is not looked for in what the tools say", "number_with_all"),
]


@pytest.mark.parametrize("method", RESULTS)
async def test_a_caller_that_asks_for_a_result_gets_no_content(method: str) -> None:
    """It finds what the tools returned in the executions."""
    result, requests = await called(method, reply("IL"), Tools())
    assert (result.content, requests) == (None, 1)
    assert [each.result_text() for each in result.tool_executions] == ["i", "l"]
    assert result.finish_reason is FinishReason.TOOL_EXECUTION


PROGRAMMATIC = [
    row(41, "set to immediate", {"return_behavior": ReturnBehavior.IMMEDIATE}, 1),
    row(41, "without the setting", {}, 2),
]


@FACES
@pytest.mark.parametrize(("settings", "requests"), PROGRAMMATIC)
async def test_a_specification_with_its_executor_behaves_as_a_declared_tool(
    settings: dict[str, Any], requests: int, streamed: bool
) -> None:
    service = ToolService().tool(ToolSpecification("now"), lambda request: "10:00", **settings)
    done = await converse(service, [call("now"), ANSWER], streamed=streamed)
    assert len(done.requests) == requests
    assert done.result.text == ("10:00" if requests == 1 else ANSWER)


FLAGGED = [row(44, "one direct call", "I"), row(45, "two direct calls", "IL")]


@FACES
@pytest.mark.parametrize("letters", FLAGGED)
async def test_the_result_says_that_it_was_returned_directly(letters: str, streamed: bool) -> None:
    done = await converse(ToolService(Tools()), [reply(letters)], streamed=streamed)
    assert done.result.returned_directly


REPORTED = TokenUsage(10, 20, 30)


@FACES
@rows(49, "usage of the one round")
async def test_the_usage_of_the_round_is_reported(anchor: int, streamed: bool) -> None:
    turn = ChatResponse(reply("I"), FinishReason.TOOL_EXECUTION, REPORTED)
    done = await converse(ToolService(Tools()), [turn], streamed=streamed)
    assert done.result.token_usage == REPORTED


class Counted:
    """A result that counts how often it is turned into text."""

    def __init__(self) -> None:
        self.dumped = 0

    def model_dump(self, mode: str) -> dict[str, int]:
        self.dumped += 1
        return {"n": self.dumped}


def counting(behavior: ReturnBehavior) -> tuple[ToolService, Counted]:
    made = Counted()

    @tool("Counts.", return_behavior=behavior)
    def count() -> Any:
        return made

    return ToolService(count), made


@rows(43, "text read several times and from several threads")
async def test_the_text_of_a_result_is_made_once(anchor: int) -> None:
    service, made = counting(ReturnBehavior.TO_LLM)
    done = await converse(service, [call("count"), ANSWER])
    execution = done.result.tool_executions[0]
    with ThreadPoolExecutor(4) as pool:
        texts = set(pool.map(lambda _: execution.result_text(), range(20)))
    assert (texts, made.dumped) == ({'{"n":1}'}, 1)


# -- where we decide otherwise -------------------------------------------------------------------


@differs(42, "the text is there")
async def test_the_text_of_an_immediate_result_is_made_when_the_tool_returns(anchor: int) -> None:
    service, made = counting(ReturnBehavior.IMMEDIATE)
    done = await converse(service, [call("count")])
    assert (done.result.returned_directly, done.texts, made.dumped) == (True, ['{"n":1}'], 1)


NOTHING = [
    differs_row(35, "void", [call("void")], "Success", [None]),
    differs_row(36, "void and null", [call("void"), call("text")], "Success\nSuccess", [None, None]),
    differs_row(
        37,
        "void, text and null",
        [call("void"), call("text", text="hello"), call("text")],
        "Success\nhello\nSuccess",
        [None, "hello", None],
    ),
]


@FACES
@pytest.mark.parametrize(("asked", "text", "objects"), NOTHING)
async def test_an_immediate_tool_that_returns_nothing_reads_success(
    asked: list[Any], text: str, objects: list[object], streamed: bool
) -> None:
    """The objects themselves, the one text among them too, are in the executions."""
    done = await converse(ToolService(Direct()), [calls(*asked)], streamed=streamed)
    assert len(done.requests) == 1
    assert done.result.text == text
    assert [execution.result.result for execution in done.result.tool_executions] == objects


@pytest.mark.parametrize(("asked", "text", "objects"), NOTHING)
async def test_a_caller_that_asks_for_a_text_gets_that_of_the_tools(
    asked: list[Any], text: str, objects: list[object]
) -> None:
    """The same text as any other caller; one that asks for nothing gets nothing."""
    assert await called("text", calls(*asked), Direct()) == (text, 1)
    assert await called("nothing", calls(*asked), Direct()) == (None, 1)


@differs(47, "the response stays the model's own")
async def test_the_result_has_the_tools_text_and_the_response_stays_as_it_came(anchor: int) -> None:
    done = await converse(ToolService(Tools()), [reply("I")])
    assert (len(done.requests), done.result.text, done.result.returned_directly) == (1, "i", True)
    assert done.result.final_response.ai_message.text is None
    assert done.result.final_response.finish_reason is FinishReason.TOOL_EXECUTION


@differs(48, "the call is shown and the result comes last")
async def test_a_stream_shows_the_call_and_ends_with_the_tools_text(anchor: int) -> None:
    turn = ChatResponse(reply("I"), FinishReason.TOOL_EXECUTION, REPORTED)
    done = await converse(ToolService(Tools()), [turn], streamed=True)
    kinds = [type(event) for event in done.events]
    assert kinds.count(ResponseDone) == 1
    assert kinds.count(ToolCallReady) == 1
    assert kinds[-1] is RunFinished
    assert (done.result.text, done.result.token_usage) == ("i", REPORTED)
