"""The run, and the call, that the code at hand works for: known to its tasks, to the worker threads of its tools and to
all they call.

Of nested runs the innermost counts. Once a run is over nobody works for it any more, whatever it has left behind.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from contextvars import ContextVar, Token
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from agentforge.tool.execution.batch import Emit
    from agentforge.tool.execution.gate import PlannedCall
    from agentforge.tool.execution.run import Run

__all__ = ("CurrentCall", "CurrentRun", "current_call", "current_listener", "current_run", "current_run_loop")


class CurrentRun:
    """A block of code works for a run; ``loop`` is where the run lives, for those who come from its threads.

    The context of a task or a timer that outlives the run holds this and not the run, which goes when it is over.
    """

    __slots__ = ("_token", "loop", "run")

    def __init__(self, run: Run, loop: asyncio.AbstractEventLoop | None) -> None:
        self.run: Run | None = run
        self.loop = loop
        self._token: Token[CurrentRun | None] | None = None

    def begin(self) -> None:
        """From now on, in this task or thread and in all that it starts."""
        self._token = _here.set(self)

    def end(self) -> None:
        """The run is over; what was before counts again."""
        token, self._token = self._token, None
        if token is not None:
            with suppress(ValueError):  # begun in another context, as a generator's may be: nothing to take back here
                _here.reset(token)
        self.run = self.loop = None


_here: ContextVar[CurrentRun | None] = ContextVar("agentforge_current_run", default=None)


class CurrentCall:
    """The task at hand makes a call, and ``emit`` is where its events are told; for the task that is the call's own.

    As with a run, what outlives the call holds this and not the call.
    """

    __slots__ = ("call", "emit")

    def __init__(self, call: PlannedCall, emit: Emit | None) -> None:
        self.call: PlannedCall | None = call
        self.emit = emit
        _call.set(self)

    def end(self) -> None:
        """The call is over."""
        self.call = self.emit = None


_call: ContextVar[CurrentCall | None] = ContextVar("agentforge_current_call", default=None)


def current_call() -> PlannedCall | None:
    """The call that this code runs for, in its own task and in its thread; ``None`` outside of one."""
    here = _call.get()
    return None if here is None else here.call


def current_listener() -> Emit | None:
    """Where events of the current call are told; ``None`` where nobody listens."""
    here = _call.get()
    return None if here is None else here.emit


def current_run() -> Run | None:
    """The run that this code works for, in the run's own task, in its tools and in their threads; else ``None``."""
    here = _here.get()
    return None if here is None else here.run


def current_run_loop() -> asyncio.AbstractEventLoop | None:
    """The event loop of the current run; ``None`` without one."""
    here = _here.get()
    return None if here is None else here.loop
