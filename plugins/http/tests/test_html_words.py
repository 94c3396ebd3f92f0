"""What is told of an HTML page: its title and its text."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge_http.html_words import html_words


@pytest.mark.parametrize(
    ("page", "words"),
    [
        ("<h1>Bad gateway</h1>", "Bad gateway"),
        ("<html><head><title>502</title><style>p{}</style></head><p>Bad gateway", "502: Bad gateway"),
        ('<TITLE lang="en"> Oops </TITLE ><header>Sorry</header>', "Oops: Oops Sorry"),
        ("a<script>evil('</b>')</script >b<style>p{}</style>c<svg><path/></svg>d", "a b c d"),
        ("a<!-- <b>no</b> -->b<!---->c", "a b c"),
        ("a<br/>b<a href='x'>c</a>", "a b c"),
        ("1 < 2", "1 < 2"),
        ("a<script>cut off", "a"),
        ("a<!-- cut off", "a"),
        ("<title>cut off", "cut off"),
        ("no page at all", "no page at all"),
        ("", ""),
    ],
)
def test_a_page_is_its_title_and_its_text(page: str, words: str) -> None:
    """Without tags, comments, scripts and styles, those too that are cut off."""
    assert " ".join(html_words(page).split()) == words


@given(st.lists(st.sampled_from(["<", ">", "!--", "-->", "script", "</script>", "<title>", "</title", "/", "x", " "])))
def test_whatever_a_stranger_writes_is_read(parts: list[str]) -> None:
    """And nothing stands in the words that does not in the page."""
    page = "".join(parts)
    assert set(html_words(page)) <= {*page, " ", ":"}


@pytest.mark.parametrize("part", ["<", "<!--", "<title", "<title>", "<script>", "<head "])
def test_no_page_takes_the_square_of_the_time(part: str) -> None:
    """A tenth of a megabyte that never closes what it opens would hold the event loop for most of a minute."""
    before = time.process_time()
    html_words(part * (100_000 // len(part)))

    assert time.process_time() - before < 10
