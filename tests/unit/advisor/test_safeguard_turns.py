"""A guarded turn with tools, suspensions and streams: nothing forbidden comes out, however it is cut into pieces."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge import ScriptedChatModel, ToolService, tool
from agentforge.advisor import Advised, AdvisorOrderError, Chain, ToolCallingAdvisor, arranged
from agentforge.advisor.safeguard import SafeguardAdvisor
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatRequest,
    ChatResponse,
    Citation,
    Event,
    History,
    ProviderState,
    ResponseDone,
    TextContent,
    TextDelta,
    ThinkingContent,
    ThinkingDelta,
    UserMessage,
)
from agentforge.model.scripted import call, calls
from agentforge.tool import ReturnBehavior
from agentforge.tool.execution import (
    Ask,
    PlannedCall,
    Proceed,
    Run,
    ToolFinished,
    ToolLoopState,
    ToolStarted,
)
from tests.unit.advisor.guarding import BOTH, QUESTION, codes, hold, look, shown, text_of

# -- with the tool loop --------------------------------------------------------------------------


@BOTH
async def test_a_reprompt_that_calls_a_tool_goes_through_the_loop_again(streamed: bool) -> None:
    """The tool runs first, then the answer is judged again; the tool's events are told there too."""
    events: list[Event] = []
    run = Run()
    model = ScriptedChatModel(["A bomb.", call("look", where="left"), "A bomb.", call("look", where="right"), "A cat."])
    advisor = SafeguardAdvisor(["bomb"], action="reprompt", reprompt_text="Not that.", max_reprompts=2)
    with ToolService(look) as service:
        advised = await hold(
            [advisor, ToolCallingAdvisor(service)], model, run=run, events=events if streamed else None
        )

    kinds = [type(message).__name__ for message in advised.new_messages]
    assert kinds == ["AiMessage", "ToolExecutionResultMessage"] * 2 + ["AiMessage"]
    assert text_of(advised) == "A cat." and len(run.tool_executions) == 2
    assert model.requests[1].messages == (UserMessage("What is in the box?\n\nNot that."),)
    # What ran stays in the request, and nothing is in it twice.
    assert model.requests[3].messages == (
        QUESTION.messages[0],
        *advised.new_messages[:2],
        UserMessage("Not that."),
    )
    assert run.messages == (*QUESTION.messages, *advised.new_messages)
    assert History.of(run.messages) == run.messages
    if streamed:
        assert shown(events) == "A cat."
        assert [type(each) for each in events if isinstance(each, ToolStarted | ToolFinished)] == [
            ToolStarted,
            ToolFinished,
        ] * 2


@BOTH
async def test_text_in_front_of_calls_is_masked_whatever_the_action(streamed: bool) -> None:
    """It is shown before anybody knows the answer, and stays in the history."""
    events: list[Event] = []
    run = Run()
    turns = [calls(call("look", where="left"), text="A bomb? I look."), "A cat."]
    with ToolService(look) as service:
        advised = await hold(
            [SafeguardAdvisor(["bomb"], stage="output"), ToolCallingAdvisor(service)],
            turns,
            run=run,
            events=events if streamed else None,
        )

    first = advised.new_messages[0]
    assert isinstance(first, AiMessage) and first.text == "A ***? I look." and first.has_tool_execution_requests
    assert [each.ai_message.text for each in run.intermediate_responses] == ["A ***? I look."]
    assert codes(run) == ["safeguard_masked"]
    if streamed:
        assert shown(events) == "A ***? I look.A cat."
        assert all("bomb" not in repr(event) for event in events if isinstance(event, ResponseDone))


