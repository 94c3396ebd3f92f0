"""What a tool raised, as the one of two errors that the rest of the framework knows (seed A 3.2.3)."""

from __future__ import annotations

from agentforge.errors import AgentForgeError, ToolArgumentsError, ToolExecutionError

__all__ = ("execution_cause", "execution_error")


def execution_error(error: BaseException, tool: str) -> ToolArgumentsError | ToolExecutionError:
    """Argument and execution errors as they are; all else wrapped, with its own message or, without one, its class.

    >>> execution_error(KeyError(), "lookup").message
    'KeyError'
    """
    if isinstance(error, (ToolArgumentsError, ToolExecutionError)):
        return error
    try:
        message = error.message if isinstance(error, AgentForgeError) else str(error)
    except Exception:  # an exception whose text cannot be made
        message = ""
    return ToolExecutionError(message or type(error).__name__, tool=tool)


def execution_cause(error: BaseException) -> BaseException | None:
    """What to raise `execution_error` from: the error itself, or its own cause where it is passed on."""
    return error.__cause__ if isinstance(error, (ToolArgumentsError, ToolExecutionError)) else error
