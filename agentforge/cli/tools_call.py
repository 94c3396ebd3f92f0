"""``agentforge tools call NAME [JSON]``: one call on the way a model's call takes, without a model."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from agentforge.cli.application import compiled
from agentforge.cli.console import Console, not_text
from agentforge.cli.ending import run_in_order
from agentforge.cli.offered import Offer, add_bean_option, find, offers, run_for
from agentforge.cli.text import count, is_text
from agentforge.cli.usage import Parser
from agentforge.errors import AgentForgeError, ToolError, ToolExecutionError

if TYPE_CHECKING:
    from agentforge.tool.execution import ToolExecution

__all__ = ("arguments", "run")


def arguments(parser: Parser) -> None:
    """The tool's name, its arguments and ``--bean``."""
    parser.surplus_hint = 'Put the JSON into quotes: \'{"city": "Paris"}\'.'
    parser.add_argument("name", metavar="NAME", help="the tool")
    parser.add_argument(
        "json_text", nargs="?", metavar="JSON", help="its arguments, a JSON object; - reads standard input"
    )
    add_bean_option(parser)


def run(options: argparse.Namespace, console: Console) -> int:
    """Call it through validation, gates, limits and interceptors. Its result is the result, its error the error,
    whatever the service's error handlers would tell a model."""
    text = options.json_text or ""
    if text == "-":
        text = console.read_all()
    if not is_text(text):
        raise not_text("the JSON")
    run_in_order(_call(options, console, text))
    return 0


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


async def _call(options: argparse.Namespace, console: Console, text: str) -> None:
    async with compiled(options, console) as app:
        offer, _ = find(await offers(app, options), options.name)
        execution = await _executed(offer, options.name, text)
        if execution.has_failed():
            raise _error_of(execution)
        # Before the beans are closed: the tool has run, whatever becomes of them.
        _show(execution, console)


async def _executed(offer: Offer, name: str, text: str) -> ToolExecution:
    """A scripted model asks for the call, so that it takes the whole way, in a turn of the client whose tool it is."""
    from agentforge.model.scripted import ScriptedChatModel, call

    model = ScriptedChatModel([call(name, text), "Done."])
    try:
        result = await offer.service.chat(model, None, f"Call {name}.", context=run_for(offer.client))
    except Exception as error:
        done = getattr(getattr(error, "partial", None), "tool_executions", ())
        if not done:
            raise
        return done[-1]  # type: ignore[no-any-return]
    if not result.tool_executions:
        raise ToolError(f"the call of {name!r} waits for a decision and did not run", tool=name)
    return result.tool_executions[-1]


def _error_of(execution: ToolExecution) -> AgentForgeError:
    cause = execution.result.cause
    name = execution.request.name
    if isinstance(cause, AgentForgeError):
        cause.location = cause.location or f"tool {name!r}, {execution.outcome.value}"
        return cause
    text = execution.result_text() or "it gave no reason"
    return ToolExecutionError(text, tool=name, location=f"tool {name!r}, {execution.outcome.value}")
