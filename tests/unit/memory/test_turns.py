"""A turn of a conversation: what is sent, and that it is stored whole or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agentforge.errors import ConfigurationError, OverloadedError, RunStateError
from agentforge.memory import (
    ChatMemory,
    Everything,
    InMemoryStore,
    MemoryConflictError,
    MemoryKey,
    MemoryLimitError,
    MemoryStore,
    MessageWindow,
    SqliteStore,
    Summarising,
    TurnStateError,
    is_summary,
)
from agentforge.model import AiMessage, ChatMessage, History, ToolExecutionRequest, ToolExecutionResultMessage
from agentforge.model.scripted import ScriptedChatModel
from tests.unit.memory.samples import Clock, answer, ask, called, is_valid, system, texts

KEY = MemoryKey("acme", "42")


async def said(memory: ChatMemory, key: MemoryKey = KEY) -> list[str]:
    """The texts of what is stored."""
    found = await memory.get(key)
    return [] if found is None else texts(found.messages)


async def talk(memory: ChatMemory, *turns: list[ChatMessage], key: MemoryKey = KEY) -> None:
    """Turns that end well, one after the other."""
    for messages in turns:
        async with memory.turn(key) as turn:
            await turn.commit(messages)


@pytest.mark.parametrize("kind", ["in process", "sqlite"])
async def test_a_conversation_goes_on(tmp_path: Path, kind: str) -> None:
    """Each turn sends what was said before; and what is stored is what was committed, with its times."""
    store: MemoryStore = InMemoryStore() if kind == "in process" else SqliteStore(tmp_path / "c.db")
    clock = Clock()
    memory = ChatMemory(store, clock=clock)
    async with memory.turn(KEY) as turn:
        assert turn.messages == ()
        assert texts(await turn.fit([system("s"), ask("1")])) == ["s", "1"]
        assert texts(await turn.fit([system("s"), ask("1"), *called("a")])) == ["s", "1", ">a", "<a"]
        await turn.commit([system("s"), ask("1"), *called("a"), answer("one")])
    clock.forward(60)
    async with memory.turn(KEY) as turn:
        assert texts(turn.messages) == ["s", "1", ">a", "<a", "one"]
        assert texts(await turn.fit([ask("2")])) == ["s", "1", ">a", "<a", "one", "2"]
        stored = await turn.commit([ask("2"), answer("two")])

    assert await memory.get(KEY) == stored
    assert texts(stored.messages) == ["s", "1", ">a", "<a", "one", "2", "two"]
    assert (stored.updated - stored.created).total_seconds() == 60
    assert memory.open_turns == 0
    await store.aclose()


async def test_a_turn_that_says_nothing_leaves_everything_as_it_was() -> None:
    """However it ends: quietly, by an error, or after failing."""
    memory = ChatMemory(InMemoryStore())
    async with memory.turn(KEY) as turn:
        turn.state["n"] = 1
        await turn.fit([ask("1")])
    assert await memory.get(KEY) is None
    await talk(memory, [ask("1"), answer("one")])
    before = await memory.get(KEY)
    with pytest.raises(OverloadedError):
        await _failing(memory)
    async with memory.turn(KEY) as turn:
        assert await turn.fail([ask("2"), called("a")[0]]) is None

    assert await memory.get(KEY) == before
    assert memory.open_turns == 0


async def test_a_failed_turn_is_kept_where_that_is_set() -> None:
    """As a valid history: calls without a result get one that says so. Nothing of it is nothing."""
    memory = ChatMemory(InMemoryStore(), on_failure="keep")
    async with memory.turn(KEY) as turn:
        turn.state["n"] = 1
        stored = await turn.fail([ask("1"), called("a", "b")[0], called("a")[1]])
    assert stored is not None and is_valid(stored.messages)
    assert texts(stored.messages) == ["1", ">a>b", "<a", "<b"]
    assert stored.state == {"n": 1}
    assert [notice.code for notice in turn.notices] == ["history_call_without_result"]
    async with memory.turn(KEY) as turn:
        assert await turn.fail([system("s")]) is None

    assert await memory.get(KEY) == stored


async def test_a_turn_ends_once() -> None:
    """After its end, and after its block, it is refused."""
    memory = ChatMemory(InMemoryStore())
    async with memory.turn(KEY) as turn:
        await turn.commit([ask("1"), answer("one")])
        for late in (turn.commit([ask("2")]), turn.fail(), turn.suspend({}), turn.fit([ask("2")])):
            with pytest.raises(TurnStateError, match="is over"):
                await late
    async with memory.turn(KEY) as turn:
        pass
    with pytest.raises(TurnStateError, match="AF606"):
        await turn.commit([ask("2")])

    assert await said(memory) == ["1", "one"]


async def test_the_state_map_lasts() -> None:
    """It is a copy until the turn is committed, and bounded."""
    memory = ChatMemory(InMemoryStore(), max_state_bytes=40)
    async with memory.turn(KEY) as turn:
        turn.state["found"] = ["look"]
        await turn.commit([])
    async with memory.turn(KEY) as turn:
        assert turn.state == {"found": ["look"]}
        turn.state["found"].append("never committed")
    async with memory.turn(KEY) as turn:
        assert turn.state == {"found": ["look"]}
        turn.state["found"] *= 10
        with pytest.raises(MemoryLimitError, match="40 are allowed"):
            await turn.commit([ask("1"), answer("one")])
        turn.state["found"] = [{"a", "set"}]
        with pytest.raises(RunStateError, match="set cannot be stored"):
            await turn.commit([ask("1"), answer("one")])
        turn.state["found"] = []
        await turn.commit([ask("1"), answer("one")])
    found = await memory.get(KEY)

    assert found is not None and found.state == {"found": []}


async def test_somebody_else_who_stored_meanwhile_is_a_conflict() -> None:
    """Another process, say: nothing is stored over what it said, and the next turn goes on from there."""
    store = InMemoryStore()
    here, there = ChatMemory(store), ChatMemory(store)
    async with here.turn(KEY) as turn:
        await talk(there, [ask("there"), answer("x")])
        with pytest.raises(MemoryConflictError) as caught:
            await turn.commit([ask("here"), answer("y")])
    assert caught.value.next_step
    assert await said(here) == ["there", "x"]
    async with here.turn(KEY) as turn:
        await there.clear(KEY)
        with pytest.raises(MemoryConflictError, match="no longer there"):
            await turn.commit([ask("here"), answer("y")])

    assert await here.get(KEY) is None


async def _failing(memory: ChatMemory) -> None:
    async with memory.turn(KEY) as turn:
        turn.state["n"] = 1
        raise OverloadedError("busy")


# -- what is sent, what is stored ----------------------------------------------------------------


async def test_the_window_decides_what_is_sent_and_stored() -> None:
    """The oldest turns go, whole; the turn at work never does, however long it is."""
    memory = ChatMemory(InMemoryStore(), window=MessageWindow(4))
    await talk(memory, [ask("1"), answer("one")], [ask("2"), answer("two")])
    async with memory.turn(KEY) as turn:
        assert texts(await turn.fit([ask("3")])) == ["2", "two", "3"]
        assert texts(await turn.fit([ask("3"), *called("a")])) == ["3", ">a", "<a"]
        long = [ask("3"), *called("a"), *called("b"), answer("three")]
        assert texts(await turn.fit(long)) == texts(long)
        await turn.commit(long)
    assert await said(memory) == ["3", ">a", "<a", ">b", "<b", "three"]
    await talk(memory, [ask("4"), answer("four")])

    assert await said(memory) == ["4", "four"]


async def test_everything_can_be_stored_and_a_part_of_it_sent() -> None:
    """For those who show whole conversations."""
    memory = ChatMemory(InMemoryStore(), window=MessageWindow(3), stores="everything")
    await talk(memory, [system("s"), ask("1"), answer("one")], [ask("2"), answer("two")])
    async with memory.turn(KEY) as turn:
        assert texts(turn.messages) == ["s", "2", "two"]
        assert texts(await turn.fit([ask("3")])) == ["s", "3"]
        await turn.commit([ask("3"), answer("three")])

    assert await said(memory) == ["s", "1", "one", "2", "two", "3", "three"]


async def test_a_new_system_message_replaces_the_old_one() -> None:
    """In what is sent and in what is stored, also where nothing else was said."""
    memory = ChatMemory(InMemoryStore())
    await talk(memory, [system("old")])
    async with memory.turn(KEY) as turn:
        assert texts(await turn.fit([system("new"), ask("1")])) == ["new", "1"]
        await turn.commit([system("new"), ask("1"), answer("one")])
    async with memory.turn(KEY) as turn:
        assert texts(await turn.fit([ask("2")])) == ["new", "1", "one", "2"]
        # What only this request brought is not stored by asking.
        assert texts(await turn.fit([system("just now"), ask("2")])) == ["just now", "1", "one", "2"]
        await turn.commit([ask("2"), answer("two")])

    assert await said(memory) == ["new", "1", "one", "2", "two"]


@pytest.mark.parametrize(
    ("request_", "sent"),
    [
        # Row 281: complete, or as the window kept it; with other instructions; as the loop's second round.
        (["1", "one", "2", "two", "3"], ["2", "two", "3"]),
        (["2", "two", "3"], ["2", "two", "3"]),
        (["S", "1", "one", "2", "two", "3"], ["S", "3"]),
        (["1", "one", "2", "two", "3", "more", "4"], ["3", "more", "4"]),
        # Part of it is not it.
        (["1", "one", "3"], ["1", "one", "3"]),
        # What stands before it is sent and belongs to no turn of this memory.
        (["example", "so", "2", "two", "3"], ["2", "two", "3"]),
    ],
)
async def test_a_request_that_has_the_memory_already_gets_it_once(request_: list[str], sent: list[str]) -> None:
    """Row 281. The window still has its say."""
    memory = ChatMemory(InMemoryStore(), window=MessageWindow(3), stores="everything")
    await talk(memory, [ask("1"), answer("one")], [ask("2"), answer("two")])
    kinds = {"S": system, "one": answer, "two": answer, "more": answer, "so": answer}
    async with memory.turn(KEY) as turn:
        assert texts(await turn.fit([kinds.get(text, ask)(text) for text in request_])) == sent
        await turn.commit([ask("3"), answer("three")])

    assert await said(memory) == ["1", "one", "2", "two", "3", "three"]


async def test_a_question_asked_again_is_a_new_turn() -> None:
    """Saying the same as before is not the memory coming back."""
    memory = ChatMemory(InMemoryStore())
    turn_ = [ask("again?"), answer("yes")]
    await talk(memory, turn_, turn_)
    async with memory.turn(KEY) as turn:
        assert len(await turn.fit([ask("again?")])) == 5

    assert await said(memory) == ["again?", "yes"] * 2


async def test_what_is_given_broken_is_mended_and_told() -> None:
    """Sent and stored alike."""
    memory = ChatMemory(InMemoryStore())
    async with memory.turn(KEY) as turn:
        assert is_valid(await turn.fit([ask("1"), called("a")[0]]))
        stored = await turn.commit([ask("1"), called("a")[0], called("b")[1]])

    assert type(stored.messages) is History and is_valid(stored.messages)
    assert {notice.code for notice in turn.notices} == {"history_call_without_result", "history_result_without_call"}


async def test_what_json_cannot_hold_is_refused_and_the_turn_can_still_end() -> None:
    """A tool's attributes, say."""
    memory = ChatMemory(InMemoryStore())
    call = AiMessage([ToolExecutionRequest("a", "now")])
    async with memory.turn(KEY) as turn:
        with pytest.raises(RunStateError, match="object cannot be stored"):
            await turn.commit([ask("1"), call, ToolExecutionResultMessage("a", "now", "x", attributes={"o": object()})])
        await turn.commit([ask("1"), answer("one")])

    assert await said(memory) == ["1", "one"]


