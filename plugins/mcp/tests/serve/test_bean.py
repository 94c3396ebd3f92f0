"""The bean type ``mcp.server``: what a file may say, what it may not, and what ``agentforge mcp serve`` makes of it."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agentforge import AgentForge
from agentforge.cli.main import run
from agentforge.config import ConfigurationFaults
from agentforge_mcp.serve import McpServer
from agentforge_mcp.serve.offer import ServedTools

TOOLS = """
from typing import Protocol
from agentforge.tool import tool

class Desk:
    @tool(effect="read")
    def find(self, number: str) -> str:
        "Find an order."
        return f"{number} is on its way"

    @tool(effect="write")
    def refund(self, number: str) -> str:
        "Pay back an order."
        return f"refunded {number}"

class Helper(Protocol):
    @tool
    async def explain(self, question: str) -> str:
        "Explain the rules."
        ...

class Plain(Protocol):
    async def explain(self, question: str) -> str:
        "Explain the rules, to no model."
        ...
"""
BEANS: Mapping[str, Any] = {
    "desk": {"type": "python_tools", "component": "Desk"},
    "service": {"type": "tool_service", "tools": ["desk"]},
    "model": {"type": "scripted", "turns": ["It depends."], "repeat": True},
    "assistant": {"type": "chat_client", "model": "model", "tools": ["desk"], "tenant": "acme", "roles": ["clerk"]},
    "helper": {"type": "ai_service", "interface": "Helper", "client": "assistant"},
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with the module of these tools, which is forgotten afterwards."""
    made = tmp_path_factory.mktemp("desk")
    (made / "served_desk.py").write_text(TOOLS)
    yield made
    sys.modules.pop("served_desk", None)


def application(folder: Path, server: Mapping[str, Any]) -> AgentForge:
    """The beans and a server."""
    beans = {**BEANS, "server": {"type": "mcp.server", **server}}
    return AgentForge.from_mapping({"scan": ["served_desk"], "beans": beans}, folder=folder)


async def served_by(folder: Path, server: Mapping[str, Any]) -> dict[str, str]:
    """What a server offers, by name, and what each says of itself."""
    async with application(folder, server) as app:
        offer: ServedTools = app.get(McpServer).served()
        return {each.name: each.specification.description or "" for each in await offer.listing()}


@pytest.mark.parametrize(
    ("server", "names"),
    [
        ({"service": "service"}, ["find", "refund"]),
        ({"service": "assistant"}, ["find", "refund"]),
        ({"tools": ["desk"]}, ["find", "refund"]),
        ({"service": "service", "only": ["f*"]}, ["find"]),
        ({"service": "service", "except": ["refund"]}, ["find"]),
        ({"agents": {"ask": "assistant"}}, ["ask"]),
        ({"service": "service", "agents": {"ask": "assistant"}}, ["find", "refund", "ask"]),
        ({"tools": ["helper"]}, ["explain"]),
        ({"service": "service", "tools": ["helper"]}, ["find", "refund", "explain"]),
    ],
    ids=str,
)
async def test_what_is_offered(folder: Path, server: Mapping[str, Any], names: list[str]) -> None:
    """A service's tools, sources beside them, AI services among these, and assistants."""
    assert list(await served_by(folder, server)) == names


async def test_an_assistant_is_described_in_the_file(folder: Path) -> None:
    """And an AI service by its own words."""
    server = {"agents": {"ask": "assistant"}, "tools": ["helper"], "agent_descriptions": {"ask": "Knows the orders."}}
    assert await served_by(folder, server) == {"ask": "Knows the orders.", "explain": "Explain the rules."}


async def test_an_ai_services_tool_answers(folder: Path) -> None:
    """With its client's model."""
    async with application(folder, {"tools": ["helper"]}) as app:
        offer = app.get(McpServer).served()
        assert (await offer.call(offer.run(), "explain", {"question": "May I?"})).text == "It depends."


