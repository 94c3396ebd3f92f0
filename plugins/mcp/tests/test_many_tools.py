"""Three hundred tools of three servers in one service: searched, and filtered for each conversation and role."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import pytest

from agentforge import Run, ScriptedChatModel, ToolService
from agentforge.advisor import ToolSearchAdvisor
from agentforge.client import ChatClient
from agentforge.tool import BoundTool, selecting
from agentforge.tool.execution import ToolOutcome
from agentforge_mcp.source import McpTools
from plugins.mcp.tests.support import Loop, source_of

TOPICS = {"shop": "orders of the shop", "desk": "weather and travel", "files": "files and folders"}


def tools_of(name: str, about: str) -> list[dict[str, Any]]:
    """A hundred definitions."""
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    made = [
        {"name": f"{name}_{number}", "description": f"Number {number} about {about}.", "inputSchema": schema}
        for number in range(99)
    ]
    return [*made, {"name": f"{name}_refund", "description": f"Pays back, about {about}.", "inputSchema": schema}]


@pytest.fixture(scope="module")
def servers() -> Iterator[list[McpTools]]:
    """Three processes, started side by side."""
    loop = Loop()
    made = [source_of({"tools": tools_of(name, about), "name": name}, name=name) for name, about in TOPICS.items()]

    async def start() -> None:
        await asyncio.gather(*(each.start() for each in made))

    async def close() -> None:
        await asyncio.gather(*(each.aclose() for each in made))

    loop.run(start())
    yield made
    loop.run(close())
    loop.close()


def search(query: str) -> dict[str, Any]:
    """A turn that searches."""
    return {"calls": [{"id": "s", "name": "search_tools", "args": {"query": query}}]}


def call(name: str) -> dict[str, Any]:
    """A turn that calls a tool."""
    return {"calls": [{"id": "c", "name": name, "args": {"n": 1}}]}


async def test_of_three_hundred_tools_a_model_sees_what_it_searched_for(servers: list[McpTools]) -> None:
    """And calls it; nothing else was offered."""
    model = ScriptedChatModel([search("pays back orders"), call("shop_refund"), {"text": "done"}])
    client = ChatClient(model, tools=servers, advisors=[ToolSearchAdvisor()])
    result = await client.prompt("Refund my order.").call()
    offered = [[tool.name for tool in request.parameters.tools] for request in model.requests]
    assert offered[0] == ["search_tools"]
    assert "shop_refund" in offered[1] and 2 <= len(offered[1]) < 20
    assert [each.outcome for each in result.tool_executions][-1] is ToolOutcome.OK
    assert sum(len(each.definitions) for each in servers) == 300


def by_role_and_conversation(run: Run, tools: Sequence[BoundTool]) -> Iterable[BoundTool]:
    """Refunds are for agents, files for one conversation."""
    return [
        tool
        for tool in tools
        if (not tool.name.endswith("_refund") or "agent" in run.roles)
        and (tool.source_name != "files" or run.memory_id == "office")
    ]


CONVERSATIONS = [
    ("home", [], 198, False),
    ("home", ["agent"], 200, True),
    ("office", [], 297, False),
    ("office", ["agent"], 300, True),
]


@pytest.mark.parametrize(("conversation", "roles", "count", "refunds"), CONVERSATIONS)
async def test_each_conversation_and_role_has_its_own_tools(
    servers: list[McpTools], conversation: str, roles: list[str], count: int, refunds: bool
) -> None:
    """What a role may not use is neither offered nor found nor callable; the choice is the same object every time."""
    chosen = [selecting(each, by_role_and_conversation) for each in servers]
    run = Run(memory_id=conversation, roles=roles)
    found = [await each.tools(run) for each in chosen]
    assert sum(map(len, found)) == count
    assert all([await each.tools(run) is before for each, before in zip(chosen, found, strict=True)])

    model = ScriptedChatModel([search("pays back orders"), call("shop_refund"), {"text": "done"}])
    service = ToolService(*chosen, unknown_tool_strategy="list_known_tools")
    client = ChatClient(model, service=service, advisors=[ToolSearchAdvisor()])
    prompt = client.prompt("Refund my order.").memory_id(conversation).roles(*roles)
    result = await prompt.call()
    outcome = result.tool_executions[-1].outcome
    assert outcome is (ToolOutcome.OK if refunds else ToolOutcome.UNKNOWN_TOOL)
