"""Own executors: any callable of the request, alone or with the context, and objects with a method ``execute``."""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from agentforge.errors import ToolArgumentsError, ToolDeclarationError, ToolExecutionError
from agentforge.model.specification import ToolParameters, ToolSpecification
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.declare import ReturnBehavior
from agentforge.tool.execution.default_executor import bound_tool_from
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.run import Run, ToolContext

PARAMETERS = ToolParameters.builder().add_property("n", "integer", "how many").build()
SPECIFICATION = ToolSpecification("count", "Counts.", PARAMETERS)


async def call(executor: Any, arguments: str = '{"n": 1}', **options: Any) -> ToolExecutionResult:
    """Bind and invoke as the loop does."""
    bound = bound_tool_from(SPECIFICATION, executor, **options)
    request = ToolExecutionRequest("c1", "count", arguments)
    made = bound.invoke(request, bound.bind(request.arguments_as_map()), Run(memory_id="m1"))
    if isinstance(made, ToolExecutionResult):
        assert bound.blocking
        return made
    return await made


def one(request: ToolExecutionRequest) -> str:
    return request.arguments


def with_context(request: ToolExecutionRequest, context: ToolContext) -> str:
    return f"{context.memory_id}"


async def later(request: ToolExecutionRequest) -> dict[str, str]:
    return {"id": request.id}


async def later_with_context(anything: ToolExecutionRequest, other: ToolContext) -> str:
    return f"{other.memory_id}"


class Seed:
    """An executor as seed A declares it."""

    def execute(self, request: ToolExecutionRequest, memory_id: object) -> str:
        return f"{request.name}{memory_id}"


class Whole(Seed):
    async def execute_with_result(self, request: ToolExecutionRequest, memory_id: object = None) -> ToolExecutionResult:
        return ToolExecutionResult.failure(f"no {memory_id}")


class OnlyRequest:
    def execute(self, request: ToolExecutionRequest) -> str:
        return request.id


class Callable_:  # noqa: N801
    async def __call__(self, request: ToolExecutionRequest) -> str:
        return "object"


FORMS: dict[str, tuple[Any, str, bool]] = {
    "a function of the request": (one, '{"n": 1}', True),
    "a function with the context": (with_context, "m1", True),
    "a lambda": (lambda request: request.id, "c1", True),
    "a lambda that keeps a value by default": (lambda request, kept="kept": kept, "kept", True),
    "any number of arguments": (lambda *all_: str(len(all_)), "1", True),
    "a coroutine function": (later, '{"id":"c1"}', False),
    "a coroutine function with the context": (later_with_context, "m1", False),
    "a partial": (functools.partial(lambda prefix, request: prefix + request.id, "p"), "pc1", True),
    "a partial of a coroutine function": (
        functools.partial(later_with_context, other=Run(memory_id="p").context),
        "p",
        False,
    ),
    "an object that is called": (Callable_(), "object", False),
    "an object with execute": (Seed(), "countm1", True),
    "an object with execute of the request alone": (OnlyRequest(), "c1", True),
    "an object with both prefers the whole result": (Whole(), "no m1", False),
    "a function that returns an awaitable": (lambda request: later(request), '{"id":"c1"}', True),
}


@pytest.mark.parametrize(("executor", "text", "blocking"), FORMS.values(), ids=FORMS)
async def test_every_form_of_executor(executor: Any, text: str, blocking: bool) -> None:
    assert (await call(executor)).text == text
    assert bound_tool_from(SPECIFICATION, executor).blocking is blocking


REFUSED: dict[str, Any] = {
    "no parameter": lambda: "x",
    "three parameters": lambda a, b, c: "x",
    "a named parameter that must be given": lambda request, *, key: "x",
    "a text": "executor",
    "an object without execute": object(),
    "a class": Seed,
}


