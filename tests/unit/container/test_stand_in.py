"""What beans that live longer than a run have in the place of one that does not: all of its contract, in each run."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine, Sequence
from typing import Any

import pytest

from agentforge import Run, ScriptedChatModel, ToolErrorContext, ToolErrorHandlerResult
from agentforge.client import ChatClient
from agentforge.container import ContextStateError, InvocationError
from agentforge.errors import RunStateError
from agentforge.model import ChatModel
from agentforge.model.scripted import call
from agentforge.plugin import BeanType, fits, hookimpl
from agentforge.tool import BoundTool, ToolSource
from agentforge.tool.error import ToolErrorHandler
from agentforge.tool.execution import Proceed, ToolGate, ToolInterceptor, bound_tools_from
from tests.unit.container.desk import FRESH, Basket, Desk, shop_of, texts
from tests.unit.container.kit import Kit, NoSettings


async def test_the_stand_in_has_all_that_the_contract_has(kit: Kit, desk: Desk) -> None:
    """Methods of every kind, properties, constants, what Python looks up in the class, and what is set on it."""
    async with shop_of(kit) as app:
        basket = app.get("shop").basket
        async with app.invocation():
            assert basket.put("a") == "1: a"
            assert await basket.take() == "a"
            basket.put("b")
            assert [item async for item in basket.stream()] == ["b"]
            assert (basket.size, len(basket), bool(basket), basket.kind) == (1, 1, True, "basket")
            basket.number = 7
            basket.colour = "red"
            assert (app.get("basket").number, app.get("basket").colour) == (7, "red")
            del basket.colour
            assert not hasattr(app.get("basket"), "colour")
        assert isinstance(basket, Basket)
        assert repr(basket) == "<the bean 'basket' of the current run>"
        assert {"put", "take", "size"} <= set(dir(basket))


OUTSIDE: dict[str, Callable[[Any], object]] = {
    "a method": lambda basket: basket.put("a"),
    "a property": lambda basket: basket.size,
    "a special method": len,
    "setting": lambda basket: setattr(basket, "number", 1),
    "no part of the contract": lambda basket: basket.colour,
}


@pytest.mark.parametrize("use", OUTSIDE.values(), ids=OUTSIDE.keys())
async def test_outside_of_a_run_its_use_is_an_error_with_a_next_step(
    kit: Kit, desk: Desk, use: Callable[[Any], object]
) -> None:
    async with shop_of(kit) as app:
        with pytest.raises(InvocationError) as raised:
            use(app.get("shop").basket)

    assert raised.value.code == "AF207"
    assert raised.value.message == "the bean 'basket' is fresh for each conversation run, and no run is under way here"
    assert raised.value.next_step is not None and "with app.invocation():" in raised.value.next_step
    assert kit.log == []


async def test_outside_of_a_run_nothing_is_there_but_the_constants_of_the_class(kit: Kit, desk: Desk) -> None:
    """Who only looks is told that there is nothing, and makes nothing."""
    async with shop_of(kit) as app:
        basket: Any = app.get("shop").basket
        assert getattr(basket, "secrets", None) is None
        assert basket.kind == "basket"
        assert asyncio.iscoroutinefunction(basket.take)
        with pytest.raises(ContextStateError, match="no run is under way"):
            app.get("basket")
        with pytest.raises(ContextStateError, match="no run is under way"):
            await app.resolve(Basket)

    assert kit.log == []


CONTRACTS = [ToolSource, ToolGate, ToolInterceptor, ToolErrorHandler, ChatModel]


@pytest.mark.parametrize("contract", CONTRACTS, ids=lambda kind: kind.__name__)
async def test_it_fulfils_the_contract_of_its_type(kit: Kit, desk: Desk, contract: Any) -> None:
    app = kit.beans(f"a: {{type: d.{contract.__name__.lower()}{FRESH}}}\nb: {{type: d.user, one: a}}")
    async with app:
        found = app.get("b").one

    assert fits(type(found), contract)
    if getattr(contract, "_is_runtime_protocol", False):
        assert isinstance(found, contract)


async def test_tools_gates_interceptors_handlers_and_models_may_be_of_the_run(kit: Kit, desk: Desk) -> None:
    """A client that is made once uses those of each of its runs."""
    log = kit.log

    class Source:
        number = 0

        def __init__(self) -> None:
            self.number = desk.number()

        async def tools(self, run: Run) -> Sequence[BoundTool]:
            def look() -> str:
                "Looks."
                log.append(f"look {self.number}")
                raise ValueError("nothing there")

            return bound_tools_from(look)

    class Gate:
        async def check(self, batch: Any, run: Run) -> list[Proceed]:
            log.append("gate")
            return [Proceed() for _ in batch]

    class Interceptor:
        async def around(self, call: Any, run: Run, next: Any) -> Any:
            log.append("interceptor")
            return await next(call, run)

    class Handler:
        def __call__(self, error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
            log.append("handler")
            return ToolErrorHandlerResult.text("try again")

    desk.makers = {
        "source": Source,
        "gate": Gate,
        "interceptor": Interceptor,
        "handler": Handler,
        "model": lambda: ScriptedChatModel([call("look"), f"answer {desk.number()}"]),
    }
    app = kit.beans(f"""
        source: {{type: d.toolsource{FRESH}}}
        gate: {{type: d.toolgate{FRESH}}}
        interceptor: {{type: d.toolinterceptor{FRESH}}}
        handler: {{type: d.toolerrorhandler{FRESH}}}
        model: {{type: d.chatmodel{FRESH}}}
        bot:
          type: chat_client
          model: model
          tools: [source]
          gates: [gate]
          interceptors: [interceptor]
          error_handlers: {{execution: handler}}
    """)
    async with app:
        client: ChatClient = app.get("bot")
        first = await client.chat("q")
        async with client.stream("q") as events:
            async for _ in events:
                pass

    assert (first.text, events.result.text) != (None, None)
    assert first.text != events.result.text
    assert texts(first) == ["try again"]
    looks = [each for each in log if each.startswith("look")]
    assert len(set(looks)) == 2
    assert [each for each in log if each not in looks] == ["gate", "interceptor", "handler"] * 2


async def test_a_handler_of_the_run_may_have_to_be_awaited(kit: Kit, desk: Desk) -> None:
    """The contract lets it answer later, so its start can be waited for."""

    class Handler:
        async def start(self) -> None:
            kit.log.append("start")

        def __call__(self, error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
            return ToolErrorHandlerResult.text("try again")

    desk.makers = {"handler": Handler}
    app = kit.beans(f"""
        handler: {{type: d.toolerrorhandler{FRESH}}}
        bot:
          type: chat_client
          model: {{type: scripted, turns: [{{calls: [{{name: none}}]}}, done]}}
          error_handlers: {{unknown_tool: handler}}
    """)
    async with app:
        result = await app.get("bot").chat("q")

    assert (result.text, texts(result), kit.log) == ("done", ["try again"], ["start"])


async def test_a_source_of_the_run_uses_the_run_that_it_is_handed(kit: Kit, desk: Desk) -> None:
    """As it is asked by whoever drives that run; its object lives until that run ends."""
    runs: list[Run] = []

    class Source:
        async def tools(self, run: Run) -> tuple[()]:
            runs.append(run)
            return ()

        def close(self) -> None:
            kit.log.append("close")

    desk.makers = {"source": Source}
    run = Run()
    async with kit.beans(f"source: {{type: d.toolsource{FRESH}}}\nb: {{type: d.user, one: source}}") as app:
        source = app.get("b").one
        await source.tools(run)
        await run.end()
        with pytest.raises(RunStateError):
            await source.tools(run)

    assert runs == [run]
    assert kit.log.count("close") == 1


async def test_hints_that_are_no_texts_are_read_as_well(kit: Kit, desk: Desk) -> None:
    """Of a contract without ``from __future__ import annotations``; an iterator need not be one that can be closed."""
    stream = AsyncIterator[int]
    later = Coroutine[Any, Any, int]

    class Numbers:
        def each(self) -> Any: ...

        def one(self) -> Any: ...

    Numbers.each.__annotations__["return"] = stream
    Numbers.one.__annotations__["return"] = later

    class Counting:
        left = 2

        async def start(self) -> None:
            await asyncio.sleep(0)

        def each(self) -> Counting:
            return self

        async def one(self) -> int:
            return 1

        def __aiter__(self) -> Counting:
            return self

        async def __anext__(self) -> int:
            self.left -= 1
            if self.left < 0:
                raise StopAsyncIteration
            return self.left

    kind = BeanType("n.numbers", NoSettings, lambda _: Counting(), Numbers, "Numbers.")  # type: ignore[arg-type]

    class Plugin:
        @hookimpl
        def agentforge_bean_types(self, register: Callable[[BeanType], None]) -> None:
            register(kind)

    kit.add_plugin("n", Plugin())
    async with kit.beans(f"numbers: {{type: n.numbers{FRESH}}}\nb: {{type: d.user, one: numbers}}") as app:
        numbers = app.get("b").one
        async with app.invocation():
            assert [number async for number in numbers.each()] == [1, 0]
        async with app.invocation():
            assert await numbers.one() == 1
