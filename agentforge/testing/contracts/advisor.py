"""What every advisor has to do, as a class of tests to subclass."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any, TypeVar

from agentforge.advisor import (
    Advised,
    Advisor,
    AdvisorOrderError,
    Chain,
    Placement,
    ToolCallingAdvisor,
    arranged,
    calls_tools,
    name_of,
)
from agentforge.client import ChatClient, event_to_json
from agentforge.errors import ModelError
from agentforge.model import AiMessage, ChatRequest, History, TextDelta, UserMessage
from agentforge.model.scripted import ScriptedChatModel, call
from agentforge.testing.contracts.running import must, opened, run
from agentforge.tool.execution import Ask, PlannedCall, Proceed, Run, ToolChatResult, ToolOutcome, ToolService, Verdict

__all__ = ("AdvisorContract",)

_T = TypeVar("_T")
_QUESTION = "What is the weather?"
_ANSWER = "It is sunny."
_MANY = 5


class AdvisorContract:
    """The tests of an advisor: write ``class TestMyAdvisor(AdvisorContract)`` and override `advisor`.

    Every test holds turns with the advisor outside the tool loop, and inside of it where it may stand there; one that
    calls tools itself is the loop. It must let pass a question about the weather and its answer. ``patience`` (60)
    bounds each test in seconds.
    """

    patience = 60.0

    def advisor(self) -> Any:
        """A fresh advisor, or an asynchronous context manager around one; the suite starts and closes it."""
        raise TypeError(f"{type(self).__name__} must override advisor()")

    def run_of(self, number: int) -> Run:
        """The run of a turn: a conversation of its own for each number."""
        return Run(memory_id=f"conversation-{number}", tenant="acme")

    def test_it_is_an_advisor(self) -> None:
        """`advise` is awaited, and takes the run, the request and the chain."""

        async def work(advisor: Any) -> None:
            must(isinstance(advisor, Advisor), f"{type(advisor).__name__} has no advise()")
            must(inspect.iscoroutinefunction(advisor.advise), "advise must be async")
            count = len(inspect.signature(advisor.advise).parameters)
            must(count == 3, f"advise takes {count} arguments; they are the run, the request and the chain")

        self._once(work)

    def test_it_finds_a_place(self) -> None:
        """It has a name, and what it says of its place fits a chain with a tool advisor."""

        async def work(advisor: Any) -> None:
            name = name_of(advisor)
            must(name and name == name.strip(), f"its name is {name!r}")
            Placement.of(advisor)
            if not calls_tools(advisor):
                links = arranged([], [advisor, ToolCallingAdvisor()])
                must(len(links) == 2, "it cannot stand beside a tool advisor")

        self._once(work)

    def test_a_turn_has_its_answer(self) -> None:
        """A response, and a valid history that begins with the question and ends with it."""

        async def work(hold: _Holding) -> None:
            result = await hold.turn(ScriptedChatModel([_ANSWER]))
            _check_history(result)
            _check_answered(result)
            must(len(result.messages) == 2, f"the turn added {len(result.messages) - 1} messages to the question")

        self._everywhere(work)

    def test_a_streamed_turn_equals_a_plain_one(self) -> None:
        """The same reply, messages, tokens and notices, and every event can be written as JSON."""

        async def work(hold: _Holding) -> None:
            turns: list[Any] = [call("look", where="outside"), _ANSWER]
            plain = await hold.turn(ScriptedChatModel(turns))
            async with hold.another() as other:
                streamed = await other.turn(ScriptedChatModel(turns), streamed=True)
            for what, one, two in (
                ("reply", plain.response, streamed.response),
                ("messages", plain.messages, streamed.messages),
                ("tokens", plain.token_usage, streamed.token_usage),
                ("notices", [each.code for each in plain.notices], [each.code for each in streamed.notices]),
            ):
                must(one == two, f"the {what} differ: {one!r} plain, {two!r} streamed")

        self._everywhere(work)

    def test_each_call_runs_once(self) -> None:
        """And its result stands behind it, in a turn of two rounds."""

        async def work(hold: _Holding) -> None:
            two = [call("look", where="here"), call("look", where="there")]
            turns: list[Any] = [call("look", where="outside"), two, _ANSWER]
            result = await hold.turn(ScriptedChatModel(turns, repeat=True))
            must(hold.ran == ["outside", "here", "there"], f"of the calls these ran: {hold.ran}")
            outcomes = {each.outcome for each in result.tool_executions}
            must(outcomes == {ToolOutcome.OK} and len(result.tool_executions) == 3, "the executions are others")
            _check_history(result)
            _check_answered(result)

        self._everywhere(work)

    def test_another_attempt_duplicates_nothing(self) -> None:
        """Of an advisor further in: the question and the answer are there once."""

        async def work(hold: _Holding) -> None:
            result = await hold.turn(ScriptedChatModel(["No.", _ANSWER, _ANSWER]), inner=[_Twice()])
            _check_history(result)
            questions = [each for each in result.messages if isinstance(each, UserMessage)]
            answers = [each for each in result.messages if isinstance(each, AiMessage)]
            must((len(questions), len(answers)) == (1, 1), f"it has {len(questions)} questions, {len(answers)} answers")

        self._everywhere(work)

    def test_turns_at_once_do_not_meet(self) -> None:
        """An advisor is shared between tasks: each turn gets its own answer."""

        async def work(hold: _Holding) -> None:
            model = ScriptedChatModel([_echo], repeat=True)
            questions = [f"Weather number {number}?" for number in range(_MANY)]
            results = await asyncio.gather(
                *(
                    hold.turn(model, number=at, question=text, streamed=bool(at % 2))
                    for at, text in enumerate(questions)
                )
            )
            answers = [result.content for result in results]
            must(answers == [f"You said: {text}" for text in questions], f"the answers got mixed up: {answers}")

        self._everywhere(work)

    def test_an_error_of_the_model_ends_its_turn_alone(self) -> None:
        """It passes, or is answered; the run's history is valid, and the conversation goes on."""

        async def work(hold: _Holding) -> None:
            error = ModelError("scripted failure")
            for streamed in (False, True):
                made = self.run_of(0)
                try:
                    model = ScriptedChatModel([call("look", where="outside"), error])
                    await hold.turn(model, run=made, streamed=streamed)
                except ModelError as raised:
                    must(raised is error, f"the turn failed with {raised!r}, not with the model's error")
                must(History.of(tuple(made.messages)) == made.messages, "the history is not valid")
                await hold.still_answers()

        self._everywhere(work)

    def test_a_suspended_turn_passes(self) -> None:
        """Unchanged, without a response; and goes on when it is resumed."""

        async def work(hold: _Holding) -> None:
            model = ScriptedChatModel([call("look", where="outside"), _ANSWER])
            hold.approval.asks = True
            waiting = await hold.turn(model)
            must(waiting.suspended is not None, "the turn was to be suspended, and was not")
            must(waiting.response is None, "a suspended turn has no response")
            must(len(waiting.messages) == 1, "a suspended turn adds nothing to the history")
            hold.approval.asks = False
            result = await hold.turn(model, resume=waiting.suspended)
            _check_history(result)
            _check_answered(result)
            must(hold.ran == ["outside"], f"of the calls these ran: {hold.ran}")

        self._everywhere(work)

    def test_a_turn_can_be_cancelled(self) -> None:
        """While the model is asked: it ends with `CancelledError` and nothing else, and the conversation goes on."""

        async def work(hold: _Holding) -> None:
            for streamed in (False, True):
                asked = asyncio.Event()

                async def never(request: object, asked: asyncio.Event = asked) -> str:
                    asked.set()
                    await asyncio.Event().wait()
                    return "too late"

                task = asyncio.ensure_future(hold.turn(ScriptedChatModel([never]), streamed=streamed))
                await asyncio.wait(
                    (task, waiting := asyncio.ensure_future(asked.wait())), return_when="FIRST_COMPLETED"
                )
                must(not task.done(), "the model was not asked")
                await waiting
                task.cancel()
                await asyncio.wait((task,))
                must(task.cancelled(), "the cancelled turn ended otherwise")
                await hold.still_answers()

        self._everywhere(work)

    def test_a_stream_can_be_left_early(self) -> None:
        """At any of its first events: nothing stays open, and the conversation goes on."""

        async def work(hold: _Holding) -> None:
            for count in range(1, 8):
                with hold.client(ScriptedChatModel([call("look", where="outside"), _ANSWER])) as client:
                    async with client.prompt(_QUESTION).stream(self.run_of(0)) as events:
                        seen = 0
                        async for _ in events:
                            seen += 1
                            if seen == count:
                                break
                    must(len(client.service.runs) == 0, "a run is still under way")
                await hold.still_answers()

        self._everywhere(work)

    # -- inside ----------------------------------------------------------------------------------

    def _once(self, work: Callable[[Any], Awaitable[_T]]) -> _T:
        async def with_advisor() -> _T:
            async with opened(self.advisor(), Advisor) as advisor:
                return await work(advisor)

        return run(with_advisor, patience=self.patience)

    def _everywhere(self, work: Callable[[_Holding], Coroutine[Any, Any, None]]) -> None:
        async def in_each_place() -> None:
            for inside in (False, True):
                async with _Holding(self, inside=inside).opened() as holding:
                    if holding.may_stand:
                        await work(holding)

        run(in_each_place, patience=self.patience)


