"""A conversation with one client: turn after turn over one history, which stays valid however a turn ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from agentforge.model import ChatMessage, UserMessage
from agentforge.tool.execution import Run, ToolChatResult

if TYPE_CHECKING:
    from agentforge.cli.view import TurnView
    from agentforge.client import ChatClient

__all__ = ("Conversation", "model_name")


class Conversation:
    """Turns of one client, each shown by the view. ``history`` is what the next turn goes on with."""

    def __init__(self, client: ChatClient, view: TurnView, *, streamed: bool, memory_id: str | None = None) -> None:
        self._client = client
        self._view = view
        self._streamed = streamed
        self._memory_id = memory_id
        self.history: Sequence[ChatMessage] = ()

    def use(self, client: ChatClient, view: TurnView) -> None:
        """Go on with another client, over the same history."""
        self._client = client
        self._view = view

    async def ask(self, text: str) -> ToolChatResult:
        """One turn. One that is cancelled or fails leaves in the history what it finished; a question to which nothing
        came is forgotten. Raises what `ChatClient.chat` raises."""
        run = Run(memory_id=self._memory_id)
        messages = (*self.history, UserMessage(text))
        self._view.begin()
        try:
            result = await self._turn(messages, run)
        except BaseException:
            if run.messages and not isinstance(run.messages[-1], UserMessage):
                self.history = run.messages
            self._view.abort()
            raise
        self.history = result.messages
        self._view.finish(result)
        return result

    async def _turn(self, messages: Sequence[ChatMessage], run: Run) -> ToolChatResult:
        if not self._streamed:
            return await self._client.chat(messages, context=run)
        async with self._client.stream(messages, context=run) as events:
            async for event in events:
                self._view.event(event)
        return events.result


def model_name(client: ChatClient) -> str:
    """What to call the client's model; one that is made for each run has no name between runs."""
    profile = getattr(client.model, "profile", None)
    return profile.name if profile is not None else "one for each turn"
