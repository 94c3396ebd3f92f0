"""Section K: what a conversation's memory puts in front of a turn, keeps of it, and cuts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import (
    AiMessage,
    ChatMessage,
    Run,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.advisor import MessageMemoryAdvisor, ToolCallingAdvisor
from agentforge.memory import ChatMemory, InMemoryStore, MemoryKey, MemoryKeyError, MessageWindow
from agentforge.model.history import mend_history
from agentforge.model.scripted import call
from agentforge.tool import BoundTool
from tests.anchors.support import ANSWER, FACES, Conversation, ask, differs, row, rows, source_of

KEY = MemoryKey(None, "m1")


def look(where: str) -> str:
    "Look somewhere."
    return f"{where}: nothing"


def letters(messages: Sequence[ChatMessage]) -> list[str]:
    """What each message is and says; a call by its star."""
    kinds = {UserMessage: "user", SystemMessage: "system", ToolExecutionResultMessage: "result"}
    return [
        "*"
        if isinstance(message, AiMessage) and message.has_tool_execution_requests
        else f"{kinds.get(type(message), 'answer')} {message.text}"
        for message in messages
    ]


async def talk(
    memory: ChatMemory, turns: Sequence[Any], question: Any, *, inside: bool = False, **settings: Any
) -> Conversation:
    """One turn of the conversation."""
    kept = MessageMemoryAdvisor(memory, transcript="full")
    advisors = [ToolCallingAdvisor(history="last"), kept] if inside else [kept]
    return await ask(turns, *advisors, question=question, run=Run(memory_id="m1"), tools=[look], **settings)


async def stored(memory: ChatMemory) -> list[str]:
    found = await memory.get(KEY)
    return letters(found.messages if found is not None else ())


@FACES
@rows(279, "no conversation id")
async def test_a_turn_without_a_memory_id_is_an_error(anchor: int, streamed: bool) -> None:
    memory = ChatMemory(InMemoryStore())
    with pytest.raises(MemoryKeyError):
        await ask([ANSWER], MessageMemoryAdvisor(memory), streamed=streamed)


FIRST = [UserMessage("1"), AiMessage("one")]
SECOND = [UserMessage("2"), AiMessage("two")]
GIVEN: list[Any] = [
    row(281, "complete", 100, [*FIRST, *SECOND, UserMessage("3")], ["user 1", "answer one", "user 2", "answer two"]),
    row(281, "windowed", 3, [*SECOND, UserMessage("3")], ["user 2", "answer two"]),
    row(281, "cut by the caller", 100, [*SECOND, UserMessage("3")], ["user 1", "answer one", "user 2", "answer two"]),
    row(281, "not there", 100, [UserMessage("3")], ["user 1", "answer one", "user 2", "answer two"]),
    row(
        281,
        "behind instructions",
        100,
        [SystemMessage("s"), *FIRST, *SECOND, UserMessage("3")],
        ["system s", "user 1", "answer one", "user 2", "answer two"],
    ),
]


@FACES
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
@pytest.mark.parametrize(("window", "given", "before"), GIVEN)
async def test_a_conversation_that_the_request_holds_already_is_not_added_again(
    window: int, given: list[ChatMessage], before: list[str], inside: bool, streamed: bool
) -> None:
    """Neither sent twice nor stored twice."""
    memory = ChatMemory(InMemoryStore(), window=MessageWindow(window), stores="everything")
    for question, answer in (("1", "one"), ("2", "two")):
        await talk(memory, [answer], question)
    done = await talk(memory, ["three"], given, inside=inside, streamed=streamed)
    assert letters(done.requests[0].messages) == [*before, "user 3"]
    kept = [each for each in await stored(memory) if not each.startswith("system")]
    assert kept == ["user 1", "answer one", "user 2", "answer two", "user 3", "answer three"]


@FACES
@differs(282, "the running turn stays whole")
async def test_a_turn_that_is_longer_than_the_window_is_stored_whole(anchor: int, streamed: bool) -> None:
    """Memory inside the loop, window of 3: neither the question nor a call is cut from the results that follow."""
    memory = ChatMemory(InMemoryStore(), window=MessageWindow(3))
    turns = [call("look", where="here"), call("look", where="there"), ANSWER]
    done = await talk(memory, turns, "find it", inside=True, streamed=streamed)
    whole = ["user find it", "*", "result here: nothing", "*", "result there: nothing"]
    assert letters(done.requests[2].messages) == whole
    assert await stored(memory) == [*whole, f"answer {ANSWER}"]
    found = await memory.get(KEY)
    assert found is not None and mend_history(found.messages)[1] == ()


PLACES: list[Any] = [
    row(283, "not first", [UserMessage("0"), AiMessage("a"), SystemMessage("s"), UserMessage("1")]),
    row(283, "first already", [SystemMessage("s"), UserMessage("0"), AiMessage("a"), UserMessage("1")]),
]


@FACES
@pytest.mark.parametrize("given", PLACES)
async def test_the_system_message_goes_to_the_front(given: list[ChatMessage], streamed: bool) -> None:
    """The order of the others is kept."""
    done = await talk(ChatMemory(InMemoryStore()), [ANSWER], given, streamed=streamed)
    assert letters(done.requests[0].messages) == ["system s", "user 0", "answer a", "user 1"]


@FACES
@rows(285, "whole turns go")
async def test_a_window_drops_whole_turns(anchor: int, streamed: bool) -> None:
    """A first turn with three steps of the assistant, then a second; window 4: nothing of the first is left."""
    memory = ChatMemory(InMemoryStore(), window=MessageWindow(4))
    await talk(memory, [call("look", where="here"), call("look", where="there"), "one"], "1", streamed=streamed)
    done = await talk(memory, ["two"], "2", streamed=streamed)
    assert letters(done.requests[0].messages) == ["user 2"]
    assert await stored(memory) == ["user 2", "answer two"]


@differs(287, "the last turn stays")
async def test_a_window_keeps_the_instructions_and_the_last_turn(anchor: int) -> None:
    """Two system messages, window 3, turns that do not fit: what is asked now is always sent."""
    given = [SystemMessage("a"), SystemMessage("b"), *FIRST, UserMessage("2")]
    memory = ChatMemory(InMemoryStore(), window=MessageWindow(3))
    done = await talk(memory, ["two"], given)
    assert letters(done.requests[0].messages)[:2] == ["system a", "system b"]
    assert letters(done.requests[0].messages)[-1] == "user 2"
    assert letters(MessageWindow(3).fit(given)) == ["system a", "system b", "user 2"]
    assert letters(MessageWindow(3).fit([*given, AiMessage("two")])) == ["system a", "system b", "user 2", "answer two"]


@FACES
@rows(288, "a new one replaces the old")
async def test_a_new_system_message_replaces_the_older_ones(anchor: int, streamed: bool) -> None:
    memory = ChatMemory(InMemoryStore())
    await talk(memory, ["one"], [SystemMessage("old"), UserMessage("1")], streamed=streamed)
    done = await talk(memory, ["two"], [SystemMessage("new"), UserMessage("2")], streamed=streamed)
    assert letters(done.requests[0].messages) == ["system new", "user 1", "answer one", "user 2"]
    assert (await stored(memory))[0] == "system new"


@FACES
@pytest.mark.parametrize("inside", [False, True], ids=["outside", "inside"])
@rows(289, "a small window and a source that looks at the run")
async def test_a_source_sees_the_question_however_small_the_window(anchor: int, inside: bool, streamed: bool) -> None:
    """In every round, and the loop ends as any."""
    seen: list[bool] = []

    class Looking:
        async def tools(self, run: Run) -> Sequence[BoundTool]:
            seen.append(UserMessage("find it") in run.messages)
            return await source_of(look).tools(run)

    memory = ChatMemory(InMemoryStore(), window=MessageWindow(1))
    kept = MessageMemoryAdvisor(memory)
    advisors: list[Any] = [ToolCallingAdvisor(history="last"), kept] if inside else [kept]
    turns = [call("look", where="here"), call("look", where="there"), ANSWER]
    run = Run(memory_id="m1")
    done = await ask(turns, *advisors, question="find it", run=run, tools=[Looking()], streamed=streamed)
    assert (done.result.text, seen) == (ANSWER, [True] * 3)
    assert all(UserMessage("find it") in request.messages for request in done.requests)


@FACES
@rows(290, "without a memory")
async def test_the_loop_needs_no_memory(anchor: int, streamed: bool) -> None:
    """The turn's messages are its own, and the caller's list is never changed."""
    given = [UserMessage("find it")]
    done = await ask([call("look", where="here"), ANSWER], question=given, tools=[look], streamed=streamed)
    assert letters(done.result.messages) == ["user find it", "*", "result here: nothing", f"answer {ANSWER}"]
    assert given == [UserMessage("find it")]
