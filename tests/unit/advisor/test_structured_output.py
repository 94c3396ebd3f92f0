"""Answers in a form: how a model is asked for it, what is checked, and what becomes of an answer that does not fit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import ChatClient, ScriptedChatModel, ToolService, tool
from agentforge.advisor import (
    Advised,
    AdvisorOrderError,
    BudgetAdvisor,
    Chain,
    MessageMemoryAdvisor,
    StructuredOutputAdvisor,
    StructuredOutputError,
    ToolCallingAdvisor,
    arranged,
)
from agentforge.errors import ModelError
from agentforge.memory import ChatMemory, InMemoryStore
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    Event,
    FinishReason,
    History,
    ResponseDone,
    SystemMessage,
    ThinkingContent,
    TokenUsage,
    ToolCallDelta,
)
from agentforge.model.scripted import call, calls
from agentforge.tool import ReturnBehavior
from agentforge.tool.execution import Ask, AttemptDiscarded, PlannedCall, Proceed, Run, ToolLoopState
from tests.unit.advisor.guarding import BOTH, codes, hold, shown, text_of
from tests.unit.advisor.structuring import (
    FINAL,
    GOOD,
    MISSING,
    MODES,
    QUESTION,
    WORDS,
    Weather,
    get_degrees,
    last_user,
    said,
)

# -- rows 270 to 277 of the behaviour that others have ---------------------------------------------


@MODES
@BOTH
async def test_a_valid_first_reply_takes_one_call(mode: Any, streamed: bool) -> None:
    """Row 270; the text of the reply is the JSON in every mode."""
    model = ScriptedChatModel([said(mode, GOOD)])
    advised = await hold(
        [StructuredOutputAdvisor(Weather, mode)], model, request=QUESTION, events=[] if streamed else None
    )

    assert text_of(advised) == GOOD
    assert [each.text for each in advised.new_messages if isinstance(each, AiMessage)] == [GOOD]
    assert advised.response is not None
    assert advised.response.finish_reason is FinishReason.STOP
    assert len(model.requests) == 1


@MODES
@BOTH
async def test_a_reply_with_a_missing_field_is_asked_for_again(mode: Any, streamed: bool) -> None:
    """Row 271: two calls; the second question is the first with what is wrong."""
    run = Run()
    model = ScriptedChatModel([said(mode, MISSING), said(mode, GOOD)])
    advised = await hold(
        [StructuredOutputAdvisor(Weather, mode)], model, request=QUESTION, run=run, events=[] if streamed else None
    )

    assert text_of(advised) == GOOD
    assert last_user(model).startswith("How warm is it in Oslo?\n\n")
    assert WORDS in last_user(model)
    assert codes(run) == ["structured_output_reprompted"]
    assert len(advised.new_messages) == 1, "what was refused is in no history"


@MODES
@BOTH
@pytest.mark.parametrize("max_reprompts", [0, 1, 2])
async def test_a_reply_that_stays_invalid_is_an_error(mode: Any, streamed: bool, max_reprompts: int) -> None:
    """Rows 272 and 273, where ours differs: the error has the last text, and what is wrong with it."""
    model = ScriptedChatModel([said(mode, MISSING)], repeat=True)
    with pytest.raises(StructuredOutputError) as raised:
        await hold(
            [StructuredOutputAdvisor(Weather, mode, max_reprompts)],
            model,
            request=QUESTION,
            events=[] if streamed else None,
        )

    error = raised.value
    assert len(model.requests) == error.attempts == max_reprompts + 1
    assert MISSING in error.text
    assert error.problems == (WORDS,)
    assert error.code == "AF512"
    assert f"after {max_reprompts + 1} attempt" in error.message


async def test_texts_of_several_attempts_do_not_pile_up() -> None:
    model = ScriptedChatModel(["no", MISSING, GOOD])
    await hold([StructuredOutputAdvisor(Weather)], model, request=QUESTION)

    assert last_user(model).count("cannot be used") == 1
    assert WORDS in last_user(model)


@MODES
async def test_a_reply_without_text_is_asked_for_again(mode: Any) -> None:
    """Row 275."""
    model = ScriptedChatModel([AiMessage(), said(mode, GOOD)])
    advised = await hold([StructuredOutputAdvisor(Weather, mode)], model, request=QUESTION)

    assert text_of(advised) == GOOD
    assert "it has no text" in last_user(model)


@MODES
@pytest.mark.parametrize("last", [GOOD, MISSING])
async def test_usage_is_summed_over_all_attempts(mode: Any, last: str) -> None:
    """Row 276, also where they are used up."""
    used = TokenUsage(10, 5, 15)
    turns = [ChatResponse(_message(mode, text), token_usage=used) for text in (MISSING, MISSING, last)]
    run = Run()
    try:
        await hold([StructuredOutputAdvisor(Weather, mode)], turns, request=QUESTION, run=run)
    except StructuredOutputError:
        assert last == MISSING

    assert run.token_usage == TokenUsage(30, 15, 45)


def _message(mode: str, text: str) -> AiMessage:
    turn = said(mode, text)
    return AiMessage(turn) if isinstance(turn, str) else calls(turn)


@MODES
async def test_a_stream_shows_snapshots_and_takes_a_bad_one_back(mode: Any) -> None:
    """Row 277, where ours differs: pieces are told as they come, and only the last reply is told to be done."""
    events: list[Event] = []
    model = ScriptedChatModel([said(mode, MISSING), said(mode, GOOD)])
    await hold([StructuredOutputAdvisor(Weather, mode)], model, request=QUESTION, events=events)

    at = next(at for at, event in enumerate(events) if isinstance(event, AttemptDiscarded))
    assert MISSING in shown(events[:at])
    assert GOOD in shown(events[at:])
    done = [event for event in events if isinstance(event, ResponseDone)]
    assert [event.response.ai_message.text for event in done] == [GOOD]
    assert events.index(done[0]) > at
    assert not [event for event in events if isinstance(event, ToolCallDelta)], "the tool is nobody else's affair"


# -- with tools ------------------------------------------------------------------------------------


@MODES
@BOTH
@pytest.mark.parametrize("inside", [False, True])
async def test_the_loop_ends_with_the_structure(mode: Any, streamed: bool, inside: bool) -> None:
    """Outside of the loop or inside; a tool that ran stays, and is not run again for another attempt."""
    ran: list[str] = []

    def look(city: str) -> int:
        "How warm it is."
        ran.append(city)
        return 4

    advisor = StructuredOutputAdvisor(Weather, mode)
    events: list[Event] = []
    model = ScriptedChatModel([call("look", city="Oslo"), said(mode, MISSING), said(mode, GOOD)])
    with ToolService(look) as service:
        loop = ToolCallingAdvisor(service)
        advised = await hold(
            [loop, advisor] if inside else [advisor, loop],
            model,
            request=QUESTION,
            events=events if streamed else None,
        )

    assert text_of(advised) == GOOD
    assert ran == ["Oslo"]
    kinds = [type(each).__name__ for each in advised.new_messages]
    assert kinds == ["AiMessage", "ToolExecutionResultMessage", "AiMessage"]
    assert advised.new_messages[-1] == AiMessage(GOOD)
    assert WORDS in last_user(model)
    History.of((*QUESTION.messages, *advised.new_messages))


@BOTH
async def test_an_answer_beside_other_calls_waits_for_their_results(streamed: bool) -> None:
    """It was made without them: they run, and the model is asked again."""
    run = Run()
    events: list[Event] = []
    model = ScriptedChatModel(
        [calls(call(FINAL, GOOD), call("get_degrees", city="Oslo")), call(FINAL, city="Oslo", degrees=5)]
    )
    with ToolService(get_degrees) as service:
        advised = await hold(
            [StructuredOutputAdvisor(Weather, "tool"), ToolCallingAdvisor(service)],
            model,
            request=QUESTION,
            run=run,
            events=events if streamed else None,
        )

    assert json.loads(text_of(advised) or "") == {"city": "Oslo", "degrees": 5}
    assert [each.request.name for each in run.tool_executions] == ["get_degrees"]
    assert codes(run) == ["structured_output_early"]
    assert {event.index for event in events if isinstance(event, ToolCallDelta)} == ({0} if streamed else set())


@pytest.mark.parametrize(("second", "attempts"), [(GOOD, 1), ('{"city":"Rome","degrees":9}', 2)])
async def test_an_answer_that_is_given_twice_is_one_where_both_say_the_same(second: str, attempts: int) -> None:
    model = ScriptedChatModel([calls(call(FINAL, GOOD), call(FINAL, second)), call(FINAL, GOOD)])
    advised = await hold([StructuredOutputAdvisor(Weather, "tool")], model, request=QUESTION)

    assert text_of(advised) == GOOD
    assert len(model.requests) == attempts


async def test_reasoning_stays_and_words_before_the_call_are_left_out() -> None:
    events: list[Event] = []
    turn = calls(call(FINAL, GOOD), text="I know it.", thinking="Four degrees.")
    advised = await hold([StructuredOutputAdvisor(Weather, "tool")], [turn], request=QUESTION, events=events)

    assert advised.response is not None
    assert advised.response.ai_message.contents[0] == ThinkingContent("Four degrees.")
    assert text_of(advised) == shown(events) == GOOD


async def test_words_before_other_calls_are_told() -> None:
    events: list[Event] = []
    turns = [calls(call("get_degrees", city="Oslo"), text="Let me look."), call(FINAL, GOOD)]
    with ToolService(get_degrees) as service:
        await hold(
            [StructuredOutputAdvisor(Weather, "tool"), ToolCallingAdvisor(service)],
            turns,
            request=QUESTION,
            events=events,
        )

    assert shown(events) == f"Let me look.{GOOD}"


@MODES
async def test_a_result_that_is_returned_directly_must_have_the_form(mode: Any) -> None:
    """One that has it is the answer; of one that has not the model makes it."""

    @tool("A report.", return_behavior=ReturnBehavior.IMMEDIATE)
    def report(text: str) -> str:
        return text

    for text, asked in ((GOOD, 1), ("Four degrees.", 2)):
        model = ScriptedChatModel([call("report", text=text), said(mode, GOOD)])
        client = ChatClient(model, tools=[report], advisors=[StructuredOutputAdvisor(Weather, mode)])
        reply = await client.prompt("How warm?").call()

        assert (reply.content, len(model.requests)) == (GOOD, asked)


async def test_a_result_that_is_returned_directly_may_be_let_pass() -> None:
    """Whatever it is; an answer of the model's own is checked all the same."""

    @tool("A report.", return_behavior=ReturnBehavior.IMMEDIATE)
    def report(text: str) -> str:
        return text

    for turns, content in (([call("report", text="Four degrees.")], "Four degrees."), (["Four degrees.", GOOD], GOOD)):
        model = ScriptedChatModel(turns)
        advisor = StructuredOutputAdvisor(Weather, "prompt", checks_direct=False)
        reply = await ChatClient(model, tools=[report], advisors=[advisor]).prompt("How warm?").call()

        assert (reply.content, len(model.requests)) == (content, len(turns))


