"""``agentforge mcp list``: the configured MCP servers, what they say of themselves, and whether they are there."""

from __future__ import annotations

import argparse
import asyncio
from typing import Any

from agentforge.cli import Console, Parser, run_in_order, table
from agentforge.errors import AgentForgeError
from agentforge_mcp.commands.servers import Servers, servers

__all__ = ("arguments", "run")


def arguments(parser: Parser) -> None:
    """None of its own."""


def run(options: argparse.Namespace, console: Console) -> int:
    """Start each server and list its tools, all side by side; 1 where one of them is not there."""
    found = run_in_order(_found(options, console))
    if console.json:
        console.data(found)
    else:
        rows = [
            (
                each["bean"],
                each["transport"],
                each["protocol"] or "",
                " ".join(filter(None, (each["server"], each["version"]))),
                "" if each["tools"] is None else str(each["tools"]),
                each["state"] if each["error"] is None else f"{each['state']}: {each['error']}",
            )
            for each in found
        ]
        console.out(table(("bean", "transport", "protocol", "server", "tools", "state"), rows))
    return 1 if any(each["error"] is not None for each in found) else 0


async def _found(options: argparse.Namespace, console: Console) -> list[dict[str, Any]]:
    async with servers(options, console) as known:
        return await asyncio.gather(*(_one(known, id_, console) for id_ in known.ids))


async def _one(known: Servers, id_: str, console: Console) -> dict[str, Any]:
    made: dict[str, Any] = {
        "bean": id_,
        "transport": known.transport(id_),
        "protocol": None,
        "server": None,
        "version": None,
        "tools": None,
        "state": "down",
        "error": None,
    }
    try:
        source = await known.source(id_)
        await source.refresh()
        info = source.connection.server_info
        made["tools"] = len(source.known_tools() or ())
        if info is not None:
            made |= {"protocol": info.protocol, "server": info.name, "version": info.version}
        made["state"] = source.connection.state
    except AgentForgeError as error:
        made["error"] = console.secrets.mask(error.message)
    return made
