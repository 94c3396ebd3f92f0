"""Every test of the suites for tool sources, error handlers, interceptors and gates catches what is wrong in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agentforge import ToolSpecification, tool
from agentforge.errors import ToolArgumentsError
from agentforge.testing import ErrorHandlerContract, ToolGateContract, ToolInterceptorContract, ToolSourceContract
from agentforge.tool import BoundTool, StaticTools
from agentforge.tool.error import ToolErrorHandlerResult
from agentforge.tool.execution import Ask, Proceed, Refuse, ToolExecutionResult, ToolOutcome
from agentforge.tool.execution.default_executor import bound_tools_from
from tests.unit.testing.wrong import caught, names_of


@tool("Current weather of a city.", effect="read")
def get_weather(city: str) -> str:
    if city == "Nowhere":
        raise ValueError("no such city")
    return f"{city}: sunny"


def weather(**changes: Any) -> BoundTool:
    """The tool, with other parts."""
    [found] = bound_tools_from(get_weather)
    return replace(found, **changes)


def told(**changes: Any) -> BoundTool:
    """The tool, with another declaration."""
    return weather(specification=replace(weather().specification, **changes))


class Source:
    """A source whose answer is made anew by a function."""

    def __init__(self, *tools: Any, make: Callable[[int], Any] | None = None) -> None:
        self.asked = 0
        self.make = make or (lambda _: tools)

    async def tools(self, run: Any) -> Any:
        self.asked += 1
        return self.make(self.asked)


class PlainSource:
    def tools(self, run: Any) -> Sequence[BoundTool]:
        return (weather(),)


class Schema:
    """A specification whose parameters are this schema, which no check looked at before."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self.schema = schema

    @property
    def properties(self) -> Any:
        return self.schema.get("properties", {})

    @property
    def required(self) -> Any:
        return tuple(self.schema.get("required", ()))


def _takes_anything(arguments: dict[str, object]) -> Any:
    return arguments


def _breaks(arguments: dict[str, object]) -> Any:
    raise KeyError("city")


def _declares(schema: dict[str, Any]) -> BoundTool:
    specification = object.__new__(ToolSpecification)
    object.__setattr__(specification, "name", "get_weather")
    object.__setattr__(specification, "description", "Current weather.")
    object.__setattr__(specification, "parameters", Schema(schema))
    return weather(specification=specification)


def _growing(number: int) -> Sequence[BoundTool]:
    return tuple(told(name=f"get_weather_{at}") for at in range(number))


SOURCES: list[tuple[str, Callable[[], Any], str]] = [
    ("test_it_is_a_tool_source", PlainSource, "tools must be async"),
    ("test_it_is_a_tool_source", Source, "the source offers no tool"),
    ("test_it_is_a_tool_source", lambda: Source(get_weather), "not a BoundTool"),
    ("test_it_is_a_tool_source", lambda: Source(make=lambda _: {weather()}), "gave set, not a sequence"),
    ("test_each_tool_has_a_name_of_its_own_and_a_description", lambda: Source(weather(), weather()), "have the name"),
    (
        "test_each_tool_has_a_name_of_its_own_and_a_description",
        lambda: Source(told(description="")),
        "has no description",
    ),
    (
        "test_each_tool_declares_its_parameters_as_a_json_schema",
        lambda: Source(_declares({"type": "array"})),
        "are no object",
    ),
    (
        "test_each_tool_declares_its_parameters_as_a_json_schema",
        lambda: Source(_declares({"type": "object", "properties": {"city": {"type": "text"}}})),
        "the schema of 'get_weather' is none",
    ),
    (
        "test_each_tool_declares_its_parameters_as_a_json_schema",
        lambda: Source(_declares({"type": "object", "properties": {"city": {"default": object}}})),
        "the schema of 'get_weather' is none",
    ),
    (
        "test_each_tool_declares_its_parameters_as_a_json_schema",
        lambda: Source(_declares({"type": "object", "required": ["town"]})),
        "requires town, which it does not declare",
    ),
    ("test_arguments_that_are_missing_are_refused", lambda: Source(weather(bind=_takes_anything)), "took a call"),
    ("test_arguments_that_are_missing_are_refused", lambda: Source(weather(bind=_breaks)), "with KeyError('city')"),
    ("test_it_offers_the_same_to_the_same_run", lambda: Source(make=_growing), "it offers something else"),
    ("test_a_service_offers_its_tools", lambda: Source(make=lambda n: _growing(n)[-1:]), "a model is offered"),
    ("test_its_tools_answer", lambda: Source(weather()), "get_weather ended as failed: no such city"),
]
EXAMPLES = [("get_weather", {"city": "Nowhere"})]


