"""Section H: tools that fail, and tools that do not exist."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from agentforge import (
    AiMessage,
    ChatResponse,
    Run,
    ToolErrorContext,
    ToolErrorHandlerResult,
    ToolExecutionRequest,
    ToolExecutionResult,
    ToolExecutionResultMessage,
    ToolOutcome,
    ToolService,
    UserMessage,
    tool,
)
from agentforge.errors import ToolExecutionError, UnknownToolError
from agentforge.masking import Secrets
from agentforge.model import History
from agentforge.model.scripted import call
from agentforge.tool import only
from agentforge.tool.error import ReturnToModel
from agentforge.tool.execution import Finish, ToolLoop, ToolLoopState
from tests.anchors.support import ANSWER, FACES, converse, differs, row, rows, source_of

LOGGER = "agentforge"


class StockError(RuntimeError):
    """A tool's own exception."""


class EmptyStockError(StockError):
    """A kind of it."""


class Shop:
    """Tools that fail, each in its way."""

    @tool("Fails with words.")
    def sell(self, item: str) -> str:
        raise StockError(f"no {item} left")

    @tool("Fails without words.")
    def close(self) -> str:
        raise StockError

    @tool("Fails with a kind of the error.")
    def empty(self) -> str:
        raise EmptyStockError("nothing at all")

    @tool("Fails with another error.")
    def divide(self) -> float:
        return 1 / 0

    @tool("Works.")
    def price(self, item: str) -> str:
        return f"{item}: 7"


SELL = call("sell", item="tea")
TOLD = [
    row(199, "the exception's message", SELL, "no tea left"),
    row(210, "with a message", SELL, "no tea left"),
    row(210, "without a message", call("close"), "StockError"),
]


@FACES
@pytest.mark.parametrize(("asked", "text"), TOLD)
async def test_the_model_is_told_what_the_tool_raised(asked: ToolExecutionRequest, text: str, streamed: bool) -> None:
    """By its message, else by its class; flagged as an error."""
    done = await converse(ToolService(Shop()), [asked, ANSWER], streamed=streamed)
    sent = done.requests[1].messages[-1]
    assert isinstance(sent, ToolExecutionResultMessage)
    assert (sent.text, sent.is_error) == (text, True)
    assert done.result.tool_executions[0].outcome is ToolOutcome.FAILED
    assert done.result.text == ANSWER


LISTED = ReturnToModel(rethrow=(StockError,))
ENDED = [row(202, "the class", "sell", StockError), row(202, "a subclass", "empty", EmptyStockError)]


@FACES
@pytest.mark.parametrize(("name", "kind"), ENDED)
async def test_a_listed_exception_ends_the_run_as_the_tool_raised_it(
    name: str, kind: type[Exception], streamed: bool
) -> None:
    arguments = {"item": "tea"} if name == "sell" else {}
    with pytest.raises(StockError) as caught:
        await converse(ToolService(Shop(), execution_error_handler=LISTED), [call(name, arguments)], streamed=streamed)
    assert type(caught.value) is kind


@FACES
@rows(202, "all others")
async def test_all_others_still_become_text(anchor: int, streamed: bool) -> None:
    service = ToolService(Shop(), execution_error_handler=LISTED)
    assert (await converse(service, [call("divide"), ANSWER], streamed=streamed)).texts == ["division by zero"]


@FACES
@rows(205, "not wrapped twice")
async def test_an_execution_error_that_a_tool_raises_itself_is_passed_on_as_it_is(anchor: int, streamed: bool) -> None:
    own = ToolExecutionError("the shop is closed", tool="visit")

    @tool("Raises our own error.")
    def visit() -> str:
        raise own

    done = await converse(ToolService(visit), [call("visit"), ANSWER], streamed=streamed)
    assert done.result.tool_executions[0].result.cause is own
    assert done.texts == ["the shop is closed"]


@FACES
@rows(206, "the handler's text")
async def test_the_result_holds_the_handlers_text_and_the_loop_goes_on(anchor: int, streamed: bool) -> None:
    service = ToolService(
        Shop(), execution_error_handler=lambda error, context: ToolErrorHandlerResult.text("ask for coffee")
    )
    done = await converse(service, [SELL, call("price", item="coffee"), ANSWER], streamed=streamed)
    assert done.texts == ["ask for coffee", "coffee: 7"]
    assert (len(done.requests), done.result.text) == (3, ANSWER)


