"""The benchmark of tool search measures what it says that it measures, and the figures of the guide hold."""

from __future__ import annotations

import pytest

from agentforge.tool.search import Bm25Index, KeywordIndex, ToolIndex
from benchmarks.__main__ import main
from benchmarks.search import QUESTIONS, measure_hits, measure_search, tools_of


def test_there_are_three_hundred_tools_and_sixty_questions() -> None:
    """Half of the questions are Chinese, and ask for a tool that is described so; each asks for one that is there."""
    tools = {each.name: each for each in tools_of()}
    chinese = {name for name, each in tools.items() if not (each.description or "").isascii()}

    assert (len(tools), len(chinese)) == (300, 150)
    assert (len(QUESTIONS), len({each.text for each in QUESTIONS})) == (60, 60)
    assert sum(each.language == "zh" for each in QUESTIONS) == 30
    assert all((each.tool in chinese) == (each.language == "zh") for each in QUESTIONS)
    assert {each.tool for each in QUESTIONS} <= tools.keys()


@pytest.mark.parametrize(
    ("index", "first", "english", "chinese"), [(Bm25Index(), 31, 26, 27), (KeywordIndex(), 35, 26, 28)]
)
async def test_the_tool_is_found_so_often(index: ToolIndex, first: int, english: int, chinese: int) -> None:
    """First of all, and among the first five; the same on every machine."""
    found = await measure_hits(index, tools_of())

    assert (found.first, found.english, found.chinese) == (first, english, chinese)
    assert len(found.missed) == 60 - found.among_five


async def test_words_of_another_language_find_nothing() -> None:
    """Chinese questions among tools that are described in English alone."""
    figures, saved = await measure_search()

    assert figures["bm25, all described in English"].chinese == 0
    assert (saved.requests_with_all, saved.requests_with_search) == (2, 3)
    assert (saved.with_all, saved.with_search) == (53_132, 1_711)


def test_the_program_measures_the_search_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--only", "search"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("bm25 ") and "53 of 60" in lines[2]
    assert lines[-2].split() == ["saved", "96.8%"]