@pytest.mark.parametrize(("test", "make", "words"), SOURCES)
def test_a_wrong_source_is_caught(test: str, make: Callable[[], Any], words: str) -> None:
    """With a sentence that says what is wrong."""
    assert words in caught(ToolSourceContract, test, source=lambda self: make(), examples=lambda self: EXAMPLES)


# -- error handlers --------------------------------------------------------------------------------


def _says_nothing(error: Any, context: Any) -> ToolErrorHandlerResult:
    return ToolErrorHandlerResult.text("  ")


def _gives_a_number(error: Any, context: Any) -> Any:
    return 42


def _counts_words(error: Any, context: Any) -> ToolErrorHandlerResult:
    return ToolErrorHandlerResult.text(str(error).split()[0])


def _tells_all(error: Any, context: Any) -> ToolErrorHandlerResult:
    return ToolErrorHandlerResult.text(str(context.raw_error))


class _ClosedError(Exception):
    """No history can be kept on it."""

    def __setattr__(self, name: str, value: object) -> None:
        if name == "partial":
            raise AttributeError(name)
        super().__setattr__(name, value)


def _hides_the_history(error: Any, context: Any) -> ToolErrorHandlerResult:
    raise _ClosedError("the end")


HANDLERS = [
    ("test_it_answers_or_raises_what_it_was_given", _says_nothing, "the model is told nothing of ToolArgumentsError"),
    ("test_it_answers_or_raises_what_it_was_given", _gives_a_number, "it made TypeError"),
    ("test_it_takes_every_exception", _counts_words, "it made IndexError"),
    ("test_a_registered_secret_does_not_reach_the_model", _tells_all, "told the model a secret"),
    ("test_a_run_goes_on_or_ends_in_order", _hides_the_history, "which has no partial history"),
]


@pytest.mark.parametrize(("test", "handler", "words"), HANDLERS)
def test_a_wrong_error_handler_is_caught(test: str, handler: Any, words: str) -> None:
    """With a sentence that says what is wrong."""
    assert words in caught(ErrorHandlerContract, test, handler=lambda self: handler)


# -- interceptors ----------------------------------------------------------------------------------


class Around:
    """What passes everything on, to be spoiled."""

    async def around(self, call: Any, run: Any, next: Any) -> Any:
        return await next(call, run)


class PlainAround:
    def around(self, call: Any, run: Any, next: Any) -> Any:
        return next(call, run)


class TooFewArguments:
    async def around(self, call: Any) -> Any:
        return None


class GivesTexts(Around):
    async def around(self, call: Any, run: Any, next: Any) -> Any:
        return (await next(call, run)).text


class LosesContents(Around):
    async def around(self, call: Any, run: Any, next: Any) -> Any:
        return ToolExecutionResult(parts=[])


class BreaksOnErrors(Around):
    async def around(self, call: Any, run: Any, next: Any) -> Any:
        try:
            return await next(call, run)
        except Exception:
            raise AttributeError("'NoneType' object has no attribute 'text'") from None


class Repeats(Around):
    async def around(self, call: Any, run: Any, next: Any) -> Any:
        try:
            return await next(call, run)
        except Exception:
            return await next(call, run)


class RunsTheToolItself(Around):
    async def around(self, call: Any, run: Any, next: Any) -> Any:
        made = call.tool.invoke(call.request, call.bound, run)
        if asyncio.iscoroutine(made):
            await made
        return await next(call, run)


class HoldsTheCall(Around):
    """Keeps the call in itself, where the next one writes over it."""

    call: Any = None

    async def around(self, call: Any, run: Any, next: Any) -> Any:
        self.call = call
        await asyncio.sleep(0)
        return await next(self.call, run)


class SwallowsCancellation(Around):
    async def around(self, call: Any, run: Any, next: Any) -> Any:
        try:
            return await next(call, run)
        except asyncio.CancelledError:
            return ToolExecutionResult.success("never mind")


INTERCEPTORS = [
    ("test_it_is_a_tool_interceptor", object, "has no around()"),
    ("test_it_is_a_tool_interceptor", PlainAround, "around must be async"),
    ("test_it_is_a_tool_interceptor", TooFewArguments, "around must take (call, run, next)"),
    ("test_a_call_has_a_result", GivesTexts, "an interceptor returned str"),
    ("test_a_call_has_a_result", LosesContents, "the result has no contents"),
    ("test_a_failing_tool_stays_a_failure_of_the_tool", BreaksOnErrors, "the tool's error became: 'NoneType'"),
    ("test_a_write_runs_once_at_most", RunsTheToolItself, "the write ran 2 times"),
    ("test_a_write_runs_once_at_most", Repeats, "tried to run the write again"),
    ("test_calls_side_by_side_keep_their_own_results", HoldsTheCall, "got the result of word-4-end"),
    ("test_a_cancellation_passes", SwallowsCancellation, "the cancelled call ended as"),
]


