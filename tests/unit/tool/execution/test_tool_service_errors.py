"""Seed A 4.4: what happens when arguments do not fit, a tool fails, or the model names a tool that is not there.

Every conversation runs twice, blocking and streamed: both must come to the same result.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from agentforge import (
    ChatRequestParameters,
    ScriptedChatModel,
    ToolErrorContext,
    ToolErrorHandlerResult,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolOutcome,
    ToolService,
    ToolSpecification,
    tool,
)
from agentforge.errors import (
    ConfigurationError,
    ModelError,
    ToolArgumentsError,
    ToolError,
    ToolExecutionError,
    UnknownToolError,
)
from agentforge.masking import Secrets
from agentforge.model.scripted import call, calls
from agentforge.tool.error import ListKnownTools, Mask, ReturnToModel, Template
from tests.unit.tool.execution.support import WeatherTools, converse, fails, valid

# -- errors (seed A 4.4) -----------------------------------------------------------------------------


async def test_a_failed_tool_is_told_to_the_model_by_default_and_warned_about(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING, "agentforge.tool"):
        result = await ToolService(fails).chat(
            ScriptedChatModel([call("fails", reason="no stock"), "sorry"]), None, "q"
        )
    execution = result.tool_executions[0]
    assert (execution.outcome, execution.result_text()) == (ToolOutcome.FAILED, "no stock")
    assert isinstance(execution.result.cause, ToolExecutionError)
    assert result.text == "sorry"
    assert len(caplog.records) == 1 and "no stock" in caplog.text


async def test_the_warning_of_our_own_errors_says_what_to_do(caplog: pytest.LogCaptureFixture) -> None:
    """The model is told the message alone: the next step is for whoever reads the log."""

    @tool("Looks into the shop.")
    async def look() -> str:
        raise ConfigurationError("there is no shop", next_step="Open one.")

    with caplog.at_level(logging.WARNING, "agentforge.tool"):
        result = await ToolService(look).chat(ScriptedChatModel([call("look"), "sorry"]), None, "q")

    assert result.tool_executions[0].result_text() == "there is no shop"
    assert "there is no shop\n  next: Open one." in caplog.text


async def test_an_exception_without_words_is_told_by_its_class() -> None:
    result = await converse(ToolService(fails), [call("fails", reason=""), "sorry"])
    assert result.tool_executions[0].result_text() == "ValueError"


async def test_a_custom_execution_handler_gets_the_tools_own_exception_and_logs_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    seen: list[tuple[BaseException, ToolErrorContext]] = []

    def handler(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        seen.append((error, context))
        return ToolErrorHandlerResult.text("try again")

    service = ToolService(fails).execution_error_handler(handler)
    result = await service.chat(ScriptedChatModel([call("fails"), "ok"]), None, "q", memory_id="m1")
    error, context = seen[0]
    assert isinstance(error, ValueError) and isinstance(context.raw_error, ToolExecutionError)
    assert (context.request.name, context.memory_id) == ("fails", "m1")
    assert context.specification is not None and context.specification.name == "fails"
    assert result.tool_executions[0].result_text() == "try again"
    assert not caplog.records


async def test_an_async_handler_is_awaited() -> None:
    async def handler(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        await asyncio.sleep(0)
        return ToolErrorHandlerResult.text("later")

    result = await converse(ToolService(fails, execution_error_handler=handler), [call("fails"), "ok"])
    assert result.tool_executions[0].result_text() == "later"


async def test_invalid_arguments_end_the_run_by_default_before_anything_ran() -> None:
    ran: list[str] = []

    @tool
    def note(text: str) -> str:
        "Note."
        ran.append(text)
        return "ok"

    model = ScriptedChatModel([calls(call("note", text="a"), ToolExecutionRequest("c2", "note", '{"text": 3}'))])
    with pytest.raises(ToolArgumentsError, match="text") as caught:
        await ToolService(note).chat(model, None, "q")
    assert ran == []
    partial = caught.value.partial  # type: ignore[attr-defined]
    assert valid(partial.messages)
    assert [e.outcome for e in partial.tool_executions] == [ToolOutcome.CANCELLED, ToolOutcome.INVALID_ARGUMENTS]


async def test_invalid_arguments_can_be_told_to_the_model_while_valid_siblings_run() -> None:
    service = ToolService(WeatherTools(), arguments_error_handler="return_to_model")
    turns = [calls(call("get_weather", town="X"), call("get_weather", city="B")), call("get_weather", city="A"), "ok"]
    result = await converse(service, turns)
    assert [e.outcome for e in result.tool_executions] == [
        ToolOutcome.INVALID_ARGUMENTS,
        ToolOutcome.OK,
        ToolOutcome.OK,
    ]
    text = result.tool_executions[0].result_text()
    assert "city" in text and "town" in text


async def test_an_unknown_tool_ends_the_run_by_default() -> None:
    with pytest.raises(UnknownToolError, match="get_wether") as caught:
        await ToolService(WeatherTools()).chat(ScriptedChatModel([call("get_wether", city="x")]), None, "q")
    assert caught.value.known == ("get_weather", "now")
    assert valid(caught.value.partial.messages)  # type: ignore[attr-defined]


UNKNOWN = {
    "list_known_tools": "list_known_tools",
    "a handler": lambda error, context: ToolErrorHandlerResult.text(f"none such: {context.request.name}"),
    "seed A's function of the request": lambda request: ToolExecutionResultMessage(
        request.id, request.name, f"none such: {request.name}"
    ),
    "a text": lambda request: f"none such: {request.name}",
}


@pytest.mark.parametrize("form", UNKNOWN)
async def test_an_unknown_tool_can_be_answered_and_the_loop_goes_on(form: str) -> None:
    service = ToolService(WeatherTools(), unknown_tool_strategy=UNKNOWN[form])
    result = await converse(service, [call("GetWeather", city="x"), call("get_weather", city="x"), "ok"])
    assert [e.outcome for e in result.tool_executions] == [ToolOutcome.UNKNOWN_TOOL, ToolOutcome.OK]
    assert "GetWeather" in result.tool_executions[0].result_text()


async def test_the_list_of_known_tools_names_the_nearest_first_and_never_guesses() -> None:
    service = ToolService(WeatherTools(), unknown_tool_strategy=ListKnownTools())
    result = await converse(service, [call("get-weather", city="x"), "ok"])
    assert "Did you mean get_weather?" in result.tool_executions[0].result_text()


async def test_a_tool_offered_by_the_parameters_alone_has_no_executor_and_says_so() -> None:
    service = ToolService(unknown_tool_strategy="return_to_model")
    result = await service.chat(
        ScriptedChatModel([call("echo", text="x"), "ok"]),
        ChatRequestParameters(tools=(ToolSpecification("echo"),)),
        "q",
    )
    assert "no executor" in result.tool_executions[0].result_text()


STRATEGIES = [
    (ReturnToModel(), "no stock"),
    (Template("{tool} failed with {error}: {message}"), "fails failed with ValueError: no stock"),
]


@pytest.mark.parametrize(("handler", "told"), STRATEGIES)
async def test_the_named_strategies_tell_the_model(handler: Any, told: str) -> None:
    result = await converse(
        ToolService(fails, execution_error_handler=handler), [call("fails", reason="no stock"), "ok"]
    )
    assert result.tool_executions[0].result_text() == told


async def test_mask_tells_class_and_reference_only_and_logs_the_details(caplog: pytest.LogCaptureFixture) -> None:
    service = ToolService(fails, execution_error_handler=Mask())
    with caplog.at_level(logging.WARNING, "agentforge.tool"):
        result = await service.chat(ScriptedChatModel([call("fails", reason="db at 10.0.0.9"), "ok"]), None, "q")
    text = result.tool_executions[0].result_text()
    assert "10.0.0.9" not in text and "ValueError" in text
    assert text.rsplit(" ", 1)[-1].rstrip(".") in caplog.text


@pytest.mark.parametrize("template", ["{toll}", "{", "{0}", "{tool.x}", "{tool.upper}", "{tool[0]}", "{message:{id}}"])
def test_a_template_that_cannot_be_filled_is_refused(template: str) -> None:
    with pytest.raises(ConfigurationError, match="template"):
        Template(template)


async def test_listed_exceptions_end_the_run_as_the_tool_raised_them() -> None:
    service = ToolService(fails, execution_error_handler=ReturnToModel(rethrow=(ArithmeticError, ValueError)))
    with pytest.raises(ValueError, match=r"^stop$") as caught:
        await service.chat(ScriptedChatModel([call("fails", reason="stop")]), None, "q")
    assert valid(caught.value.partial.messages)  # type: ignore[attr-defined]


async def test_what_a_handler_raises_ends_the_run_after_its_siblings_and_keeps_their_results() -> None:
    started, finished = asyncio.Event(), []

    class OwnError(Exception):
        pass

    @tool
    async def sibling() -> str:
        "Goes on."
        await started.wait()
        await asyncio.sleep(0)
        finished.append(1)
        return "kept"

    @tool
    async def broken() -> str:
        "Fails first."
        started.set()
        raise ValueError("x")

    def handler(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        raise OwnError("no more")

    service = ToolService(sibling, broken, execution_error_handler=handler, max_concurrent_tools=2)
    model = ScriptedChatModel([calls(call("sibling"), call("broken"), call("sibling"))])
    with pytest.raises(OwnError) as caught:
        await service.chat(model, None, "q")
    partial = caught.value.partial  # type: ignore[attr-defined]
    assert finished == [1]
    assert [e.outcome for e in partial.tool_executions] == [ToolOutcome.OK, ToolOutcome.FAILED, ToolOutcome.CANCELLED]
    assert valid(partial.messages)


@pytest.mark.parametrize("turn", [call("count", number="sk-canary-1"), call("sk-canary-1"), call("leaks")])
async def test_registered_secrets_are_masked_in_the_history_of_a_run_that_a_handler_ended(turn: Any) -> None:
    @tool
    def count(number: int) -> int:
        "Counts."
        return number

    @tool
    async def leaks() -> str:
        "Fails."
        raise ValueError("key sk-canary-1 refused")

    service = ToolService(count, leaks, secrets=Secrets(["sk-canary-1"]), execution_error_handler="rethrow")
    with pytest.raises(ToolError) as caught:
        await service.chat(ScriptedChatModel([turn]), None, "q")
    ((execution,), messages) = caught.value.partial.tool_executions, caught.value.partial.messages
    assert "***" in execution.result_text() and "sk-canary-1" not in execution.result_text()
    assert messages[-1].text == execution.result_text()


async def test_registered_secrets_never_reach_the_model_in_an_error() -> None:
    service = ToolService(fails, secrets=Secrets(["sk-canary-1"]))
    result = await converse(service, [call("fails", reason="key sk-canary-1 refused"), "ok"])
    assert result.tool_executions[0].result_text() == "key *** refused"


async def test_an_error_of_the_model_passes_with_the_partial_history() -> None:
    model = ScriptedChatModel([call("now"), ModelError("down")])
    with pytest.raises(ModelError, match="down") as caught:
        await ToolService(WeatherTools()).chat(model, None, "q")
    partial = caught.value.partial  # type: ignore[attr-defined]
    assert len(partial.tool_executions) == 1 and valid(partial.messages)


async def test_a_handler_that_returns_nothing_is_an_error_that_says_what_to_return() -> None:
    service = ToolService(fails, execution_error_handler=lambda error, context: None)  # type: ignore[arg-type,return-value]
    with pytest.raises(TypeError, match=r"ToolErrorHandlerResult\.text"):
        await service.chat(ScriptedChatModel([call("fails")]), None, "q")
