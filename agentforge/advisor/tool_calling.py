"""The tool loop as an advisor: what stands inside it in the chain is passed in every round, what stands outside once.

It loops nothing itself: the one `ToolLoop` does, driven through the chain that the advisor was given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from typing import Literal, Self, TypeAlias

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import Chain
from agentforge.advisor.faults import AdvisorError
from agentforge.advisor.model_call import ASKED
from agentforge.errors import ConfigurationError, ToolUseFailedError
from agentforge.model import (
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    Event,
    FinishReason,
    History,
    ResponseDone,
    SystemMessage,
    TextDelta,
)
from agentforge.tool.execution import Answer, AttemptDiscarded, Emit, Run, ToolLoopState, ToolService

__all__ = ("IN_LOOP", "IntermediateText", "LoopHistory", "ToolCallingAdvisor")

IN_LOOP = "agentforge.in_tool_loop"
"""Among a run's attributes while what asks stands inside the loop: the messages of the turn, but for system messages,
that came in earlier rounds and are left out of this one's request."""
LoopHistory: TypeAlias = Literal["full", "last"]
"""What each further round sends on: the whole turn, or only what came since the last round."""
IntermediateText: TypeAlias = Literal["show", "hide"]
"""Whether the text of rounds that go on with calls is told while it is written."""


class ToolCallingAdvisor:
    """Runs the tools that the model asks for, until it asks for none.

    ``service`` holds the tools, bounds and strategies; without one it is that of the client whose chain this is.
    ``max_tool_calling_round_trips``: a bound of its own. ``history="last"`` is for a memory inside the loop, which adds
    the rest. ``intermediate_text="hide"`` holds every round's text back until it is known to be the last, so the answer
    then comes in one piece. ``user_controlled`` hands replies with calls back: the caller runs them and sends the
    results; ``runs`` decides that for each reply.

    A subclass may override `before_loop`, `before_round`, `after_round` and `finish`. Raises what `ToolService.chat`
    raises.
    """

    name = "tool_calling"
    calls_tools = True

    def __init__(
        self,
        service: ToolService | None = None,
        *,
        max_tool_calling_round_trips: int | None = None,
        history: LoopHistory = "full",
        intermediate_text: IntermediateText = "show",
        user_controlled: bool = False,
        runs: Callable[[ChatResponse], bool] | None = None,
    ) -> None:
        _check_word("history", history, ("full", "last"))
        _check_word("intermediate_text", intermediate_text, ("show", "hide"))
        self.service = service
        self.max_tool_calling_round_trips = max_tool_calling_round_trips
        self.history = history
        self.intermediate_text = intermediate_text
        self.user_controlled = user_controlled
        self._runs = runs

    def with_service(self, service: ToolService) -> Self:
        """The same advisor over these tools, bounds and strategies."""
        made = copy(self)
        made.service = service
        return made

    # -- to be overridden ------------------------------------------------------------------------

    async def before_loop(self, run: Run, request: ChatRequest) -> ChatRequest:
        """The request of the turn as it goes on; called once, not for a turn that is taken up again."""
        return request

    async def before_round(self, run: Run, number: int, request: ChatRequest) -> ChatRequest:
        """The request of round ``number`` (from 0) as it goes on. Tools of its parameters are offered in this round,
        and its calls are looked up among them."""
        return request

    async def after_round(self, run: Run, number: int, response: ChatResponse) -> ChatResponse:
        """The reply of round ``number`` as it goes on, before its calls run."""
        return response

    async def finish(self, run: Run, advised: Advised) -> Advised:
        """The turn's outcome as it goes out; called once, not for a turn that is suspended."""
        return advised

    def runs(self, response: ChatResponse) -> bool:
        """Whether the calls of this reply are run here."""
        return not self.user_controlled and (self._runs is None or bool(self._runs(response)))

    # -- the advisor -----------------------------------------------------------------------------

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """One whole turn over the rest of the chain."""
        service = self.service
        if service is None:
            raise AdvisorError(
                "the advisor 'tool_calling' has no tools to call with",
                next_step="Give it a ToolService, or put it into the chain of a ChatClient.",
            )
        state = run.take_resume()
        if state is None:
            request = await self.before_loop(run, request)
            limit = self.max_tool_calling_round_trips
            state = ToolLoopState(
                History.of(request.messages),
                service.settings.max_tool_calling_round_trips if limit is None else limit,
                given=len(request.messages),
            )
        rounds = _Rounds(self, run, chain)
        try:
            result = await service.drive(rounds, state, run, request.parameters, chain.emit)
        finally:
            run.attributes.pop(IN_LOOP, None)  # an advisor outside may ask again
        run.notices.extend(result.notices)
        advised = Advised(
            result.response,
            result.messages[state.given :],
            suspended=result.suspended,
            returned_directly=result.returned_directly,
        )
        return advised if advised.suspended is not None else await self.finish(run, advised)

    def __repr__(self) -> str:
        tools = "the client's tools" if self.service is None else f"{len(self.service.tool_specifications)} tools"
        return f"ToolCallingAdvisor({tools})"


