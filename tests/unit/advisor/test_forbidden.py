"""Words and patterns: found in whatever form they are written, not found in what only looks alike, masked in place."""

from __future__ import annotations

import locale
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.advisor.forbidden import Forbidden
from agentforge.errors import ConfigurationError


@pytest.mark.parametrize(
    ("word", "text", "masked"),
    [
        ("kill", "KILL Bill", "# Bill"),
        ("kill", "we kill.", "we #."),
        ("kill", "skill, killer", None),
        ("kill", "Kİll and k\u0131ll", "# and #"),
        ("TITLE", "t\u0131tle", "#"),
        ("Straße", "STRASSE 5", "# 5"),
        ("strasse", "Die Straße.", "Die #."),
        ("file", "a ﬁle", "a #"),
        ("kill", "\uff4b\uff49\uff4c\uff4c!", "#!"),
        ("kill", "ki\u200bl\u00adl me", "# me"),
        ("café", "Cafe\u0301 noir", "# noir"),
        ("cafe", "café", None),
        ("credit card", "Credit \n CARD number", "# number"),
        ("credit card", "creditcard", None),
        ("c++", "C++11, C+", "#11, C+"),
        ("bomb", "用bomb了", "用#了"),
        ("bomb", "my_bomb_x", "my_#_x"),
        ("炸弹", "自制炸弹吗?", "自制#吗?"),
        ("炸弹", "炸 弹", None),
        ("폭탄", "폭탄을", "#을"),
        ("が", "か", None),
        ("が", "か\u3099", "#"),
        ("株", "㈱", "#"),
        ("ab cd", "ab cd ab cd", "# #"),
    ],
)
def test_a_word_is_found_as_it_is_written(word: str, text: str, masked: str | None) -> None:
    forbidden = Forbidden([word])

    assert forbidden.found(text) == ("word" if masked is not None else None)
    assert forbidden.masked(text, "#") == (masked if masked is not None else text)


def test_the_locale_of_the_process_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """There a capital i has a dot, or none."""
    before = locale.setlocale(locale.LC_CTYPE)
    try:
        for name in ("tr_TR.UTF-8", "tr_TR", "C"):
            try:
                locale.setlocale(locale.LC_CTYPE, name)
            except locale.Error:  # not on this machine
                continue
            assert Forbidden(["title"]).found("A TITLE")
    finally:
        locale.setlocale(locale.LC_CTYPE, before)


@pytest.mark.parametrize(
    ("pattern", "text", "masked"),
    [
        (r"\d{4}-\d{4}", "1234-5678 and 12-34", "# and 12-34"),
        (r"(?i)secret\w*", "SECRETS", "#"),
        (r"secret", "SECRET", None),
        (r"^rm\b", "rm all", "# all"),
        (r"(?=x)", "axb", "#"),
        (r"(?:,\d+)+", "a,1,2", "a#"),
    ],
)
def test_a_pattern_is_searched_as_it_stands(pattern: str, text: str, masked: str | None) -> None:
    forbidden = Forbidden(patterns=[pattern])

    assert forbidden.found(text) == ("pattern" if masked is not None else None)
    assert forbidden.masked(text, "#") == (masked if masked is not None else text)


def test_a_text_that_is_too_long_for_patterns_does_not_pass() -> None:
    """Nobody has looked at all of it. Words are looked for in any length."""
    forbidden = Forbidden(patterns=["x+y"], max_characters=10)

    assert (forbidden.found("a" * 10), forbidden.found("a" * 11)) == (None, "length")
    assert forbidden.masked("a" * 11, "#") == "#"
    assert Forbidden(["x"], max_characters=10).found("a" * 11) is None


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"words": [""]}, "words is a list of texts, and one of them is a blank one"),
        ({"words": [7]}, "one of them is int"),
        ({"words": ["\u200b"]}, "no sign that could be compared"),
        ({"patterns": ["("]}, "is no regular expression"),
        ({"patterns": ["a*"]}, "fits an empty text"),
        ({"patterns": ["(a+)+b"]}, "repeats a repetition"),
        ({"patterns": [r"(?:[^\]]*)*b"]}, "repeats a repetition"),
        ({"patterns": [r"(\w+){2,}$"]}, "repeats a repetition"),
        ({"max_characters": 0}, "max_characters must be at least 1"),
    ],
)
def test_settings_that_are_none_are_refused(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        Forbidden(**settings)


@pytest.mark.parametrize("pattern", [r"(\d+,)+;", r"(a+)b", r"\(a+\)+", r"(?:ab+c)+", r"[(a+)+]x", r"(a+){2}"])
def test_other_repetitions_are_taken(pattern: str) -> None:
    assert Forbidden(patterns=[pattern]).patterns == (pattern,)


def test_one_text_is_a_list_of_one() -> None:
    assert Forbidden("bomb").words == ("bomb",)


SIGNS = st.text(st.sampled_from("aAbİi\u0131I ß\u200b\u0301\u3099かが炸弹ﬁ.\uff42\u1100\u1161가"), max_size=12)


@given(st.lists(SIGNS.filter(lambda each: any(sign in "aAbかが炸弹" for sign in each)), min_size=1, max_size=3), SIGNS)
def test_nothing_is_left_after_masking(words: list[str], text: str) -> None:
    """And a text that held nothing is the very same."""
    forbidden = Forbidden(words)
    made = forbidden.masked(text, "#")

    assert forbidden.found(made) is None
    if forbidden.found(text) is None:
        assert made is text


@given(st.sampled_from(["bomb", "straße", "炸弹", "İstanbul"]), st.text("xyz .", max_size=6), st.data())
def test_case_makes_no_difference(word: str, around: str, data: st.DataObject) -> None:
    cased = "".join(data.draw(st.sampled_from([sign, sign.upper(), sign.lower()])) for sign in word)

    assert Forbidden([word]).found(f"{around} {cased} {around}") == "word"
