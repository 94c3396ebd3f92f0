"""The two stores: both keep the contract, and each what it alone promises."""

from __future__ import annotations

import asyncio
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from agentforge.errors import ConfigurationError
from agentforge.memory import (
    ALL_TENANTS,
    Conversation,
    InMemoryStore,
    MemoryConflictError,
    MemoryKey,
    MemoryStore,
    MemoryStoreError,
    SqliteStore,
    Suspension,
    UnreadableConversationError,
)
from agentforge.model import UserMessage
from agentforge.testing import MemoryStoreContract
from agentforge.testing.contracts.memory_store import FULL, KEY, NOON, conversation

OTHER = MemoryKey("acme", "other")


class TestInMemoryStore(MemoryStoreContract):
    """In the process."""

    def store(self) -> MemoryStore:
        return InMemoryStore()


class TestSqliteStore(MemoryStoreContract):
    """In a file."""

    @asynccontextmanager
    async def store(self) -> AsyncIterator[MemoryStore]:
        with TemporaryDirectory() as folder:
            store = SqliteStore(Path(folder) / "conversations.db")
            yield store
            await store.aclose()


class TestSqliteStoreWithoutAFile(MemoryStoreContract):
    """In SQLite's memory."""

    def store(self) -> MemoryStore:
        return SqliteStore(":memory:")


# -- in the process ------------------------------------------------------------------------------


async def test_the_longest_unused_conversation_goes_when_there_are_too_many() -> None:
    """A load is a use; what was just stored never goes."""
    store = InMemoryStore(max_conversations=2)
    for n in (1, 2):
        await store.save(MemoryKey(None, n), conversation(str(n)), expected_version=0)
    await store.load(MemoryKey(None, 1))
    await store.save(MemoryKey(None, 3), conversation("3"), expected_version=0)

    assert [key.memory_id async for key in store.keys(ALL_TENANTS)] == ["1", "3"]
    assert len(store) == 2


async def test_a_suspended_conversation_goes_last() -> None:
    """Somebody still has to decide about it; only where all are suspended one of them goes."""
    store = InMemoryStore(max_conversations=2)
    waiting = FULL
    await store.save(MemoryKey(None, "waits"), waiting, expected_version=0)
    for n in range(3):
        await store.save(MemoryKey(None, n), conversation("x"), expected_version=0)
    assert [key.memory_id async for key in store.keys(ALL_TENANTS)] == ["waits", "2"]
    await store.delete(MemoryKey(None, "2"))
    for n in ("second", "third"):
        await store.save(MemoryKey(None, n), waiting, expected_version=0)

    assert [key.memory_id async for key in store.keys(ALL_TENANTS)] == ["second", "third"]


@pytest.mark.parametrize("bound", [0, -1, 1.5, True, "2"])
def test_a_bound_that_is_none_is_refused(bound: object) -> None:
    """When the store is made."""
    with pytest.raises(ConfigurationError, match="max_conversations"):
        InMemoryStore(max_conversations=bound)  # type: ignore[arg-type]


# -- in a file -----------------------------------------------------------------------------------


async def test_a_file_is_its_owners_alone(tmp_path: Path) -> None:
    """Whatever the process's mask says; its companions too. A file that is there keeps its rights."""
    path = tmp_path / "conversations.db"
    before = os.umask(0)
    try:
        store = SqliteStore(path)
        await store.save(KEY, FULL, expected_version=0)
        modes = {name: _mode(tmp_path / name) for name in os.listdir(tmp_path)}
        await store.aclose()
    finally:
        os.umask(before)
    assert set(modes.values()) == {0o600}
    assert "conversations.db-wal" in modes
    path.chmod(0o640)
    again = SqliteStore(path)
    await again.load(KEY)
    await again.aclose()

    assert _mode(path) == 0o640


async def test_what_was_stored_outlives_the_store(tmp_path: Path) -> None:
    """A second store of the file has all of it, and goes on with the versions."""
    first = SqliteStore(tmp_path / "c.db")
    stored = await first.save(KEY, FULL, expected_version=0)
    await first.delete(KEY)
    await first.aclose()
    second = SqliteStore(tmp_path / "c.db")
    again = await second.save(KEY, FULL, expected_version=0)

    assert again.version > stored.version
    assert await second.load(KEY) == again
    await second.aclose()


