"""The innermost step of a call: the tool itself, in the loop or on a worker thread, and never a write twice."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from functools import partial
from typing import Any

from agentforge.errors import ToolExecutionError, ToolLimitedError
from agentforge.tool.execution.gate import CallNext, PlannedCall
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.run import Run
from agentforge.tool.execution.threads import ToolThreads
from agentforge.tool.source import BoundTool

__all__ = ("innermost_of",)


def innermost_of(tool: BoundTool, threads: ToolThreads) -> CallNext:
    """What runs the tool; a plain function on one of the ``threads``."""
    return _call_async if inspect.iscoroutinefunction(tool.invoke) else partial(_call, threads)


async def _call(threads: ToolThreads, call: PlannedCall, run: Run) -> ToolExecutionResult:
    tool = call.tool
    if tool is None:
        raise ToolLimitedError("a call without a tool cannot run")
    if call.handed and tool.effect != "read":
        return await _refuse_repeat(call)
    call.handed = True
    made: Any
    if tool.blocking:
        try:
            made = await threads.run(
                partial(tool.invoke, call.request, call.bound, run), partial(setattr, call, "began", True)
            )
        except ToolLimitedError:
            call.handed = call.began
            raise
    else:
        call.began = True
        made = tool.invoke(call.request, call.bound, run)
    return await made if inspect.isawaitable(made) else made  # type: ignore[no-any-return]


def _call_async(call: PlannedCall, run: Run) -> Awaitable[ToolExecutionResult]:
    """For a tool that is async and known to be: no layer of its own."""
    tool: Any = call.tool
    if call.handed and tool.effect != "read":
        return _refuse_repeat(call)
    call.handed = call.began = True
    return tool.invoke(call.request, call.bound, run)  # type: ignore[no-any-return]


async def _refuse_repeat(call: PlannedCall) -> ToolExecutionResult:
    raise ToolExecutionError(
        f"an interceptor called next again after the tool {call.name!r} was reached; it is not run twice",
        tool=call.name,
        next_step='Only tools declared with effect="read" may be repeated.',
    )
