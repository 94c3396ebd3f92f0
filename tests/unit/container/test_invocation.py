"""Beans of the scope ``invocation`` are fresh for each run; beans that live longer have a stand-in for them."""

from __future__ import annotations

import asyncio
import gc
import logging
import weakref

import pytest

from agentforge import Run, ScriptedChatModel, ToolService
from agentforge.container import BeanCreationError, ContextStateError, InvocationError
from agentforge.errors import ModelError, RunStateError
from agentforge.model import ChatRequest, ChatResponse
from agentforge.model.scripted import call
from agentforge.tool.execution import current_run
from tests.unit.container.desk import SHOP, Basket, Desk, Eager, shop_of, texts
from tests.unit.container.kit import Kit, Other

# -- in conversations ---------------------------------------------------------------------------------


async def test_each_run_has_its_own_from_its_first_use_to_its_end(kit: Kit, desk: Desk) -> None:
    """All tools of the run, those on threads too, use the same; none is made at the start."""
    async with shop_of(kit, "buy", "buy_later") as app:
        assert kit.log == []
        first = await app.get("bot").chat("q")
        assert kit.log == ["make basket 1", "close basket 1"]
        second = await app.get("bot").chat("q")

    assert texts(first) == ["1: buy", "1: buy, buy_later"]
    assert texts(second) == ["2: buy", "2: buy, buy_later"]
    assert kit.log[2:] == ["make basket 2", "close basket 2"]


async def test_a_run_that_uses_none_makes_none(kit: Kit, desk: Desk) -> None:
    async with shop_of(kit) as app:
        await app.get("bot").chat("q")

    assert kit.log == []


async def test_two_runs_side_by_side_have_two(kit: Kit, desk: Desk) -> None:
    async with shop_of(kit, "buy", "buy_later") as app:
        results = await asyncio.gather(*(app.get("bot").chat("q") for _ in range(3)))

    assert sorted(texts(each)[1] for each in results) == [f"{number}: buy, buy_later" for number in (1, 2, 3)]
    assert sorted(each for each in kit.log if "close" in each) == [f"close basket {number}" for number in (1, 2, 3)]


def test_synchronous_conversations_as_well(kit: Kit, desk: Desk) -> None:
    with shop_of(kit, "buy", "buy_later") as app:
        assert texts(app.get("bot").chat_sync("q"))[1] == "1: buy, buy_later"
        with app.get("bot").stream_sync("q") as events:
            assert "close basket 2" not in kit.log
            list(events)

    assert kit.log[-1] == "close basket 2"


async def test_a_nested_run_has_its_own(kit: Kit, desk: Desk) -> None:
    """And the outer one keeps its own."""
    inner = ScriptedChatModel([call("buy", what="inner"), "x"])

    async def nested() -> str:
        "Holds a conversation."
        return texts(await app.get("service").chat(inner, None, "q"))[0]

    app = shop_of(kit, more="service: {type: tool_service, tools: [shop]}\n")
    async with app:
        with ToolService(nested, app.get("shop")) as service:
            model = ScriptedChatModel([call("buy", what="a"), call("nested"), call("buy", what="b"), "done"])
            result = await service.chat(model, None, "q")

    assert texts(result) == ["1: a", "2: inner", "1: a, b"]
    assert kit.log == ["make basket 1", "make basket 2", "close basket 2", "close basket 1"]


@pytest.mark.parametrize("how", ["error", "cancelled", "left"])
async def test_it_is_closed_however_the_run_ends(kit: Kit, desk: Desk, how: str) -> None:
    """A stream that is left early included."""
    began = asyncio.Event()

    class Model(ScriptedChatModel):
        async def chat(self, request: ChatRequest) -> ChatResponse:
            if len(self.requests) == 1:
                began.set()
                if how == "error":
                    raise ModelError("no")
                await asyncio.Event().wait()
            return await super().chat(request)

    app = shop_of(kit, "buy").override("model", Model([call("buy", what="a"), "never"]))
    async with app:
        if how == "left":
            async with app.get("bot").stream("q") as events:
                async for event in events:
                    if type(event).__name__ == "ToolFinished":
                        break
        else:
            task = asyncio.create_task(app.get("bot").chat("q"))
            await began.wait()
            if how == "cancelled":
                task.cancel()
            with pytest.raises((ModelError, asyncio.CancelledError)):
                await task
        assert kit.log == ["make basket 1", "close basket 1"]


