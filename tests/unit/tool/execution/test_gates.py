"""Gates judge the whole batch before anything runs: refusals, questions, suspension, and taking a run up again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import Run, ScriptedChatModel, ToolOutcome, ToolService, tool
from agentforge.errors import RunError
from agentforge.masking import Secrets
from agentforge.model.scripted import call, calls
from agentforge.tool.execution import (
    Ask,
    PlannedCall,
    Proceed,
    Refuse,
    RunSuspended,
    ToolLoopState,
    Verdict,
)

ran: list[str] = []


@pytest.fixture(autouse=True)
def nothing_ran() -> None:
    ran.clear()


@tool
def look(item: str) -> str:
    "Looks something up."
    ran.append(f"look {item}")
    return f"{item} found"


@tool(effect="write")
def refund(order: str) -> str:
    "Pays back."
    ran.append(f"refund {order}")
    return f"{order} refunded"


class Gate:
    """Says of each tool what it is told to; notes what it saw."""

    def __init__(self, stage: str | None = None, **verdicts: Verdict) -> None:
        self.stage = stage
        self.verdicts = verdicts
        self.seen: list[list[tuple[str, object]]] = []

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
        self.seen.append([(planned.name, planned.bound) for planned in batch])
        return [self.verdicts.get(planned.name, Proceed()) for planned in batch]


BATCH = calls(call("look", item="a"), call("refund", order="o1"))


async def test_a_refused_call_is_answered_with_the_gates_text_and_its_siblings_run() -> None:
    gate = Gate(refund=Refuse(ToolOutcome.DENIED, "Only agents may pay back."))
    result = await ToolService(look, refund, gates=[gate]).chat(ScriptedChatModel([BATCH, "ok"]), None, "q")
    assert [(e.outcome, e.result_text()) for e in result.tool_executions] == [
        (ToolOutcome.OK, "a found"),
        (ToolOutcome.DENIED, "Only agents may pay back."),
    ]
    assert ran == ["look a"]


@pytest.mark.parametrize("owner", ["service", "run", "model"])
async def test_a_secret_in_a_refusal_reaches_the_model_masked_whoever_registered_it(owner: str) -> None:
    secrets, run = Secrets(["sk-canary-1"]), Run()
    model = ScriptedChatModel([BATCH, "ok"])
    if owner == "run":
        run.secrets = secrets
    if owner == "model":
        model.secrets = secrets  # type: ignore[attr-defined]
    gate = Gate(refund=Refuse(ToolOutcome.DENIED, "The key sk-canary-1 may not pay back."))
    service = ToolService(look, refund, gates=[gate], secrets=secrets if owner == "service" else None)
    result = await service.chat(model, None, "q", context=run)
    assert result.tool_executions[1].result_text() == "The key *** may not pay back."
    assert "sk-canary-1" not in str(model.requests[1].messages)


async def test_a_permission_gate_looks_before_validation_and_other_gates_after_it() -> None:
    permission, limits = Gate("permission"), Gate("limits")
    service = ToolService(look, gates=[limits, permission], arguments_error_handler="return_to_model")
    turns = [calls(call("look", item="a"), call("look", thing="b")), "ok"]
    await service.chat(ScriptedChatModel(turns), None, "q")
    assert permission.seen == [[("look", None), ("look", None)]]
    assert limits.seen == [[("look", {"item": "a"})]]


async def test_gates_never_see_calls_that_were_refused_before_them() -> None:
    first, second = Gate("permission", refund=Refuse(ToolOutcome.DENIED, "no")), Gate()
    await ToolService(look, refund, gates=[second, first]).chat(ScriptedChatModel([BATCH, "ok"]), None, "q")
    assert [name for name, _ in second.seen[0]] == ["look"]


async def test_one_question_suspends_the_run_before_any_call_of_the_reply_has_run() -> None:
    service = ToolService(look, refund, gates=[Gate(refund=Ask("above 100"))])
    result = await service.chat(ScriptedChatModel([BATCH]), None, "q")
    assert ran == []
    assert result.suspended is not None
    assert len(result.messages) == 1, "the history ends before the waiting reply"
    with pytest.raises(RunError, match="suspended"):
        _ = result.final_response


async def test_a_suspended_run_is_said_in_the_stream() -> None:
    service = ToolService(look, refund, gates=[Gate(refund=Ask("above 100"))])
    async with service.stream(ScriptedChatModel([BATCH]), None, "q") as events:
        seen = [event async for event in events]
    assert [event.waiting for event in seen if isinstance(event, RunSuspended)] == [{1: "above 100"}]


@pytest.mark.parametrize("saved", [False, True])
async def test_a_suspended_run_is_taken_up_again_where_it_stood(saved: bool) -> None:
    gate = Gate(refund=Ask())
    service = ToolService(look, refund, gates=[gate])
    state = (await service.chat(ScriptedChatModel([BATCH]), None, "q")).suspended
    assert state is not None
    if saved:
        state = ToolLoopState.from_json(json.dumps(state.to_json()))

    gate.verdicts.clear()
    result = await service.resume(ScriptedChatModel(["done"]), None, state)

    assert sorted(ran) == ["look a", "refund o1"]
    assert result.text == "done"
    assert [e.outcome for e in result.tool_executions] == [ToolOutcome.OK] * 2


async def test_a_tool_that_changed_or_vanished_meanwhile_is_refused_on_resume() -> None:
    service = ToolService(look, refund, gates=[Gate(refund=Ask())])
    state = (await service.chat(ScriptedChatModel([BATCH]), None, "q")).suspended
    assert state is not None

    @tool(name="refund", effect="write")
    def refund_now(order: str, reason: str) -> str:
        "Pays back, with a reason."
        ran.append("changed")
        return "x"

    other = ToolService(refund_now, unknown_tool_strategy="return_to_model")
    result = await other.resume(ScriptedChatModel(["ok"]), None, ToolLoopState.from_json(json.dumps(state.to_json())))
    assert ran == []
    assert [e.outcome for e in result.tool_executions] == [ToolOutcome.UNKNOWN_TOOL] * 2
    assert "'look', which was not offered" in result.tool_executions[0].result_text()
    assert "'refund' is not the one that the model was offered" in result.tool_executions[1].result_text()


async def test_what_a_gate_raises_ends_the_run_with_nothing_run() -> None:
    class Broken:
        async def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
            raise LookupError("the policy store is down")

    with pytest.raises(LookupError, match="policy store") as caught:
        await ToolService(look, refund, gates=[Broken()]).chat(ScriptedChatModel([BATCH]), None, "q")
    assert ran == []
    assert {e.outcome for e in caught.value.partial.tool_executions} == {ToolOutcome.CANCELLED}  # type: ignore[attr-defined]


class Says:
    """A gate that answers what it is told to; asked often, it would have kept a run busy for ever."""

    def __init__(self, answer: Any) -> None:
        self.answer, self.asked = answer, 0

    async def check(self, batch: Sequence[PlannedCall], run: Run) -> Any:
        self.asked += 1
        return self.answer


WRONG_ANSWERS: list[tuple[Any, str]] = [
    ([None, None], "gave NoneType for the tool 'look'"),
    ([True, True], "gave bool for"),
    ([Proceed, Proceed], "gave the class Proceed"),
    ([Refuse, Refuse], "gave the class Refuse"),
    (["x", "x"], "gave str for"),
    ([Proceed(), None], "gave NoneType for the tool 'refund'"),
    ([Refuse(ToolOutcome.OK, "fine"), Proceed()], "the outcome OK"),
    ([Proceed()], "gave 1 of 2 verdicts"),
    ([Proceed()] * 3, "gave 3 of 2 verdicts"),
    ([], "gave 0 of 2 verdicts"),
    (None, "gave NoneType"),
    ("xy", "gave str"),
    (True, "gave bool"),
    (iter([Proceed(), Proceed()]), "gave list_iterator"),
]


@pytest.mark.parametrize("stage", ["permission", None])
@pytest.mark.parametrize(("answer", "told"), WRONG_ANSWERS)
async def test_what_is_no_verdict_ends_the_run_before_anything_ran(answer: Any, told: str, stage: str | None) -> None:
    gate = Says(answer)
    gate.stage = stage  # type: ignore[attr-defined]
    with pytest.raises(RunError, match=told) as caught:
        await ToolService(look, refund, gates=[gate]).chat(ScriptedChatModel([BATCH]), None, "q")
    assert ran == [] and gate.asked == 1
    assert {e.outcome for e in caught.value.partial.tool_executions} == {ToolOutcome.CANCELLED}


async def test_a_gate_that_is_not_async_is_named() -> None:
    class Plain:
        def check(self, batch: Sequence[PlannedCall], run: Run) -> Sequence[Verdict]:
            return [Proceed() for _ in batch]

    with pytest.raises(RunError, match="check of the gate Plain is not async"):
        await ToolService(look, refund, gates=[Plain()]).chat(ScriptedChatModel([BATCH]), None, "q")  # type: ignore[list-item]
    assert ran == []
