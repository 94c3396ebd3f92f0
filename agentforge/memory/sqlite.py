"""Conversations in one SQLite file, which several processes of one machine may share."""

from __future__ import annotations

import asyncio
import json
import os
import threading
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, TypeVar

from agentforge.errors import ConfigurationError, RunStateError
from agentforge.memory.conversation import Conversation
from agentforge.memory.faults import MemoryKeyError, MemoryStoreError, UnreadableConversationError
from agentforge.memory.key import ALL_TENANTS, AllTenants, MemoryKey
from agentforge.memory.sqlite_file import next_version, open_file, writing
from agentforge.memory.store import conflict

if TYPE_CHECKING:
    import sqlite3

__all__ = ("SqliteStore",)

_T = TypeVar("_T")
_PAGE = 500


class SqliteStore:
    """A `MemoryStore` in the file ``path`` (``":memory:"``: in this process), made at the first use, for its owner
    alone to read (mode 0600).

    One connection on one thread of its own, so that no event loop waits for the disk. Several processes may share the
    file; ``timeout`` (10 s) is how long one waits for another's write. What SQLite raises comes as `MemoryStoreError`.
    Close it with `aclose`.
    """

    def __init__(self, path: str | os.PathLike[str], *, timeout: float = 10.0) -> None:
        if not isinstance(timeout, (int, float)) or isinstance(timeout, bool) or timeout <= 0:
            raise ConfigurationError(f"timeout must be above 0 seconds, not {timeout!r}")
        self.path = os.fspath(path)
        if not self.path:
            raise ConfigurationError("the path of the file of conversations is empty")
        self._timeout = float(timeout)
        self._lock = threading.Lock()
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._closed = False

    async def start(self) -> None:
        """Open the file now, so that one that cannot be used is found at once. Raises `MemoryStoreError`."""
        await self._run(lambda connection: None)

    async def load(self, key: MemoryKey) -> Conversation | None:
        """The conversation, or ``None``. Raises `UnreadableConversationError`, `MemoryStoreError`."""
        row = await self._run(
            # As bytes: a text that is not UTF-8 is one conversation's fault, not the file's.
            lambda connection: connection.execute(
                "SELECT version, CAST(body AS BLOB) FROM agentforge_conversations WHERE key = ?", (key.encoded,)
            ).fetchone()
        )
        if row is None:
            return None
        version, body = row
        try:
            return replace(Conversation.from_json(body), version=version)
        except RunStateError as error:
            raise UnreadableConversationError(
                f"the stored conversation {key} cannot be read: {error.message}",
                location=f"{self.path}: {error.location}" if error.location else self.path,
                next_step=error.next_step or "Clear it, or restore the file; the other conversations are untouched.",
            ) from None

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        """Store it under its new version. Raises `MemoryConflictError`, `RunStateError`, `MemoryStoreError`."""
        # Its version stands in a column, which alone counts.
        body = _text(replace(conversation, version=0).to_json())
        row = (key.encoded, json.dumps(key.tenant), conversation.updated.timestamp(), body)

        def write(connection: sqlite3.Connection) -> int:
            with writing(connection):
                found = connection.execute(
                    "SELECT version FROM agentforge_conversations WHERE key = ?", (key.encoded,)
                ).fetchone()
                if (found[0] if found else 0) != expected_version:
                    raise conflict(key, expected_version, found[0] if found else 0)
                version = next_version(connection)
                connection.execute(
                    "INSERT OR REPLACE INTO agentforge_conversations (key, tenant, updated, body, version)"
                    " VALUES (?, ?, ?, ?, ?)",
                    (*row, version),
                )
                return version

        return replace(conversation, version=await self._run(write))

    async def delete(self, key: MemoryKey) -> bool:
        """Forget the conversation, readable or not; whether there was one."""
        return await self._change("DELETE FROM agentforge_conversations WHERE key = ?", key.encoded) > 0

    async def keys(self, tenant: str | AllTenants | None) -> AsyncIterator[MemoryKey]:
        """The keys of one tenant or of all, read page by page."""
        where, given = ("", ()) if tenant is ALL_TENANTS else (" AND tenant = ?", (json.dumps(tenant),))
        query = f"SELECT key FROM agentforge_conversations WHERE key > ?{where} ORDER BY key LIMIT {_PAGE}"
        last = ""
        while True:
            page = await self._run(
                lambda connection, after=last: connection.execute(query, (after, *given)).fetchall()  # type: ignore[misc]
            )
            for (last,) in page:
                yield self._key(last)
            if len(page) < _PAGE:
                return

    async def expire(self, older_than: datetime) -> int:
        """Delete what was last updated before that; how many."""
        return await self._change("DELETE FROM agentforge_conversations WHERE updated < ?", older_than.timestamp())

    async def aclose(self) -> None:
        """Finish what was begun, close the file and end the thread; safe to call twice."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._closed = True
        if thread is not None:
            await asyncio.get_running_loop().run_in_executor(thread, self._close)
            thread.shutdown()

    def __repr__(self) -> str:
        return f"SqliteStore({self.path!r})"

    # -- on the thread -----------------------------------------------------------------------------

    def _key(self, text: str) -> MemoryKey:
        try:
            return MemoryKey.decode(text)
        except MemoryKeyError as error:
            raise UnreadableConversationError(
                f"a row of the stored conversations has a key that cannot be read: {error.message}",
                location=self.path,
                next_step="Remove the row, or restore the file; the other conversations are untouched.",
            ) from None

    async def _change(self, statement: str, value: object) -> int:
        def work(connection: sqlite3.Connection) -> int:
            with writing(connection):
                return connection.execute(statement, (value,)).rowcount

        return await self._run(work)

    async def _run(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        with self._lock:
            if self._closed:
                raise MemoryStoreError("this store of conversations is closed", location=self.path)
            if self._thread is None:
                self._thread = ThreadPoolExecutor(1, thread_name_prefix="agentforge-memory")
            # Handed over inside the lock: what comes before a close is done before it.
            done = self._thread.submit(self._with_connection, work)
        return await asyncio.wrap_future(done)

    def _with_connection(self, work: Callable[[sqlite3.Connection], _T]) -> _T:
        import sqlite3

        try:
            if self._connection is None:
                self._connection = open_file(self.path, self._timeout)
            return work(self._connection)
        except sqlite3.Error as error:
            raise MemoryStoreError(
                f"the store of conversations cannot be used: {error}",
                location=self.path,
                next_step="Another program holds the file: see who, or give a longer timeout."
                if "locked" in str(error)
                else "See that this is a file of AgentForge's conversations, that its folder may be written to, "
                "and that the disk has room.",
            ) from error

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.close()


def _text(data: object) -> str:
    """JSON as people read it, unless a text in it is no Unicode (half a surrogate pair), which UTF-8 cannot hold."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(data, separators=(",", ":"))
    return text