async def test_one_that_fails_to_close_loses_no_result(kit: Kit, desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Basket):
        async def aclose(self) -> None:
            raise ValueError("cannot be closed")

    desk.basket = Broken
    async with shop_of(kit, "buy") as app:
        with caplog.at_level(logging.WARNING, "agentforge"):
            assert (await app.get("bot").chat("q")).text == "done"

    assert [each.message for each in caplog.records] == [
        f"ValueError: cannot be closed; closing the bean 'basket' ({kit.folder / 'app.yaml'}:3:3)"
    ]


async def test_what_is_still_under_way_at_the_end_of_the_application_is_closed(kit: Kit, desk: Desk) -> None:
    """Before the beans that it may use."""
    app = kit.beans(SHOP.replace("TURNS", "[done]") + "base: {type: t.thing}\n")
    await app.start()
    block = app.invocation()
    await block.__aenter__()
    app.get("basket")
    await app.stop()
    await block.__aexit__(None, None, None)

    assert kit.log[-2:] == ["close basket 1", "close base"]
    assert kit.log.count("close basket 1") == 1


# -- a start that has to be awaited -------------------------------------------------------------------


async def test_one_whose_start_has_to_be_awaited(kit: Kit, desk: Desk) -> None:
    """Is started by what can wait: an asynchronous method, ``resolve``, and a tool on a thread."""
    desk.basket = Eager
    async with shop_of(kit, "buy", "buy_later") as app:
        assert texts(await app.get("bot").chat("q"))[1] == "1: buy, buy_later"
        assert kit.log == ["make basket 1", "start basket 1", "close basket 1"]

        async with app.invocation():
            with pytest.raises(InvocationError, match="the start of the bean 'basket' has to be awaited") as raised:
                app.get("shop").basket.put("a")
            assert raised.value.next_step is not None and "await app.resolve('basket')" in raised.value.next_step
            (await app.resolve("basket")).put("b")
            assert await app.get("shop").basket.take() == "b"
            assert app.get("shop").basket.put("c") == "2: c"


async def test_a_start_that_fails_is_told_with_its_place(kit: Kit, desk: Desk) -> None:
    class Broken(Eager):
        async def start(self) -> None:  # type: ignore[override]
            raise ValueError("no")

    desk.basket = Broken
    async with shop_of(kit) as app, app.invocation():
        with pytest.raises(BeanCreationError, match=r"the bean 'basket' .* could not be started: ValueError: no"):
            await app.get("shop").basket.take()

    assert kit.log == ["make basket 1", "close basket 1"]


async def test_two_tasks_of_a_run_that_want_it_get_one_started_once(kit: Kit, desk: Desk) -> None:
    desk.basket = Eager
    async with shop_of(kit) as app, app.invocation():
        first, second = await asyncio.gather(app.resolve("basket"), app.resolve("basket"))
        assert first is second

    assert kit.log == ["make basket 1", "start basket 1", "close basket 1"]


# -- beans that need each other -----------------------------------------------------------------------


