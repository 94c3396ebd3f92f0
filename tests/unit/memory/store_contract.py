"""What every store of conversations has to do: a suite to subclass, with one method that makes the store.

```python
class TestMyStore(MemoryStoreContract):
    def make_store(self, folder: Path) -> MemoryStore:
        return MyStore(folder / "conversations")
```
"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from agentforge.errors import RunStateError
from agentforge.memory import (
    ALL_TENANTS,
    AllTenants,
    Conversation,
    MemoryConflictError,
    MemoryKey,
    MemoryStore,
    Suspension,
)
from agentforge.model import (
    AiMessage,
    History,
    ImageContent,
    ProviderState,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)

__all__ = ("MemoryStoreContract", "conversation")

NOON = datetime(2026, 8, 21, 12, tzinfo=UTC)
KEY = MemoryKey("acme", "42")
OTHERS = [
    MemoryKey(None, "42"),
    MemoryKey("acme", "43"),
    MemoryKey("Acme", "42"),
    MemoryKey("acme ", "42"),
    MemoryKey("acm", "e42"),
    MemoryKey('acme","42', "42"),
    MemoryKey("null", "42"),
    MemoryKey("acme", '42"]'),
    MemoryKey("%", "_"),
    MemoryKey("acme", "\u00e9"),
    MemoryKey("acme", "e\u0301"),
    MemoryKey("acme", "a\x00b"),
    MemoryKey("acme", "a"),
    MemoryKey("acme", "\ud800"),
    MemoryKey("杭州", "会话"),
    MemoryKey("a" * 1_000, "b" * 1_000),
]


def conversation(*texts: str, updated: datetime = NOON) -> Conversation:
    """A conversation in which the user said ``texts``."""
    return Conversation(created=NOON, updated=updated, messages=History(map(UserMessage, texts)))


FULL = Conversation(
    created=NOON,
    updated=NOON + timedelta(microseconds=1),
    messages=History.of(
        [
            SystemMessage("Be brief."),
            UserMessage([TextContent("这是什么？"), ImageContent(data="aGk=")], name="Li"),
            AiMessage(
                [
                    ThinkingContent("hm", ProviderState("someone", {"signature": "x"})),
                    ToolExecutionRequest("c1", "look", '{"n": 1.50}'),
                ],
                provider_state=ProviderState("someone", {"id": "r1"}),
            ),
            ToolExecutionResultMessage("c1", "look", "half a pair: \ud83d", is_error=True, attributes={"n": [1, None]}),
            AiMessage("A \x00 'cat'."),
        ]
    ),
    state={"found": ["look"], "深": {"n": 10**30, "f": 0.1}},
    suspended=Suspension({"version": 1, "waiting": [{"position": 0}]}, NOON, {"found": []}),
)


class MemoryStoreContract:
    """Subclass it, say how a store is made, and every test of it runs. ``make_store`` gets an empty folder; a second
    store made of the same folder need not see what the first one has."""

    def make_store(self, folder: Path) -> MemoryStore:
        """A new, empty store."""
        raise AssertionError("a contract test says how its store is made")

    @pytest.fixture
    def store(self, tmp_path: Path) -> MemoryStore:
        return self.make_store(tmp_path)

    def test_it_is_a_store(self, store: MemoryStore) -> None:
        """It has every method of the contract."""
        assert isinstance(store, MemoryStore)

    async def test_what_was_never_stored_is_not_there(self, store: MemoryStore) -> None:
        """Nothing is loaded, deleted, listed or expired in an empty store."""
        assert await store.load(KEY) is None
        assert await store.delete(KEY) is False
        assert [key async for key in store.keys(ALL_TENANTS)] == []
        assert await store.expire(NOON) == 0
        await store.aclose()

    async def test_a_conversation_comes_back_as_it_was(self, store: MemoryStore) -> None:
        """Every kind of part, the state map, the suspension and the times; with its version."""
        stored = await store.save(KEY, FULL, expected_version=0)

        assert stored.version > 0
        assert await store.load(KEY) == stored == replace(FULL, version=stored.version)
        assert mended(stored)
        await store.aclose()

    async def test_each_save_needs_the_version_that_is_there(self, store: MemoryStore) -> None:
        """0 means that there is none; anything else than what is there is a conflict and changes nothing."""
        with pytest.raises(MemoryConflictError):
            await store.save(KEY, conversation("lost"), expected_version=1)
        assert await store.load(KEY) is None
        first = await store.save(KEY, conversation("one"), expected_version=0)
        with pytest.raises(MemoryConflictError):
            await store.save(KEY, conversation("lost"), expected_version=0)
        second = await store.save(KEY, conversation("two"), expected_version=first.version)
        assert second.version > first.version
        for version in (0, first.version, second.version + 1):
            with pytest.raises(MemoryConflictError, match="AF601"):
                await store.save(KEY, conversation("lost"), expected_version=version)

        assert await store.load(KEY) == second
        await store.aclose()

    async def test_what_was_deleted_does_not_come_back(self, store: MemoryStore) -> None:
        """A version is never used again: who still holds the old one cannot store over what is new."""
        old = await store.save(KEY, conversation("forget me"), expected_version=0)
        assert await store.delete(KEY) is True
        assert await store.load(KEY) is None
        with pytest.raises(MemoryConflictError):
            await store.save(KEY, old, expected_version=old.version)
        new = await store.save(KEY, conversation("new"), expected_version=0)
        with pytest.raises(MemoryConflictError):
            await store.save(KEY, old, expected_version=old.version)

        assert await store.load(KEY) == new
        await store.aclose()

    async def test_of_many_who_store_at_once_one_does(self, store: MemoryStore) -> None:
        """The others get a conflict, and what is there is the one's."""
        saves = (store.save(KEY, conversation(str(n)), expected_version=0) for n in range(20))
        ends = await asyncio.gather(*saves, return_exceptions=True)
        stored = [end for end in ends if isinstance(end, Conversation)]

        assert len(stored) == 1
        assert sum(isinstance(end, MemoryConflictError) for end in ends) == 19
        assert await store.load(KEY) == stored[0]
        await store.aclose()

    async def test_keys_that_look_alike_are_apart(self, store: MemoryStore) -> None:
        """Whatever stands in a tenant or a memory id; and to delete one leaves all others."""
        for key in (KEY, *OTHERS):
            assert await store.load(key) is None
            await store.save(key, conversation(repr(key)), expected_version=0)
        for key in (KEY, *OTHERS):
            found = await store.load(key)
            assert found is not None and found.messages == (UserMessage(repr(key)),)
        assert {key async for key in store.keys(ALL_TENANTS)} == {KEY, *OTHERS}
        assert await store.delete(KEY) is True

        assert {key async for key in store.keys(ALL_TENANTS)} == set(OTHERS)
        await store.aclose()

    async def test_a_tenants_keys_are_its_own(self, store: MemoryStore) -> None:
        """``None`` is those without a tenant, not every one; a tenant is no pattern and no prefix."""
        for key in (KEY, *OTHERS):
            await store.save(key, conversation("x"), expected_version=0)
        tenants: list[str | AllTenants | None] = [None, "acme", "acm", "%", "null", "杭州", "nobody", ""]
        for tenant in tenants:
            assert {key async for key in store.keys(tenant)} == {k for k in (KEY, *OTHERS) if k.tenant == tenant}
        assert {key async for key in store.keys(ALL_TENANTS)} == {KEY, *OTHERS}
        await store.aclose()

    async def test_more_keys_than_a_page_are_listed_once_each(self, store: MemoryStore) -> None:
        """However many there are."""
        keys = [MemoryKey("acme", n) for n in range(1_203)]
        await asyncio.gather(*(store.save(key, conversation("x"), expected_version=0) for key in keys))
        found = [key async for key in store.keys("acme")]

        assert len(found) == len(set(found)) == 1_203
        await store.aclose()

    async def test_what_is_older_expires(self, store: MemoryStore) -> None:
        """What was updated before the time goes, of every tenant; what was updated just then stays."""
        for n, key in enumerate(OTHERS[:6]):
            updated = NOON + timedelta(seconds=n)
            await store.save(key, conversation("x", updated=updated), expected_version=0)
        assert await store.expire(NOON + timedelta(seconds=3)) == 3
        assert {key async for key in store.keys(ALL_TENANTS)} == set(OTHERS[3:6])
        assert await store.expire(NOON + timedelta(seconds=3)) == 0
        await store.aclose()

    async def test_what_json_cannot_hold_is_refused_by_name(self, store: MemoryStore) -> None:
        """With the place, and what was stored before stays."""
        first = await store.save(KEY, conversation("one"), expected_version=0)
        call = AiMessage([ToolExecutionRequest("c1", "look")])
        result = ToolExecutionResultMessage("c1", "look", "seen", attributes={"order": object()})
        bad = replace(first, messages=History.of([call, result]))
        with pytest.raises(RunStateError, match="object cannot be stored") as caught:
            await store.save(KEY, bad, expected_version=first.version)

        assert caught.value.location == "messages[1].attributes.order"
        assert await store.load(KEY) == first
        await store.aclose()

    async def test_who_changes_what_was_given_changes_nothing_stored(self, store: MemoryStore) -> None:
        """The state map that was loaded or stored is a copy."""
        await store.save(KEY, replace(FULL, state={"n": [1]}), expected_version=0)
        for _ in range(2):
            found = await store.load(KEY)
            assert found is not None and found.state == {"n": [1]}
            found.state["n"].append(2)
        await store.aclose()

    async def test_a_cancelled_save_happened_or_did_not(self, store: MemoryStore) -> None:
        """At whatever step the task ends: what is loaded then is the old conversation or the new one."""
        version = (await store.save(KEY, conversation("0"), expected_version=0)).version
        for step in range(6):
            task = asyncio.create_task(store.save(KEY, conversation("new"), expected_version=version))
            for _ in range(step):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            found = await store.load(KEY)
            assert found is not None
            assert (found.messages[0] == UserMessage("new")) == (found.version != version)
            version = (await store.save(KEY, conversation("0"), expected_version=found.version)).version
        await store.aclose()

    async def test_closing_twice_is_closing(self, store: MemoryStore) -> None:
        """And a store that was never used can be closed."""
        await store.aclose()
        await store.aclose()


def mended(found: Conversation) -> bool:
    """Whether its messages needed no mending."""
    return type(found.messages) is History
