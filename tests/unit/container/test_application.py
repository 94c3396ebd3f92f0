"""The application context from the program's side: asking for beans, threads, loops, observers."""

from __future__ import annotations

import concurrent.futures
import logging
import threading
from functools import partial
from typing import Protocol

import pytest

from agentforge import ScriptedChatModel
from agentforge.client import ChatClient
from agentforge.config import ConfigurationFaults
from agentforge.container import AgentForge, BeanCreationError, BeanNotFoundError, ContextStateError
from agentforge.model import ChatModel
from agentforge.plugin import hookimpl
from tests.unit.container.kit import Kit, Other, Plain, Thing

# -- which bean ---------------------------------------------------------------------------------------


class Noted(Protocol):
    """What every `Thing` is."""

    @property
    def shape(self) -> str:
        """The bean with those it holds."""


BY_TYPE: dict[str, tuple[str, type, str]] = {
    "the contract": ("a: {type: t.thing}\nword: {type: t.other, word: w}", Thing, "a"),
    "another contract": ("a: {type: t.thing}\nword: {type: t.other, word: w}", Other, "word"),
    "the class": ("a: {type: t.thing}\nb: {type: t.plain}", Plain, "b"),
    "a protocol": ("a: {type: t.thing}\nword: {type: t.other, word: w}", Noted, "a"),
    "the primary one of several": ("a: {type: t.thing}\nb: {type: t.thing, bean: {primary: true}}", Thing, "b"),
    "the primary one of several of a class": (
        "a: {type: t.plain, bean: {primary: true}}\nb: {type: t.plain}",
        Plain,
        "a",
    ),
    "one beside those in place": ("a: {type: t.thing, one: {type: t.thing}}", Thing, "a"),
    "a lazy one": ("a: {type: t.plain, bean: {lazy: true}}\nword: {type: t.other, word: w}", Thing, "a"),
}


@pytest.mark.parametrize(("beans", "kind", "found"), BY_TYPE.values(), ids=BY_TYPE.keys())
async def test_a_bean_is_found_by_its_contract_or_class(kit: Kit, beans: str, kind: type, found: str) -> None:
    async with kit.beans(beans) as app:
        assert app.get(kind) is app.get(found) is await app.resolve(kind)


NOT_FOUND: dict[str, tuple[str | type, str, str]] = {
    "an unknown id": ("stor", "no bean is called 'stor'", "Did you mean 'store'?"),
    "an id like an alias": ("warehose", "no bean is called 'warehose'", "Did you mean 'warehouse'?"),
    "one that stands in place": ("client.one", "no bean is called 'client.one'", "Did you mean 'client'?"),
    "several of a contract": (
        Thing,
        "several beans are a Thing: store, client",
        "Ask by id, or mark one with 'bean: {primary: true}'.",
    ),
    "several primary ones": (
        Other,
        "several beans are an Other: one, two",
        "Ask by id, or mark one with 'bean: {primary: true}'.",
    ),
    "none of a class": (
        dict,
        "no bean is a dict",
        "There are: store (Thing), client (Thing), one (Other), two (Other).",
    ),
}


@pytest.mark.parametrize(("key", "message", "step"), NOT_FOUND.values(), ids=NOT_FOUND.keys())
async def test_what_is_not_one_bean_is_an_error_with_the_choice(
    kit: Kit, key: str | type, message: str, step: str
) -> None:
    beans = """
        store: {type: t.thing, bean: {aliases: [warehouse]}}
        client: {type: t.thing, one: {type: t.thing}}
        one: {type: t.other, word: w, bean: {primary: true}}
        two: {type: t.other, word: w, bean: {primary: true}}
    """
    async with kit.beans(beans) as app:
        with pytest.raises(BeanNotFoundError) as raised:
            app.get(key)

    assert (raised.value.message, raised.value.next_step) == (message, step)


async def test_the_built_in_beans_are_found_by_their_types() -> None:
    beans = {"bot": {"type": "chat_client", "model": {"type": "scripted", "turns": ["Hi."]}}}
    async with AgentForge.from_mapping({"beans": beans}, environment={}) as app:
        assert isinstance(app.get(ChatClient), ChatClient)
        with pytest.raises(BeanNotFoundError):
            app.get(ChatModel)  # type: ignore[type-abstract]
    beans["model"] = {"type": "scripted", "turns": ["Hi."]}
    async with AgentForge.from_mapping({"beans": beans}, environment={}) as app:
        found: object = app.get(ChatModel)  # type: ignore[type-abstract]
        assert found is app.get(ScriptedChatModel)


# -- when ---------------------------------------------------------------------------------------------


