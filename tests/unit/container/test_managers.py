"""Beans that are context managers are entered and left by one rule, and what entering gives is the bean."""

from __future__ import annotations

import asyncio
import concurrent.futures
import logging
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import pytest

from agentforge import tool
from agentforge.container import BeanCreationError, ContextStateError
from agentforge.tool.execution.background import BackgroundLoop
from tests.unit.container.kit import Kit, Thing


class Manager:
    """Notes its steps, and in which task they were."""

    def __init__(self, bean_id: str, log: list[str], gives: Any = None) -> None:
        self.id = bean_id
        self.log = log
        self.gives = gives
        self.tasks: list[Any] = []
        log.append(f"make {bean_id}")

    async def __aenter__(self) -> Any:
        await asyncio.sleep(0)
        self.log.append(f"enter {self.id}")
        self.tasks.append(asyncio.current_task())
        return self if self.gives is None else self.gives

    async def __aexit__(self, *error: object) -> None:
        await asyncio.sleep(0)
        self.log.append(f"leave {self.id}")
        self.tasks.append(asyncio.current_task())


class Scoped(Manager):
    """Keeps a cancel scope open, which must be left in the task that entered it."""

    async def __aenter__(self) -> Any:
        self.group = anyio.create_task_group()
        await self.group.__aenter__()
        self.group.start_soon(anyio.sleep_forever)
        return await super().__aenter__()

    async def __aexit__(self, *error: object) -> None:
        await super().__aexit__(*error)
        self.group.cancel_scope.cancel()
        await self.group.__aexit__(None, None, None)


async def test_an_asynchronous_one_is_entered_before_its_users_are_made_and_left_after_them(kit: Kit) -> None:
    """In one task of its own."""
    kit.makers = {"a": lambda: Scoped("a", kit.log)}
    async with kit.beans("b: {type: t.thing, one: a}\na: {type: t.own}") as app:
        found = app.get("a")
        assert kit.log == ["make a", "enter a", "make b", "start b"]

    assert kit.log[4:] == ["close b", "leave a"]
    assert found.tasks[0] is found.tasks[1]
    assert found.tasks[0] is not asyncio.current_task()


def test_in_synchronous_use_as_well(kit: Kit) -> None:
    """Lazily too: who asks first is of no matter."""
    kit.makers = {"a": lambda: Scoped("a", kit.log), "late": lambda: Scoped("late", kit.log)}
    with kit.beans("a: {type: t.own}\nlate: {type: t.own, bean: {lazy: true}}") as app:
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            late = pool.submit(app.get, "late").result(30)
        assert app.get("late") is late

    assert kit.log == ["make a", "enter a", "make late", "enter late", "leave late", "leave a"]
    assert late.tasks[0] is late.tasks[1]


async def test_a_lazy_one_that_another_task_asked_for_is_left_by_the_application(kit: Kit) -> None:
    kit.makers = {"late": lambda: Scoped("late", kit.log)}
    async with kit.beans(
        "late: {type: t.own, bean: {lazy: true}}\nb: {type: t.thing, one: late, bean: {lazy: true}}"
    ) as app:
        with pytest.raises(ContextStateError, match="the start of the lazy bean 'late' has to be awaited"):
            app.get("late")
        first, second = await asyncio.gather(app.resolve("b"), asyncio.create_task(app.resolve("late")))
        assert first.settings.one is second is app.get("late")

    assert kit.log == ["make late", "enter late", "make b", "start b", "close b", "leave late"]


GIVES: dict[str, tuple[Any, Callable[[Any, Any], bool]]] = {
    "itself": ("self", lambda bean, made: bean is made),
    "nothing": (None, lambda bean, made: bean is made),
    "another": ("session", lambda bean, made: bean == "session"),
}


