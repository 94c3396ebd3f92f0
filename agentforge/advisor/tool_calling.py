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
from agentforge.errors import ConfigurationError
from agentforge.model import (
    ChatMessage,
    ChatRequest,
    ChatResponse,
    Event,
    History,
    ResponseDone,
    SystemMessage,
    TextDelta,
)
from agentforge.tool.execution import Answer, AttemptDiscarded, Emit, Run, ToolLoopState, ToolService

__all__ = ("IN_LOOP", "IntermediateText", "LoopHistory", "ToolCallingAdvisor")

IN_LOOP = "agentforge.in_tool_loop"
"""Among a run's attributes: whether what asks now stands inside the loop."""
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
        run.attributes[IN_LOOP] = True
        rounds = _Rounds(self, run, chain)
        result = await service.drive(rounds, state, run, request.parameters, chain.emit)
        run.notices.extend(result.notices)
        advised = Advised(
            result.response,
            result.messages[state.given :],
            suspended=result.suspended,
            returned_directly=result.returned_directly,
        )
        return advised if advised.suspended is not None else await self.finish(run, advised)

    def __repr__(self) -> str:
        return f"ToolCallingAdvisor({self.service!r})"


class _Rounds:
    """One turn's rounds, each a pass through the rest of the chain."""

    def __init__(self, advisor: ToolCallingAdvisor, run: Run, chain: Chain) -> None:
        self._advisor = advisor
        self._run = run
        self._chain = chain
        #: Up to where the messages were sent on already.
        self._sent = 0

    async def prepare(self, number: int, request: ChatRequest) -> ChatRequest:
        """Ask the advisor what to change."""
        return await self._advisor.before_round(self._run, number, request)

    async def ask(self, number: int, request: ChatRequest) -> Answer:
        """Pass the rest of the chain once."""
        advisor, chain = self._advisor, self._chain
        sent, self._sent = self._sent, len(request.messages)
        if advisor.history == "last" and sent:
            request = ChatRequest(_since(request.messages, sent), request.parameters)
        emit = chain.emit
        if emit is not None and advisor.intermediate_text == "hide":
            emit = _Held(emit).put
        advised = await chain.next(self._run, request, emit=emit)
        if advised.response is None:
            raise AdvisorError(
                "an advisor inside the tool loop suspended the turn",
                next_step="Only the tool advisor suspends; put the other one outside of it.",
            )
        return Answer(await advisor.after_round(self._run, number, advised.response), advised.offered)

    def runs(self, response: ChatResponse) -> bool:
        """Ask the advisor."""
        return self._advisor.runs(response)


class _Held:
    """A sink that keeps a round's text until the round is known to be the last."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._texts: list[Event] = []

    async def put(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._texts.append(event)
            return
        if isinstance(event, ResponseDone) and not event.response.ai_message.has_tool_execution_requests:
            for text in self._texts:
                await self._emit(text)
        if isinstance(event, ResponseDone | AttemptDiscarded):
            self._texts.clear()
        await self._emit(event)


def _since(messages: Sequence[ChatMessage], sent: int) -> tuple[ChatMessage, ...]:
    """The system messages, and what was not sent yet."""
    system = (message for message in messages[:sent] if isinstance(message, SystemMessage))
    return (*system, *messages[sent:])


def _check_word(name: str, given: object, known: tuple[str, ...]) -> None:
    if given not in known:
        raise ConfigurationError(f"{name} is {' or '.join(map(repr, known))}, not {given!r}")
