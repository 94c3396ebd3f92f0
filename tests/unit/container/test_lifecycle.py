"""Beans are made and started in the order of their needs and closed in reverse, whatever fails on the way."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import pytest

from agentforge.container import BeanCreationError, ContextStateError
from agentforge.errors import ModelError
from agentforge.plugin import BeanTypeError
from tests.unit.container.kit import Kit, Plain, Thing

CHAIN = """
client: {type: t.thing, one: store, needs: [base]}
store: {type: t.plain, one: base}
base: {type: t.thing}
"""


async def test_each_bean_is_made_and_started_after_those_it_needs_and_closed_before_them(kit: Kit) -> None:
    """Each is started before the next is made, so that a constructor may use what it is given."""
    async with kit.beans(CHAIN):
        assert kit.log == ["make base", "start base", "make store", "start store", "make client", "start client"]
        kit.log.clear()

    assert kit.log == ["close client", "close store", "close base"]


async def test_definitions_in_place_lazy_beans_and_depends_on_follow_the_same_order(kit: Kit) -> None:
    beans = """
        client: {type: t.thing, one: {type: t.plain, one: late}, bean: {depends_on: [first]}}
        late: {type: t.thing, bean: {lazy: true}}
        never: {type: t.thing, bean: {lazy: true}}
        first: {type: t.alone}
    """
    async with kit.beans(beans):
        assert [each for each in kit.log if "start" in each] == [
            "start late",
            "start first",
            "start client.one",
            "start client",
        ]
        kit.log.clear()

    assert kit.log == ["close client", "close client.one", "close first", "close late"]


async def test_init_and_destroy_name_other_methods(kit: Kit) -> None:
    """They take the place of ``start``, ``aclose`` and ``close``, and may be plain or asynchronous."""
    async with kit.beans("a: {type: t.plain, bean: {init: warm, destroy: cool}}"):
        pass

    assert kit.log == ["make a", "warm a", "cool a"]


@pytest.mark.parametrize("option", ["init", "destroy"])
async def test_a_method_that_is_not_there_is_told_at_the_start(kit: Kit, option: str) -> None:
    app = kit.beans(f"base: {{type: t.thing}}\na: {{type: t.plain, one: base, bean: {{{option}: worm}}}}")

    with pytest.raises(BeanCreationError) as raised:
        await app.start()

    assert raised.value.message == "the bean 'a' (t.plain) has no method 'worm'"
    assert raised.value.location == f"{kit.folder / 'app.yaml'}:3:3"
    assert raised.value.next_step == "It has close, cool, note, start, warm."
    closed = ["close a", "close base"] if option == "init" else ["close base"]
    assert kit.log == ["make base", "start base", "make a", *closed]


async def test_what_looks_like_an_end_and_is_none_is_not_called(kit: Kit) -> None:
    """A method that needs an argument, an attribute, a class and a function stay as they are."""

    class Odd(Thing):
        start = "soon"  # type: ignore[assignment]
        aclose = None  # type: ignore[assignment]

        def close(self, account: str) -> None:
            raise AssertionError("closed without an account")

    class Klass:
        @classmethod
        def close(cls) -> None:
            raise AssertionError("a class was closed")

    kit.makers = {"odd": lambda: Odd("odd", kit.log), "kind": lambda: Klass}
    async with kit.beans("odd: {type: t.own}\nkind: {type: t.own}") as app:
        assert app.get("kind") is Klass

    assert kit.log == ["make odd"]


# -- failures -----------------------------------------------------------------------------------------

FAILURES = {
    "a factory": ("make: raises", "could not be made: ValueError: store fails", False),
    "an asynchronous start": ("start: raises", "could not be started: ValueError: store fails", True),
}


@pytest.mark.parametrize(("trouble", "message", "made"), FAILURES.values(), ids=FAILURES.keys())
async def test_a_failed_start_closes_what_was_there_and_names_the_bean(
    kit: Kit, trouble: str, message: str, made: bool
) -> None:
    """An object that exists is closed too, since its constructor may hold something."""
    app = kit.beans(f"""
        client: {{type: t.thing, one: store}}
        store: {{type: t.thing, one: base, {trouble}}}
        base: {{type: t.thing, close: raises}}
    """)

    with pytest.raises(BeanCreationError) as raised:
        async with app:
            raise AssertionError("it started")

    assert raised.value.message == f"the bean 'store' (t.thing) {message}"
    assert raised.value.location == f"{kit.folder / 'app.yaml'}:4:3"
    assert isinstance(raised.value.__cause__, ValueError)
    assert [each for each in kit.log if "close" in each] == ["close store", "close base"][0 if made else 1 :]
    assert not any("client" in each for each in kit.log)
    with pytest.raises(ContextStateError, match="was started before"):
        await app.start()


@pytest.mark.parametrize("step", ["make", "start"])
async def test_our_own_errors_pass_with_the_place_and_keep_their_cause(kit: Kit, step: str) -> None:
    with pytest.raises(ModelError) as raised:
        await kit.beans(f"a: {{type: t.thing, {step}: raises ours}}").start()

    assert raised.value.location == f"bean 'a', {kit.folder / 'app.yaml'}:2:3"
    assert isinstance(raised.value.__cause__, KeyError)


async def test_the_error_of_a_bean_shows_no_secret(kit: Kit) -> None:
    with pytest.raises(BeanCreationError) as raised:
        await kit.beans("a: {type: t.thing, key: sk-12345678, start: raises}").start()

    assert str(raised.value).count("a fails ***") == 1
    assert "12345678" not in str(raised.value)


async def test_a_factory_that_gives_nothing_is_named(kit: Kit) -> None:
    kit.makers = {"a": lambda: None}

    with pytest.raises(BeanTypeError, match=r"the factory of the bean type 't\.own' gave no object") as raised:
        await kit.beans("a: {type: t.own}").start()

    assert raised.value.location == f"bean 'a', {kit.folder / 'app.yaml'}:2:3"


async def test_a_cancelled_start_closes_what_was_there(kit: Kit) -> None:
    app = kit.beans("store: {type: t.thing, start: hangs, one: base}\nbase: {type: t.thing}")
    starting = asyncio.create_task(app.start())
    await kit.until("start store")

    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting

    assert kit.log[-2:] == ["close store", "close base"]


async def test_one_failing_end_keeps_no_other_open(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    """All are closed, and all that failed is raised together, each with its bean and place, and logged."""
    app = kit.beans("""
        a: {type: t.thing}
        b: {type: t.thing, close: raises, one: a}
        c: {type: t.plain, close: raises, one: b}
        d: {type: t.thing, one: c}
    """)
    await app.start()
    kit.log.clear()

    with pytest.raises(ExceptionGroup) as raised, caplog.at_level(logging.WARNING, "agentforge"):
        await app.stop()

    assert kit.log == ["close d", "close c", "close b", "close a"]
    path = kit.folder / "app.yaml"
    assert [(str(each), *each.__notes__) for each in raised.value.exceptions] == [
        ("c fails", f"closing the bean 'c' ({path}:5:3)"),
        ("b fails", f"closing the bean 'b' ({path}:4:3)"),
    ]
    assert [each.message for each in caplog.records] == [
        f"ValueError: c fails; closing the bean 'c' ({path}:5:3)",
        f"ValueError: b fails; closing the bean 'b' ({path}:4:3)",
    ]
    await app.stop()
    assert len(kit.log) == 4


async def test_an_end_that_hangs_is_left_after_its_time(kit: Kit) -> None:
    """A bean's own time-out is not mistaken for it."""
    app = kit.beans(
        "a: {type: t.thing}\nb: {type: t.thing, close: hangs, one: a}\nc: {type: t.thing, close: late, one: b}",
        stop_timeout=0.001,
    )
    await app.start()

    with pytest.raises(ExceptionGroup) as raised:
        await app.stop()

    path = kit.folder / "app.yaml"
    assert [(type(each), each.__notes__) for each in raised.value.exceptions] == [
        (TimeoutError, [f"closing the bean 'c' ({path}:4:3)"]),
        (TimeoutError, [f"the bean 'b' ({path}:3:3) was not closed within 0.001 s"]),
    ]
    assert kit.log[-3:] == ["close c", "close b", "close a"]