async def test_closing_leaves_no_thread_and_a_closed_store_says_so(tmp_path: Path) -> None:
    """What was begun before is finished; what comes after is refused."""
    threads = threading.active_count()
    store = SqliteStore(tmp_path / "c.db")
    await store.start()
    saves = [asyncio.create_task(store.save(MemoryKey(None, n), FULL, expected_version=0)) for n in range(20)]
    await asyncio.sleep(0)
    await store.aclose()
    await asyncio.gather(*saves)

    assert threading.active_count() == threads
    with pytest.raises(MemoryStoreError, match="closed"):
        await store.load(KEY)
    again = SqliteStore(tmp_path / "c.db")
    assert len([key async for key in again.keys(ALL_TENANTS)]) == 20
    await again.aclose()


def test_one_store_serves_several_event_loops(tmp_path: Path) -> None:
    """One after the other, as the synchronous twins and a server's loop would."""
    store = SqliteStore(tmp_path / "c.db")
    stored = asyncio.run(store.save(KEY, FULL, expected_version=0))

    assert asyncio.run(store.load(KEY)) == stored
    asyncio.run(store.aclose())


DAMAGE = {
    "no JSON": ("{", "not JSON"),
    "not UTF-8": (b"\xff\xfe\xfd", "not"),
    "another version": ('{"version": 2}', "version 2 cannot be read"),
    "another thing": ("[1]", "an object is needed"),
    "a field too many": ('{"version": 1, "more": 1}', "unknown field"),
    "a field too few": ('{"version": 1, "revision": 0}', "the field is missing"),
    "nested beyond reason": ("[" * 200_000, "nested too deeply"),
}


@pytest.mark.parametrize("kind", DAMAGE)
async def test_a_damaged_conversation_harms_no_other(tmp_path: Path, kind: str) -> None:
    """It is refused by name and place, the others are read; it is listed, and can be deleted and begun anew."""
    body, message = DAMAGE[kind]
    store = SqliteStore(tmp_path / "c.db")
    await store.save(KEY, FULL, expected_version=0)
    other = await store.save(OTHER, FULL, expected_version=0)
    _change(tmp_path / "c.db", "UPDATE agentforge_conversations SET body = ? WHERE key = ?", body, KEY.encoded)
    with pytest.raises(UnreadableConversationError, match=message) as caught:
        await store.load(KEY)

    assert caught.value.code == "AF603"
    assert "'42' of tenant 'acme'" in caught.value.message
    assert str(tmp_path) in (caught.value.location or "")
    assert await store.load(OTHER) == other
    assert {key async for key in store.keys(ALL_TENANTS)} == {KEY, OTHER}
    with pytest.raises(MemoryConflictError):
        await store.save(KEY, FULL, expected_version=0)
    assert await store.delete(KEY)
    await store.save(KEY, FULL, expected_version=0)
    await store.aclose()


async def test_a_place_inside_the_messages_is_told(tmp_path: Path) -> None:
    """Down to the field."""
    store = SqliteStore(tmp_path / "c.db")
    await store.save(KEY, conversation("x"), expected_version=0)
    _change(tmp_path / "c.db", "UPDATE agentforge_conversations SET body = replace(body, '\"user\"', '\"usr\"')")
    with pytest.raises(UnreadableConversationError) as caught:
        await store.load(KEY)

    assert (caught.value.location or "").endswith("c.db: messages.messages[0].type")
    await store.aclose()


async def test_a_key_that_is_none_is_told(tmp_path: Path) -> None:
    """Listing says so instead of leaving it out."""
    store = SqliteStore(tmp_path / "c.db")
    await store.save(KEY, FULL, expected_version=0)
    _change(tmp_path / "c.db", "UPDATE agentforge_conversations SET key = 'x'")
    with pytest.raises(UnreadableConversationError, match="key"):
        [key async for key in store.keys(ALL_TENANTS)]
    await store.aclose()


async def test_a_file_of_something_else_is_refused_and_left_alone(tmp_path: Path) -> None:
    """A text file stays what it was."""
    path = tmp_path / "notes.txt"
    path.write_text("dear diary, " * 100)
    store = SqliteStore(path)
    with pytest.raises(MemoryStoreError, match="cannot be used") as caught:
        await store.start()

    assert caught.value.location == str(path)
    assert caught.value.next_step
    assert path.read_text() == "dear diary, " * 100
    await store.aclose()


