"""The bean type ``refreshing_tools`` in a file: what `check` finds before anything is asked for, what a stranger's file
may name, and what the source is told."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest

from agentforge import AgentForge, Run
from agentforge.config import ConfigurationFaults
from agentforge.errors import AgentForgeError, ConfigurationError
from agentforge.plugin import BeanContext, Components
from agentforge.plugin.builtin_refreshing import REFRESHING_TYPES, RefreshingToolsSettings, ToolQuerySettings
from agentforge.tool import RefreshingTools
from tests.unit.container.kit import Kit, faults_of, marked

EXECUTOR = "runner: {type: return_to_model}\n"  # is called
DATA = EXECUTOR + "data: {type: refreshing_tools, executor: runner, "

WRONG: dict[str, tuple[str, str]] = {
    "neither": (EXECUTOR + "data: «{type: refreshing_tools, executor: runner}", "give either url or sql"),
    "both": (
        EXECUTOR + "data: «{type: refreshing_tools, executor: runner, url: 'http://127.0.0.1/', "
        "sql: {database: a.db, query: select 1}}",
        "give either url or sql",
    ),
    "two databases": (
        DATA + "sql: «{database: a.db, connection: runner, query: select 1}}",
        "give either database or connection",
    ),
    "no database": (DATA + "sql: «{query: select 1}}", "give either database or connection"),
    "a query of blanks": (DATA + "sql: «{database: a.db, query: ' '}}", "the query is empty"),
    "an interval of nothing": (DATA + "url: 'http://127.0.0.1/', interval: «0}", "'interval' is more than 0"),
    "an interval that is none": (DATA + "url: 'http://127.0.0.1/', interval: «often}", "a duration is"),
    "no address": (
        EXECUTOR + "data: {type: refreshing_tools, executor: runner, url: «'ftp://127.0.0.1/tools'}",
        "url is not an http or https address",
    ),
    "an address with credentials": (
        EXECUTOR + "data: «{type: refreshing_tools, executor: runner, url: 'http://me:pw@127.0.0.1/'}",
        "url of host '127.0.0.1' holds credentials",
    ),
    "headers for a database": (
        EXECUTOR + "data: «{type: refreshing_tools, executor: runner, headers: {a: b}, "
        "sql: {database: a.db, query: select 1}}",
        "headers and ca_bundle go with url alone",
    ),
    "certificates for a database": (
        EXECUTOR + "data: «{type: refreshing_tools, executor: runner, ca_bundle: ca.pem, "
        "sql: {database: a.db, query: select 1}}",
        "headers and ca_bundle go with url alone",
    ),
    "a header that cannot be sent": (
        EXECUTOR + 'data: «{type: refreshing_tools, executor: runner, url: "http://127.0.0.1/", headers: {a: "b\\nc"}}',
        "the header 'a' cannot be sent",
    ),
}


@pytest.mark.parametrize(("beans", "message"), WRONG.values(), ids=WRONG)
def test_mistakes_are_found_when_the_file_is_checked(kit: Kit, beans: str, message: str) -> None:
    """One fault each, at its place; nobody is asked for anything."""
    text, places = marked("beans:\n" + indent(beans, "  "))
    (fault,) = faults_of(kit.load(text))

    assert fault.code == "AF108" and message in fault.message
    assert [f"{fault.mark.line}:{fault.mark.column}"] == places


OUTSIDE = {
    "a database": "sql: {database: «../tools.db, query: select 1}",
    "an absolute one": "sql: {database: «/etc/tools.db, query: select 1}",
    "certificates": "url: 'http://127.0.0.1/', ca_bundle: «../ca.pem",
    "a file of declared tools": "file: «../tools.yaml",
}


@pytest.mark.parametrize("setting", OUTSIDE.values(), ids=OUTSIDE)
def test_a_stranger_s_file_names_no_file_outside_of_its_folder(tmp_path: Path, setting: str) -> None:
    """The owner's does."""
    folder = tmp_path / "inside"
    folder.mkdir()
    (tmp_path / "tools.yaml").write_text("- name: a\n", "utf-8")
    kind = "declared_tools" if "file" in setting else "refreshing_tools"
    text, places = marked(f"beans:\n  {EXECUTOR}  data: {{type: {kind}, executor: runner, {setting}}}\n")
    (folder / "agentforge.yaml").write_text(text, "utf-8")

    def load(**options: Any) -> AgentForge:
        return AgentForge.load(folder / "agentforge.yaml", environment={}, **options)

    with pytest.raises(ConfigurationFaults) as caught:
        load(trust="data").check()
    [fault] = caught.value.diagnostics
    assert (fault.code, f"{fault.mark.line}:{fault.mark.column}") == ("AF123", places[0])
    assert "is outside the folder of the configuration, which is read as data" in fault.message
    load().check()


