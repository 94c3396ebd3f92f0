"""Where advisors stand: the list's order, the wishes of those that are added, and what cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.advisor import Advised, AdvisorOrderError, Chain, Placement, arranged, name_of
from agentforge.model import ChatRequest
from agentforge.tool.execution import Run


class Named:
    """An advisor of a name, with what it says of its place."""

    def __init__(self, name: str, **place: Any) -> None:
        self.name = name
        for key, value in place.items():
            setattr(self, key, value)

    async def advise(self, run: Run, request: ChatRequest, chain: Chain) -> Advised:
        return await chain.next(run, request)


class ToolAdvisor(Named):
    """Of the kind of which there may be one."""

    calls_tools = True


def names(*links: Any) -> list[str]:
    return [link.name for link in links]


LISTED = ["memory", "budget", "logger"]


@pytest.mark.parametrize(
    ("added", "expected"),
    [
        ([], "memory budget logger"),
        ([Named("x")], "memory budget logger x"),
        ([Named("x", order=-1)], "x memory budget logger"),
        ([Named("x", order=5), Named("y", order=2)], "memory budget logger y x"),
        ([Named("x", order=-2), Named("y", order=-9)], "y x memory budget logger"),
        ([Named("x", before="budget")], "memory x budget logger"),
        ([Named("x", after="memory", before=("budget",))], "memory x budget logger"),
        ([Named("x", after=["budget"])], "memory budget logger x"),
        ([Named("x", after="nobody")], "memory budget logger x"),
        ([Named("x", innermost=True), Named("y", order=9)], "memory budget logger y x"),
        ([Named("x", outermost=True), Named("y", order=-9)], "x y memory budget logger"),
        ([Named("x", innermost=True), Named("y", innermost=True, order=1)], "memory budget logger x y"),
        ([Named("x", outermost=True, order=1), Named("y", outermost=True)], "y x memory budget logger"),
    ],
)
def test_added_advisors_find_their_places(added: list[Named], expected: str) -> None:
    links = arranged([Named(name) for name in LISTED], added)

    assert names(*links) == expected.split()


def test_each_place_has_its_reason() -> None:
    """What `explain` shows."""
    links = arranged([Named("memory")], [Named("x", order=-3), Named("y", after="memory", innermost=True)])

    assert [(link.name, link.reason) for link in links] == [
        ("x", "added with the order -3"),
        ("memory", "place 1 of the list"),
        ("y", "added: innermost, after 'memory'"),
    ]


@pytest.mark.parametrize(
    ("listed", "added", "message"),
    [
        (
            [Named("logger"), Named("memory", before="logger")],
            [],
            "'logger' is listed before 'memory', and 'memory' wants to stand before 'logger'",
        ),
        (
            [],
            [Named("a", before="b"), Named("b", before="a")],
            "'a' wants to stand before 'b', and 'b' wants to stand before 'a'",
        ),
        ([Named("a"), Named("b", outermost=True)], [], "'b' wants to be outermost"),
        ([Named("a", innermost=True), Named("b")], [], "'a' wants to be innermost"),
        ([], [Named("a", outermost=True, innermost=True)], "wants to be both outermost and innermost"),
        ([], [Named("a", order="first")], "'order' of the advisor 'a' is a whole number, not 'first'"),
        ([], [Named("a", before=7)], "'before' of the advisor 'a' is a list of names, not 7"),
        ([ToolAdvisor("tool_calling"), ToolAdvisor("other")], [], "these are 2: 'tool_calling', 'other'"),
        ([Named], [], "Named is no advisor"),
        ([object()], [], "object is no advisor"),
        ([None], [], "NoneType is no advisor"),
    ],
)
def test_places_that_cannot_be_are_refused_with_both_sides(listed: list[Any], added: list[Any], message: str) -> None:
    with pytest.raises(AdvisorOrderError) as raised:
        arranged(listed, added)

    assert message in raised.value.message


def test_two_of_one_name_can_be_told_apart() -> None:
    assert names(*arranged([Named("logger"), Named("logger")])) == ["logger", "logger_2"]


def test_an_advisor_without_a_name_goes_by_its_class() -> None:
    class TenantFilterAdvisor(Named):
        """Of the test."""

    assert name_of(TenantFilterAdvisor("")) == "tenant_filter"


@given(
    st.lists(st.integers(0, 3).map(lambda n: Named("abcd"[n])), max_size=4, unique_by=lambda each: each.name),
    st.lists(
        st.builds(
            Named,
            st.sampled_from(["e", "f", "g", "h"]),
            order=st.integers(-2, 2),
            before=st.sampled_from(["", "a", "e"]),
            after=st.sampled_from(["", "b", "f"]),
            outermost=st.booleans(),
        ),
        max_size=4,
        unique_by=lambda each: each.name,
    ),
)
def test_every_wish_is_kept_or_refused(listed: list[Named], added: list[Named]) -> None:
    """Whatever comes: the list keeps its order, nobody is lost, and each constraint holds."""
    links: Any = ()
    refusal = None
    try:
        links = arranged(listed, added)
    except AdvisorOrderError as error:
        refusal = error.message
    if refusal is not None:
        assert "cannot be put in an order" in refusal
        return

    found = names(*links)
    assert sorted(found) == sorted(each.name for each in [*listed, *added])
    assert [name for name in found if name in "abcd"] == [each.name for each in listed]
    for each in added:
        place = Placement.of(each)
        for name in place.before:
            assert name not in found or name == each.name or found.index(each.name) < found.index(name)
        for name in place.after:
            assert name not in found or name == each.name or found.index(name) < found.index(each.name)
