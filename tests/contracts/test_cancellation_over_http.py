"""A conversation over real HTTP, cancelled at every step: nothing of it stays behind, and the next one works."""

from __future__ import annotations

import asyncio
import threading

import pytest

from agentforge import Run, ToolService, tool
from agentforge.model.history import mend_history
from agentforge.testing import EndpointRequest, EndpointTurn, ScriptedEndpoint, call, calls
from agentforge_openai import OpenAiChatModel


@tool
async def look() -> str:
    "Takes a few steps."
    for _ in range(3):
        await asyncio.sleep(0)
    return "seen"


@tool
def block() -> str:
    "Runs on a thread."
    return "blocked"


@tool(effect="write")
async def pay() -> str:
    "A write."
    await asyncio.sleep(0)
    return "paid"


def three_rounds(request: EndpointRequest) -> EndpointTurn:
    """Three calls in each of three rounds, whichever conversation asks."""
    answered = sum(message["role"] == "assistant" for message in request.body["messages"])
    return calls(call("look"), call("block"), call("pay")) if answered < 3 else "done"


@pytest.mark.parametrize("transport", ["httpx", "aiohttp"])
@pytest.mark.parametrize("streamed", [False, True])
async def test_cancelled_at_any_step_no_task_thread_or_connection_is_left(transport: str, streamed: bool) -> None:
    service = ToolService(look, block, pay, max_threads=3)
    threads = threading.active_count()
    async with ScriptedEndpoint([three_rounds], repeat=True) as endpoint:
        standing = asyncio.all_tasks()
        cancelled = finished = step = 0
        while finished < 1:
            model = OpenAiChatModel(model="scripted", base_url=endpoint.base_url, transport=transport)
            run = Run()

            async def work(model: OpenAiChatModel = model, run: Run = run) -> None:
                if not streamed:
                    await service.chat(model, None, "q", context=run)
                    return
                async with service.stream(model, None, "q", context=run) as events:
                    async for _ in events:
                        pass

            task = asyncio.create_task(work())
            for _ in range(step):
                if task.done():
                    break
                await asyncio.sleep(0)
            was_running = task.cancel()
            await asyncio.wait([task])
            if was_running and task.cancelled():
                cancelled += 1
            else:
                finished += 1
            assert mend_history(tuple(run.messages)) == (tuple(run.messages), ()), step
            await model.aclose()
            await settled(standing, endpoint)
            # Early steps one by one, as each may be an open, a send or a read; later ones more widely.
            step += 1 if step < 60 else 7
        assert cancelled > 20
        assert threading.active_count() <= threads + 3 + 1  # the endpoint may serve from a thread of its own
    service.close()


async def settled(standing: set[asyncio.Task[object]], endpoint: ScriptedEndpoint) -> None:
    """Wait until only what stood before is left; fails after five seconds."""
    async with asyncio.timeout(5):
        while asyncio.all_tasks() - standing - {asyncio.current_task()} or endpoint.open_connections:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
