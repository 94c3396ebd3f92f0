"""The one loop: call the model, run what it asks for, answer, until it asks for nothing more (seed A 4.2).

Pure: no I/O, no clock, no tasks. A driver asks `ToolLoop.next` what to do, does it, and tells the loop what came of
it; `ToolService`, the tool advisor and durable runs drive this same class. Calls are known by their position in the
reply, since ids may repeat. ``loop.messages`` is a valid history at every moment: a reply joins it together with all
its results, never before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

from agentforge.model.history import History
from agentforge.model.messages import AiMessage, UserMessage
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.tool.declare import ReturnBehavior
from agentforge.tool.execution.gate import Ask
from agentforge.tool.execution.outcome import ToolOutcome
from agentforge.tool.execution.result import ToolExecutionResult
from agentforge.tool.execution.state import CallRecord, OfferedTool, PendingCall, ToolLoopState

__all__ = ("CallModel", "Finish", "FinishKind", "NextStep", "RunBatch", "Suspend", "ToolLoop")


class FinishKind(Enum):
    """Why the loop ended."""

    ANSWER = "answer"
    """The model asked for nothing more."""
    RETURN_DIRECT = "return_direct"
    """The tools' results go straight to the caller."""
    STOPPED = "stopped"
    """The provider broke the reply off (error, content filter); its calls did not run."""
    ROUND_TRIP_LIMIT = "round_trip_limit"
    """The model asked for more rounds than allowed."""
    ABORTED = "aborted"
    """The driver gave up."""


@dataclass(frozen=True, slots=True)
class CallModel:
    """Send ``loop.asking``; ``round`` counts model calls from 0."""

    round: int


@dataclass(frozen=True, slots=True)
class RunBatch:
    """Run these calls of the last reply and report each one's outcome."""

    calls: tuple[PendingCall, ...]


@dataclass(frozen=True, slots=True)
class Suspend:
    """Someone is to decide about these calls first; save ``loop.state`` and stop."""

    waiting: Mapping[int, Ask]


@dataclass(frozen=True, slots=True)
class Finish:
    """The loop is over. ``response`` is the last reply, if there was one."""

    kind: FinishKind
    response: ChatResponse | None
    reason: str = ""


NextStep: TypeAlias = CallModel | RunBatch | Suspend | Finish

_BROKEN_OFF = {
    FinishReason.LENGTH: "Not run: the reply was cut off at the output limit. Ask again with shorter arguments.",
    FinishReason.ERROR: "Not run: the model's reply ended in an error.",
    FinishReason.CONTENT_FILTER: "Not run: the reply was stopped by a content filter.",
}
_REFUSED = "The server refused this: {reason}\nCall the tools again, with arguments that fit their schemas."
# Characters of what goes back to the model: a reply without end must not fill the next request.
_MADE = 64 * 1024
_REASON = 2_000
_NO_ROUND_LEFT = "Not run: the limit of tool-calling round trips was reached."


