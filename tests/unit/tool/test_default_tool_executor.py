"""The default executor (seed A 6.1): binding, calling by reflection, results as text, errors as two kinds."""

from __future__ import annotations

import asyncio
import enum
import functools
import inspect
import json
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any

import pytest

from agentforge.errors import ToolArgumentsError, ToolDeclarationError, ToolExecutionError, ToolTimeoutError
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.declare import MemoryId, P, ReturnBehavior, tool
from agentforge.tool.execution.default_executor import DefaultToolExecutor, bound_tools_from
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.run import Run, ToolContext
from tests.unit.tool.samples import Level, Node, Shop


def request(arguments: Any = "", name: str = "t") -> ToolExecutionRequest:
    text = arguments if isinstance(arguments, str) else json.dumps(arguments)
    return ToolExecutionRequest("c1", name, text)


def run_tool(function: Any, arguments: Any = "") -> str:
    return DefaultToolExecutor(function).execute(request(arguments))


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


def temperature(unit: Unit = Unit.C, level: Level = Level.LOW) -> str:
    return unit.name + level.name


def search(query: str, limit: int = 10, tag: str | None = None) -> str:
    return f"{query}/{limit}/{tag}"


def containers(a: dict[str, int], b: dict[str, Any] | None = None, c: tuple[int, str] = (1, "x")) -> str:
    return f"{a}{b}{c}"


def odd_names(json: bool, schema: str, copy: int = 1, model_config: str = "c", model_dump: bool = False) -> str:
    return f"{json}{schema}{copy}{model_config}{model_dump}"


def build(root: Node) -> str:
    return root.kids[0].name


def positional(a: int, /, b: int, *, c: int = 3) -> str:
    return f"{a}{b}{c}"


def no_result() -> None:
    return None


def lines(n: int) -> Any:
    return (f"l{index}" for index in range(n))


def later_lines(n: int) -> Any:
    async def items() -> AsyncIterator[str]:
        for index in range(n):
            await asyncio.sleep(0)
            yield f"l{index}"

    return items()


async def later(a: int) -> dict[str, int]:
    await asyncio.sleep(0)
    return {"a": a}


def awaitable(a: int) -> Any:
    return later(a)


class Adder:
    """Adds one."""

    def __call__(self, a: int) -> int:
        return a + 1


class LaterAdder:
    """Adds one, later."""

    async def __call__(self, a: int) -> int:
        return a + 1


CALLS: dict[str, tuple[Any, Any, str]] = {
    "a text": (search, {"query": "q"}, "q/10/None"),
    "null for a default": (search, {"query": "q", "limit": None, "tag": None}, "q/10/None"),
    "nothing": (no_result, "", "Success"),
    "no arguments as text of blanks": (no_result, "  ", "Success"),
    "an object": (later, {"a": 1}, '{"a":1}'),
    "enums": (temperature, {"unit": "fahrenheit", "level": 2}, "FHIGH"),
    "containers": (containers, {"a": {"k": 1}}, "{'k': 1}None(1, 'x')"),
    "odd names": (odd_names, {"json": True, "schema": "s"}, "Trues1cFalse"),
    "a recursive model": (build, {"root": {"name": "a", "kids": [{"name": "b"}]}}, "b"),
    "positional only": (positional, {"a": 1, "b": 2}, "123"),
    "a bound method": (Shop(3).price, {"item": "x"}, "x3"),
    "a class method": (Shop.kind, {"item": "x"}, "Shopx"),
    "a static method": (Shop.ping, {"item": "x"}, "x"),
    "a generator that nobody announced": (lines, {"n": 2}, '["l0","l1"]'),
    "an async one": (later_lines, {"n": 2}, '["l0","l1"]'),
    "an awaitable that nobody announced": (awaitable, {"a": 1}, '{"a":1}'),
    "a partial": (functools.partial(search, "fixed", tag="t"), {"limit": 1}, "fixed/1/t"),
    "a partial of an async function": (functools.partial(later, a=5), "", '{"a":5}'),
    "a callable object": (Adder(), {"a": 1}, "2"),
    "an async callable object": (LaterAdder(), {"a": 1}, "2"),
}


@pytest.mark.parametrize(("function", "arguments", "text"), CALLS.values(), ids=CALLS)
def test_a_call_and_what_the_model_reads(function: Any, arguments: Any, text: str) -> None:
    assert run_tool(function, arguments) == text


BLOCKING = {
    "sync": (search, True),
    "generator": (lines, True),
    "async generator": (later_lines, True),
    "method": (Shop(1).price, True),
    "object": (Adder(), True),
}
BLOCKING |= {"async": (later, False), "async object": (LaterAdder(), False)}
BLOCKING |= {"async partial": (functools.partial(later, a=1), False), "awaitable": (awaitable, True)}


