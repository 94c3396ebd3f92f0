"""Names that every provider takes, from any name."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge.tool.spec import SAFE_TOOL_NAME, distinct_tool_names, safe_tool_name

# A busy machine is no fault of the code: no example has a time limit.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

KEPT = ["get_weather", "getWeather-2", "_private", "abc", "a" * 64]
CHANGED = {
    "blanks": ("read file", "read_file_"),
    "dots and slashes": ("files.read/all", "files_read_all_"),
    "letters of other scripts": ("查询天气", "tool_"),
    "a digit first": ("2nd", "tool_2nd_"),
    "too short": ("ab", "ab_"),
    "too long": ("a" * 65, "a" * 55 + "_"),
    "empty": ("", "tool_"),
    "half a surrogate": ("a\ud800", "a_"),
    "a line break at the end": ("get_weather\n", "get_weather_"),
}


@pytest.mark.parametrize("name", KEPT)
def test_a_safe_name_is_kept(name: str) -> None:
    assert safe_tool_name(name) == name


@pytest.mark.parametrize(("name", "start"), CHANGED.values(), ids=CHANGED)
def test_another_name_is_cleaned_and_marked(name: str, start: str) -> None:
    made = safe_tool_name(name)
    assert re.fullmatch(re.escape(start) + "[0-9a-f]{8}", made)


def test_names_that_clean_up_alike_stay_apart() -> None:
    assert len({safe_tool_name(name) for name in ("a b", "a.b", "a/b", "a_b")}) == 4


def test_a_vendors_own_rule_can_be_given() -> None:
    assert safe_tool_name("ab", r"[a-z]{1,64}") == "ab"
    assert safe_tool_name("files.read", r"[a-z.]+", limit=128) == "files.read"
    assert len(safe_tool_name("a" * 40, r"[a-z]+", limit=32)) == 32


@CALM
@given(st.text(max_size=100))
def test_every_name_becomes_safe_and_always_the_same(name: str) -> None:
    made = safe_tool_name(name)
    assert SAFE_TOOL_NAME.fullmatch(made)
    assert made == safe_tool_name(name) == safe_tool_name(made)


DISTINCT: dict[str, tuple[list[str], list[str]]] = {
    "good ones stay": (["get_item", "a", "list-all"], ["get_item", "a", "list-all"]),
    "others are cleaned": (["get item (v2)", "list.all"], ["get_item_v2", "list_all"]),
    "alike": (["get.item", "get/item"], ["get_item_82acaeb6", "get_item_5eede0d9"]),
    "like a good one": (["get_item", "get.item"], ["get_item", "get_item_82acaeb6"]),
    "nothing is left": (["天气"], ["tool_4d947325"]),
    "a digit first": (["2nd"], ["tool_2nd"]),
    "too long": (["a" * 65], ["a" * 55 + "_635361c4"]),
}


@pytest.mark.parametrize(("names", "made"), DISTINCT.values(), ids=DISTINCT)
def test_names_of_others_become_names_of_tools(names: list[str], made: list[str]) -> None:
    """In words that one can read, as far as they stay apart."""
    assert list(distinct_tool_names(names).values()) == made


@CALM
@given(st.lists(st.text(max_size=80), max_size=12))
def test_names_of_others_stay_apart(names: list[str]) -> None:
    """Each leads back to its own, every provider's pattern of 64 characters holds."""
    made = distinct_tool_names(names)
    assert set(made) == set(names)
    assert len(set(made.values())) == len(made)
    assert all(re.fullmatch(r"[a-zA-Z_][a-zA-Z0-9_-]{0,63}", name) for name in made.values())


@CALM
@given(st.lists(st.text(alphabet="ab./ _", min_size=1, max_size=6), min_size=1, max_size=8))
def test_one_more_name_changes_no_other_that_looks_different(names: list[str]) -> None:
    """What a tool is called is a matter of its own name, and of those alone that clean up like it."""
    before = distinct_tool_names(names)
    after = distinct_tool_names([*names, "quite_another", "and one more"])
    assert {name: after[name] for name in before} == before