@BOTH
async def test_text_in_front_of_a_pause_is_masked_and_shown_before_what_follows(streamed: bool) -> None:
    events: list[Event] = []
    turns = [{"text": "A bomb? ", "finish_reason": "pause"}, "A cat."]
    with ToolService() as service:
        chain = [SafeguardAdvisor(["bomb"], stage="output"), ToolCallingAdvisor(service)]
        advised = await hold(chain, turns, events=events if streamed else None)

    assert advised.new_messages == (AiMessage("A ***? "), AiMessage("A cat."))
    if streamed:
        assert shown(events) == "A ***? A cat."


async def test_events_of_tools_are_told_while_they_run() -> None:
    """Only what the model writes waits."""
    seen: list[str] = []
    events: list[Event] = []

    def watch() -> str:
        "Look at what was told so far."
        seen.extend(type(event).__name__ for event in events)
        return "seen"

    with ToolService(watch) as service:
        advisors = [SafeguardAdvisor(["bomb"]), ToolCallingAdvisor(service)]
        await hold(advisors, [calls(call("watch"), text="Let me see."), "A cat."], events=events)

    assert "ToolStarted" in seen and "TextDelta" in seen


@BOTH
async def test_reasoning_is_left_out_where_it_holds_the_word(streamed: bool) -> None:
    """With what its provider signed, which holds it too; other reasoning stays as it is."""
    events: list[Event] = []
    state = ProviderState("scripted", {"text": "a bomb"})
    turns = [
        AiMessage([ThinkingContent("a bomb", state), TextContent("I look."), call("look", where="x")]),
        AiMessage([ThinkingContent("a cat", state), TextContent("A cat.")], provider_state=state),
    ]
    with ToolService(look) as service:
        advised = await hold(
            [SafeguardAdvisor(["bomb"], stage="output"), ToolCallingAdvisor(service)],
            turns,
            events=events if streamed else None,
        )

    first, _, last = advised.new_messages
    assert isinstance(first, AiMessage) and first.thinking is None and first.text == "I look."
    assert last == turns[1]
    if streamed:
        assert "".join(each.text for each in events if isinstance(each, ThinkingDelta)) == "a cat"


@BOTH
@pytest.mark.parametrize(
    ("action", "answer", "rounds"), [("refuse", "No.", 1), ("mask", "left: a ***", 1), ("reprompt", "A cat.", 1)]
)
async def test_a_result_that_is_the_answer_is_judged_as_one(
    action: Any, answer: str, rounds: int, streamed: bool
) -> None:
    @tool("Look.", return_behavior=ReturnBehavior.IMMEDIATE)
    def peek(where: str) -> str:
        return f"{where}: a bomb"

    with ToolService(peek) as service:
        advisor = SafeguardAdvisor(["bomb"], stage="output", action=action, text="No.")
        advised = await hold(
            [advisor, ToolCallingAdvisor(service)],
            [call("peek", where="left"), "A cat."],
            events=[] if streamed else None,
        )

    assert text_of(advised) == answer and not advised.returned_directly
    assert advised.new_messages[-1] == AiMessage(answer)
    assert len(advised.new_messages) == 2 * rounds + 1
    if action != "reprompt":
        assert "bomb" not in repr(advised.new_messages)


async def test_a_result_that_may_be_the_answer_is_returned_as_it_is() -> None:
    @tool("Look.", return_behavior=ReturnBehavior.IMMEDIATE)
    def peek() -> str:
        return "a cat"

    with ToolService(peek) as service:
        advised = await hold([SafeguardAdvisor(["bomb"]), ToolCallingAdvisor(service)], [call("peek")])

    assert advised.returned_directly and len(advised.new_messages) == 2


async def test_calls_that_the_caller_runs_are_no_answer() -> None:
    with ToolService(look) as service:
        loop = ToolCallingAdvisor(service, user_controlled=True)
        advised = await hold(
            [SafeguardAdvisor(["bomb"]), loop], [calls(call("look", where="x"), text="A bomb? I look.")]
        )

    assert advised.new_messages == () and text_of(advised) == "A ***? I look."
    assert advised.response is not None and advised.response.ai_message.has_tool_execution_requests


