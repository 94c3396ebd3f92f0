"""A run that waits for a decision: it holds nothing, refuses new turns, and is resumed or given up."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentforge.memory import (
    ChatMemory,
    ConversationSuspendedError,
    InMemoryStore,
    MemoryConflictError,
    MemoryStore,
    SqliteStore,
    TurnStateError,
)
from tests.unit.memory.samples import KEY, NOON, OTHER, Clock, answer, ask, called, said, talk, texts


@pytest.mark.parametrize("kind", ["in process", "sqlite"])
async def test_a_suspended_run_waits_without_holding_anything(tmp_path: Path, kind: str) -> None:
    """It is stored beside the messages, which stay as they were; it is found again, and goes on with its state."""
    store: MemoryStore = InMemoryStore() if kind == "in process" else SqliteStore(tmp_path / "c.db")
    clock = Clock()
    memory = ChatMemory(store, clock=clock)
    await talk(memory, "1")
    async with memory.turn(KEY) as turn:
        turn.state["found"] = ["refund"]
        stored = await turn.suspend({"version": 1, "pending": [0]})
    assert memory.open_turns == 0
    assert texts(stored.messages) == ["1", "re: 1"]
    assert stored.state == {}
    assert await memory.get(KEY) == stored
    clock.forward(3_600)
    async with ChatMemory(store, clock=clock).resume(KEY) as turn:
        assert turn.suspended is not None
        assert turn.suspended.run == {"version": 1, "pending": [0]}
        assert turn.suspended.since == NOON
        assert turn.state == {"found": ["refund"]}
        assert texts(turn.messages) == ["1", "re: 1"]
        stored = await turn.commit([ask("2"), *called("a"), answer("two")])

    assert stored.suspended is None
    assert stored.state == {"found": ["refund"]}
    assert texts(stored.messages) == ["1", "re: 1", "2", ">a", "<a", "two"]
    await talk(memory, "3")
    await store.aclose()


async def test_a_new_turn_is_refused_while_one_waits() -> None:
    """Also one that was in the queue already; other conversations go on."""
    memory = ChatMemory(InMemoryStore())

    async def suspend() -> None:
        async with memory.turn(KEY) as turn:
            await asyncio.sleep(0)
            await turn.suspend({"pending": [0]})

    first, *others = await asyncio.gather(
        suspend(), talk(memory, "2"), talk(memory, "3"), talk(memory, "2", OTHER), return_exceptions=True
    )
    assert first is None and others[2] is None
    assert [type(each) for each in others[:2]] == [ConversationSuspendedError] * 2
    error = others[0]
    assert isinstance(error, ConversationSuspendedError)
    step = "Go on with prompt.resume(state), or let go of it with memory.give_up(key)."
    assert (error.code, error.next_step) == ("AF602", step)
    assert "'42' of tenant 'acme' waits for a decision since 2" in error.message

    assert memory.open_turns == 0


async def test_a_resumed_turn_that_fails_can_be_resumed_again() -> None:
    """By leaving it, by an error, by failing; and it may be suspended again."""
    memory = ChatMemory(InMemoryStore())
    async with memory.turn(KEY) as turn:
        await turn.suspend({"step": 1})
    before = await memory.get(KEY)
    async with memory.resume(KEY):
        pass
    async with memory.resume(KEY) as turn:
        await turn.fail([ask("1")])
    assert await memory.get(KEY) == before
    async with memory.resume(KEY) as turn:
        await turn.suspend({"step": 2})
    with pytest.raises(ConversationSuspendedError):
        await talk(memory, "2")
    async with memory.resume(KEY) as turn:
        assert turn.suspended is not None and turn.suspended.run == {"step": 2}
        await turn.commit([ask("1"), answer("one")])

    assert await said(memory) == ["1", "one"]


async def test_of_two_who_resume_one_does() -> None:
    """In this process the second finds nothing; in another one it cannot store what it did."""
    store = InMemoryStore()
    memory = ChatMemory(store)

    async def resume() -> None:
        async with memory.resume(KEY) as turn:
            await asyncio.sleep(0)
            await turn.commit([ask("1"), answer("one")])

    async with memory.turn(KEY) as turn:
        await turn.suspend({})
    ends = await asyncio.gather(resume(), resume(), return_exceptions=True)
    assert [type(end) for end in ends] == [type(None), TurnStateError]
    async with memory.turn(KEY) as turn:
        await turn.suspend({})
    async with ChatMemory(store).resume(KEY) as elsewhere:
        await resume()
        with pytest.raises(MemoryConflictError):
            await elsewhere.commit([ask("1"), answer("one")])

    assert await said(memory) == ["1", "one"] * 2


async def test_there_is_nothing_to_resume_where_nothing_waits() -> None:
    """A clear error, and giving up is no error."""
    memory = ChatMemory(InMemoryStore())
    await talk(memory, "1")
    with pytest.raises(TurnStateError, match="nothing is suspended"):
        await memory.resume(KEY).__aenter__()

    assert await memory.give_up(KEY) is None
    assert memory.open_turns == 0


@pytest.mark.parametrize(
    ("instead", "left"),
    [([], ["1", "re: 1"]), ([ask("2"), called("a")[0]], ["1", "re: 1", "2", ">a", "<a"])],
)
async def test_a_suspended_turn_can_be_given_up(instead: list[Any], left: list[str]) -> None:
    """Then nothing of it stays, or what is said in its place; its notes go with it; a new turn can begin."""
    memory = ChatMemory(InMemoryStore())
    await talk(memory, "1")
    async with memory.turn(KEY) as turn:
        turn.state["found"] = ["refund"]
        await turn.suspend({"pending": [0]})
    given_up = await memory.give_up(KEY, instead)

    assert given_up is not None and given_up.run == {"pending": [0]}
    assert await said(memory) == left
    async with memory.turn(KEY) as turn:
        assert turn.state == {}


async def test_a_failed_resumption_that_is_kept_ends_the_suspension() -> None:
    """With the results that there are."""
    memory = ChatMemory(InMemoryStore(), on_failure="keep")
    async with memory.turn(KEY) as turn:
        await turn.suspend({})
    async with memory.resume(KEY) as turn:
        await turn.fail([ask("1"), called("a")[0]])
    await talk(memory, "2")

    assert await said(memory) == ["1", ">a", "<a", "2", "re: 2"]