class _Rounds:
    """One turn's rounds, each a pass through the rest of the chain."""

    def __init__(self, advisor: ToolCallingAdvisor, run: Run, chain: Chain) -> None:
        self._advisor = advisor
        self._run = run
        self._chain = chain
        #: Up to where the messages were sent on already.
        self._sent = 0
        #: How many there were when the provider refused what the model made: what corrects it stays in no history.
        self._refused_at: int | None = None
        self._runs = True

    async def prepare(self, number: int, request: ChatRequest) -> ChatRequest:
        """Ask the advisor what to change."""
        return await self._advisor.before_round(self._run, number, request)

    async def ask(self, number: int, request: ChatRequest) -> Answer:
        """Pass the rest of the chain once."""
        advisor, chain, noted = self._advisor, self._chain, self._run.attributes
        sent, known = self._sent, self._refused_at
        self._sent, self._refused_at = len(request.messages) if known is None else known, None
        left_out: tuple[ChatMessage, ...] = ()
        if advisor.history == "last" and sent:
            earlier = request.messages[:sent]
            left_out = tuple(message for message in earlier if not isinstance(message, SystemMessage))
            request = ChatRequest(_since(request.messages, sent), request.parameters)
        noted[IN_LOOP] = left_out
        noted.pop(ASKED, None)
        held = _Held(chain.emit) if chain.emit is not None and advisor.intermediate_text == "hide" else None
        try:
            advised = await chain.next(self._run, request, emit=chain.emit if held is None else held.put)
        except ToolUseFailedError:
            self._sent, self._refused_at = sent, self._sent
            raise
        if advised.response is None:
            raise AdvisorError(
                "an advisor inside the tool loop suspended the turn",
                next_step="Only the tool advisor suspends; put the other one outside of it.",
            )
        response = await advisor.after_round(self._run, number, advised.response)
        self._runs = not response.ai_message.has_tool_execution_requests or advisor.runs(response)
        if held is not None:
            await held.end(last=not self._runs or not _goes_on(response))
        given, asked = request.parameters, noted.get(ASKED)
        if not isinstance(asked, ChatRequestParameters):
            return Answer(response, advised.offered, forced=False)  # no model was asked
        tools = None if asked.tools is given.tools else {tool.name for tool in asked.tools}
        return Answer(response, advised.offered, tools, forced=asked.tool_choice == given.tool_choice)

    def runs(self, response: ChatResponse) -> bool:
        """What the advisor said of the reply that was asked for last."""
        return self._runs


class _Held:
    """A sink that keeps a round's text, and its end where the turn may go on, until the round is known to be the
    last."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._texts: list[Event] = []
        self._done: ResponseDone | None = None

    async def put(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._texts.append(event)
        elif isinstance(event, ResponseDone):
            self._done = event
            if not _goes_on(event.response):
                await self.end(last=True)
        else:
            if isinstance(event, AttemptDiscarded):
                self._texts, self._done = [], None
            await self._emit(event)

    async def end(self, *, last: bool) -> None:
        """The round is over, and whether it was the last."""
        texts, done = self._texts, self._done
        self._texts, self._done = [], None
        for text in texts if last else ():
            await self._emit(text)
        if done is not None:
            await self._emit(done)


def _goes_on(response: ChatResponse) -> bool:
    """Whether the model is asked again after this reply, if its calls are run."""
    if not response.ai_message.has_tool_execution_requests:
        return response.finish_reason is FinishReason.PAUSE
    return response.finish_reason not in (FinishReason.ERROR, FinishReason.CONTENT_FILTER)


def _since(messages: Sequence[ChatMessage], sent: int) -> tuple[ChatMessage, ...]:
    """The system messages, and what was not sent yet."""
    system = (message for message in messages[:sent] if isinstance(message, SystemMessage))
    return (*system, *messages[sent:])


def _check_word(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ConfigurationError(f"{name} is {' or '.join(map(repr, known))}, not {given!r}")
