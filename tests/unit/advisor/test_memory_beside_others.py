"""A memory beside other advisors, and in turns that take an unusual way: what it keeps stays right."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService
from agentforge.advisor import (
    MessageMemoryAdvisor,
    SafeguardAdvisor,
    SystemPromptAdvisor,
    ToolCallingAdvisor,
)
from agentforge.client import ChatClient
from agentforge.memory import (
    ChatMemory,
    Conversation,
    InMemoryStore,
    MemoryKey,
    MemoryStoreError,
    MessageWindow,
    Summarising,
)
from agentforge.model import (
    AiMessage,
    ChatResponse,
    FinishReason,
    TokenUsage,
)
from agentforge.model.scripted import call
from tests.unit.advisor.combining import BOTH, Approval, Twice, ask, get_weather, kept, letters


@BOTH
@pytest.mark.parametrize("history", ["full", "last"])
async def test_advisors_between_the_loop_and_its_memory_hide_nothing_from_the_model(
    history: Any, streamed: bool
) -> None:
    """Each round has the question, whatever instructions were put in front of what is new."""
    memory = ChatMemory(InMemoryStore())
    model = ScriptedChatModel([call("get_weather", city="Rome"), "Sunny."])
    loop = ToolCallingAdvisor(history=history)
    chain = [loop, SystemPromptAdvisor("Be brief."), MessageMemoryAdvisor(memory)]
    async with ChatClient(model, tools=[get_weather], advisors=chain) as client:
        await ask(client, "Weather?", streamed=streamed)

    assert letters(model.requests[1].messages) == ["system Be brief.", "user Weather?", "*", "result Rome: sunny"]
    assert (await kept(memory))[-4:] == ["user Weather?", "*", "result Rome: sunny", "answer Sunny."]


@BOTH
async def test_another_attempt_of_a_turn_is_no_round_of_its_loop(streamed: bool) -> None:
    """A memory outside the loop stays outside of it, however often an advisor further out asks."""
    memory = ChatMemory(InMemoryStore())
    chain = [Twice(), MessageMemoryAdvisor(memory)]
    async with ChatClient(ScriptedChatModel(["One.", "Two."]), advisors=chain) as client:
        await ask(client, "Hi", streamed=streamed)

    assert await kept(memory) == ["user Hi", "answer One.", "user Hi", "answer Two."]


@BOTH
async def test_a_memory_inside_the_loop_keeps_the_turn_as_it_ended(streamed: bool) -> None:
    """Not the attempts before it, nor the words in which one was asked for again."""
    memory = ChatMemory(InMemoryStore())
    model = ScriptedChatModel(["A bomb.", "A box."])
    guard = SafeguardAdvisor(["bomb"], action="reprompt")
    chain = [guard, ToolCallingAdvisor(history="last"), MessageMemoryAdvisor(memory)]
    async with ChatClient(model, advisors=chain) as client:
        result = await ask(client, "What is it?", streamed=streamed)

    assert await kept(memory) == letters(result.messages) == ["user What is it?", "answer A box."]


async def test_an_attempt_after_a_resumed_turn_resumes_nothing_again() -> None:
    """What waited is over by then; the memory takes the attempt as a turn."""
    memory, approval = ChatMemory(InMemoryStore()), Approval()
    model = ScriptedChatModel([call("get_weather", city="Rome"), "A bomb.", "Sunny."])
    chain = [SafeguardAdvisor(["bomb"], action="reprompt"), MessageMemoryAdvisor(memory)]
    async with ChatClient(model, service=ToolService(get_weather, gates=[approval]), advisors=chain) as client:
        waiting = await ask(client, "Weather?")
        approval.decided = True
        result = await ask(client, "Weather?", resume=waiting.suspended)

    assert result.content == "Sunny." and (await kept(memory))[-1] == "answer Sunny."
    assert memory.open_turns == 0


@pytest.mark.parametrize("again", [True, False], ids=["with the question", "with the state alone"])
@pytest.mark.parametrize("stores", ["window", "everything"])
async def test_a_resumed_turn_stores_no_message_twice(stores: Any, again: bool) -> None:
    """Though the window had cut the conversation that the saved turn begins with."""
    memory, approval = ChatMemory(InMemoryStore(), window=MessageWindow(4), stores=stores), Approval()
    model = ScriptedChatModel(["1.", "2.", call("get_weather", city="Rome"), "3."])
    service = ToolService(get_weather, gates=[approval])
    async with ChatClient(model, service=service, advisors=[MessageMemoryAdvisor(memory)]) as client:
        for question in ("one", "two"):
            await ask(client, question)
        waiting = await ask(client, "three")
        approval.decided = True
        prompt = client.prompt(*(["three"] if again else [])).memory_id("m1")
        assert waiting.suspended is not None
        await prompt.resume(waiting.suspended).call()

    whole = ["user one", "answer 1.", "user two", "answer 2.", "user three", "answer 3."]
    assert await kept(memory) == (whole if stores == "everything" else whole[2:])


async def test_two_memories_in_one_chain_keep_what_is_theirs() -> None:
    """Questions and answers outside the loop, the whole transcript inside of it."""
    outer, inner = ChatMemory(InMemoryStore()), ChatMemory(InMemoryStore())
    model = ScriptedChatModel([call("get_weather", city="Rome"), "Sunny."])
    chain = [MessageMemoryAdvisor(outer), ToolCallingAdvisor(), MessageMemoryAdvisor(inner)]
    async with ChatClient(model, tools=[get_weather], advisors=chain) as client:
        await ask(client, "Weather?")

    assert await kept(outer) == ["user Weather?", "answer Sunny."]
    assert await kept(inner) == ["user Weather?", "*", "result Rome: sunny", "answer Sunny."]


class FullDisk(InMemoryStore):
    """Nothing can be stored."""

    async def save(self, key: MemoryKey, conversation: Conversation, *, expected_version: int) -> Conversation:
        raise MemoryStoreError("the disk is full")


@BOTH
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
async def test_a_turn_that_cannot_be_stored_fails(inside: bool, streamed: bool) -> None:
    """Wherever the memory stands; the answer is in the error."""
    memory = ChatMemory(FullDisk())
    chain: list[Any] = [*([ToolCallingAdvisor()] if inside else []), MessageMemoryAdvisor(memory)]
    async with ChatClient(ScriptedChatModel(["Hello."]), advisors=chain) as client:
        with pytest.raises(MemoryStoreError, match="the disk is full") as raised:
            await ask(client, "Hi", streamed=streamed)

    assert letters(raised.value.partial.messages) == ["user Hi", "answer Hello."]  # type: ignore[attr-defined]
    assert memory.open_turns == 0


@BOTH
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
async def test_a_turn_fails_with_its_own_error_though_the_memory_fails_too(inside: bool, streamed: bool) -> None:
    """What cannot be kept of it is said in the log."""
    memory = ChatMemory(FullDisk(), on_failure="keep")
    chain: list[Any] = [*([ToolCallingAdvisor()] if inside else []), MessageMemoryAdvisor(memory)]
    async with ChatClient(ScriptedChatModel([ValueError("boom")]), advisors=chain) as client:
        with pytest.raises(ValueError, match="boom"):
            await ask(client, "Hi", streamed=streamed)

    assert memory.open_turns == 0


async def test_a_cancelled_turn_is_cancelled_though_the_memory_fails() -> None:
    asked = asyncio.Event()

    async def never(request: object) -> str:
        asked.set()
        await asyncio.Event().wait()
        return "too late"

    memory = ChatMemory(FullDisk(), on_failure="keep")
    async with ChatClient(ScriptedChatModel([never]), advisors=[MessageMemoryAdvisor(memory)]) as client:
        task = asyncio.ensure_future(ask(client, "Hi"))
        await asked.wait()
        task.cancel()
        await asyncio.wait([task])

    assert task.cancelled() and memory.open_turns == 0


async def test_what_there_is_of_a_failed_turn_is_kept_behind_instructions_of_inner_advisors() -> None:
    memory = ChatMemory(InMemoryStore(), on_failure="keep")
    model = ScriptedChatModel([call("get_weather", city="Rome"), ValueError("boom")])
    chain = [MessageMemoryAdvisor(memory), SystemPromptAdvisor("Be brief.")]
    async with ChatClient(model, tools=[get_weather], advisors=chain) as client:
        with pytest.raises(ValueError, match="boom"):
            await ask(client, "Weather?")

    assert await kept(memory) == ["user Weather?", "*", "result Rome: sunny"]


@BOTH
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
async def test_what_a_summary_costs_and_says_is_the_run_s_whenever_it_is_made(inside: bool, streamed: bool) -> None:
    """Before the model is asked, or when the turn is stored; each once, and told in the events too."""
    usage = TokenUsage(100, 10, 110)
    notes = ScriptedChatModel([ChatResponse(AiMessage("notes"), FinishReason.STOP, usage)], repeat=True)
    memory = ChatMemory(InMemoryStore(), window=Summarising(MessageWindow(3), notes))
    reply = ChatResponse(AiMessage("Yes."), FinishReason.STOP, TokenUsage(1, 1, 2))
    chain: list[Any] = [*([ToolCallingAdvisor()] if inside else []), MessageMemoryAdvisor(memory)]
    spent = 0
    async with ChatClient(ScriptedChatModel([reply], repeat=True), advisors=chain) as client:
        for _ in range(4):
            told: list[str] = []
            prompt = client.prompt("Is it?").memory_id("m1")
            if streamed:
                async with prompt.stream() as events:
                    told = [event.code async for event in events if hasattr(event, "code")]
                result = events.result
                assert told == [notice.code for notice in result.notices]
            else:
                result = await prompt.call()
            spent += (result.token_usage.total_tokens or 0) - 2
            assert len(result.notices) <= 2

    assert spent == 110 * len(notes.requests) > 0


@BOTH
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
async def test_a_turn_that_says_what_was_said_before_is_a_turn(inside: bool, streamed: bool) -> None:
    """The same question with the same answer, three times."""
    memory = ChatMemory(InMemoryStore())
    chain: list[Any] = [*([ToolCallingAdvisor()] if inside else []), MessageMemoryAdvisor(memory)]
    async with ChatClient(ScriptedChatModel(["Yes."], repeat=True), advisors=chain) as client:
        for _ in range(3):
            await ask(client, "Is it?", streamed=streamed)

    assert await kept(memory) == ["user Is it?", "answer Yes."] * 3