@FACES
@rows(207, "not listed")
async def test_a_tool_that_is_not_listed_ends_the_run(anchor: int, streamed: bool) -> None:
    with pytest.raises(UnknownToolError, match="'refund'") as caught:
        await converse(ToolService(Shop()), [call("refund")], streamed=streamed)
    assert "sell" in caught.value.known


@rows(209, "no calls to run")
def test_a_reply_without_calls_has_nothing_to_run(anchor: int) -> None:
    """The loop is over, and results for it are refused."""
    loop = ToolLoop(ToolLoopState(History.of([UserMessage("hi")]), 100))
    loop.replied(ChatResponse(AiMessage("hello")), {})
    assert isinstance(loop.next(), Finish)
    with pytest.raises(ValueError, match="no calls are waiting"):
        loop.resolved({0: (ToolOutcome.OK, ToolExecutionResult.success("x"))})


@FACES
@rows(211, "the default handler")
async def test_the_default_handler_tells_the_model_and_warns_once(
    anchor: int, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG, LOGGER):
        done = await converse(ToolService(Shop()), [SELL, ANSWER], streamed=streamed)
    assert (done.texts, done.result.text) == (["no tea left"], ANSWER)
    (record,) = caplog.records
    assert record.levelno == logging.WARNING
    assert "StockError: no tea left" in record.getMessage()
    assert "Traceback" in record.getMessage()


@FACES
@rows(212, "a handler of one's own")
async def test_beside_a_handler_of_ones_own_nothing_is_logged(
    anchor: int, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    service = ToolService(Shop(), execution_error_handler=lambda error, context: ToolErrorHandlerResult.text("no"))
    with caplog.at_level(logging.DEBUG, LOGGER):
        await converse(service, [SELL, ANSWER], streamed=streamed)
    assert caplog.records == []


class NoMoreError(Exception):
    """What a handler raises."""


@FACES
@rows(214, "the handler raises")
async def test_what_an_execution_handler_raises_ends_the_run(anchor: int, streamed: bool) -> None:
    def handler(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        raise NoMoreError("closed")

    with pytest.raises(NoMoreError, match=r"^closed$"):
        await converse(ToolService(Shop(), execution_error_handler=handler), [SELL], streamed=streamed)


@FACES
@rows(218, "unwrapped, the raw error beside it")
async def test_a_handler_gets_the_tools_own_exception_and_the_raw_error_in_the_context(
    anchor: int, streamed: bool
) -> None:
    seen: list[tuple[BaseException, ToolErrorContext]] = []

    def handler(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        seen.append((error, context))
        return ToolErrorHandlerResult.text("no")

    await converse(ToolService(Shop(), execution_error_handler=handler), [SELL, ANSWER], streamed=streamed)
    ((error, context),) = seen
    assert type(error) is StockError
    assert type(context.raw_error) is ToolExecutionError
    assert context.raw_error.__cause__ is error


@FACES
@rows(222, "a strategy answers")
async def test_a_model_that_named_no_tool_is_told_and_chooses_another(anchor: int, streamed: bool) -> None:
    service = ToolService(Shop(), unknown_tool_strategy=lambda error, context: ToolErrorHandlerResult.text("try price"))
    turns = [call("cost", item="tea"), call("price", item="tea"), ANSWER]
    done = await converse(service, turns, streamed=streamed)
    assert done.texts == ["try price", "tea: 7"]
    assert [type(message) for message in done.result.messages] == [
        UserMessage,
        AiMessage,
        ToolExecutionResultMessage,
        AiMessage,
        ToolExecutionResultMessage,
        AiMessage,
    ]


# -- where we decide otherwise -------------------------------------------------------------------


@FACES
@differs(208, "only what was offered runs")
async def test_a_tool_that_exists_and_was_not_offered_never_runs(anchor: int, streamed: bool) -> None:
    ran: list[str] = []

    @tool("Offered.")
    def shown() -> str:
        return "shown"

    @tool("Not offered.")
    def hidden() -> str:
        ran.append("hidden")
        return "hidden"

    service = ToolService(only(source_of(shown, hidden), "shown"), unknown_tool_strategy="return_to_model")
    done = await converse(service, [call("hidden"), ANSWER], streamed=streamed)
    assert done.result.tool_executions[0].outcome is ToolOutcome.UNKNOWN_TOOL
    assert ran == []


@differs(219, "there is always a raw error")
def test_a_context_cannot_be_made_without_the_raw_error(anchor: int) -> None:
    given: dict[str, Any] = {"request": SELL, "specification": None, "run": Run(), "secrets": Secrets()}
    with pytest.raises(TypeError, match="raw_error"):
        ToolErrorContext(**given)
