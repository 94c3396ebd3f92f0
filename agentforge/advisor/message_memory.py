"""What was said before goes in front, and what is said now is kept: a conversation's memory as an advisor.

Outside the tool loop it keeps questions and answers, inside it the whole transcript. Either way a turn is stored whole,
at its end, or not at all.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AsyncExitStack
from functools import partial
from typing import Literal, TypeAlias

from agentforge.advisor.advisor import Advised
from agentforge.advisor.chain import Chain
from agentforge.advisor.tool_calling import IN_LOOP
from agentforge.errors import ConfigurationError
from agentforge.memory import ChatMemory, MemoryKey, Turn
from agentforge.model import AiMessage, ChatMessage, ChatRequest, ToolExecutionResultMessage
from agentforge.tool.execution import Run

__all__ = ("MEMORY_TURN", "MessageMemoryAdvisor", "Transcript", "answers_of")

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
        if run.attributes.get(IN_LOOP):
            return await self._round(run, request, chain)
        key = MemoryKey(run.tenant, run.memory_id)
        opened = self.memory.resume(key) if run.resumed else self.memory.turn(key)
        async with opened as turn:
            run.attributes[MEMORY_TURN] = turn
            sent = await turn.fit(request.messages)
            try:
                advised = await chain.next(run, ChatRequest(sent, request.parameters))
            except BaseException:
                done = run.messages[len(sent) :] if run.messages[: len(sent)] == sent else ()
                await turn.fail((*turn.new_in(request.messages), *done))
                raise
            finally:
                _settle(run, turn)
            if advised.suspended is not None:
                await turn.suspend(advised.suspended.to_json())
            else:
                new = self._kept(advised.new_messages, outside=True)
                await turn.commit((*turn.new_in(request.messages), *new))
            return advised

    async def _round(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        """One round inside the loop: the turn stays open until the run is over."""
        found = run.attributes.get(MEMORY_TURN)
        if isinstance(found, Turn):
            turn = found
        else:
            key = MemoryKey(run.tenant, run.memory_id)
            stack = AsyncExitStack()
            turn = await stack.enter_async_context(self.memory.resume(key) if run.resumed else self.memory.turn(key))
            run.attributes[MEMORY_TURN] = turn
            run.on_end(partial(self._end, run, turn, stack))
        # With ``history="last"`` only what is new comes: the loop's own messages are the whole turn.
        own = request.messages if len(request.messages) >= len(run.messages) else run.messages
        sent = await turn.fit(own)
        return await chain.next(run, ChatRequest(sent, request.parameters))

    async def _end(self, run: Run, turn: Turn, stack: AsyncExitStack) -> None:
        async with stack:
            new = turn.new_in(run.messages)
            _settle(run, turn)
            if run.failed:
                await turn.fail(new)
            elif run.suspended is not None:
                await turn.suspend(run.suspended.to_json())
            else:
                await turn.commit(self._kept(new, outside=False))

    def _kept(self, messages: Sequence[ChatMessage], *, outside: bool) -> Sequence[ChatMessage]:
        answers = self.transcript == "answers" or (self.transcript == "auto" and outside)
        return answers_of(messages) if answers else messages

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


def _settle(run: Run, turn: Turn) -> None:
    """What the memory itself cost and has to say belongs to the run."""
    run.attributes.pop(MEMORY_TURN, None)
    run.notices.extend(turn.notices)
    run.token_usage = run.token_usage + turn.token_usage
