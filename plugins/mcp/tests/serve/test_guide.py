"""What the guide tells Claude Desktop and an IDE starts the server that it speaks of, with another client than the
SDK's."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastmcp
import pytest

from tests.support.programs import agentforge

GUIDE = Path(__file__).parents[4] / "docs" / "guides" / "serving-tools.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[str]:
    """The page's blocks of this kind."""
    return [text for found, text in BLOCK.findall(GUIDE.read_text("utf-8")) if found == kind]


@pytest.fixture
def desk(tmp_path: Path) -> Path:
    """A folder with the first files of the page."""
    for kind in ("yaml", "python"):
        text = blocks(kind)[0]
        (tmp_path / text.splitlines()[0].removeprefix("# ")).write_text(text, "utf-8")
    return tmp_path


def settings_of(name: str) -> Iterator[dict[str, Any]]:
    """The page's JSON files of a client that names its servers so."""
    return (found for text in blocks("json") if name in (found := json.loads(text)))


def here(server: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The entry with this machine's paths in the place of the page's."""
    words = [word.replace("/opt/desk", str(folder)) for word in server["args"]]
    words = [word.replace("${workspaceFolder}", str(folder)) for word in words]
    assert server["command"].endswith("/.venv/bin/agentforge")
    return {**server, "command": agentforge()[0], "args": words, "env": dict(os.environ), "keep_alive": False}


async def test_the_settings_for_claude_desktop_start_the_server(desk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From another folder, as an application would."""
    monkeypatch.chdir("/")
    (found,) = settings_of("mcpServers")
    servers = {name: here(server, desk) for name, server in found["mcpServers"].items()}
    async with fastmcp.Client({"mcpServers": servers}) as client:
        assert [each.name for each in await client.list_tools()] == ["find_order", "refund"]
        assert (await client.call_tool("refund", {"number": "A1"})).content[0].text == "refunded A1 for acme"
        assert (await client.call_tool("find_order", {"number": "A1"})).structured_content["state"] == "on its way"
        with pytest.raises(fastmcp.exceptions.ToolError, match="the arguments of tool 'refund' do not fit"):
            await client.call_tool("refund", {"order": "A1"})


def test_the_settings_for_an_ide_say_the_same(desk: Path) -> None:
    """Its program and its words are those of the others; over HTTP the address and the header are the server's."""
    (claude,) = settings_of("mcpServers")
    over_stdio, over_http = settings_of("servers")
    wanted = here(claude["mcpServers"]["order-desk"], desk)
    assert here(over_stdio["servers"]["order-desk"], desk) == {**wanted, "type": "stdio"}
    (http,) = (text for text in blocks("yaml") if "transport: http" in text)
    port = re.search(r"port: (\d+)", http)
    assert port is not None
    assert over_http["servers"]["order-desk"]["url"] == f"http://127.0.0.1:{port[1]}/mcp"
    assert over_http["servers"]["order-desk"]["headers"]["Authorization"].startswith("Bearer ${input:")
