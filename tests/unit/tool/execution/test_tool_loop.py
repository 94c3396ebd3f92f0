"""The pure loop: what it asks for after each step, when it ends, and that its history is valid at every moment."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import RunStateError
from agentforge.model import (
    AiMessage,
    ChatResponse,
    FinishReason,
    History,
    TokenUsage,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
    mend_history,
)
from agentforge.tool.declare import ReturnBehavior
from agentforge.tool.execution import (
    Ask,
    CallModel,
    Finish,
    FinishKind,
    OfferedTool,
    RunBatch,
    Suspend,
    ToolExecutionResult,
    ToolLoop,
    ToolLoopState,
    ToolOutcome,
)

OK = ToolOutcome.OK
OFFERED = {
    "T": OfferedTool(ReturnBehavior.TO_LLM),
    "I": OfferedTool(ReturnBehavior.IMMEDIATE),
    "L": OfferedTool(ReturnBehavior.IMMEDIATE_IF_LAST),
}


def started(rounds: int = 100) -> ToolLoop:
    return ToolLoop(ToolLoopState(History((UserMessage("go"),)), rounds))


def asks(*names: str, reason: FinishReason = FinishReason.TOOL_EXECUTION) -> ChatResponse:
    calls = [ToolExecutionRequest(f"c{at}", name) for at, name in enumerate(names)]
    return ChatResponse(AiMessage(tool_execution_requests=calls), reason, TokenUsage(1, 2, 3))


def says(text: str, reason: FinishReason = FinishReason.STOP) -> ChatResponse:
    return ChatResponse(AiMessage(text), reason, TokenUsage(10, 20, 30))


def good(text: str = "fine") -> tuple[ToolOutcome, ToolExecutionResult]:
    return OK, ToolExecutionResult.success(text)


def bad(outcome: ToolOutcome = ToolOutcome.FAILED) -> tuple[ToolOutcome, ToolExecutionResult]:
    return outcome, ToolExecutionResult.failure("no")


def is_valid(loop: ToolLoop) -> bool:
    return mend_history(tuple(loop.messages)) == (tuple(loop.messages), ())


# -- the conversation ----------------------------------------------------------------------------


def test_an_answer_without_calls_ends_the_loop_and_joins_the_history() -> None:
    loop = started()
    assert loop.next() == CallModel(0)
    loop.replied(says("hello"), OFFERED)

    step = loop.next()

    assert isinstance(step, Finish) and step.kind is FinishKind.ANSWER
    assert loop.messages[-1] == AiMessage("hello")


def test_a_round_is_call_batch_call_and_the_results_stand_in_the_order_of_the_calls() -> None:
    loop = started()
    loop.replied(asks("T", "T", "T"), OFFERED)
    batch = loop.next()
    assert isinstance(batch, RunBatch)
    assert [call.position for call in batch.calls] == [0, 1, 2]

    loop.resolved({2: good("third"), 0: good("first")})
    assert loop.messages == (UserMessage("go"),), "the reply joins the history only with all its results"
    loop.resolved({1: good("second")})

    assert loop.next() == CallModel(1)
    results = [message for message in loop.messages if isinstance(message, ToolExecutionResultMessage)]
    assert [(result.id, result.text) for result in results] == [("c0", "first"), ("c1", "second"), ("c2", "third")]


def test_calls_are_known_by_position_since_ids_may_repeat() -> None:
    loop = started()
    twice = [ToolExecutionRequest("same", "T", "1"), ToolExecutionRequest("same", "T", "2")]
    loop.replied(ChatResponse(AiMessage(tool_execution_requests=twice)), OFFERED)
    loop.resolved({0: good("one"), 1: good("two")})
    results = [message.text for message in loop.messages if isinstance(message, ToolExecutionResultMessage)]
    assert results == ["one", "two"]


@pytest.mark.parametrize(
    ("positions", "why"),
    [({5: good()}, "no such call"), ({-1: good()}, "no such call")],
)
def test_a_result_for_a_call_that_was_not_made_is_refused(
    positions: dict[int, tuple[ToolOutcome, ToolExecutionResult]], why: str
) -> None:
    loop = started()
    loop.replied(asks("T"), OFFERED)
    with pytest.raises(ValueError, match="not waiting"):
        loop.resolved(positions)


def test_a_second_result_for_one_call_is_refused() -> None:
    loop = started()
    loop.replied(asks("T", "T"), OFFERED)
    loop.resolved({0: good()})
    with pytest.raises(ValueError, match="not waiting"):
        loop.resolved({0: good()})


def test_results_without_a_reply_are_refused() -> None:
    with pytest.raises(ValueError, match="no calls"):
        started().resolved({0: good()})


# -- immediate return (cases/java-behaviour A) -----------------------------------------------------

RETURNS = [
    ("T", "AGAIN"), ("TT", "AGAIN"), ("II", "RETURN"), ("TI", "AGAIN"), ("L", "RETURN"), ("LL", "RETURN"),
    ("TL", "RETURN"), ("LT", "AGAIN"), ("LI", "RETURN"), ("TIL", "RETURN"), ("ITL", "RETURN"), ("ILT", "AGAIN"),
    ("LTI", "AGAIN"), ("LIT", "AGAIN"), ("T!", "AGAIN"), ("L!", "AGAIN"), ("I!I", "AGAIN"), ("II!", "AGAIN"),
    ("T!L", "AGAIN"), ("L!T", "AGAIN"), ("I!L", "AGAIN"), ("T!IL", "AGAIN"), ("TIL!", "AGAIN"),
]  # fmt: skip


@pytest.mark.parametrize(("calls", "expected"), RETURNS)
def test_the_run_returns_at_once_iff_all_is_ok_and_the_last_or_every_behaviour_says_so(
    calls: str, expected: str
) -> None:
    names = [letter for letter in calls if letter != "!"]
    fails = [calls[at + 1 : at + 2] == "!" for at, letter in enumerate(calls) if letter != "!"]
    loop = started()
    loop.replied(asks(*names), OFFERED)

    loop.resolved({at: bad() if failed else good() for at, failed in enumerate(fails)})

    step = loop.next()
    if expected == "AGAIN":
        assert step == CallModel(1)
    else:
        assert isinstance(step, Finish) and step.kind is FinishKind.RETURN_DIRECT
        assert step.response is not None and step.response.ai_message.has_tool_execution_requests
    assert is_valid(loop)


# -- replies that were broken off ------------------------------------------------------------------

BROKEN_OFF = [
    (FinishReason.LENGTH, CallModel, "cut off"),
    (FinishReason.ERROR, Finish, "error"),
    (FinishReason.CONTENT_FILTER, Finish, "content filter"),
]


@pytest.mark.parametrize(("reason", "then", "told"), BROKEN_OFF)
def test_no_call_of_a_broken_off_reply_runs_and_each_says_why(reason: FinishReason, then: type, told: str) -> None:
    loop = started()
    loop.replied(asks("T", "I", reason=reason), OFFERED)

    step = loop.next()

    assert type(step) is then
    results = [message for message in loop.messages if isinstance(message, ToolExecutionResultMessage)]
    assert len(results) == 2 and all(result.is_error and told in result.text for result in results)
    assert [record.outcome for record in loop.state.records] == [ToolOutcome.CANCELLED] * 2
    assert is_valid(loop)


@pytest.mark.parametrize("reason", [FinishReason.STOP, FinishReason.OTHER, FinishReason.TOOL_EXECUTION])
def test_calls_run_whatever_else_the_finish_reason_says(reason: FinishReason) -> None:
    loop = started()
    loop.replied(asks("T", reason=reason), OFFERED)
    assert isinstance(loop.next(), RunBatch)


def test_a_pause_without_calls_asks_the_model_again_and_counts_as_a_round() -> None:
    loop = started(rounds=1)
    loop.replied(says("thinking", FinishReason.PAUSE), OFFERED)
    assert loop.next() == CallModel(1)
    loop.replied(says("still", FinishReason.PAUSE), OFFERED)
    step = loop.next()
    assert isinstance(step, Finish) and step.kind is FinishKind.ROUND_TRIP_LIMIT


# -- limits ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 8])
def test_n_round_trips_allow_n_continuations_and_the_calls_of_the_next_do_not_run(limit: int) -> None:
    loop = started(rounds=limit)
    model_calls = batches = 0
    while not isinstance(step := loop.next(), Finish):
        if isinstance(step, CallModel):
            model_calls += 1
            loop.replied(asks("T"), OFFERED)
        else:
            batches += 1
            loop.resolved({0: good()})

    assert step.kind is FinishKind.ROUND_TRIP_LIMIT
    assert (model_calls, batches) == (limit + 1, limit)
    assert loop.state.records[-1].outcome is ToolOutcome.LIMITED
    assert is_valid(loop)


def test_an_immediate_return_needs_no_round_trip() -> None:
    loop = started(rounds=0)
    loop.replied(asks("I"), OFFERED)
    loop.resolved({0: good()})
    step = loop.next()
    assert isinstance(step, Finish) and step.kind is FinishKind.RETURN_DIRECT


def test_usage_is_summed_over_all_replies() -> None:
    loop = started()
    loop.replied(asks("T"), OFFERED)
    loop.resolved({0: good()})
    loop.replied(says("done"), OFFERED)
    assert loop.state.token_usage == TokenUsage(11, 22, 33)


# -- suspension and abort --------------------------------------------------------------------------


def test_a_call_that_is_asked_about_suspends_the_loop_before_the_reply_joins_the_history() -> None:
    loop = started()
    loop.replied(asks("T", "T"), OFFERED)
    loop.resolved({1: Ask("refund above 100")})
    step = loop.next()
    assert isinstance(step, Suspend) and step.waiting == {1: Ask("refund above 100")}
    assert loop.messages == (UserMessage("go"),)


def test_a_saved_suspended_loop_offers_its_calls_again() -> None:
    loop = started()
    loop.replied(asks("T", "I"), OFFERED)
    loop.resolved({0: good("kept"), 1: Ask()})
    loop.next()

    again = ToolLoop(ToolLoopState.from_json(json.dumps(loop.state.to_json())))

    batch = again.next()
    assert isinstance(batch, RunBatch) and [call.position for call in batch.calls] == [1]
    again.resolved({1: good("now")})
    assert [message.text for message in again.messages[-2:]] == ["kept", "now"]  # type: ignore[union-attr]


def test_abort_fills_every_open_call_keeps_finished_ones_and_ends() -> None:
    loop = started()
    loop.replied(asks("T", "T", "T"), OFFERED)
    loop.resolved({1: good("done")})

    loop.abort("the user left")

    step = loop.next()
    assert isinstance(step, Finish) and step.kind is FinishKind.ABORTED
    outcomes = [record.outcome for record in loop.state.records]
    assert outcomes == [ToolOutcome.CANCELLED, OK, ToolOutcome.CANCELLED]
    assert is_valid(loop)


def test_abort_after_the_end_changes_nothing() -> None:
    loop = started()
    loop.replied(says("hello"), OFFERED)
    loop.abort("late")
    step = loop.next()
    assert isinstance(step, Finish) and step.kind is FinishKind.ANSWER


# -- saved states ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "broken",
    ["{", "[]", '{"version": 99}', '{"version": 1}', '{"version": 1, "messages": 3}', "null"],
)
def test_a_state_that_cannot_be_read_is_refused_with_a_reason(broken: str) -> None:
    with pytest.raises(RunStateError) as caught:
        ToolLoopState.from_json(broken)
    assert caught.value.code == "AF504"


replies = st.one_of(
    st.just("answer"),
    st.lists(st.sampled_from("TIL"), min_size=1, max_size=4).map(tuple),
)


@settings(max_examples=100, deadline=None)
@given(
    script=st.lists(st.tuples(replies, st.sampled_from(list(FinishReason))), min_size=1, max_size=6),
    outcomes=st.lists(st.sampled_from(list(ToolOutcome)), min_size=30, max_size=30),
    save_at=st.integers(0, 12),
    abort_at=st.integers(0, 14),
)
def test_whatever_happens_the_history_is_valid_and_a_saved_state_goes_on_the_same(
    script: list[tuple[str | tuple[str, ...], FinishReason]],
    outcomes: list[ToolOutcome],
    save_at: int,
    abort_at: int,
) -> None:
    loop = started(rounds=4)
    feed, results = iter(script), iter(outcomes)
    for number in range(20):
        assert is_valid(loop)
        if number == abort_at:
            loop.abort("enough")
        step = loop.next()
        if isinstance(step, Finish):
            break
        if number == save_at:
            text = json.dumps(loop.state.to_json())
            loop = ToolLoop(ToolLoopState.from_json(text))
            assert json.dumps(loop.state.to_json()) == text
            assert loop.next() == step
        if isinstance(step, CallModel):
            reply, reason = next(feed, ("answer", FinishReason.STOP))
            loop.replied(says("x", reason) if isinstance(reply, str) else asks(*reply, reason=reason), OFFERED)
        elif isinstance(step, RunBatch):
            given_ = {}
            for call in step.calls:
                outcome = next(results, OK)
                given_[call.position] = good() if outcome is OK else bad(outcome)
            loop.resolved(given_)
    assert is_valid(loop)
