"""A provider is a callable that gives a bean as the application does: later, and however often it is called."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

import pytest

from agentforge.container import AgentForge, BeanCreationError, ContextStateError, InvocationError
from agentforge.plugin import BeanContext, BeanSettings, BeanType, Ref, hookimpl
from tests.unit.container.kit import Kit, Thing


class HolderSettings(BeanSettings):
    """One provider."""

    give: Annotated[Callable[[], Thing], Ref()]


class Holder(Thing):
    """Asks its provider when it is told to, or while it is made."""

    def __init__(self, bean_id: str, log: list[str], give: Callable[[], Any], *, at_once: bool) -> None:
        super().__init__(bean_id, log)
        self.give = give
        if at_once:
            give()


class Plugin:
    """The plugin ``p``."""

    def __init__(self, kit: Kit) -> None:
        self.kit = kit

    @hookimpl
    def agentforge_bean_types(self, register: Callable[[BeanType], None]) -> None:
        """Register both kinds of holder."""

        def holder(settings: HolderSettings, context: BeanContext) -> Holder:
            return Holder(context.bean_id, self.kit.log, settings.give, at_once=False)

        def hasty(settings: HolderSettings, context: BeanContext) -> Holder:
            return Holder(context.bean_id, self.kit.log, settings.give, at_once=True)

        register(BeanType("p.holder", HolderSettings, holder, Thing, "Asks later."))
        register(BeanType("p.hasty", HolderSettings, hasty, Thing, "Asks while it is made."))


@pytest.fixture
def beans(kit: Kit) -> Callable[[str], AgentForge]:
    """An application with these beans and the plugin."""
    kit.add_plugin("p", Plugin(kit))
    return kit.beans


async def test_it_gives_what_the_application_gives(beans: Callable[[str], AgentForge]) -> None:
    """A singleton the same, a prototype a new one, a bean of a run that of the run at hand."""
    app = beans("""
        one: {type: p.holder, give: single}
        many: {type: p.holder, give: part}
        fresh: {type: p.holder, give: basket}
        single: {type: t.thing}
        part: {type: t.plain, bean: {scope: prototype}}
        basket: {type: t.plain, bean: {scope: invocation}}
    """)
    async with app:
        assert app.get("one").give() is app.get("one").give() is app.get("single")
        assert app.get("many").give() is not app.get("many").give()
        with pytest.raises(InvocationError):
            app.get("fresh").give()
        async with app.invocation():
            first = app.get("fresh").give()
            assert first is app.get("fresh").give() is app.get("basket")
        async with app.invocation():
            assert app.get("fresh").give() is not first


async def test_it_makes_a_lazy_bean_when_it_is_called(kit: Kit, beans: Callable[[str], AgentForge]) -> None:
    """With what its start allows, as ``get``."""
    app = beans("""
        a: {type: p.holder, give: plain}
        b: {type: p.holder, give: late}
        plain: {type: t.plain, bean: {lazy: true}}
        late: {type: t.thing, bean: {lazy: true}}
    """)
    async with app:
        assert not any("plain" in each for each in kit.log)
        assert app.get("a").give().id == "plain"
        with pytest.raises(ContextStateError, match="the start of the lazy bean 'late' has to be awaited"):
            app.get("b").give()
        late = await app.resolve("late")
        assert app.get("b").give() is late
    assert kit.log[-4:] == ["close late", "close plain", "close b", "close a"]


def test_in_synchronous_use_the_start_is_awaited(beans: Callable[[str], AgentForge]) -> None:
    with beans("b: {type: p.holder, give: late}\nlate: {type: t.thing, bean: {lazy: true}}") as app:
        assert app.get("b").give() is app.get("late")


async def test_it_is_no_edge_of_the_build_order(beans: Callable[[str], AgentForge]) -> None:
    """Two beans may know each other that way, and a bean itself."""
    async with beans("a: {type: p.holder, give: b}\nb: {type: p.holder, give: a}\nc: {type: p.holder, give: c}") as app:
        assert app.get("a").give().give() is app.get("a")
        assert app.get("c").give() is app.get("c")


async def test_asked_while_the_very_bean_is_made_it_is_a_circle_with_the_way(
    beans: Callable[[str], AgentForge],
) -> None:
    with pytest.raises(BeanCreationError) as raised:
        await beans("a: {type: p.hasty, give: a}").start()
    assert raised.value.message == "beans need each other while they are made: a -> app.get('a') -> a"
    assert raised.value.code == "AF216"


async def test_asked_while_another_is_made_it_gives_the_bean(beans: Callable[[str], AgentForge]) -> None:
    async with beans("a: {type: p.hasty, give: b}\nb: {type: t.plain}") as app:
        assert app.get("a").give() is app.get("b")


async def test_after_the_end_it_says_so(beans: Callable[[str], AgentForge]) -> None:
    async with beans("a: {type: p.holder, give: b}\nb: {type: t.plain}") as app:
        holder = app.get("a")

    with pytest.raises(ContextStateError, match="have ended"):
        holder.give()


async def test_from_several_tasks_it_gives_one(beans: Callable[[str], AgentForge]) -> None:
    async with beans("a: {type: p.holder, give: b}\nb: {type: t.plain, bean: {lazy: true}}") as app:
        found = await asyncio.gather(*(asyncio.to_thread(app.get("a").give) for _ in range(8)))

    assert len({id(each) for each in found}) == 1


async def test_a_task_that_a_constructor_begins_may_ask_for_the_very_bean(kit: Kit) -> None:
    """Later, when it is made: that closes no circle."""
    tasks: list[asyncio.Task[Any]] = []

    class Beginning(Thing):
        def __init__(self, bean_id: str, log: list[str]) -> None:
            super().__init__(bean_id, log)
            if not tasks:
                tasks.append(asyncio.create_task(self.more()))

        async def more(self) -> Any:
            return await app.resolve("c"), app.get("p")

    kit.makers = {"p": lambda: Beginning("p", kit.log)}
    app = kit.beans("""
        p: {type: t.own, bean: {scope: prototype}}
        c: {type: t.thing, one: p, bean: {scope: prototype}}
    """)
    async with app:
        app.get("p")
        assert [each.id for each in await tasks[0]] == ["c", "p"]
