"""Interceptors at their worst (F39): one outcome for each call, and no tool runs twice because of one."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any, Literal

import pytest

from agentforge import Run, ScriptedChatModel, ToolExecutionResult, ToolService, tool
from agentforge.errors import ToolRoundTripLimitError
from agentforge.model.scripted import call
from agentforge.tool.execution import CallNext, PlannedCall
from tests.faults.support import one_batch, outcomes


@dataclass
class Misbehaving:
    """An interceptor, as ``way`` says; the tool it wraps, of this effect, counts its runs."""

    way: str
    effect: Literal["read", "write"] | None = "write"
    sync: bool = False
    runs: int = 0

    async def around(self, call: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
        if self.way == "raises before":
            raise OSError("the audit is down")
        if self.way == "never calls next":
            return ToolExecutionResult.success("answered in its place")
        if self.way == "calls next twice at once":
            return (await asyncio.gather(next(call, run), next(call, run)))[1]
        if self.way == "swallows":
            try:
                return await next(call, run)
            except Exception as error:
                return ToolExecutionResult.success(f"swallowed {type(error).__name__}")
        result = await next(call, run)
        if self.way == "calls next twice":
            return await next(call, run)
        if self.way == "raises after":
            raise OSError("the audit is down")
        return "not a result" if self.way == "returns something else" else result  # type: ignore[return-value]

    def service(self, **options: Any) -> ToolService:
        def count() -> str:
            "Counts its runs."
            self.runs += 1
            if self.way == "swallows":
                raise ConnectionError("gone")
            return f"paid {self.runs}"

        async def count_in_loop() -> str:
            "Counts its runs."
            return count()

        pay: Any = tool(name="pay", effect=self.effect)(count if self.sync else count_in_loop)
        return ToolService(pay, interceptors=[self], **options)


#: Per way: how often the tool runs for one call, the outcome, and words of the text.
DOCUMENTED: dict[str, tuple[int, str, str]] = {
    "raises before": (0, "FAILED", "the audit is down"),
    "raises after": (1, "FAILED", "the audit is down"),
    "swallows": (1, "OK", "swallowed ToolExecutionError"),
    "calls next twice": (1, "FAILED", "not run twice"),
    "calls next twice at once": (1, "FAILED", "not run twice"),
    "never calls next": (0, "OK", "answered in its place"),
    "returns something else": (1, "FAILED", "an interceptor returned str"),
}


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("effect", ["write", None])
@pytest.mark.parametrize("way", DOCUMENTED)
async def test_f39_each_misbehaviour_of_an_interceptor_has_one_outcome_and_repeats_nothing(
    way: str, effect: Literal["write"] | None, sync: bool
) -> None:
    """No tool runs twice, unless it is declared a read."""
    runs, outcome, words = DOCUMENTED[way]
    interceptor = Misbehaving(way, effect, sync)
    result = await one_batch(interceptor.service(), "pay")

    assert interceptor.runs == runs
    ((found, text),) = outcomes(result)
    assert found == outcome and words in text


@pytest.mark.parametrize("sync", [True, False])
async def test_f39_a_declared_read_may_be_repeated(sync: bool) -> None:
    """A retry is an interceptor, too."""
    interceptor = Misbehaving("calls next twice", "read", sync)
    assert outcomes(await one_batch(interceptor.service(), "pay")) == [("OK", "paid 2")]
    assert interceptor.runs == 2


@pytest.mark.parametrize("way", DOCUMENTED)
async def test_f39_the_cap_on_rounds_holds_all_the_same(way: str) -> None:
    interceptor = Misbehaving(way)
    model = ScriptedChatModel([call("pay")], repeat=True)
    with pytest.raises(ToolRoundTripLimitError):
        await interceptor.service(max_tool_calling_round_trips=3).chat(model, None, "go")

    assert len(model.requests) == 4
    assert interceptor.runs == 3 * DOCUMENTED[way][0]