async def test_a_cancellation_while_closing_is_raised_when_all_are_closed(kit: Kit) -> None:
    app = kit.beans("a: {type: t.thing}\nb: {type: t.thing, close: hangs, one: a}\nc: {type: t.thing, one: b}")
    await app.start()
    stopping = asyncio.create_task(app.stop())
    await kit.until("close b")

    stopping.cancel()
    with pytest.raises(asyncio.CancelledError):
        await stopping

    assert kit.log[-3:] == ["close c", "close b", "close a"]


async def test_what_ends_the_block_wins_over_what_fails_in_closing(kit: Kit) -> None:
    """Which is told in a note."""
    with pytest.raises(KeyError, match="of the block") as raised:
        async with kit.beans("a: {type: t.thing, close: raises}"):
            raise KeyError("of the block")

    assert raised.value.__notes__ == [f"ValueError: a fails; closing the bean 'a' ({kit.folder / 'app.yaml'}:2:3)"]


async def test_what_is_told_of_a_failing_end_shows_no_secret(kit: Kit, caplog: pytest.LogCaptureFixture) -> None:
    """Neither the log nor the note."""
    with pytest.raises(KeyError) as raised, caplog.at_level(logging.WARNING, "agentforge"):
        async with kit.beans("a: {type: t.thing, key: sk-12345678, close: raises}"):
            raise KeyError("of the block")

    place = f"closing the bean 'a' ({kit.folder / 'app.yaml'}:2:3)"
    assert raised.value.__notes__ == [f"ValueError: a fails ***; {place}"]
    assert [each.message for each in caplog.records] == [f"ValueError: a fails ***; {place}"]


