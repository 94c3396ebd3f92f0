"""What a turn may use up: ten means ten, what is beyond does not run, and the turn ends as the setting says."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from agentforge import ScriptedChatModel, ToolOutcome, ToolService, tool
from agentforge.advisor import AdvisorError, Chain, ToolCallingAdvisor, arranged, model_call
from agentforge.advisor.budget import BudgetAdvisor
from agentforge.advisor.faults import BudgetExceededError
from agentforge.errors import ConfigurationError
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    Event,
    FinishReason,
    History,
    Notice,
    TextDelta,
    TokenUsage,
    ToolChoice,
)
from agentforge.model.scripted import call, calls
from agentforge.tool import ReturnBehavior
from agentforge.tool.execution import Run
from tests.unit.advisor.budgeting import (
    BOTH,
    PLACES,
    PRICES,
    QUESTION,
    hold,
    notices,
    ran,
    ring,
    rings,
    spent_by,
)

# -- tool calls ----------------------------------------------------------------------------------


@BOTH
@PLACES
@pytest.mark.parametrize(
    ("limit", "batches", "ok", "refused"),
    [(10, [10], 10, 0), (10, [4, 6], 10, 0), (10, [11], 10, 1), (10, [4, 9], 10, 3), (0, [2], 0, 2), (1, [1], 1, 0)],
)
async def test_ten_means_ten(
    limit: int, batches: list[int], ok: int, refused: int, streamed: bool, inside: bool
) -> None:
    """Of a batch the first ones run, the others are ``LIMITED``, and the turn then ends."""
    run = Run()
    error = None
    try:
        await hold(BudgetAdvisor(calls=limit), rings(*batches), inside=inside, run=run, events=[] if streamed else None)
    except BudgetExceededError as caught:
        error = caught

    outcomes = [execution.outcome for execution in run.tool_executions]
    assert outcomes.count(ToolOutcome.OK) == ok and outcomes.count(ToolOutcome.LIMITED) == refused
    assert len(outcomes) == ok + refused
    assert (error is not None) is (refused > 0)
    if error is not None:
        assert (error.code, error.limit, error.used, error.allowed) == ("AF511", "calls", limit, limit)
        assert f"{limit} of {limit} tool calls" in error.message
        assert error.partial.messages == run.messages and History.of(run.messages) == run.messages
        assert len(error.partial.tool_executions) == ok + refused
        texts = [each.result_text() for each in run.tool_executions if each.outcome is ToolOutcome.LIMITED]
        assert all("Not run: the budget of this turn is used up" in text for text in texts)


async def test_a_tool_has_a_limit_of_its_own_which_names_it() -> None:
    run = Run()
    turns = [calls(call("ring", times=1), call("knock"), call("ring", times=1), call("ring", times=1)), "Done."]
    with pytest.raises(BudgetExceededError, match="2 of 2 calls of the tool 'ring'") as raised:
        await hold(BudgetAdvisor(calls_per_tool={"ring": 2}), turns, run=run)

    assert [execution.outcome.value for execution in run.tool_executions] == ["ok", "ok", "ok", "limited"]
    assert raised.value.limit == "calls:ring"


@pytest.mark.parametrize(
    ("settings", "batch", "outcomes"),
    [
        ({"calls": 2, "calls_per_tool": {"ring": 1}}, "rrk", "ok limited ok"),
        ({"calls": 1, "calls_per_tool": 1}, "rk", "ok limited"),
        ({"calls": 2, "calls_per_tool": 2}, "krr", "ok ok limited"),
        ({"calls_per_tool": 1}, "rkrk", "ok ok limited limited"),
    ],
)
async def test_both_limits_hold_together(settings: dict[str, Any], batch: str, outcomes: str) -> None:
    """One does not use up what the other refuses."""
    run = Run()
    names = {"r": call("ring", times=1), "k": call("knock")}
    advisor = BudgetAdvisor(**settings)
    with pytest.raises(BudgetExceededError):
        await hold(advisor, [calls(*(names[each] for each in batch)), "Done."], run=run)

    found = [execution.outcome.value for execution in run.tool_executions]
    assert found == outcomes.split()
    spent = await spent_by(advisor, run)
    for sign, name in (("r", "ring"), ("k", "knock")):
        proceeded = sum(outcome == "ok" and each == sign for each, outcome in zip(batch, found, strict=True))
        assert spent.get(f"calls:{name}", proceeded) == proceeded


@pytest.mark.parametrize(("settings", "told"), [({"calls": 5}, True), ({"model_calls": 5}, False)])
async def test_a_gate_that_is_not_in_place_is_told(settings: dict[str, Any], told: bool) -> None:
    """Else calls would be without a limit, and nobody would know."""
    error = None
    with ToolService(ring) as service:
        chain = Chain(
            arranged([BudgetAdvisor(**settings), ToolCallingAdvisor(service)]), model_call(ScriptedChatModel(rings(1)))
        )
        try:
            await chain.next(Run(), QUESTION)
        except AdvisorError as caught:
            error = caught.message

    assert error == (
        "the budget limits tool calls, and its gate is not among those of the tool service" if told else None
    )


async def test_calls_of_earlier_turns_do_not_count_for_a_turn() -> None:
    advisor = BudgetAdvisor(calls=2)
    for _ in range(3):
        run = Run(memory_id="one")
        await hold(advisor, rings(2), run=run)
        assert ran(run) == 2


@BOTH
@PLACES
async def test_an_answer_ends_the_turn_in_the_place_of_an_error(streamed: bool, inside: bool) -> None:
    """What ran stays; the finish reason says what it was."""
    events: list[Event] = []
    run = Run()
    advisor = BudgetAdvisor(calls=2, on_limit="answer", text="Enough.")
    model = ScriptedChatModel(rings(3), repeat=True)
    advised = await hold(advisor, model, inside=inside, run=run, events=events if streamed else None)

    assert advised.response is not None
    assert (advised.response.finish_reason, advised.response.raw_finish_reason) == (
        FinishReason.OTHER,
        "budget_exceeded",
    )
    kinds = [type(message).__name__ for message in advised.new_messages]
    assert kinds == ["AiMessage", *["ToolExecutionResultMessage"] * 3, "AiMessage"]
    assert advised.new_messages[-1] == AiMessage("Enough.")
    assert len(model.requests) == 1 and ran(run) == 2
    assert [notice.details["limit"] for notice in notices(run, "budget_exceeded")] == ["calls"]
    if streamed:
        assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Enough."
        assert [event for event in events if isinstance(event, Notice)] == run.notices


@BOTH
@PLACES
async def test_a_model_may_finish_without_tools(streamed: bool, inside: bool) -> None:
    """It is asked once more with what ran, and must not call."""
    run, model = Run(), ScriptedChatModel([*rings(3)[:-1], "Two rings."])
    advised = await hold(
        BudgetAdvisor(calls=2, on_limit="finish"), model, inside=inside, run=run, events=[] if streamed else None
    )

    assert advised.new_messages[-1] == AiMessage("Two rings.") and len(advised.new_messages) == 5
    assert [request.parameters.tool_choice for request in model.requests] == [None, ToolChoice.NONE]
    assert model.requests[1].messages == (*QUESTION.messages, *advised.new_messages[:4])
    assert model.requests[1].parameters.tools == model.requests[0].parameters.tools
    assert run.messages == (*QUESTION.messages, *advised.new_messages)


@BOTH
@PLACES
@pytest.mark.parametrize("settings", [{"calls": 2}, {"model_calls": 2}])
async def test_a_model_that_calls_all_the_same_gets_no_further(
    settings: dict[str, Any], streamed: bool, inside: bool
) -> None:
    run, model = (
        Run(),
        ScriptedChatModel([[call("ring", times=1)] * (2 if "model_calls" in settings else 3)], repeat=True),
    )
    advisor = BudgetAdvisor(**settings, on_limit="finish", text="Enough.")
    advised = await hold(advisor, model, inside=inside, run=run, events=[] if streamed else None)

    assert len(model.requests) == 2 and ran(run) == 2
    assert advised.new_messages[-1] == AiMessage("Enough.")
    assert History.of(advised.new_messages) == tuple(advised.new_messages)


async def test_a_result_that_goes_to_the_user_needs_no_model_call() -> None:
    @tool("Look.", return_behavior=ReturnBehavior.IMMEDIATE)
    def look() -> str:
        return "seen"

    advised = await hold(BudgetAdvisor(model_calls=1, tokens=1), [call("look")], tools=(look,))

    assert advised.returned_directly


# -- model calls, tokens, time, cost -------------------------------------------------------------


@BOTH
@PLACES
@pytest.mark.parametrize("limit", [1, 2, 4])
async def test_no_more_model_calls_than_allowed(limit: int, streamed: bool, inside: bool) -> None:
    """Calls whose results nobody could read do not run."""
    run, model = Run(), ScriptedChatModel([call("ring", times=1)], repeat=True)
    with pytest.raises(BudgetExceededError, match=f"{limit} of {limit} model calls"):
        await hold(BudgetAdvisor(model_calls=limit), model, inside=inside, run=run, events=[] if streamed else None)

    assert len(model.requests) == limit and ran(run) == limit - 1
    assert run.tool_executions[-1].outcome is ToolOutcome.LIMITED


@PLACES
@pytest.mark.parametrize("limit", [1, 2, 4])
async def test_the_last_model_call_is_kept_for_the_answer(limit: int, inside: bool) -> None:
    model = ScriptedChatModel([*[call("ring", times=1)] * (limit - 1), "Done."])
    run = Run()
    advised = await hold(BudgetAdvisor(model_calls=limit, on_limit="finish"), model, inside=inside, run=run)

    assert [each.code for each in run.notices][-1] == "budget_exceeded"  # and no warning of it behind
    assert len(model.requests) == limit and advised.new_messages[-1] == AiMessage("Done.")
    assert model.requests[-1].parameters.tool_choice == ToolChoice.NONE


@BOTH
@pytest.mark.parametrize(
    "turn",
    [
        {"text": "Let me", "finish_reason": "pause"},
        {"calls": [{"name": "ring", "args": {"times": 1}}], "finish_reason": "length"},
        {"calls": [{"name": "ring", "args": {"times": "often"}}]},
    ],
)
async def test_rounds_in_which_nothing_runs_count_too(turn: Any, streamed: bool) -> None:
    """A reply that paused, one that was cut off, arguments that do not fit."""
    advisor = BudgetAdvisor(model_calls=3)
    model = ScriptedChatModel([turn], repeat=True)
    with ToolService(ring, gates=advisor.gates, arguments_error_handler="return_to_model") as service:
        links = arranged([advisor, ToolCallingAdvisor(service)])

        async def emit(event: Event) -> None:
            pass

        chain = Chain(links, model_call(model), emit=emit if streamed else None)
        with pytest.raises(BudgetExceededError):
            await chain.next(Run(), QUESTION)

    assert len(model.requests) == 3


@PLACES
@pytest.mark.parametrize(("limit", "asked"), [(1, 1), (100, 1), (101, 2), (200, 2), (201, 3), (300, 3)])
async def test_no_model_call_begins_once_the_tokens_are_used(limit: int, asked: int, inside: bool) -> None:
    """The last one may go over it: nobody knows before what it will take. An answer is an answer all the same."""
    usage = {"input": 90, "output": 10}
    turns = [{"calls": [call("ring", times=1)], "usage": usage}] * 2 + [{"text": "Done.", "usage": usage}]
    run, model = Run(), ScriptedChatModel(turns)
    advisor = BudgetAdvisor(tokens=limit, on_limit="answer", text="Enough.")
    advised = await hold(advisor, model, inside=inside, run=run)

    assert len(model.requests) == asked
    assert advised.new_messages[-1] == AiMessage("Done." if asked == 3 else "Enough.")
    assert run.token_usage.total_tokens == 100 * asked


@PLACES
async def test_no_model_call_begins_once_the_time_is_over(inside: bool) -> None:
    now = [0.0]

    def slow() -> str:
        "Take a while."
        now[0] += 4
        return "done"

    model = ScriptedChatModel([call("slow")], repeat=True)
    with pytest.raises(BudgetExceededError, match="12 of 10 seconds"):
        await hold(BudgetAdvisor(time=10, clock=lambda: now[0]), model, inside=inside, tools=(slow,))

    assert len(model.requests) == 3


@PLACES
@pytest.mark.parametrize(
    ("model_name", "usage", "cost"),
    [
        ("dear", {"input": 100_000, "output": 10_000}, 0.28),
        ("dear", {"input": 100_000, "output": 10_000, "cached_input": 40_000}, 0.24),
        ("cheap-1", {"input": 100_000, "output": 100_000}, 0.1),
        ("free", {"input": 100_000, "output": 10_000}, 0.0),
    ],
)
async def test_what_a_turn_costs_is_known_by_the_model_that_answered(
    model_name: str, usage: dict[str, int], cost: float, inside: bool
) -> None:
    """A model without a price costs nothing, and the user is told."""
    run = Run()
    advisor = BudgetAdvisor(cost=100, prices=PRICES)
    request = ChatRequest(QUESTION.messages, ChatRequestParameters(model_name=model_name))
    turns = [{"calls": [call("ring", times=1)], "usage": usage}, {"text": "Done.", "usage": usage}]
    await hold(advisor, turns, inside=inside, run=run, request=request)

    spent = await spent_by(advisor, run)
    assert float(spent["cost"]) == pytest.approx(2 * cost)
    assert len(notices(run, "budget_price_unknown")) == (model_name == "free")


async def test_a_turn_that_costs_too_much_ends() -> None:
    usage = {"input": 1_000_000, "output": 0}
    model = ScriptedChatModel([{"calls": [call("ring", times=1)], "usage": usage}], repeat=True)
    with pytest.raises(BudgetExceededError, match="4 of 3 USD"):
        await hold(BudgetAdvisor(cost="3", prices={"*": {"input": 2, "output": 2}}), model)

    assert len(model.requests) == 2


def costing(*costs: str | None, currency: str = "USD") -> list[Any]:
    """Rounds that cost so much each, by what the replies themselves say; ``None``: it is not known."""
    usages = [
        TokenUsage(5, 5, 10) if cost is None else TokenUsage(5, 5, 10, cost=Decimal(cost), currency=currency)
        for cost in costs
    ]
    calls_ = [{"calls": [call("ring", times=1)], "usage": usage} for usage in usages[:-1]]
    return [*calls_, {"text": "Done.", "usage": usages[-1]}]


@BOTH
@PLACES
async def test_what_replies_say_that_they_cost_is_counted_without_prices(streamed: bool, inside: bool) -> None:
    """With a notice on the way, and to the digit."""
    run, advisor = Run(), BudgetAdvisor(cost="0.3", warn_at=0.6)
    events: list[Event] | None = [] if streamed else None
    with pytest.raises(BudgetExceededError, match=r"0\.3 of 0\.3 USD") as raised:
        await hold(advisor, costing("0.1", "0.1", "0.1", "0.1"), inside=inside, run=run, events=events)

    assert raised.value.limit == "cost" and run.token_usage.cost == Decimal("0.3")
    assert (await spent_by(advisor, run))["cost"] == Decimal("0.3")
    assert [notice.details for notice in notices(run, "budget_warning")] == [
        {"limit": "cost", "used": 0.2, "allowed": 0.3}
    ]
    assert notices(run, "budget_price_unknown") == []


@PLACES
@pytest.mark.parametrize(
    ("turns", "spent", "told"),
    [
        (costing("0.1", "0.2"), "0.3", False),
        (costing("0.1", None, "0.2"), "0.3", True),
        (costing(None, None), "0", True),
        (costing("0.1", "0.2", currency="EUR"), "0", True),
    ],
)
async def test_a_cost_that_is_not_known_is_told_once_a_run(
    turns: list[Any], spent: str, told: bool, inside: bool
) -> None:
    """Another currency is as good as unknown. What is known counts all the same."""
    for _ in range(2):
        run, advisor = Run(), BudgetAdvisor(cost=10)
        request = ChatRequest(QUESTION.messages, ChatRequestParameters(model_name="dear"))
        await hold(advisor, turns, inside=inside, run=run, request=request)

        assert (await spent_by(advisor, run))["cost"] == Decimal(spent)
        assert [(notice.message, notice.details) for notice in notices(run, "budget_price_unknown")] == (
            [("what the model 'dear' costs in USD is not known, and not counted", {"model": "dear"})] if told else []
        )


async def test_each_run_of_a_conversation_is_told() -> None:
    advisor = BudgetAdvisor(cost=10, per="conversation")
    for _ in range(2):
        run = Run(memory_id="one")
        await hold(advisor, costing(None, None), run=run)
        assert len(notices(run, "budget_price_unknown")) == 1


async def test_a_price_of_the_budget_goes_before_what_replies_say() -> None:
    run, advisor = Run(), BudgetAdvisor(cost=10, currency="EUR", prices={"dear": {"input": 100_000, "output": 0}})
    request = ChatRequest(QUESTION.messages, ChatRequestParameters(model_name="dear"))
    await hold(advisor, costing("0.1", "0.1"), run=run, request=request)

    assert (await spent_by(advisor, run))["cost"] == 1
    assert notices(run, "budget_price_unknown") == []


async def test_a_long_reply_costs_what_long_ones_cost() -> None:
    """Each by itself, not by what the turn adds up to."""
    price: dict[str, object] = {"input": 1, "output": 0, "above": {"input_tokens": 1_000_000, "input": 2, "output": 0}}
    usages = [{"input": 900_000, "output": 0}, {"input": 900_000, "output": 0}, {"input": 2_000_000, "output": 0}]
    turns = [*({"calls": [call("ring", times=1)], "usage": usage} for usage in usages[:2])]
    run, advisor = Run(), BudgetAdvisor(cost=100, prices={"*": price})
    await hold(advisor, [*turns, {"text": "Done.", "usage": usages[2]}], run=run)

    assert (await spent_by(advisor, run))["cost"] == Decimal("5.8")


async def test_tokens_that_nobody_reports_are_no_silent_zero() -> None:
    run = Run()
    await hold(BudgetAdvisor(tokens=10), [{"text": "Done.", "usage": {"input": 0, "output": 0}}], run=run)

    assert len(notices(run, "budget_usage_unknown")) == 1


# -- warnings ------------------------------------------------------------------------------------


@BOTH
@PLACES
async def test_a_warning_comes_once_for_each_limit(streamed: bool, inside: bool) -> None:
    events: list[Event] = []
    run = Run()
    advisor = BudgetAdvisor(calls=5, model_calls=10, warn_at=0.8)
    await hold(advisor, rings(3, 1, 1), inside=inside, run=run, events=events if streamed else None)

    [warning] = notices(run, "budget_warning")
    assert warning.details == {"limit": "calls", "used": 4, "allowed": 5}
    assert warning.message == "4 of 5 tool calls of this turn are used"
    if streamed:
        assert [event for event in events if isinstance(event, Notice)] == [warning]


async def test_without_warn_at_there_is_none() -> None:
    run = Run()
    await hold(BudgetAdvisor(calls=5, warn_at=None), rings(5), run=run)

    assert run.notices == []


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "limits nothing"),
        ({"calls": -1}, "calls is a whole number from 0, not -1"),
        ({"calls": True}, "calls is a whole number"),
        ({"calls_per_tool": {"ring": "2"}}, "calls_per_tool of 'ring' is a whole number"),
        ({"model_calls": 0}, "model_calls is a whole number from 1"),
        ({"tokens": 0}, "tokens is a whole number from 1"),
        ({"time": 0}, "time is a number above 0"),
        ({"time": "soon"}, "time is a number above 0, not 'soon'"),
        ({"cost": -1, "prices": PRICES}, "cost is a number above 0"),
        ({"cost": 1, "prices": {"x": {"input": 1}}}, "the price of 'x': it is a mapping with 'input' and 'output'"),
        ({"cost": 1, "prices": {"x": {"input": 1, "output": "dear"}}}, "'x': 'output' is an amount from 0, not 'dear'"),
        ({"cost": 1, "prices": {"x": {"input": 1, "output": 1, "currency": "EUR"}}}, "that of 'x' in EUR"),
        ({"cost": 1, "currency": "dollars"}, "the currency of a price is a code"),
        ({"calls": 1, "per": "day"}, "per is one of"),
        ({"calls": 1, "on_limit": "shout"}, "on_limit is one of"),
        ({"calls": 1, "warn_at": 2}, "warn_at is above 0 and at most 1"),
        ({"calls": 1, "warn_at": 0}, "warn_at"),
        ({"calls": 1, "text": ""}, "text is the answer"),
    ],
)
def test_settings_that_are_none_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        BudgetAdvisor(**settings)
