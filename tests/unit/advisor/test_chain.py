"""What every chain does, whatever stands in it: the same for a plain call and a streamed one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.advisor import Advised, AdvisorError, Chain, Link, arranged
from agentforge.model import AiMessage, ChatRequest, ChatResponse, Event, FinishReason, TextDelta, UserMessage
from agentforge.tool.execution import AttemptDiscarded, Emit, Run

REQUEST = ChatRequest((UserMessage("Hi"),))


def reply(text: str) -> Advised:
    message = AiMessage(text)
    return Advised(ChatResponse(message, FinishReason.STOP), (message,))


class Model:
    """The end of a chain: answers with the number of its calls, and tells the text where somebody listens."""

    def __init__(self, log: list[str] | None = None) -> None:
        self.calls = 0
        self.log = log if log is not None else []

    async def __call__(self, run: Run, request: ChatRequest, emit: Emit | None) -> Advised:
        self.calls += 1
        self.log.append("model")
        if emit is not None:
            await emit(TextDelta(f"answer {self.calls}"))
        return reply(f"answer {self.calls}")


class Passing:
    """Notes the way in and the way out, and asks the rest ``times`` times."""

    def __init__(self, name: str, log: list[str], times: int = 1) -> None:
        self.name = name
        self._log = log
        self._times = times

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        self._log.append(f"+{self.name}")
        advised = await chain.next(run, request)
        for _ in range(self._times - 1):
            advised = await chain.again(run, request, f"{self.name} asks again")
        self._log.append(f"-{self.name}")
        return advised


async def test_the_first_is_outermost() -> None:
    log: list[str] = []
    chain = Chain(arranged([Passing("a", log), Passing("b", log)]), Model(log))

    advised = await chain.next(Run(), REQUEST)

    assert log == ["+a", "+b", "model", "-b", "-a"]
    assert advised.response is not None and advised.response.ai_message.text == "answer 1"


async def test_an_empty_chain_is_the_model() -> None:
    assert (await Chain((), Model()).next(Run(), REQUEST)).new_messages == (AiMessage("answer 1"),)


async def test_an_advisor_may_answer_itself() -> None:
    class Refusing:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            return reply("no")

    model = Model()

    assert (await Chain(arranged([Refusing()]), model).next(Run(), REQUEST)).new_messages == (AiMessage("no"),)
    assert model.calls == 0


@given(st.lists(st.integers(1, 3), max_size=4), st.booleans())
def test_inner_advisors_run_once_for_each_pass_of_the_outer_ones(times: list[int], streamed: bool) -> None:
    """On the way in and out in mirrored order, however often each asks again; streamed as plain."""
    log: list[str] = []
    events: list[Event] = []

    async def emit(event: Event) -> None:
        events.append(event)

    model = Model(log)
    advisors = [Passing(f"{at}", log, each) for at, each in enumerate(times)]
    asyncio.run(Chain(arranged(advisors), model, emit=emit if streamed else None).next(Run(), REQUEST))

    passes = 1
    for at, each in enumerate(times):
        assert (log.count(f"+{at}"), log.count(f"-{at}")) == (passes, passes)
        passes *= each
    assert model.calls == log.count("model") == passes
    depth: list[str] = []
    for entry in log:
        if entry.startswith("+"):
            depth.append(entry[1:])
        elif entry.startswith("-"):
            assert depth.pop() == entry[1:]
        else:
            assert len(depth) == len(times)
    shown = [event for event in events if isinstance(event, TextDelta)]
    discarded = [event for event in events if isinstance(event, AttemptDiscarded)]
    assert len(shown) == (passes if streamed else 0)
    assert len(discarded) == (passes - 1 if streamed else 0)


async def test_what_an_advisor_holds_stays_the_same_rest() -> None:
    """The chain it was given may be asked whenever it likes, and is complete each time."""
    log: list[str] = []
    kept: list[Chain] = []

    class Keeping:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            kept.append(chain)
            return await chain.next(run, request)

    whole = Chain(arranged([Keeping(), Passing("b", log), Passing("c", log)]), Model(log))
    await whole.next(Run(), REQUEST)
    log.clear()
    await kept[0].next(Run(), REQUEST)

    assert log == ["+b", "+c", "model", "-c", "-b"]
    assert [link.name for link in whole.links] == ["keeping", "b", "c"]
    assert [link.name for link in kept[0].links] == ["b", "c"]
    assert repr(kept[0]) == "Chain(b -> c -> model)"


async def test_an_advisor_may_hold_events_back() -> None:
    """It gives the rest a sink of its own; ``None`` makes the rest a plain call."""
    seen: list[Event] = []
    held: list[Event] = []

    class Holding:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            async def hold(event: Event) -> None:
                held.append(event)

            await chain.next(run, request, emit=hold)
            return await chain.next(run, request, emit=None)

    async def emit(event: Event) -> None:
        seen.append(event)

    await Chain(arranged([Holding()]), Model(), emit=emit).next(Run(), REQUEST)

    assert (seen, held) == ([], [TextDelta("answer 1")])


@pytest.mark.parametrize("given", [None, "an answer", AiMessage("x")])
async def test_an_advisor_that_gives_something_else_is_named(given: Any) -> None:
    class Wrong:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Any:
            return given

    with pytest.raises(AdvisorError, match=f"the advisor 'wrong' gave {type(given).__name__}"):
        await Chain(arranged([Wrong()]), Model()).next(Run(), REQUEST)


async def test_every_pass_is_told_with_name_place_and_outcome() -> None:
    told: list[tuple[str, int, bool, str]] = []

    class Observer:
        def advisor_called(
            self, name: str, place: int, run: Run, advised: Advised | None, error: BaseException | None, seconds: float
        ) -> None:
            assert seconds >= 0
            told.append((name, place, advised is not None, type(error).__name__))

    class Failing:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            await chain.next(run, request)
            raise ValueError("no")

    links = (*arranged([Passing("a", [], 2), Failing()]), Link(Passing("c", []), "c"))
    with pytest.raises(ValueError, match="no"):
        await Chain(links, Model(), observer=Observer()).next(Run(), REQUEST)

    assert told == [("c", 2, True, "NoneType"), ("failing", 1, False, "ValueError"), ("a", 0, False, "ValueError")]
