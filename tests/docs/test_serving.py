"""The server of the page about serving: a client that goes away ends its turn, and nothing of it is left open."""

from __future__ import annotations

import asyncio
import importlib
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from agentforge import ChatClient
from agentforge.memory import MemoryKey
from tests.docs.test_examples import ROOT, blocks_of

PAGE = ROOT / "docs" / "guides" / "serving.md"
#: The page's desk, whose tool goes on until somebody stops it.
WAITING = """
import asyncio
from agentforge import tool

class Desk:
    @tool("Current weather of a city.")
    async def get_weather(self, city: str) -> str:
        await asyncio.Event().wait()
        return "never"
"""
CITY = '{"city": "Oslo"}'


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The page's files in an empty folder, with a tool that waits; its module `server`."""
    for block in blocks_of(PAGE.read_text("utf-8")):
        if block.file:
            (tmp_path / block.file["name"]).write_text(block.code, "utf-8")
    (tmp_path / "desk.py").write_text(WAITING, "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delenv("AGENTFORGE_CONFIG", raising=False)
    for name in ("server", "desk"):  # another page's
        monkeypatch.delitem(sys.modules, name, raising=False)
    yield importlib.import_module("server")
    for name in ("server", "desk"):
        sys.modules.pop(name, None)


class Browser:
    """One request, whose client goes away when it has seen ``leave_at``; ``stuck``: what is sent then never arrives."""

    def __init__(self, leave_at: str, *, stuck: bool) -> None:
        self.seen = ""
        self._leave_at = leave_at
        self._stuck = stuck
        self._gone = asyncio.Event()
        self._asked = False

    async def post(self, app: Any) -> None:
        """Ask, as a web server would."""
        scope = {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": "POST",
            "scheme": "http",
            "path": "/chat",
            "raw_path": b"/chat",
            "query_string": b"",
            "root_path": "",
            "headers": [(b"content-type", b"application/json"), (b"x-tenant", b"acme")],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 80),
        }
        await app(scope, self._receive, self._send)

    async def _receive(self) -> dict[str, Any]:
        if not self._asked:
            self._asked = True
            body = json.dumps({"text": "Weather?", "conversation": "42"}).encode()
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.seen += message.get("body", b"").decode()
        if self._leave_at in self.seen:
            self._gone.set()
            if self._stuck:
                await asyncio.Event().wait()


@pytest.mark.parametrize("stuck", [False, True], ids=["gone", "stuck, then gone"])
@pytest.mark.parametrize("leave_at", ["event: run_started", "event: text_delta", "event: tool_started"])
async def test_a_client_that_goes_away_ends_its_turn(server: ModuleType, leave_at: str, stuck: bool) -> None:
    """Every task has ended when the request has; the conversation takes a new turn, and holds nothing of this one."""
    async with server.lifespan(server.app):
        client: ChatClient = server.app.state.client
        before = asyncio.all_tasks()
        browser = Browser(leave_at, stuck=stuck)
        await asyncio.wait_for(browser.post(server.app), 30)
        left = asyncio.all_tasks() - before
        memory = client.chain[0].advisor.memory  # type: ignore[attr-defined]
        kept = await memory.get(MemoryKey("acme", "42"))

    assert leave_at in browser.seen and "run_finished" not in browser.seen
    assert left == set()
    assert memory.open_turns == 0 and kept is None


async def test_an_error_is_the_last_event(server: ModuleType, tmp_path: Path) -> None:
    """With its code and the run, and no word of what went wrong."""
    file = tmp_path / "agentforge.yaml"
    text = file.read_text("utf-8")
    start, end = text.index("    turns:"), text.index("    repeat:")
    file.write_text(
        f"{text[:start]}    turns: [{{error: {{type: overloaded, message: secret}}}}]\n{text[end:]}", "utf-8"
    )
    async with server.lifespan(server.app):
        browser = Browser("never", stuck=False)
        await asyncio.wait_for(browser.post(server.app), 30)

    last = browser.seen.strip().split("\n\n")[-1].splitlines()
    assert last[0] == "event: error"
    assert set(json.loads(last[1].removeprefix("data: "))) == {"code", "run_id"}
    assert "secret" not in browser.seen
