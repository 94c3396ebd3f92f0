"""The conformance suite of the protocol's own project, both ways: our client against its servers, its client against
``agentforge mcp serve``.

The suite runs whole, at once for both times of the protocol. There is no file of expected failures: on the client's
side every scenario has to pass but those of OAuth with a person at a browser and of extensions; on the server's side
every scenario that is about tools, and the tables below say why the others are not.
"""

from __future__ import annotations

import asyncio
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path
from typing import NamedTuple

import pytest

from agentforge import AgentForge
from agentforge_mcp.serve import McpServer
from plugins.mcp.tests.conformance.conformance_work import one
from plugins.mcp.tests.support import Loop

HERE = Path(__file__).parent
SUITE = HERE.parent / ".servers" / "node_modules" / "@modelcontextprotocol" / "conformance" / "dist" / "index.js"
VERSIONS = ("2025-11-25", "2026-07-28")
PATIENCE = 120
#: The suite starts it for each scenario, and most are of those that are not answered: no Python for them.
CLIENT_SCRIPT = """case "$MCP_CONFORMANCE_SCENARIO" in auth/*|sep-2640-*) exit 0;; esac
exec {python} -I -S {client} "$@"
"""

CLIENT = {
    "2025-11-25": {
        "initialize",
        "tools_call",
        "elicitation-sep1034-client-defaults",
        "sse-retry",
        "json-schema-2020-12-preservation",
    },
    "2026-07-28": {
        "tools_call",
        "request-metadata",
        "sep-2322-client-request-state",
        "http-standard-headers",
        "http-custom-headers",
        "http-invalid-tool-headers",
        "json-schema-ref-no-deref",
        "json-schema-2020-12-preservation",
    },
}
BOTH_TIMES = {
    "tools-list",
    "tools-call-simple-text",
    "tools-call-image",
    "tools-call-audio",
    "tools-call-embedded-resource",
    "tools-call-mixed-content",
    "tools-call-error",
    "tools-call-with-progress",
    "json-schema-2020-12",
    "server-sse-multiple-streams",
    "dns-rebinding-protection",
}
SERVER = {
    "2025-11-25": BOTH_TIMES | {"server-initialize", "server-session-lifecycle", "ping"},
    "2026-07-28": BOTH_TIMES
    | {
        "sep-2164-resource-not-found",
        "http-header-validation",
        "http-custom-header-server-validation",
        "input-required-result-missing-input-response",
        "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params",
        "input-required-result-validate-input",
    },
}
#: Scenarios of which some checks are about tools and pass, and others are not.
IN_PART = {
    "server-stateless": "3 checks want tools that ask the client's user or model",
    "caching": "3 checks want resources and prompts; that of the tool list passes",
}
#: What the other scenarios want, by the first words of their names.
NOT_SERVED = {
    "resources-": "resources: tools alone are served",
    "prompts-": "prompts: tools alone are served",
    "completion-complete": "completion of the arguments of prompts and resources",
    "logging-set-level": "log messages for clients: our log is ours, and progress is told as progress",
    "tools-call-with-logging": "log messages for clients",
    "tools-call-sampling": "a tool that asks the client's model",
    "tools-call-elicitation": "a tool that asks the client's user",
    "elicitation-": "a tool that asks the client's user",
    "input-required-result-": "a tool, or a prompt, that asks the client's user or model",
    "server-sse-polling": "streams that are taken up again: the suite only advises it, and counts nothing",
}


class Outcome(NamedTuple):
    """How many checks of a scenario passed and failed."""

    passed: int
    failed: int


class Run(NamedTuple):
    """What the suite said of each scenario, and all of its words."""

    outcomes: dict[str, Outcome]
    text: str


def _run_of(process: subprocess.Popen[str]) -> Run:
    text, _ = process.communicate(timeout=PATIENCE)
    found = re.findall(r"^[✓✗] (\S+): (\d+) passed, (\d+) failed", text, re.MULTILINE)
    return Run({name: Outcome(int(passed), int(failed)) for name, passed, failed in found}, text)