class Approval:
    """Asks for every call until it is decided."""

    decided = False

    async def check(self, batch: Any, run: Run) -> list[Any]:
        return [Proceed() if self.decided else Ask("may it?") for _ in batch]


@BOTH
@pytest.mark.parametrize("reprompted", [False, True])
async def test_a_turn_that_waits_passes_and_is_whole_when_it_is_taken_up(streamed: bool, reprompted: bool) -> None:
    """Also when it came to wait in a second attempt: what ran in the first one is not lost."""
    approval = Approval()
    approval.decided = reprompted

    class AfterFirst(Approval):
        async def check(self, batch: list[PlannedCall], run: Run) -> list[Any]:
            verdicts = await approval.check(batch, run)
            approval.decided = False
            return verdicts

    first = [call("look", where="left"), "A bomb."] if reprompted else []
    model = ScriptedChatModel([*first, call("look", where="right"), "A cat."])
    with ToolService(look, gates=[AfterFirst()]) as service:
        chain = [SafeguardAdvisor(["bomb"], action="reprompt"), ToolCallingAdvisor(service)]
        advised = await hold(chain, model, events=[] if streamed else None)
        assert advised.suspended is not None and advised.response is None and advised.new_messages == ()

        approval.decided = True
        run = Run()
        run.resume_from(ToolLoopState.from_json(advised.suspended.to_json()))
        after = await hold(chain, model, run=run, events=[] if streamed else None)

    ran = [each for each in after.new_messages if isinstance(each, AiMessage) and each.has_tool_execution_requests]
    assert len(ran) == 1 + reprompted and text_of(after) == "A cat."
    assert History.of(after.new_messages) == after.new_messages


def test_it_stands_outside_the_tool_loop() -> None:
    with ToolService() as service, pytest.raises(AdvisorOrderError, match="'safeguard' wants to stand before"):
        arranged([ToolCallingAdvisor(service), SafeguardAdvisor(["bomb"])])


# -- whatever else stands in the chain -----------------------------------------------------------


async def test_an_answer_that_an_inner_advisor_changed_is_the_one_that_is_shown() -> None:
    """What the model wrote was not judged, and does not come out."""

    class Changing:
        async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
            await chain.next(run, request)
            message = AiMessage("A cat.")
            return Advised(ChatResponse(message), (message,))

    events: list[Event] = []
    await hold([SafeguardAdvisor(["bomb"]), Changing()], ["A bomb."], events=events)

    assert shown(events) == "A cat." and "bomb" not in repr(events)


async def test_pieces_that_are_not_those_of_the_whole_are_not_shown() -> None:
    """Only the whole was judged."""

    class Lying(ScriptedChatModel):
        async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
            yield TextDelta("A bomb.")
            yield ResponseDone(ChatResponse(AiMessage("A cat.")))

    events: list[Event] = []
    await hold([SafeguardAdvisor(["bomb"])], Lying([]), events=events)

    assert shown(events) == "A cat." and "bomb" not in repr(events)


@BOTH
async def test_what_was_written_before_an_error_is_not_shown(streamed: bool) -> None:
    events: list[Event] = []
    turn = {"text": "A bomb.", "error": {"type": "connection", "message": "gone"}}
    with pytest.raises(Exception, match="gone"):
        await hold([SafeguardAdvisor(["bomb"])], [turn], events=events if streamed else None)

    assert shown(events) == ""


async def test_the_body_of_the_provider_goes_with_the_text() -> None:
    class Raw(ScriptedChatModel):
        async def chat(self, request: ChatRequest) -> ChatResponse:
            return ChatResponse(AiMessage("A bomb."), raw_body=b'{"text": "A bomb."}')

    advised = await hold([SafeguardAdvisor(["bomb"], stage="output", action="mask")], Raw([]))

    assert advised.response is not None and advised.response.raw_body is None