def test_a_failing_end_is_raised_from_a_synchronous_block_as_well(kit: Kit) -> None:
    with pytest.raises(ExceptionGroup), kit.beans("a: {type: t.thing, close: raises}"):
        pass
    with pytest.raises(KeyError), kit.beans("a: {type: t.thing, close: raises}"):
        raise KeyError("of the block")
    with pytest.raises(BeanCreationError), kit.beans("a: {type: t.thing, start: raises}"):
        pass


async def test_methods_of_the_object_behind_a_source_of_tools_may_be_named(kit: Kit) -> None:
    """They are the component's, as ``start`` and ``close`` are."""
    name = f"kept_{kit.folder.name}".replace("-", "_")
    kit.write(
        f"{name}.py",
        """
        from agentforge import tool
        steps = []
        class Desk:
            @tool
            def look(self) -> str:
                "Looks."
                return "x"
            async def warm(self):
                steps.append("warm")
            def cool(self):
                steps.append("cool")
        """,
    )
    text = "{type: python_tools, component: Desk, bean: {init: warm, destroy: cool}}"
    async with kit.load(f"scan: [{name}]\nbeans:\n  desk: {text}\n") as app:
        steps = type(app.get("desk").target).look.__globals__["steps"]
        assert steps == ["warm"]

    assert steps == ["warm", "cool"]


async def test_given_objects_are_neither_started_nor_closed(kit: Kit) -> None:
    """They are the program's."""
    given = Thing("given", kit.log)
    async with kit.mapping({"a": given, "b": {"type": "t.thing", "one": Plain("inner", kit.log), "needs": ["a"]}}):
        pass

    assert kit.log == ["make given", "make inner", "make b", "start b", "close b"]


# -- lazy beans and prototypes ------------------------------------------------------------------------


async def test_a_lazy_bean_is_made_at_its_first_use_and_closed_with_the_others(kit: Kit) -> None:
    async with kit.beans(
        "a: {type: t.plain, one: b, bean: {lazy: true}}\nb: {type: t.plain, bean: {lazy: true}}"
    ) as app:
        assert kit.log == []
        assert app.get("a") is app.get("a") is await app.resolve("a")
        assert kit.log == ["make b", "start b", "make a", "start a"]

    assert kit.log[4:] == ["close a", "close b"]


async def test_a_lazy_bean_whose_start_is_awaited_is_not_given_before(kit: Kit) -> None:
    """Neither is one that needs it; ``resolve`` gives both, started once."""
    beans = "a: {type: t.plain, one: b, bean: {lazy: true}}\nb: {type: t.thing, bean: {lazy: true}}\nc: {type: t.alone}"
    async with kit.beans(beans) as app:
        for name in ("a", "b"):
            with pytest.raises(
                ContextStateError, match=f"the start of the lazy bean '{name}' has to be awaited"
            ) as raised:
                app.get(name)
            assert raised.value.next_step == f"Use 'await app.resolve('{name}')'."
        assert app.get("c").id == "c"

        first, second = await asyncio.gather(app.resolve("a"), app.resolve("a"))

        assert first is second is app.get("a")
        assert [each for each in kit.log if "start" in each] == ["start c", "start b", "start a"]


async def test_two_tasks_that_want_one_lazy_bean_both_wait_for_its_start(kit: Kit) -> None:
    gate = asyncio.Event()

    class Slow(Thing):
        ready = False

        async def start(self) -> None:
            self.note("start")
            await gate.wait()
            self.ready = True

    kit.makers = {"a": lambda: Slow("a", kit.log)}
    async with kit.beans("a: {type: t.own, bean: {lazy: true}}") as app:
        tasks = [asyncio.create_task(app.resolve("a")) for _ in range(3)]
        await kit.until("start a")
        with pytest.raises(ContextStateError, match="has to be awaited"):
            app.get("a")
        gate.set()
        assert [each.ready for each in await asyncio.gather(*tasks)] == [True] * 3

    assert kit.log == ["make a", "start a", "close a"]


