"""Every test of the suite for memory stores catches what is wrong in it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from agentforge.errors import RunStateError
from agentforge.memory import (
    ALL_TENANTS,
    AllTenants,
    Conversation,
    InMemoryStore,
    MemoryConflictError,
    MemoryKey,
)
from agentforge.testing import MemoryStoreContract
from tests.unit.testing.wrong import caught, names_of


class HalfAStore:
    async def load(self, key: MemoryKey) -> None:
        return None


class NeverEmpty(InMemoryStore):
    async def delete(self, key: MemoryKey) -> bool:
        await super().delete(key)
        return True


class Forgetful(InMemoryStore):
    """Without the state map."""

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        return await super().save(key, replace(conversation, state={}), expected_version=expected_version)


class LastWins(InMemoryStore):
    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        found = await self.load(key)
        return await super().save(key, conversation, expected_version=found.version if found else 0)


class CountsByConversation(InMemoryStore):
    """Whose versions begin anew."""

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        found = await self.load(key)
        self._last_version = found.version if found is not None else 0
        return await super().save(key, conversation, expected_version=expected_version)


class ChecksThenWrites(InMemoryStore):
    """With a step between the two."""

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        found = await self.load(key)
        await asyncio.sleep(0)
        if (found.version if found else 0) != expected_version:
            raise MemoryConflictError("no")
        there = await self.load(key)
        return await super().save(key, conversation, expected_version=there.version if there else 0)


class Folds(InMemoryStore):
    """Keys in small letters."""

    async def load(self, key: MemoryKey) -> Conversation | None:
        return await super().load(_small(key))

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        return await super().save(_small(key), conversation, expected_version=expected_version)


def _small(key: MemoryKey) -> MemoryKey:
    return MemoryKey(key.tenant.lower() if key.tenant is not None else None, key.memory_id)


class NoneIsAll(InMemoryStore):
    async def keys(self, tenant: str | AllTenants | None) -> AsyncIterator[MemoryKey]:
        async for key in super().keys(ALL_TENANTS if tenant is None else tenant):
            yield key


class OnePage(InMemoryStore):
    async def keys(self, tenant: str | AllTenants | None) -> AsyncIterator[MemoryKey]:
        count = 0
        async for key in super().keys(tenant):
            count += 1
            if count <= 1_000:
                yield key


class TooEager(InMemoryStore):
    """What was updated just then goes, too."""

    async def expire(self, older_than: datetime) -> int:
        old = [key for key, found in self._kept.items() if found.updated <= older_than]
        for key in old:
            del self._kept[key]
        return len(old)


class TakesAnything(InMemoryStore):
    """Until it is too late to refuse."""

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        try:
            return await super().save(key, conversation, expected_version=expected_version)
        except RunStateError:
            await super().delete(key)
            raise


class Keeper(InMemoryStore):
    """Gives away what it holds."""

    async def load(self, key: MemoryKey) -> Conversation | None:
        return self._kept.get(key)


class InTwoSteps(InMemoryStore):
    """Of which a cancellation may see the first alone."""

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        found = await self.load(key)
        if found is not None and found.version == expected_version:
            self._kept[key] = replace(conversation, version=found.version)
            await asyncio.sleep(0)
        return await super().save(key, conversation, expected_version=expected_version)


class ClosesOnce(InMemoryStore):
    closed = False

    async def aclose(self) -> None:
        assert not self.closed, "it is closed already"
        self.closed = True


WRONG: list[tuple[str, Callable[[], Any], str]] = [
    ("test_it_is_a_store", HalfAStore, "HalfAStore lacks a method of MemoryStore"),
    ("test_what_was_never_stored_is_not_there", NeverEmpty, "delete says that there was one"),
    ("test_a_conversation_comes_back_as_it_was", Forgetful, "is not what was stored"),
    ("test_each_save_needs_the_version_that_is_there", LastWins, "should be refused with MemoryConflictError"),
    ("test_what_was_deleted_does_not_come_back", CountsByConversation, "should be refused with MemoryConflictError"),
    ("test_of_many_who_store_at_once_one_does", ChecksThenWrites, "of 20 who stored at once 20 did"),
    ("test_keys_that_look_alike_are_apart", Folds, "is taken for another key"),
    ("test_a_tenants_keys_are_its_own", NoneIsAll, "the keys of the tenant None are not its own"),
    ("test_more_keys_than_a_page_are_listed_once_each", OnePage, "of 1203 keys 1000 are listed"),
    ("test_what_is_older_expires", TooEager, "expire does not count what it deleted"),
    ("test_what_json_cannot_hold_is_refused_by_name", TakesAnything, "what was refused changed what was stored"),
    ("test_who_changes_what_was_given_changes_nothing_stored", Keeper, "and no copy"),
    ("test_a_cancelled_save_happened_or_did_not", InTwoSteps, "a cancelled save happened in part"),
    ("test_closing_twice_is_closing", ClosesOnce, "it is closed already"),
]


@pytest.mark.parametrize(("test", "wrong", "words"), WRONG)
def test_a_wrong_store_is_caught(test: str, wrong: Callable[[], Any], words: str) -> None:
    """By the test that is about it, with a sentence that says what is wrong."""
    assert words in caught(MemoryStoreContract, test, store=lambda self: wrong(), patience=10)


def test_each_test_catches_something() -> None:
    assert names_of(MemoryStoreContract) == {test for test, _, _ in WRONG}


def test_a_suite_that_says_nothing_says_so() -> None:
    with pytest.raises(TypeError, match="must override store"):
        MemoryStoreContract().test_it_is_a_store()
