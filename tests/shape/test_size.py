"""A file is one concept: none outgrows a reader, and the tool loop stays small for ever."""

from __future__ import annotations

import ast
import statistics
from pathlib import Path
from typing import Any

HARD_STOP = 500
MEDIAN = 150
LOOP = "agentforge/tool/execution/loop.py"
LOOP_LINES = 250
LOOP_FUNCTION_LINES = 40


def _lines(path: Path) -> int:
    return len(path.read_text("utf-8").splitlines())


def test_no_file_is_longer_than_500_lines(house: Any) -> None:
    """Shipped code and tests alike."""
    too_long = {house.name_of(path): _lines(path) for path in house.written() if _lines(path) > HARD_STOP}

    assert too_long == {}


def test_the_median_file_is_about_150_lines(house: Any) -> None:
    """Of the shipped modules that hold code."""
    assert statistics.median(_lines(path) for path in house.sources() if path.name != "__init__.py") <= MEDIAN * 4 / 3


def test_the_tool_loop_is_at_most_250_lines(house: Any) -> None:
    """The one loop is readable in a sitting."""
    assert _lines(house.root / LOOP) <= LOOP_LINES


def test_no_function_of_the_tool_loop_is_longer_than_40_lines(house: Any) -> None:
    """Each step of the loop fits on a screen."""
    functions = [
        node
        for node in ast.walk(house.tree(house.root / LOOP))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    lengths = {node.name: (node.end_lineno or 0) - node.lineno + 1 for node in functions}

    assert functions
    assert {name: length for name, length in lengths.items() if length > LOOP_FUNCTION_LINES} == {}
