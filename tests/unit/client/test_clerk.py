"""A clerk: a typed interface with a prompt, a conversation and a choice, and one value asked for beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from agentforge import ChatClient, MemoryId, ScriptedChatModel, ai_service, system
from agentforge.advisor import MessageMemoryAdvisor
from agentforge.memory import ChatMemory, InMemoryStore


class Assistant(Protocol):
    """What a shop wants of it."""

    @system("You are a courteous clerk of {shop}.")
    async def chat(self, message: str, *, memory_id: MemoryId, shop: str) -> str: ...

    async def classify(self, message: str) -> Literal["order", "booking", "other"]: ...


@dataclass
class Order:
    """A value."""

    item: str
    count: int


async def test_a_clerk_talks_chooses_and_takes_orders() -> None:
    """Each conversation remembers its own; a choice and a value are checked and typed."""
    replies = ["Good day.", "You said hello.", "Who are you?", '{"value": "booking"}', '{"item": "tea", "count": 2}']
    model = ScriptedChatModel(replies)
    memory = MessageMemoryAdvisor(ChatMemory(InMemoryStore()))
    async with ChatClient(model, advisors=[memory]) as client, ChatClient(model) as plain:
        assistant = ai_service(Assistant, client)
        assert await assistant.chat("Hello.", memory_id="a", shop="Tea House") == "Good day."
        assert await assistant.chat("What did I say?", memory_id="a", shop="Tea House") == "You said hello."
        assert await assistant.chat("And I?", memory_id="b", shop="Tea House") == "Who are you?"
        assert await ai_service(Assistant, plain).classify("A table for two.") == "booking"
        assert await plain.prompt("Two boxes of tea.").entity(Order) == Order("tea", 2)

    told = [[getattr(message, "text", None) for message in request.messages] for request in model.requests[:3]]
    clerk = "You are a courteous clerk of Tea House."
    assert told[1] == [clerk, "Hello.", "Good day.", "What did I say?"]
    assert told[2] == [clerk, "And I?"]
