"""What was said before goes in front, and what is said now is kept: a conversation's memory as an advisor.

Outside the tool loop it keeps questions and answers, inside it the whole transcript. Either way a turn is stored whole,
at its end, or not at all.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Literal, TypeAlias

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import Chain
from agentforge.advisor.reprompt import without_open_calls
from agentforge.advisor.tool_calling import IN_LOOP
from agentforge.errors import ConfigurationError
from agentforge.memory import ChatMemory, MemoryKey, Turn, is_summary
from agentforge.memory.turns import instructions_of, question_places, without_instructions
from agentforge.model import AiMessage, ChatMessage, ChatRequest, TokenUsage, ToolExecutionResultMessage
from agentforge.tool.execution import Emit, Run

__all__ = ("MEMORY_TURN", "MessageMemoryAdvisor", "Transcript", "answers_of")

_log = logging.getLogger("agentforge.advisor")

Transcript: TypeAlias = Literal["auto", "answers", "full"]
"""What of a turn is kept: ``answers`` leaves calls and results out, ``auto`` does so outside the tool loop."""
MEMORY_TURN = "agentforge.memory_turn"
"""Among a run's attributes: the open `Turn`, whose ``state`` other advisors may write."""


class MessageMemoryAdvisor:
    """Gives each turn the conversation of its tenant and memory id, and keeps the turn.

    Turns of one conversation follow each other. A turn that fails leaves the memory as it was (or as the memory's
    ``on_failure`` says); one that waits for a decision keeps the conversation waiting. ``required=False`` lets turns
    without a memory id pass without a memory.

    Raises `MemoryKeyError` for a turn without a memory id, and what `ChatMemory.turn` raises.
    """

    name = "message_memory"

    def __init__(self, memory: ChatMemory, *, transcript: Transcript = "auto", required: bool = True) -> None:
        if transcript not in ("auto", "answers", "full"):
            raise ConfigurationError(f"transcript is 'auto', 'answers' or 'full', not {transcript!r}")
        self.memory = memory
        self.transcript = transcript
        self.required = required

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """The turn, or one round of it, with the conversation in front."""
        if run.memory_id is None and not self.required:
            return await chain.next(run, request)
        left_out = run.attributes.get(IN_LOOP)
        if isinstance(left_out, tuple):
            return await self._round(run, request, chain, left_out)
        key = MemoryKey(run.tenant, run.memory_id)
        # What was taken up already is over: an advisor outside asks again.
        opened = self.memory.resume(key) if run.resuming else self.memory.turn(key)
        async with opened as turn:
            try:
                run.attributes[MEMORY_TURN] = turn
                own = self._own(turn, request.messages, outside=True)
                sent = await turn.fit(own)
                await _settle(run, turn, chain.emit)
                try:
                    advised = await chain.next(run, ChatRequest(sent, request.parameters))
                except BaseException as error:
                    await _fail(turn, (*turn.new_in(own), *_added(run.messages, sent)), error)
                    raise
                if advised.suspended is not None:
                    await turn.suspend(advised.suspended.to_json())
                else:
                    new = self._kept(without_open_calls(advised.new_messages), outside=True)
                    await turn.commit((*turn.new_in(own), *new))
                await _settle(run, turn, chain.emit)
                return advised
            finally:
                run.attributes.pop(MEMORY_TURN, None)
                await _settle(run, turn)

    async def _round(self, run: Run, request: ChatRequest, chain: Chain, left_out: Sequence[ChatMessage]) -> Advised:
        """One round inside the loop: the turn stays open until the run is over."""
        # By the advisor: a chain may have another one, outside of the loop.
        found = run.attributes.get(mark := f"{MEMORY_TURN}.{id(self):x}")
        if isinstance(found, Turn):
            turn = found
        else:
            key = MemoryKey(run.tenant, run.memory_id)
            stack = AsyncExitStack()
            turn = await stack.enter_async_context(self.memory.resume(key) if run.resumed else self.memory.turn(key))
            run.attributes[mark] = turn
            run.attributes.setdefault(MEMORY_TURN, turn)
            run.on_end(partial(self._end, run, turn, stack, chain.emit), required=True)
        own = (*instructions_of(request.messages), *left_out, *without_instructions(request.messages))
        sent = await turn.fit(self._own(turn, own if left_out else request.messages, outside=False))
        await _settle(run, turn, chain.emit)
        return await chain.next(run, ChatRequest(sent, request.parameters))

    async def _end(self, run: Run, turn: Turn, stack: AsyncExitStack, emit: Emit | None) -> None:
        async with stack:
            try:
                new = turn.new_in(self._own(turn, run.messages, outside=False))
                if run.failed:
                    await turn.fail(new)
                elif run.suspended is not None:
                    await turn.suspend(run.suspended.to_json())
                else:
                    await turn.commit(self._kept(new, outside=False))
                    await _settle(run, turn, emit)
            finally:
                await _settle(run, turn)

    def _kept(self, messages: Sequence[ChatMessage], *, outside: bool) -> Sequence[ChatMessage]:
        return answers_of(messages) if self._answers(outside) else messages

    def _own(self, turn: Turn, messages: Sequence[ChatMessage], *, outside: bool) -> Sequence[ChatMessage]:
        return _without_told(turn.messages, messages, answers_of if self._answers(outside) else tuple)

    def _answers(self, outside: bool) -> bool:
        return self.transcript == "answers" or (self.transcript == "auto" and outside)

    def __repr__(self) -> str:
        return f"MessageMemoryAdvisor({self.memory!r})"