async def test_replies_whose_calls_the_caller_runs_pass() -> None:
    model = ScriptedChatModel([call("get_degrees", city="Oslo")])
    client = ChatClient(
        model,
        tools=[get_degrees],
        advisors=[StructuredOutputAdvisor(Weather), ToolCallingAdvisor(user_controlled=True)],
    )
    reply = await client.prompt("How warm?").call()

    assert [each.name for each in reply.handed_back] == ["get_degrees"]


class AskForRome:
    """A call for Rome waits until it is decided."""

    decided = False

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Any]:
        waits = [not self.decided and "Rome" in each.request.arguments for each in batch]
        return [Ask("may it?") if wait else Proceed() for wait in waits]


@MODES
@BOTH
@pytest.mark.parametrize("rounds", [0, 1])
async def test_a_turn_that_is_suspended_goes_on_to_its_structure(mode: Any, streamed: bool, rounds: int) -> None:
    """Also where it was suspended in a further attempt; what ran before that belongs to it."""
    approval = AskForRome()
    model = ScriptedChatModel(
        [
            *[call("get_degrees", city="Oslo")] * rounds,
            said(mode, MISSING),
            call("get_degrees", city="Rome"),
            said(mode, "{}"),
            said(mode, GOOD),
        ]
    )
    with ToolService(get_degrees, gates=[approval]) as service:
        chain = [StructuredOutputAdvisor(Weather, mode), ToolCallingAdvisor(service)]
        advised = await hold(chain, model, request=QUESTION, events=[] if streamed else None)
        assert advised.suspended is not None
        assert advised.response is None

        approval.decided = True
        run = Run()
        run.resume_from(ToolLoopState.from_json(advised.suspended.to_json()))
        after = await hold(chain, model, request=QUESTION, run=run, events=[] if streamed else None)

    assert text_of(after) == GOOD
    ran = [each for each in after.new_messages if isinstance(each, AiMessage) and each.has_tool_execution_requests]
    assert len(ran) == rounds + 1
    History.of((*QUESTION.messages, *after.new_messages))


