"""One turn of a client: a run, its request, and the chain of advisors that answers it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agentforge.advisor import AdvisorObserver, Chain, Link, calls_tools, model_call
from agentforge.advisor.reprompt import without_open_calls
from agentforge.client.observer import ChatObserver, ObservedModel
from agentforge.model import ChatMessage, ChatModel, ChatRequest, ChatRequestParameters, Event, History
from agentforge.tool import BoundTool, ToolSource
from agentforge.tool.execution import (
    Emit,
    Run,
    RunFinished,
    RunScope,
    RunStarted,
    ToolChatResult,
    ToolExecution,
    ToolFinished,
    ToolGate,
    ToolService,
    current_run_loop,
    history_of,
)
from agentforge.tool.execution.asked import Messages

__all__ = ("Turn", "hold")

#: In the place of `_told` where nobody observes.
_NOBODY = contextlib.nullcontext[set[int]](set())


@dataclass(frozen=True, slots=True)
class Turn:
    """All that a turn is made of but its run; ``sources`` are the tools beside the service's, ``front`` the messages
    in front of every request."""

    service: ToolService
    model: ChatModel
    messages: Messages
    parameters: ChatRequestParameters | None
    links: tuple[Link, ...]
    sources: tuple[ToolSource | tuple[BoundTool, ...], ...] = ()
    observer: ChatObserver | None = None
    front: Sequence[ChatMessage] = ()


async def hold(turn: Turn, run: Run, emit: Emit | None = None) -> ToolChatResult:
    """The turn's result; with ``emit`` its events are told on the way. However it ends, ``run.messages`` is a valid
    history, and errors carry ``partial``."""
    above = _listening_above(run) if emit is None else None
    if above is None:
        return await _held(turn, run, emit)
    run.tells = above
    try:
        await above(RunStarted())
        result = await _held(turn, run, above)
        await above(RunFinished(result))
    finally:
        run.tells = None
    return result


async def _held(turn: Turn, run: Run, emit: Emit | None) -> ToolChatResult:
    history, notices = history_of(turn.messages)
    run.begin()
    run.messages = history
    run.sources = (*turn.sources, *run.sources)
    run.gates = (*_gates_of(turn), *run.gates)
    observer, model = turn.observer, turn.model
    if observer is not None:
        model = ObservedModel(model, observer)
    with turn.service.runs.holding(run), _told(run, observer) if observer is not None else _NOBODY as told:
        sink = emit if emit is None or observer is None else _telling(emit, observer, told)
        chain = Chain(turn.links, model_call(model, turn.front), emit=sink, observer=_of_advisors(observer))
        try:
            async with RunScope(run):
                # Within the run, as the model may be one that is made for it.
                run.secrets = turn.service.secrets_with(model, run)
                for notice in notices:
                    run.notices.append(notice)
                    if sink is not None:
                        await sink(notice)
                advised = await chain.next(run, ChatRequest(history, turn.parameters))
                # Before the run's end, at which a memory inside the loop stores the turn.
                added = without_open_calls(advised.new_messages)
                run.messages = messages = History.of((*history, *added)) if added else history
        except BaseException as error:
            if getattr(error, "partial", None) is None:
                # Exceptions that take no attributes keep the history all the same: it is in run.messages.
                with contextlib.suppress(AttributeError):
                    error.partial = run.partial()  # type: ignore[attr-defined]
            raise
    return ToolChatResult(
        response=advised.response,
        tool_executions=tuple(run.tool_executions),
        intermediate_responses=tuple(run.intermediate_responses),
        token_usage=run.token_usage,
        messages=messages,
        suspended=advised.suspended,
        notices=tuple(run.notices),
        returned_directly=advised.returned_directly,
        run_id=run.id,
    )


def _listening_above(run: Run) -> Emit | None:
    """Where the events of a run are told that works for another one, with its own ids; ``None`` where nobody asked for
    them, and for a run on another event loop than that one's."""
    above = run.parent.tells if run.parent is not None else None
    if above is None or current_run_loop() is not asyncio.get_running_loop():
        return None
    tells, run_id, parent_id = above, run.id, run.parent_id

    async def tell(event: Event) -> None:
        if event.run_id is None:
            event.run_id, event.parent_run_id = run_id, parent_id
        await tells(event)

    return tell


def _gates_of(turn: Turn) -> Iterator[ToolGate]:
    """What advisors bring to judge calls with, where the service that runs them does not ask it already."""
    services = (getattr(link.advisor, "service", None) for link in turn.links if calls_tools(link.advisor))
    running = next((each for each in services if isinstance(each, ToolService)), turn.service)
    for link in turn.links:
        for gate in getattr(link.advisor, "gates", ()):
            if gate not in running.settings.gates:
                yield gate


@contextlib.contextmanager
def _told(run: Run, observer: ChatObserver) -> Iterator[set[int]]:
    """At the end the observer is told of every execution that it was not told of as it happened."""
    told: set[int] = set()
    try:
        yield told
    finally:
        for execution in run.tool_executions:
            _tell(observer, execution, told)


def _telling(emit: Emit, observer: ChatObserver, told: set[int]) -> Emit:
    async def tell(event: Event) -> None:
        if isinstance(event, ToolFinished):
            _tell(observer, event.execution, told)
        await emit(event)

    return tell


def _tell(observer: ChatObserver, execution: ToolExecution, told: set[int]) -> None:
    if id(execution) not in told:
        told.add(id(execution))
        observer.tool_called(execution)


def _of_advisors(observer: ChatObserver | None) -> AdvisorObserver | None:
    """The observer for passes through advisors, where it wants to hear of them."""
    if observer is None:  # a protocol takes its time to say no
        return None
    return observer if isinstance(observer, AdvisorObserver) else None