@pytest.mark.parametrize("lazy", ["", ", bean: {lazy: true}"], ids=["from the start", "lazy"])
@pytest.mark.parametrize("plain", [False, True], ids=["asynchronous", "plain"])
@pytest.mark.parametrize(("gives", "right"), GIVES.values(), ids=GIVES.keys())
async def test_what_entering_gives_is_the_bean(
    kit: Kit, gives: Any, right: Callable[[Any, Any], bool], plain: bool, lazy: str
) -> None:
    """For those that use it and for the program."""
    made: list[Any] = []

    class Asynchronous:
        async def __aenter__(self) -> Any:
            return self if gives == "self" else gives

        async def __aexit__(self, *error: object) -> None:
            kit.log.append("left")

    class Plain:
        def __enter__(self) -> Any:
            return self if gives == "self" else gives

        def __exit__(self, *error: object) -> None:
            kit.log.append("left")

    def make() -> object:
        made.append(Plain() if plain else Asynchronous())
        return made[-1]

    kit.makers = {"a": make}
    async with kit.beans(f"a: {{type: t.own{lazy}}}\nb: {{type: t.plain, one: a{lazy}}}") as app:
        user = app.get("b") if plain else await app.resolve("b")
        assert right(app.get("a"), made[0])
        assert user.settings.one is app.get("a")

    assert kit.log.count("left") == 1
    assert len(made) == 1


async def test_a_prototype_must_be_what_entering_gives(kit: Kit) -> None:
    """Those who use it have it before it is entered. One of the program's own is entered by the program."""
    kit.makers = {"same": lambda: Manager("same", kit.log), "other": lambda: Manager("other", kit.log, "session")}
    parts = "same: {type: t.own, bean: {scope: prototype}}\nother: {type: t.own, bean: {scope: prototype}}\n"
    async with kit.beans(parts + "b: {type: t.thing, one: same}") as app:
        assert app.get("b").settings.one.tasks
        assert isinstance(app.get("other"), Manager)
    assert kit.log == ["make same", "make b", "enter same", "start b", "make other", "close b", "leave same"]

    with pytest.raises(BeanCreationError, match=r"the bean 'other' .* gives another object when it is entered"):
        await kit.beans(parts + "b: {type: t.thing, one: other}").start()
    assert kit.log[-1] == "leave other"


# -- what is entered and what is only closed ----------------------------------------------------------


class _Noting:
    def __init__(self, log: list[str]) -> None:
        self.log = log


class _Async(_Noting):
    async def __aenter__(self) -> Any:
        self.log.append("enter")

    async def __aexit__(self, *error: object) -> None:
        self.log.append("leave")


class _Plain(_Noting):
    def __enter__(self) -> Any:
        self.log.append("enter")

    def __exit__(self, *error: object) -> None:
        self.log.append("leave")


def _with(base: type, **methods: Any) -> type:
    return type("Bean", (base,), methods)


def _notes(word: str) -> Callable[[Any], None]:
    return lambda self: self.log.append(word)


def _notes_later(word: str) -> Callable[[Any], Any]:
    async def note(self: Any) -> None:
        self.log.append(word)

    return note


RULE: dict[str, tuple[type, str, list[str]]] = {
    "an asynchronous manager": (_Async, "", ["enter", "leave"]),
    "a plain manager": (_Plain, "", ["enter", "leave"]),
    "both: the asynchronous one": (_with(_Async, __enter__=_notes("?"), __exit__=_notes("?")), "", ["enter", "leave"]),
    "start wins": (_with(_Async, start=_notes("start")), "", ["start"]),
    "start and an end": (_with(_Async, start=_notes("start"), aclose=_notes_later("aclose")), "", ["start", "aclose"]),
    "init wins": (_with(_Async, warm=_notes("warm")), "init: warm", ["warm"]),
    "destroy wins": (_with(_Plain, cool=_notes("cool")), "destroy: cool", ["cool"]),
    "a plain close is enough": (_with(_Async, close=_notes("close")), "", ["close"]),
    "so is aclose": (_with(_Async, aclose=_notes_later("aclose")), "", ["aclose"]),
    "an asynchronous close is not": (_with(_Async, close=_notes_later("close")), "", ["enter", "leave"]),
    "a plain manager with any close": (_with(_Plain, aclose=_notes_later("aclose")), "", ["aclose"]),
    "a lock is for its users": (_with(_Async, acquire=_notes("?")), "", []),
    "a plain lock is for its users": (_with(_Plain, acquire=_notes("?")), "", []),
}


