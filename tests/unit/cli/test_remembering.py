"""`agentforge chat` where the chain has a memory: one id for a session, nothing said twice, `/reload` in between."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from agentforge import ModelError, ScriptedChatModel, ToolContext, ToolService, tool
from agentforge.advisor import Advisor, MessageMemoryAdvisor, ToolCallingAdvisor
from agentforge.cli.console import Console
from agentforge.cli.conversation import Conversation, memory_of
from agentforge.cli.view import TextView
from agentforge.client import ChatClient
from agentforge.memory import ChatMemory, InMemoryStore, MemoryKey
from agentforge.model import ChatRequest
from agentforge.model.scripted import call
from agentforge.tool.execution import Ask

STREAMED = pytest.mark.parametrize("streamed", [True, False], ids=["streamed", "plain"])
PLACES: dict[str, Callable[[ChatMemory], list[Advisor]]] = {
    "outside the loop": lambda memory: [MessageMemoryAdvisor(memory)],
    "outside, whole": lambda memory: [MessageMemoryAdvisor(memory, transcript="full")],
    "inside the loop": lambda memory: [ToolCallingAdvisor(), MessageMemoryAdvisor(memory)],
    "inside, last": lambda memory: [ToolCallingAdvisor(history="last"), MessageMemoryAdvisor(memory)],
    "inside, answers": lambda memory: [ToolCallingAdvisor(), MessageMemoryAdvisor(memory, transcript="answers")],
}
PLACED = pytest.mark.parametrize("place", PLACES.values(), ids=PLACES.keys())


def _memory() -> ChatMemory:
    return ChatMemory(InMemoryStore())


def _conversation(client: ChatClient, *, streamed: bool = False, memory_id: str | None = None) -> Conversation:
    return Conversation(client, _view(), streamed=streamed, memory_id=memory_id)


def _view() -> TextView:
    return TextView(Console(io.StringIO(), io.StringIO(), io.StringIO(), {}), "scripted")


def _sum(a: int, b: int) -> int:
    "The sum."
    return a + b


def _spoken(request: ChatRequest) -> list[str]:
    """What users and the model said in a request, without what came of calls."""
    return [message.text for message in request.messages if message.text and not hasattr(message, "is_error")]


@STREAMED
@PLACED
async def test_nothing_is_said_twice(place: Callable[[ChatMemory], list[Advisor]], streamed: bool) -> None:
    """The model hears each question once, the system message once, in every turn."""
    turns = [call("_sum", a=1, b=2), "Three.", call("_sum", a=3, b=2), "Five.", "Bye."]
    model: Any = ScriptedChatModel(turns)
    with ChatClient(model, tools=[_sum], system="Be short.", advisors=place(_memory())) as client:
        conversation = _conversation(client, streamed=streamed)
        for question in ("1 + 2?", "3 + 2?", "Thanks."):
            await conversation.ask(question)

    assert _spoken(model.requests[-1]) == ["Be short.", "1 + 2?", "Three.", "3 + 2?", "Five.", "Thanks."]


@PLACED
async def test_a_new_client_goes_on_with_the_conversation(place: Callable[[ChatMemory], list[Advisor]]) -> None:
    """Whether its memory is new, the same, or none: as after a reload."""
    kept = _memory()
    for memory in (_memory(), kept, None):
        first: Any = ScriptedChatModel([call("_sum", a=1, b=2), "Three.", "Yes."])
        second: Any = ScriptedChatModel(["As before.", "Bye."])
        conversation = _conversation(ChatClient(first, tools=[_sum], advisors=place(kept)), memory_id=f"{id(memory)}")
        await conversation.ask("1 + 2?")
        await conversation.ask("Sure?")
        conversation.use(ChatClient(second, tools=[_sum], advisors=place(memory) if memory else []), _view())
        await conversation.ask("Still?")
        await conversation.ask("Thanks.")

        said = ["1 + 2?", "Three.", "Sure?", "Yes.", "Still?", "As before.", "Thanks."]
        assert _spoken(second.requests[-1]) == said


@STREAMED
async def test_what_a_turn_that_failed_leaves_is_for_the_memory_to_say(streamed: bool) -> None:
    """This one forgets it; the question after it is heard as if it had not been."""
    model: Any = ScriptedChatModel(["Hello.", call("_sum", a=1, b=2), ModelError("gone"), "Here."])
    with ChatClient(model, tools=[_sum], advisors=[MessageMemoryAdvisor(_memory())]) as client:
        conversation = _conversation(client, streamed=streamed)
        await conversation.ask("Hello?")
        with pytest.raises(ModelError):
            await conversation.ask("1 + 2?")
        await conversation.ask("Are you there?")

    assert _spoken(model.requests[-1]) == ["Hello?", "Hello.", "Are you there?"]


@PLACED
async def test_a_question_takes_the_place_of_a_turn_that_waits(place: Callable[[ChatMemory], list[Advisor]]) -> None:
    """Nobody can decide in a session, so the next question gives it up, and a notice says so."""

    class Gate:
        async def check(self, batch: Sequence[Any], run: Any) -> list[Any]:
            return [Ask("a person decides") for _ in batch]

    memory = _memory()
    model: Any = ScriptedChatModel([call("_sum", a=1, b=2), "Another time."])
    client = ChatClient(model, service=ToolService(_sum, gates=[Gate()]), advisors=place(memory))
    view = _view()
    told: list[object] = []
    view.event = told.append  # type: ignore[method-assign]
    conversation = Conversation(client, view, streamed=False)
    assert (await conversation.ask("1 + 2?")).suspended is not None
    result = await conversation.ask("What then?")

    assert result.text == "Another time."
    assert [getattr(each, "code", None) for each in told] == ["suspended_turn_given_up"]
    kept = await memory.get(MemoryKey(None, conversation.memory_id))
    assert kept is not None and kept.suspended is None and kept.messages[-1].text == "Another time."


async def test_a_conversation_has_an_id_of_its_own() -> None:
    """The one that is given, else a new one; without a memory too, as tools see it."""
    seen: list[object] = []

    @tool
    def who(context: ToolContext) -> str:
        "Who asks."
        seen.append(context.memory_id)
        return "you"

    model: Any = ScriptedChatModel([call("who"), "You."], repeat=True)
    with ChatClient(model, tools=[who]) as client:
        assert memory_of(client) is None
        for conversation in (_conversation(client), _conversation(client), _conversation(client, memory_id="anna")):
            await conversation.ask("Who am I?")
            await conversation.ask("Who?")

    assert seen[0] == seen[1] and seen[2] == seen[3] and seen[0] != seen[2]
    assert seen[4:] == ["anna", "anna"]


# -- the program -----------------------------------------------------------------------------------

LAST = "{type: logger, max_characters: 100}"
"""Tells the number of messages in each request."""


def _requests(told: str) -> list[str]:
    return re.findall(r"> (\d+) messages?; .*last: user '(.*?)'", told)


@pytest.mark.parametrize("chain", ["[message_memory, %s]", "[tool_calling, message_memory, %s]"])
def test_a_single_question_and_a_session_need_no_memory_id(project: Any, terminal: Any, chain: str) -> None:
    """A memory that requires an id gets one; a session says which, so that it can be gone on with."""
    chain = chain % LAST
    project.script("[One., Two., Three.]", more=f", advisors: {chain}")
    project.environment["AGENTFORGE_LOG_LEVEL"] = "info"

    alone = project.run("chat", "hello")
    session = project.run("chat", stdin=terminal("one?\ntwo?\n"))

    assert (alone.code, alone.out) == (0, "One.\n")
    assert "memory id" not in alone.err
    assert (session.code, session.out) == (0, "One.\nTwo.\n")
    assert re.search(r"^memory id chat-[0-9a-f]{16}$", session.err, re.MULTILINE)
    assert _requests(session.err) == [("1", "one?"), ("3", "two?")]


STORES = {"in the process": "in_memory_store", "in a file": "{type: sqlite_store, path: kept.db}"}


@pytest.mark.parametrize("store", STORES.values(), ids=STORES.keys())
def test_reload_keeps_the_conversation(project: Any, terminal: Any, store: str) -> None:
    """Also where the memory is a bean of the process, which is made anew; nothing is said twice."""
    project.script("[One., Two., Three.]", more=f", advisors: [{{type: message_memory, memory: memory}}, {LAST}]")
    path = Path(project.file)
    path.write_text(f"{path.read_text('utf-8')}  memory: {{type: chat_memory, store: {store}}}\n", "utf-8")
    project.environment["AGENTFORGE_LOG_LEVEL"] = "info"
    ended = project.run("chat", stdin=terminal("a?\nb?\n/reload\nc?\nd?\n"))

    assert (ended.code, ended.out) == (0, "One.\nTwo.\nOne.\nTwo.\n")
    assert _requests(ended.err) == [("1", "a?"), ("3", "b?"), ("5", "c?"), ("7", "d?")]


def test_a_memory_id_goes_on_where_another_process_ended(project: Any) -> None:
    """Where conversations are kept in a file; another id is another conversation, and none is a new one."""
    project.script("[One.]", more=f", advisors: [{{type: message_memory, memory: memory}}, {LAST}]")
    path = Path(project.file)
    kept = "  memory: {type: chat_memory, store: {type: sqlite_store, path: kept.db}}\n"
    path.write_text(path.read_text("utf-8") + kept, "utf-8")
    project.environment["AGENTFORGE_LOG_LEVEL"] = "info"
    asked = [
        project.run("chat", "hello", *words)
        for words in (["--memory-id", "anna"], ["--memory-id", "anna"], ["--memory-id", "ben"], [], [])
    ]

    assert [ended.code for ended in asked] == [0] * 5
    assert [_requests(ended.err)[0][0] for ended in asked] == ["1", "3", "1", "1", "1"]
