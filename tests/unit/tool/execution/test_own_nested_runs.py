"""A tool of one's own that holds a run: what it raises when that run waits, and what it is given when it goes on."""

from __future__ import annotations

import json
from typing import Any

import hypothesis.strategies as st
import pytest
from hypothesis import given

from agentforge import AiMessage, ChatResponse, ScriptedChatModel, ToolExecutionRequest, ToolService, ToolSpecification
from agentforge.errors import RunStateError
from agentforge.testing import call, calls
from agentforge.tool import BoundTool
from agentforge.tool.execution import (
    Ask,
    CallNext,
    NestedSuspension,
    PlannedCall,
    Run,
    ToolExecutionResult,
    ToolLoopState,
    ToolOutcome,
    taken_up_state,
)


class Holder:
    """Its run waits as often as it is told to; ``given`` are the states that it went on with."""

    def __init__(self, waits: int = 1) -> None:
        self.waits = waits
        self.given: list[ToolLoopState | None] = []
        self.tool = BoundTool(ToolSpecification("hold"), dict, self.invoke)

    async def invoke(self, request: ToolExecutionRequest, bound: Any, run: Run) -> ToolExecutionResult:
        state = taken_up_state()
        assert taken_up_state() is None, "a state is taken once"
        self.given.append(state)
        done = 0 if state is None else state.model_calls
        if done < self.waits:
            raise NestedSuspension(ToolLoopState(model_calls=done + 1), f"step {done}")
        return ToolExecutionResult.success("held")


def saved(state: ToolLoopState | None) -> ToolLoopState:
    """The state as JSON and back."""
    assert state is not None
    return ToolLoopState.from_json(json.dumps(state.to_json()))


async def test_a_tool_goes_on_with_the_state_that_it_raised() -> None:
    """As often as it takes; the reasons are told."""
    holder = Holder(waits=2)
    async with ToolService(holder.tool) as service:
        model = ScriptedChatModel([call("hold"), "Done."])
        result = await service.chat(model, None, "?")
        reasons = []
        while result.suspended is not None:
            reasons += [ask.reason for ask in result.suspended.waiting.values()]
            result = await service.resume(model, None, saved(result.suspended))
    assert (result.text, reasons) == ("Done.", ["step 0", "step 1"])
    assert [None if state is None else state.model_calls for state in holder.given] == [None, 1, 2]


async def test_an_interceptor_lets_it_pass() -> None:
    """Also one that answers whatever fails, and one that tries again."""
    seen: list[str] = []

    class Soothing:
        async def around(self, planned: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
            try:
                return await next(planned, run)
            except Exception:
                seen.append("an error")
                return ToolExecutionResult.success("never mind")

    holder = Holder()
    async with ToolService(holder.tool, interceptors=[Soothing()]) as service:
        result = await service.chat(ScriptedChatModel([call("hold")]), None, "?")
    assert result.suspended is not None and seen == []


async def test_what_is_below_a_call_that_goes_on_has_no_part_in_its_state() -> None:
    """A tool whose call is new begins anew, whatever its sibling goes on with."""
    first, second = Holder(waits=1), Holder(waits=2)
    tools = [
        first.tool,
        BoundTool(ToolSpecification("other"), dict, second.invoke),
    ]
    async with ToolService(*tools) as service:
        model = ScriptedChatModel([calls(call("hold"), call("other")), "Done."])
        result = await service.chat(model, None, "?")
        result = await service.resume(model, None, saved(result.suspended))
        assert result.suspended is not None and list(result.suspended.nested) == [1]
        result = await service.resume(model, None, saved(result.suspended))
    assert result.text == "Done."
    assert len(first.given) == 2, "the one that was done is not called again"
    assert [each.outcome for each in result.tool_executions] == [ToolOutcome.OK, ToolOutcome.OK]


def _waiting(nested: dict[int, ToolLoopState], reason: str) -> ToolLoopState:
    reply = ChatResponse(AiMessage([ToolExecutionRequest(f"c{at}", "hold") for at in range(3)]))
    waiting = {at: Ask(reason) for at in nested}
    return ToolLoopState(reply=reply, waiting=waiting, nested=nested, model_calls=1)


async def test_a_state_stays_as_it_is_when_it_is_taken_up() -> None:
    """Saved or not, the caller's own is not driven on."""
    holder = Holder()
    async with ToolService(holder.tool) as service:
        first = await service.chat(ScriptedChatModel([call("hold")]), None, "?")
        assert first.suspended is not None
        before = first.suspended.to_json()
        result = await service.resume(ScriptedChatModel(["Done."]), None, first.suspended)
        assert (result.text, first.suspended.to_json()) == ("Done.", before)


STATES = st.recursive(
    st.builds(ToolLoopState, model_calls=st.integers(0, 9)),
    lambda inner: st.builds(_waiting, st.dictionaries(st.integers(0, 2), inner, min_size=1), st.text(max_size=5)),
    max_leaves=6,
)


@given(STATES)
def test_states_within_states_survive_being_saved(state: ToolLoopState) -> None:
    """At any depth, and a copy of one leaves it as it is."""
    again = saved(state)
    assert again.to_json() == state.to_json()
    copied = state.copied()
    copied.nested.clear()
    assert again.to_json() == state.to_json()


def test_a_broken_inner_state_is_a_broken_state() -> None:
    """It is refused before anything goes on."""
    data = _waiting({0: ToolLoopState()}, "?").to_json()
    data["nested"][0]["state"]["version"] = 99
    with pytest.raises(RunStateError, match="version 99"):
        ToolLoopState.from_json(data)