def _suite(node: str, *words: str, environment: dict[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [node, str(SUITE), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        encoding="utf-8",
        env=environment,
    )


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[tuple[str, str], Run]]:
    """All four runs of the suite, side by side."""
    program = Path(sys.executable).parent
    node = shutil.which("node", path=f"{program}{os.pathsep}{os.environ.get('PATH', '')}")
    if node is None or not SUITE.is_file():
        pytest.skip("the conformance suite is not installed under plugins/mcp/tests/.servers; see the Makefile")
    output = tmp_path_factory.mktemp("conformance")
    environment = {**os.environ, "PATH": f"{program}{os.pathsep}{os.environ['PATH']}"}
    command = output / "client.sh"
    command.write_text(CLIENT_SCRIPT.format(python=sys.executable, client=HERE / "conformance_client.py"))
    loop = Loop()
    serving = Serving()
    try:
        url, environment["CONFORMANCE_PORT"] = loop.run(serving.start())
        started = {
            (side, version): _suite(
                node,
                side,
                *(("--command", f"sh {command}") if side == "client" else ("--url", url)),
                *("--suite", "all", "--spec-version", version, "-o", str(output / f"{side}-{version}")),
                environment=environment,
            )
            for version in VERSIONS
            for side in ("client", "server")
        }
        yield {key: _run_of(process) for key, process in started.items()}
    finally:
        loop.run(serving.end())
        loop.close()


class Serving:
    """What ``agentforge mcp serve`` serves of the file beside this one, and the service behind the client program; both
    in this process, which has loaded the SDK already."""

    def __init__(self) -> None:
        self._stack = AsyncExitStack()

    async def start(self) -> tuple[str, str]:
        """The server's address, and the service's port."""
        app = await self._stack.enter_async_context(AgentForge.load(HERE / "agentforge.yaml"))
        server: McpServer = await app.resolve("server")
        ready: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        serve = asyncio.create_task(server.serve_http(ready=ready.set_result))
        self._stack.push_async_callback(self._ended, serve)
        service = await self._stack.enter_async_context(await asyncio.start_server(one, "127.0.0.1", 0))
        # By its number the suite does not try other names.
        url = (await ready).replace("127.0.0.1", "localhost")
        return url, str(service.sockets[0].getsockname()[1])

    async def end(self) -> None:
        """End both."""
        await self._stack.aclose()

    async def _ended(self, serve: asyncio.Task[None]) -> None:
        serve.cancel()
        await asyncio.wait([serve])


@pytest.mark.parametrize(("version", "scenario"), [(v, name) for v in VERSIONS for name in sorted(CLIENT[v])])
def test_our_client_conforms(runs: dict[tuple[str, str], Run], version: str, scenario: str) -> None:
    """Every check of the scenario passes, and there are some."""
    run = runs["client", version]
    assert scenario in run.outcomes, run.text[-3000:]
    assert run.outcomes[scenario].failed == 0, run.text[-3000:]
    assert run.outcomes[scenario].passed > 0


@pytest.mark.parametrize("version", VERSIONS)
def test_no_scenario_for_clients_is_left_out(runs: dict[tuple[str, str], Run], version: str) -> None:
    """But those of OAuth with a person at a browser, and extensions: a newer suite has to be looked at."""
    others = {name for name in runs["client", version].outcomes if not name.startswith(("auth/", "sep-2640-"))}
    assert others == CLIENT[version]


@pytest.mark.parametrize(("version", "scenario"), [(v, name) for v in VERSIONS for name in sorted(SERVER[v])])
def test_our_server_conforms(runs: dict[tuple[str, str], Run], version: str, scenario: str) -> None:
    """Every check of the scenario passes, and there are some."""
    run = runs["server", version]
    assert scenario in run.outcomes, run.text[-3000:]
    assert run.outcomes[scenario].failed == 0, run.text[-3000:]
    assert run.outcomes[scenario].passed > 0


@pytest.mark.parametrize(("scenario", "failing"), [("server-stateless", 3), ("caching", 3)])
def test_what_a_scenario_has_about_tools_passes(runs: dict[tuple[str, str], Run], scenario: str, failing: int) -> None:
    """Only the checks that `IN_PART` speaks of fail."""
    run = runs["server", "2026-07-28"]
    assert run.outcomes[scenario].failed == failing, run.text[-3000:]
    assert run.outcomes[scenario].passed >= 4


@pytest.mark.parametrize("version", VERSIONS)
def test_it_is_known_why_a_scenario_for_servers_does_not_apply(runs: dict[tuple[str, str], Run], version: str) -> None:
    """Each that is not asked for above has its reason: a newer suite has to be looked at."""
    others = set(runs["server", version].outcomes) - SERVER[version] - set(IN_PART)
    assert SERVER[version] <= set(runs["server", version].outcomes)
    assert {name for name in others if not name.startswith(tuple(NOT_SERVED))} == set()
