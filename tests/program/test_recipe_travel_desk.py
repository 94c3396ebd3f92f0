"""The recipe ``travel_desk``: files behind an MCP server, an HTTP API by its OpenAPI document, and a function."""

from __future__ import annotations

import importlib.util
import os
import stat
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentforge import AgentForge, ChatClient
from agentforge.model.scripted import ScriptedChatModel, call, calls
from agentforge.tool import BoundTool
from agentforge.tool.execution import Run, ToolOutcome
from tests.support.recipes import RECIPES, chat

FOLDER = RECIPES / "travel_desk"
SERVERS = Path(__file__).parents[2] / "plugins/mcp/tests/.servers/node_modules/.bin"
SHARED = Path(os.environ.get("AGENTFORGE_SHARED", Path(__file__).parents[3] / "shared"))
NODE = Path(sysconfig.get_path("scripts")) / "node"

needs_servers = pytest.mark.skipif(
    not (SERVERS / "mcp-server-filesystem").exists(),
    reason="the MCP servers of npm are not installed (make test installs them where npm's index can be reached)",
)


@contextmanager
def stub(document: Path) -> Iterator[str]:
    """The recipe's own stub, serving a document; its address."""
    spec = importlib.util.spec_from_file_location("travel_desk_stub", FOLDER / "stub.py")
    assert spec is not None and spec.loader is not None
    module: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    server = module.server(yaml.safe_load(document.read_text("utf-8")), 0)
    thread = threading.Thread(target=server.serve_forever, args=(0.05,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A PATH on which ``npx`` is a script that runs the server which is installed here, and fetches nothing."""
    npx = tmp_path / "npx"
    npx.write_text(f'#!/bin/sh\nshift 2\nexec "{NODE}" "{SERVERS / "mcp-server-filesystem"}" "$@"\n', "utf-8")
    npx.chmod(npx.stat().st_mode | stat.S_IXUSR)
    return {"PATH": os.pathsep.join([str(tmp_path), os.environ["PATH"]])}


@needs_servers
def test_one_conversation_asks_all_three_sources(environment: dict[str, str]) -> None:
    """As a program, with a script in the place of the model."""
    with stub(FOLDER / "trams.yaml") as address:
        result = chat("travel_desk", "When does a tram leave?", environment={**environment, "TRAMS_URL": address})

    asked = {each["name"]: (each["outcome"], each["result"]) for each in result["tool_executions"]}
    assert {name: outcome for name, (outcome, _) in asked.items()} == {
        "findStops": "ok",
        "listDepartures": "ok",
        "notes_read_text_file": "ok",
        "walking_time": "ok",
    }
    assert "Harbour Museum" in asked["findStops"][1] and "09:12" in asked["listDepartures"][1]
    assert "platform B" in asked["notes_read_text_file"][1] and asked["walking_time"][1] == "5 minutes"


@needs_servers
async def test_a_public_description_takes_the_place_of_the_trams(environment: dict[str, str]) -> None:
    """Any will do: this one is a museum's, served by the same stub."""
    document = SHARED / "openapi" / "museum.yaml"
    if not document.exists():
        pytest.skip(f"no recorded descriptions at {SHARED / 'openapi'} (AGENTFORGE_SHARED)")
    with stub(document) as address:
        app = AgentForge.load(
            FOLDER / "agentforge.yaml",
            environment={**environment, "TRAMS_SPEC": str(document), "TRAMS_URL": address, "OPENAI_API_KEY": "sk-none"},
        )
        turns = [calls(call("getMuseumHours"), call("notes_list_directory", path=".")), "Done."]
        model = ScriptedChatModel(turns)
        app.override("model", model)
        async with app:
            reply = await app.get(ChatClient).prompt("When is it open?").call()
            offered = await offered_by(app)

    assert [each.outcome for each in reply.tool_executions] == [ToolOutcome.OK, ToolOutcome.OK]
    assert {tool.origin.kind if tool.origin else "function" for tool in offered} == {"mcp", "http", "function"}
    assert {"getMuseumHours", "buyMuseumTickets", "notes_read_text_file", "walking_time"} <= {t.name for t in offered}
    assert {tool.name: tool.effect for tool in offered if tool.name in ("getMuseumHours", "buyMuseumTickets")} == {
        "getMuseumHours": "read",
        "buyMuseumTickets": "write",
    }


async def offered_by(app: AgentForge) -> list[BoundTool]:
    """All tools of the recipe's three sources."""
    return [tool for name in ("notes", "trams", "walking") for tool in await app.get(name).tools(Run())]
