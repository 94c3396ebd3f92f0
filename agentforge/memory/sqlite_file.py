"""The file of conversations: how it is made, opened and recognised. Everything here runs on the store's own thread."""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from agentforge.memory.faults import MemoryStoreError

if TYPE_CHECKING:
    import sqlite3

__all__ = ("FILE_FORMAT_VERSION", "next_version", "open_file", "writing")

FILE_FORMAT_VERSION = 1
"""The version of the tables; a file of a newer one is refused."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS agentforge_memory (name TEXT PRIMARY KEY, value INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS agentforge_conversations (key TEXT PRIMARY KEY, tenant TEXT NOT NULL,"
    " version INTEGER NOT NULL, updated REAL NOT NULL, body TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS agentforge_conversations_tenant ON agentforge_conversations (tenant, key)",
    "CREATE INDEX IF NOT EXISTS agentforge_conversations_updated ON agentforge_conversations (updated)",
    f"INSERT OR IGNORE INTO agentforge_memory VALUES ('format', {FILE_FORMAT_VERSION}), ('last_version', 0)",
)
_PAUSE = 0.02


def open_file(path: str, timeout: float) -> sqlite3.Connection:
    """A connection to the file with its tables, made where they are not there yet. Raises `MemoryStoreError` for a file
    of a newer version, and what `sqlite3` raises."""
    import sqlite3

    if path != ":memory:":
        _make_private(path)
    connection = sqlite3.connect(path, timeout=timeout, isolation_level=None)
    try:
        _write_ahead(connection, timeout)
        # A turn that was stored stays stored when the power goes.
        connection.execute("PRAGMA synchronous = FULL")
        # What was deleted is overwritten, not only unlinked.
        connection.execute("PRAGMA secure_delete = ON").fetchone()
        with writing(connection):
            for statement in _TABLES:
                connection.execute(statement)
        (found,) = connection.execute("SELECT value FROM agentforge_memory WHERE name = 'format'").fetchone()
        if found != FILE_FORMAT_VERSION:
            raise MemoryStoreError(
                f"the file {Path(path).name!r} has conversations of format {found}; this AgentForge reads format "
                f"{FILE_FORMAT_VERSION}",
                location=path,
                next_step="Use the version of AgentForge that wrote it.",
            )
    except BaseException:
        connection.close()
        raise
    return connection


def _make_private(path: str) -> None:
    """Only the owner may read what users said. A file that is there keeps the rights that it was given."""
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise MemoryStoreError(
            f"the file of conversations cannot be made: {error.strerror}",
            location=path,
            next_step="Name a file in a folder that is there and that this program may write to.",
        ) from None


def _write_ahead(connection: sqlite3.Connection, timeout: float) -> None:
    """Readers and the writer do not wait for each other. Changing the mode needs the file alone, without queueing for
    it, so several processes that open a new file at once try in turn."""
    import sqlite3

    give_up = time.monotonic() + timeout
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL").fetchone()
            return
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > give_up:
                raise
        time.sleep(_PAUSE)


@contextlib.contextmanager
def writing(connection: sqlite3.Connection) -> Iterator[None]:
    """One transaction that has the right to write from its beginning."""
    import sqlite3

    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
        connection.execute("COMMIT")
    except BaseException:
        with contextlib.suppress(sqlite3.Error):  # it may have been undone already; the first error is the one to tell
            connection.execute("ROLLBACK")
        raise


def next_version(connection: sqlite3.Connection) -> int:
    """A number that this file has not given before; inside of `writing`."""
    connection.execute("UPDATE agentforge_memory SET value = value + 1 WHERE name = 'last_version'")
    (version,) = connection.execute("SELECT value FROM agentforge_memory WHERE name = 'last_version'").fetchone()
    return int(version)
