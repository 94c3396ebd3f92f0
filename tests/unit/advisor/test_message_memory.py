"""Memory as an advisor: what a turn is given, what is kept of it, and that it is whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolService, tool
from agentforge.advisor import Advised, Chain, ToolCallingAdvisor
from agentforge.advisor.message_memory import MEMORY_TURN, MessageMemoryAdvisor, answers_of
from agentforge.client import ChatClient
from agentforge.errors import ConfigurationError, OverloadedError
from agentforge.memory import (
    ChatMemory,
    ConversationSuspendedError,
    InMemoryStore,
    MemoryKey,
    MemoryKeyError,
    MessageWindow,
    Turn,
)
from agentforge.model import AiMessage, ChatMessage, ChatRequest, SystemMessage, ToolExecutionResultMessage, UserMessage
from agentforge.model.history import mend_history
from agentforge.model.scripted import call
from agentforge.tool import ReturnBehavior
from agentforge.tool.execution import Ask, PlannedCall, Proceed, Run, ToolChatResult, ToolLoopState

KEY = MemoryKey(None, "m1")


def get_weather(city: str) -> str:
    "Current weather of a city."
    return f"{city}: sunny"


def weather(*more: Any) -> ScriptedChatModel:
    return ScriptedChatModel([call("get_weather", city="Rome"), "Sunny.", *more])


def client_of(model: ScriptedChatModel, memory: ChatMemory, *, inside: bool = False, **settings: Any) -> ChatClient:
    """A client with the memory outside of the loop, or inside of it."""
    advisor = MessageMemoryAdvisor(memory, **settings)
    chain: list[Any] = [ToolCallingAdvisor(history="last"), advisor] if inside else [advisor]
    return ChatClient(model, tools=[get_weather], advisors=chain)


async def ask(client: ChatClient, question: str, *, streamed: bool = False) -> ToolChatResult:
    prompt = client.prompt(question).memory_id("m1")
    if not streamed:
        return await prompt.call()
    async with prompt.stream() as events:
        async for _ in events:
            pass
    return events.result


async def kept(memory: ChatMemory) -> list[str]:
    """What is stored, as letters: user, answer, call, result."""
    found = await memory.get(KEY)
    return [_letter(message) for message in (found.messages if found is not None else ())]


def _letter(message: ChatMessage) -> str:
    if isinstance(message, AiMessage):
        return "call" if message.has_tool_execution_requests else "answer"
    return {UserMessage: "user", SystemMessage: "system"}.get(type(message), "result")


@pytest.mark.parametrize(
    ("inside", "transcript", "expected"),
    [
        (False, "auto", ["user", "answer"]),
        (False, "full", ["user", "call", "result", "answer"]),
        (True, "auto", ["user", "call", "result", "answer"]),
        (True, "answers", ["user", "answer"]),
    ],
)
@pytest.mark.parametrize("streamed", [False, True])
async def test_what_is_kept_of_a_turn(inside: bool, transcript: Any, expected: list[str], streamed: bool) -> None:
    memory = ChatMemory(InMemoryStore())
    async with client_of(weather(), memory, inside=inside, transcript=transcript) as client:
        await ask(client, "Weather?", streamed=streamed)

    assert await kept(memory) == expected


@pytest.mark.parametrize("inside", [False, True])
async def test_the_next_turn_knows_the_one_before(inside: bool) -> None:
    """Every request of it has the conversation in front, and the whole turn behind."""
    memory, model = ChatMemory(InMemoryStore()), weather(call("get_weather", city="Oslo"), "Snow.")
    async with client_of(model, memory, inside=inside) as client:
        await ask(client, "Rome?")
        reply = await ask(client, "And Oslo?")

    before = ["user", "call", "result", "answer"] if inside else ["user", "answer"]
    sent = [[_letter(message) for message in request.messages] for request in model.requests]
    assert sent == [["user"], ["user", "call", "result"], [*before, "user"], [*before, "user", "call", "result"]]
    assert [_letter(message) for message in reply.messages] == ["user", "call", "result", "answer"]
    assert all(mend_history(request.messages)[1] == () for request in model.requests)


@pytest.mark.parametrize("inside", [False, True])
async def test_a_history_that_is_given_is_not_added_again(inside: bool) -> None:
    """A caller may hold the conversation himself as well."""
    memory, model = ChatMemory(InMemoryStore()), ScriptedChatModel(["One.", "Two."])
    async with client_of(model, memory, inside=inside) as client:
        first = await client.prompt("Hello").memory_id("m1").call()
        await client.prompt(*first.messages, "And?").memory_id("m1").call()

    assert model.requests[1].messages == (UserMessage("Hello"), AiMessage("One."), UserMessage("And?"))
    assert await kept(memory) == ["user", "answer", "user", "answer"]


@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("keep", [False, True])
async def test_a_turn_that_fails_leaves_the_memory_as_it_was_or_as_far_as_it_came(inside: bool, keep: bool) -> None:
    memory = ChatMemory(InMemoryStore(), on_failure="keep" if keep else "discard")
    model = ScriptedChatModel(["Hi.", call("get_weather", city="Rome"), OverloadedError("busy")])
    async with client_of(model, memory, inside=inside) as client:
        await ask(client, "Hello")
        with pytest.raises(OverloadedError):
            await ask(client, "Weather?")

    assert await kept(memory) == ["user", "answer", *(["user", "call", "result"] if keep else [])]
    assert memory.open_turns == 0


@pytest.mark.parametrize("inside", [False, True])
async def test_a_cancelled_turn_leaves_nothing_open(inside: bool) -> None:
    memory, began = ChatMemory(InMemoryStore()), asyncio.Event()

    async def wait() -> str:
        "Waits."
        began.set()
        await asyncio.Event().wait()
        return "never"

    advisor = MessageMemoryAdvisor(memory)
    chain: list[Any] = [ToolCallingAdvisor(), advisor] if inside else [advisor]
    async with ChatClient(ScriptedChatModel([call("wait"), "Hi."]), tools=[wait], advisors=chain) as client:
        turn = asyncio.create_task(ask(client, "Wait."))
        await began.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert (await kept(memory), memory.open_turns) == ([], 0)
        await ask(client, "Hello")

    assert await kept(memory) == ["user", "answer"]


@pytest.mark.parametrize("inside", [False, True])
async def test_a_turn_that_waits_keeps_the_conversation_waiting_and_ends_whole(inside: bool) -> None:
    class Approval:
        decided = False

        async def check(self, batch: Sequence[PlannedCall], run: Run) -> list[Any]:
            return [Proceed() if self.decided else Ask("may it?") for _ in batch]

    approval, memory = Approval(), ChatMemory(InMemoryStore())
    advisor = MessageMemoryAdvisor(memory, transcript="full")
    chain: list[Any] = [ToolCallingAdvisor(history="last"), advisor] if inside else [advisor]
    service = ToolService(get_weather, gates=[approval])
    async with ChatClient(weather("Hi."), service=service, owns_service=True, advisors=chain) as client:
        waiting = await ask(client, "Weather?")
        assert waiting.suspended is not None and await kept(memory) == []
        with pytest.raises(ConversationSuspendedError):
            await ask(client, "Another one?")

        conversation = await memory.get(KEY)
        assert conversation is not None and conversation.suspended is not None
        approval.decided = True
        state = ToolLoopState.from_json(conversation.suspended.run)
        reply = await client.prompt().memory_id("m1").resume(state).call()
        assert reply.content == "Sunny."
        await ask(client, "Thanks")

    assert await kept(memory) == ["user", "call", "result", "answer", "user", "answer"]


async def test_a_turn_without_a_memory_id_is_refused_unless_it_may_do_without() -> None:
    memory, model = ChatMemory(InMemoryStore()), ScriptedChatModel(["One."], repeat=True)
    async with client_of(model, memory) as client:
        with pytest.raises(MemoryKeyError, match="needs a memory id"):
            await client.prompt("Hello").call()
    async with client_of(model, memory, required=False) as client:
        assert (await client.prompt("Hello").call()).content == "One."

    assert await memory.list(None) == ()


async def test_tenants_share_nothing() -> None:
    memory, model = ChatMemory(InMemoryStore()), ScriptedChatModel(["One."], repeat=True)
    async with client_of(model, memory) as client:
        for tenant in ("acme", "zeta"):
            await client.prompt(f"I am {tenant}").memory_id("m1").tenant(tenant).call()

    assert [len(request.messages) for request in model.requests] == [1, 1]
    assert await memory.list("acme") == (MemoryKey("acme", "m1"),)


async def test_of_a_turn_that_returned_directly_the_results_are_the_answer() -> None:
    @tool("Look it up.", return_behavior=ReturnBehavior.IMMEDIATE)
    def look() -> str:
        return "found"

    memory = ChatMemory(InMemoryStore())
    model = ScriptedChatModel([call("look")])
    async with ChatClient(model, tools=[look], advisors=[MessageMemoryAdvisor(memory)]) as client:
        await ask(client, "Look.")

    found = await memory.get(KEY)
    assert found is not None and found.messages == (UserMessage("Look."), AiMessage("found"))


async def test_other_advisors_may_keep_notes_with_the_conversation() -> None:
    """Stored with the turn, and there again in the next."""
    seen: list[Any] = []

    class Counting:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            turn = run.attributes[MEMORY_TURN]
            assert isinstance(turn, Turn)
            turn.state["turns"] = turn.state.get("turns", 0) + 1
            seen.append(turn.state["turns"])
            return await chain.next(run, request)

    memory = ChatMemory(InMemoryStore())
    advisors = [MessageMemoryAdvisor(memory), Counting()]
    async with ChatClient(ScriptedChatModel(["x"], repeat=True), advisors=advisors) as client:
        await ask(client, "One")
        await ask(client, "Two")

    assert seen == [1, 2]


async def test_turns_of_one_conversation_follow_each_other() -> None:
    memory = ChatMemory(InMemoryStore(), window=MessageWindow(1000))
    async with client_of(ScriptedChatModel(["x"], repeat=True), memory) as client:
        await asyncio.gather(*(ask(client, f"{n}") for n in range(20)))

    found = await memory.get(KEY)
    assert found is not None
    assert [_letter(message) for message in found.messages] == ["user", "answer"] * 20


@pytest.mark.parametrize(
    ("messages", "expected"),
    [
        ((), ()),
        ((UserMessage("q"), AiMessage("a")), (UserMessage("q"), AiMessage("a"))),
        (
            (UserMessage("q"), ToolExecutionResultMessage("1", "t", "x"), ToolExecutionResultMessage("2", "t", "y")),
            (UserMessage("q"), AiMessage("x\ny")),
        ),
    ],
)
def test_questions_and_answers_alone(messages: Any, expected: Any) -> None:
    assert answers_of(messages) == expected


def test_a_word_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="not 'all'"):
        MessageMemoryAdvisor(ChatMemory(InMemoryStore()), transcript="all")  # type: ignore[arg-type]
