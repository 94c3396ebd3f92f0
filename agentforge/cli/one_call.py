"""One call of a tool from the command line: its JSON, the way that a model's call takes, its result or its error."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from agentforge.cli.console import Console, not_text
from agentforge.cli.text import count, is_text
from agentforge.errors import AgentForgeError, ToolError, ToolExecutionError

if TYPE_CHECKING:
    from agentforge.tool.execution import Run, ToolExecution, ToolService

__all__ = ("call_tool", "error_of", "json_text", "show_execution")


def json_text(options: argparse.Namespace, console: Console) -> str:
    """The arguments as they were written, or read from standard input. Raises `UsageError` for what is no text."""
    text: str = options.json_text or ""
    if text == "-":
        text = console.read_all()
    if not is_text(text):
        raise not_text("the JSON")
    return text


async def call_tool(service: ToolService, name: str, text: str, run: Run | None = None) -> ToolExecution:
    """A scripted model asks for the call, so that it takes the whole way: validation, gates, limits and interceptors.

    What it ends with is the execution's, whatever the error handlers would tell a model. Raises `ToolError` for a call
    that waits for a decision.
    """
    from agentforge.model.scripted import ScriptedChatModel, call

    model = ScriptedChatModel([call(name, text), "Done."])
    try:
        with _told_once():
            result = await service.chat(model, None, f"Call {name}.", context=run)
    except Exception as error:
        done = getattr(getattr(error, "partial", None), "tool_executions", ())
        if not done:
            raise
        return done[-1]  # type: ignore[no-any-return]
    if not result.tool_executions:
        raise ToolError(f"the call of {name!r} waits for a decision and did not run", tool=name)
    return result.tool_executions[-1]


@contextmanager
def _told_once() -> Iterator[None]:
    """A block in which nobody is warned of a failed tool whose error is shown anyway. What a tool's own code raised is
    warned of, as its traceback stands nowhere else."""
    logger = logging.getLogger("agentforge.tool")

    def others(record: logging.LogRecord) -> bool:
        return not isinstance(getattr(record, "tool_error", None), AgentForgeError)

    logger.addFilter(others)
    try:
        yield
    finally:
        logger.removeFilter(others)


def show_execution(execution: ToolExecution, console: Console) -> None:
    """Print the result, and say what of it is no text; as data the whole execution."""
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


def error_of(execution: ToolExecution) -> AgentForgeError:
    """The error of a call that failed, with the tool and its outcome as the place."""
    cause = execution.result.cause
    name = execution.request.name
    if isinstance(cause, AgentForgeError):
        cause.location = cause.location or f"tool {name!r}, {execution.outcome.value}"
        return cause
    text = execution.result_text() or "it gave no reason"
    return ToolExecutionError(text, tool=name, location=f"tool {name!r}, {execution.outcome.value}")