def test_it_stands_inside_of_the_memory() -> None:
    """Which would else keep each attempt as a turn."""
    memory = MessageMemoryAdvisor(ChatMemory(InMemoryStore()))
    with pytest.raises(AdvisorOrderError, match="'structured_output' wants to stand after 'message_memory'"):
        arranged([StructuredOutputAdvisor(Weather), memory])
    links = arranged([memory], [StructuredOutputAdvisor(Weather)])
    assert [link.name for link in links] == ["message_memory", "structured_output"]


@MODES
async def test_a_last_round_without_tools_gives_the_structure(mode: Any) -> None:
    """The one that a budget asks for when it is used up."""
    model = ScriptedChatModel([call("get_degrees", city="Oslo"), call("get_degrees", city="Rome"), said(mode, GOOD)])
    advisors = [BudgetAdvisor(calls=1, on_limit="finish"), StructuredOutputAdvisor(Weather, mode)]
    reply = await ChatClient(model, tools=[get_degrees], advisors=advisors).prompt("How warm?").call()

    assert reply.content == GOOD


# -- what is no answer ------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", [FinishReason.REFUSAL, FinishReason.CONTENT_FILTER, FinishReason.ERROR])
@MODES
async def test_what_was_refused_or_filtered_is_not_asked_for_again(mode: Any, reason: FinishReason) -> None:
    model = ScriptedChatModel([ChatResponse(AiMessage("I may not."), reason)], repeat=True)
    with pytest.raises(StructuredOutputError, match=f"its reply ended with '{reason.value}'") as raised:
        await hold([StructuredOutputAdvisor(Weather, mode)], model, request=QUESTION)

    assert (raised.value.text, raised.value.attempts, len(model.requests)) == ("I may not.", 1, 1)