async def test_beans_are_there_from_the_start_to_the_end_only(kit: Kit) -> None:
    app = kit.beans("a: {type: t.thing}")
    with pytest.raises(ContextStateError, match="the application has not started"):
        app.get("a")
    with pytest.raises(ContextStateError, match="the application has not started"):
        await app.resolve(Thing)
    assert repr(app).endswith("app.yaml, not started)")
    await app.stop()

    async with app as entered:
        assert entered is app
        assert app.get("a").id == "a"
        assert repr(app).endswith("app.yaml, started)")
        with pytest.raises(ContextStateError, match="was started before"):
            await app.start()

    assert repr(app).endswith("app.yaml, ended)")
    with pytest.raises(ContextStateError, match="the application has ended"):
        app.get("a")
    with pytest.raises(ContextStateError, match="was started before"):
        async with app:
            raise AssertionError("it started again")
    assert kit.log == ["make a", "start a", "close a"]


def test_a_synchronous_block_makes_uses_and_closes(kit: Kit) -> None:
    """Lazy beans too, whose start is awaited on the application's own loop."""
    before = threading.active_count()
    with kit.beans("a: {type: t.thing}\nb: {type: t.thing, one: a, bean: {lazy: true}}") as app:
        assert kit.log == ["make a", "start a"]
        assert app.get("b").shape == "b(one=a)"
        assert kit.log[2:] == ["make b", "start b"]

    assert kit.log[4:] == ["close b", "close a"]
    assert threading.active_count() == before


async def test_a_synchronous_block_works_inside_a_running_loop(kit: Kit) -> None:
    """As in a notebook."""
    with kit.beans("a: {type: t.thing}\nb: {type: t.thing, bean: {lazy: true}}") as app:
        assert app.get("a").id == "a"
        assert app.get("b").id == "b"

    assert kit.log == ["make a", "start a", "make b", "start b", "close b", "close a"]


def test_a_second_synchronous_start_is_refused_and_leaves_no_thread(kit: Kit) -> None:
    app = kit.beans("a: {type: t.thing}")
    before = threading.active_count()
    with app:
        pass
    with pytest.raises(ContextStateError), app:
        raise AssertionError("it started again")

    assert threading.active_count() == before


def test_the_start_on_the_application_s_own_loop_does_not_wait_for_itself(kit: Kit) -> None:
    class Asking(Thing):
        async def start(self) -> None:
            with pytest.raises(ContextStateError, match="has to be awaited"):
                app.get("late")
            self.note("start")

    kit.makers = {"a": lambda: Asking("a", kit.log)}
    app = kit.beans("a: {type: t.own}\nlate: {type: t.thing, bean: {lazy: true}}")
    with app:
        assert app.get("late").id == "late"


# -- several threads ----------------------------------------------------------------------------------


def test_sixteen_threads_that_ask_for_one_lazy_bean_get_one_object_started_once(kit: Kit) -> None:
    """Those that come while one starts it wait for that."""
    together = threading.Barrier(16)
    again = threading.Event()

    class Slow(Plain):
        ready = False

        def start(self) -> None:  # type: ignore[override]
            if "start a" in kit.log:
                again.set()
            self.note("start")
            again.wait(0.2)  # time for another to start it as well, if anything lets it
            self.ready = True

    kit.makers = {"a": lambda: Slow("a", kit.log)}
    app = kit.beans("a: {type: t.own, bean: {lazy: true, depends_on: [b]}}\nb: {type: t.plain, bean: {lazy: true}}")

    def ask() -> tuple[int, bool]:
        together.wait(30)
        found = app.get("a")
        return id(found), found.ready

    with app, concurrent.futures.ThreadPoolExecutor(16) as pool:
        answers = {each.result(30) for each in [pool.submit(ask) for _ in range(16)]}

    assert len(answers) == 1
    assert answers.pop()[1]
    assert sorted(kit.log[:-2]) == ["make a", "make b", "start a", "start b"]


def test_sixteen_threads_that_ask_for_prototypes_get_their_own(kit: Kit) -> None:
    app = kit.beans("part: {type: t.plain, bean: {scope: prototype}}\nbase: {type: t.plain}")
    together = threading.Barrier(16)

    def ask() -> list[object]:
        together.wait(30)
        return [found for _ in range(50) for found in (app.get("part"), app.get("base"))]

    with app, concurrent.futures.ThreadPoolExecutor(16) as pool:
        found = [each for asked in [pool.submit(ask) for _ in range(16)] for each in asked.result(30)]

    assert len({id(each) for each in found}) == 16 * 50 + 1
    assert kit.log[-1] == "close base"
    assert "close part" not in kit.log


