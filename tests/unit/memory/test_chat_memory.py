"""What is done with whole conversations, and a thousand turns at once."""

from __future__ import annotations

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import ConfigurationError
from agentforge.memory import (
    ALL_TENANTS,
    ChatMemory,
    Conversation,
    Everything,
    InMemoryStore,
    MemoryConflictError,
    MemoryKey,
    MemoryStore,
    MessageWindow,
    SqliteStore,
    Summarising,
    TokenWindow,
    TurnStateError,
    UnreadableConversationError,
)
from agentforge.model.scripted import ScriptedChatModel
from agentforge.testing.contracts.memory_store import FULL
from tests.unit.memory.samples import KEY, NOON, OTHER, Clock, answer, ask, called, said, steps, talk, texts


async def test_conversations_are_listed_by_tenant() -> None:
    """Sorted, and never another's."""
    memory = ChatMemory(InMemoryStore())
    keys = [MemoryKey("b", 2), MemoryKey(None, 9), MemoryKey("b", 1), MemoryKey("a", 3)]
    for key in keys:
        await talk(memory, "1", key)

    assert await memory.list("b") == (MemoryKey("b", 1), MemoryKey("b", 2))
    assert await memory.list(None) == (MemoryKey(None, 9),)
    assert await memory.list("nobody") == ()
    assert await memory.list(ALL_TENANTS) == (keys[1], keys[3], keys[2], keys[0])


async def test_a_conversation_is_taken_elsewhere() -> None:
    """Exported as JSON, imported under any key, suspended run and all; not over one that is there, unless meant."""
    here, there = ChatMemory(InMemoryStore()), ChatMemory(InMemoryStore())
    await here.import_(KEY, FULL.to_json())
    data = json.dumps(await here.export(KEY))
    await there.import_(OTHER, data)
    assert await there.export(KEY) is None
    found = await there.get(OTHER)
    assert found is not None and (found.messages, found.suspended) == (FULL.messages, FULL.suspended)
    with pytest.raises(MemoryConflictError, match="there already"):
        await there.import_(OTHER, data)
    await there.import_(OTHER, Conversation(created=NOON, updated=NOON).to_json(), replace=True)

    assert await said(there, OTHER) == []


@pytest.mark.parametrize("data", ["", "{", "[]", {}, {"version": 2}, b"\xff"])
async def test_what_cannot_be_imported_is_refused(data: Any) -> None:
    """Nothing is stored."""
    memory = ChatMemory(InMemoryStore())
    with pytest.raises(UnreadableConversationError, match="'42' of tenant 'acme' cannot be read"):
        await memory.import_(KEY, data)
    assert await memory.get(KEY) is None


async def test_clearing_waits_for_the_turns_before_it() -> None:
    """So that none of them brings the conversation back."""
    memory = ChatMemory(InMemoryStore())
    ends = await asyncio.gather(talk(memory, "1"), memory.clear(KEY), memory.clear(KEY), talk(memory, "2"))

    assert ends == [None, True, False, None]
    assert await said(memory) == ["2", "re: 2"]


async def test_a_conversation_ends_with_its_time() -> None:
    """Whether or not anybody swept: it is gone for turns, readers and exports, and what was suspended with it."""
    clock = Clock()
    memory = ChatMemory(InMemoryStore(), ttl=60, clock=clock)
    await talk(memory, "1")
    clock.forward(60)
    assert await said(memory) == ["1", "re: 1"]
    await talk(memory, "2")
    async with memory.turn(KEY) as turn:
        await turn.suspend({})
    clock.forward(61)
    assert await memory.get(KEY) is None and await memory.export(KEY) is None
    with pytest.raises(TurnStateError, match="its time is over"):
        await memory.resume(KEY).__aenter__()
    async with memory.turn(KEY) as turn:
        assert turn.messages == ()
        stored = await turn.commit([ask("3"), answer("three")])
    assert stored.created == clock.now
    clock.forward(61)
    await memory.import_(KEY, Conversation(created=clock.now, updated=clock.now).to_json())

    assert await said(memory) == []


