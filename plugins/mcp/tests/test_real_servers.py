"""Servers of others: npm's server-everything, -filesystem and -memory, PyPI's fastmcp; each started once."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentforge import Run
from agentforge.errors import ToolArgumentsError, ToolExecutionError
from agentforge.model import ImageContent
from agentforge_mcp.environment import environment_of
from agentforge_mcp.errors import McpLostError
from agentforge_mcp.options import HttpServer, StdioServer
from agentforge_mcp.source import McpTools
from plugins.mcp.tests.support import Loop, bound, everything, npm_server, run_tool, source_of

CANARIES = {f"CANARY_{number}": f"sk-canary-{number:02}" for number in range(25)}


@pytest.fixture(scope="module")
def loop() -> Iterator[Loop]:
    """Where the servers of this module live."""
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture(scope="module")
def every(loop: Loop) -> Iterator[McpTools]:
    """server-everything, in a process whose environment is full of secrets, of which it is given one."""
    os.environ.update(CANARIES)
    try:
        source = source_of(everything(OWN="given"), name="every", effects={"get-*": "read"}, resources=True)
    finally:
        for name in CANARIES:
            del os.environ[name]
    loop.run(source.start())
    yield source
    loop.run(source.aclose())


async def test_the_environment_of_a_server_is_a_list_of_what_it_may_have(every: McpTools) -> None:
    """None of twenty-five secrets of this process, but what programs need, and what it is given."""
    seen = json.loads((await run_tool((await bound(every))["get-env"])).text)
    assert not set(CANARIES) & set(seen) and "sk-canary" not in json.dumps(seen)
    assert seen["OWN"] == "given" and "PATH" in seen and "HOME" in seen


async def test_results_of_all_kinds_come_through(every: McpTools) -> None:
    """Text, an object, a picture, links, resources."""
    tools = await bound(every)
    assert (await run_tool(tools["echo"], {"message": "hi"})).text == "Echo: hi"
    found = await run_tool(tools["get-structured-content"], {"location": "New York"})
    assert found.result == json.loads(found.text) and "temperature" in found.result
    picture = await run_tool(tools["get-tiny-image"])
    assert [type(part) for part in picture.contents if isinstance(part, ImageContent)] == [ImageContent]
    assert "[resource " in (await run_tool(tools["get-resource-links"], {"count": 2})).text
    listed = (await run_tool(tools["list_resources"])).result
    assert (await run_tool(tools["read_resource"], {"uri": listed[0]["uri"]})).text
    with pytest.raises(ToolArgumentsError):
        await run_tool(tools["get-sum"], {"a": 1, "b": "two"})


async def test_a_real_server_that_is_killed_in_a_call_comes_back(every: McpTools) -> None:
    """The call ends at once and is not made again; the next one is answered by a new process."""
    tools = await bound(every)
    assert (await run_tool(tools["echo"], {"message": "one"})).text == "Echo: one"
    pid = every.connection.pid
    assert pid is not None
    begun = asyncio.Event()

    async def called() -> None:
        name, arguments = "trigger-long-running-operation", {"duration": 60, "steps": 600}
        told = asyncio.get_running_loop().call_soon_threadsafe
        await every.connection.call_tool(name, arguments, on_progress=lambda *_: told(begun.set) and None)

    call = asyncio.ensure_future(called())
    await asyncio.wait_for(begun.wait(), 10)
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(McpLostError, match="'every' was ended by signal 9 before it answered the call of"):
        await call
    assert (await run_tool(tools["echo"], {"message": "two"})).text == "Echo: two"
    assert every.connection.pid not in (None, pid)


async def test_files_are_read_and_written_inside_their_folder(loop: Loop, tmp_path: Path) -> None:
    """And not outside; what the server says against it is told to the model."""
    (tmp_path / "a.txt").write_text("words", "utf-8")
    source = source_of(npm_server("server-filesystem", str(tmp_path)), name="files", effects={"read_*": "read"})
    async with source:
        tools = await bound(source)
        assert tools["read_text_file"].effect == "read" and tools["write_file"].effect is None
        assert "words" in (await run_tool(tools["read_text_file"], {"path": str(tmp_path / "a.txt")})).text
        await run_tool(tools["write_file"], {"path": str(tmp_path / "b.txt"), "content": "more"})
        assert (tmp_path / "b.txt").read_text("utf-8") == "more"
        with pytest.raises(ToolExecutionError, match="outside allowed directories"):
            await run_tool(tools["read_text_file"], {"path": "/etc/hostname"})
        origin = tools["read_text_file"].origin
        assert origin is not None and origin.server == "secure-filesystem-server"


async def test_a_memory_is_kept_in_its_file(tmp_path: Path) -> None:
    """A server with arguments of nested objects."""
    server = npm_server("server-memory", MEMORY_FILE_PATH=str(tmp_path / "memory.jsonl"))
    async with source_of(server, name="memory") as source:
        tools = await bound(source)
        entity = {"name": "Ada", "entityType": "person", "observations": ["wrote the first program"]}
        await run_tool(tools["create_entities"], {"entities": [entity]})
        assert "Ada" in (await run_tool(tools["search_nodes"], {"query": "program"})).text
        with pytest.raises(ToolArgumentsError):
            await run_tool(tools["create_entities"], {"entities": [{"name": 7}]})


@pytest.fixture(scope="module")
def fast_url() -> Iterator[str]:
    """fastmcp's server over HTTP."""
    pytest.importorskip("fastmcp", reason="needs fastmcp, which make install brings")
    program = [sys.executable, str(Path(__file__).parent / "http_server.py")]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout is not None
    port = process.stdout.readline().strip()
    yield f"http://127.0.0.1:{port}/mcp"
    process.kill()
    process.wait()
    process.stdout.close()


async def speaks_fast(source: McpTools) -> None:
    """What fastmcp's server offers."""
    tools = await bound(source)
    assert (await run_tool(tools["add"], {"a": 2, "b": 3})).text == "5"
    with pytest.raises(ToolExecutionError):
        await run_tool(tools["boom"])
    assert (await run_tool(tools["read_resource"], {"uri": "memo://today"})).text == "buy milk"
    prompt = await run_tool(tools["get_prompt"], {"name": "greet", "arguments": {"name": "Ada"}})
    assert "Say hello to Ada." in prompt.text
    info = source.connection.server_info
    assert info is not None and info.name == "fast"


async def test_fastmcp_is_spoken_to_over_http(fast_url: str) -> None:
    """Tools, resources and prompts."""
    for _ in range(60):
        source = source_of(HttpServer(fast_url), name="fast", resources=True, prompts=True)
        try:
            await source.start()
            break
        except ToolExecutionError:
            await asyncio.sleep(0.1)
    await speaks_fast(source)
    assert await source.tools(Run()) is source.known_tools()
    await source.aclose()


async def test_fastmcp_is_spoken_to_over_stdio() -> None:
    """The same."""
    pytest.importorskip("fastmcp", reason="needs fastmcp, which make install brings")
    program = (sys.executable, str(Path(__file__).parent / "http_server.py"), "--stdio")
    server = StdioServer(program, environment_of({}, (), os.environ))
    async with source_of(server, name="fast", resources=True, prompts=True, connection={"start_timeout": 20}) as source:
        await speaks_fast(source)
