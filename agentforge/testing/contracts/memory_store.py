"""What every store of conversations has to do, as a class of tests to subclass."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, TypeVar

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
from agentforge.testing.contracts.running import must, opened, run

__all__ = ("FULL", "KEY", "NOON", "MemoryStoreContract", "conversation")

_T = TypeVar("_T")

_MANY = 1_203
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
    """The tests of a memory store: write ``class TestMyStore(MemoryStoreContract)`` and override `store`.

    ``patience`` (60) bounds each test in seconds.
    """

    patience = 60.0

    def store(self) -> Any:
        """A new, empty `MemoryStore`, or an asynchronous context manager around one; the suite closes it."""
        raise TypeError(f"{type(self).__name__} must override store()")

    def test_it_is_a_store(self) -> None:
        """It has every method of the contract."""
        made = self.store()
        if hasattr(made, "__aenter__") and not isinstance(made, MemoryStore):

            async def work(store: MemoryStore) -> None:
                self._is_one(store)

            self._run(work)
        else:
            self._is_one(made)

    def test_what_was_never_stored_is_not_there(self) -> None:
        """Nothing is loaded, deleted, listed or expired in an empty store."""

        async def work(store: MemoryStore) -> None:
            must(await store.load(KEY) is None, "an empty store has a conversation")
            must(await store.delete(KEY) is False, "delete says that there was one, and there was none")
            must(await _keys(store) == set(), "an empty store lists keys")
            must(await store.expire(NOON) == 0, "expire counts what is not there")

        self._run(work)

    def test_a_conversation_comes_back_as_it_was(self) -> None:
        """Every kind of part, the state map, the suspension and the times; with its version."""

        async def work(store: MemoryStore) -> None:
            stored = await store.save(KEY, FULL, expected_version=0)
            must(stored.version > 0, f"what is stored has the version {stored.version}; it begins above 0")
            found = await store.load(KEY)
            must(found == stored, "what is loaded is not what save gave")
            must(found == replace(FULL, version=stored.version), f"what is loaded is not what was stored: {found}")
            must(found is not None and type(found.messages) is History, "its messages are no History")

        self._run(work)

    def test_each_save_needs_the_version_that_is_there(self) -> None:
        """0 means that there is none; anything else than what is there is a conflict and changes nothing."""

        async def work(store: MemoryStore) -> None:
            await _conflicts(store, conversation("lost"), 1)
            must(await store.load(KEY) is None, "a conflict stored something")
            first = await store.save(KEY, conversation("one"), expected_version=0)
            await _conflicts(store, conversation("lost"), 0)
            second = await store.save(KEY, conversation("two"), expected_version=first.version)
            must(second.version > first.version, "a version does not grow with each save")
            for version in (0, first.version, second.version + 1):
                await _conflicts(store, conversation("lost"), version)
            must(await store.load(KEY) == second, "a conflict changed what was stored")

        self._run(work)

    def test_what_was_deleted_does_not_come_back(self) -> None:
        """A version is never used again: who still holds the old one cannot store over what is new."""

        async def work(store: MemoryStore) -> None:
            old = await store.save(KEY, conversation("forget me"), expected_version=0)
            must(await store.delete(KEY) is True, "delete says that there was none")
            must(await store.load(KEY) is None, "what was deleted is still there")
            await _conflicts(store, old, old.version)
            new = await store.save(KEY, conversation("new"), expected_version=0)
            await _conflicts(store, old, old.version)
            must(await store.load(KEY) == new, "what was deleted came back")

        self._run(work)

    def test_of_many_who_store_at_once_one_does(self) -> None:
        """The others get a conflict, and what is there is the one's."""

        async def work(store: MemoryStore) -> None:
            saves = (store.save(KEY, conversation(str(n)), expected_version=0) for n in range(20))
            ends = await asyncio.gather(*saves, return_exceptions=True)
            stored = [end for end in ends if isinstance(end, Conversation)]
            must(len(stored) == 1, f"of 20 who stored at once {len(stored)} did")
            others = [end for end in ends if not isinstance(end, Conversation)]
            must(all(isinstance(end, MemoryConflictError) for end in others), f"not all others conflict: {others[:1]}")
            must(await store.load(KEY) == stored[0], "what is there is not what was stored")

        self._run(work)

    def test_keys_that_look_alike_are_apart(self) -> None:
        """Whatever stands in a tenant or a memory id; and to delete one leaves all others."""

        async def work(store: MemoryStore) -> None:
            for key in (KEY, *OTHERS):
                must(await store.load(key) is None, f"{key!r} is taken for another key")
                await store.save(key, conversation(repr(key)), expected_version=0)
            for key in (KEY, *OTHERS):
                found = await store.load(key)
                same = found is not None and found.messages == (UserMessage(repr(key)),)
                must(same, f"{key!r} has not its own conversation")
            must(await _keys(store) == {KEY, *OTHERS}, "the list of all keys is another one")
            must(await store.delete(KEY) is True, "delete says that there was none")
            must(await _keys(store) == set(OTHERS), "to delete one key deleted others")

        self._run(work)

    def test_a_tenants_keys_are_its_own(self) -> None:
        """``None`` is those without a tenant, not every one; a tenant is no pattern and no prefix."""

        async def work(store: MemoryStore) -> None:
            for key in (KEY, *OTHERS):
                await store.save(key, conversation("x"), expected_version=0)
            tenants: list[str | None] = [None, "acme", "acm", "%", "null", "杭州", "nobody", ""]
            for tenant in tenants:
                own = {key for key in (KEY, *OTHERS) if key.tenant == tenant}
                must(await _keys(store, tenant) == own, f"the keys of the tenant {tenant!r} are not its own")
            must(await _keys(store) == {KEY, *OTHERS}, "the list of all keys is another one")

        self._run(work)

    def test_more_keys_than_a_page_are_listed_once_each(self) -> None:
        """However many there are."""

        async def work(store: MemoryStore) -> None:
            keys = [MemoryKey("acme", n) for n in range(_MANY)]
            await asyncio.gather(*(store.save(key, conversation("x"), expected_version=0) for key in keys))
            found = [key async for key in store.keys("acme")]
            must(len(found) == len(set(found)) == _MANY, f"of {_MANY} keys {len(found)} are listed")

        self._run(work)

    def test_what_is_older_expires(self) -> None:
        """What was updated before the time goes, of every tenant; what was updated just then stays."""

        async def work(store: MemoryStore) -> None:
            for n, key in enumerate(OTHERS[:6]):
                updated = NOON + timedelta(seconds=n)
                await store.save(key, conversation("x", updated=updated), expected_version=0)
            must(await store.expire(NOON + timedelta(seconds=3)) == 3, "expire does not count what it deleted")
            must(await _keys(store) == set(OTHERS[3:6]), "it expired too much or too little")
            must(await store.expire(NOON + timedelta(seconds=3)) == 0, "it expired something twice")

        self._run(work)

    def test_what_json_cannot_hold_is_refused_by_name(self) -> None:
        """With the place, and what was stored before stays."""

        async def work(store: MemoryStore) -> None:
            first = await store.save(KEY, conversation("one"), expected_version=0)
            call = AiMessage([ToolExecutionRequest("c1", "look")])
            result = ToolExecutionResultMessage("c1", "look", "seen", attributes={"order": object()})
            bad = replace(first, messages=History.of([call, result]))
            error = await _refused(lambda: store.save(KEY, bad, expected_version=first.version), RunStateError)
            place = getattr(error, "location", None)
            must(place == "messages[1].attributes.order", f"the refusal names the place {place!r}")
            must(await store.load(KEY) == first, "what was refused changed what was stored")

        self._run(work)

    def test_who_changes_what_was_given_changes_nothing_stored(self) -> None:
        """The state map that was loaded or stored is a copy."""

        async def work(store: MemoryStore) -> None:
            await store.save(KEY, replace(FULL, state={"n": [1]}), expected_version=0)
            for _ in range(2):
                found = await store.load(KEY)
                must(found is not None and found.state == {"n": [1]}, "what was loaded is what is stored, and no copy")
                assert found is not None
                found.state["n"].append(2)

        self._run(work)

    def test_a_cancelled_save_happened_or_did_not(self) -> None:
        """At whatever step the task ends: what is loaded then is the old conversation or the new one."""

        async def work(store: MemoryStore) -> None:
            version = (await store.save(KEY, conversation("0"), expected_version=0)).version
            for step in range(6):
                task = asyncio.ensure_future(store.save(KEY, conversation("new"), expected_version=version))
                for _ in range(step):
                    await asyncio.sleep(0)
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
                found = await store.load(KEY)
                must(found is not None, "a cancelled save lost the conversation")
                assert found is not None
                new = found.messages[0] == UserMessage("new")
                must(new == (found.version != version), "a cancelled save happened in part")
                version = (await store.save(KEY, conversation("0"), expected_version=found.version)).version

        self._run(work)

    def test_closing_twice_is_closing(self) -> None:
        """And a store that was never used can be closed."""

        async def work(store: MemoryStore) -> None:
            await store.aclose()
            await store.aclose()

        self._run(work)

    # -- inside ----------------------------------------------------------------------------------

    def _is_one(self, store: object) -> None:
        must(isinstance(store, MemoryStore), f"{type(store).__name__} lacks a method of MemoryStore")

    def _run(self, work: Callable[[MemoryStore], Coroutine[Any, Any, _T]]) -> _T:
        async def with_store() -> _T:
            async with self._opened() as store:
                return await work(store)

        return run(with_store, patience=self.patience)

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator[MemoryStore]:
        async with opened(self.store(), MemoryStore) as store:
            yield store


async def _keys(store: MemoryStore, tenant: str | AllTenants | None = ALL_TENANTS) -> set[MemoryKey]:
    return {key async for key in store.keys(tenant)}


async def _conflicts(store: MemoryStore, given: Conversation, version: int) -> None:
    await _refused(lambda: store.save(KEY, given, expected_version=version), MemoryConflictError)


async def _refused(work: Callable[[], Awaitable[object]], kind: type[Exception]) -> Exception:
    """The error with which it is refused."""
    try:
        await work()
    except kind as error:
        return error
    raise AssertionError(f"it was stored, and should be refused with {kind.__name__}")
