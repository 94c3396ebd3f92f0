"""A call whose tool holds a run of its own: that run may wait for a decision, and then this one waits for it.

The state of the inner run is kept in the state of the outer one, at the place of the call. When the outer run is taken
up again its gates are asked again, the call is made again, and its tool goes on with the inner state.
"""

from __future__ import annotations

from contextvars import ContextVar

from agentforge.tool.execution.state import ToolLoopState

__all__ = ("NestedSuspension", "going_on_with", "is_taken_up", "taken_up_state")


class NestedSuspension(BaseException):
    """Raised by what runs a tool when the run that it holds is suspended; ``state`` is that run's.

    No error: no handler answers it, interceptors let it pass, and siblings of the call run to their ends.
    """

    def __init__(self, state: ToolLoopState, reason: str = "") -> None:
        super().__init__(reason)
        self.state = state
        self.reason = reason


_going_on: ContextVar[ToolLoopState | None] = ContextVar("agentforge_nested_state", default=None)


def going_on_with(state: ToolLoopState) -> None:
    """The call that the current task makes goes on with this state."""
    _going_on.set(state)


def is_taken_up() -> bool:
    """Whether the call that the current task makes goes on with a state, and so was made before."""
    return _going_on.get() is not None


def taken_up_state() -> ToolLoopState | None:
    """The state that a tool's own run goes on with, the first time it is asked for; ``None`` for a new run. What the
    tool then starts has no part in it."""
    state = _going_on.get()
    if state is not None:
        _going_on.set(None)
    return state
