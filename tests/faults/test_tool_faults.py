"""Tools at their worst: one outcome for each call, siblings kept, and the conversation goes on."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from agentforge import (
    Run,
    ToolErrorContext,
    ToolErrorHandlerResult,
    ToolService,
    tool,
)
from agentforge.errors import RunCancelledError
from plugins.openai.tests.support import FakeTransport, message, model_on
from tests.cases.support import valid, wire_pairs
from tests.faults.support import one_batch, one_run, outcomes

# -- F17: whatever a tool raises -----------------------------------------------------------------------------------


class TextlessError(Exception):
    """An exception whose text cannot be made."""

    def __str__(self) -> str:
        raise RuntimeError("this exception has no text")


class OddError(BaseException):
    """No exception of the usual kind."""


def raising(error: BaseException | type[BaseException], kind: str) -> Any:
    """A tool of the kind that raises it."""

    def on_thread() -> None:
        "Raises."
        raise error

    async def in_loop() -> None:
        "Raises."
        raise error

    def items() -> Iterator[int]:
        yield 1
        raise error

    def generator() -> Any:
        "Gives what raises after one item."
        return items()

    return tool(name="bad")({"thread": on_thread, "async": in_loop, "generator": generator}[kind])


@tool
async def good() -> str:
    "A sibling."
    await asyncio.sleep(0)
    return "kept"


@pytest.mark.parametrize("kind", ["thread", "async", "generator"])
@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("no such city"), "no such city"),
        (KeyError, "KeyError"),
        (TextlessError(), "TextlessError"),
        (ExceptionGroup("several", [ValueError("one"), OSError("two")]), "several (2 sub-exceptions)"),
        (StopAsyncIteration("over"), "over"),
        (RecursionError("too deep"), "too deep"),
        (MemoryError(), "MemoryError"),
        (SystemExit(3), "3"),
        (asyncio.CancelledError("mine"), "mine"),
        (TimeoutError("its own"), "its own"),
        (OddError("odd"), "odd"),
    ],
    ids=lambda value: type(value).__name__ if not isinstance(value, str) else "",
)
async def test_f17_whatever_a_tool_raises_is_an_error_result_of_its_call_alone(
    kind: str, error: BaseException, text: str
) -> None:
    """Neither the process nor the loop ends, and the sibling keeps its result."""
    found = outcomes(await one_batch(ToolService(raising(error, kind), good), "bad", "good"))

    assert found[0][0] == "FAILED" and found[0][1]
    if not isinstance(error, asyncio.CancelledError):  # which may tell where it came from instead
        assert text in found[0][1]
    assert found[1] == ("OK", "kept")


async def test_f17_a_cancellation_of_the_run_passes_on_and_the_rest_is_kept() -> None:
    run, begun = Run(), asyncio.Event()

    @tool
    async def waits() -> None:
        "Waits for ever."
        begun.set()
        await asyncio.Event().wait()

    async def stop() -> None:
        await begun.wait()
        run.cancel("closing")

    stopping = asyncio.create_task(stop())
    with pytest.raises(RunCancelledError, match="closing") as caught:
        await one_run(ToolService(waits, good), run, "good", "waits")
    await stopping

    partial: Any = caught.value.partial
    assert valid(partial.messages)
    assert [execution.outcome.name for execution in partial.tool_executions] == ["OK", "CANCELLED"]


ENDS = """
import asyncio, sys, threading
from agentforge import ScriptedChatModel, ToolService, tool
from agentforge.model.scripted import call

async def in_loop():
    "Raises."
    raise KeyboardInterrupt

def on_thread():
    "Raises."
    raise KeyboardInterrupt

def stuck():
    "Never returns."
    threading.Event().wait()

async def main():
    if sys.argv[1] == "interrupt":
        service, name = ToolService(in_loop), "in_loop"
    elif sys.argv[1] == "interrupt in a thread":
        service, name = ToolService(on_thread), "on_thread"
    else:
        service, name = ToolService(stuck, tool_timeout=0.5), "stuck"
    result = await service.chat(ScriptedChatModel([call(name), "done"]), None, "go")
    print(result.tool_executions[0].outcome.name, result.text)

try:
    asyncio.run(main())
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize(
    ("what", "printed"),
    [("interrupt", "interrupted"), ("interrupt in a thread", "interrupted"), ("stuck", "TIMED_OUT done")],
    ids=[
        "F17: an interrupt in the loop's thread passes on",
        "F17: and so does one in a worker thread",
        "F18: a stuck thread does not hold up the exit",
    ],
)
def test_f17_f18_how_a_process_ends(what: str, printed: str) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    done = subprocess.run(
        [sys.executable, "-c", ENDS, what], capture_output=True, text=True, timeout=60, env=environment, check=False
    )

    assert done.stdout.strip() == printed, done.stderr
    assert done.returncode == 0