@pytest.mark.parametrize(
    ("server", "tenant", "roles"),
    [
        ({"service": "service"}, None, set()),
        ({"service": "assistant"}, "acme", {"clerk"}),
        ({"service": "assistant", "roles": []}, "acme", set()),
        ({"service": "assistant", "tenant": "other", "roles": ["guest"]}, "other", {"guest"}),
    ],
)
async def test_who_calls_is_fixed_in_the_file(
    folder: Path, server: Mapping[str, Any], tenant: str | None, roles: set[str]
) -> None:
    """The server's tenant and roles, else the chat client's."""
    async with application(folder, server) as app:
        made = app.get(McpServer).served().run()
        assert (made.tenant, set(made.roles)) == (tenant, roles)


@pytest.mark.parametrize(
    ("server", "path", "said"),
    [
        ({}, "server", "there is nothing to offer: give service, tools or agents"),
        ({"service": "model"}, "service", "the bean 'model' is a ChatModel"),
        ({"agents": {"ask": "service"}}, "agents.ask", "the bean 'service' is a ToolService"),
        ({"service": "nobody"}, "service", "nobody"),
        ({"service": "service", "agent_descriptions": {"ask": "x"}}, "server", "names 'ask', which is none of agents"),
        ({"service": "service", "transport": "http"}, "server", "a server over HTTP needs a token"),
        ({"service": "service", "token": "      "}, "server", "the token is too short"),
        ({"service": "service", "token": "tin-9"}, "server", "the token is too short"),
        (
            {"service": "service", "insecure_no_token": True, "host": "192.0.2.1"},
            "server",
            "counts on loopback",
        ),
        (
            {"service": "service", "insecure_no_token": True, "host": "127.example.com"},
            "server",
            "counts on loopback",
        ),
        ({"service": "service", "host": "0.0.0.0"}, "server", "allowed_hosts must say by which names"),
        ({"service": "service", "port": 70000}, "port", "65535"),
        ({"service": "service", "page_size": 0}, "page_size", "1"),
        ({"service": "service", "rols": []}, "rols", "Did you mean 'roles'?"),
    ],
    ids=str,
)
def test_mistakes_are_found_before_the_start(folder: Path, server: Mapping[str, Any], path: str, said: str) -> None:
    """At the place of the setting, with what to do; the token is never in the words."""
    with pytest.raises(ConfigurationFaults) as caught:
        application(folder, server).check()
    text = str(caught.value)
    assert said in text
    assert path in text
    assert "tin-9" not in text


@pytest.mark.parametrize(
    "server",
    [
        {"transport": "http", "token": "long-enough"},
        {"transport": "http", "insecure_no_token": True},
        {"host": "0.0.0.0", "allowed_hosts": ["desk.example.com"], "token": "long-enough"},
        {"host": "::1", "insecure_no_token": True},
    ],
    ids=str,
)
def test_what_is_meant_so_passes(folder: Path, server: Mapping[str, Any]) -> None:
    """The other direction."""
    application(folder, {"service": "service", **server}).check()


async def test_the_token_is_a_secret(folder: Path) -> None:
    """It is in no representation, and masked like any other."""
    async with application(folder, {"service": "service", "token": "canary-2112"}) as app:
        server = app.get(McpServer)
        assert "canary-2112" not in repr(server) + repr(server.http)
        assert server.http.token == "canary-2112"
        assert "canary-2112" not in app.plan.secrets.mask("canary-2112")


async def test_a_server_that_has_a_service_of_its_own_closes_it(folder: Path) -> None:
    """And leaves another's alone."""
    async with application(folder, {"tools": ["desk"]}) as app:
        server = app.get(McpServer)
        offer = server.served()
        assert (await offer.call(offer.run(), "find", {"number": "A1"})).text == "A1 is on its way"
        server.close()