@pytest.mark.parametrize(("kind", "options", "steps"), RULE.values(), ids=RULE.keys())
async def test_the_rule(kit: Kit, kind: Any, options: str, steps: list[str]) -> None:
    kit.makers = {"a": lambda: kind(kit.log)}
    async with kit.beans(f"a: {{type: t.own, bean: {{{options}}}}}"):
        pass

    assert kit.log == steps


async def test_a_client_for_http_is_open_in_between(kit: Kit) -> None:
    kit.makers = {"a": httpx.AsyncClient}
    async with kit.beans("a: {type: t.own}") as app:
        client = app.get("a")
        assert not client.is_closed

    assert client.is_closed


async def test_the_object_behind_a_source_of_tools_is_entered(kit: Kit) -> None:
    """It has the methods; the source stays the bean."""

    class Tools(Manager):
        @tool
        def look(self) -> str:
            "Looks."
            return "x"

    from agentforge.plugin.builtin_tools import source_of

    kit.makers = {"a": lambda: source_of(Tools("a", kit.log, "session"), "a")}
    async with kit.beans("a: {type: t.own}") as app:
        assert app.get("a").bound[0].name == "look"

    assert kit.log == ["make a", "enter a", "leave a"]


# -- failures -----------------------------------------------------------------------------------------


async def test_one_that_cannot_be_entered_ends_the_start(kit: Kit) -> None:
    """It is not left, as it was not entered."""

    class Broken(Manager):
        async def __aenter__(self) -> Any:
            raise ValueError("no network")

    kit.makers = {"a": lambda: Manager("a", kit.log), "b": lambda: Broken("b", kit.log)}
    app = kit.beans("a: {type: t.own}\nb: {type: t.own, bean: {depends_on: [a]}}")
    with pytest.raises(BeanCreationError) as raised:
        await app.start()

    assert raised.value.message == "the bean 'b' (t.own) could not be started: ValueError: no network"
    assert raised.value.location == f"{kit.folder / 'app.yaml'}:3:3"
    assert kit.log == ["make a", "enter a", "make b", "leave a"]


async def test_a_start_that_is_cancelled_while_one_is_entered_leaves_all(kit: Kit) -> None:
    class Slow(Scoped):
        async def __aenter__(self) -> Any:
            self.log.append("begin b")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                self.log.append("stopped b")
                raise

    kit.makers = {"a": lambda: Scoped("a", kit.log), "b": lambda: Slow("b", kit.log)}
    app = kit.beans("a: {type: t.own}\nb: {type: t.own, bean: {depends_on: [a]}}")
    starting = asyncio.create_task(app.start())
    await kit.until("begin b")
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting

    assert kit.log == ["make a", "enter a", "make b", "begin b", "stopped b", "leave a"]
    assert [task for task in asyncio.all_tasks() if task is not asyncio.current_task()] == []


async def test_one_that_was_entered_although_its_start_was_cancelled_is_left(kit: Kit) -> None:
    """It would not be stopped: then it is closed as any other."""

    class Stubborn(Manager):
        async def __aenter__(self) -> Any:
            self.log.append("begin b")
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return await super().__aenter__()

    kit.makers = {"b": lambda: Stubborn("b", kit.log)}
    starting = asyncio.create_task(kit.beans("b: {type: t.own}").start())
    await kit.until("begin b")
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting

    assert kit.log == ["make b", "begin b", "enter b", "leave b"]


