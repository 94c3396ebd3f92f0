"""Methods of an AI service that give an iterator or a stream: what it gives, and that nothing goes on behind it."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Generator, Iterable, Iterator
from contextlib import aclosing
from typing import Any, Protocol

import pytest

from agentforge import ChatClient, ModelError, Result, ReturnBehavior, ScriptedChatModel, ai_service, system, tool
from agentforge.client import service_method
from agentforge.errors import RunTimeoutError
from agentforge.model import ChatEvent, ChatRequest, Event, ResponseDone, TextDelta, ThinkingDelta
from agentforge.testing import call
from agentforge.tool.execution import RunEvent, RunFinished, RunStarted, RunStream, ToolFinished, ToolStarted
from tests.unit.client.served import served

STORY = "Once upon a time there was a clerk who sold tea."


@tool("The time.")
def now() -> str:
    """Between two replies."""
    return "noon"


@tool("A whole page.", return_behavior=ReturnBehavior.IMMEDIATE)
def page() -> str:
    """Straight to the caller."""
    return "The page."


TURNS: list[Any] = [{"thinking": "Hm.", "text": "A moment. ", "calls": [call("now")]}, STORY]


def interface_giving(hint: Any) -> Any:
    """An interface of one method that gives this."""

    class Giving(Protocol):
        def ask(self, message: str) -> Any: ...

    Giving.ask.__annotations__["return"] = hint
    return Giving


async def all_of(given: Any, seen: list[Any] | None = None) -> list[Any]:
    """All that an iterator gives, of either kind; ``seen`` keeps what came before an error."""
    seen = [] if seen is None else seen
    if isinstance(given, Iterator):
        for each in given:
            seen.append(each)
        return seen
    async for each in given:
        seen.append(each)
    return seen


# what the method gives, and of which kinds the events are, ``None`` for texts
ITERATORS: list[tuple[Any, tuple[type[Event], ...] | None]] = [
    (AsyncIterator[str], None),
    (AsyncIterable[str], None),
    (AsyncGenerator[str, None], None),
    (AsyncIterator, None),
    (Iterator[str], None),
    (Iterable[str], None),
    (Generator[str, None, None], None),
    (AsyncIterator[RunEvent], (Event,)),
    (AsyncIterator[Event], (Event,)),
    (Iterator[RunEvent], (Event,)),
    (AsyncIterator[TextDelta], (TextDelta,)),
    (AsyncIterator[TextDelta | ToolFinished], (TextDelta, ToolFinished)),
    (Iterator[ThinkingDelta | RunFinished], (ThinkingDelta, RunFinished)),
    (Generator[ToolStarted, None, None], (ToolStarted,)),
    (AsyncIterator[ChatEvent], (TextDelta, ThinkingDelta, ResponseDone)),
]


@pytest.mark.parametrize(("hint", "kinds"), ITERATORS)
async def test_an_iterator_gives_what_it_says(hint: Any, kinds: tuple[type[Event], ...] | None) -> None:
    """Pieces of text as they are written, those of every reply; or events of the kinds that it names, and no others."""
    service, model = served(interface_giving(hint), *TURNS, tools=[now])
    given = await all_of(service.ask("Tell a story."))

    assert len(model.requests) == 2
    if kinds is None:
        assert len(given) > 3 and {type(each) for each in given} == {str} and all(given)
        assert "".join(given) == f"A moment. {STORY}"
        return
    client = ChatClient(ScriptedChatModel(TURNS), tools=[now])
    async with client.prompt("Tell a story.").stream() as events:
        told = [type(each) async for each in events]
    if hint == AsyncIterator[ChatEvent]:
        kinds = tuple(each for each in told if each.__module__ == "agentforge.model.events")
    assert [type(each) for each in given] == [each for each in told if issubclass(each, kinds)]
    assert given


async def test_a_stream_is_the_turn_s_own() -> None:
    """With its result, from a method that is async or not."""

    class Giving(Protocol):
        def now(self, message: str) -> RunStream: ...

        async def later(self, message: str) -> RunStream: ...

        async def texts_later(self, message: str) -> AsyncIterator[str]: ...

    service, _ = served(Giving, "One.", "Two.", "Three.")
    for stream in (service.now("?"), await service.later("?")):
        async with stream as events:
            told = [each async for each in events]
        assert isinstance(told[0], RunStarted) and stream.result.text in ("One.", "Two.")
    assert "".join([each async for each in await service.texts_later("?")]) == "Three."


async def test_what_tools_return_to_the_caller_is_a_text_as_well() -> None:
    """Otherwise the reader of texts would see nothing."""
    for hint in (AsyncIterator[str], Iterator[str]):
        service, _ = served(interface_giving(hint), {"text": "Here: ", "calls": [call("page")]}, tools=[page])
        assert await all_of(service.ask("?")) == ["Here: ", "The page."]


@pytest.mark.parametrize("hint", [AsyncIterator[str], AsyncIterator[RunEvent], Iterator[str], Iterator[RunEvent]])
async def test_arguments_are_looked_at_when_the_method_is_called_and_the_model_when_it_is_read(hint: Any) -> None:
    """An iterator that nobody reads asks nothing."""
    service, model = served(interface_giving(hint), "One.")
    with pytest.raises(TypeError, match="missing a required argument"):
        service.ask()
    given = service.ask("?")

    assert model.requests == []
    assert await all_of(given) and len(model.requests) == 1


@pytest.mark.parametrize("hint", [AsyncIterator[str], AsyncIterator[RunEvent], Iterator[str], Iterator[RunEvent]])
async def test_an_error_is_raised_where_the_iterator_ends(hint: Any) -> None:
    """Behind all that was told until then; a time-out of the method is one."""
    service, _ = served(interface_giving(hint), {"text": STORY, "error": ModelError("gone")})
    seen: list[Any] = []
    with pytest.raises(ModelError, match="gone"):
        await all_of(service.ask("?"), seen)
    texts = [each if isinstance(each, str) else each.text for each in seen if isinstance(each, str | TextDelta)]
    assert "".join(texts) == STORY

    timed = interface_giving(hint)
    service_method(timeout=1e-9)(timed.ask)
    with pytest.raises(RunTimeoutError):
        await all_of(served(timed, "One.")[0].ask("?"))


async def test_prompts_and_parameters_are_those_of_any_method() -> None:
    """A stream is only another way to be told."""

    class Giving(Protocol):
        @system("Be brief.")
        @service_method(tools=[now])
        def ask(self, message: str) -> AsyncIterator[str]: ...

    service, model = served(Giving, call("now"), "It is noon.")
    assert "".join([each async for each in service.ask("Time?")]) == "It is noon."
    assert model.requests[0].messages[0].text == "Be brief."
    assert [each.name for each in model.requests[0].parameters.tools] == ["now"]


# -- breaking off --------------------------------------------------------------------------------


class Endless:
    """A model that goes on for ever, and notes when it was stopped."""

    profile = ScriptedChatModel([]).profile

    def __init__(self) -> None:
        self.stopped = False

    async def chat(self, request: ChatRequest) -> Any:
        """Only streams are asked for here."""
        raise AssertionError

    async def aclose(self) -> None:
        """Nothing to release."""

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        """One piece after the other."""
        try:
            while True:
                yield TextDelta("and ")
                await asyncio.sleep(0)
        finally:
            self.stopped = True


async def _by_closing(given: Any) -> None:
    """The way that leaves nothing to chance."""
    async with aclosing(given):
        async for _ in given:
            break


async def _by_break(given: Any) -> None:
    """The iterator is collected when nobody has it, and closed then."""
    async for _ in given:
        break


async def _by_cancelling(given: Any) -> None:
    """The reader's own task ends."""

    async def read() -> None:
        async for _ in given:
            started.set()

    started = asyncio.Event()
    task = asyncio.create_task(read())
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def _by_an_error(given: Any) -> None:
    """What the reader raises passes on."""
    try:
        async with aclosing(given):
            async for _ in given:
                raise ZeroDivisionError
    except ZeroDivisionError:
        return
    raise AssertionError("the error was swallowed")


