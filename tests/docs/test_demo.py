"""The example program shows whole conversations without a configuration, and says that its model is scripted."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROGRAM = ROOT / "docs" / "examples" / "weather.py"


def test_the_index_of_the_pages_names_this_program() -> None:
    """It is what a reader meets first."""
    assert f"({PROGRAM.relative_to(ROOT / 'docs').as_posix()})" in (ROOT / "docs" / "README.md").read_text("utf-8")


def test_the_program_shows_two_conversations() -> None:
    """Question, calls with their arguments, results, answer and a summary; nothing on standard error."""
    done = subprocess.run([sys.executable, str(PROGRAM)], capture_output=True, text=True, encoding="utf-8", timeout=60)

    assert (done.returncode, done.stderr) == (0, "")
    first, chinese, english = done.stdout.strip().split("\n\n")
    assert "scripted" in first
    *shown, summary = chinese.splitlines()
    assert shown == [
        "question  杭州今天天气怎么样？",
        'call      get_weather {"city":"杭州"}',
        "result    杭州今天 22℃，天气晴。",
        "answer    杭州今天 22℃，天气晴，适合出行。",
    ]
    assert re.fullmatch(r"summary   2 rounds, 1 tool call, \d+ tokens, \d+ ms; the model was scripted", summary)
    assert [line.split()[0] for line in english.splitlines()] == [
        "question",
        *["call"] * 2,
        *["result"] * 2,
        "answer",
        "summary",
    ]