@pytest.mark.parametrize("kind", ["t.own", "t.own, bean: {lazy: true}"], ids=["from the start", "lazy"])
def test_beans_whose_making_waits_for_a_thread_that_uses_another_bean_do_not_lock_up(kit: Kit, kind: str) -> None:
    """Each bean has a lock of its own."""
    failed: list[BaseException] = []

    def maker(bean_id: str, other: str) -> Plain:
        def help_out() -> None:
            try:
                app.get(other)
            except BaseException as error:
                failed.append(error)

        helper = threading.Thread(target=help_out, daemon=True)
        helper.start()
        helper.join(30)
        assert not helper.is_alive()
        return Plain(bean_id, kit.log)

    kit.makers = {"a": lambda: maker("a", "x"), "b": lambda: maker("b", "y")}
    app = kit.beans(
        f"a: {{type: {kind}}}\nb: {{type: {kind}}}\n"
        "x: {type: t.plain, bean: {lazy: true}}\ny: {type: t.plain, bean: {lazy: true}}"
    )
    with app, concurrent.futures.ThreadPoolExecutor(2) as pool:
        for asked in [pool.submit(app.get, name) for name in ("a", "b")]:
            asked.result(60)

    assert failed == []
    assert sorted(each for each in kit.log if "make" in each) == ["make a", "make b", "make x", "make y"]


def test_beans_made_side_by_side_do_not_wait_for_each_other(kit: Kit) -> None:
    """Two makings that can only end together do."""
    together = threading.Barrier(2)

    def meet(bean_id: str) -> Plain:
        together.wait(30)
        return Plain(bean_id, kit.log)

    kit.makers = {"a": lambda: meet("a"), "b": lambda: meet("b")}
    app = kit.beans("a: {type: t.own, bean: {lazy: true}}\nb: {type: t.own, bean: {lazy: true}}")
    with app, concurrent.futures.ThreadPoolExecutor(2) as pool:
        assert {each.id for each in pool.map(app.get, ("a", "b"))} == {"a", "b"}


# -- circles that only show while beans are made ------------------------------------------------------

HIDDEN = {
    "itself": ("a: {type: t.own}", {"a": "a"}, "a -> app.get('a') -> a"),
    "one that needs it": (
        "a: {type: t.own}\nb: {type: t.plain, one: a, bean: {lazy: true}}",
        {"a": "b"},
        "a -> app.get('b') -> a",
    ),
    "one that needs one that needs it": (
        "a: {type: t.own}\nb: {type: t.plain, one: a, bean: {lazy: true}}\n"
        "c: {type: t.plain, one: b, bean: {lazy: true}}",
        {"a": "c"},
        "a -> app.get('c') -> a",
    ),
    "one that asks back": (
        "a: {type: t.own}\nb: {type: t.own, bean: {lazy: true}}",
        {"a": "b", "b": "a"},
        "a -> app.get('b') -> b -> app.get('a') -> a",
    ),
    "a prototype that asks for itself": (
        "a: {type: t.own, bean: {scope: prototype}}\nb: {type: t.thing, one: a}",
        {"a": "a"},
        "a -> app.get('a') -> a",
    ),
}


@pytest.mark.parametrize(("beans", "asks", "way"), HIDDEN.values(), ids=HIDDEN.keys())
async def test_a_factory_that_asks_for_what_needs_it_gets_an_error_with_the_way(
    kit: Kit, beans: str, asks: dict[str, str], way: str
) -> None:
    """It could not be seen in the plan, and must not end the interpreter."""
    app = kit.beans(beans)
    kit.makers = {bean_id: partial(app.get, asked) for bean_id, asked in asks.items()}

    with pytest.raises(BeanCreationError) as raised:
        await app.start()

    assert raised.value.message == f"beans need each other while they are made: {way}"
    assert raised.value.code == "AF216"
    assert raised.value.location == f"{kit.folder / 'app.yaml'}:2:3"


async def test_a_factory_may_ask_for_a_bean_that_does_not_need_it(kit: Kit) -> None:
    kit.makers = {"a": lambda: app.get("b")}
    app = kit.beans("a: {type: t.own}\nb: {type: t.plain}")

    async with app:
        assert app.get("a") is app.get("b")


# -- observers ----------------------------------------------------------------------------------------


class Observer:
    """A plugin that notes what it is told."""

    def __init__(self, seen: list[str]) -> None:
        self.seen = seen

    @hookimpl
    def agentforge_bean_created(self, bean_id: str, bean: object) -> None:
        """Note a bean."""
        self.seen.append(f"created {bean_id} {type(bean).__name__}")

    @hookimpl
    def agentforge_context_started(self, app: AgentForge) -> None:
        """Note the start."""
        self.seen.append(f"started {app.get('a').id}")

    @hookimpl
    def agentforge_context_stopped(self, app: AgentForge) -> None:
        """Note the end."""
        self.seen.append("stopped" if "ended" in repr(app) else "still running")