@pytest.mark.parametrize("leave", [_by_closing, _by_break, _by_cancelling, _by_an_error])
@pytest.mark.parametrize("hint", [AsyncIterator[str], AsyncIterator[RunEvent], AsyncIterator[TextDelta]])
async def test_leaving_an_async_iterator_ends_the_turn(hint: Any, leave: Any) -> None:
    """No task is left, and the model's stream was closed."""
    model = Endless()
    service = ai_service(interface_giving(hint), ChatClient(model))
    before = asyncio.all_tasks()
    await leave(service.ask("?"))
    gc.collect()
    await asyncio.sleep(0)  # a collected iterator is closed in a task of its own
    async with asyncio.timeout(30):
        while left := asyncio.all_tasks() - before:
            await asyncio.wait(left)

    assert model.stopped


@pytest.mark.parametrize("hint", [Iterator[str], Iterator[RunEvent]])
@pytest.mark.parametrize("closes", [True, False])
def test_leaving_a_plain_iterator_ends_the_turn(hint: Any, closes: bool) -> None:
    """At once when it is closed, and when it is collected."""
    model = Endless()
    with ChatClient(model) as client:
        given = ai_service(interface_giving(hint), client).ask("?")
        assert next(given)
        if closes:
            given.close()
            with pytest.raises(StopIteration):
                next(given)
        else:
            del given
            gc.collect()
        assert model.stopped


def test_a_plain_iterator_works_inside_a_running_loop() -> None:
    """As in a notebook, and the loop that runs is not the turn's."""

    async def notebook() -> list[str]:
        service, _ = served(interface_giving(Iterator[str]), *TURNS, tools=[now])
        return list(service.ask("?"))

    assert "".join(asyncio.run(notebook())) == f"A moment. {STORY}"


async def test_streams_of_one_service_are_read_side_by_side() -> None:
    """Each has its own turn."""
    service, _ = served(interface_giving(AsyncIterator[str]), *[lambda request: request.messages[-1].text] * 3)
    streams = [service.ask(f"{STORY} {n}") for n in range(3)]
    texts = ["", "", ""]
    while streams:
        for at, stream in enumerate(tuple(streams)):
            try:
                texts[at] += await anext(stream)
            except StopAsyncIteration:
                streams.remove(stream)

    assert sorted(texts) == [f"{STORY} {n}" for n in range(3)]


async def test_a_result_is_no_stream() -> None:
    """It is whole when it is given; who wants both reads `RunFinished`."""
    service, _ = served(interface_giving(Result[str]), STORY)
    result = service.ask("?")

    assert isinstance(result, Result) and result.content == STORY
