"""Beans of every kind and scope, whose starts and ends fail, hang or raise whatever there is, in applications that are
stopped, cancelled or reloaded at any step: nothing stays open, nothing is closed twice, and the order holds."""

from __future__ import annotations

import asyncio
import contextlib
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import anyio
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.container import AgentForge
from tests.unit.container.kit import Kit

Trouble = Literal["", "raises", "cancelled", "ends", "group", "hangs"]
Kind = Literal["methods", "manager", "scoped", "plain manager", "closed only"]
_KINDS: tuple[Kind, ...] = ("methods", "manager", "scoped", "plain manager", "closed only")
_TROUBLES: tuple[Trouble, ...] = ("", "", "", "", "raises", "cancelled", "ends", "group", "hangs")


@dataclass
class Plan:
    """How a bean is to be: what it needs are beans before it."""

    kind: Kind
    scope: str
    lazy: bool
    needs: list[int]
    ticks: int
    start: Trouble
    close: Trouble


@dataclass
class World:
    """All objects that were made, and what is wrong with their lives."""

    plans: list[Plan]
    made: list[Life] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    #: Whether there is one object of each singleton at most, so that the order can be told from their names.
    ordered: bool = True

    def of(self, number: int) -> list[Life]:
        """The objects of a bean."""
        return [life for life in self.made if life.number == number]

    def make(self, number: int) -> Life:
        """An object of a bean."""
        kind = {
            "methods": Methods,
            "manager": Manager,
            "scoped": Scoped,
            "plain manager": PlainManager,
            "closed only": ClosedOnly,
        }[self.plans[number].kind]
        life: Life = kind(self, number)
        self.made.append(life)
        return life

    def expect(self, truth: bool, what: str) -> None:
        """Note what is not as it has to be."""
        if not truth:
            self.wrong.append(what)


class Life:
    """One object, its steps, and the rules for them."""

    def __init__(self, world: World, number: int) -> None:
        self.world = world
        self.number = number
        self.plan = world.plans[number]
        self.open = False
        self.closed = 0
        self.task: Any = None
        self._check_needs("made")

    def _check_needs(self, what: str) -> None:
        if not self.world.ordered:
            return
        for need in self.plan.needs:
            if self.world.plans[need].scope == "singleton":
                there = self.world.of(need)
                fit = bool(there) and there[0].closed == 0
                has_start = self.world.plans[need].kind != "closed only"
                self.world.expect(fit and (there[0].open or not has_start), f"{self.number} {what} without {need}")

    def opening(self) -> None:
        """The start begins."""
        self.world.expect(not self.open, f"{self.number} started twice")  # after a failure it may be tried again
        self.world.expect(not self.closed, f"{self.number} started after its end")
        self.task = _here()
        self._check_needs("started")

    def closing(self, *, same_task: bool = False) -> None:
        """The end begins."""
        self.closed += 1
        self.world.expect(self.closed == 1, f"{self.number} closed twice")
        if same_task:
            self.world.expect(self.open and self.task is _here(), f"{self.number} left elsewhere, or never entered")
        if self.world.ordered and self.plan.scope == "singleton":
            users = (life for life in self.world.made if self.number in life.plan.needs)
            for user in users:
                self.world.expect(bool(user.closed) or user.entered_never, f"{self.number} closed before {user.number}")

    @property
    def entered_never(self) -> bool:
        """Whether there is nothing to close: a manager that was never entered."""
        return self.plan.kind in ("manager", "scoped", "plain manager") and not self.open

    @property
    def at_rest(self) -> bool:
        """Whether nothing of it is open any more."""
        return self.closed == 1 or (self.closed == 0 and self.entered_never)


def _here() -> Any:
    return asyncio.current_task()


async def _trouble(trouble: Trouble, ticks: int) -> None:
    for _ in range(ticks):
        await asyncio.sleep(0)
    _fail(trouble)
    if trouble == "hangs":
        await asyncio.Event().wait()


def _fail(trouble: Trouble) -> None:
    if trouble == "raises":
        raise ValueError("no")
    if trouble == "cancelled":
        raise asyncio.CancelledError
    if trouble == "ends":
        raise SystemExit(3)
    if trouble == "group":
        raise ExceptionGroup("several", [ValueError("one"), KeyError("two")])


class Methods(Life):
    """Started and closed by methods."""

    async def start(self) -> None:
        """Start."""
        self.opening()
        await _trouble(self.plan.start, self.plan.ticks)
        self.open = True

    async def aclose(self) -> None:
        """End."""
        self.closing(same_task=self.open)
        await _trouble(self.plan.close, self.plan.ticks)


class Manager(Life):
    """Entered and left."""

    async def __aenter__(self) -> Manager:
        self.opening()
        await _trouble(self.plan.start, self.plan.ticks)
        self.open = True
        return self

    async def __aexit__(self, *error: object) -> None:
        self.closing(same_task=True)
        await _trouble(self.plan.close, self.plan.ticks)


