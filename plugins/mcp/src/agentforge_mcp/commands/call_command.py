"""``agentforge mcp call NAME TOOL [JSON]``: one call on one MCP server, on the way that a model's call takes."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agentforge.cli import Console, Parser, UsageError, count, is_text, near_miss, run_in_order
from agentforge.errors import AgentForgeError, ToolExecutionError, UnknownToolError
from agentforge_mcp.commands.servers import servers

if TYPE_CHECKING:
    from agentforge.masking import Secrets
    from agentforge.tool.execution import ToolExecution
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
    text = options.json_text or ""
    if text == "-":
        text = console.read_all()
    if not is_text(text):
        raise UsageError("the JSON is not UTF-8 text", next_step="Convert it to UTF-8, for example with iconv.")
    run_in_order(_call(options, console, text))
    return 0


async def _call(options: argparse.Namespace, console: Console, text: str) -> None:
    async with servers(options, console) as known:
        source = await known.source(known.id_of(options.name))
        await source.refresh()
        execution = await _executed(source, _offered_name(source, options.tool), text, known.app.plan.secrets)
        if execution.has_failed():
            raise _error_of(execution)
        _show(execution, console)  # before the server is ended: the tool has run, whatever becomes of that


def _offered_name(source: McpTools, wanted: str) -> str:
    """What the tool is offered by here. Raises `UnknownToolError`."""
    offered = source.known_tools() or ()
    for tool in offered:
        if wanted in (tool.name, tool.origin.name if tool.origin is not None else None):
            return tool.name
    names = tuple(tool.name for tool in offered)
    error = UnknownToolError(f"the server {source.connection.name!r} offers no tool {wanted!r}", known=names)
    error.next_step = near_miss(wanted, names) or f"It offers {', '.join(names) or 'none'}."
    raise error


async def _executed(source: McpTools, name: str, text: str, secrets: Secrets) -> ToolExecution:
    """A scripted model asks for the call, so that it takes the whole way."""
    from agentforge.testing import ScriptedChatModel, call
    from agentforge.tool.execution import ToolService

    model = ScriptedChatModel([call(name, text), "Done."])
    with ToolService(source, tool_timeout=None, secrets=secrets) as service:
        try:
            result = await service.chat(model, None, f"Call {name}.")
        except Exception as error:
            done = getattr(getattr(error, "partial", None), "tool_executions", ())
            if not done:
                raise
            execution: ToolExecution = done[-1]
            return execution
    return result.tool_executions[-1]


def _show(execution: ToolExecution, console: Console) -> None:
    if console.json:
        from agentforge.tool.execution import execution_to_json

        data = execution_to_json(execution)
        del data["id"]  # made up here
        console.data(data)
        return
    console.out(execution.result_text())
    others = [part for part in execution.result.contents if not hasattr(part, "text")]
    if others:
        console.say(f"({count(len(others), 'part')} of the result not shown: no text)")


def _error_of(execution: ToolExecution) -> AgentForgeError:
    cause = execution.result.cause
    name = execution.request.name
    if isinstance(cause, AgentForgeError):
        cause.location = cause.location or f"tool {name!r}, {execution.outcome.value}"
        return cause
    text = execution.result_text() or "it gave no reason"
    return ToolExecutionError(text, tool=name, location=f"tool {name!r}, {execution.outcome.value}")