def test_f17_a_write_that_had_begun_when_its_sibling_was_interrupted_is_in_doubt_and_no_task_is_left() -> None:
    begun: list[str] = []
    left: list[asyncio.Task[Any]] = []

    @tool(effect="write")
    async def pay() -> None:
        "A write that takes its time."
        begun.append("pay")
        await asyncio.Event().wait()

    @tool
    async def interrupts() -> None:
        "Raises."
        raise KeyboardInterrupt

    run = Run()

    async def main() -> None:
        try:
            await one_run(ToolService(pay, interrupts), run, "pay", "interrupts")
        finally:
            left.extend(task for task in asyncio.all_tasks() if task is not asyncio.current_task())

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())
    assert begun == ["pay"] and valid(run.messages)
    assert run.tool_executions[0].outcome.name == "IN_DOUBT"
    assert all(task.done() for task in left)


async def test_a_write_abandoned_at_its_time_stays_in_doubt_when_the_run_ends_while_its_error_is_handled() -> None:
    release, handling = asyncio.Event(), asyncio.Event()

    @tool(effect="write", timeout=0.05)
    async def pay() -> None:
        "A write that ignores its cancellation."
        while not release.is_set():
            with contextlib.suppress(asyncio.CancelledError):
                await release.wait()

    async def handler(error: BaseException, context: ToolErrorContext) -> ToolErrorHandlerResult:
        handling.set()
        await asyncio.Event().wait()
        return ToolErrorHandlerResult.text("never")

    run = Run()
    conversation = asyncio.create_task(one_run(ToolService(pay, execution_error_handler=handler), run, "pay"))
    await handling.wait()
    conversation.cancel()
    await asyncio.wait([conversation])
    release.set()
    assert conversation.cancelled() and valid(run.messages)
    assert [execution.outcome.name for execution in run.tool_executions] == ["IN_DOUBT"]


# -- F18, F19: tools that never end ----------------------------------------------------------------------------------


async def test_f18_sixty_four_stuck_threads_do_not_keep_the_next_call_from_running() -> None:
    release, threads = threading.Event(), threading.active_count()

    @tool(timeout=0.2)
    def stuck() -> None:
        "Never returns by itself."
        release.wait()

    @tool(timeout=30)
    def quick() -> str:
        "Returns at once."
        return "served"

    service = ToolService(stuck, quick, max_concurrent_tools=32)
    try:
        found = outcomes(await one_batch(service, *["stuck"] * 64, "quick"))
        assert {outcome for outcome, _ in found[:64]} == {"TIMED_OUT"}
        assert all("did not end within 0.2 s" in text and "unknown" in text for _, text in found[:64])
        assert found[64] == ("OK", "served")
        assert service.thread_counts.abandoned == 64
    finally:
        release.set()
        service.close()
    for _ in range(200):
        if threading.active_count() <= threads:
            break
        await asyncio.sleep(0.02)
    assert service.thread_counts.abandoned == 0


async def test_f18_past_both_bounds_calls_are_refused_at_once_and_none_waits() -> None:
    release = threading.Event()

    @tool(timeout=0.2)
    def stuck() -> None:
        "Never returns by itself."
        release.wait()

    service = ToolService(stuck, max_threads=2, max_abandoned_threads=1, max_concurrent_tools=1)
    try:
        found = outcomes(await one_batch(service, *["stuck"] * 5))
    finally:
        release.set()
    assert [outcome for outcome, _ in found] == ["TIMED_OUT"] * 3 + ["LIMITED"] * 2
    assert all("did not run" in text for _, text in found[3:])


async def test_f19_a_tool_that_ignores_its_cancellation_is_left_behind_with_one_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    release, ignored = asyncio.Event(), 0

    @tool(timeout=0.05)
    async def stubborn() -> str:
        "Goes on when it is cancelled."
        nonlocal ignored
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                ignored += 1
        return "late"

    service = ToolService(stubborn, good)
    with caplog.at_level(logging.WARNING, logger="agentforge"):
        found = outcomes(await one_batch(service, "good", "stubborn", "good"))
        again = outcomes(await one_batch(service, "good"))
    assert ignored >= 1 and not release.is_set()
    assert found[0] == found[2] == again[0] == ("OK", "kept")
    assert found[1][0] == "TIMED_OUT" and "unknown" in found[1][1]
    assert len([record for record in caplog.records if "stubborn" in record.getMessage()]) == 1
    release.set()
    await asyncio.sleep(0)


# -- F27: one of three goes wrong ------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", ["raises", "times out", "never returns from its thread"])
async def test_f27_the_others_keep_their_results_and_run_beside_it(fault: str) -> None:
    begun, release = asyncio.Barrier(3), threading.Event()

    @tool
    async def left() -> str:
        "The first."
        await begun.wait()
        return "left"

    @tool(timeout=None if fault == "raises" else 0.2)
    async def middle() -> str:
        "The one that fails."
        await begun.wait()
        if fault == "raises":
            raise ConnectionError("gone")
        if fault == "times out":
            await asyncio.Event().wait()
        await asyncio.to_thread(release.wait)
        return "never"

    @tool
    async def right() -> str:
        "The third."
        await begun.wait()
        return "right"

    try:
        async with asyncio.timeout(30):  # the barrier opens only when all three run at once
            result = await one_batch(ToolService(left, middle, right), "left", "middle", "right")
    finally:
        release.set()
    assert [execution.request.name for execution in result.tool_executions] == ["left", "middle", "right"]
    assert [execution.request.id for execution in result.tool_executions] == ["call_1", "call_2", "call_3"]
    wanted = "FAILED" if fault == "raises" else "TIMED_OUT"
    assert [outcome for outcome, _ in outcomes(result)] == ["OK", wanted, "OK"]
    assert [text for _, text in outcomes(result)][::2] == ["left", "right"]


