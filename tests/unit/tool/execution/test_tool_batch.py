"""The calls of one reply side by side: order, bounds, time limits, and one outcome each whatever the tool does."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Sequence
from typing import Any

import pytest

from agentforge import (
    ImageContent,
    Run,
    ScriptedChatModel,
    ToolContext,
    ToolErrorContext,
    ToolErrorHandlerResult,
    ToolExecutionResult,
    ToolOutcome,
    ToolService,
    tool,
)
from agentforge.errors import RunError, ToolLimitedError
from agentforge.model.scripted import call, calls
from agentforge.tool.execution import CallNext, PlannedCall, Proceed, Refuse, Verdict


async def outcomes(service: ToolService, *names: str) -> list[tuple[ToolOutcome, str]]:
    """What came of one batch of calls without arguments."""
    model = ScriptedChatModel([calls(*(call(name) for name in names)), "done"])
    result = await service.chat(model, None, "q")
    assert result.text == "done"
    return [(execution.outcome, execution.result_text()) for execution in result.tool_executions]


class Meter:
    """Tools that note how many of them run at once, and in which order they start and end."""

    def __init__(self) -> None:
        self.now = self.most = 0
        self.log: list[str] = []

    async def _work(self, name: str) -> str:
        self.now += 1
        self.most = max(self.most, self.now)
        self.log.append(f"+{name}")
        for _ in range(5):
            await asyncio.sleep(0)
        self.now -= 1
        self.log.append(f"-{name}")
        return name

    @tool
    async def free(self) -> str:
        "Runs beside others."
        return await self._work("free")

    @tool(serial="db")
    async def keyed(self) -> str:
        "Never beside another of its key."
        return await self._work("keyed")

    @tool(sequential=True)
    async def alone(self) -> str:
        "A barrier."
        return await self._work("alone")


@pytest.mark.parametrize(("bound", "most"), [(1, 1), (3, 3), (8, 8)])
async def test_no_more_calls_run_side_by_side_than_the_bound(bound: int, most: int) -> None:
    meter = Meter()
    await outcomes(ToolService(meter, max_concurrent_tools=bound), *["free"] * 20)
    assert meter.most == most


async def test_calls_of_one_serial_key_never_overlap_while_others_go_on() -> None:
    meter = Meter()
    found = await outcomes(ToolService(meter), "keyed", "free", "keyed")
    assert [text for _, text in found] == ["keyed", "free", "keyed"]
    keyed = [entry for entry in meter.log if "keyed" in entry]
    assert keyed == ["+keyed", "-keyed", "+keyed", "-keyed"]
    assert meter.log[:2] == ["+keyed", "+free"]


async def test_a_sequential_tool_is_a_barrier_in_its_batch() -> None:
    meter = Meter()
    await outcomes(ToolService(meter), "free", "free", "alone", "free")
    assert meter.log == ["+free", "+free", "-free", "-free", "+alone", "-alone", "+free", "-free"]


async def test_sync_tools_run_beside_each_other_and_never_block_the_loop() -> None:
    together = threading.Barrier(3, timeout=5)
    ticks = 0

    @tool
    def meets() -> str:
        "Returns once three are here."
        together.wait()
        return "met"

    async def ticker() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(ticker())
    found = await outcomes(ToolService(meets), "meets", "meets", "meets")
    task.cancel()
    assert found == [(ToolOutcome.OK, "met")] * 3
    assert ticks > 3


# -- time limits -------------------------------------------------------------------------------------


class Slow:
    @tool(timeout=0.05)
    async def obedient(self) -> str:
        "Ends when it is cancelled."
        await asyncio.sleep(30)
        return "late"

    @tool(timeout=0.05)
    async def stubborn(self) -> str:
        "Ignores its cancellation."
        end = time.monotonic() + 0.5
        while time.monotonic() < end:
            try:
                await asyncio.sleep(0.02)
            except asyncio.CancelledError:
                continue
        return "late"

    @tool(timeout=0.05)
    def stuck(self) -> str:
        "Blocks its thread."
        time.sleep(0.5)
        return "late"

    @tool(timeout=0.05, effect="write")
    async def pay(self) -> str:
        "A write that does not end in time."
        await asyncio.sleep(30)
        return "paid"

    @tool(timeout=5)
    async def own_timeout(self) -> str:
        "Raises a TimeoutError of its own."
        raise TimeoutError("the database timed out")


TIMES = [
    ("obedient", ToolOutcome.TIMED_OUT, "unknown"),
    ("stubborn", ToolOutcome.TIMED_OUT, "unknown"),
    ("stuck", ToolOutcome.TIMED_OUT, "unknown"),
    ("pay", ToolOutcome.IN_DOUBT, "may have happened"),
    ("own_timeout", ToolOutcome.FAILED, "the database timed out"),
]


@pytest.mark.parametrize(("name", "outcome", "told"), TIMES)
async def test_a_call_that_does_not_end_in_time_gets_its_outcome_and_the_run_goes_on(
    name: str, outcome: ToolOutcome, told: str
) -> None:
    ((found, text),) = await outcomes(ToolService(Slow()), name)
    assert found is outcome and told in text


async def test_a_slow_sibling_keeps_no_result_back() -> None:
    meter = Meter()
    service = ToolService(Slow(), meter)
    found = await outcomes(service, "free", "stubborn", "free")
    assert [outcome for outcome, _ in found] == [ToolOutcome.OK, ToolOutcome.TIMED_OUT, ToolOutcome.OK]


async def test_tools_that_never_return_are_abandoned_and_other_conversations_go_on() -> None:
    release = threading.Event()

    @tool(timeout=0.05)
    def never() -> str:
        "Never returns."
        release.wait()
        return "late"

    @tool
    def quick() -> str:
        "Returns at once."
        return "quick"

    service = ToolService(never, quick, max_threads=4, max_abandoned_threads=6)
    for _ in range(2):  # each batch finds a thread for every call
        assert {outcome for outcome, _ in await outcomes(service, *["never"] * 3)} == {ToolOutcome.TIMED_OUT}
    assert service.thread_counts.abandoned == 6
    assert await outcomes(service, "quick") == [(ToolOutcome.OK, "quick")]
    # Beyond the bound: four more hold the last threads, then calls are refused without running.
    assert {outcome for outcome, _ in await outcomes(service, *["never"] * 4)} == {ToolOutcome.TIMED_OUT}
    ((outcome, text),) = await outcomes(service, "quick")
    assert outcome is ToolOutcome.LIMITED and "did not run" in text
    release.set()
    service.close()


async def test_a_write_that_found_no_thread_did_not_reach_its_tool_and_may_be_tried_again() -> None:
    release = threading.Event()
    service: ToolService

    class Again:
        async def around(self, call: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
            try:
                return await next(call, run)
            except ToolLimitedError:
                release.set()
                async with asyncio.timeout(5):
                    while service.thread_counts.abandoned:  # noqa: ASYNC110
                        await asyncio.sleep(0.005)
                return await next(call, run)

    @tool(timeout=0.05)
    def never() -> str:
        "Holds the only thread."
        release.wait(30)
        return "late"

    @tool(effect="write")
    def pay() -> str:
        "A write."
        return "paid"

    service = ToolService(never, pay, max_threads=1, max_abandoned_threads=0, interceptors=[Again()])
    assert [outcome for outcome, _ in await outcomes(service, "never")] == [ToolOutcome.TIMED_OUT]
    assert await outcomes(service, "pay") == [(ToolOutcome.OK, "paid")]
    service.close()


async def test_a_call_that_found_no_free_thread_in_its_time_is_limited_not_timed_out() -> None:
    release = threading.Event()

    @tool
    def holds() -> str:
        "Holds the only thread."
        release.wait(5)
        return "held"

    @tool(timeout=0.05)
    def waits() -> str:
        "Needs a thread."
        release.set()
        return "ran"

    @tool(timeout=5)
    async def later() -> str:
        "Lets the thread go once the other has given up."
        await asyncio.sleep(0.2)
        release.set()
        return "later"

    found = await outcomes(ToolService(holds, waits, later, max_threads=1), "holds", "waits", "later")
    assert [outcome for outcome, _ in found] == [ToolOutcome.OK, ToolOutcome.LIMITED, ToolOutcome.OK]


# -- whatever a tool does ----------------------------------------------------------------------------


async def test_a_cancellation_raised_inside_one_tool_is_that_calls_error_only() -> None:
    @tool
    async def cancels() -> str:
        "Cancels itself."
        raise asyncio.CancelledError

    found = await outcomes(ToolService(cancels, Meter()), "cancels", "free")
    assert [outcome for outcome, _ in found] == [ToolOutcome.FAILED, ToolOutcome.OK]


@pytest.mark.parametrize("awaits", [True, False])
@pytest.mark.parametrize("who", ["tool", "interceptor", "tool past its time"])
async def test_a_call_that_cancels_its_own_task_fails_alone(who: str, awaits: bool) -> None:
    async def cancel_this() -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        if awaits:
            await asyncio.sleep(0)

    @tool(timeout=0.05)
    async def cancels() -> str:
        "Cancels its own task."
        if who == "tool":
            await cancel_this()
        elif who == "tool past its time":
            with contextlib.suppress(asyncio.CancelledError):
                await cancel_this()
            await asyncio.sleep(30 if awaits else 0)
        return "x"

    class Interceptor:
        async def around(self, planned: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
            if who == "interceptor" and planned.name == "cancels":
                await cancel_this()
            return await next(planned, run)

    service = ToolService(cancels, Meter(), interceptors=[Interceptor()])
    late = awaits and who == "tool past its time"
    found = await outcomes(service, "free", "cancels", "free")
    assert [outcome for outcome, _ in found] == [
        ToolOutcome.OK,
        ToolOutcome.TIMED_OUT if late else ToolOutcome.FAILED,
        ToolOutcome.OK,
    ]
    assert ("did not end within" if late else "was cancelled from within") in found[1][1]


async def test_a_handler_that_cancels_its_own_task_ends_the_run_with_an_error() -> None:
    @tool
    async def fails() -> str:
        "Fails."
        raise ValueError("no")

    async def handler(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        raise asyncio.CancelledError

    service = ToolService(fails, execution_error_handler=handler)
    with pytest.raises(RunError, match="error handler of 'fails' was cancelled"):
        await service.chat(ScriptedChatModel([call("fails"), "x"]), None, "q")


@pytest.mark.parametrize("sync", [True, False])
async def test_a_system_exit_inside_a_tool_is_that_calls_error(sync: bool) -> None:
    @tool
    def leaves() -> str:
        "Exits."
        raise SystemExit(3)

    @tool(name="leaves")
    async def leaves_async() -> str:
        "Exits."
        raise SystemExit(3)

    ((outcome, _),) = await outcomes(ToolService(leaves if sync else leaves_async), "leaves")
    assert outcome is ToolOutcome.FAILED


async def test_a_result_that_json_cannot_hold_is_an_error_naming_tool_and_type() -> None:
    @tool
    def wrong() -> Any:
        "Returns a class."
        return dict

    ((outcome, text),) = await outcomes(ToolService(wrong), "wrong")
    assert outcome is ToolOutcome.FAILED and "'wrong'" in text and "dict" in text


async def test_the_effect_of_a_failed_write_is_said_to_be_possible() -> None:
    runs = []

    @tool(effect="write")
    def send() -> str:
        "Sends."
        runs.append(1)
        raise ConnectionError("reset")

    ((outcome, text),) = await outcomes(ToolService(send), "send")
    assert outcome is ToolOutcome.FAILED and "may have happened" in text and runs == [1]


# -- the size of results -----------------------------------------------------------------------------


SIZES = [
    ("x" * 9_000, 10_000, 9_000, 0),
    ("x" * 5_000_000, 10_000, 10_000, 4_990_000),
    ("é" * 10_000, 10_001, 10_000, 10_000),
    ("🙂" * 100, 10, 8, 392),
]


@pytest.mark.parametrize(("text", "bound", "kept", "missing"), SIZES)
async def test_a_result_is_cut_at_a_character_with_a_note_of_what_is_missing(
    text: str, bound: int, kept: int, missing: int
) -> None:
    @tool
    def dump() -> str:
        "Returns much."
        return text

    model = ScriptedChatModel([call("dump"), "done"])
    result = await ToolService(dump, max_result_bytes=bound).chat(model, None, "q")
    execution = result.tool_executions[0]
    sent, _, note = execution.result_text().partition("\n[cut: ")
    assert len(sent.encode()) == kept and text.startswith(sent)
    assert (note == f"{missing:,} more bytes]") is bool(missing)
    assert execution.result.attributes.get("truncated_bytes", 0) == missing
    assert execution.result.result is None or execution.result.result == text


async def test_what_the_model_is_told_of_an_error_is_bounded_as_every_result_is() -> None:
    class Refuses:
        async def check(self, batch: Sequence[PlannedCall], run: Run) -> list[Verdict]:
            return [Refuse(ToolOutcome.DENIED, "n" * 50_000) if c.name == "free" else Proceed() for c in batch]

    @tool
    async def fails() -> str:
        "Fails with many words."
        raise ValueError("x" * 2_000_000)

    service = ToolService(
        fails, Meter(), gates=[Refuses()], max_result_bytes=1_000, unknown_tool_strategy="return_to_model"
    )
    found = await outcomes(service, "fails", "free", "u" * 20_000)
    assert [outcome.name for outcome, _ in found] == ["FAILED", "DENIED", "UNKNOWN_TOOL"]
    assert all(len(text.partition("\n[cut: ")[0]) == 1_000 for _, text in found)


async def test_media_is_never_cut_in_the_middle() -> None:
    @tool
    def shot() -> list[Any]:
        "A picture."
        return [ImageContent(data="aGkh" * 1_000)]

    result = await ToolService(shot, max_result_bytes=100).chat(ScriptedChatModel([call("shot"), "x"]), None, "q")
    assert "left out: ImageContent of 4,000 bytes" in result.tool_executions[0].result_text()


# -- interceptors and context --------------------------------------------------------------------------


async def test_an_interceptor_wraps_each_admitted_call_inside_the_size_cap() -> None:
    seen: list[str] = []

    class Shout:
        async def around(self, planned: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
            seen.append(planned.name)
            made = await next(planned, run)
            return ToolExecutionResult.success(made.text.upper() * 3)

    found = await outcomes(ToolService(Meter(), interceptors=[Shout()], max_result_bytes=8), "free")
    assert seen == ["free"] and found[0][1].startswith("FREEFREE\n[cut: 4")


async def test_an_interceptor_that_returns_no_result_is_that_calls_error() -> None:
    class Broken:
        async def around(self, planned: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
            return "text"  # type: ignore[return-value]

    ((outcome, text),) = await outcomes(ToolService(Meter(), interceptors=[Broken()]), "free")
    assert outcome is ToolOutcome.FAILED and "ToolExecutionResult" in text


async def test_an_interceptor_that_hangs_before_its_tool_is_timed_out_and_no_write_is_in_doubt() -> None:
    class Hangs:
        async def around(self, planned: PlannedCall, run: Run, next: CallNext) -> ToolExecutionResult:
            await asyncio.sleep(30)
            return await next(planned, run)

    found = await outcomes(ToolService(Slow(), interceptors=[Hangs()]), "pay", "obedient")
    assert [outcome for outcome, _ in found] == [ToolOutcome.TIMED_OUT] * 2


async def test_the_context_reaches_tools_and_its_state_is_shared_but_nothing_of_it_is_sent() -> None:
    @tool
    def put(context: ToolContext) -> str:
        "Writes into the turn's state."
        context.state["n"] = context.user_data["secret_number"]
        return "put"

    @tool
    async def take(*, context: ToolContext) -> str:
        "Reads from it."
        return f"{context.state['n']} {context.memory_id} {context.tenant} {sorted(context.roles)}"

    run = Run(memory_id="m1", tenant="acme", roles=["b", "a"], user_data={"secret_number": 42})
    model = ScriptedChatModel([call("put"), call("take"), "done"])
    result = await ToolService(put, take).chat(model, None, "q", context=run)
    assert result.tool_executions[1].result_text() == "42 m1 acme ['a', 'b']"
    for request in model.requests:
        assert all(not s.parameters.properties for s in request.parameters.tools)
