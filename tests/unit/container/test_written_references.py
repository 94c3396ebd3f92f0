"""``{ref: NAME}``, callables that give a bean, and beans by name: wherever a bean can stand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentforge.container.plan import ProviderOf
from tests.unit.container.kit import Kit
from tests.unit.container.written import TWO, scanned, with_parts


@pytest.fixture
def kit(kit: Kit) -> Iterator[Kit]:
    """With a module of components beside the file, which is forgotten afterwards."""
    with with_parts(kit):
        yield kit


PASSES = {
    "in a setting": ("store: {type: t.thing}\nit: {type: t.thing, one: {ref: store}}", "it(one=store)"),
    "of an alias": (
        "store: {type: t.thing, bean: {aliases: [shop]}}\nit: {type: t.thing, one: {ref: shop}}",
        "it(one=store)",
    ),
    "in a list": (
        "a: {type: t.thing}\nit: {type: t.thing, needs: [{ref: a}, t.alone, a]}",
        "it(needs=[a, it.needs.1, a])",
    ),
    "where a type might stand": ("a: {type: t.thing}\nit: {type: t.thing, either: {ref: a}}", "it(either=a)"),
    "in settings inside": (
        "a: {type: t.thing}\nit: {type: t.thing, inner: {one: {ref: a}, many: [{ref: a}]}}",
        "it(inner.one=a, inner.many=[a])",
    ),
    "with a placeholder": ("a: {type: t.thing}\nit: {type: t.thing, one: {ref: '${WHICH:a}'}}", "it(one=a)"),
    "that asks for no callable": (
        "a: {type: t.thing}\nit: {type: t.thing, one: {ref: a, provider: false}}",
        "it(one=a)",
    ),
}


@pytest.mark.parametrize(("beans", "shape"), PASSES.values(), ids=PASSES.keys())
async def test_a_written_reference_is_the_bean(kit: Kit, beans: str, shape: str) -> None:
    async with kit.beans(beans) as app:
        assert app.get("it").shape == shape


async def test_beans_of_a_mapping_keep_their_names(kit: Kit) -> None:
    """A declared one, one in place, a type without settings; an empty mapping stays one."""
    beans = (
        "a: {type: t.thing}\n"
        "it: {type: t.thing, named: {first: a, second: {ref: a}, third: {type: t.alone}, fourth: t.alone}}\n"
        "none: {type: t.thing, named: {}}\n"
    )
    async with kit.beans(beans) as app:
        named = app.get("it").settings.named
        assert {name: each.id for name, each in named.items()} == {
            "first": "a",
            "second": "a",
            "third": "it.named.third",
            "fourth": "it.named.fourth",
        }
        assert named["first"] is named["second"] is app.get("a")
        assert app.get("none").settings.named == {}


async def test_a_field_that_is_a_callable_gives_the_bean(kit: Kit) -> None:
    """The same object as everybody's; it need not be there first, so a circle may pass through it."""
    beans = "a: {type: t.thing, later: b}\nb: {type: t.thing, one: a}\nc: {type: t.thing, later: {type: t.alone}}"
    app = kit.beans(beans)
    assert app.plan.beans["a"].uses == {"later": ProviderOf("b")}
    assert app.plan.beans["a"].needs == ()

    async with app:
        assert app.get("a").settings.later() is app.get("b")
        assert app.get("b").settings.one is app.get("a")
        assert kit.log[0] == "make a"


async def test_references_stand_anywhere_in_the_arguments_of_a_component(kit: Kit) -> None:
    """In lists and mappings, beside plain values; keys with dots are keys."""
    beans = (
        "clock: {type: component, component: Clock}\n"
        "other: {type: component, component: Clock}\n"
        "it:\n"
        "  type: component\n"
        "  component: Holder\n"
        "  arguments:\n"
        "    what: [{ref: clock}, {deep: [{ref: other}, 3]}, ref]\n"
        "    more: {a: {b: {ref: clock}}, 'a.b': {ref: other}, c: {ref: other, provider: true}}\n"
    )
    async with scanned(kit, beans) as app:
        clock, other, it = app.get("clock"), app.get("other"), app.get("it")
        assert it.what == [clock, {"deep": [other, 3]}, "ref"]
        assert (it.more["a"], it.more["a.b"]) == ({"b": clock}, other)
        assert it.more["c"]() is other


async def test_a_field_for_anything_takes_a_callable(kit: Kit) -> None:
    """A reference that asks for one, and a bean that gives all its users one; else it is the bean."""
    beans = (
        "a: {type: t.thing}\nb: {type: t.thing, bean: {provider: true}}\n"
        "asks: {type: t.thing, anything: {ref: a, provider: true}}\n"
        "gets: {type: t.thing, anything: b}\nplain: {type: t.thing, anything: a}\n"
    )
    async with kit.beans(beans) as app:
        assert app.get("asks").settings.anything() is app.get("a") is app.get("plain").settings.anything
        assert app.get("gets").settings.anything() is app.get("b")


GIVEN: dict[str, tuple[str, str, str, Any]] = {
    "all by their names": ("", "ByMapping", "", {"clock": "clock", "second": "second"}),
    "those that the file names": (
        "",
        "ByMapping",
        "clocks: {x: second, y: {ref: clock}}",
        {"x": "second", "y": "clock"},
    ),
    "those of a list": ("", "ByMapping", "clocks: [second]", {"second": "second"}),
    "the one of a qualifier": ("", "Picky", "", "second"),
    "what the file says over a qualifier": ("", "Picky", "clock: clock", "clock"),
    "nothing for a qualifier that may be empty": ("", "MayPick", "", None),
    "a reference for a parameter": ("", "Plain", "clock: {ref: second}", "second"),
}