class ToolLoop:
    """Drives one conversation turn, step by step.

    ``state`` is all it knows; a loop over a saved state goes on where that one stood, with the calls that were
    waiting offered in a batch again.
    """

    __slots__ = ("_finish", "state")

    def __init__(self, state: ToolLoopState) -> None:
        self.state = state
        state.waiting.clear()
        self._finish: Finish | None = None

    @property
    def messages(self) -> History:
        """The valid history so far."""
        return self.state.messages

    @property
    def asking(self) -> History:
        """What to send: the history, and behind it what a refused call is corrected with."""
        state = self.state
        return state.messages.extended(state.correction) if state.correction else state.messages

    def next(self) -> NextStep:
        """What is to be done now; asking twice gives the same answer."""
        state = self.state
        if self._finish is not None:
            return self._finish
        if state.reply is None:
            return CallModel(state.model_calls)
        if state.waiting:
            return Suspend(dict(state.waiting))
        calls = state.reply.ai_message.tool_execution_requests
        return RunBatch(tuple(PendingCall(at, call) for at, call in enumerate(calls) if at not in state.results))

    def replied(self, response: ChatResponse, offered: Mapping[str, OfferedTool]) -> None:
        """The model answered; ``offered`` is what this request really offered, by name."""
        state = self.state
        state.model_calls += 1
        state.correction = ()
        state.token_usage = state.token_usage + response.token_usage
        calls = response.ai_message.tool_execution_requests
        if not calls:
            state.messages = state.messages.extended((response.ai_message,))
            if response.finish_reason is FinishReason.PAUSE:
                self._continue(response)
            else:
                self._end(FinishKind.ANSWER, response)
            return
        state.reply = response
        state.offered = {call.name: offered[call.name] for call in calls if call.name in offered}
        why_not = _BROKEN_OFF.get(response.finish_reason)
        if why_not is not None:
            self._fill(ToolOutcome.CANCELLED, why_not)
            self._commit()
            if response.finish_reason is FinishReason.LENGTH:
                self._continue(response)
            else:
                self._end(FinishKind.STOPPED, response, why_not)
        elif self._no_round_left() and not self._returns_at_once(response):
            # Running them would have effects whose results nobody could ever read.
            self._fill(ToolOutcome.LIMITED, _NO_ROUND_LEFT)
            self._commit()
            self._end(FinishKind.ROUND_TRIP_LIMIT, response)

    def refused(self, generation: str, reason: str) -> bool:
        """The provider refused what the model made (``generation``; empty where it is not known) and gave no reply.

        True where the model is to be asked once more: what it made and ``reason`` then go behind the history, in that
        request alone. False where that was refused as well, or no round is left. Each counts as a round.
        """
        state = self.state
        state.model_calls += 1
        if state.correction or self._no_round_left():
            state.correction = ()
            return False
        told = UserMessage(_REFUSED.format(reason=reason[:_REASON]))
        state.correction = (AiMessage(generation[:_MADE]), told) if generation.strip() else (told,)
        return True

    def resolved(self, outcomes: Mapping[int, tuple[ToolOutcome, ToolExecutionResult] | Ask]) -> None:
        """What came of calls of the last batch, by position; an `Ask` suspends the loop."""
        state = self.state
        response = state.reply
        if response is None:
            raise ValueError("no calls are waiting for results")
        calls = response.ai_message.tool_execution_requests
        for position, outcome in outcomes.items():
            if not 0 <= position < len(calls) or position in state.results:
                raise ValueError(f"call {position} of this reply is not waiting for a result")
            if isinstance(outcome, Ask):
                state.waiting[position] = outcome
                if outcome.nested is not None:
                    state.nested[position] = outcome.nested
            else:
                state.results[position] = outcome
                state.nested.pop(position, None)
        if len(state.results) < len(calls):
            return
        at_once = self._returns_at_once(response) and all(
            outcome is ToolOutcome.OK for outcome, _ in state.results.values()
        )
        self._commit()
        if at_once:
            self._end(FinishKind.RETURN_DIRECT, response)
        else:
            self._continue(response)

    def abort(self, reason: str) -> None:
        """End here: every call without a result becomes ``CANCELLED``, and the history stays valid."""
        if self._finish is not None:
            return
        response = self.state.reply
        if response is not None:
            self._fill(ToolOutcome.CANCELLED, f"Not finished: {reason}")
            self._commit()
        self._end(FinishKind.ABORTED, response, reason)

    def _returns_at_once(self, response: ChatResponse) -> bool:
        """The rule of `ReturnBehavior`, given that every outcome is ``OK``."""
        offered = self.state.offered
        behaviors = [
            offered[call.name].return_behavior if call.name in offered else ReturnBehavior.TO_LLM
            for call in response.ai_message.tool_execution_requests
        ]
        last = behaviors[-1] is ReturnBehavior.IMMEDIATE_IF_LAST
        return last or ReturnBehavior.TO_LLM not in behaviors

    def _no_round_left(self) -> bool:
        return self.state.model_calls > self.state.max_tool_calling_round_trips

    def _continue(self, response: ChatResponse) -> None:
        if self._no_round_left():
            self._end(FinishKind.ROUND_TRIP_LIMIT, response)

    def _fill(self, outcome: ToolOutcome, text: str) -> None:
        response = self.state.reply
        if response is not None:
            for position in range(len(response.ai_message.tool_execution_requests)):
                if position not in self.state.results:
                    self.state.results[position] = outcome, ToolExecutionResult.failure(text)

    def _commit(self) -> None:
        """The reply and its results join the history, in the order of the calls."""
        state = self.state
        response = state.reply
        if response is None:
            return
        message = response.ai_message
        records = [
            CallRecord(state.model_calls - 1, at, call, *state.results[at])
            for at, call in enumerate(message.tool_execution_requests)
        ]
        state.records.extend(records)
        state.messages = state.messages.extended((message, *(r.result.to_message(r.request) for r in records)))
        state.reply, state.results, state.offered, state.nested = None, {}, {}, {}
        state.waiting.clear()

    def _end(self, kind: FinishKind, response: ChatResponse | None, reason: str = "") -> None:
        self._finish = Finish(kind, response, reason)
