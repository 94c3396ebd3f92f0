"""What a tool raised, as the one of two errors that the rest of the framework knows (seed A 3.2.3)."""

from __future__ import annotations

import contextlib
from typing import TypeGuard

from agentforge.errors import AgentForgeError, ToolArgumentsError, ToolExecutionError

__all__ = ("execution_cause", "execution_error", "release_frames")

_OURS = __name__.rpartition(".")[0]


def execution_error(error: BaseException, tool: str) -> ToolArgumentsError | ToolExecutionError:
    """Argument and execution errors as they are; all else wrapped, with its own message or, without one, its class.
    Wrapped is also an argument error that has ended a run which the tool held: this tool's arguments did fit.

    >>> execution_error(KeyError(), "lookup").message
    'KeyError'
    """
    if _passes(error):
        return error
    try:
        message = error.message if isinstance(error, AgentForgeError) else str(error)
    except Exception:  # an exception whose text cannot be made
        message = ""
    return ToolExecutionError(message or type(error).__name__, tool=tool)


def execution_cause(error: BaseException) -> BaseException | None:
    """What to raise `execution_error` from: the error itself, or its own cause where it is passed on."""
    return error.__cause__ if _passes(error) else error


def _passes(error: BaseException) -> TypeGuard[ToolArgumentsError | ToolExecutionError]:
    if isinstance(error, ToolArgumentsError):
        return error.partial is None
    return isinstance(error, ToolExecutionError)


def release_frames(error: BaseException) -> None:
    """Let go of what our own frames in the error's tracebacks hold: a run keeps its errors, which would keep the run.

    The tracebacks stay, and so do the frames of the tool's own code with their values.
    """
    found: BaseException | None = error
    while found is not None:
        at = found.__traceback__
        while at is not None:
            frame = at.tb_frame
            if frame.f_globals.get("__name__", "").startswith(_OURS):
                with contextlib.suppress(RuntimeError):  # it is at work still
                    frame.clear()
            at = at.tb_next
        found = found.__cause__