@pytest.mark.parametrize(("before", "component", "arguments", "got"), GIVEN.values(), ids=GIVEN.keys())
async def test_a_parameter_gets_what_its_hint_says(
    kit: Kit, before: str, component: str, arguments: str, got: Any
) -> None:
    it = f"it: {{type: component, component: {component}, arguments: {{{arguments}}}}}\n"
    async with scanned(kit, before + TWO + it) as app:
        wanted = {key: app.get(name) for key, name in got.items()} if isinstance(got, dict) else got and app.get(got)
        assert app.get("it").got == wanted


LATER = {
    "by its type": ("clock: {type: component, component: Clock}\n", "Later", "", "clock"),
    "by a name": (TWO, "Later", "clock: second", "second"),
    "by a reference": (TWO, "Later", "clock: {ref: second}", "second"),
    "by a reference that says so": (TWO, "Later", "clock: {ref: second, provider: true}", "second"),
    "by a qualifier": (TWO, "PickyLater", "", "second"),
    "the primary one": (
        "a: {type: component, component: Clock}\nb: {type: component, component: Clock, bean: {primary: true}}\n",
        "MayBeLater",
        "",
        "b",
    ),
    "one that gives all its users a callable": (
        "clock: {type: component, component: Clock, bean: {provider: true}}\n",
        "Later",
        "",
        "clock",
    ),
    "where a protocol is called so": (TWO, "ByProtocol", "clock: {ref: second, provider: true}", "second"),
}


@pytest.mark.parametrize(("before", "component", "arguments", "bean"), LATER.values(), ids=LATER.keys())
async def test_a_parameter_that_is_a_callable_gives_the_bean(
    kit: Kit, before: str, component: str, arguments: str, bean: str
) -> None:
    it = f"it: {{type: component, component: {component}, arguments: {{{arguments}}}}}\n"
    async with scanned(kit, it + before) as app:
        assert app.get("it").got() is app.get(bean)


async def test_nothing_is_given_for_a_callable_that_may_be_missing(kit: Kit) -> None:
    async with scanned(kit, "it: {type: component, component: MayBeLater}") as app:
        assert app.get("it").got is None


async def test_a_bean_that_gives_callables_does_so_where_anything_is_taken(kit: Kit) -> None:
    """And is itself for the program that asks for it."""
    beans = (
        "clock: {type: component, component: Clock, bean: {provider: true}}\n"
        "it: {type: component, component: Holder, arguments: {what: {ref: clock}}}\n"
        "lists: {type: component, component: ByMapping}\n"
    )
    async with scanned(kit, beans) as app:
        assert app.get("it").what() is app.get("clock")
        assert app.get("lists").got == {}


async def test_components_that_need_each_other_ask_later(kit: Kit) -> None:
    async with scanned(
        kit, "left: {type: component, component: Left}\nright: {type: component, component: Right}"
    ) as app:
        assert app.get("left").right() is app.get("right")
        assert app.get("right").left is app.get("left")


async def test_a_bean_inside_a_value_that_is_read_by_its_hint(kit: Kit) -> None:
    beans = TWO + "it: {type: component, component: Plain, arguments: {clock: clock, shelf: {clock: {ref: second}}}}"
    async with scanned(kit, beans) as app:
        assert app.get("it").shelf.clock is app.get("second")


async def test_what_may_be_nothing_is_nothing_where_there_is_none(kit: Kit) -> None:
    """Also where the parameter has no default."""
    async with scanned(kit, "it: {type: component, component: Maybe}") as app:
        assert app.get("it").got == (None, None, None)


async def test_a_bean_may_stand_for_a_collection_and_for_one_of_two(kit: Kit) -> None:
    """Whatever its class is: pydantic looks at it when it is there."""
    beans = (
        "settled: {type: component, component: Settled}\n"
        "clock: {type: component, component: Clock}\n"
        "it: {type: component, component: Takes, arguments: {settled: {ref: settled}, either: {ref: clock}}}\n"
    )
    async with scanned(kit, beans) as app:
        assert app.get("it").got == ({}, app.get("clock"))


async def test_a_parameter_may_be_called_ref(kit: Kit) -> None:
    """The arguments are no reference themselves, whatever stands in them."""
    written = (
        "a: {type: component, component: Named, arguments: {ref: 5, provider: {ref: b}}}\n"
        "b: {type: t.thing}\n"
        "c: {type: component, component: Named, arguments: {ref: b}}\n"
    )
    async with scanned(kit, written) as app:
        assert app.get("a").got == (5, app.get("b"))
        assert app.get("c").got == ("b", None)


async def test_names_with_dots_are_no_ways(kit: Kit) -> None:
    """A bean in place keeps its own, though another's path reads the same."""
    written = (
        "it: {type: t.thing, named: {a: {type: t.thing, named: {b: {type: t.thing, label: deep}}}, "
        "'a.named.b': {type: t.thing, label: flat}}}"
    )
    async with kit.beans(written) as app:
        named = app.get("it").settings.named
        assert named["a"].settings.named["b"].settings.label == "deep"
        assert named["a.named.b"].settings.label == "flat"
