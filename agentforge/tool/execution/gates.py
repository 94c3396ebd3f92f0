"""What every batch passes before it runs: was the tool offered, and do the arguments fit its whole schema?

The first and the third of the gates; as every batch passes them, they are plain functions. What a service adds are
`ToolGate` objects, asked before and after the validation.
"""

from __future__ import annotations

import inspect
from collections.abc import Container, Sequence

from agentforge.errors import RunError, ToolArgumentsError, ToolExecutionError, UnknownToolError
from agentforge.model.arguments import ArgumentLimits, parse_arguments
from agentforge.tool.execution.gate import Ask, PlannedCall, Proceed, Refuse, ToolGate, Verdict
from agentforge.tool.execution.outcome import ToolOutcome
from agentforge.tool.execution.run import Run

__all__ = ("judged", "look_up", "validate")


def look_up(call: PlannedCall, known: Sequence[str], bound: Container[str]) -> Refuse:
    """The refusal of a call that found no tool; ``known`` are the names of the request, ``bound`` those with a tool."""
    name = call.request.name
    if name in bound:
        reason = f"the tool {name!r} is not the one that the model was offered: it came or changed after the reply"
    elif name in known:
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


async def judged(gate: ToolGate, calls: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
    """What the gate says of the calls. An answer that is none is an error, never a permission.

    Raises `RunError` unless there is one verdict a call.
    """
    name = type(gate).__name__
    found: object = gate.check(calls, run)
    if not inspect.isawaitable(found):
        raise _no_verdicts(f"check of the gate {name} is not async")
    found = await found
    if not isinstance(found, Sequence) or isinstance(found, str) or len(found) != len(calls):
        verdicts = isinstance(found, Sequence) and not isinstance(found, str)
        gave = f"{len(found)} of {len(calls)} verdicts" if verdicts else type(found).__name__  # type: ignore[arg-type]
        raise _no_verdicts(f"the gate {name} gave {gave}")
    for call, verdict in zip(calls, found, strict=True):
        if not isinstance(verdict, (Proceed, Refuse, Ask)):
            gave = f"the class {verdict.__name__}" if isinstance(verdict, type) else type(verdict).__name__
            raise _no_verdicts(f"the gate {name} gave {gave} for the tool {call.name!r}")
        if isinstance(verdict, Refuse) and verdict.outcome is ToolOutcome.OK:
            raise _no_verdicts(f"the gate {name} refused the tool {call.name!r} with the outcome OK")
    return found


def _no_verdicts(message: str) -> RunError:
    return RunError(
        f"{message}; nothing of the batch ran",
        next_step="Return one Proceed(), Refuse(outcome, text) or Ask(reason) a call, in the order of the calls.",
    )
