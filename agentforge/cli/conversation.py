"""A conversation with one client: turn after turn over one history, which stays valid however a turn ends."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentforge.model import ChatMessage, Notice, SystemMessage, UserMessage
from agentforge.tool.execution import Run, ToolChatResult

if TYPE_CHECKING:
    from agentforge.cli.view import TurnView
    from agentforge.client import ChatClient
    from agentforge.memory import ChatMemory

__all__ = ("Conversation", "memory_of", "model_name")


class Conversation:
    """Turns of one client, each shown by the view. ``history`` is what the next turn goes on with.

    Each turn has the same ``memory_id``, one of its own where none is given. Where the client's chain has a memory that
    holds the conversation, only the question is sent: what goes in front of it is the memory's to say.
    """

    def __init__(self, client: ChatClient, view: TurnView, *, streamed: bool, memory_id: str | None = None) -> None:
        self._client = client
        self._view = view
        self._streamed = streamed
        self._waits = False
        #: The conversation's id, for memory and tools.
        self.memory_id = memory_id if memory_id is not None else f"chat-{os.urandom(8).hex()}"
        self.history: Sequence[ChatMessage] = ()

    def use(self, client: ChatClient, view: TurnView) -> None:
        """Go on with another client, over the same history."""
        self._client = client
        self._view = view

    async def ask(self, text: str) -> ToolChatResult:
        """One turn. One that is cancelled or fails leaves in the history what it finished; a question to which nothing
        came is forgotten. What a memory keeps of a turn is its own affair. Raises what `ChatClient.chat` raises."""
        run = Run(memory_id=self.memory_id)
        question = UserMessage(text)
        remembered = await self._remembered()
        messages = (question,) if remembered else (*self.history, question)
        self._view.begin()
        try:
            await self._give_up_what_waits()
            result = await self._turn(messages, run)
        except BaseException:
            if run.messages and not isinstance(run.messages[-1], UserMessage):
                self._went_on(run.messages, remembered=remembered)
            self._view.abort()
            raise
        self._went_on(result.messages, remembered=remembered)
        self._waits = result.suspended is not None
        self._view.finish(result)
        return result

    async def _turn(self, messages: Sequence[ChatMessage], run: Run) -> ToolChatResult:
        if not self._streamed:
            return await self._client.chat(messages, context=run)
        async with self._client.stream(messages, context=run) as events:
            async for event in events:
                self._view.event(event)
        return events.result

    def _went_on(self, messages: Sequence[ChatMessage], *, remembered: bool) -> None:
        """The history after a turn: its messages, behind those of before where they were not sent."""
        if remembered and self.history:
            messages = (*self.history, *(each for each in messages if not isinstance(each, SystemMessage)))
        self.history = messages

    async def _remembered(self) -> bool:
        """Whether the client's memory holds this conversation, so that it must not be sent a second time."""
        from agentforge.memory import MemoryKey

        memory = memory_of(self._client)
        return memory is not None and await memory.get(MemoryKey(None, self.memory_id)) is not None

    async def _give_up_what_waits(self) -> None:
        """A question that follows a turn of this conversation which waits for a decision takes its place."""
        from agentforge.memory import MemoryKey

        memory = memory_of(self._client)
        waits, self._waits = self._waits, False
        if waits and memory is not None and await memory.give_up(MemoryKey(None, self.memory_id)) is not None:
            self._view.event(Notice("suspended_turn_given_up", "the turn that waited for a decision was given up"))


def memory_of(client: ChatClient) -> ChatMemory | None:
    """The memory in a client's chain, if any."""
    from agentforge.advisor import MessageMemoryAdvisor

    found = (link.advisor for link in client.chain if issubclass(type(link.advisor), MessageMemoryAdvisor))
    return next((each.memory for each in found if isinstance(each, MessageMemoryAdvisor)), None)


def model_name(client: ChatClient) -> str:
    """What to call the client's model; one that is made for each run has no name between runs."""
    from agentforge.model.chat_model import label_of

    return label_of(client.model) if hasattr(client.model, "profile") else "one for each turn"
