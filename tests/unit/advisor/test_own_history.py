"""A caller that sends its own history to a memory: nothing is sent or kept twice, wherever the memory stands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentforge import ChatClient, ReturnBehavior, ScriptedChatModel, UserMessage, tool
from agentforge.advisor import Advisor, MessageMemoryAdvisor, ToolCallingAdvisor, Transcript
from agentforge.memory import ChatMemory, InMemoryStore, MemoryKey, MessageWindow, Window
from agentforge.model import ChatMessage
from agentforge.model.scripted import call


@tool
def add(a: int, b: int) -> int:
    """The sum."""
    return a + b


@tool(return_behavior=ReturnBehavior.IMMEDIATE)
def time() -> str:
    """The time."""
    return "noon"


PLACES: dict[str, Callable[[MessageMemoryAdvisor], list[Advisor]]] = {
    "outside": lambda memory: [memory],
    "inside": lambda memory: [ToolCallingAdvisor(), memory],
}
QUESTIONS = ["1 + 2?", "The time?", "3 + 2?", "Thanks."]
ANSWERS = ["Three.", "noon", "Five.", "Bye."]
TURNS = [call("add", a=1, b=2), "Three.", call("time"), call("add", a=3, b=2), "Five.", "Bye."]


def spoken(messages: Any) -> list[str]:
    """What users and the model said, but for what came of calls that the model went on with."""
    return [message.text for message in messages if message.text and message.text not in ("3", "5")]


@pytest.mark.parametrize("system", [None, "Be short."])
@pytest.mark.parametrize("window", [None, MessageWindow(7)], ids=["whole", "windowed"])
@pytest.mark.parametrize("transcript", ["auto", "answers", "full"])
@pytest.mark.parametrize("place", PLACES)
async def test_a_history_that_the_memory_has_is_not_added_again(
    place: str, transcript: Transcript, window: Window | None, system: str | None
) -> None:
    """Whether the memory keeps calls, leaves them out, or has dropped the oldest turns."""
    memory = ChatMemory(InMemoryStore(), window=window)
    model: Any = ScriptedChatModel(TURNS)
    advisors = PLACES[place](MessageMemoryAdvisor(memory, transcript=transcript))
    history: tuple[ChatMessage, ...] = ()
    with ChatClient(model, tools=[add, time], system=system, advisors=advisors) as client:
        for question in QUESTIONS:
            result = await client.chat((*history, UserMessage(question)), memory_id="42")
            history = tuple(result.messages)
    kept = await memory.get(MemoryKey(None, "42"))

    everything = [each for pair in zip(QUESTIONS, ANSWERS, strict=True) for each in pair]
    sent, stored = (spoken(each) for each in (model.requests[-1].messages, kept.messages if kept else ()))
    if system is not None:
        assert (sent.pop(0), stored.pop(0)) == (system, system)
    assert sent[-1] == "Thanks." and sent == everything[:-1][-len(sent) :]
    assert stored == everything[-len(stored) :]
    if window is None:
        assert (len(sent), len(stored)) == (7, 8)


async def test_another_history_is_no_part_of_the_conversation() -> None:
    """It is added, as it is news."""
    memory = ChatMemory(InMemoryStore())
    model: Any = ScriptedChatModel([call("add", a=1, b=2), "Three.", "Yes."])
    with ChatClient(model, tools=[add], advisors=[MessageMemoryAdvisor(memory)]) as client:
        first = await client.chat("1 + 2?", memory_id="42")
        other = (UserMessage("2 + 1?"), *first.messages[1:], UserMessage("Sure?"))
        await client.chat(other, memory_id="42")

    assert spoken(model.requests[-1].messages) == ["1 + 2?", "Three.", "2 + 1?", "Three.", "Sure?"]
