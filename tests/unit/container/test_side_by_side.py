"""Beans that do not need each other start side by side; whatever fails, nothing stays open, and closing is in order."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.container import BeanCreationError
from tests.unit.container.kit import Kit, Thing


class Meeting(Thing):
    """Starts when as many as are expected have begun to."""

    def __init__(self, bean_id: str, kit: Kit, together: asyncio.Barrier) -> None:
        super().__init__(bean_id, kit.log)
        self.together = together

    async def start(self) -> None:
        self.note("begin")
        await self.together.wait()
        self.note("start")


async def test_starts_that_can_only_end_together_do(kit: Kit) -> None:
    """And what needs them is made when both have ended; all are closed in reverse of their making."""
    together = asyncio.Barrier(2)
    kit.makers = {each: lambda each=each: Meeting(each, kit, together) for each in "ab"}
    async with kit.beans("c: {type: t.thing, needs: [a, b]}\na: {type: t.own}\nb: {type: t.own}"):
        assert kit.log[:4] == ["make a", "make b", "begin a", "begin b"]
        assert kit.log[6:] == ["make c", "start c"]
        kit.log.clear()

    assert kit.log == ["close c", "close b", "close a"]


async def test_a_chain_does_not_wait_for_what_it_does_not_need(kit: Kit) -> None:
    gate = asyncio.Event()

    class Slow(Thing):
        async def start(self) -> None:
            self.note("begin")
            await gate.wait()
            self.note("start")

    kit.makers = {"slow": lambda: Slow("slow", kit.log)}
    app = kit.beans("slow: {type: t.own}\nbase: {type: t.thing}\nuser: {type: t.thing, one: base}")
    starting = asyncio.create_task(app.start())
    await kit.until("start user")
    assert "start slow" not in kit.log
    gate.set()
    await starting
    await app.stop()

    assert [each for each in kit.log if "close" in each] == ["close user", "close base", "close slow"]


async def test_the_first_failure_ends_the_starts_beside_it_and_is_the_news(kit: Kit) -> None:
    class Slow(Thing):
        async def start(self) -> None:
            self.note("begin")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.note("stopped")
                raise

    kit.makers = {"slow": lambda: Slow("slow", kit.log)}
    app = kit.beans(
        "slow: {type: t.own}\nbad: {type: t.thing, start: raises}\nuser: {type: t.thing, needs: [slow, bad]}"
    )
    with pytest.raises(BeanCreationError) as raised:
        await app.start()

    assert raised.value.message == "the bean 'bad' (t.thing) could not be started: ValueError: bad fails"
    assert raised.value.location == f"{kit.folder / 'app.yaml'}:3:3"
    assert "stopped slow" in kit.log
    assert [each for each in kit.log if "close" in each] == ["close bad", "close slow"]
    assert not any("user" in each for each in kit.log)


async def test_a_start_that_is_cancelled_again_still_waits_for_what_it_began(kit: Kit) -> None:
    class Slow(Thing):
        async def start(self) -> None:
            for word in ("begin", "told", "told again"):
                self.note(word)
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    if word == "told":
                        raise

    kit.makers = {each: lambda each=each: Slow(each, kit.log) for each in "ab"}
    starting = asyncio.create_task(kit.beans("a: {type: t.own}\nb: {type: t.own}").start())
    await kit.until("begin b")
    starting.cancel()
    await kit.until("told b")
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting

    assert kit.log[-2:] == ["close b", "close a"]
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_a_start_that_swallows_its_end_is_closed_as_well(kit: Kit) -> None:
    class Stubborn(Thing):
        async def start(self) -> None:
            self.note("begin")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.note("start")

    kit.makers = {"a": lambda: Stubborn("a", kit.log)}
    with pytest.raises(BeanCreationError, match="the bean 'bad'"):
        await kit.beans("a: {type: t.own}\nbad: {type: t.thing, start: raises}").start()

    assert kit.log.count("close a") == 1


async def test_starts_that_ask_for_each_other_do_not_wait_for_ever(kit: Kit) -> None:
    """Each waits for the other; the one that would close the circle gets the other as it is."""
    both = asyncio.Barrier(2)

    class Asking(Thing):
        other: Any = None

        async def start(self) -> None:
            await both.wait()
            self.other = await app.resolve("b" if self.id == "a" else "a")
            self.note("start")

    kit.makers = {each: lambda each=each: Asking(each, kit.log) for each in "ab"}
    app = kit.beans("a: {type: t.own}\nb: {type: t.own}")
    async with app:
        assert app.get("a").other is app.get("b")
        assert app.get("b").other is app.get("a")


GRAPHS = st.integers(1, 7).flatmap(
    lambda size: st.tuples(
        st.lists(st.sets(st.integers(0, 6)), min_size=size, max_size=size),
        st.lists(st.sampled_from(["", "fails", "waits", "waits and fails"]), min_size=size, max_size=size),
    )
)


@settings(deadline=None)
@given(GRAPHS)
def test_every_start_comes_after_its_needs_and_every_close_before_theirs(
    graph: tuple[list[set[int]], list[str]],
) -> None:
    """Of any graph and whatever fails; all that was made is closed, once, in reverse of its making."""
    needs, ways = graph
    log: list[str] = []

    class Willing(Thing):
        async def start(self) -> None:
            way = ways[int(self.id[1:])]
            for _ in range(3 if "waits" in way else 0):
                await asyncio.sleep(0)
            if "fails" in way:
                raise ValueError(self.id)
            self.note("start")

    from pathlib import Path

    kit = Kit(Path(), log)
    beans = {
        f"b{number}": {"type": "t.own", "needs": [f"b{each}" for each in sorted(wanted) if each < number]}
        for number, wanted in reversed(list(enumerate(needs)))
    }
    kit.makers = {name: lambda name=name: Willing(name, log) for name in beans}

    async def run() -> None:
        try:
            async with kit.mapping(beans):
                assert not any("fails" in way for way in ways)
        except BeanCreationError:
            assert any("fails" in way for way in ways)
        assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []

    asyncio.run(run())
    made = [each[5:] for each in log if each.startswith("make")]
    assert [each[6:] for each in log if each.startswith("close")] == made[::-1]
    for name in made:
        for need in beans[name]["needs"]:
            assert log.index(f"start {need}") < log.index(f"make {name}")


# -- what will not be closed --------------------------------------------------------------------------


async def test_a_close_that_swallows_its_cancellation_is_left_behind(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """After its time and a moment more; the others are closed, and it is told."""
    release = asyncio.Event()

    class Stubborn(Thing):
        async def aclose(self) -> None:
            self.note("close")
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    self.note("told")

    kit.makers = {"b": lambda: Stubborn("b", kit.log)}
    app = kit.beans("a: {type: t.thing}\nb: {type: t.own, bean: {depends_on: [a]}}", stop_timeout=0.001)
    await app.start()
    with pytest.raises(ExceptionGroup) as raised, caplog.at_level(logging.WARNING, "agentforge"):
        await app.stop()
    release.set()

    words = "was not closed within 0.001 s; it goes on though it was cancelled, and is left behind"
    assert [each.__notes__ for each in raised.value.exceptions] == [
        [f"the bean 'b' ({kit.folder / 'app.yaml'}:3:3) {words}"]
    ]
    assert kit.log[-3:] == ["close b", "told b", "close a"]
    assert [words in each.message for each in caplog.records] == [True]


async def test_a_close_that_ends_in_order_when_it_is_told_to_has_not_failed(kit: Kit) -> None:
    class Slow(Thing):
        async def aclose(self) -> None:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.note("close")

    kit.makers = {"a": lambda: Slow("a", kit.log)}
    async with kit.beans("a: {type: t.own}", stop_timeout=0.001):
        pass

    assert kit.log[-1] == "close a"


async def test_a_manager_that_cannot_be_left_in_time_is_left_behind_as_well(kit: Kit) -> None:
    release = asyncio.Event()

    class Stubborn:
        async def __aenter__(self) -> None:
            pass

        async def __aexit__(self, *error: object) -> None:
            while not release.is_set():
                try:
                    await release.wait()
                except asyncio.CancelledError:
                    kit.log.append("told")

    kit.makers = {"b": Stubborn}
    app = kit.beans("a: {type: t.thing}\nb: {type: t.own, bean: {depends_on: [a]}}", stop_timeout=0.001)
    await app.start()
    with pytest.raises(ExceptionGroup) as raised:
        await app.stop()
    release.set()

    assert "is left behind" in raised.value.exceptions[0].__notes__[0]
    assert kit.log[-2:] == ["told", "close a"]
