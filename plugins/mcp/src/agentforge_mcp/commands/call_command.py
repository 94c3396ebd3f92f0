"""``agentforge mcp call NAME TOOL [JSON]``: one call on one MCP server, on the way that a model's call takes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agentforge.cli import Console, Parser, call_tool, error_of, json_text, near_miss, run_in_order, show_execution
from agentforge.errors import UnknownToolError
from agentforge.tool.execution import ToolService
from agentforge_mcp.commands.servers import servers

if TYPE_CHECKING:
    from agentforge_mcp.source import McpTools

__all__ = ("arguments", "run")


def arguments(parser: Parser) -> None:
    """The server, the tool and its arguments."""
    parser.surplus_hint = 'Put the JSON into quotes: \'{"path": "notes.txt"}\'.'
    parser.add_argument("name", metavar="NAME", help="the mcp.stdio or mcp.http bean")
    parser.add_argument("tool", metavar="TOOL", help="the tool, by the server's name for it or by ours")
    parser.add_argument(
        "json_text", nargs="?", metavar="JSON", help="its arguments, a JSON object; - reads standard input"
    )


def run(options: argparse.Namespace, console: Console) -> int:
    """Call it. Its result is the result, its error the error."""
    run_in_order(_call(options, console, json_text(options, console)))
    return 0


async def _call(options: argparse.Namespace, console: Console, text: str) -> None:
    async with servers(options, console) as known:
        source = await known.source(known.id_of(options.name))
        await source.refresh()
        with ToolService(source, tool_timeout=None, secrets=known.app.plan.secrets) as service:
            execution = await call_tool(service, _offered_name(source, options.tool), text)
        if execution.has_failed():
            raise error_of(execution)
        show_execution(execution, console)  # before the server is ended: the tool has run, whatever becomes of that


def _offered_name(source: McpTools, wanted: str) -> str:
    """What the tool is offered by here. Raises `UnknownToolError`."""
    why = source.why_held_back(wanted)
    if why is not None:
        held = UnknownToolError(f"the tool {wanted!r} of the server {source.connection.name!r} is held back: it {why}")
        held.next_step = source.accepting
        raise held
    offered = source.known_tools() or ()
    for tool in offered:
        if wanted in (tool.name, tool.origin.name if tool.origin is not None else None):
            return tool.name
    names = tuple(tool.name for tool in offered)
    error = UnknownToolError(f"the server {source.connection.name!r} offers no tool {wanted!r}", known=names)
    error.next_step = near_miss(wanted, names) or f"It offers {', '.join(names) or 'none'}."
    raise error
