"""The end of an application at any time: while it starts or is reloaded, while beans are asked for, and twice."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from agentforge.container import AgentForge, BeanCreationError, ContextStateError
from tests.unit.container.kit import Kit, Plain, Thing


class Gated(Thing):
    """One whose start waits until it is let go."""

    def __init__(self, bean_id: str, log: list[str], gate: asyncio.Event) -> None:
        super().__init__(bean_id, log)
        self.gate = gate

    async def start(self) -> None:
        """Note its beginning and its end."""
        self.note("begin")
        await self.gate.wait()
        self.note("start")


@pytest.fixture
def gate(kit: Kit) -> asyncio.Event:
    """Opens the beans ``a`` of the type ``t.own``."""
    made = asyncio.Event()
    kit.makers = {"a": lambda: Gated("a", kit.log, made)}
    return made


def _opened_and_closed(log: list[str]) -> tuple[list[str], list[str]]:
    made = [each.removeprefix("make ") for each in log if each.startswith("make ")]
    return made, [each.removeprefix("close ") for each in log if each.startswith("close ")]


# -- while it starts ----------------------------------------------------------------------------------


async def test_an_application_that_is_stopped_while_it_starts_makes_nothing_more(kit: Kit, gate: asyncio.Event) -> None:
    """The start that is under way is given up, and closes what it has made, in reverse and once; the end waits."""
    app = kit.beans("z: {type: t.thing}\na: {type: t.own, bean: {depends_on: [z]}}\nb: {type: t.thing, one: a}")
    starting = asyncio.create_task(app.start())
    await kit.until("begin a")
    await app.stop()

    assert kit.log == ["make z", "start z", "make a", "begin a", "close a", "close z"]
    with pytest.raises(ContextStateError, match="the application has ended"):
        await starting
    assert len(kit.log) == 6


async def test_a_bean_may_stop_the_application_in_its_start(kit: Kit) -> None:
    class Refusing(Thing):
        async def start(self) -> None:
            await app.stop()

    kit.makers = {"a": lambda: Refusing("a", kit.log)}
    app = kit.beans("z: {type: t.thing}\na: {type: t.own, bean: {depends_on: [z]}}")
    with pytest.raises(ContextStateError, match="the application has ended"):
        await app.start()

    assert kit.log[-2:] == ["close a", "close z"]


async def test_a_cancellation_while_plain_starts_run_ends_the_start(kit: Kit) -> None:
    """It came when nothing was awaited, as an interrupt does, and is not left to whatever waits next."""

    class Long(Plain):
        def start(self) -> None:  # type: ignore[override]
            task.cancel()
            super().start()

    kit.makers = {"a": lambda: Long("a", kit.log)}
    task = asyncio.ensure_future(kit.beans("a: {type: t.own}").start())
    with pytest.raises(asyncio.CancelledError):
        await task

    assert kit.log == ["make a", "start a", "close a"]


# -- while beans are asked for ------------------------------------------------------------------------

ASKED: dict[str, tuple[str, list[str]]] = {
    "a chain of lazy beans": (
        "a: {type: t.own, bean: {lazy: true}}\nb: {type: t.thing, one: a, bean: {lazy: true}}\n"
        "c: {type: t.thing, one: b, bean: {lazy: true}}",
        ["a"],
    ),
    "one with prototypes": (
        "a: {type: t.own, bean: {scope: prototype}}\nb: {type: t.thing, bean: {scope: prototype}}\n"
        "c: {type: t.thing, needs: [a, b], bean: {lazy: true}}",
        ["a", "b", "c"],
    ),
}


@pytest.mark.parametrize(("beans", "made"), ASKED.values(), ids=ASKED.keys())
async def test_what_is_asked_for_while_the_application_ends_is_not_started_any_more(
    kit: Kit, gate: asyncio.Event, beans: str, made: list[str]
) -> None:
    """Nothing is made after the closing, and nothing is opened that was closed."""
    app = kit.beans(beans)
    await app.start()
    asking = asyncio.create_task(app.resolve("c"))
    await kit.until("begin a")
    stopping = asyncio.create_task(app.stop())
    await asyncio.sleep(0)
    gate.set()
    await stopping
    with pytest.raises(ContextStateError):
        await asking

    assert _opened_and_closed(kit.log) == (made, made[::-1])
    assert [each for each in kit.log if each.startswith("start")] == ["start a"]
    assert asyncio.all_tasks() == {asyncio.current_task()}


@pytest.mark.parametrize("steps", range(6))
async def test_who_waits_for_a_start_that_fails_at_the_end_is_told(kit: Kit, steps: int) -> None:
    """And is not left to wait, though the end may have come across the failure first."""
    stopping: list[asyncio.Task[None]] = []

    class Failing(Thing):
        async def start(self) -> None:
            stopping.append(asyncio.create_task(app.stop()))
            for _ in range(steps):
                await asyncio.sleep(0)
            raise ValueError("too late")

    kit.makers = {"a": lambda: Failing("a", kit.log)}
    app = kit.beans("a: {type: t.own, bean: {lazy: true}}")
    await app.start()
    asking = asyncio.create_task(app.resolve("a"))
    for _ in range(100):
        await asyncio.sleep(0)

    assert asking.done()
    with pytest.raises(BeanCreationError, match="too late"):
        await asking
    await stopping[0]


# -- while it is reloaded -----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["its start", "whether it is ready"])
async def test_the_end_gives_up_a_reload_and_waits_for_what_that_has_made(
    kit: Kit, gate: asyncio.Event, where: str
) -> None:
    ready: Callable[[Any], Awaitable[object]] | None = None
    if where != "its start":
        ready = _waiting
    app = kit.beans("b: {type: t.thing}")
    await app.start()
    if where == "its start":
        kit.write("app.yaml", "beans:\n  b: {type: t.thing}\n  a: {type: t.own, bean: {depends_on: [b]}}")
    reloading = asyncio.create_task(app.reload(ready=ready))
    for _ in range(50):
        await asyncio.sleep(0)
    waiting = asyncio.create_task(app.reload())
    await app.stop()

    assert kit.log.count("make b") == 2
    made, closed = _opened_and_closed(kit.log)
    assert sorted(made) == sorted(closed)
    gate.set()
    reloading.cancel() if where != "its start" else None
    ended = await asyncio.gather(reloading, waiting, return_exceptions=True)
    assert [type(each) for each in ended] == [
        ContextStateError if where == "its start" else asyncio.CancelledError,
        ContextStateError,
    ]
    assert len(_opened_and_closed(kit.log)[0]) == len(made)


async def _waiting(resolve: object) -> None:
    await asyncio.Event().wait()


# -- twice, and from elsewhere ------------------------------------------------------------------------


async def test_who_stops_it_again_waits_for_its_end(kit: Kit) -> None:
    """As a handler of a signal and the end of the block do; each bean is closed once."""
    app = kit.beans("a: {type: t.thing}\nb: {type: t.thing, close: hangs, one: a}", stop_timeout=0.01)
    await app.start()
    first = asyncio.create_task(app.stop())
    await kit.until("close b")
    await app.stop()

    assert kit.log[-2:] == ["close b", "close a"]
    with pytest.raises(ExceptionGroup):
        await first


async def test_it_may_be_stopped_from_another_loop(kit: Kit) -> None:
    """It ends on its own, where its beans live and a reload may be under way."""
    loops: list[object] = []

    class Here(Thing):
        async def aclose(self) -> None:
            loops.append(asyncio.get_running_loop())
            await super().aclose()

    kit.makers = {"a": lambda: Here("a", kit.log)}
    app: AgentForge = kit.beans("a: {type: t.own}\nb: {type: t.thing}")
    await app.start()
    await app.reload()
    await asyncio.to_thread(lambda: asyncio.run(app.stop()))

    assert loops == [asyncio.get_running_loop()] * 2
    assert kit.log.count("close b") == 2


# -- a cancellation that is none ----------------------------------------------------------------------


class Polling(Thing):
    """Ends a task of its own and awaits it, as many do, and so raises its cancellation."""

    where = ""

    def __init__(self, bean_id: str, log: list[str]) -> None:
        super().__init__(bean_id, log)
        if self.where == "make":
            raise asyncio.CancelledError

    async def start(self) -> None:
        """Begin to poll."""
        self.note("start")
        self.task = asyncio.create_task(asyncio.Event().wait())
        if self.where == "start":
            await self.aclose()

    async def aclose(self) -> None:
        """End it."""
        self.note("close")
        if self.where == "start":
            self.where = ""
            self.task.cancel()
            await self.task
        if self.where == "close":
            self.task.cancel()
            await self.task


class PlainlyPolling(Plain):
    """Raises it from methods that wait for nothing."""

    where = ""

    def start(self) -> None:  # type: ignore[override]
        """Fail, if it is to."""
        if self.where == "start":
            raise asyncio.CancelledError

    def close(self) -> None:
        """Fail, if it is to."""
        self.note("close")
        if self.where == "close":
            raise asyncio.CancelledError


WORDS = "RuntimeError: it raised CancelledError, and nobody had cancelled it"


@pytest.mark.parametrize(
    ("kind", "where"), [(Polling, "make"), (Polling, "start"), (PlainlyPolling, "start")], ids=lambda found: str(found)
)
async def test_a_bean_that_raises_a_cancellation_nobody_asked_for_has_failed(kit: Kit, kind: Any, where: str) -> None:
    """The program is not taken for cancelled, and the bean is named."""
    kit.makers = {"a": lambda: type("Own", (kind,), {"where": where})("a", kit.log)}
    what = "made" if where == "make" else "started"
    with pytest.raises(BeanCreationError) as raised:
        async with kit.beans("a: {type: t.own}"):
            raise AssertionError("it started")

    assert raised.value.message == f"the bean 'a' (t.own) could not be {what}: {WORDS}"


@pytest.mark.parametrize("kind", [Polling, PlainlyPolling])
async def test_one_that_raises_it_when_it_is_closed_keeps_no_other_open(kit: Kit, kind: Any) -> None:
    kit.makers = {"a": lambda: type("Own", (kind,), {"where": "close"})("a", kit.log)}
    with pytest.raises(ExceptionGroup) as raised:
        async with kit.beans("b: {type: t.thing}\na: {type: t.own, bean: {depends_on: [b]}}"):
            pass

    assert [f"{type(each).__name__}: {each}" for each in raised.value.exceptions] == [WORDS]
    assert [type(each.__cause__) for each in raised.value.exceptions] == [asyncio.CancelledError]
    assert kit.log[-2:] == ["close a", "close b"]


def test_an_interrupt_while_plain_starts_run_ends_the_program_s_start(kit: Kit) -> None:
    """Ctrl-C, which the loop turns into a cancellation, does not get lost where nothing is awaited."""

    class Long(Plain):
        def start(self) -> None:  # type: ignore[override]
            signal.raise_signal(signal.SIGINT)
            super().start()

    async def main() -> None:
        async with kit.beans("a: {type: t.own}"):
            kit.log.append("started")

    kit.makers = {"a": lambda: Long("a", kit.log)}
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(main())

    assert kit.log == ["make a", "start a", "close a"]