async def test_a_file_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    """Before anything is written."""
    await (store := SqliteStore(tmp_path / "c.db")).start()
    await store.aclose()
    _change(tmp_path / "c.db", "UPDATE agentforge_memory SET value = 2 WHERE name = 'format'")
    newer = SqliteStore(tmp_path / "c.db")
    with pytest.raises(MemoryStoreError, match="format 2"):
        await newer.load(KEY)
    await newer.aclose()


async def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    """And once it is there the same store works."""
    store = SqliteStore(tmp_path / "later" / "c.db")
    with pytest.raises(MemoryStoreError, match="cannot be made"):
        await store.load(KEY)
    (tmp_path / "later").mkdir()

    assert await store.load(KEY) is None
    await store.aclose()


async def test_a_file_that_somebody_holds_is_told(tmp_path: Path) -> None:
    """After the time that was set, and nothing of the write is left."""
    store = SqliteStore(tmp_path / "c.db", timeout=0.01)
    await store.start()
    holder = sqlite3.connect(tmp_path / "c.db", isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(MemoryStoreError, match="locked") as caught:
        await store.save(KEY, FULL, expected_version=0)
    holder.execute("ROLLBACK")
    holder.close()

    assert "timeout" in (caught.value.next_step or "")
    assert await store.load(KEY) is None
    await store.save(KEY, FULL, expected_version=0)
    await store.aclose()


@pytest.mark.parametrize(("path", "timeout"), [("", 1), ("c.db", 0), ("c.db", -1), ("c.db", True), ("c.db", "1")])
def test_settings_that_cannot_be_honoured_are_refused(path: str, timeout: object) -> None:
    """When the store is made."""
    with pytest.raises(ConfigurationError):
        SqliteStore(path, timeout=timeout)  # type: ignore[arg-type]


WORKER = """
import asyncio, sys
from dataclasses import replace
from agentforge.memory import MemoryConflictError, MemoryKey, SqliteStore
from agentforge.model import History, UserMessage
from agentforge.testing.contracts.memory_store import conversation

async def add(store, key, text):
    while True:
        found = await store.load(key) or conversation()
        longer = replace(found, messages=History((*found.messages, UserMessage(text))))
        try:
            return await store.save(key, longer, expected_version=found.version)
        except MemoryConflictError:
            pass

async def work():
    store = SqliteStore(sys.argv[1])
    for n in range(25):
        await add(store, MemoryKey("acme", "shared"), f"{sys.argv[2]}-{n}")
    await store.aclose()

asyncio.run(work())
"""


def test_several_processes_share_a_file_and_lose_nothing(tmp_path: Path) -> None:
    """They open it new at the same moment, store over each other, and repeat what was a conflict."""
    root = Path(__file__).parents[3]
    command = [sys.executable, "-c", WORKER, str(tmp_path / "c.db")]
    workers = [subprocess.Popen([*command, str(n)], cwd=root, stderr=subprocess.PIPE) for n in range(4)]
    errors = [worker.communicate(timeout=120)[1] for worker in workers]
    assert errors == [b""] * 4
    found = asyncio.run(_loaded(tmp_path / "c.db", MemoryKey("acme", "shared")))

    assert found is not None
    said = [message.text for message in found.messages if isinstance(message, UserMessage)]
    assert sorted(said) == sorted(f"{worker}-{n}" for worker in range(4) for n in range(25))
    for worker in range(4):
        own = [text for text in said if text.startswith(f"{worker}-")]
        assert own == [f"{worker}-{n}" for n in range(25)]


async def _loaded(path: Path, key: MemoryKey) -> Conversation | None:
    store = SqliteStore(path)
    found = await store.load(key)
    await store.aclose()
    return found


def _mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def _change(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    connection.execute(statement, values)
    connection.commit()
    connection.close()


def test_the_full_conversation_of_these_tests_is_suspended() -> None:
    """So that the stores are tried with one."""
    assert FULL.suspended == Suspension({"version": 1, "waiting": [{"position": 0}]}, NOON, {"found": []})
