"""What a server leaves behind when it is over: no task, no handle, no process, whatever it was doing."""

from __future__ import annotations

import asyncio
import contextlib
import os
from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import ToolError
from agentforge_mcp.options import HttpServer
from plugins.mcp.tests.support import HttpProcess, bound, run_tool, source_of

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts what is open by /proc")


def open_handles() -> int:
    """Files, pipes and sockets of this process."""
    return len(os.listdir("/proc/self/fd"))


def children() -> set[int]:
    """The processes that this one started, dead ones among them."""
    found = set()
    for entry in Path("/proc").iterdir():
        with contextlib.suppress(OSError, ValueError, IndexError):
            if entry.name.isdigit() and int((entry / "stat").read_text().rpartition(")")[2].split()[1]) == os.getpid():
                found.add(int(entry.name))
    return found


WAYS: list[tuple[str, dict[str, Any]]] = [
    ("a good life", {"tools": ["t"]}),
    ("a call that hangs", {"tools": ["t"], "on": {"t": [{"hang": True}]}}),
    ("a death in the middle", {"tools": ["t"], "on": {"t": [{"exit": 3}]}}),
    ("no start", {"before": [{"exit": 3}]}),
    ("no answer", {"mute": True}),
    ("subscribed to changes", {"tools": ["t"], "modern": True}),
]


#: Over HTTP there is no address of what does not start.
PLACES = [
    pytest.param(script, transport, id=f"{name}-{transport}")
    for name, script in WAYS
    for transport in (["stdio"] if "before" in script else ["stdio", "http"])
]


@pytest.mark.parametrize(("script", "transport"), PLACES)
async def test_nothing_is_left_of_a_server(script: dict[str, Any], transport: str) -> None:
    """Though a call of it was under way."""
    with contextlib.ExitStack() as stack:
        if transport == "http":
            server: Any = HttpServer(stack.enter_context(HttpProcess(script)).url)
        else:
            server = script
        # What the event loop and the libraries open at their first use is not the server's.
        async with source_of({"tools": []}):
            pass
        handles, processes = open_handles(), children()
        source = source_of(server, connection={"start_timeout": 0.3, "close_timeout": 0.6})
        with contextlib.suppress(ToolError):
            await source.start()
            call = asyncio.ensure_future(run_tool((await bound(source))["t"]))
            await asyncio.wait([call], timeout=0.05)
            call.cancel()
            with contextlib.suppress(ToolError, asyncio.CancelledError):
                await call
        await source.aclose()
        await source.aclose()
        await asyncio.sleep(0.02)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert children() == processes
        assert open_handles() == handles


@pytest.mark.parametrize("turns", [0, 1, 3, 10, 30, 60, 120, 200])
async def test_a_start_can_be_given_up_at_any_time(turns: int) -> None:
    """The next one begins anew."""
    before = children()
    source = source_of({"tools": ["t"]})
    start = asyncio.ensure_future(source.start())
    for _ in range(turns):
        await asyncio.sleep(0)
    start.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await start
    if turns % 2:
        assert (await run_tool((await bound(source))["t"])).text == "{}"
    await source.aclose()
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert children() == before
