"""The order of building respects every need, and a circle is always found: on graphs of any form."""

from __future__ import annotations

import asyncio
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.config import ConfigurationFaults
from agentforge.container.ordering import build_order, circles
from tests.unit.container.kit import Kit

Graph = dict[str, list[str]]


@st.composite
def graphs(draw: st.DrawFn, *, acyclic: bool = False) -> Graph:
    """Up to nine beans in any order of declaration, each with the beans that it needs."""
    names = [f"b{number}" for number in range(draw(st.integers(1, 9)))]
    needs = {
        name: draw(st.lists(st.sampled_from(names[:number] if acyclic else names), max_size=4))
        if number or not acyclic
        else []
        for number, name in enumerate(names)
    }
    return {name: needs[name] for name in draw(st.permutations(names))}


def has_circle(needs: Graph) -> bool:
    """Whether beans are left after all that need nothing were taken away, again and again."""
    left = dict(needs)
    while free := [name for name, wanted in left.items() if not any(each in left for each in wanted)]:
        for name in free:
            del left[name]
    return bool(left)


@given(graphs(acyclic=True))
def test_every_bean_comes_once_and_after_all_that_it_needs(needs: Graph) -> None:
    order = build_order(needs)

    assert sorted(order) == sorted(needs)
    assert all(order.index(each) < order.index(name) for name, wanted in needs.items() for each in wanted)
    assert list(circles(needs)) == []


@given(st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_beans_without_needs_stay_in_the_order_of_the_file(names: list[str]) -> None:
    assert build_order({name: [] for name in names}) == tuple(names)


@given(graphs())
def test_a_circle_is_found_if_and_only_if_there_is_one_and_can_be_walked(needs: Graph) -> None:
    found = list(circles(needs))

    assert bool(found) == has_circle(needs)
    for way in found:
        assert way[0] == way[-1]
        assert len(set(way)) == len(way) - 1
        assert all(following in needs[each] for each, following in pairwise(way))


@given(graphs())
def test_with_one_need_of_each_found_circle_taken_away_no_circle_is_left_in_the_end(needs: Graph) -> None:
    """Whoever follows the errors gets to a plan."""
    for _ in range(40):
        found = list(circles(needs))
        if not found:
            break
        for way in found:
            needs[way[-2]] = [each for each in needs[way[-2]] if each != way[-1]]

    assert not has_circle(needs)


def beans_of(needs: Graph) -> dict[str, Any]:
    """Beans with these needs, in turn as references, in settings inside, and as depends_on."""
    forms = (
        lambda wanted: {"needs": wanted},
        lambda wanted: {"inner": {"many": wanted}},
        lambda wanted: {"bean": {"depends_on": wanted}},
    )
    return {
        name: {"type": "t.plain", **forms[number % 3](wanted)} for number, (name, wanted) in enumerate(needs.items())
    }


@settings(max_examples=40, deadline=None)
@given(graphs(acyclic=True))
def test_an_application_starts_in_the_order_of_needs_and_closes_in_reverse(needs: Graph) -> None:
    kit = Kit(Path(tempfile.gettempdir()))

    async def run() -> None:
        async with kit.mapping(beans_of(needs)):
            pass

    asyncio.run(run())

    started = [each.removeprefix("start ") for each in kit.log if each.startswith("start ")]
    assert sorted(started) == sorted(needs)
    assert all(started.index(each) < started.index(name) for name, wanted in needs.items() for each in wanted)
    assert [each.removeprefix("close ") for each in kit.log if each.startswith("close ")] == started[::-1]


@settings(max_examples=40, deadline=None)
@given(graphs().filter(has_circle))
def test_a_circle_in_a_configuration_is_always_reported_and_nothing_is_made(needs: Graph) -> None:
    kit = Kit(Path(tempfile.gettempdir()))

    with pytest.raises(ConfigurationFaults) as raised:
        kit.mapping(beans_of(needs)).check()

    assert {fault.code for fault in raised.value.diagnostics} == {"AF216"}
    assert kit.log == []


def test_a_chain_of_many_thousand_beans_is_ordered_and_a_circle_of_them_is_found() -> None:
    many = 5000
    needs: Graph = {f"b{number}": [f"b{number + 1}"] for number in range(many)}

    assert build_order({**needs, f"b{many}": []})[0] == f"b{many}"
    [way] = circles({**needs, f"b{many}": ["b0"]})
    assert len(way) == many + 2