def test_nothing_is_loaded_that_only_a_running_server_needs(folder: Path) -> None:
    """The plugin, its types and a checked file with a server do without the SDK and a web server."""
    program = (
        "import sys\n"
        "import agentforge_mcp, agentforge_mcp.plugin, agentforge_mcp.commands\n"
        "assert 'pydantic' not in sys.modules\n"
        "from agentforge import AgentForge\n"
        f"beans = {dict(BEANS)!r}\n"
        "beans['server'] = {'type': 'mcp.server', 'service': 'service', 'token': 'long-enough'}\n"
        f"with AgentForge.from_mapping({{'scan': ['served_desk'], 'beans': beans}}, folder={str(folder)!r}) as app:\n"
        "    app.get('server')\n"
        "print(sorted({'mcp', 'mcp_types', 'httpx2', 'uvicorn'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n", done.stderr


# -- the program over HTTP -----------------------------------------------------------------------


def test_the_program_serves_over_http_until_a_signal(folder: Path) -> None:
    """It says where, the command line goes over the file, and an assistant of the command line is beside the rest."""
    beans = {**BEANS, "server": {"type": "mcp.server", "service": "service", "token": "canary-token", "port": 1}}
    path = folder / "agentforge.yaml"
    path.write_text(json.dumps({"agentforge": 1, "scan": ["served_desk"], "beans": beans}))
    words = ["mcp", "serve", "--http", "--port", "0", "--agent", "assistant", "--agent", "helper"]
    process = subprocess.Popen(
        [Path(sys.executable).with_name("agentforge"), *words, "--config", path],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ},
    )
    try:
        assert process.stderr is not None
        said = process.stderr.readline()
        found = re.fullmatch(r"serving 4 tools at (http://127\.0\.0\.1:\d+/mcp)\n", said)
        assert found is not None, said + process.stderr.read()
        answer = httpx2.post(
            found[1],
            json={
                "jsonrpc": "2.0",
                "id": 1,
                "method": "tools/list",
                "params": {
                    "_meta": {
                        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                        "io.modelcontextprotocol/clientCapabilities": {},
                    }
                },
            },
            headers={
                "Authorization": "Bearer canary-token",
                "Accept": "application/json, text/event-stream",
                "MCP-Protocol-Version": "2026-07-28",
                "Mcp-Method": "tools/list",
            },
        )
        assert [each["name"] for each in answer.json()["result"]["tools"]] == ["find", "refund", "assistant", "explain"]
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=20)
        assert (process.returncode, out, err) == (143, "", "")
    finally:
        process.kill()
        process.communicate()


AGENTS = {
    "plain": {"type": "ai_service", "interface": "Plain", "client": "assistant"},
    "server": {"type": "mcp.server", "service": "service"},
}


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["--http", "--agent", "desk"], 1, "its type is python_tools"),
        (["--http", "--agent", "desk"], 1, "next: There is assistant, helper."),
        (["--http", "--agent", "plain"], 1, "the bean 'plain' is an AI service of which no method is a tool"),
        (["--http", "--agent", "helpr"], 1, "next: Did you mean 'helper'?"),
        (["--http"], 1, "words.yaml:"),
        (["--http"], 1, "next: Set beans.server.token to "),
        (["--port", "0", "--stdio"], 2, "agentforge mcp serve: --host and --port are for HTTP"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_the_words_ask_for_has_to_fit(folder: Path, words: list[str], code: int, said: str) -> None:
    """Assistants are chat clients and AI services with tools, and only these are proposed; a missing token is told with
    its setting and its file."""
    path = folder / "words.yaml"
    path.write_text(json.dumps({"agentforge": 1, "scan": ["served_desk"], "beans": {**BEANS, **AGENTS}}, indent=1))
    err = io.StringIO()
    assert run(["mcp", "serve", *words, "--config", str(path)], stderr=err, environment={}) == code
    assert said in err.getvalue()


@pytest.mark.parametrize(
    ("beans", "words", "said"),
    [
        ({}, ["--http"], "the configuration has no server, tool service or chat client"),
        ({"service": {"type": "tool_service"}, "other": {"type": "tool_service"}}, ["--http"], "several beans"),
        ({"service": {"type": "tool_service"}}, ["--http", "--agent", "nobody"], "there is no bean 'nobody'"),
    ],
)
def test_what_to_serve_has_to_be_clear(tmp_path: Path, beans: Mapping[str, Any], words: list[str], said: str) -> None:
    """Else it is an error that says what there is."""
    path = tmp_path / "agentforge.yaml"
    path.write_text(json.dumps({"agentforge": 1, "beans": beans}))
    err = io.StringIO()
    assert run(["mcp", "serve", *words, "--config", str(path)], stderr=err, environment={}) == 1
    assert said in err.getvalue()