async def test_beans_of_a_run_share_the_objects_of_the_run(kit: Kit) -> None:
    """They have the objects themselves, singletons as everywhere, and prototypes of their own."""
    beans = """
        base: {type: t.thing, bean: {lazy: true}}
        part: {type: t.thing, bean: {scope: prototype}}
        inner: {type: t.thing, one: base, bean: {scope: invocation}}
        left: {type: t.thing, one: inner, needs: [part], bean: {scope: invocation}}
        right: {type: t.thing, one: inner, needs: [part], bean: {scope: invocation}}
        user: {type: t.thing, needs: [left, right], bean: {lazy: true}}
    """
    async with kit.beans(beans) as app:
        async with app.invocation():
            left, right = await app.resolve("left"), await app.resolve("right")
            assert left.settings.one is right.settings.one is app.get("inner")
            assert left.settings.needs[0] is not right.settings.needs[0]
            assert left.settings.one.settings.one is app.get("base")
            assert kit.log[:4] == ["make base", "start base", "make inner", "start inner"]
            kit.log.clear()
        assert kit.log == ["close right", "close part", "close left", "close part", "close inner"]

        user = await app.resolve("user")
        async with app.invocation():
            assert (await app.resolve("left")).log is user.settings.needs[0].log
            assert user.settings.needs[0].settings.one is app.get("inner")


async def test_a_circle_that_only_shows_while_they_are_made_is_an_error_with_the_way(kit: Kit) -> None:
    kit.makers = {"a": lambda: app.get("a")}
    app = kit.beans("a: {type: t.own, bean: {scope: invocation}}\nb: {type: t.thing}")
    async with app, app.invocation():
        with pytest.raises(BeanCreationError) as raised:
            app.get("a")

    assert raised.value.message == "beans need each other while they are made: a -> app.get('a') -> a"
    assert raised.value.code == "AF216"


async def test_a_context_manager_of_the_run_is_left_at_its_end(kit: Kit) -> None:
    """What entering it gives is the bean of the run."""

    class Session:
        async def __aenter__(self) -> Other:
            kit.log.append("enter")
            return entered

        async def __aexit__(self, *error: object) -> None:
            kit.log.append("leave")

    entered = Other()
    entered.word = "entered"  # type: ignore[attr-defined]
    kit.makers = {"a": Session}
    async with kit.beans("a: {type: t.own, bean: {scope: invocation}}\nb: {type: t.thing, one: a}") as app:
        async with app.invocation():
            assert await app.resolve("a") is entered
            assert app.get("b").settings.one.word == "entered"
        assert kit.log[-2:] == ["enter", "leave"]


async def test_components_of_the_run_are_filled_as_all_others(kit: Kit) -> None:
    """With lists and mappings of beans, and with callables that give them."""
    name = f"parts_{kit.folder.name}".replace("-", "_")
    kit.write(
        f"{name}.py",
        """
        from collections.abc import Callable
        class Shelf:
            pass
        class Room:
            def __init__(self, shelves: list[Shelf], by_name: dict[str, Shelf], give: Callable[[], "Hall"]) -> None:
                self.shelves, self.by_name, self.give = shelves, by_name, give
        class Hall:
            def __init__(self, room: Room) -> None:
                self.room = room
        """,
    )
    beans = """
beans:
  one: {type: component, component: Shelf, bean: {scope: invocation}}
  two: {type: component, component: Shelf}
  room: {type: component, component: Room, bean: {scope: invocation}}
  hall: {type: component, component: Hall, bean: {lazy: true}}
"""
    async with kit.load(f"scan: [{name}]{beans}") as app, app.invocation():
        room = app.get("room")
        assert room.shelves == [app.get("one"), app.get("two")]
        assert room.by_name == {"one": app.get("one"), "two": app.get("two")}
        assert room.give() is app.get("hall")
        assert room.give().room.by_name is room.by_name


# -- the block for programs ---------------------------------------------------------------------------


async def test_a_program_may_have_a_run_without_a_conversation(kit: Kit, desk: Desk) -> None:
    """Blocks in blocks have their own, and a run in one knows it as its parent."""
    async with shop_of(kit) as app:
        async with app.invocation() as run:
            assert current_run() is run
            outer = app.get("basket")
            async with app.invocation() as inner:
                assert inner.parent_id == run.id
                assert app.get("basket") is not outer
            assert app.get("basket") is outer
        assert current_run() is None
        block = app.invocation()
        async with block:
            pass
        with pytest.raises(RunStateError):
            await block.__aenter__()

    assert kit.log == ["make basket 1", "make basket 2", "close basket 2", "close basket 1"]