@pytest.mark.parametrize(("function", "blocking"), BLOCKING.values(), ids=BLOCKING)
def test_only_plain_functions_need_a_thread(function: Any, blocking: bool) -> None:
    executor = DefaultToolExecutor(function)
    assert executor.blocking is blocking
    assert executor.bound_tool().blocking is blocking
    assert inspect.iscoroutinefunction(executor.invoke) is not blocking


async def test_a_sync_function_that_returns_an_awaitable_gives_one() -> None:
    executor = DefaultToolExecutor(awaitable)
    made = executor.invoke(request(), executor.bind({"a": 1}), Run())
    assert inspect.isawaitable(made)
    assert (await made).text == '{"a":1}'


# -- which methods ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "text"), [("price", "x3"), ("kind", "Shopx"), ("ping", "x"), ("ping_it", "x"), ("__hidden", "hiddenx")]
)
def test_a_method_by_its_own_or_its_tools_name(name: str, text: str) -> None:
    assert DefaultToolExecutor(Shop(3), name).execute(request({"item": "x"})) == text


@pytest.mark.parametrize(
    "name", ["gone", "helper", "n", "__init__", "__class__", "__dict__", "__reduce__", "price.__func__", "", "Price"]
)
def test_nothing_but_decorated_methods_can_be_reached(name: str) -> None:
    with pytest.raises(ToolDeclarationError, match="decorated with @tool"):
        DefaultToolExecutor(Shop(3), name)


def test_two_objects_keep_their_own_state() -> None:
    first, second = DefaultToolExecutor(Shop(1), "price"), DefaultToolExecutor(Shop(2), "price")
    assert (first.execute(request({"item": "x"})), second.execute(request({"item": "x"}))) == ("x1", "x2")


# -- what is injected ------------------------------------------------------------------------------


def injected(
    a: int, run: Run, *, context: ToolContext, memory: Annotated[str, MemoryId], owner: MemoryId | None = None
) -> Any:
    return {"a": a, "same": context.run is run, "memory": memory, "owner": owner}


def injected_first(context: ToolContext, a: int, /) -> str:
    return f"{context.memory_id}{a}"


def test_hidden_parameters_are_filled_in_by_name() -> None:
    executor = DefaultToolExecutor(injected)
    assert list(executor.specification.parameters.properties) == ["a"]
    text = executor.execute(request({"a": 1}), "m1")
    assert json.loads(text) == {"a": 1, "same": True, "memory": "m1", "owner": "m1"}


def test_hidden_parameters_may_be_positional_only() -> None:
    assert DefaultToolExecutor(injected_first).execute(request({"a": 1}), "m") == "m1"


@pytest.mark.parametrize("name", ["run", "context", "memory", "owner"])
def test_the_model_cannot_set_what_is_hidden(name: str) -> None:
    with pytest.raises(ToolArgumentsError, match=f"{name}: is not a parameter"):
        DefaultToolExecutor(injected).execute(request({"a": 1, name: "forged"}))


def test_a_run_that_is_given_is_the_one_that_is_injected() -> None:
    def tenant(context: ToolContext) -> str:
        return f"{context.tenant}"

    executor = DefaultToolExecutor(tenant)
    assert executor.execute_with_result(request(), run=Run(tenant="acme")).text == "acme"


def test_renamed_parameters_reach_the_function_by_its_own_names() -> None:
    def f(city: Annotated[str, P(name="place-name")]) -> str:
        return city

    assert run_tool(f, {"place-name": "Oslo"}) == "Oslo"


# -- errors ----------------------------------------------------------------------------------------


class Wordless(Exception):  # noqa: N818  (a name as users choose it)
    def __str__(self) -> str:
        raise RuntimeError("no text")


OWN = ToolExecutionError("mine", tool="inner")
ARGUMENTS = ToolArgumentsError("amount must be above 0", tool="t")
RAISED: dict[str, tuple[BaseException, str]] = {
    "a message": (ValueError("no such city"), "no such city"),
    "no message": (ValueError(), "ValueError"),
    "no text at all": (Wordless(), "Wordless"),
    "an exit": (SystemExit(3), "3"),
    "an exit without a code": (SystemExit(), "SystemExit"),
    "an error of ours, without its code": (ToolTimeoutError("too slow"), "too slow"),
    "a group": (ExceptionGroup("several", [ValueError("a")]), "several (1 sub-exception)"),
}