async def test_a_reply_that_was_cut_off_is_asked_for_again_and_shorter() -> None:
    model = ScriptedChatModel([ChatResponse(AiMessage('{"city": "Os'), FinishReason.LENGTH), GOOD])
    await hold([StructuredOutputAdvisor(Weather)], model, request=QUESTION)

    assert "it was cut off at the output limit; make it shorter" in last_user(model)


async def test_errors_of_the_model_pass() -> None:
    with pytest.raises(ModelError, match="out of order"):
        await hold([StructuredOutputAdvisor(Weather)], [ModelError("out of order")], request=QUESTION)


async def test_a_secret_is_in_no_text_about_an_answer() -> None:
    """What a model repeats of one reaches neither the next request nor the error."""
    run = Run()
    run.secrets.add("sk-secret-value-1234")
    model = ScriptedChatModel(['{"city": "Oslo", "degrees": "sk-secret-value-1234"}'], repeat=True)
    with pytest.raises(StructuredOutputError) as raised:
        await hold([StructuredOutputAdvisor(Weather, max_reprompts=1)], model, request=QUESTION, run=run)

    assert "sk-secret" not in last_user(model)
    assert "sk-secret" not in str(raised.value)
    assert "sk-secret" not in "".join(raised.value.problems)
    assert "sk-secret" not in repr(run.notices)


async def test_an_end_that_is_no_model_is_asked_in_words() -> None:
    """What it can do is not known."""
    asked: list[ChatRequest] = []

    async def end(run: Run, request: ChatRequest, emit: Any) -> Advised:
        asked.append(request)
        return Advised(ChatResponse(AiMessage(GOOD)), (AiMessage(GOOD),))

    advised = await StructuredOutputAdvisor(Weather).advise(Run(), QUESTION, Chain((), end))

    assert text_of(advised) == GOOD
    assert isinstance(asked[0].messages[0], SystemMessage)