async def test_one_whose_own_task_ends_is_told_at_once_and_at_the_end(
    kit: Kit, caplog: pytest.LogCaptureFixture
) -> None:
    """A part of it failed, which ends what holds it together."""
    gate = asyncio.Event()

    class Fragile(Scoped):
        async def __aenter__(self) -> Any:
            found = await super().__aenter__()

            async def part() -> None:
                await gate.wait()
                raise ValueError("a part of it failed")

            self.group.start_soon(part)
            return found

        async def __aexit__(self, *error: Any) -> None:
            try:
                await self.group.__aexit__(*error)
            finally:
                self.log.append("leave a")

    kit.makers = {"a": lambda: Fragile("a", kit.log)}
    app = kit.beans("a: {type: t.own}\nb: {type: t.thing, one: a}")
    await app.start()
    with caplog.at_level(logging.WARNING, "agentforge"):
        gate.set()
        await kit.until("leave a")
        for _ in range(5):
            await asyncio.sleep(0)
    path = kit.folder / "app.yaml"
    assert [each.message for each in caplog.records] == [
        f"the bean 'a' ({path}:2:3) has ended before it was closed: ExceptionGroup"
    ]

    with pytest.raises(ExceptionGroup) as raised:
        await app.stop()
    assert [each.__notes__ for each in raised.value.exceptions] == [[f"closing the bean 'a' ({path}:2:3)"]]
    assert kit.log[-1] == "close b"


async def test_one_that_cannot_be_left_keeps_no_other_open(kit: Kit) -> None:
    class Broken(Manager):
        async def __aexit__(self, *error: object) -> None:
            raise ValueError("cannot be left")

    kit.makers = {"a": lambda: Manager("a", kit.log), "b": lambda: Broken("b", kit.log)}
    app = kit.beans("a: {type: t.own}\nb: {type: t.own, bean: {depends_on: [a]}}")
    await app.start()
    with pytest.raises(ExceptionGroup) as raised:
        await app.stop()

    assert [str(each) for each in raised.value.exceptions] == ["cannot be left"]
    assert kit.log[-1] == "leave a"


async def test_a_start_and_an_end_are_in_one_task_as_well(kit: Kit) -> None:
    """What a start opens, its end may close."""

    class Older(Thing):
        async def start(self) -> None:
            self.group = anyio.create_task_group()
            await self.group.__aenter__()
            self.note("start")

        async def aclose(self) -> None:
            await self.group.__aexit__(None, None, None)
            self.note("close")

    kit.makers = {"a": lambda: Older("a", kit.log)}
    async with kit.beans("a: {type: t.own}"):
        pass

    assert kit.log == ["make a", "start a", "close a"]


# -- on other loops -----------------------------------------------------------------------------------


def test_in_synchronous_use_one_that_another_loop_asks_for_lives_on_the_application_s_own(kit: Kit) -> None:
    """Which outlives that one."""
    kit.makers = {"late": lambda: Scoped("late", kit.log)}
    with kit.beans("b: {type: t.thing}\nlate: {type: t.own, bean: {lazy: true}}") as app:
        late = asyncio.run(app.resolve("late"))
        assert "leave late" not in kit.log
        assert app.get("late") is late

    assert kit.log[-2:] == ["leave late", "close b"]


async def test_one_that_was_entered_on_another_loop_is_left_there(kit: Kit) -> None:
    other = BackgroundLoop()
    kit.makers = {"late": lambda: Scoped("late", kit.log)}
    async with kit.beans("b: {type: t.thing}\nlate: {type: t.own, bean: {lazy: true}}") as app:
        late = await asyncio.to_thread(other.run, app.resolve("late"))
    other.close()

    assert kit.log[-2:] == ["leave late", "close b"]
    assert late.tasks[0] is late.tasks[1]


async def test_one_whose_loop_has_ended_was_left_with_it(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    """Which is told then, and is no failure at the end."""
    kit.makers = {"late": lambda: Manager("late", kit.log)}
    async with kit.beans("late: {type: t.own, bean: {lazy: true}}") as app:
        with caplog.at_level(logging.WARNING, "agentforge"):
            await asyncio.to_thread(asyncio.run, app.resolve("late"))
        assert kit.log[-1] == "leave late"

    place = f"the bean 'late' ({kit.folder / 'app.yaml'}:2:3)"
    assert [each.message for each in caplog.records] == [f"{place} has ended before it was closed: CancelledError"]
