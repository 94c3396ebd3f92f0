"""A function of the ``scan`` roots as the maker of a bean: what fills its parameters, what it is to others, and which
functions cannot be one."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from textwrap import indent
from typing import Any

import pytest

from agentforge.container import AgentForge
from tests.unit.container.kit import Kit, faults_of, marked

PARTS = """
from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Annotated, Any, Protocol

from agentforge.plugin import Qualifier


class Clock:
    def __init__(self, zone: str) -> None:
        self.zone = zone
        self.log: list[str] = []

    async def start(self) -> None:
        self.log.append("start")

    def close(self) -> None:
        self.log.append("close")

class Tells(Protocol):
    def close(self) -> None: ...

class Desk:
    def __init__(self, clock: Tells) -> None:
        self.clock = clock

def clock(zone: str = "UTC", offset: int = 0) -> Clock:
    return Clock(f"{zone}+{offset}")

def copy(first: Annotated[Clock, Qualifier("first")], more: list[Clock]) -> Clock:
    return Clock(f"{first.zone} of {len(more)}")

def told(clock: Clock | None = None) -> Tells:
    return clock or Clock("told")

def names() -> dict[str, Clock]:
    return {"a": Clock("a")}

@asynccontextmanager
async def lent(zone: str) -> AsyncIterator[Clock]:
    yield Clock(zone)

async def late() -> Clock:
    return Clock("late")

def silent():
    return Clock("silent")

def anything() -> Any: ...

def nothing() -> None: ...

def either() -> Clock | Desk: ...

def several() -> Iterator[Clock]:
    yield Clock("several")

async def stream() -> AsyncIterator[Clock]:
    yield Clock("stream")

def unreadable() -> NoSuchName: ...

def empty() -> Clock:
    return None
"""


@pytest.fixture
def kit(kit: Kit) -> Iterator[Kit]:
    """With a module of functions beside the file, which is forgotten afterwards."""
    kit.write("container_makers.py", PARTS)
    before = set(sys.modules)
    yield kit
    for name in set(sys.modules) - before:
        if name.startswith("container_"):
            del sys.modules[name]


def scanned(kit: Kit, beans: str, **options: Any) -> AgentForge:
    return kit.load("scan: [container_makers]\nbeans:\n" + indent(beans, "  "), **options)


async def test_what_a_function_makes_is_the_bean(kit: Kit) -> None:
    """Made of plain values, read as the hints say; started and closed like any other."""
    async with scanned(kit, "it: {type: factory, function: clock, arguments: {zone: 007, offset: '8'}}") as app:
        it = app.get("it")
        assert (type(it).__name__, it.zone, it.log) == ("Clock", "007+8", ["start"])
        assert app.get(type(it)) is it

    assert it.log == ["start", "close"]


async def test_its_parameters_are_filled_as_those_of_a_constructor(kit: Kit) -> None:
    beans = (
        "first: {type: factory, function: clock, arguments: {zone: x}}\n"
        "it: {type: factory, function: copy}\n"
        "desk: {type: component, component: Desk, arguments: {clock: it}}\n"
    )
    async with scanned(kit, beans) as app:
        assert app.get("it").zone == "x+0 of 1"
        assert app.get("desk").clock is app.get("it")


async def test_its_return_annotation_is_its_contract(kit: Kit) -> None:
    """A protocol too; others find the bean by it."""
    app = scanned(kit, "it: {type: factory, function: told}\ndesk: {type: component, component: Desk}")
    assert app.plan.beans["it"].provides.__name__ == "Tells"

    async with app:
        assert app.get("desk").clock is app.get("it")


def test_a_collection_and_what_is_lent_are_contracts(kit: Kit) -> None:
    """Of an asynchronous context manager that what it yields."""
    beans = "a: {type: factory, function: names}\nb: {type: factory, function: lent, arguments: {zone: x}}"

    plan = scanned(kit, beans).plan

    assert [plan.beans[name].provides.__name__ for name in "ab"] == ["dict", "Clock"]


async def test_what_is_lent_is_entered_and_given_back(kit: Kit) -> None:
    async with scanned(kit, "it: {type: factory, function: lent, arguments: {zone: x}}") as app:
        assert app.get("it").zone == "x"


REFUSED = {
    "an async function": (
        "late",
        "the function 'late' is async and cannot make a bean",
        "Return the object at once; what has to be awaited goes into its start().",
    ),
    "no return annotation": (
        "silent",
        "the function 'silent' has no return annotation",
        "Annotate it with what it makes: def silent(...) -> Clock.",
    ),
    "an annotation of anything": ("anything", "the function 'anything' does not say which class or protocol", None),
    "an annotation of nothing": ("nothing", "the function 'nothing' does not say which class or protocol", None),
    "an annotation of either": ("either", "the function 'either' does not say which class or protocol", None),
    "a generator": (
        "several",
        "the function 'several' yields and cannot make a bean",
        "Return the object, or make it an @asynccontextmanager.",
    ),
    "an asynchronous generator": ("stream", "the function 'stream' yields and cannot make a bean", None),
    "hints that cannot be read": ("unreadable", "the function 'unreadable' cannot be read", None),
    "a class": ("Desk", "'Desk' is a class, not a function", "Use {type: component, component: Desk}."),
    "none": ("clok", "no component 'clok' is defined in container_makers", "Did you mean clock or Clock?"),
}


@pytest.mark.parametrize(("function", "message", "step"), REFUSED.values(), ids=REFUSED.keys())
def test_a_function_that_cannot_make_a_bean_is_refused_where_it_is_named(
    kit: Kit, function: str, message: str, step: str | None
) -> None:
    text, [place] = marked(f"scan: [container_makers]\nbeans:\n  it: {{type: factory, function: «{function}}}\n")

    [fault] = faults_of(kit.load(text))

    assert (fault.code, str(fault.mark)) == ("AF203", f"{kit.folder / 'app.yaml'}:{place}")
    assert message in fault.message
    assert step in (None, fault.next_step)


FILLED_WRONGLY = {
    "a value that does not fit": ("{offset: «much}", "AF108", "'offset' is a whole number, not a text"),
    "a value that it does not take": ("{zome: «x}", "AF203", "the function clock has no parameter 'zome'"),
}


@pytest.mark.parametrize(("arguments", "code", "message"), FILLED_WRONGLY.values(), ids=FILLED_WRONGLY.keys())
def test_what_does_not_fit_its_parameters_is_told_before_it_is_called(
    kit: Kit, arguments: str, code: str, message: str
) -> None:
    text, [place] = marked(
        f"scan: [container_makers]\nbeans:\n  it: {{type: factory, function: clock, arguments: {arguments}}}\n"
    )

    [fault] = faults_of(kit.load(text))

    assert (fault.code, fault.message) == (code, message)
    assert str(fault.mark) == f"{kit.folder / 'app.yaml'}:{place}"


async def test_a_function_that_makes_nothing_is_an_error_with_the_bean_s_place(kit: Kit) -> None:
    from agentforge.errors import AgentForgeError

    with pytest.raises(AgentForgeError, match="'factory' gave no object") as raised:
        await scanned(kit, "it: {type: factory, function: empty}").start()

    assert raised.value.location == f"bean 'it', {kit.folder / 'app.yaml'}:3:3"


async def test_a_function_as_a_component_stays_the_function(kit: Kit) -> None:
    async with scanned(kit, "it: {type: component, component: clock}") as app:
        assert app.get("it")("x").zone == "x+0"
