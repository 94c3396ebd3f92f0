"""Worker threads of synchronous tools: bounded, reused, and able to lose a thread that never returns."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable

import pytest

from agentforge.errors import ToolLimitedError
from agentforge.tool.execution import ThreadCounts, ToolThreads


async def until(true: Callable[[], bool]) -> None:
    """Wait for threads, which tell the loop nothing."""
    async with asyncio.timeout(5):
        while not true():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


async def test_a_function_runs_off_the_loop_with_the_callers_context_variables() -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    tenant.set("acme")
    threads = ToolThreads()

    found, where = await threads.run(lambda: (tenant.get(), threading.current_thread()))

    assert found == "acme"
    assert where is not threading.current_thread() and where.daemon
    threads.close()


async def test_what_the_function_raises_is_raised_to_the_caller() -> None:
    threads = ToolThreads()
    with pytest.raises(KeyError, match="missing"):
        await threads.run(lambda: {}["missing"])
    threads.close()


@pytest.mark.parametrize("fatal", [SystemExit(3), StopIteration("x")])
async def test_an_exception_that_would_end_the_loop_arrives_as_a_plain_error(fatal: BaseException) -> None:
    def leave() -> None:
        raise fatal

    threads = ToolThreads()
    with pytest.raises(RuntimeError, match=type(fatal).__name__):
        await threads.run(leave)
    threads.close()


async def test_a_place_lent_while_its_thread_waits_is_taken_by_another_and_given_back() -> None:
    threads = ToolThreads(max_threads=1)
    loop = asyncio.get_running_loop()

    def outer() -> str:
        with threads.lent(), threads.lent():  # lending twice lends one place
            return asyncio.run_coroutine_threadsafe(threads.run(lambda: "inner"), loop).result(10)

    with threads.lent():  # no worker of this pool: nothing changes
        assert await threads.run(outer) == "inner"
    await until(lambda: threads.counts == ThreadCounts(busy=0, idle=1, abandoned=0))
    threads.close()


@pytest.mark.parametrize("max_abandoned", [1, 0])
async def test_a_thread_abandoned_while_its_place_is_lent_is_counted_once(max_abandoned: int) -> None:
    threads = ToolThreads(max_threads=1, max_abandoned=max_abandoned)
    release, lent = threading.Event(), threading.Event()

    def outer() -> None:
        with threads.lent():
            lent.set()
            release.wait(10)

    call = asyncio.create_task(threads.run(outer))
    await until(lent.is_set)
    call.cancel()
    await asyncio.wait([call])
    assert threads.counts == ThreadCounts(busy=0, idle=0, abandoned=1)
    release.set()
    await until(lambda: threads.counts.abandoned == 0)
    assert await threads.run(lambda: "served") == "served"
    await until(lambda: threads.counts == ThreadCounts(busy=0, idle=1, abandoned=0))
    threads.close()


async def test_what_begins_a_call_is_told_before_it_runs_and_never_for_one_given_up() -> None:
    threads, told, release = ToolThreads(max_threads=1), [], threading.Event()
    first = asyncio.create_task(threads.run(release.wait, lambda: told.append("first")))
    await until(lambda: told == ["first"])
    second = asyncio.create_task(threads.run(lambda: None, lambda: told.append("second")))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.wait([second])
    release.set()
    await first
    await threads.run(lambda: None)
    assert told == ["first"]
    threads.close()


async def test_threads_are_reused_and_never_more_than_the_bound() -> None:
    threads = ToolThreads(max_threads=3)
    seen: set[int] = set()

    await asyncio.gather(*(threads.run(lambda: seen.add(threading.get_ident())) for _ in range(50)))

    assert 1 <= len(seen) <= 3
    assert threads.counts.abandoned == 0
    threads.close()


async def test_an_abandoned_thread_is_counted_and_replaced() -> None:
    threads = ToolThreads(max_threads=1, max_abandoned=1)
    release = threading.Event()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await threads.run(release.wait)
    assert threads.counts.abandoned == 1

    assert await threads.run(lambda: "served") == "served"

    release.set()
    await until(lambda: threads.counts.abandoned == 0)
    threads.close()


async def test_beyond_the_second_bound_calls_are_refused_at_once_and_served_again_later() -> None:
    threads = ToolThreads(max_threads=2, max_abandoned=1)
    release = threading.Event()
    for _ in range(3):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await threads.run(release.wait)
    assert threads.counts == ThreadCounts(busy=0, idle=0, abandoned=3)

    with pytest.raises(ToolLimitedError, match="all 2 worker threads"):
        await threads.run(lambda: "never")

    release.set()
    await until(lambda: threads.counts.abandoned == 0)
    assert await threads.run(lambda: "served") == "served"
    threads.close()


async def test_a_call_given_up_before_it_started_never_runs() -> None:
    threads = ToolThreads(max_threads=1)
    release, ran = threading.Event(), []
    first = asyncio.create_task(threads.run(release.wait))
    await until(lambda: threads.counts.busy == 1)
    second = asyncio.create_task(threads.run(lambda: ran.append("second")))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second

    release.set()
    await first

    assert await threads.run(lambda: "third") == "third"
    assert ran == []
    threads.close()