@BOTH
@pytest.mark.parametrize("action", ["mask", "refuse"])
async def test_the_sources_of_a_text_go_with_it(streamed: bool, action: Any) -> None:
    """They may hold the same, and their places are those of the text as it was; of a text that may pass they stay."""
    sources = (Citation("https://boxes.example", "How a bomb is built", start=2, end=6),)
    events: list[Event] = []
    for text, kept in (("A bomb.", ()), ("A cat.", sources)):
        turns = [ChatResponse(AiMessage(text), citations=sources)]
        guard = SafeguardAdvisor(["bomb"], stage="output", action=action)
        advised = await hold([guard], turns, events=events if streamed else None)

        assert advised.response is not None and advised.response.citations == kept
    told = [event.response.citations for event in events if isinstance(event, ResponseDone)]
    assert told == ([(), sources] if streamed else [])


# -- for every split -----------------------------------------------------------------------------


class Split:
    """A model that streams its texts in pieces of these lengths."""

    def __init__(self, turns: list[Any], lengths: list[int]) -> None:
        self._scripted = ScriptedChatModel(turns, repeat=True)
        self._lengths = lengths

    async def chat(self, request: ChatRequest) -> ChatResponse:
        return await self._scripted.chat(request)

    async def stream(self, request: ChatRequest) -> AsyncGenerator[ChatEvent, None]:
        async for event in self._scripted.stream(request):
            if isinstance(event, ResponseDone):
                text, at = event.response.ai_message.text or "", 0
                for length in [*self._lengths, len(text)]:
                    if piece := text[at : at + length]:
                        yield TextDelta(piece)
                    at += length
            if not isinstance(event, TextDelta):
                yield event


TEXTS = st.lists(
    st.sampled_from(["bomb", "BOMB", "bo", "mb", " ", "cat", "\uff42\uff4f\uff4d\uff42", "炸弹", "炸"]), max_size=6
).map("".join)


def pieces_of(events: list[Event]) -> list[str]:
    """What the pieces of each reply are together."""
    made = [""]
    for event in events:
        if isinstance(event, TextDelta):
            made[-1] += event.text
        elif isinstance(event, ResponseDone):
            made.append("")
    return made


@given(
    st.lists(st.tuples(TEXTS, st.booleans()), min_size=1, max_size=4),
    st.lists(st.integers(1, 5), max_size=6),
    st.sampled_from(["refuse", "mask", "reprompt"]),
)
def test_no_forbidden_word_is_ever_shown_and_streamed_is_as_plain(
    said: list[tuple[str, bool]], lengths: list[int], action: Any
) -> None:
    """Whatever the model says in whatever rounds, and however it is cut into pieces."""
    advisor = SafeguardAdvisor(["bomb", "炸弹"], stage="output", action=action)
    turns = [calls(call("look", where="x"), text=text or None) if looks else AiMessage(text) for text, looks in said]
    turns.append(AiMessage("The end."))
    ends: list[Any] = []
    for streamed in (False, True):
        events: list[Event] = []
        run = Run()
        with ToolService(look) as service:
            chain = [advisor, ToolCallingAdvisor(service)]
            advised = asyncio.run(hold(chain, Split(turns, lengths), run=run, events=events if streamed else None))
        ends.append((advised.response, advised.new_messages, codes(run), run.messages))
        written = [each.text or "" for each in advised.new_messages if isinstance(each, AiMessage)]
        pieces = pieces_of(events)
        whole = [each.response.ai_message.text or "" for each in events if isinstance(each, ResponseDone)]
        replies = [each.ai_message.text or "" for each in run.intermediate_responses]
        for text in (*written, *pieces, *whole, *replies, text_of(advised) or ""):
            assert advisor.forbidden.found(text) is None
        if streamed:
            assert whole[-1] == text_of(advised)
        assert History.of(advised.new_messages) == tuple(advised.new_messages)

    assert ends[0] == ends[1]