def test_a_stranger_s_file_may_name_those_beside_it(tmp_path: Path) -> None:
    text = (
        f"beans:\n  {EXECUTOR}  data: {{type: refreshing_tools, executor: runner, sql: {{database: a/b.db, query: q}}}}"
    )
    (tmp_path / "agentforge.yaml").write_text(text, "utf-8")

    AgentForge.load(tmp_path / "agentforge.yaml", environment={}, trust="data").check()


def beans(**settings: Any) -> dict[str, Any]:
    return {
        "runner": lambda request: "",
        "data": {
            "type": "refreshing_tools",
            "executor": "runner",
            "sql": {"database": "tools.db", "query": "SELECT 'a' AS name WHERE false"},
            **settings,
        },
    }


async def test_the_source_is_loaded_at_the_start_with_what_the_file_says(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "tools.db").close()
    data = {"beans": beans(interval="5m", allow_empty=True)}
    async with AgentForge.from_mapping(data, folder=tmp_path, environment={}) as app:
        source = app.get("data")
        assert isinstance(source, RefreshingTools)
        assert (source.interval, repr(source)) == (300.0, "RefreshingTools('data', tools=0)")
        assert list(await source.tools(Run())) == []


async def test_it_is_closed_with_the_application(tmp_path: Path) -> None:
    sqlite3.connect(tmp_path / "tools.db").close()
    async with AgentForge.from_mapping({"beans": beans(allow_empty=True)}, folder=tmp_path, environment={}) as app:
        source = app.get(RefreshingTools)
    with pytest.raises(ConfigurationError, match="the source is closed"):
        await source.refresh()


async def test_an_application_does_not_start_without_its_tools(tmp_path: Path) -> None:
    """The error names the bean; one that is lazy is asked for later."""
    sqlite3.connect(tmp_path / "tools.db").close()
    with pytest.raises(ConfigurationError, match="there are none") as caught:
        async with AgentForge.from_mapping({"beans": beans()}, folder=tmp_path, environment={}):
            pass
    assert "bean 'data'" in str(caught.value.location)

    async with AgentForge.from_mapping({"beans": beans(bean={"lazy": True})}, folder=tmp_path, environment={}) as app:
        with pytest.raises(ConfigurationError, match="there are none"):
            await app.resolve("data")


def test_an_executor_that_cannot_be_called_is_told(tmp_path: Path) -> None:
    data = {"beans": {**beans(), "runner": object()}}
    with (
        pytest.raises(AgentForgeError, match="executor of tool 'data' cannot be used"),
        AgentForge.from_mapping(data, folder=tmp_path, environment={}),
    ):
        pass


def test_doctor_knows_the_address_without_its_query() -> None:
    context = BeanContext("data", Path(), Components((), Path()))
    document = RefreshingToolsSettings(executor=print, url="https://tools.test/shop?key=0123")
    rows = RefreshingToolsSettings(executor=print, sql=ToolQuerySettings(database="tools.db", query="SELECT 1"))

    [endpoints] = [kind.endpoints for kind in REFRESHING_TYPES]
    assert endpoints is not None
    assert list(endpoints(document, context)) == ["https://tools.test/shop"]
    assert list(endpoints(rows, context)) == []