@pytest.mark.parametrize(("test", "kind", "words"), INTERCEPTORS)
def test_a_wrong_interceptor_is_caught(test: str, kind: type, words: str) -> None:
    """With a sentence that says what is wrong."""
    assert words in caught(ToolInterceptorContract, test, interceptor=lambda self: kind())


# -- gates -----------------------------------------------------------------------------------------


class Lets:
    """A gate that lets all calls through, to be spoiled."""

    async def check(self, batch: Sequence[Any], run: Any) -> Any:
        return [Proceed() for _ in batch]


class PlainCheck:
    def check(self, batch: Sequence[Any], run: Any) -> Any:
        return [Proceed() for _ in batch]


class UnknownStage(Lets):
    stage = "last"


class OneForAll(Lets):
    async def check(self, batch: Sequence[Any], run: Any) -> Any:
        return [Proceed()]


class SaysYes(Lets):
    async def check(self, batch: Sequence[Any], run: Any) -> Any:
        return [True for _ in batch]


class RefusesWithoutAWord(Lets):
    async def check(self, batch: Sequence[Any], run: Any) -> Any:
        return [Refuse(ToolOutcome.DENIED, " ") for _ in batch]


class Rewrites(Lets):
    async def check(self, batch: Sequence[Any], run: Any) -> Any:
        for call in batch:
            call.arguments["text"] = "something else"
        return await super().check(batch, run)


class OnceOnly(Lets):
    used = False

    async def check(self, batch: Sequence[Any], run: Any) -> Any:
        if self.used:
            return [Ask("again?") for _ in batch]
        self.used = True
        return await super().check(batch, run)


GATES = [
    ("test_it_is_a_tool_gate", object, "has no check()"),
    ("test_it_is_a_tool_gate", PlainCheck, "check must be async"),
    ("test_it_is_a_tool_gate", UnknownStage, "stage is 'last'"),
    ("test_it_gives_one_verdict_a_call", OneForAll, "gave 1 of 2 verdicts"),
    ("test_it_gives_one_verdict_a_call", SaysYes, "gave bool"),
    ("test_it_gives_one_verdict_a_call", RefusesWithoutAWord, "a refusal has no text"),
    ("test_it_changes_nothing_about_a_call", Rewrites, "changed a call"),
    ("test_it_judges_the_same_batch_the_same_way", OnceOnly, "judged Proceed and Proceed, then Ask and Ask"),
    ("test_a_run_goes_on_with_it", OneForAll, "the run ended: "),
]


@pytest.mark.parametrize(("test", "kind", "words"), GATES)
def test_a_wrong_gate_is_caught(test: str, kind: type, words: str) -> None:
    """With a sentence that says what is wrong."""
    assert words in caught(ToolGateContract, test, gate=lambda self: kind())


class Refuses(Lets):
    async def check(self, batch: Sequence[Any], run: Any) -> Any:
        return [Refuse(ToolOutcome.DENIED, "not today") for _ in batch]


class Asks(Lets):
    stage = "permission"

    async def check(self, batch: Sequence[Any], run: Any) -> Any:
        return [Ask("may it?") for _ in batch]


RIGHT = [
    (ToolSourceContract, "source", lambda: StaticTools([weather()])),
    (ErrorHandlerContract, "handler", lambda: lambda error, context: ToolErrorHandlerResult.text("It failed.")),
    (ToolInterceptorContract, "interceptor", Around),
    (ToolGateContract, "gate", Lets),
    (ToolGateContract, "gate", Refuses),
    (ToolGateContract, "gate", Asks),
]


@pytest.mark.parametrize(("suite", "method", "make"), RIGHT)
def test_what_is_right_passes(suite: type, method: str, make: Callable[[], Any]) -> None:
    """So that it is the fault that is caught, and nothing else."""
    made = type(
        "Right", (suite,), {method: lambda self: make(), "examples": lambda self: [("get_weather", {"city": "x"})]}
    )()
    for name in names_of(suite):
        getattr(made, name)()


@pytest.mark.parametrize(
    ("suite", "shown"),
    [
        (ToolSourceContract, SOURCES),
        (ErrorHandlerContract, HANDLERS),
        (ToolInterceptorContract, INTERCEPTORS),
        (ToolGateContract, GATES),
    ],
)
def test_every_test_of_a_suite_is_shown_to_fail(suite: type, shown: Sequence[tuple[Any, ...]]) -> None:
    """None of them is there only for show."""
    assert {test for test, *_ in shown} == names_of(suite)


def test_a_binder_that_refuses_as_it_should_passes() -> None:
    """The error of the taxonomy is what the suite waits for."""

    def refuse(arguments: dict[str, object]) -> Any:
        raise ToolArgumentsError("no city", tool="get_weather")

    made = type("Right", (ToolSourceContract,), {"source": lambda self: Source(weather(bind=refuse))})()
    made.test_arguments_that_are_missing_are_refused()