class Raising:
    """A plugin that fails whenever it is told something."""

    @hookimpl
    def agentforge_bean_created(self, bean_id: str) -> None:
        """Fail."""
        raise RuntimeError("created")

    @hookimpl
    def agentforge_context_started(self) -> None:
        """Fail."""
        raise RuntimeError("started")

    @hookimpl
    def agentforge_context_stopped(self) -> None:
        """Fail."""
        raise RuntimeError("stopped")


async def test_observers_are_told_and_one_that_raises_harms_nothing(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    """``plugins`` names those that only observe; each is told of every bean once, before its start."""
    seen: list[str] = []
    kit.add_plugin("raising", Raising())
    kit.add_plugin("watch", Observer(seen))
    app = kit.load(
        "plugins: [watch, raising]\nbeans:\n"
        "  a: {type: t.thing, one: {type: t.plain}, needs: [b]}\n  b: {type: t.alone}"
    )

    with caplog.at_level(logging.WARNING, "agentforge"):
        async with app:
            app.get("a")

    assert sorted(seen[:3]) == ["created a Thing", "created a.one Plain", "created b Thing"]
    assert seen[3:] == ["started a", "stopped"]
    assert len([each for each in caplog.records if "'raising' failed in its hook" in each.message]) == 3


async def test_observers_of_an_application_that_failed_to_start_are_not_told_that_it_stopped(kit: Kit) -> None:
    seen: list[str] = []
    kit.add_plugin("watch", Observer(seen))
    app = kit.load("plugins: [watch]\nbeans:\n  a: {type: t.thing}\n  b: {type: t.thing, one: a, start: raises}")

    with pytest.raises(BeanCreationError):
        await app.start()
    await app.stop()

    assert seen == ["created a Thing", "created b Thing"]


async def test_observers_are_told_of_the_end_though_beans_fail_to_close(kit: Kit) -> None:
    seen: list[str] = []
    kit.add_plugin("watch", Observer(seen))
    app = kit.load("plugins: [watch]\nbeans:\n  a: {type: t.thing, close: ends}")

    with pytest.raises(SystemExit):
        async with app:
            pass

    assert seen[-1] == "stopped"


class EndedBySignal(SystemExit):
    """As the program's own handlers raise it, wherever the program is."""


@pytest.mark.parametrize("raised", [EndedBySignal, KeyboardInterrupt])
async def test_an_end_of_the_program_in_an_observer_leaves_no_bean_open(kit: Kit, raised: type[BaseException]) -> None:
    """An interrupt and a signal pass, after everything was closed; all else harms only the observer's plugin."""

    class Ending:
        @hookimpl
        def agentforge_context_started(self) -> None:
            raise raised

    kit.add_plugin("ending", Ending())
    app = kit.load("plugins: [ending]\nbeans:\n  a: {type: t.thing}")
    with pytest.raises(raised):
        await app.start()

    assert kit.log[-1] == "close a"


async def test_observers_are_told_of_new_beans_and_once_of_the_start_and_the_end(kit: Kit) -> None:
    seen: list[str] = []

    class Watching:
        @hookimpl
        def agentforge_bean_created(self, bean_id: str) -> None:
            seen.append(f"created {bean_id}")

        @hookimpl
        def agentforge_context_started(self) -> None:
            seen.append("started")

        @hookimpl
        def agentforge_context_stopped(self) -> None:
            seen.append("stopped")

    kit.add_plugin("watch", Watching())
    async with kit.load("plugins: [watch]\nbeans:\n  a: {type: t.thing}\n") as app:
        kit.write("app.yaml", "plugins: [watch]\nbeans:\n  a: {type: t.thing}\n  b: {type: t.thing}\n")
        await app.reload()

    assert seen == ["created a", "started", "created a", "created b", "stopped"]


async def test_a_plugin_that_the_new_file_puts_out_still_serves_the_old_beans(kit: Kit) -> None:
    """And serves them alone; a file with faults puts out nothing."""
    seen: list[str] = []

    class Watching:
        @hookimpl
        def agentforge_bean_created(self, bean_id: str) -> None:
            seen.append(bean_id)

    kit.add_plugin("watch", Watching())
    lazy = "  late: {type: t.plain, bean: {lazy: true}}\n"
    async with kit.load("plugins: [watch]\nbeans:\n  a: {type: t.thing}\n" + lazy) as app:
        kit.write("app.yaml", "plugins: {disabled: [watch]}\nbeans:\n  a: {type: t.thng}\n")
        with pytest.raises(ConfigurationFaults):
            await app.reload()
        app.get("late")
        kit.write("app.yaml", "plugins: {disabled: [watch]}\nbeans:\n  b: {type: t.thing}\n")
        await app.reload()

    assert seen == ["a", "late"]