# -- F41, S13: results that no message can carry ---------------------------------------------------------------------


class WithoutForm:
    pass


class Lazy:
    def model_dump(self, mode: str) -> dict[str, object]:
        raise RuntimeError("not loaded")


def cycle() -> list[object]:
    """A list that holds itself."""
    made: list[object] = []
    made.append({"again": made})
    return made


def nested(depth: int) -> object:
    """A list in a list in a list."""
    made: object = 1
    for _ in range(depth):
        made = [made]
    return made


def broken_generator() -> Iterator[int]:
    """One item, then an error."""
    yield 1
    raise RuntimeError("lost the connection")


def endless() -> Iterator[int]:
    """Items without end."""
    while True:
        yield 0


RESULTS: dict[str, tuple[Callable[[], object], str, str]] = {
    "NaN": (lambda: {"v": [float("nan"), float("-inf")]}, "OK", '{"v":["NaN","-Infinity"]}'),
    "bytes": (lambda: b"\x00\xff", "OK", "AP8="),
    "a lone surrogate": (lambda: "a\ud800b", "OK", "a\ufffdb"),
    "a lone surrogate inside": (lambda: {"k\udfff": "\ud800"}, "OK", '{"k\ufffd":"\ufffd"}'),
    "keys that are no texts": (lambda: {1: "a", (2, 3): "b", None: "c"}, "OK", '"[2,3]":"b"'),
    "a generator": (lambda: (n for n in range(3)), "OK", "[0,1,2]"),
    "a cycle": (cycle, "FAILED", "holds itself"),
    "too deep": (lambda: nested(100_000), "FAILED", "nested deeper than"),
    "an object": (WithoutForm, "FAILED", "WithoutForm"),
    "an object deep inside": (lambda: {"rows": [{"x": WithoutForm()}]}, "FAILED", "WithoutForm"),
    "a lazy value that raises": (Lazy, "FAILED", "not loaded"),
    "a generator that raises": (broken_generator, "FAILED", "lost the connection"),
    "a generator without end": (endless, "FAILED", "more than 100,000 items"),
    "a coroutine function": (lambda: one_batch, "FAILED", "function"),
    "nothing": (lambda: None, "OK", "Success"),
    "an empty text": (lambda: "", "OK", ""),
    "100 MiB": (lambda: "x" * (100 << 20), "OK", "more bytes]"),
}


@pytest.mark.parametrize(("make", "outcome", "words"), RESULTS.values(), ids=RESULTS.keys())
async def test_f41_whatever_a_tool_returns_the_next_request_is_valid(
    make: Callable[[], object], outcome: str, words: str
) -> None:
    """A text or a structured error, and the loop goes on; the body on the wire is JSON by the letter."""

    @tool
    def odd() -> Any:
        "Returns it."
        return make()

    asked = {"id": "c1", "type": "function", "function": {"name": "odd", "arguments": "{}"}}
    transport = FakeTransport(message("tool_calls", content=None, tool_calls=[asked]), message(content="done"))
    result = await ToolService(odd).chat(model_on(transport), None, "go")

    assert [execution.outcome.name for execution in result.tool_executions] == [outcome]
    assert words in result.tool_executions[0].result_text()
    body = json.loads(transport.requests[1].content.decode("utf-8", "strict"), parse_constant=pytest.fail)
    ((id_, sent),) = wire_pairs(body["messages"])
    assert id_ == "c1" and words in sent
    assert len(transport.requests[1].content) < 400 * 1024
    assert result.text == "done"


@pytest.mark.parametrize("letter", ["x", "é", "好", "🙂"])
async def test_s13_a_huge_result_is_cut_at_a_character_with_a_visible_mark_and_little_memory(letter: str) -> None:
    """At most 256 KiB reach the model, and cutting needs no copy of the whole."""
    size, cap = 64 << 20, 256 * 1024
    huge = letter * (size // len(letter.encode()))

    @tool
    async def dump() -> str:
        "Returns far too much."
        tracemalloc.start()
        return huge

    try:
        result = await one_batch(ToolService(dump), "dump")
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    text = result.tool_executions[0].result_text()
    kept, mark, note = text.partition("\n[cut: ")
    assert set(kept) == {letter} and cap - 4 < len(kept.encode()) <= cap
    assert mark and note == f"{len(huge.encode()) - len(kept.encode()):,} more bytes]"
    assert result.tool_executions[0].result.attributes["truncated_bytes"] == len(huge.encode()) - len(kept.encode())
    assert peak < 16 << 20