def answers_of(messages: Sequence[ChatMessage]) -> tuple[ChatMessage, ...]:
    """Questions and answers alone. Of a turn that ended with results, their texts are the answer."""
    kept = [
        message
        for message in messages
        if not isinstance(message, ToolExecutionResultMessage)
        and not (isinstance(message, AiMessage) and message.has_tool_execution_requests)
    ]
    results: list[str] = []
    for message in reversed(messages):
        if not isinstance(message, ToolExecutionResultMessage):
            break
        results.append(message.text)
    return (*kept, AiMessage("\n".join(reversed(results)))) if results else tuple(kept)


def _without_told(
    base: Sequence[ChatMessage],
    messages: Sequence[ChatMessage],
    kept_of: Callable[[Sequence[ChatMessage]], Sequence[ChatMessage]],
) -> Sequence[ChatMessage]:
    """A turn's messages without the turns before it that the memory has: a caller's own history may hold calls that the
    memory leaves out (``kept_of`` is what it keeps of a turn), and turns that its window has dropped."""
    said = without_instructions(messages)
    told = tuple(message for message in without_instructions(base) if not is_summary(message))
    places = list(question_places(said))
    if not told or not places:
        return messages
    kept: list[ChatMessage] = []
    ends: list[int] = []
    for begin, end in zip([0, *places], places, strict=False):
        kept.extend(kept_of(said[begin:end]))
        ends.append(len(kept))
    for place, end in zip(reversed(places), reversed(ends), strict=True):
        if tuple(kept[max(0, end - len(told)) : end]) == told:
            return (*instructions_of(messages), *said[place:])
    return messages


async def _settle(run: Run, turn: Turn, emit: Emit | None = None) -> None:
    """What the memory itself cost and has to say, since the last time, belongs to the run."""
    run.spend(turn.token_usage)
    turn.token_usage = TokenUsage()
    notices, turn.notices = turn.notices, []
    run.notices.extend(notices)
    for notice in notices if emit is not None else ():
        assert emit is not None
        await emit(notice)


async def _fail(turn: Turn, messages: Sequence[ChatMessage], error: BaseException) -> None:
    """End the turn as failed; what then fails in the memory does not take the place of ``error``."""
    try:
        await turn.fail(messages)
    except Exception as another:
        _log.warning("what there is of a failed turn could not be kept", exc_info=another)
        error.add_note(f"what there is of the turn could not be kept: {another}")


def _added(messages: Sequence[ChatMessage], sent: Sequence[ChatMessage]) -> Sequence[ChatMessage]:
    """What came behind the sent messages, whatever advisors have put in front."""
    for at in range(len(messages), 0, -1):
        if messages[at - 1] == sent[-1]:
            return messages[at:]
    return ()
