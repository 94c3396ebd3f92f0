"""One conversation turn while it runs: its identity, its bounds, and what it has used and done so far."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import json
import logging
import os
import threading
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, MutableMapping, Sequence
from typing import TYPE_CHECKING

from agentforge.errors import RunStateError
from agentforge.masking import Secrets
from agentforge.model.history import History
from agentforge.model.messages import UserMessage
from agentforge.model.usage import TokenUsage

if TYPE_CHECKING:
    from agentforge.model.events import Notice
    from agentforge.model.response import ChatResponse
    from agentforge.tool.execution.batch import Emit
    from agentforge.tool.execution.converter import ToolResultConverter
    from agentforge.tool.execution.gate import ToolGate
    from agentforge.tool.execution.result import ToolExecution
    from agentforge.tool.execution.state import ToolLoopState
    from agentforge.tool.source import BoundTool, ToolSelector, ToolSource

__all__ = ("Cancellation", "PartialRun", "Run", "ToolContext")

_log = logging.getLogger("agentforge.tool")
_spending = threading.Lock()


class Cancellation:
    """Whether the run is to stop, and why. Safe to read from any thread; ``wait`` serves async tools.

    A sync tool in a thread cannot be stopped from outside: long ones look at ``requested`` themselves.
    """

    __slots__ = ("_callbacks", "reason")

    def __init__(self) -> None:
        self.reason: str | None = None
        self._callbacks: list[Callable[[], object]] = []

    @property
    def requested(self) -> bool:
        """Whether the run is to stop."""
        return self.reason is not None

    def request(self, reason: str) -> None:
        """Ask the run to stop; the first reason stays."""
        if self.reason is None:
            self.reason = reason
            self._tell()

    def on_request(self, callback: Callable[[], object]) -> Callable[[], None]:
        """Call ``callback`` once when the run is to stop (at once if it already is); returns how to take that back."""
        self._callbacks.append(callback)
        if self.requested:
            self._tell()
        return lambda: self._callbacks.remove(callback) if callback in self._callbacks else None

    def _tell(self) -> None:
        """Call each callback once, whoever takes it; one that raises keeps no other from being told."""
        while self._callbacks:
            try:
                self._callbacks.pop(0)()
            except Exception:
                _log.exception("a callback of a run's cancellation failed")

    async def wait(self) -> str:
        """Return the reason once the run is to stop."""
        loop = asyncio.get_running_loop()
        event = asyncio.Event()
        undo = self.on_request(lambda: loop.call_soon_threadsafe(event.set))
        try:
            await event.wait()
        finally:
            undo()
        return self.reason or ""


class Run:
    """A run is a turn: mutable, made for each `chat` and alive until it ends.

    ``deadline`` is a time of `time.monotonic`. ``user_data`` is the application's and never sent to a model; ``state``
    is what the tools of this turn share; ``attributes`` are notes of advisors and gates that survive rounds.
    ``secrets`` are masked in whatever goes to the model about errors. ``messages`` is always a valid history, also
    after an error or a cancellation. ``sources`` are the tools of this turn alone, beside the registered ones,
    ``selectors`` choose what each request offers, ``gates`` judge its calls after the service's; ``notices`` is what a
    user should know of it.
    """

    __slots__ = (
        "_begun",
        "_endings",
        "_over",
        "_resume",
        "attributes",
        "cancellation",
        "converters",
        "deadline",
        "depth",
        "earlier_usage",
        "failed",
        "gates",
        "guards",
        "id",
        "intermediate_responses",
        "memory_id",
        "messages",
        "nested_usage",
        "noted",
        "notices",
        "own_usage",
        "parent",
        "parent_id",
        "resumed",
        "roles",
        "round",
        "secrets",
        "selectors",
        "sources",
        "state",
        "suspended",
        "tells",
        "tenant",
        "token_usage",
        "tool_executions",
        "user_data",
    )

    def __init__(
        self,
        *,
        memory_id: object = None,
        tenant: str | None = None,
        roles: Iterable[str] = (),
        user_data: Mapping[str, object] | None = None,
        timeout: float | None = None,
        parent: Run | None = None,
        id: str | None = None,
    ) -> None:
        self.id = id or os.urandom(16).hex()
        #: The run that this one works for, until it is over.
        self.parent = parent
        self.parent_id = parent.id if parent is not None else None
        self.depth: int = parent.depth + 1 if parent is not None else 0
        self.memory_id = memory_id
        self.tenant = tenant
        self.roles = frozenset(roles)
        self.user_data: Mapping[str, object] = user_data if user_data is not None else {}
        self.deadline: float | None = parent.deadline if parent is not None else None
        if timeout is not None:
            self.limit(timeout)
        self.cancellation = Cancellation()
        self.state: MutableMapping[str, object] = {}
        self.attributes: MutableMapping[str, object] = {}
        self._begun = False
        self._over = False
        self._endings: list[tuple[Callable[[], object], bool]] | None = None
        self.secrets = Secrets()
        #: Asked before the usual conversion of what a tool returned; set by whoever drives the run.
        self.converters: Sequence[ToolResultConverter] = ()
        self.round = 0
        #: Everything that was paid for: this run's own replies and those of the runs that work for it.
        self.token_usage = TokenUsage()
        #: The part of it that this run's own replies took, by the model's name (empty where it is not known).
        self.own_usage: dict[str, TokenUsage] = {}
        #: The part of it that runs took which work for this one, likewise.
        self.nested_usage: dict[str, TokenUsage] = {}
        #: The part of it that a saved turn had taken which this run goes on with, likewise.
        self.earlier_usage: Mapping[str, TokenUsage] = {}
        #: Where events of runs that work for this one are told; ``None`` where nobody asked for them.
        self.tells: Emit | None = None
        self.messages: History = History()
        self.tool_executions: list[ToolExecution] = []
        self.intermediate_responses: list[ChatResponse] = []
        self.sources: tuple[ToolSource | tuple[BoundTool, ...], ...] = ()
        self.selectors: tuple[ToolSelector, ...] = ()
        self.gates: tuple[ToolGate, ...] = ()
        #: Awaited before a run that works for this one asks its model; what they raise is raised there.
        self.guards: tuple[Callable[[], Awaitable[None]], ...] = ()
        self.notices: list[Notice] = []
        #: What `note` was told and nobody has passed on yet.
        self.noted: list[Notice] = []
        self._resume: ToolLoopState | None = None
        #: Whether it goes on with a saved turn.
        self.resumed = False
        #: The state of a run that waits for decisions, once it does.
        self.suspended: ToolLoopState | None = None
        #: Whether it ended with an error or a cancellation; known to what `on_end` noted.
        self.failed = False

    @property
    def context(self) -> ToolContext:
        """The tools' view of this run; made when asked for, so that a run holds no circle and goes when it is over."""
        return ToolContext(self)

    def remaining(self) -> float | None:
        """Seconds until the deadline (never below 0); ``None`` without one."""
        return None if self.deadline is None else max(0.0, self.deadline - time.monotonic())

    def note(self, notice: Notice) -> None:
        """Have a notice told to whoever listens, and kept with the result; for a source that is asked for tools."""
        self.noted.append(notice)

    def begin(self) -> None:
        """Mark the run as begun. Raises `RunStateError` the second time: a run is one turn."""
        self.expect_new()
        self._begun = True

    @property
    def over(self) -> bool:
        """Whether it has ended, however that was."""
        return self._over

    def expect_new(self) -> None:
        """Raise `RunStateError` if the run has begun."""
        if self._begun:
            raise RunStateError("this Run was used already", next_step="Make a new Run for each turn; they are cheap.")

    @property
    def user_message(self) -> UserMessage | None:
        """What the user said last; ``None`` in a conversation where the user said nothing."""
        return next((each for each in reversed(self.messages) if isinstance(each, UserMessage)), None)

    def resume_from(self, state: ToolLoopState) -> None:
        """Go on with a saved turn; whoever drives the loop takes the state once. The caller's own stays as it is, and
        what the turn has cost so far is counted."""
        if not self.resumed:
            self.token_usage = self.token_usage + state.token_usage
            self.earlier_usage = dict(state.usage_by_model)
        self._resume, self.resumed = state.copied(), True

    @property
    def resuming(self) -> bool:
        """Whether there is a saved turn that nobody has taken up yet."""
        return self._resume is not None

    def take_resume(self) -> ToolLoopState | None:
        """The saved turn to go on with, the first time it is asked for; afterwards ``None``."""
        state, self._resume = self._resume, None
        return state

    def spend(self, usage: TokenUsage, model: str | None = None) -> None:
        """Count what a reply cost, here and in every run that this one works for; safe from any thread."""
        name, run, parts = model or "", self, self.own_usage
        with _spending:
            while True:
                run.token_usage = run.token_usage + usage
                parts[name] = parts[name] + usage if name in parts else usage
                if (above := run.parent) is None:
                    return
                run, parts = above, above.nested_usage

    async def ask_above(self) -> None:
        """Before a model is asked: let the runs that this one works for say whether there is anything left to spend.
        Raises what their guards raise."""
        above = self.parent
        while above is not None:
            for guard in above.guards:
                await guard()
            above = above.parent

    def usage_by_model(self) -> dict[str, TokenUsage]:
        """All of ``token_usage`` by the model's name."""
        made: dict[str, TokenUsage] = {}
        with _spending:
            for part in (self.earlier_usage, self.own_usage, self.nested_usage):
                for name, usage in part.items():
                    made[name] = made[name] + usage if name in made else usage
        return made

    def limit(self, timeout: float) -> None:
        """End the run at the latest ``timeout`` seconds from now."""
        end = time.monotonic() + timeout
        self.deadline = end if self.deadline is None else min(self.deadline, end)

    def cancel(self, reason: str = "cancelled by the application") -> None:
        """Stop the run; `chat` raises `RunCancelledError` with a valid partial history. Safe from any thread."""
        self.cancellation.request(reason)

    def on_end(self, callback: Callable[[], object], *, required: bool = False) -> None:
        """Call ``callback``, which may be async, when the run is over, however it ends; the last one noted comes first.

        What fails in it is logged and changes nothing about the run; with ``required`` it is the run's own failure,
        where the run has none already. Raises `RunStateError` once the run is over.
        """
        if self._over:
            raise RunStateError("this Run is over", next_step="Note what is to be done at its end while it runs.")
        if self._endings is None:
            self._endings = []
        self._endings.append((callback, required))

    async def end(self) -> None:
        """Do what `on_end` noted, each once; for whoever drives the run. A cancellation, what ends the program, and
        what failed though it was required, passes on after all is done."""
        self._over = True
        if not self._endings:
            return
        task = asyncio.current_task()
        ended: BaseException | None = None
        failure: Exception | None = None
        try:
            while self._endings:
                before = task.cancelling() if task is not None else 0
                callback, required = self._endings.pop()
                try:
                    waiting = callback()
                    if inspect.isawaitable(waiting):
                        await waiting
                except BaseException as error:
                    if not isinstance(error, Exception | asyncio.CancelledError):
                        ended = error
                    elif isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling() > before:
                        ended = ended or error
                    elif required and not self.failed and isinstance(error, Exception):
                        self.failed, failure = True, error
                    else:
                        _log.warning("what was to be done at the end of a run failed", exc_info=error)
            if ended is not None:
                raise ended
            if failure is not None:
                raise failure
        finally:
            del ended, failure  # else the error and this frame hold each other, and the run

    def partial(self) -> PartialRun:
        """What the run has done so far."""
        return PartialRun(self)

    def __repr__(self) -> str:
        return f"Run({self.id}, round {self.round}, {len(self.tool_executions)} executions)"