# -- summaries -----------------------------------------------------------------------------------


async def test_a_summary_is_written_once_and_stored() -> None:
    """It is asked for when it is needed, before the answer, and what it cost is told."""
    model = ScriptedChatModel(["notes 1", "notes 2"])
    memory = ChatMemory(InMemoryStore(), window=Summarising(MessageWindow(5), model))
    await talk(memory, [ask("1"), answer("one")], [ask("2"), answer("two")])
    async with memory.turn(KEY) as turn:
        sent = await turn.fit([ask("3"), *called("a")])
        assert is_summary(sent[0]) and texts(sent[1:]) == ["3", ">a", "<a"]
        assert await turn.fit([ask("3"), *called("a")]) == sent
        assert await turn.fit([*sent, *called("b")]) == (*sent, *called("b"))
        stored = await turn.commit([ask("3"), *called("a"), *called("b"), answer("three")])
    assert len(model.requests) == 1
    assert turn.token_usage.total_tokens
    assert [notice.code for notice in turn.notices] == ["memory_summarised"]

    assert is_summary(stored.messages[0]) and stored.messages[0].text.endswith("notes 1")  # type: ignore[union-attr]
    assert texts(stored.messages[1:]) == ["3", ">a", "<a", ">b", "<b", "three"]


async def test_a_summary_of_a_turn_that_was_not_committed_is_gone_with_it() -> None:
    """The store is as it was."""
    memory = ChatMemory(InMemoryStore(), window=Summarising(MessageWindow(3), ScriptedChatModel(["n"], repeat=True)))
    await talk(memory, [ask("1"), answer("one")])
    before = await memory.get(KEY)
    async with memory.turn(KEY) as turn:
        assert is_summary((await turn.fit([ask("2"), answer("x"), ask("y")]))[0])

    assert await memory.get(KEY) == before


