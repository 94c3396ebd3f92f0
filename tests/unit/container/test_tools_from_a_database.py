"""Tools that are rows: what a query may give, what is refused, and what a client offers when the table changes."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge, ReturnBehavior, Run, ToolOutcome
from agentforge.client import ChatClient
from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge.tool import BoundTool, RefreshingTools

SCHEMA = json.dumps({"type": "object", "properties": {"host": {"type": "string"}}, "required": ["host"]})


def run_it(request: Any) -> str:
    return f"{request.name}: {request.arguments_as_map().get('host')}"


@pytest.fixture
def execute(tmp_path: Path) -> Callable[..., None]:
    """Runs a statement on the file that the tools come from, and commits it."""

    def run(statement: str, *values: object) -> None:
        connection = sqlite3.connect(tmp_path / "tools.db")
        with connection:
            connection.execute(statement, values)
        connection.close()

    run("CREATE TABLE tools (name TEXT, description TEXT, parameters TEXT, effect TEXT)")
    run("INSERT INTO tools VALUES ('restart', 'Restart a machine.', ?, 'write')", SCHEMA)
    return run


def app_of(folder: Path, *turns: Any, **settings: Any) -> AgentForge:
    """A client whose tools are rows of the file; settings of the source override those."""
    sql = settings.pop("sql", {"database": "tools.db", "query": "SELECT * FROM tools ORDER BY name"})
    beans = {
        "runner": run_it,
        "data": {"type": "refreshing_tools", "executor": "runner", "sql": sql, **settings},
        "model": {"type": "scripted", "turns": list(turns) or ["Done."]},
        "client": {
            "type": "chat_client",
            "model": "model",
            "tools": ["data"],
            "error_handlers": {"unknown_tool": "list_known_tools", "arguments": "return_to_model"},
        },
    }
    return AgentForge.from_mapping({"beans": beans}, folder=folder, environment={})


def names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def offered(app: AgentForge) -> dict[str, BoundTool]:
    async with app:
        return {each.name: each for each in await app.get(RefreshingTools).tools(Run())}


async def test_a_client_offers_what_is_in_the_table_from_turn_to_turn(
    tmp_path: Path, execute: Callable[..., None]
) -> None:
    """What is added can be called, what is taken away cannot."""
    turns = [
        {"calls": [{"name": "restart", "arguments": {"host": "web-1"}}, {"name": "stop", "arguments": {"host": "b"}}]},
        "Done.",
        {"calls": [{"name": "restart", "arguments": {"host": "web-1"}}, {"name": "stop", "arguments": {"host": "b"}}]},
        "Done.",
    ]
    async with app_of(tmp_path, *turns) as app:
        client, source = app.get(ChatClient), app.get(RefreshingTools)
        first = await client.prompt("go").call()
        execute("UPDATE tools SET name = 'stop'")
        assert await source.refresh()
        second = await client.prompt("go").call()

    unknown = ToolOutcome.UNKNOWN_TOOL
    assert [each.outcome for each in first.tool_executions] == [ToolOutcome.OK, unknown]
    assert [each.outcome for each in second.tool_executions] == [unknown, ToolOutcome.OK]
    assert second.tool_executions[1].result_text() == "stop: b"


async def test_a_database_that_is_away_for_a_while_leaves_the_client_as_it_is(
    tmp_path: Path, execute: Callable[..., None]
) -> None:
    call = {"calls": [{"name": "restart", "arguments": {"host": "web-1"}}]}
    async with app_of(tmp_path, call, "Done.", call, "Done.") as app:
        source = app.get(RefreshingTools)
        (tmp_path / "tools.db").rename(tmp_path / "away.db")
        with pytest.raises(ConfigurationError, match=r"the database '.*tools\.db' does not exist"):
            await source.refresh()
        during = await app.get(ChatClient).prompt("go").call()
        (tmp_path / "away.db").rename(tmp_path / "tools.db")
        execute("DELETE FROM tools")
        with pytest.raises(ConfigurationError, match="there are none"):
            await source.refresh()
        after = await app.get(ChatClient).prompt("go").call()

    assert [each.outcome for each in (*during.tool_executions, *after.tool_executions)] == [ToolOutcome.OK] * 2


async def test_the_arguments_are_checked_against_the_schema_of_the_row(
    tmp_path: Path, execute: Callable[..., None]
) -> None:
    async with app_of(tmp_path, {"calls": [{"name": "restart", "arguments": {"hots": "web-1"}}]}, "Done.") as app:
        result = await app.get(ChatClient).prompt("go").call()

    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.INVALID_ARGUMENTS]


WHOLE = {"name": "a", "description": "A.", "return_direct": True, "timeout": "2s", "parameters": json.loads(SCHEMA)}
ROWS: dict[str, tuple[str, dict[str, Any]]] = {
    "a name alone": ("SELECT 'a' AS name", {}),
    "what is null is unset": ("SELECT 'a' AS name, NULL AS description, NULL AS effect, NULL AS sequential", {}),
    "names of columns in another case": ("SELECT 'a' AS NAME, 'read' AS Effect", {"effect": "read"}),
    "numbers for truth values": ("SELECT 'a' AS name, 1 AS sequential", {"sequential": True}),
    "a time as a number": ("SELECT 'a' AS name, 1.5 AS timeout", {"timeout": 1.5}),
    "a time as a text": ("SELECT 'a' AS name, '2m' AS timeout", {"timeout": 120.0}),
    "where the result goes": (
        "SELECT 'a' AS name, 'immediate' AS return_behavior",
        {"return_behavior": ReturnBehavior.IMMEDIATE},
    ),
    "a key": ("SELECT 'a' AS name, 'till' AS serial", {"serial": "till"}),
    "JSON as bytes": ("SELECT 'a' AS name, CAST('{\"type\":\"object\"}' AS BLOB) AS parameters", {}),
    "a whole tool": (
        f"SELECT '{json.dumps(WHOLE)}' AS specification",
        {"return_behavior": ReturnBehavior.IMMEDIATE, "timeout": 2.0},
    ),
}


@pytest.mark.parametrize(("query", "expected"), ROWS.values(), ids=ROWS)
async def test_a_row_says_all_that_a_file_can_say(
    tmp_path: Path, execute: Callable[..., None], query: str, expected: dict[str, Any]
) -> None:
    found = await offered(app_of(tmp_path, sql={"database": "tools.db", "query": query}))

    assert {name: getattr(found["a"], name) for name in expected} == expected
    assert (found["a"].source_name, list(found)) == ("data", ["a"])


async def test_metadata_and_strict_reach_the_specification(tmp_path: Path, execute: Callable[..., None]) -> None:
    query = "SELECT 'a' AS name, 1 AS strict, '{\"team\": \"till\"}' AS metadata"
    found = await offered(app_of(tmp_path, sql={"database": "tools.db", "query": query}))

    assert (found["a"].specification.strict, dict(found["a"].specification.metadata)) == (True, {"team": "till"})


ANOTHER = (
    "the query opens or makes another database (ATTACH, VACUUM), which is refused",
    "Write a select over this database alone, or give a connection of your own.",
)
WRONG: dict[str, tuple[str, str, str | None]] = {
    "an unknown column": (
        "SELECT 'a' AS name, 'A.' AS descripton",
        "the query has a column 'descripton', which is no field of a tool",
        "Did you mean 'description'?",
    ),
    "no name": ("SELECT 'A.' AS description", "the query has no column 'name'", "Select it, or a specification."),
    "a column twice": (
        "SELECT 'a' AS name, 'b' AS name",
        "the query has two columns 'name'",
        "Name each of them once.",
    ),
    "a specification and more": (
        "SELECT '{}' AS specification, 'a' AS name",
        "the query has the column 'name' beside 'specification', which is a whole tool",
        "Select the specification alone, or the fields alone.",
    ),
    "a name that is null": ("SELECT NULL AS name", "row 1 does not fit: name: Field required", None),
    "a name that is none": ("SELECT '' AS name", "row 1 does not fit: name: ", None),
    "a schema that is no JSON": (
        "SELECT 'a' AS name, NULL AS parameters UNION ALL SELECT 'b', '{'",
        "row 2: 'parameters' is not JSON: ",
        None,
    ),
    "a schema that is no object": (
        "SELECT 'a' AS name, '[1]' AS parameters",
        "row 1 ('a') does not fit: parameters: ",
        None,
    ),
    "a schema of another root": (
        "SELECT 'a' AS name, '{\"type\": \"array\"}' AS parameters",
        "row 1 ('a') does not fit: the schema of tool 'a' has the root type 'array'",
        None,
    ),
    "an effect that is none": ("SELECT 'a' AS name, 'maybe' AS effect", "row 1 ('a') does not fit: effect: ", None),
    "a specification that is no object": ("SELECT '[1]' AS specification", "row 1 is no object", None),
    "a specification that is null": ("SELECT NULL AS specification", "row 1 is no object", None),
    "two of one name": ("SELECT 'a' AS name UNION ALL SELECT 'a'", "two tools are named 'a'", None),
    "too many": (
        'SELECT value AS name FROM json_each(\'["a", "b", "c", "d"]\')',
        "there are more than 3",
        "Declare fewer, or raise max_tools.",
    ),
    "too large together": (
        "SELECT 't' || value AS name, printf('%0900d', 1) AS description FROM json_each('[1, 2]')",
        "the rows are larger than 1500 bytes",
        "Raise max_body_bytes if the query really gives rows of this size.",
    ),
    "a value that is too large": ("SELECT 'a' AS name, hex(zeroblob(900)) AS description", "too big", None),
    "a statement without rows": ("PRAGMA query_only = 1", "the query gives no rows", "Write a select."),
    "no such table": ("SELECT * FROM tols", "OperationalError: no such table: tols", None),
    "a write": ("DELETE FROM tools RETURNING name", "attempt to write a readonly database", None),
    "a write elsewhere": ("ATTACH DATABASE 'file:other.db?mode=rwc' AS other", *ANOTHER),
    "a copy elsewhere": ("VACUUM INTO 'other.db'", *ANOTHER),
    "a text that is none": ("SELECT CAST(x'ff' AS text) AS name", "Could not decode to UTF-8", None),
}


@pytest.mark.parametrize(("query", "message", "step"), WRONG.values(), ids=WRONG)
async def test_what_does_not_fit_is_told_at_the_start(
    tmp_path: Path,
    execute: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    query: str,
    message: str,
    step: str | None,
) -> None:
    monkeypatch.chdir(tmp_path)  # where a file that a statement makes would lie
    app = app_of(tmp_path, sql={"database": "tools.db", "query": query}, max_tools=3, max_body_bytes=1500)
    with pytest.raises(ConfigurationError, match="the tools of 'data' could not be loaded") as caught:
        await offered(app)

    assert message in caught.value.message
    assert step is None or caught.value.next_step == step
    assert "bean 'data'" in str(caught.value.location)
    connection = sqlite3.connect(tmp_path / "tools.db")
    assert connection.execute("SELECT count(*) FROM tools").fetchone() == (1,)
    connection.close()
    assert names_in(tmp_path) == ["tools.db"]


async def test_a_query_that_never_ends_is_stopped(tmp_path: Path, execute: Callable[..., None]) -> None:
    """Its thread is free for the next one."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i FROM n) SELECT i AS name FROM n WHERE i > 1"
    execute("CREATE VIEW offered AS SELECT * FROM tools")
    sql = {"database": "tools.db", "query": "SELECT * FROM offered"}
    async with app_of(tmp_path, sql=sql, timeout="200ms") as app:
        source = app.get(RefreshingTools)
        execute("DROP VIEW offered")
        execute(f"CREATE VIEW offered AS {endless}")
        for _ in range(2):
            with pytest.raises(ConfigurationError, match="could not be loaded: the query takes too long"):
                await source.refresh()
        execute("DROP VIEW offered")
        execute("CREATE VIEW offered AS SELECT 'b' AS name")
        assert await source.refresh()


