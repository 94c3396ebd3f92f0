"""What every batch passes before it runs: was the tool offered, and do the arguments fit its whole schema?

The first and the third of the gates; as every batch passes them, they are plain functions. What a service adds are
`ToolGate` objects, asked before and after the validation.
"""

from __future__ import annotations

from collections.abc import Sequence

from agentforge.errors import ToolArgumentsError, ToolExecutionError, UnknownToolError
from agentforge.model.arguments import ArgumentLimits, parse_arguments
from agentforge.tool.execution.gate import PlannedCall, Refuse
from agentforge.tool.execution.outcome import ToolOutcome

__all__ = ("look_up", "validate")


def look_up(call: PlannedCall, known: Sequence[str]) -> Refuse:
    """The refusal of a call that found no tool; ``known`` are the names of the request."""
    name = call.request.name
    if name in known:
        reason = f"the tool {name!r} was offered by the request's own parameters and has no executor here"
    else:
        reason = f"the model asked for the tool {name!r}, which was not offered"
    error = UnknownToolError(reason, tool=name, known=known)
    return Refuse(ToolOutcome.UNKNOWN_TOOL, error.message, error)


def validate(call: PlannedCall, limits: ArgumentLimits) -> Refuse | None:
    """Parse, coerce exactly and check the arguments; what the executor is handed is left in ``call.bound``.

    Returns the refusal when they do not fit. (Empty text means an empty object.)
    """
    tool = call.tool
    if tool is None:
        return None
    try:
        call.arguments = parse_arguments(call.request.arguments, tool=tool.name, limits=limits)
        call.bound = tool.bind(call.arguments)
    except ToolArgumentsError as error:
        return Refuse(ToolOutcome.INVALID_ARGUMENTS, error.message, error)
    except Exception as cause:  # a binder of someone else's: its fault is this call's failure, not the run's
        failed = ToolExecutionError(f"the arguments could not be checked: {cause}", tool=tool.name)
        failed.__cause__ = cause
        return Refuse(ToolOutcome.FAILED, failed.message, failed)
    return None
