"""Section J: the chain, the safeguard, and an answer that is asked for again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from agentforge import AiMessage, ChatRequest, ChatResponse, FinishReason, Run, ScriptedChatModel, TokenUsage
from agentforge.advisor import (
    Advised,
    AdvisorOrderError,
    Chain,
    LoggerAdvisor,
    SafeguardAdvisor,
    StructuredOutputAdvisor,
    StructuredOutputError,
    arranged,
)
from agentforge.client import ChatClient
from agentforge.model import ResponseDone
from tests.anchors.support import ANSWER, FACES, ask, differs, differs_row, row, rows


class Keeping:
    """Keeps the chain that it is given, and notes that it was passed."""

    def __init__(self, name: str, log: list[str] | None = None) -> None:
        self.name = name
        self.log = log if log is not None else []
        self.kept: list[Chain] = []

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        self.log.append(self.name)
        self.kept.append(chain)
        return await chain.next(run, request)


async def kept_chains(*names: str) -> tuple[dict[str, Chain], list[str]]:
    """The chain that each of these advisors was given in one turn, and the log that they share."""
    log: list[str] = []
    advisors = [Keeping(name, log) for name in names]
    await ask(ScriptedChatModel([ANSWER], repeat=True), *advisors, tool_calling=False)
    return {each.name: each.kept[0] for each in advisors}, log


async def end(run: Run, request: ChatRequest, emit: Any) -> Advised:
    """The model of chains that are asked by hand."""
    message = AiMessage(ANSWER)
    return Advised(ChatResponse(message), (message,))


RESTS = [row(256, "after the first", "a", ["b", "c"]), row(257, "after the middle one", "b", ["c"])]


@pytest.mark.parametrize(("holder", "rest"), RESTS)
async def test_an_advisor_is_given_the_rest_of_the_chain(holder: str, rest: list[str]) -> None:
    chains, _ = await kept_chains("a", "b", "c")
    assert [link.name for link in chains[holder].links] == rest


@differs(259, "the model")
async def test_an_empty_chain_is_the_model(anchor: int) -> None:
    advised = await Chain((), end).next(Run(), ChatRequest("question"))
    assert advised.new_messages == (AiMessage(ANSWER),)


@differs(260, "the whole rest, each time")
async def test_to_ask_a_chain_again_is_to_pass_all_of_it_again(anchor: int) -> None:
    """Nothing is used up, so that the list it reports is complete."""
    log: list[str] = []
    chain = Chain(arranged([Keeping("a", log), Keeping("b", log)]), end)
    for _ in range(2):
        await chain.next(Run(), ChatRequest("question"))
    assert log == ["a", "b", "a", "b"]
    assert [link.name for link in chain.links] == ["a", "b"]


NONE_AFTER = [differs_row(261, "one that is not in it", "stranger"), differs_row(262, "null", None)]


@pytest.mark.parametrize("after", NONE_AFTER)
async def test_nobody_has_to_say_after_whom_the_rest_begins(after: str | None) -> None:
    """Each advisor holds its own rest, and neither itself nor those outside are in it: nothing can be named wrongly."""
    chains, _ = await kept_chains("a", "b", "c")
    for name, outer in (("a", {"a"}), ("b", {"a", "b"}), ("c", {"a", "b", "c"})):
        assert {link.name for link in chains[name].links} & {*outer, after} == set()


@rows(263, "kept and used again")
async def test_a_chain_that_was_kept_can_be_used_in_each_round(anchor: int) -> None:
    chains, log = await kept_chains("a", "b", "c")
    log.clear()
    for _ in range(2):
        await chains["a"].next(Run(), ChatRequest("question"), emit=None)
    assert log == ["b", "c", "b", "c"]
    assert [link.name for link in chains["a"].links] == ["b", "c"]


@rows(264, "the observer stays")
async def test_the_rest_of_a_chain_is_observed_as_the_whole(anchor: int) -> None:
    told: list[tuple[str, int]] = []

    class Observer:
        def advisor_called(
            self, name: str, place: int, run: Run, advised: Any, error: BaseException | None, seconds: float
        ) -> None:
            told.append((name, place))

    first = Keeping("a")
    await Chain(arranged([first, Keeping("b")]), end, observer=Observer()).next(Run(), ChatRequest("question"))
    await first.kept[0].next(Run(), ChatRequest("question"))
    assert told == [("b", 1), ("a", 0), ("b", 1)]


@rows(265, "added for one call")
async def test_a_chain_with_more_in_it_is_another_chain(anchor: int) -> None:
    client = ChatClient(ScriptedChatModel([ANSWER]), advisors=[Keeping("a")], tool_calling=False)
    more = client.prompt("question").advisors(Keeping("b"))
    assert more.links is not None and [link.name for link in more.links] == ["a", "b"]
    assert [link.name for link in client.chain] == ["a"]


NOTHING: list[Any] = [
    row(267, "an advisor", lambda: ChatClient(ScriptedChatModel([ANSWER]), advisors=[None]), AdvisorOrderError),  # type: ignore[list-item]
    row(267, "a list", lambda: ChatClient(ScriptedChatModel([ANSWER]), advisors=None), TypeError),  # type: ignore[arg-type]
    row(267, "in a list", lambda: arranged([LoggerAdvisor(), None]), AdvisorOrderError),  # type: ignore[list-item]
    row(267, "a class", lambda: arranged([LoggerAdvisor]), AdvisorOrderError),  # type: ignore[list-item]
]


@pytest.mark.parametrize(("make", "error"), NOTHING)
def test_what_is_no_advisor_is_refused_when_the_chain_is_made(
    make: Callable[[], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        make()


@differs(267, "nobody observes")
async def test_a_chain_needs_no_observer(anchor: int) -> None:
    """None is the usual case, and costs nothing."""
    assert (await Chain(arranged([Keeping("a")]), end, observer=None).next(Run(), ChatRequest("q"))).new_messages


# -- safeguard -----------------------------------------------------------------------------------

GUARDED = [
    row(268, "other case", "how to KILL a process", 0, "I cannot help with that."),
    row(268, "a dotted capital i", "how to K\u0130LL it", 0, "I cannot help with that."),
    row(268, "a dotless i", "how to k\u0131ll it", 0, "I cannot help with that."),
    row(269, "no listed word", "how to end a process", 1, ANSWER),
    row(269, "inside another word", "the skills I have", 1, ANSWER),
]


@FACES
@pytest.mark.parametrize(("question", "requests", "answer"), GUARDED)
async def test_a_listed_word_keeps_the_chain_from_being_asked(
    question: str, requests: int, answer: str, streamed: bool
) -> None:
    """Whatever the case and the process's locale; the run with all that was noted in it stays."""
    run = Run()
    run.attributes["mine"] = 1
    done = await ask([ANSWER], SafeguardAdvisor(["kill"]), question=question, run=run, streamed=streamed)
    assert (len(done.requests), done.result.text, run.attributes["mine"]) == (requests, answer, 1)
    assert (done.result.final_response.finish_reason is FinishReason.REFUSAL) == (requests == 0)


