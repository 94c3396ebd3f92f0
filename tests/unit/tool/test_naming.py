"""Names that every provider takes, from any name."""

from __future__ import annotations

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentforge.tool.spec import SAFE_TOOL_NAME, safe_tool_name

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