@pytest.mark.parametrize("place", [".", "none.db"], ids=["a folder", "nothing"])
async def test_a_database_that_is_no_file_is_told_and_none_is_made(tmp_path: Path, place: str) -> None:
    with pytest.raises(ConfigurationError, match=r"the database '.*' (is no file|does not exist)"):
        await offered(app_of(tmp_path, sql={"database": place, "query": "SELECT 'a' AS name"}))
    assert names_in(tmp_path) == []


# -- a connection of one's own -----------------------------------------------------------------------------------------


class Connection:
    """A connection of DB-API 2.0 over two rows; it notes its end. ``rows`` hold JSON as the driver has read it."""

    def __init__(self) -> None:
        self.closed = 0
        self.asked: list[str] = []
        self.description = (("name", None), ("parameters", None))
        self._rows = [("a", {"type": "object"}), ("b", None)]

    def cursor(self) -> Connection:
        return self

    def execute(self, query: str) -> None:
        self.asked.append(query)

    def fetchmany(self, size: int) -> list[tuple[Any, ...]]:
        found, self._rows = self._rows[:1], self._rows[1:]
        return found

    def close(self) -> None:
        self.closed += 1


async def test_a_connection_is_opened_for_each_load_and_closed(tmp_path: Path) -> None:
    opened: list[Connection] = []

    def connect() -> Connection:
        opened.append(Connection())
        return opened[-1]

    beans: dict[str, Any] = {
        "runner": run_it,
        "database": connect,
        "data": {
            "type": "refreshing_tools",
            "executor": "runner",
            "sql": {"connection": "database", "query": "SELECT 1"},
        },
    }
    async with AgentForge.from_mapping({"beans": beans}, folder=tmp_path, environment={}) as app:
        source = app.get(RefreshingTools)
        assert [each.name for each in await source.tools(Run())] == ["a", "b"]
        assert not await source.refresh()

    assert [(each.asked, each.closed) for each in opened] == [(["SELECT 1"], 2)] * 2  # cursor and connection