class _Holding:
    """Holds turns with one advisor in one place."""

    def __init__(self, suite: AdvisorContract, *, inside: bool) -> None:
        self._suite = suite
        self._inside = inside
        self._advisor: Any = None
        self.approval = _Approval()
        self.ran: list[str] = []

    @asynccontextmanager
    async def opened(self) -> AsyncIterator[_Holding]:
        async with opened(self._suite.advisor(), Advisor) as self._advisor:
            yield self

    def another(self) -> Any:
        """The same place with a fresh advisor."""
        return _Holding(self._suite, inside=self._inside).opened()

    @property
    def may_stand(self) -> bool:
        """Whether the advisor stands in this place of a chain."""
        if calls_tools(self._advisor):
            return not self._inside
        try:
            arranged(self._chain(()))
        except AdvisorOrderError:
            must(self._inside, "the advisor cannot stand outside of the tool loop")
            return False
        return True

    @contextmanager
    def client(self, model: ScriptedChatModel, inner: Sequence[Advisor] = ()) -> Iterator[ChatClient]:
        """A client with the advisor in its place."""
        gates = [*getattr(self._advisor, "gates", ()), self.approval]
        with ToolService(self.look, gates=gates) as service:
            yield ChatClient(model, service=service, advisors=self._chain(inner))

    async def turn(
        self,
        model: ScriptedChatModel,
        *,
        number: int = 0,
        question: str = _QUESTION,
        streamed: bool = False,
        inner: Sequence[Advisor] = (),
        run: Run | None = None,
        resume: Any = None,
    ) -> ToolChatResult:
        """One turn; of a streamed one every event is written as JSON."""
        with self.client(model, inner) as client:
            prompt = client.prompt(question)
            prompt = prompt if resume is None else prompt.resume(resume)
            held = self._suite.run_of(number) if run is None else run
            if not streamed:
                return await prompt.call(held)
            async with prompt.stream(held) as events:
                text = ""
                async for event in events:
                    json.dumps(event_to_json(event), allow_nan=False)
                    text += event.text if isinstance(event, TextDelta) else ""
            answer = events.result.content or ""
            must(answer in text, f"the answer {answer!r} was not shown; this was: {text!r}")
            return events.result

    async def still_answers(self) -> None:
        """Fail unless the conversation takes another turn."""
        _check_answered(await self.turn(ScriptedChatModel([_ANSWER])))

    def _chain(self, inner: Sequence[Advisor]) -> list[Advisor]:
        if calls_tools(self._advisor):
            return [self._advisor, *inner]
        if self._inside:
            return [ToolCallingAdvisor(), self._advisor, *inner]
        return [self._advisor, *inner, ToolCallingAdvisor()]

    async def look(self, where: str) -> str:
        "Look somewhere."
        self.ran.append(where)
        return f"{where}: sunny"


class _Approval:
    """A gate that asks about every call, while ``asks``."""

    asks = False

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        return [Ask("may it?") if self.asks else Proceed() for _ in batch]


class _Twice:
    """Asks the rest of the chain a second time."""

    name = "another_attempt"

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        await chain.next(run, request)
        return await chain.again(run, request, "another attempt")


async def _echo(request: ChatRequest) -> str:
    return f"You said: {request.messages[-1].text}"


def _check_history(result: ToolChatResult) -> None:
    messages = tuple(result.messages)
    must(tuple(History.of(messages)) == messages, "the turn's messages are no valid history")
    first = messages[0] if messages else None
    must(
        isinstance(first, UserMessage) and first.text == _QUESTION, "the turn's messages do not begin with the question"
    )


def _check_answered(result: ToolChatResult) -> None:
    must(result.suspended is None, "the turn is suspended")
    must(result.response is not None, "the turn has no response")
    last = result.messages[-1]
    must(result.content == _ANSWER, f"the answer is {result.content!r}, not {_ANSWER!r}")
    must(isinstance(last, AiMessage) and last.text == _ANSWER, "the turn's messages do not end with the answer")
