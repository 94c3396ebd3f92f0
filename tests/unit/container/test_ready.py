"""A program may look at the new beans of a reload, and take what it needs of them, before they count."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentforge.container import AgentForge, BeanCreationError, ContextStateError
from tests.unit.container.kit import Kit, Thing

Resolve = Callable[[str | type[Any]], Awaitable[Any]]


def _write(kit: Kit, text: str) -> None:
    kit.write("app.yaml", "beans:\n" + "".join(f"  {line}\n" for line in text.splitlines()))


async def test_a_program_may_take_what_it_needs_of_the_new_beans_before_they_count(kit: Kit) -> None:
    """A lazy bean that cannot be made, say, then leaves the beans of before in their place."""
    taken: list[Thing] = []

    async def ready(resolve: Resolve) -> None:
        assert app.get("a") is before
        taken.append(await resolve("b"))

    async with kit.beans("a: {type: t.thing}") as app:
        before = app.get("a")
        _write(kit, "a: {type: t.thing}\nb: {type: t.thing, one: a, start: raises, bean: {lazy: true}}")
        with pytest.raises(BeanCreationError):
            await app.reload(ready=ready)
        assert app.get("a") is before
        assert kit.log[-3:] == ["start b", "close b", "close a"]

        _write(kit, "a: {type: t.thing}\nb: {type: t.thing, one: a, bean: {lazy: true}}")
        await app.reload(ready=ready)
        assert taken == [app.get("b")]
        assert app.get("a") is not before


@pytest.mark.parametrize("how", ["refused", "cancelled"])
async def test_new_beans_that_are_refused_are_closed(kit: Kit, how: str) -> None:
    """And those of before stay."""

    async def ready(resolve: Resolve) -> None:
        kit.log.append("asked")
        if how == "refused":
            raise LookupError("not these")
        await asyncio.Event().wait()

    async with kit.beans("a: {type: t.thing}") as app:
        before = app.get("a")
        reloading = asyncio.create_task(app.reload(ready=ready))
        await kit.until("asked")
        if how == "cancelled":
            reloading.cancel()
        with pytest.raises(LookupError if how == "refused" else asyncio.CancelledError):
            await reloading
        assert kit.log[-2:] == ["asked", "close a"]
        assert app.get("a") is before


def test_in_synchronous_use_as_well(kit: Kit) -> None:
    async def ready(resolve: Resolve) -> None:
        raise LookupError("not these")

    with kit.beans("a: {type: t.thing}") as app:
        before = app.get("a")
        with pytest.raises(LookupError):
            app.reload_sync(ready=ready)
        assert app.get("a") is before


async def test_beans_that_were_refused_give_nothing_any_more(kit: Kit) -> None:
    kept: list[Resolve] = []

    async def ready(resolve: Resolve) -> None:
        kept.append(resolve)
        raise LookupError("not these")

    app: AgentForge
    async with kit.beans("a: {type: t.thing, bean: {lazy: true}}") as app:
        with pytest.raises(LookupError):
            await app.reload(ready=ready)
        with pytest.raises(ContextStateError, match="or these beans have"):
            await kept[0]("a")

    assert kit.log == []


async def test_who_asks_for_a_bean_while_others_take_their_place_gets_the_new_one(kit: Kit) -> None:
    """And neither one that is closed nor an error."""
    gate = asyncio.Event()

    class Slow(Thing):
        async def start(self) -> None:
            self.note("begin")
            await gate.wait()

    kit.makers = {"a": lambda: Slow("a", kit.log)}
    async with kit.beans("a: {type: t.own, bean: {lazy: true}}\nb: {type: t.thing, one: a, bean: {lazy: true}}") as app:
        asking = [asyncio.create_task(app.resolve(name)) for name in ("a", "b")]
        await kit.until("begin a")
        await app.reload()
        for _ in range(20):
            await asyncio.sleep(0)
        gate.set()
        found = await asyncio.gather(*asking)
        assert found == [app.get("a"), app.get("b")]
        assert kit.log == ["make a", "begin a", "close a", "make a", "begin a", "make b", "start b"]