async def later() -> Connection:
    return Connection()


def refuses() -> Connection:
    raise ConnectionError("password=hunter22 was refused")


CONNECTIONS: dict[str, tuple[Any, str]] = {
    "an open connection": (Connection(), "connection must be a function that opens one, not Connection"),
    "a text": (object(), "connection must be a function that opens one, not object"),
    "an async function": (later, "the connection is of type coroutine, which has no cursor"),
    "a function that gives nothing": (lambda: None, "the connection is of type NoneType, which has no cursor"),
    "one that is refused": (refuses, r"ConnectionError: password=\*\*\* was refused"),
}


@pytest.mark.parametrize(("connect", "message"), CONNECTIONS.values(), ids=CONNECTIONS)
async def test_a_connection_that_cannot_be_used_is_told(tmp_path: Path, connect: Any, message: str) -> None:
    """Without the secrets of the configuration."""
    beans: dict[str, Any] = {
        "runner": run_it,
        "database": connect,
        "data": {
            "type": "refreshing_tools",
            "executor": "runner",
            "sql": {"connection": "database", "query": "SELECT 1"},
        },
        "other": {
            "type": "refreshing_tools",
            "executor": "runner",
            "url": "http://127.0.0.1/tools.json",
            "headers": {"authorization": "Bearer ${secret:PASSWORD}"},
            "bean": {"lazy": True},
        },
    }
    app = AgentForge.from_mapping({"beans": beans}, folder=tmp_path, environment={"PASSWORD": "hunter22"})
    with pytest.raises(AgentForgeError, match=message):
        async with app:
            pass
