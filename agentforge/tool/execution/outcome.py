"""The closed set of ways in which one tool call can end, whatever the executor and whatever went wrong."""

from __future__ import annotations

from enum import Enum

__all__ = ("ToolOutcome",)


class ToolOutcome(Enum):
    """How a call ended; exactly one for every call a model makes."""

    OK = "ok"
    INVALID_ARGUMENTS = "invalid_arguments"
    """The arguments do not fit; the tool did not run."""
    UNKNOWN_TOOL = "unknown_tool"
    """No such tool was offered in the request."""
    DENIED = "denied"
    """A gate refused the call."""
    LIMITED = "limited"
    """A bound (threads, rounds, calls) kept it from starting."""
    TIMED_OUT = "timed_out"
    """It did not end in its time."""
    CANCELLED = "cancelled"
    """It was not started, or stopped, because the run or the reply ended."""
    FAILED = "failed"
    """It ran and reported a failure."""
    IN_DOUBT = "in_doubt"
    """A write that may or may not have happened."""