class Scoped(Life):
    """Keeps a group of tasks, which must be left in the task that entered it, and is left whatever comes."""

    async def __aenter__(self) -> Scoped:
        self.opening()
        self.group = anyio.create_task_group()
        await self.group.__aenter__()
        self.group.start_soon(anyio.sleep_forever)
        try:
            await _trouble(self.plan.start, self.plan.ticks)
        except BaseException as error:
            self.group.cancel_scope.cancel()
            await self.group.__aexit__(type(error), error, error.__traceback__)
            raise
        self.open = True
        return self

    async def __aexit__(self, *error: object) -> None:
        self.closing(same_task=True)
        self.group.cancel_scope.cancel()
        await self.group.__aexit__(None, None, None)
        await _trouble(self.plan.close, self.plan.ticks)


class PlainManager(Life):
    """Entered and left without waiting."""

    def __enter__(self) -> PlainManager:
        self.opening()
        _fail(self.plan.start)
        self.open = True
        return self

    def __exit__(self, *error: object) -> None:
        self.closing()
        _fail(self.plan.close)


class ClosedOnly(Life):
    """Needs no start."""

    def close(self) -> None:
        """End."""
        self.closing()
        _fail(self.plan.close)


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Up to six beans; with no trouble for half of them."""
    troubles = draw(st.sampled_from([("",), _TROUBLES]))
    plans = [
        Plan(
            kind=draw(st.sampled_from(_KINDS)),
            scope=draw(st.sampled_from(["singleton", "singleton", "prototype", "invocation"])),
            lazy=draw(st.booleans()),
            needs=draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else [],
            ticks=draw(st.integers(0, 3)),
            start=draw(st.sampled_from(troubles)),
            close=draw(st.sampled_from(troubles)),
        )
        for number in range(draw(st.integers(1, 6)))
    ]
    return World(plans)


def application(world: World) -> AgentForge:
    """The application of a world."""
    kit = Kit(Path(tempfile.gettempdir()))
    beans: dict[str, Any] = {}
    for number, plan in enumerate(world.plans):
        kit.makers[f"b{number}"] = lambda number=number: world.make(number)  # type: ignore[misc]
        options = {"scope": plan.scope, "lazy": plan.lazy, "depends_on": [f"b{need}" for need in plan.needs]}
        beans[f"b{number}"] = {"type": "t.own", "bean": options}
    return AgentForge.from_mapping(
        {"beans": beans}, folder=kit.folder, environment={}, plugins=kit.plugins(), stop_timeout=0.002
    )


async def use(app: AgentForge, world: World, wanted: list[int]) -> None:
    """A run that asks for beans; prototypes that were asked for are the caller's, who leaves them unstarted."""
    with contextlib.suppress(Exception, SystemExit):  # what ends a program would end the loop, as a task raises it
        async with app.invocation():
            for number in wanted:
                with contextlib.suppress(Exception, SystemExit):
                    found = await app.resolve(f"b{number % len(world.plans)}")
                    if found.plan.scope == "prototype":
                        found.closed = 1


async def live(app: AgentForge, world: World, wanted: list[list[int]], ending: str, ticks: int) -> None:
    """An application from its start to its end, which comes after so many steps at the latest."""
    task = asyncio.ensure_future(_lived(app, world, wanted, ending))
    for _ in range(ticks):
        await asyncio.sleep(0)
    if ending == "stopped":
        with contextlib.suppress(BaseException):
            await app.stop()
    hanging = any(plan.start == "hangs" for plan in world.plans)
    if ending == "cancelled" or hanging:
        task.cancel()
    await asyncio.wait((task,))


async def _lived(app: AgentForge, world: World, wanted: list[list[int]], ending: str) -> None:
    with contextlib.suppress(Exception, SystemExit):
        await _life(app, world, wanted, ending)


async def _life(app: AgentForge, world: World, wanted: list[list[int]], ending: str) -> None:
    async with app:
        await asyncio.gather(*(use(app, world, each) for each in wanted), return_exceptions=True)
        if ending == "reloaded":
            await app.reload()
            await asyncio.gather(*(use(app, world, each) for each in wanted), return_exceptions=True)


@settings(max_examples=100, deadline=None)
@given(
    worlds(),
    st.lists(st.lists(st.integers(0, 5), max_size=3), max_size=3),
    st.sampled_from(["whole", "stopped", "cancelled", "reloaded", "reloaded and cancelled"]),
    st.integers(0, 60),
)
def test_whatever_happens_when_nothing_stays_open(
    world: World, wanted: list[list[int]], ending: str, ticks: int
) -> None:
    """Each object is started once at most, after what it needs, and closed once, before what it needs."""
    world.ordered = not ending.startswith("reloaded")

    async def main() -> None:
        app = application(world)
        kind = "cancelled" if ending == "reloaded and cancelled" else ending
        if ending.startswith("reloaded"):
            await live(app, world, wanted, "reloaded", 400 if ending == "reloaded" else ticks)
            if kind == "cancelled":
                with contextlib.suppress(BaseException):
                    await app.stop()
        else:
            await live(app, world, wanted, kind, ticks)
        with contextlib.suppress(BaseException):
            await app.stop()
        for _ in range(20):
            await asyncio.sleep(0)
        assert world.wrong == []
        assert [life.number for life in world.made if not life.at_rest] == []
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())