def raising(error: BaseException, kind: str) -> Any:
    def plain() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    def items() -> Iterator[int]:
        yield 1
        raise error

    async def later_items() -> AsyncIterator[int]:
        yield 1
        raise error

    def generator() -> Any:
        return items()

    def stream() -> Any:
        return later_items()

    def returned() -> Any:
        return coroutine()

    return {"plain": plain, "async": coroutine, "generator": generator, "stream": stream, "awaitable": returned}[kind]


KINDS = ["plain", "async", "generator", "stream", "awaitable"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("error", "message"), RAISED.values(), ids=RAISED)
def test_what_a_tool_raises_is_wrapped_with_its_message(error: BaseException, message: str, kind: str) -> None:
    function = raising(error, kind)
    with pytest.raises(ToolExecutionError) as caught:
        run_tool(function)
    assert caught.value.message == message
    assert caught.value.tool == function.__name__
    assert caught.value.__cause__ is error


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("error", [OWN, ARGUMENTS], ids=["execution error", "arguments error"])
def test_our_two_errors_pass_unwrapped(error: BaseException, kind: str) -> None:
    with pytest.raises(type(error)) as caught:
        run_tool(raising(error, kind))
    assert caught.value is error


def test_a_cancellation_that_a_plain_function_raises_is_its_own() -> None:
    with pytest.raises(ToolExecutionError, match="CancelledError"):
        run_tool(raising(asyncio.CancelledError(), "plain"))


async def test_cancelling_the_task_of_an_async_tool_is_no_failure_of_the_tool() -> None:
    started = asyncio.Event()

    async def endless() -> None:
        started.set()
        await asyncio.Event().wait()

    executor = DefaultToolExecutor(endless)
    made = executor.invoke(request(), {}, Run())
    assert inspect.iscoroutine(made)
    task = asyncio.create_task(made)
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_interrupt_from_the_keyboard_passes() -> None:
    with pytest.raises(KeyboardInterrupt):
        run_tool(raising(KeyboardInterrupt(), "plain"))


def test_a_result_without_a_json_form_is_a_failure_that_names_the_tool() -> None:
    def give() -> type:
        return dict

    with pytest.raises(ToolExecutionError, match="the result of tool 'give' holds the class dict"):
        run_tool(give)


def test_wrong_arguments_never_reach_the_tool() -> None:
    ran: list[int] = []

    def pay(amount: int) -> None:
        ran.append(amount)

    for arguments in ('{"amount": true}', "[1]", '{"amount": NaN}', "{}", '{"amount": 1, "x": 2}', '{"amount":'):
        with pytest.raises(ToolArgumentsError):
            run_tool(pay, arguments)
    assert ran == []


def test_a_result_of_our_own_kind_is_passed_on() -> None:
    result = ToolExecutionResult("text", attributes={"k": 1})
    assert DefaultToolExecutor(lambda_result(result)).execute_with_result(request()) is result


def lambda_result(result: ToolExecutionResult) -> Any:
    def give() -> ToolExecutionResult:
        return result

    return give


# -- bound tools -----------------------------------------------------------------------------------


@tool(
    "Refund.",
    return_behavior=ReturnBehavior.IMMEDIATE,
    effect="write",
    timeout=2.5,
    serial="orders",
    sequential=True,
    strict=True,
)
def refund(number: str) -> str:
    return number


def test_a_bound_tool_carries_what_was_declared() -> None:
    (bound,) = bound_tools_from(refund, "desk")
    assert (bound.name, bound.source_name, bound.return_behavior) == ("refund", "desk", ReturnBehavior.IMMEDIATE)
    assert (bound.effect, bound.timeout, bound.serial, bound.sequential) == ("write", 2.5, "orders", True)
    assert bound.specification.strict is True


def test_bound_tools_of_an_object_and_of_a_function() -> None:
    assert [bound.name for bound in bound_tools_from(Shop(1))] == ["price", "kind", "ping_it", "__hidden"]
    assert [bound.name for bound in bound_tools_from(search)] == ["search"]
    assert [bound.name for bound in bound_tools_from(Shop(1).helper)] == ["helper"]
    with pytest.raises(ToolDeclarationError, match="no method that is decorated"):
        bound_tools_from(object())


def test_declaring_reads_nothing_and_building_reads_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Signatures are read when a tool is registered; calls read none."""
    counted: list[Any] = []
    original = inspect.signature
    monkeypatch.setattr(inspect, "signature", lambda *args, **kwargs: counted.append(args) or original(*args, **kwargs))

    @tool("d")
    def f(a: int) -> int:
        return a

    assert counted == []
    executor = DefaultToolExecutor(f)
    read = len(counted)
    for number in range(5):
        assert executor.execute(request({"a": number})) == str(number)
    assert len(counted) == read