class ToolContext:
    """A tool's read-only view of its run; a parameter of this type is injected and never in the schema.

    ``state`` alone can be written: it is shared by the tools of this turn.
    """

    __slots__ = ("_run",)

    def __init__(self, run: Run) -> None:
        self._run = run

    @property
    def run_id(self) -> str:
        """The run's id."""
        return self._run.id

    @property
    def memory_id(self) -> object:
        """The conversation's id, as the caller gave it."""
        return self._run.memory_id

    @property
    def tenant(self) -> str | None:
        """The tenant the run acts for."""
        return self._run.tenant

    @property
    def roles(self) -> frozenset[str]:
        """The roles of the user the run acts for."""
        return self._run.roles

    @property
    def user_data(self) -> Mapping[str, object]:
        """The application's own data for this run."""
        return self._run.user_data

    @property
    def state(self) -> MutableMapping[str, object]:
        """What the tools of this turn share."""
        return self._run.state

    @property
    def cancellation(self) -> Cancellation:
        """Whether the run is to stop; long sync tools look at it."""
        return self._run.cancellation

    def remaining(self) -> float | None:
        """Seconds until the run's deadline; ``None`` without one."""
        return self._run.remaining()

    @property
    def secrets(self) -> Secrets:
        """What is masked in whatever goes to the model about errors; a tool that learns of another adds it."""
        return self._run.secrets

    def idempotency_key(self, value: object = None) -> str:
        """The same for a repeated attempt at one call, another for every other call: a digest of tenant, tool and
        ``value`` (a field of the business, such as the number of an order), or of tenant, run, round and position.

        Raises `RunStateError` outside of a call.
        """
        from agentforge.tool.execution.current import current_call

        call = current_call()
        if call is None:
            raise RunStateError("there is no call here", next_step="Ask for its key inside of a tool.")
        run = self._run
        what = (run.id, run.round, call.position) if value is None else (call.name, value)
        return hashlib.sha256(json.dumps([run.tenant, *what], default=str).encode()).hexdigest()[:32]

    async def notify(self, code: str, message: str, details: Mapping[str, object] | None = None) -> None:
        """Tell whoever listens to the run of the call at hand, such as how far it is; a `Notice` in the stream, and
        nothing where nobody listens."""
        from agentforge.model.events import Notice
        from agentforge.tool.execution.current import current_listener

        emit = current_listener()
        if emit is not None and not self._run.over:  # a call that was left behind has nobody to tell
            await emit(Notice(code, message, details or {}))

    @property
    def run(self) -> Run:
        """The run itself, for a tool that starts a run of its own (as its ``parent``)."""
        return self._run

    def __repr__(self) -> str:
        return f"ToolContext({self._run.id})"


class PartialRun:
    """What a run had done when it ended early: a valid history, all executions, the usage."""

    __slots__ = ("intermediate_responses", "messages", "run_id", "token_usage", "tool_executions")

    def __init__(self, run: Run) -> None:
        self.run_id = run.id
        self.messages = run.messages
        self.tool_executions = tuple(run.tool_executions)
        self.intermediate_responses = tuple(run.intermediate_responses)
        self.token_usage = run.token_usage

    def __repr__(self) -> str:
        return f"PartialRun({len(self.messages)} messages, {len(self.tool_executions)} executions)"