# -- an answer that is asked for again -----------------------------------------------------------

NAMED = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}
VALID, INVALID = '{"name": "Ana"}', "{}"
FAULT = "name: is required and was not given"
USED = TokenUsage(10, 20, 30)


def reply(text: str) -> ChatResponse:
    return ChatResponse(AiMessage(text) if text else AiMessage([]), FinishReason.STOP, USED)


REPEATS = [
    row(270, "valid on the first reply", 2, [VALID]),
    row(271, "a field is missing, then valid", 2, [INVALID, VALID]),
    row(275, "no text, then valid", 2, ["", VALID]),
    row(276, "tokens over repeats", 3, [INVALID, INVALID, VALID]),
    differs_row(277, "streaming works", 1, [INVALID, VALID]),
]


@FACES
@pytest.mark.parametrize(("repeats", "replies"), REPEATS)
async def test_an_answer_that_is_not_valid_is_asked_for_again(repeats: int, replies: list[str], streamed: bool) -> None:
    """With the question and why it was not; what every attempt cost is in the sum."""
    form = StructuredOutputAdvisor(NAMED, max_reprompts=repeats)
    done = await ask([reply(text) for text in replies], form, streamed=streamed)

    assert (len(done.requests), done.result.text) == (len(replies), VALID)
    first, *others = [request.messages[-1].text for request in done.requests]
    assert first == "question"
    for text, refused in zip(others, replies, strict=False):
        assert text.startswith("question\n\n")
        assert (FAULT if refused else "it has no text") in text
    assert done.result.token_usage.total_tokens == 30 * len(replies)
    if streamed:
        told = [event.response.ai_message.text for event in done.events if isinstance(event, ResponseDone)]
        assert told == [VALID]


EXHAUSTED = [
    differs_row(272, "always invalid: an error", 2),
    differs_row(273, "no repeats: an error", 0),
    row(276, "tokens when exhausted", 1),
]


@FACES
@pytest.mark.parametrize("repeats", EXHAUSTED)
async def test_an_answer_that_stays_invalid_is_not_given_out(repeats: int, streamed: bool) -> None:
    """It is in the error, with what is wrong with it and what all attempts have cost."""
    model = ScriptedChatModel([reply(INVALID)], repeat=True)
    with pytest.raises(StructuredOutputError) as raised:
        await ask(model, StructuredOutputAdvisor(NAMED, max_reprompts=repeats), streamed=streamed)

    assert (raised.value.text, raised.value.problems, len(model.requests)) == (INVALID, (FAULT,), repeats + 1)
    assert raised.value.partial.token_usage.total_tokens == 30 * (repeats + 1)