async def test_old_conversations_are_swept() -> None:
    """Those older than the memory's time, or than a given one; of all tenants."""
    clock = Clock()
    memory = ChatMemory(InMemoryStore(), ttl=timedelta(hours=1), clock=clock)
    for n in range(4):
        await talk(memory, "1", MemoryKey(f"t{n}", 1))
        clock.forward(1_200)
    assert await memory.expire() == 1
    assert await memory.expire(2_400) == 1
    assert await memory.expire(timedelta(seconds=1)) == 2
    assert await memory.list(ALL_TENANTS) == ()
    with pytest.raises(ConfigurationError, match="no ttl"):
        await ChatMemory(InMemoryStore()).expire()


async def test_one_that_cannot_be_read_can_be_cleared(tmp_path: Path) -> None:
    """A turn says what is wrong with it and holds nothing; other conversations go on."""
    import sqlite3

    store = SqliteStore(tmp_path / "c.db")
    memory = ChatMemory(store)
    await talk(memory, "1")
    damage = sqlite3.connect(tmp_path / "c.db")
    damage.execute("UPDATE agentforge_conversations SET body = '{'")
    damage.commit()
    damage.close()
    with pytest.raises(UnreadableConversationError):
        await talk(memory, "2")
    await talk(memory, "2", OTHER)
    assert await memory.clear(KEY)
    await talk(memory, "3")

    assert await said(memory) == ["3", "re: 3"]
    assert memory.open_turns == 0
    await store.aclose()


async def test_what_is_shown_of_a_memory_is_no_conversation() -> None:
    """Its parts and their numbers."""
    memory = ChatMemory(InMemoryStore(), window=Summarising(TokenWindow(9), ScriptedChatModel([])))
    await talk(memory, "secret")
    async with memory.turn(KEY) as turn:
        shown = f"{memory!r} {turn!r} {SqliteStore('c.db')!r} {MessageWindow(3)!r} {Everything()!r}"

    assert shown == (
        "ChatMemory(InMemoryStore(1 conversations), "
        "window=Summarising(TokenWindow(9), ScriptedChatModel(0 turns, 0 requests))) "
        "Turn('42' of tenant 'acme', 2 messages before it) SqliteStore('c.db') MessageWindow(3) Everything()"
    )


# -- many at once --------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "count"), [("in process", 1_000), ("sqlite", 300)], ids=["in process", "sqlite"])
async def test_a_thousand_turns_of_fifty_ids_and_tenants_do_not_cross(tmp_path: Path, kind: str, count: int) -> None:
    """Each conversation has its own turns alone, all of them, whole and in the order in which they came."""
    store: MemoryStore = InMemoryStore() if kind == "in process" else SqliteStore(tmp_path / "c.db")
    memory = ChatMemory(store)
    keys = [MemoryKey(f"tenant {n % 50}", n * 7 % 50) for n in range(100)]  # ids and tenants of 100 conversations
    assert len({key.tenant for key in keys}) == len({key.memory_id for key in keys}) == 50

    async def work(key: MemoryKey, n: int) -> None:
        me = f"{key}#{n}"
        async with memory.turn(key) as turn:
            sent = texts(await turn.fit([ask(me)]))
            await steps(n % 4)
            turn.state["turns"] = turn.state.get("turns", 0) + 1
            assert all(text.split("#")[0].lstrip("<>") == str(key) for text in sent)
            if n % 100 == 99:
                return  # one that fails now and then
            await turn.commit([ask(me), *called(f"{me}#c"), answer(f"{me}#a")])

    await asyncio.gather(*(work(keys[n % len(keys)], n) for n in range(count)))
    conversations = {key: await memory.get(key) for key in keys}
    for key, found in conversations.items():
        came = [n for n in range(count) if keys[n % len(keys)] == key and n % 100 != 99]
        if not came:
            assert found is None
            continue
        assert found is not None
        expected = [
            f"{kind_}{key}#{n}{end}" for n in came for kind_, end in (("", ""), (">", "#c"), ("<", "#c"), ("", "#a"))
        ]
        assert texts(found.messages) == expected
        assert found.state == {"turns": len(came)}
    assert memory.open_turns == 0
    assert set(await memory.list(ALL_TENANTS)) == {key for key, found in conversations.items() if found}
    await store.aclose()