@pytest.mark.parametrize("executor", REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_called_so_is_refused_when_it_is_registered(executor: Any) -> None:
    with pytest.raises(ToolDeclarationError, match="'count'") as caught:
        bound_tool_from(SPECIFICATION, executor)
    assert "(request, context)" in str(caught.value.next_step)


def one_by_one(request: ToolExecutionRequest) -> Iterator[str]:
    yield request.id


async def one_by_one_later(request: ToolExecutionRequest) -> AsyncIterator[str]:
    yield request.id


class OneByOne:
    async def execute(self, request: ToolExecutionRequest) -> AsyncIterator[str]:
        yield request.id


YIELDING = {"a generator": one_by_one, "an async one": one_by_one_later, "an object with execute": OneByOne()}


@pytest.mark.parametrize("executor", YIELDING.values(), ids=YIELDING)
def test_one_that_yields_is_refused_when_it_is_registered(executor: Any) -> None:
    with pytest.raises(ToolDeclarationError, match="the function of tool 'count' yields") as caught:
        bound_tool_from(SPECIFICATION, executor)
    assert "list[T]" in str(caught.value.next_step)


def test_a_specification_is_needed_and_its_schema_checked() -> None:
    with pytest.raises(ToolDeclarationError, match="ToolSpecification was expected, str came"):
        bound_tool_from("count", one)  # type: ignore[arg-type]
    with pytest.raises(ToolDeclarationError, match="root type 'array'"):
        bound_tool_from(ToolSpecification("x", None, ToolParameters({"type": "array"})), one)


TEXTS: dict[str, tuple[str, str]] = {
    "plain JSON as the model wrote it": ('{ "n" :1}', '{ "n" :1}'),
    "a coerced value": ('{"n": "2"}', '{"n": 2}'),
    "a whole float": ('{"n": 2.0}', '{"n": 2}'),
    "no text": ("", "{}"),
    "blanks": (" \n", "{}"),
    "a fence around it": ('```json\n{"n": 1}\n```', '{"n": 1}'),
    "a trailing comma": ('{"n": 1,}', '{"n": 1}'),
}


@pytest.mark.parametrize(("given", "handed"), TEXTS.values(), ids=TEXTS)
async def test_the_executor_is_handed_json_that_fits(given: str, handed: str) -> None:
    assert (await call(one, given)).text == handed


async def test_a_number_keeps_its_digits_where_another_value_was_coerced() -> None:
    schema = ToolParameters.builder().add_property("n", "integer").add_property("x", {"type": "array"}).build()
    bound = bound_tool_from(ToolSpecification("count", None, schema), one)
    request = ToolExecutionRequest("c1", "count", '{"n": "2", "x": ["\u00e9", 1.00000000000000000001]}')
    made = bound.invoke(request, bound.bind(request.arguments_as_map()), Run())
    assert isinstance(made, ToolExecutionResult)
    assert made.text == '{"n": 2, "x": ["\u00e9", 1.00000000000000000001]}'


async def test_the_request_is_the_same_object_when_nothing_changed() -> None:
    seen: list[ToolExecutionRequest] = []
    bound = bound_tool_from(SPECIFICATION, seen.append)
    request = ToolExecutionRequest("c1", "count", '{"n": 1}')
    bound.invoke(request, bound.bind(request.arguments_as_map()), Run())
    assert seen[0] is request


@pytest.mark.parametrize("arguments", ['{"n": "x"}', '{"m": 1}', '{"n": true}'])
def test_arguments_that_do_not_fit_are_refused_before_it(arguments: str) -> None:
    bound = bound_tool_from(SPECIFICATION, one)
    with pytest.raises(ToolArgumentsError, match="'count'"):
        bound.bind(ToolExecutionRequest("c1", "count", arguments).arguments_as_map())


def test_a_write_takes_numbers_as_numbers_only() -> None:
    assert bound_tool_from(SPECIFICATION, one, effect="read").bind({"n": "1"}) == {"n": 1}
    with pytest.raises(ToolArgumentsError):
        bound_tool_from(SPECIFICATION, one, effect="write").bind({"n": "1"})


@pytest.mark.parametrize("is_async", [True, False])
async def test_what_it_raises_is_wrapped_once(is_async: bool) -> None:
    def executor_raising(error: BaseException) -> Any:
        def plain(request: ToolExecutionRequest) -> str:
            raise error

        async def coroutine(request: ToolExecutionRequest) -> str:
            raise error

        return coroutine if is_async else plain

    cause = OSError("down")
    with pytest.raises(ToolExecutionError, match="down") as caught:
        await call(executor_raising(cause))
    assert caught.value.__cause__ is cause
    assert caught.value.tool == "count"
    for own in (ToolExecutionError("mine"), ToolArgumentsError("no")):
        with pytest.raises(type(own)) as kept:
            await call(executor_raising(own))
        assert kept.value is own
    with pytest.raises(ToolExecutionError, match="SystemExit"):
        await call(executor_raising(SystemExit()))


def test_settings_are_carried() -> None:
    bound = bound_tool_from(
        SPECIFICATION,
        one,
        return_behavior=ReturnBehavior.IMMEDIATE,
        effect="read",
        source_name="http",
        timeout=3.0,
        serial="k",
        sequential=True,
    )
    assert (bound.return_behavior, bound.effect, bound.source_name) == (ReturnBehavior.IMMEDIATE, "read", "http")
    assert (bound.timeout, bound.serial, bound.sequential) == (3.0, "k", True)
    assert bound.specification is SPECIFICATION
    assert not inspect.iscoroutinefunction(bound.invoke)
