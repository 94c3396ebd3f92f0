"""The one driver: does what `ToolLoop` asks for. All I/O of a run passes here, and nothing else loops.

It is told how to ask the model (a model's `chat`, its `stream`, or the rest of an advisor chain) and where the tools
come from; it hands on events when someone listens. However it ends, ``run.messages`` is a valid history.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from agentforge.errors import (
    ModelError,
    ToolChoiceError,
    ToolDeclarationError,
    ToolRoundTripLimitError,
    ToolUseFailedError,
)
from agentforge.model.events import Notice
from agentforge.model.messages import ChatMessage
from agentforge.model.request import ChatRequest, ChatRequestParameters
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.specification import ToolSpecification
from agentforge.tool.execution.batch import Emit, ToolBatch, handled
from agentforge.tool.execution.chat_result import ToolChatResult
from agentforge.tool.execution.events import AttemptDiscarded, RoundStarted, RunSuspended, ToolFinished
from agentforge.tool.execution.gate import Ask, CallNext, PlannedCall, Proceed, Refuse, ToolGate
from agentforge.tool.execution.gates import judged, look_up, validate
from agentforge.tool.execution.innermost import innermost_of
from agentforge.tool.execution.interceptors import chained
from agentforge.tool.execution.loop import CallModel, Finish, FinishKind, RunBatch, ToolLoop
from agentforge.tool.execution.outcome import ToolOutcome
from agentforge.tool.execution.result import ToolExecution, ToolExecutionResult
from agentforge.tool.execution.run import Run
from agentforge.tool.execution.settings import ToolSettings
from agentforge.tool.execution.state import OfferedTool, PendingCall
from agentforge.tool.execution.toolset import ToolSet
from agentforge.tool.source import BoundTool, ToolSource

__all__ = ("Answer", "AskModel", "Rounds", "ToolDriver")

AskModel = Callable[[ChatRequest], Awaitable[ChatResponse]]
_FEW_TOOLSETS = 8
_NOTHING_SET = ChatRequestParameters()


class Answer(NamedTuple):
    """A reply, and what was really asked where that is not what was given.

    ``offered`` is what the request offered, ``tools`` the names of those that were left of what was given. ``forced``
    says whether the model was asked with the request's tool choice: an answer that no model gave owes no call.
    """

    response: ChatResponse
    offered: Mapping[str, OfferedTool] | None = None
    tools: Collection[str] | None = None
    forced: bool = True


class Rounds(Protocol):
    """Whoever drives a run from outside the loop and has a say in each round: a tool advisor in its chain."""

    async def prepare(self, number: int, request: ChatRequest) -> ChatRequest:
        """The request of round ``number``, counted from 0, before its tools are found: its parameters' own tools are
        offered beside the bound ones."""
        ...

    async def ask(self, number: int, request: ChatRequest) -> Answer:
        """The reply to the request."""
        ...

    def runs(self, response: ChatResponse) -> bool:
        """Whether the calls of this reply are run here; else the reply is handed back as it is."""
        ...


class ToolDriver:
    """Drives runs under one set of settings; shared by all of them."""

    def __init__(self, settings: ToolSettings) -> None:
        self.settings = settings
        permission = [gate for gate in settings.gates if getattr(gate, "stage", None) == "permission"]
        self.permission_gates = tuple(permission)
        self.later_gates = tuple(gate for gate in settings.gates if gate not in permission)
        self._toolsets: list[ToolSet] = []
        self._selected: list[ToolSet] = []

    async def drive(
        self,
        loop: ToolLoop,
        run: Run,
        parameters: ChatRequestParameters | None,
        sources: Sequence[ToolSource | tuple[BoundTool, ...]],
        ask: AskModel | Rounds,
        emit: Emit | None = None,
        notices: Sequence[Notice] = (),
    ) -> ToolChatResult:
        """Go on until the loop ends or suspends.

        With `Rounds` a reply's cost and notices are counted by those who ask, not here.

        Raises what the model raised, what an error handler raised, and `ToolRoundTripLimitError`; each carries
        ``partial``.
        """
        turn = _Turn(self, loop, run, parameters, sources, ask, emit)
        try:
            for notice in notices:
                await turn.notice(notice)
            return await turn.go()
        except BaseException as error:
            loop.abort(_reason(error))
            turn.sync()
            # Exceptions that take no attributes keep the history all the same: it is in run.messages.
            with contextlib.suppress(AttributeError):
                error.partial = run.partial()  # type: ignore[attr-defined]
            raise

    async def toolset(
        self, run: Run, sources: Sequence[ToolSource | tuple[BoundTool, ...]], parameters: ChatRequestParameters | None
    ) -> ToolSet:
        """The tools of the next request; the same object as long as no source changed."""
        groups: list[Sequence[BoundTool]] = []
        for source in sources:
            given = source if isinstance(source, tuple) else await source.tools(run)
            if not isinstance(given, Sequence):
                raise ToolDeclarationError(
                    f"the tool source {type(source).__name__} gave {type(given).__name__}, not a sequence of tools"
                )
            groups.append(given)
        unbound = parameters.tools if parameters is not None else ()
        found, self._toolsets = self._kept(self._toolsets, groups, unbound)
        if not run.selectors:
            return found
        chosen: Sequence[BoundTool] = found.bound
        for selector in run.selectors:
            chosen = selector(chosen, run)
        if chosen is found.bound:
            return found
        # Kept apart, so that what many conversations choose leaves the whole sets alone.
        selected, self._selected = self._kept(self._selected, [chosen], unbound)
        return selected

    def check_names(self, groups: Sequence[Sequence[BoundTool]]) -> None:
        """Raise `DuplicateToolError` where these could not be offered together; where they are all, the first request
        finds them made."""
        _, self._toolsets = self._kept(self._toolsets, groups, ())

    def _kept(
        self, kept: list[ToolSet], groups: Sequence[Sequence[BoundTool]], unbound: Sequence[ToolSpecification]
    ) -> tuple[ToolSet, list[ToolSet]]:
        """The set of these tools, known or made, and the few that are known now."""
        for known in kept:
            if known.matches(groups, unbound):
                return known, kept
        made = ToolSet(groups, unbound, self._chain, self.settings.on_clash)
        return made, [made, *kept[: _FEW_TOOLSETS - 1]]

    def _chain(self, tool: BoundTool) -> CallNext:
        settings = self.settings
        layers = (settings.time_limit, *settings.interceptors)
        return chained(
            layers if tool.serial is None else (settings.serial_keys, *layers), innermost_of(tool, settings.threads)
        )


class _Turn:
    """One run on its way through the driver."""

    def __init__(
        self,
        driver: ToolDriver,
        loop: ToolLoop,
        run: Run,
        parameters: ChatRequestParameters | None,
        sources: Sequence[ToolSource | tuple[BoundTool, ...]],
        ask: AskModel | Rounds,
        emit: Emit | None,
    ) -> None:
        self.driver = driver
        self.loop = loop
        self.run = run
        self.parameters = parameters
        self.sources = sources
        self.rounds: Rounds | None = None if callable(ask) else ask
        self.ask: AskModel | None = ask if callable(ask) else None
        self.emit = emit
        #: A reply whose calls the caller runs: it is in no history.
        self.handed_back: ChatResponse | None = None
        self.toolset: ToolSet | None = None
        # Registered tools do not change during a run: only sources and selectors that look at it are asked again.
        self.static = not run.selectors and all(type(source) is tuple for source in sources)
        self.response: ChatResponse | None = None
        self.notices: list[Notice] = []
        #: The round in which a forced tool choice holds; a reply that paused or was refused does not use it up.
        self._first = 0
        self._timed: dict[int, ToolExecution] = {}
        #: How many of the loop's records are among the run's executions: those of a saved turn are not yet.
        self._seen = 0
        run.round = max(0, loop.state.model_calls - 1)
        run.messages = loop.messages
        if self.rounds is None:
            run.token_usage = run.token_usage + loop.state.token_usage  # of a saved turn
            run.earlier_usage = dict(loop.state.usage_by_model)
        run.converters = driver.settings.converters

    async def go(self) -> ToolChatResult:
        loop = self.loop
        self.sync()
        while True:
            step = loop.next()
            if type(step) is CallModel:
                await self._call_model(step.round)
                if self.handed_back is not None:
                    return self._result(None)
            elif type(step) is RunBatch:
                await self._run_batch(step.calls)
            else:
                break
            self.sync()
        if type(step) is not Finish:
            self.run.suspended = loop.state
            # With what discarded attempts, and runs that its tools held, have cost.
            loop.state.token_usage = self.run.token_usage
            loop.state.usage_by_model = self.run.usage_by_model()
            if self.emit is not None:
                await self.emit(RunSuspended({at: ask.reason for at, ask in loop.state.waiting.items()}))
            return self._result(None)
        if step.kind is FinishKind.ROUND_TRIP_LIMIT:
            limit = loop.state.max_tool_calling_round_trips
            raise ToolRoundTripLimitError(
                f"the model asked for more than {limit} tool-calling round trips",
                next_step="Raise max_tool_calling_round_trips, or look at error.partial for what it kept asking.",
            )
        return self._result(step)

    def sync(self) -> None:
        """Bring the run up to date with the loop: the history, the executions, the usage."""
        state, run = self.loop.state, self.run
        run.messages = state.messages
        if self._seen == len(state.records):
            return
        for record in state.records[self._seen :]:
            timed = self._timed.pop(record.position, None)
            run.tool_executions.append(
                timed
                or ToolExecution(
                    record.request, record.result, record.outcome, memory_id=run.memory_id, round=record.round
                )
            )
        self._seen = len(state.records)

    # -- the model -------------------------------------------------------------------------------

    async def _call_model(self, number: int) -> None:
        run = self.run
        run.round = number
        if self.response is not None:
            run.intermediate_responses.append(self.response)
            self.response = None
        messages: Sequence[ChatMessage] = self.loop.asking
        if self.rounds is not None:
            before = self.parameters
            prepared = await self.rounds.prepare(number, ChatRequest(messages, before or _NOTHING_SET))
            messages, self.parameters = prepared.messages, prepared.parameters
            if self.parameters is not before and self.parameters.tools != (before.tools if before is not None else ()):
                self.toolset = None
        toolset = self.toolset
        if toolset is None or not self.static:
            toolset = await self._ask_sources()
        parameters = toolset.parameters(self.parameters, first_round=number == self._first)
        if number == self._first + 1 and self.parameters is not None:
            await self._say_if_no_longer_forced(parameters)
        if self.emit is not None:
            await self.emit(RoundStarted(number))
        try:
            request = ChatRequest(messages, parameters)
            if self.rounds is not None:
                answer = await self.rounds.ask(number, request)
            else:
                assert self.ask is not None
                if run.parent is not None:
                    await run.ask_above()
                answer = Answer(await self.ask(request))
        except ToolUseFailedError as error:
            mask = run.secrets.mask
            if not self.loop.refused(mask(error.failed_generation), mask(error.message)):
                raise
            await self._say_refused(number, error)
            return
        response = answer.response
        if not isinstance(response, ChatResponse):
            raise ModelError(f"the model returned {type(response).__name__}, not a ChatResponse")
        if self.rounds is None:
            run.spend(response.token_usage, response.model_name)
            self.notices.extend(response.notices)
        calls = response.ai_message.tool_execution_requests
        if calls and self.rounds is not None and not self.rounds.runs(response):
            self.handed_back = response
            return
        offered = toolset.offered if answer.offered is None else answer.offered
        if answer.offered is None and answer.tools is not None:
            offered = {name: tool for name, tool in offered.items() if name in answer.tools}
        self.loop.replied(response, offered)
        self.response = response
        choice = parameters.tool_choice
        if choice is not None and choice.forces_a_call and answer.forced and not calls:
            self._no_call(response, repr(choice.names[0]) if choice.mode == "tool" else "a tool")

    async def _say_refused(self, number: int, error: ToolUseFailedError) -> None:
        """The model is asked again: a forced tool choice holds on, and nothing that was shown of this round counts."""
        if number == self._first:
            self._first += 1
        reason = self.run.secrets.mask(error.message)
        what = "the provider refused what the model made; it is told why and asked again"
        await self.notice(Notice("tool_use_refused", what, {"reason": reason}))
        if self.emit is not None:
            await self.emit(AttemptDiscarded("the provider refused what the model made"))

    def _no_call(self, response: ChatResponse, wanted: str) -> None:
        """A call was asked for and none came: a refusal or a filter is an answer, after a pause it may still come."""
        reason = response.finish_reason
        if reason is FinishReason.PAUSE:
            self._first += 1
        elif reason is FinishReason.LENGTH:
            raise ToolChoiceError(
                f"tool_choice asked for a call of {wanted}; "
                "the reply was cut off at the output limit before it made one",
                next_step="Raise max_output_tokens.",
            )
        elif reason is FinishReason.ERROR:
            raise ToolChoiceError(
                f"tool_choice asked for a call of {wanted}; the model's reply ended in an error before it made one",
                next_step="Ask again.",
            )
        elif reason not in (FinishReason.REFUSAL, FinishReason.CONTENT_FILTER):
            raise ToolChoiceError(
                f"tool_choice asked for a call of {wanted} and the model made none",
                next_step="Check that the model supports a forced tool choice, or use 'auto'.",
            )

    async def _say_if_no_longer_forced(self, parameters: ChatRequestParameters) -> None:
        asked = self.parameters.tool_choice if self.parameters is not None else None
        code = "tool_choice_first_round_only"
        # Once a run, however many attempts it has.
        if (
            asked is not None
            and asked != parameters.tool_choice
            and all(each.code != code for each in self.run.notices)
        ):
            await self.notice(Notice(code, "the forced tool choice held for the first round only"))

    async def _ask_sources(self) -> ToolSet:
        """The tools of the next request; what the sources have to say is told."""
        self.toolset = toolset = await self.driver.toolset(self.run, self.sources, self.parameters)
        while self.run.noted:
            await self.notice(self.run.noted.pop(0))
        return toolset

    async def notice(self, notice: Notice) -> None:
        """Keep a notice for the result and tell whoever listens."""
        self.notices.append(notice)
        if self.emit is not None:
            await self.emit(notice)

    # -- the calls -------------------------------------------------------------------------------

    async def _run_batch(self, pending: Sequence[PendingCall]) -> None:
        toolset = self.toolset
        if toolset is None:  # taken up from a saved state: the sources are asked again
            toolset = await self._ask_sources()
        nested = self.loop.state.nested
        calls = [
            PlannedCall(item.position, item.request, self._tool(item, toolset), nested=nested.get(item.position))
            for item in pending
        ]
        driver = self.driver
        if driver.permission_gates or driver.later_gates or self.run.gates:
            verdicts = await self._judge(calls, toolset)
        else:
            verdicts = {}
            self._look_up(calls, toolset, verdicts)
            self._validate(calls, verdicts)
        if verdicts:
            asks = {at: verdict for at, verdict in verdicts.items() if isinstance(verdict, Ask)}
            if asks:
                # Refused calls are judged again on resume; nothing of this reply has run.
                self.loop.resolved(asks)
                return
            await self._answer_refused(calls, verdicts)
        admitted = [(call, call.tool) for call in calls if call.tool is not None and call.position not in verdicts]
        if not admitted:
            return
        batch = ToolBatch(admitted, toolset.chains, self.run, self.driver.settings, self.emit)
        waiting: Mapping[int, Ask] = {}
        try:
            await batch.run()
            waiting = batch.waiting
        finally:
            self._timed.update(batch.executions)
            done = {at: (execution.outcome, execution.result) for at, execution in batch.executions.items()}
            self.loop.resolved({**done, **waiting})

    def _tool(self, pending: PendingCall, toolset: ToolSet) -> BoundTool | None:
        """The tool that was offered under this name when the reply was asked for, and still is."""
        name = pending.request.name
        was, now = self.loop.state.offered.get(name), toolset.offered.get(name)
        if was is None or now is None or (was is not now and was.digest != now.digest):
            return None
        return toolset.tools.get(name)

    async def _judge(self, calls: Sequence[PlannedCall], toolset: ToolSet) -> dict[int, Refuse | Ask]:
        """What the gates said of the calls that may not simply proceed, by position."""
        verdicts: dict[int, Refuse | Ask] = {}
        self._look_up(calls, toolset, verdicts)
        await self._ask_gates(self.driver.permission_gates, calls, verdicts)
        self._validate(calls, verdicts)
        await self._ask_gates((*self.driver.later_gates, *self.run.gates), calls, verdicts)
        return verdicts

    def _look_up(self, calls: Sequence[PlannedCall], toolset: ToolSet, verdicts: dict[int, Refuse | Ask]) -> None:
        for call in calls:
            if call.tool is None:
                verdicts[call.position] = look_up(call, toolset.names, toolset.tools)

    def _validate(self, calls: Sequence[PlannedCall], verdicts: dict[int, Refuse | Ask]) -> None:
        limits = self.driver.settings.argument_limits
        for call in calls:
            if verdicts and isinstance(verdicts.get(call.position), Refuse):
                continue
            refused = validate(call, limits)
            if refused is not None:
                verdicts[call.position] = refused

    async def _ask_gates(
        self, gates: Sequence[ToolGate], calls: Sequence[PlannedCall], verdicts: dict[int, Refuse | Ask]
    ) -> None:
        for gate in gates:
            open_ = [call for call in calls if not isinstance(verdicts.get(call.position), Refuse)]
            if not open_:
                return
            found = await judged(gate, open_, self.run)
            for call, verdict in zip(open_, found, strict=True):
                if not isinstance(verdict, Proceed):
                    verdicts[call.position] = verdict

    async def _answer_refused(self, calls: Sequence[PlannedCall], verdicts: Mapping[int, Refuse | Ask]) -> None:
        refused = [(call, verdict) for call in calls if isinstance(verdict := verdicts.get(call.position), Refuse)]
        handlers = self.driver.settings.error_handlers
        by_outcome = {
            ToolOutcome.UNKNOWN_TOOL: handlers.unknown_tool,
            ToolOutcome.INVALID_ARGUMENTS: handlers.arguments,
            ToolOutcome.FAILED: handlers.execution,
        }
        for call, verdict in refused:
            text = self.run.secrets.mask(verdict.text)
            handler = by_outcome.get(verdict.outcome)
            raised: BaseException | None = None
            if verdict.error is not None and handler is not None:
                try:
                    text = await handled(handler, verdict.error, call, self.run)
                except BaseException as error:
                    raised = error
            result = self.driver.settings.size_cap.cap(ToolExecutionResult.failure(text, verdict.error))
            self.loop.resolved({call.position: (verdict.outcome, result)})
            if raised is None or isinstance(raised, Exception):
                await self._tell_refused(call, verdict.outcome, result)
            if raised is not None:
                raise raised

    async def _tell_refused(self, call: PlannedCall, outcome: ToolOutcome, result: ToolExecutionResult) -> None:
        if self.emit is not None:
            run = self.run
            execution = ToolExecution(call.request, result, outcome, memory_id=run.memory_id, round=run.round)
            await self.emit(ToolFinished(execution, call.position))

    def _result(self, finish: Finish | None) -> ToolChatResult:
        run, state = self.run, self.loop.state
        handed_back = self.handed_back
        return ToolChatResult(
            response=finish.response if finish is not None else handed_back,
            tool_executions=tuple(run.tool_executions),
            intermediate_responses=tuple(run.intermediate_responses),
            token_usage=run.token_usage,
            messages=state.messages,
            suspended=state if finish is None and handed_back is None else None,
            notices=tuple(self.notices),
            returned_directly=finish is not None and finish.kind is FinishKind.RETURN_DIRECT,
            run_id=run.id,
        )


def _reason(error: BaseException) -> str:
    return f"the run ended with {type(error).__name__}"
