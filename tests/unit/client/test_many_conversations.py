"""A thousand conversations at once, of fifty tenants over fifty memory ids: nothing crosses, and nothing is left."""

from __future__ import annotations

import asyncio
import gc
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentforge import ToolContext, tool
from agentforge.advisor import Advisor, MessageMemoryAdvisor, SystemPromptAdvisor, ToolCallingAdvisor
from agentforge.client import ChatClient
from agentforge.memory import ALL_TENANTS, ChatMemory, InMemoryStore, MemoryKey, MemoryStore, MessageWindow, SqliteStore
from agentforge.model import (
    AiMessage,
    ChatModel,
    ChatRequest,
    ChatResponse,
    ModelProfile,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.scripted import ScriptedChatModel, call

COUNT, TENANTS, IDS = 1_000, 50, 50
FEWER = 200  # turns of as many tenants where another part takes part
MANY = 100  # turns at a time where it is only counted what they leave
OWNER = re.compile(r"tenant-\d+/id-\d+")


def owner_of(number: int) -> MemoryKey:
    """Whose turn it is: of a thousand turns every tenant has ten of the ids, each with two turns, and every id belongs
    to ten tenants."""
    tenant, nth = number % TENANTS, number // TENANTS
    return MemoryKey(f"tenant-{tenant}", f"id-{(nth // 2 * 5 + tenant) % IDS}")


def name_of(key: MemoryKey) -> str:
    """The owner as texts name it."""
    return f"{key.tenant}/{key.memory_id}"


def reply(request: ChatRequest) -> object:
    """First the tool is called, then its result is the answer. Whatever is in the request belongs to one owner."""
    owners = {found for message in request.messages for found in OWNER.findall(message.text or "")}
    assert len(owners) == 1, f"one request holds what belongs to {sorted(owners)}"
    last = request.messages[-1]
    if isinstance(last, ToolExecutionResultMessage):
        return f"It is {last.text}."
    assert isinstance(last, UserMessage)
    return call("whose", turn=int((last.text or "").rpartition(" ")[2]))


@tool
async def whose(turn: int, context: ToolContext) -> str:
    """Whose turn it is, as the application says."""
    await asyncio.sleep(0)
    assert context.tenant == context.user_data["tenant"]
    context.state["seen"] = turn
    await asyncio.sleep(0)
    assert context.state["seen"] == turn, "another turn wrote into this one's state"
    return f"{context.user_data['tenant']}/{context.memory_id} {turn}"


async def hold(client: ChatClient, number: int) -> str | None:
    """One turn, every third one streamed; its answer."""
    key = owner_of(number)
    prompt = (
        client.prompt(f"Whose is this, {name_of(key)}? {number}")
        .memory_id(key.memory_id)
        .tenant(key.tenant or "")
        .tool_context(tenant=key.tenant)
    )
    if number % 3:
        return (await prompt.call()).content
    async with prompt.stream() as events:
        async for _ in events:
            pass
    return events.result.content


PLACES: dict[str, Callable[[ChatMemory], list[Advisor]]] = {
    "outside": lambda memory: [MessageMemoryAdvisor(memory, transcript="full"), SystemPromptAdvisor("Be short.")],
    "inside": lambda memory: [ToolCallingAdvisor(history="last"), MessageMemoryAdvisor(memory)],
}
PROCESS, FILE = "in the process", "in a file"


@asynccontextmanager
async def opened(kind: str, folder: Path) -> AsyncIterator[MemoryStore]:
    """The store, closed at the end."""
    store: MemoryStore = InMemoryStore() if kind == PROCESS else SqliteStore(folder / "conversations.db")
    if isinstance(store, SqliteStore):
        await store.start()
    try:
        yield store
    finally:
        await store.aclose()


@pytest.mark.no_cover  # thousands of turns pass the lines of a few
@pytest.mark.parametrize(
    ("place", "store", "count"), [("outside", PROCESS, COUNT), ("inside", PROCESS, FEWER), ("inside", FILE, FEWER)]
)
async def test_a_thousand_turns_at_once_keep_apart(place: str, store: str, count: int, tmp_path: Path) -> None:
    """Every answer is its owner's; what is stored of each owner are its two turns, whole and one after the other."""
    async with opened(store, tmp_path) as opened_store:
        memory = ChatMemory(opened_store)
        model = ScriptedChatModel([reply], repeat=True)
        with ChatClient(model, tools=[whose], advisors=PLACES[place](memory)) as client:
            answers = await asyncio.gather(*(hold(client, number) for number in range(count)))
        kept = {key: await memory.get(key) for key in await memory.list(ALL_TENANTS)}

    assert answers == [f"It is {name_of(owner_of(number))} {number}." for number in range(count)]
    assert len(model.requests) == 2 * count
    assert memory.open_turns == 0
    assert asyncio.all_tasks() == {asyncio.current_task()}
    assert set(kept) == {owner_of(number) for number in range(count)}
    turns: Counter[int] = Counter()
    for key, conversation in kept.items():
        assert conversation is not None and conversation.suspended is None
        said = [message for message in conversation.messages if not isinstance(message, SystemMessage)]
        assert len(said) == 8
        for question, asked, result, answer in (said[:4], said[4:]):
            number = int((question.text or "").rpartition(" ")[2])
            turns[number] += 1
            assert owner_of(number) == key
            assert isinstance(asked, AiMessage) and isinstance(result, ToolExecutionResultMessage)
            assert asked.tool_execution_requests[0].id == result.id
            assert result.text == f"{name_of(key)} {number}"
            assert answer.text == f"It is {result.text}."
    assert turns == Counter(range(count))


class Forgetful(ChatModel):
    """Answers as the script does and keeps nothing, so that all that stays is the framework's."""

    profile = ModelProfile(name="forgetful")

    async def chat(self, request: ChatRequest) -> ChatResponse:
        """The script's reply."""
        return await ScriptedChatModel([reply]).chat(request)

    def stream(self, request: ChatRequest):  # type: ignore[no-untyped-def]
        """The script's events."""
        return ScriptedChatModel([reply]).stream(request)

    async def aclose(self) -> None:
        """Nothing to close."""


@pytest.mark.no_cover
@pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())
async def test_memory_does_not_grow_with_the_turns(place: Callable[[ChatMemory], list[Advisor]]) -> None:
    """With a window conversations have a bound: as many turns again leave less than one object for every ten."""
    memory = ChatMemory(InMemoryStore(), window=MessageWindow(8))
    with ChatClient(Forgetful(), tools=[whose], advisors=place(memory)) as client:
        counts = []
        for _ in range(3):
            await asyncio.gather(*(hold(client, number) for number in range(MANY)))
            gc.collect()
            counts.append(len(gc.get_objects()))

    assert counts[-1] - counts[1] < MANY / 10, f"objects after each {MANY}: {counts}"