async def test_a_summary_that_fails_is_tried_once_a_turn_and_loses_nothing() -> None:
    """The conversation is sent and stored whole, longer than the window; the next turn tries again."""
    model = ScriptedChatModel([OverloadedError("busy"), "notes"])
    memory = ChatMemory(InMemoryStore(), window=Summarising(MessageWindow(3), model))
    await talk(memory, [ask("1"), answer("one")])
    async with memory.turn(KEY) as turn:
        assert texts(await turn.fit([ask("2"), answer("x"), ask("y")])) == ["1", "one", "2", "x", "y"]
        await turn.commit([ask("2"), answer("x"), ask("y"), answer("two")])
    assert [notice.code for notice in turn.notices] == ["memory_summary_failed"]
    assert len(model.requests) == 1
    assert await said(memory) == ["1", "one", "2", "x", "y", "two"]
    await talk(memory, [ask("3"), answer("three")])

    assert texts((await memory.get(KEY)).messages)[1:] == ["3", "three"]  # type: ignore[union-attr]


async def test_no_model_is_asked_for_a_turn_that_failed() -> None:
    """What is kept of it is added to the conversation as it is."""
    model = ScriptedChatModel([])
    memory = ChatMemory(InMemoryStore(), window=Summarising(MessageWindow(2), model), on_failure="keep")
    for _ in range(2):
        async with memory.turn(KEY) as turn:
            await turn.fail([ask("1"), called("a")[0]])

    assert await said(memory) == ["1", ">a", "<a"] * 2
    assert model.requests == []


@pytest.mark.parametrize(
    "settings",
    [
        {"window": "all"},
        {"stores": "nothing"},
        {"on_failure": "retry"},
        {"ttl": 0},
        {"ttl": -1},
        {"ttl": True},
        {"max_state_bytes": 1},
        {"window": Summarising(Everything(), ScriptedChatModel([])), "stores": "everything"},
    ],
)
def test_settings_that_cannot_be_honoured_are_refused(settings: dict[str, Any]) -> None:
    """When the memory is made."""
    with pytest.raises(ConfigurationError):
        ChatMemory(InMemoryStore(), **settings)
