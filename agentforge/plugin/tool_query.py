"""Tools that are rows of a database: one query, whose columns are the fields of a tool."""

from __future__ import annotations

import contextlib
import inspect
import json
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from agentforge.errors import ConfigurationError
from agentforge.plugin.declared_tool import DeclaredToolSettings, tool_of
from agentforge.tool import DeclaredTool

__all__ = ("ToolQuery",)

_WHOLE = "specification"
_JSON = ("parameters", "metadata", _WHOLE)
_TEXTS = (str, bytes, bytearray, memoryview)
_AT_ONCE = 100  # rows
_INSTRUCTIONS = 10_000  # of SQLite's, between two looks at the clock
# What is stopped before a load may take no longer leaves no thread behind: a tenth of that time before, or a second,
# but never more than half of it.
_MARGIN, _LEAST_MARGIN, _MOST_MARGIN = 0.1, 1.0, 0.5
# SQLite's words in ours, by its codes, with what to do.
_WORDS = {
    sqlite3.SQLITE_INTERRUPT: ("the query takes too long", "Make it faster, or raise timeout."),
    sqlite3.SQLITE_AUTH: (
        "the query opens or makes another database (ATTACH, VACUUM), which is refused",
        "Write a select over this database alone, or give a connection of your own.",
    ),
}


class ToolQuery:
    """A callable that gives the tools of a query, for `RefreshingTools`, which calls it on a thread.

    ``connect`` gives a connection of DB-API 2.0, which is closed afterwards. The columns are fields of a declared tool,
    ``parameters`` and ``metadata`` as JSON, in any order; what is NULL is unset. Or there is one column
    ``specification`` with a whole tool as JSON. At most ``max_rows`` rows and one are read, and texts of ``max_bytes``
    together. It raises `ConfigurationError`, and what the database raises.
    """

    def __init__(self, query: str, connect: Callable[[], Any], *, max_rows: int, max_bytes: int) -> None:
        self._query = query
        self._connect = connect
        self._max_rows = max_rows
        self._max_bytes = max_bytes

    @classmethod
    def of_file(cls, query: str, path: Path, *, timeout: float, max_rows: int, max_bytes: int) -> ToolQuery:
        """Of a file of SQLite, which is opened to be read only, and no other file with it; the query is stopped after
        ``timeout`` seconds."""
        return cls(query, lambda: _opened(path, timeout, max_bytes), max_rows=max_rows, max_bytes=max_bytes)

    def __call__(self) -> list[DeclaredTool]:
        """The tools."""
        connection = self._connect()
        if not hasattr(connection, "cursor"):
            if inspect.iscoroutine(connection):
                connection.close()
            raise ConfigurationError(
                f"the connection is of type {type(connection).__name__}, which has no cursor",
                next_step="Give a plain function that returns a connection of DB-API 2.0.",
            )
        with contextlib.closing(connection), contextlib.closing(connection.cursor()) as cursor, _in_our_words():
            cursor.execute(self._query)
            if cursor.description is None:
                raise ConfigurationError("the query gives no rows", next_step="Write a select.")
            columns = _columns([str(column[0]) for column in cursor.description])
            return [_tool(columns, row, f"row {number}") for number, row in enumerate(self._rows(cursor), 1)]

    def _rows(self, cursor: Any) -> Iterator[Sequence[Any]]:
        left, size = self._max_rows + 1, 0
        while left and (found := cursor.fetchmany(min(left, _AT_ONCE))):
            size += sum(len(value) for row in found for value in row if isinstance(value, _TEXTS))
            if size > self._max_bytes:
                raise ConfigurationError(
                    f"the rows are larger than {self._max_bytes} bytes",
                    next_step="Raise max_body_bytes if the query really gives rows of this size.",
                )
            yield from found
            left -= len(found)


def _tool(columns: Sequence[str], row: Sequence[Any], where: str) -> DeclaredTool:
    values = dict(zip(columns, row, strict=True))
    for name in _JSON:
        text = values.get(name)
        if isinstance(text, _TEXTS):  # a database with a type for JSON has read it already
            try:
                values[name] = json.loads(text if isinstance(text, str) else bytes(text))
            except (ValueError, RecursionError) as error:
                raise ConfigurationError(f"{where}: {name!r} is not JSON: {error}") from None
    if _WHOLE in values:
        return tool_of(values[_WHOLE], where).declared
    return tool_of({name: value for name, value in values.items() if value is not None}, where).declared


def _columns(given: Sequence[str]) -> list[str]:
    """The columns as fields of a tool; databases differ in the case that they tell."""
    from agentforge.config.diagnostic import did_you_mean

    columns = [name.lower() for name in given]
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise ConfigurationError(f"the query has two columns {twice!r}", next_step="Name each of them once.")
    if _WHOLE in columns:
        if len(columns) > 1:
            other = next(name for name in columns if name != _WHOLE)
            raise ConfigurationError(
                f"the query has the column {other!r} beside {_WHOLE!r}, which is a whole tool",
                next_step="Select the specification alone, or the fields alone.",
            )
        return columns
    for name in columns:
        if name not in DeclaredToolSettings.model_fields:
            raise ConfigurationError(
                f"the query has a column {name!r}, which is no field of a tool",
                next_step=did_you_mean(name, [*DeclaredToolSettings.model_fields, _WHOLE]),
            )
    if "name" not in columns:
        raise ConfigurationError("the query has no column 'name'", next_step="Select it, or a specification.")
    return columns


@contextlib.contextmanager
def _in_our_words() -> Iterator[None]:
    """Errors of SQLite that need them; a connection may be to any other database."""
    try:
        yield
    except sqlite3.DatabaseError as error:
        found = _WORDS.get(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK))
        if found is None:
            raise
        raise ConfigurationError(found[0], next_step=found[1]) from None


def _alone(action: int, *_: str | None) -> int:
    """Denies any other file: that the own one is read only says nothing of what ATTACH and VACUUM INTO make."""
    return sqlite3.SQLITE_DENY if action == sqlite3.SQLITE_ATTACH else sqlite3.SQLITE_OK


def _opened(path: Path, timeout: float, max_bytes: int) -> sqlite3.Connection:
    if not path.is_file():
        raise ConfigurationError(
            f"the database '{path}' {'is no file' if path.exists() else 'does not exist'}",
            next_step="Check the path; it starts at the folder of the file in which it stands.",
        )
    seconds = timeout - max(_MARGIN * timeout, min(_LEAST_MARGIN, _MOST_MARGIN * timeout))
    until = time.monotonic() + seconds
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=seconds)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, max_bytes)
    connection.set_authorizer(_alone)
    connection.set_progress_handler(lambda: time.monotonic() > until, _INSTRUCTIONS)
    return connection
