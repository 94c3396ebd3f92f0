"""What functions and own executors have in common when they are called: which function runs, and an awaited result."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence
from functools import partial
from typing import Any

from agentforge.tool.execution.converter import ToolResultConverter, converted
from agentforge.tool.execution.failure import execution_cause, execution_error
from agentforge.tool.execution.result import ToolExecutionResult

__all__ = ("awaited_result", "function_behind")


def function_behind(target: Any) -> Any:
    """The function that runs when ``target`` is called: behind partials, and ``__call__`` of an object."""
    while isinstance(target, partial):
        target = target.func
    return target if inspect.isroutine(target) else type(target).__call__


async def awaited_result(
    value: Awaitable[Any], tool: str, converters: Sequence[ToolResultConverter] = ()
) -> ToolExecutionResult:
    """The result of a tool that returned an awaitable; what it raises is one of the two errors of `execution_error`."""
    try:
        return converted(await value, tool, converters)
    except (Exception, SystemExit) as error:
        raise execution_error(error, tool) from execution_cause(error)
