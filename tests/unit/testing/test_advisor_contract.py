"""Every test of the suite for advisors catches what is wrong in it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from agentforge.advisor import Advised, Chain
from agentforge.errors import ModelError
from agentforge.model import AiMessage, ChatRequest, ChatResponse, Notice, UserMessage
from agentforge.testing import AdvisorContract
from agentforge.tool.execution import Run
from tests.unit.testing.wrong import caught, names_of


class Right:
    """An advisor that passes on what comes; each wrong one changes one thing."""

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        return await chain.next(run, request)


class NoAdvisor:
    pass


class Sync:
    def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Any:
        return chain.next(run, request)


class TwoArguments:
    async def advise(self, run: Run, request: ChatRequest) -> Any:
        return None


class Nameless(Right):
    name = " "


class Nowhere(Right):
    before = ("tool_calling",)
    after = ("tool_calling",)


class NeverOutside(Right):
    after = ("tool_calling",)


class NoHistory(Right):
    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        return replace(await chain.next(run, request), new_messages=())


class AnswersItself(Right):
    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        message = AiMessage("Something else.")
        return Advised(ChatResponse(message), (message,))


class SaysItTwice(Right):
    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        advised = await chain.next(run, request)
        return replace(advised, new_messages=(*advised.new_messages, *advised.new_messages))


class HoldsEventsBack(Right):
    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        return await chain.next(run, request, emit=None)


class TellsListenersMore(Right):
    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        if chain.emit is not None:
            run.notices.append(Notice("heard", "somebody listens"))
        return await chain.next(run, request)


class AsksAgain(Right):
    """Without a reason, with all that was said."""

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        await chain.next(run, request)
        return await chain.next(run, request)


class KeepsAttempts(Right):
    """What an advisor further in discarded comes back."""

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        advised = await chain.next(run, request)
        if "another_attempt" not in repr(chain):
            return advised
        return replace(advised, new_messages=(AiMessage("No."), *advised.new_messages))


class Shares(Right):
    """Its state belongs to the advisor, and so to every turn."""

    def __init__(self) -> None:
        self.request: ChatRequest | None = None

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        self.request = request
        for _ in range(3):
            await asyncio.sleep(0)
        return await chain.next(run, self.request)


class Wraps(Right):
    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        try:
            return await chain.next(run, request)
        except ModelError as error:
            raise ModelError("it did not work") from error


class StaysBroken(Right):
    """After a failure it does not answer any more."""

    broken = False

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        if self.broken:
            return await AnswersItself().advise(run, request, chain)
        try:
            return await chain.next(run, request)
        except BaseException:
            self.broken = True
            raise


class Locks(Right):
    """And does not let go when its turn is cancelled, or left."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        await self.lock.acquire()
        try:
            advised = await chain.next(run, request)
        except Exception:
            self.lock.release()
            raise
        self.lock.release()
        return advised


class Swallows(Right):
    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        try:
            return await chain.next(run, request)
        except asyncio.CancelledError:
            message = AiMessage("I was cancelled.")
            return Advised(ChatResponse(message), (message,))


class Finishes(Right):
    """It looks at the answer of a turn that has none."""

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        advised = await chain.next(run, request)
        if advised.suspended is None:
            return advised
        message = AiMessage("Please wait.")
        return Advised(ChatResponse(message), (message,))


class LeavesATask(Right):
    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        task = asyncio.create_task(asyncio.Event().wait())
        run.attributes["task"] = task
        try:
            return await chain.next(run, request)
        except ModelError:
            task.cancel()
            raise


class ChangesTheQuestion(Right):
    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        advised = await chain.next(run, request)
        return replace(advised, new_messages=(UserMessage("More."), *advised.new_messages))


WRONG: list[tuple[str, Callable[[], Any], str]] = [
    ("test_it_is_an_advisor", NoAdvisor, "has no advise()"),
    ("test_it_is_an_advisor", Sync, "advise must be async"),
    ("test_it_is_an_advisor", TwoArguments, "advise takes 2 arguments"),
    ("test_it_finds_a_place", Nameless, "its name is ' '"),
    ("test_a_turn_has_its_answer", NeverOutside, "cannot stand outside of the tool loop"),
    ("test_a_turn_has_its_answer", NoHistory, "do not end with the answer"),
    ("test_a_turn_has_its_answer", AnswersItself, "the answer is 'Something else.'"),
    ("test_a_turn_has_its_answer", SaysItTwice, "the turn added 2 messages"),
    ("test_a_turn_has_its_answer", ChangesTheQuestion, "the turn added 2 messages"),
    ("test_a_turn_has_its_answer", LeavesATask, "it leaves tasks behind"),
    ("test_a_streamed_turn_equals_a_plain_one", HoldsEventsBack, "was not shown"),
    ("test_a_streamed_turn_equals_a_plain_one", TellsListenersMore, "the notices differ"),
    ("test_each_call_runs_once", AsksAgain, "of the calls these ran"),
    ("test_another_attempt_duplicates_nothing", KeepsAttempts, "2 answers"),
    ("test_turns_at_once_do_not_meet", Shares, "the answers got mixed up"),
    ("test_an_error_of_the_model_ends_its_turn_alone", Wraps, "not with the model's error"),
    ("test_an_error_of_the_model_ends_its_turn_alone", StaysBroken, "the answer is 'Something else.'"),
    ("test_a_suspended_turn_passes", Finishes, "was to be suspended"),
    ("test_a_turn_can_be_cancelled", Swallows, "the cancelled turn ended otherwise"),
    ("test_a_turn_can_be_cancelled", AnswersItself, "the model was not asked"),
    ("test_a_turn_can_be_cancelled", Locks, "it did not end within 0.5 s"),
    ("test_a_stream_can_be_left_early", Locks, "it did not end within 0.5 s"),
]


@pytest.mark.parametrize(("test", "wrong", "words"), WRONG)
def test_a_wrong_advisor_is_caught(test: str, wrong: Callable[[], Any], words: str) -> None:
    """By the test that is about it, with a sentence that says what is wrong."""
    assert words in caught(AdvisorContract, test, advisor=lambda self: wrong())


def test_an_advisor_without_a_place_is_caught() -> None:
    """With both sides of what contradicts itself."""
    made = type("Wrong", (AdvisorContract,), {"advisor": lambda self: Nowhere()})()
    with pytest.raises(Exception, match="wants to stand"):
        made.test_it_finds_a_place()


def test_each_test_catches_something() -> None:
    assert names_of(AdvisorContract) == {test for test, _, _ in WRONG}


def test_a_right_advisor_passes() -> None:
    """Every test of the suite, from a plain object or from a context manager around one."""
    made = type("Right", (AdvisorContract,), {"advisor": lambda self: Right()})()
    for test in sorted(names_of(AdvisorContract)):
        getattr(made, test)()


def test_a_suite_that_says_nothing_says_so() -> None:
    with pytest.raises(TypeError, match="must override advisor"):
        AdvisorContract().test_it_is_an_advisor()