def test_a_synchronous_program_as_well(kit: Kit, desk: Desk) -> None:
    """Where the application was entered so; starts are awaited on its own loop."""
    desk.basket = Eager
    with shop_of(kit) as app:
        with app.invocation():
            assert app.get("shop").basket.put("a") == "1: a"
        assert kit.log == ["make basket 1", "start basket 1", "close basket 1"]
        assert current_run() is None


async def test_a_synchronous_block_needs_a_synchronous_application(kit: Kit, desk: Desk) -> None:
    async with shop_of(kit) as app:
        with (
            pytest.raises(ContextStateError, match="a synchronous block needs an application") as raised,
            app.invocation(),
        ):
            raise AssertionError("it was entered")

    assert raised.value.next_step == "Use 'async with app.invocation():'."


# -- the end of the run, and of the application -------------------------------------------------------


async def test_what_the_end_of_a_run_asks_for_too_late_holds_nothing(
    kit: Kit, desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """A bean that the run has not used is not made for its end, and the next reload does not wait for that run."""
    async with shop_of(kit) as app:
        kit.log.clear()
        async with app.invocation() as run:
            run.on_end(lambda: app.get("basket"))
        assert [each.message for each in caplog.records] == ["what was to be done at the end of a run failed"]
        model = app.get("bot")
        await app.reload()
        for _ in range(50):
            await asyncio.sleep(0)
        assert app.get("bot") is not model
        assert [task for task in asyncio.all_tasks() if "former" in task.get_name()] == []


async def test_one_that_ends_the_program_when_it_is_closed_keeps_no_other_open(kit: Kit, desk: Desk) -> None:
    """At the end of the application those of all runs are closed, and then all other beans."""

    class Ending(Basket):
        async def aclose(self) -> None:
            self.note("close")
            if self.number == 1:
                raise SystemExit(3)

    desk.basket = Ending
    app = kit.beans(SHOP.replace("TURNS", "[done]") + "base: {type: t.thing}\n")
    await app.start()
    over = asyncio.Event()

    async def run() -> None:
        async with app.invocation():
            app.get("basket")
            await over.wait()

    runs = [asyncio.create_task(run()) for _ in range(3)]
    await kit.until("make basket 3")
    with pytest.raises(SystemExit):
        await app.stop()

    assert kit.log[-4:] == ["close basket 1", "close basket 2", "close basket 3", "close base"]
    over.set()
    await asyncio.gather(*runs)


async def test_a_run_that_goes_on_after_the_end_of_the_application_still_closes_its_own(kit: Kit, desk: Desk) -> None:
    app = kit.beans(SHOP.replace("TURNS", "[done]"))
    await app.start()
    shop = app.get("shop")
    async with app.invocation():
        await app.stop()
        assert shop.basket.put("a") == "1: a"

    assert kit.log == ["make basket 1", "close basket 1"]


async def test_a_run_goes_when_it_is_over_whatever_beans_it_had(kit: Kit, desk: Desk) -> None:
    """They leave nothing behind, not even for the collector of circles; nor do streams that were left."""

    class Noted(Run):
        __slots__ = ("__weakref__",)

    runs: list[weakref.ref[Run]] = []
    more = "\neager: {type: d.basket, bean: {scope: invocation}}\nmore: {type: d.shop, basket: eager}"
    async with shop_of(kit, "buy_later", more=more) as app:
        bot = app.get("bot")

        async def talk(number: int) -> None:
            run = Noted()
            runs.append(weakref.ref(run))
            if number % 2:
                await bot.chat("q", context=run)
                return
            async with bot.stream("q", context=run) as events:
                async for event in events:
                    if number % 4 and event.run_id == run.id:
                        break

        gc.collect()
        gc.disable()
        try:
            for _ in range(5):
                await asyncio.gather(*(talk(number) for number in range(40)))
            for _ in range(10):
                await asyncio.sleep(0)
            assert [each() for each in runs if each() is not None] == []
        finally:
            gc.enable()

    assert desk.made > 0
    assert sum("close" in each for each in kit.log) == desk.made