async def test_the_failing_start_of_a_lazy_bean_is_told_each_time_and_harms_no_other(kit: Kit) -> None:
    beans = "a: {type: t.plain, start: raises, bean: {lazy: true}}\nb: {type: t.plain, bean: {lazy: true}}"
    async with kit.beans(beans) as app:
        for _ in range(2):
            with pytest.raises(BeanCreationError, match=r"the bean 'a' .* could not be started"):
                app.get("a")
        assert app.get("b").id == "b"
        with pytest.raises(BeanCreationError):
            await app.resolve("a")

    assert kit.log[-2:] == ["close b", "close a"]


async def test_a_start_that_gives_something_to_await_is_not_lost(kit: Kit) -> None:
    class Hidden(Thing):
        def start(self) -> Any:
            return super().start()

    kit.makers = {"a": lambda: Hidden("a", kit.log)}
    async with kit.beans("a: {type: t.own, bean: {lazy: true}}") as app:
        with pytest.raises(ContextStateError, match="the start of the bean 'a' gave something to await"):
            app.get("a")
        assert (await app.resolve("a")).id == "a"

    assert kit.log == ["make a", "start a", "close a"]


async def test_a_lazy_bean_whose_start_is_under_way_is_not_waited_for_where_that_would_stop_it(kit: Kit) -> None:
    """Though only its start itself showed that it has to be awaited."""
    gate = asyncio.Event()

    class Hidden(Thing):
        def start(self) -> Any:
            return gate.wait()

    kit.makers = {"a": lambda: Hidden("a", kit.log)}
    async with kit.beans("a: {type: t.own, bean: {lazy: true}}") as app:
        resolving = asyncio.create_task(app.resolve("a"))
        await kit.until("make a")
        await asyncio.sleep(0)
        with pytest.raises(ContextStateError, match="the start of the lazy bean 'a' has to be awaited"):
            app.get("a")
        gate.set()
        assert await resolving is app.get("a")


async def test_a_start_may_ask_for_a_bean_that_needs_its_own(kit: Kit) -> None:
    class Curious(Thing):
        async def start(self) -> None:
            self.note("start")
            await app.resolve("b")

    kit.makers = {"a": lambda: Curious("a", kit.log)}
    app = kit.beans("a: {type: t.own}\nb: {type: t.thing, one: a, bean: {lazy: true}}")
    async with app:
        pass

    assert kit.log == ["make a", "start a", "make b", "start b", "close b", "close a"]


async def test_a_prototype_is_new_for_each_use(kit: Kit) -> None:
    """Those inside other beans live with the application, those of ``get`` belong to the caller."""
    beans = """
        part: {type: t.thing, one: base, bean: {scope: prototype}}
        base: {type: t.thing}
        a: {type: t.thing, needs: [part, part]}
        b: {type: t.thing, one: part, bean: {lazy: true}}
    """
    async with kit.beans(beans) as app:
        mine = app.get("part")
        parts = {id(each) for each in (mine, app.get("part"), *app.get("a").settings.needs)}
        assert len(parts) == 4
        assert mine.settings.one is app.get("base")
        assert kit.log.count("start part") == 2
        b = await app.resolve("b")
        assert b.settings.one is not mine
        assert kit.log.count("make part") == 5
        assert kit.log.count("start part") == 3

    assert kit.log.count("close part") == 3


async def test_a_prototype_that_asks_for_another_bean_still_belongs_to_the_caller(kit: Kit) -> None:
    kit.makers = {"part": lambda: (app.get("base"), Plain("part", kit.log))[1]}
    app = kit.beans("part: {type: t.own, bean: {scope: prototype}}\nbase: {type: t.plain}")

    async with app:
        app.get("part")

    assert kit.log == ["make base", "start base", "make part", "close base"]


async def test_a_long_chain_of_beans_is_no_deep_recursion(kit: Kit) -> None:
    """Neither when it is planned nor when its last bean is used."""
    beans: dict[str, Any] = {
        f"b{number}": {"type": "t.plain", "bean": {"lazy": True}, **({"one": f"b{number - 1}"} if number else {})}
        for number in reversed(range(1500))
    }
    async with kit.mapping(beans) as app:
        assert app.get("b1499").settings.one.id == "b1498"

    assert [kit.log[0], kit.log[2998], kit.log[-1]] == ["make b0", "make b1499", "close b0"]
