"""Turns of one conversation follow each other in the order of arrival; others run side by side."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentforge.memory import (
    ChatMemory,
    Everything,
    InMemoryStore,
    MemoryKey,
    TurnStateError,
)
from tests.unit.memory.samples import KEY, OTHER, answer, ask, said, steps, talk


async def test_turns_of_a_conversation_come_in_the_order_of_arrival() -> None:
    """Each begins with what the one before it stored."""
    memory = ChatMemory(InMemoryStore())
    await asyncio.gather(*(talk(memory, str(n)) for n in range(20)))

    assert await said(memory) == [text for n in range(20) for text in (str(n), f"re: {n}")]
    assert memory.open_turns == 0


async def test_turns_of_different_conversations_run_side_by_side() -> None:
    """Two that wait for each other in the middle of their turns both end."""
    memory = ChatMemory(InMemoryStore())
    meeting = asyncio.Barrier(2)

    async def meet(key: MemoryKey) -> None:
        async with memory.turn(key) as turn:
            await meeting.wait()
            await turn.commit([ask("met"), answer("yes")])

    await asyncio.wait_for(asyncio.gather(meet(KEY), meet(OTHER)), 30)
    assert await said(memory) == await said(memory, OTHER) == ["met", "yes"]


async def test_one_that_is_cancelled_lets_the_next_one_on() -> None:
    """While it waits, at the moment when its time comes, and while it is at work; the order stays."""
    for moment in range(12):
        memory = ChatMemory(InMemoryStore())
        done: list[str] = []

        async def work(name: str, memory: ChatMemory = memory, done: list[str] = done) -> None:
            async with memory.turn(KEY) as turn:
                await asyncio.sleep(0)
                await turn.commit([ask(name), answer("x")])
                done.append(name)

        tasks = [asyncio.create_task(work(name)) for name in "abcd"]
        await steps(moment)
        tasks[1].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

        assert done in (list("acd"), list("abcd"))
        stored = [text for text in await said(memory) if text != "x"]
        assert [name for name in stored if name != "b"] == list("acd")
        assert memory.open_turns == 0


async def test_a_turn_inside_itself_is_refused_and_not_waited_for() -> None:
    """Also from a task that the turn started; another conversation is free, and afterwards so is this one."""
    memory = ChatMemory(InMemoryStore())
    go_on = asyncio.Event()

    async def later() -> None:
        await go_on.wait()
        await talk(memory, "later")

    async with memory.turn(KEY):
        work: list[Callable[[], Awaitable[Any]]] = [
            lambda: talk(memory, "inner"),
            lambda: asyncio.create_task(talk(memory, "inner")),
            lambda: memory.clear(KEY),
            lambda: memory.give_up(KEY),
        ]
        for each in work:
            with pytest.raises(TurnStateError, match="is open here"):
                await each()
        await talk(memory, "elsewhere", OTHER)
        outlives = asyncio.create_task(later())
        await asyncio.sleep(0)
    go_on.set()
    await outlives
    await talk(memory, "again")

    assert await said(memory) == ["later", "re: later", "again", "re: again"]
    assert memory.open_turns == 0


def test_turns_wait_for_each_other_over_event_loops_and_threads() -> None:
    """As a server's loop and the synchronous twins of a client would."""
    memory = ChatMemory(InMemoryStore(), window=Everything())

    async def many(name: str) -> None:
        await asyncio.gather(*(talk(memory, f"{name}{n}") for n in range(25)))

    threads = [threading.Thread(target=asyncio.run, args=(many(name),)) for name in "abc"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    found = asyncio.run(said(memory))

    assert len(found) == 150
    assert all(found[at + 1] == f"re: {found[at]}" for at in range(0, 150, 2))
    for name in "abc":
        assert [text for text in found if text[0] == name] == [f"{name}{n}" for n in range(25)]
    assert memory.open_turns == 0


def test_a_loop_that_ends_takes_its_turns_with_it() -> None:
    """Those that hold and those that wait; the next one elsewhere begins at once."""
    memory = ChatMemory(InMemoryStore())
    loop = asyncio.new_event_loop()

    async def hang() -> None:
        async with memory.turn(KEY):
            await asyncio.Event().wait()

    tasks = [loop.create_task(hang()) for _ in range(3)]
    loop.run_until_complete(steps())
    assert memory.open_turns == 1
    for task in tasks:
        task.cancel()
    loop.run_until_complete(asyncio.gather(*tasks, return_exceptions=True))
    loop.close()
    del tasks
    gc.collect()
    asyncio.run(talk(memory, "1"))

    assert memory.open_turns == 0


def test_one_who_waits_on_a_loop_that_is_gone_holds_up_nobody() -> None:
    """It is passed over, and what its remains do later changes nothing."""
    memory = ChatMemory(InMemoryStore())
    here, gone = asyncio.new_event_loop(), asyncio.new_event_loop()
    gone.set_exception_handler(lambda loop, context: None)
    go_on = asyncio.Event()

    async def hold() -> None:
        async with memory.turn(KEY):
            await go_on.wait()

    holder = here.create_task(hold())
    here.run_until_complete(steps())
    waiting = gone.create_task(talk(memory, "never"))
    gone.run_until_complete(steps())
    gone.close()
    behind = here.create_task(talk(memory, "behind"))
    here.run_until_complete(steps())
    go_on.set()
    here.run_until_complete(asyncio.wait_for(asyncio.gather(holder, behind), 30))
    here.close()
    assert asyncio.run(said(memory)) == ["behind", "re: behind"]
    assert memory.open_turns == 0
    del waiting
    gc.collect()
    asyncio.run(talk(memory, "after"))

    assert asyncio.run(said(memory)) == ["behind", "re: behind", "after", "re: after"]
    assert memory.open_turns == 0
