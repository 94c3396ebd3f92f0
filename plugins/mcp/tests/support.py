"""What the tests of MCP servers share: scripted and real servers, and a loop for those that outlive a test.

Each test runs on a loop of its own. Servers that a whole module uses live on one that the module owns: a connection
may be used from any loop, which every such test shows by the way.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Coroutine, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agentforge import Run, ToolService
from agentforge.masking import Secrets
from agentforge.model import ToolExecutionRequest
from agentforge.model.scripted import ScriptedChatModel
from agentforge.tool import BoundTool, tool
from agentforge_mcp.connection import McpConnection
from agentforge_mcp.environment import environment_of
from agentforge_mcp.options import HttpServer, McpOptions, RestartPolicy, StdioServer
from agentforge_mcp.source import McpTools, SourceOptions

__all__ = (
    "HttpProcess",
    "Loop",
    "Stuck",
    "ask",
    "bound",
    "everything",
    "named",
    "npm_server",
    "run_tool",
    "script_command",
    "scripted",
    "source_of",
)

HERE = Path(__file__).parent
#: Imported, it is compiled once and not at every start.
SCRIPTED = f"import sys; sys.path.insert(0, {str(HERE)!r}); import scripted_server; scripted_server.main()"
NODE_MODULES = HERE / ".servers" / "node_modules"
QUICK = RestartPolicy(base=0.02, cap=0.2)
T = TypeVar("T")


class Loop:
    """An event loop on a thread of its own, for what outlives a test."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, work: Coroutine[Any, Any, T]) -> T:
        """Run it there and wait."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=30)

    def close(self) -> None:
        """End the loop, and what libraries left running on it."""

        async def ended() -> None:
            others = asyncio.all_tasks() - {asyncio.current_task()}
            for each in others:
                each.cancel()
            await asyncio.gather(*others, return_exceptions=True)

        self.run(ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        self._loop.close()


class Stuck:
    """A tool of ours that does not end by itself."""

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = 0

    @tool
    async def stuck(self) -> str:
        """Never end."""
        self.begun.set()
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return "never"


def script_command(script: Mapping[str, Any] | Path, *more: str) -> tuple[str, ...]:
    """The command of a scripted server; a script too long for a command is a file."""
    given = str(script) if isinstance(script, Path) else json.dumps(script)
    return (sys.executable, "-I", "-S", "-c", SCRIPTED, given, *more)


def scripted(script: Mapping[str, Any] | Path, **environment: str) -> StdioServer:
    """A scripted server over stdio."""
    return StdioServer(script_command(script), environment_of(environment, (), os.environ))


def source_of(
    server: StdioServer | HttpServer | Mapping[str, Any] | Path,
    *,
    name: str = "scripted",
    connection: Mapping[str, Any] | None = None,
    secrets: Secrets | None = None,
    **options: Any,
) -> McpTools:
    """The tools of a server, which may be a script; it comes back quickly when it dies."""
    where = server if isinstance(server, (StdioServer, HttpServer)) else scripted(server)
    made = McpOptions(**{"restart": QUICK, "close_timeout": 1.5, **(connection or {})})
    return McpTools(McpConnection(where, made, name=name, secrets=secrets), SourceOptions(**options))


class HttpProcess:
    """A scripted server over HTTP: a process, and where it is."""

    def __init__(self, script: Mapping[str, Any]) -> None:
        self.process = subprocess.Popen(script_command(script, "--http"), stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.url = f"http://127.0.0.1:{self.process.stdout.readline().strip()}/mcp"

    def __enter__(self) -> HttpProcess:
        return self

    def __exit__(self, *error: object) -> None:
        self.process.kill()
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()


def npm_server(package: str, *arguments: str, cwd: Path | None = None, **environment: str) -> StdioServer:
    """A server of npm as the project's files install it; skips where it is not there."""
    folder = NODE_MODULES / "@modelcontextprotocol" / package
    node = shutil.which("node", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    if not folder.is_dir() or node is None:
        pytest.skip(f"needs node, and @modelcontextprotocol/{package} in {NODE_MODULES}; make test brings both")
    program = str(folder / "dist" / "index.js")
    return StdioServer((node, program, *arguments), environment_of(environment, (), os.environ), cwd)


def everything(**environment: str) -> StdioServer:
    """npm's server-everything."""
    return npm_server("server-everything", **environment)


async def bound(source: McpTools) -> dict[str, BoundTool]:
    """The tools that a source offers, by name."""
    return {tool.name: tool for tool in await source.tools(Run())}


def named(tools: Sequence[BoundTool]) -> list[str]:
    """Their names."""
    return [tool.name for tool in tools]


async def run_tool(tool: BoundTool, arguments: Mapping[str, Any] | None = None, run: Run | None = None) -> Any:
    """Call a bound tool as a batch does, without a model: validated, then run."""
    request = ToolExecutionRequest("c1", tool.name, json.dumps(arguments or {}))
    checked = tool.bind(request.arguments_as_map())
    return await tool.invoke(request, checked, run if run is not None else Run())


async def ask(source: McpTools, *calls: tuple[str, Mapping[str, Any]], **options: Any) -> Any:
    """A conversation in which a scripted model makes these calls at once, then answers."""
    turn = {
        "calls": [{"id": f"c{at}", "name": name, "args": dict(arguments)} for at, (name, arguments) in enumerate(calls)]
    }
    service = ToolService(source, execution_error_handler="return_to_model", **options)
    return await service.chat(ScriptedChatModel([turn, {"text": "done"}]), None, "go")
