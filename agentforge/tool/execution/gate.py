"""The two protocols between a reply and its results: gates see the whole batch, interceptors wrap one call.

A *gate* has no effect: it says of each call whether it may proceed. An *interceptor* wraps one admitted call. Both
are small classes; a service takes any number of them, and what is not configured costs nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from agentforge.errors import ToolError
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.tool.execution.outcome import ToolOutcome
from agentforge.tool.execution.result import ToolExecutionResult

if TYPE_CHECKING:
    from agentforge.tool.execution.run import Run
    from agentforge.tool.execution.serial import SerialTurn
    from agentforge.tool.execution.state import ToolLoopState
    from agentforge.tool.source import BoundTool

__all__ = ("Ask", "CallNext", "PlannedCall", "Proceed", "Refuse", "ToolGate", "ToolInterceptor", "Verdict")


@dataclass(slots=True, eq=False)
class PlannedCall:
    """One call on its way: what the look-up found, what the validation made of its arguments.

    ``began`` turns true when the tool's own code starts; a write that ends badly after that is in doubt. ``handed``
    says that it has reached its tool, which may still wait for a worker thread. ``expires`` is the monotonic time at
    which the batch ends the call, ``expired`` whether it has done so; ``turn`` is its turn at a serial key. ``nested``
    is the state of the run that the call held when it was suspended.
    """

    position: int
    request: ToolExecutionRequest
    tool: BoundTool | None = None
    arguments: dict[str, object] | None = None
    bound: Any = None
    began: bool = False
    handed: bool = False
    expires: float | None = None
    expired: bool = False
    turn: SerialTurn | None = None
    nested: ToolLoopState | None = None
    attributes: dict[str, object] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The tool's name as the model wrote it."""
        return self.request.name


@dataclass(frozen=True, slots=True)
class Proceed:
    """The call may go on."""


@dataclass(frozen=True, slots=True)
class Refuse:
    """The call does not run. ``text`` goes to the model; ``error`` is handed to the strategy for its kind first."""

    outcome: ToolOutcome
    text: str
    error: ToolError | None = None


@dataclass(frozen=True, slots=True)
class Ask:
    """Someone is to decide; the run suspends before any call of the reply has run.

    ``nested`` is the state of a run that a call of this one holds, where that is what waits: see `NestedSuspension`.
    """

    reason: str = ""
    nested: ToolLoopState | None = field(default=None, compare=False, repr=False)


Verdict: TypeAlias = Proceed | Refuse | Ask


@runtime_checkable
class ToolGate(Protocol):
    """Judges a whole batch. Gates run in the order look-up, ``stage = "permission"``, validation, then all others in
    the order given; each sees the calls that the ones before let through."""

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        """One verdict a call, in the order of ``batch``; any other answer ends the run with `RunError`, nothing ran."""
        ...


CallNext: TypeAlias = Callable[[PlannedCall, "Run"], Awaitable[ToolExecutionResult]]


@runtime_checkable
class ToolInterceptor(Protocol):
    """Wraps one admitted call: may look at it, change its result, or answer in its place.

    ``next`` may be awaited again only for a tool with ``effect="read"``, or when the first time ended before the call
    reached its tool; else the second time raises `ToolExecutionError`, and the tool does not run twice.
    """

    async def around(self, call: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
        """Return the call's result, usually that of ``await next(call, run)``."""
        ...
