"""The results as plain tables: ratios, and for what has a budget of its own CPU seconds."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from benchmarks.advisors import Held
from benchmarks.beans import BUDGET, Build
from benchmarks.measure import SCENARIOS, Row
from benchmarks.search import Figures, Saved
from benchmarks.start import Start

__all__ = ("builds", "chains", "conversations", "held", "hits", "saved", "starts")


def conversations(rows: Sequence[Row]) -> str:
    """Client CPU of a conversation: the first contender in milliseconds, the others as ratios to it."""
    first, *others = rows[0].seconds
    lines = [["client CPU of a conversation", f"{first} (ms)", *others]]
    for row in rows:
        ratios = [f"{row.ratios[who]:.2f}" for who in others]
        lines.append([SCENARIOS[row.scenario].title, f"{row.seconds[first] * 1000:.2f}", *ratios])
    known = {row.scenario: row for row in rows}
    if "ten" in known and "fifty" in known:
        growth = [_growth(known["ten"].seconds[who], known["fifty"].seconds[who]) for who in (first, *others)]
        lines.append(["growth exponent, 10 to 50 rounds", *growth])
    return _aligned(lines)


def starts(found: Mapping[str, Start]) -> str:
    """A fresh process to its first answer."""
    base = next(iter(found.values()))
    lines = [["start to first answer", "CPU (ratio)", "memory MB", "modules imported", "modules at the end"]]
    for who, start in found.items():
        ratio = f"{start.seconds / base.seconds:.2f}"
        lines.append([who, ratio, f"{start.megabytes:.0f}", str(start.imported), str(start.modules)])
    return _aligned(lines)


def builds(build: Build) -> str:
    """A configuration compiled and built, beside what it may cost."""
    head = ["beans compiled and built", "compiled (s)", "built (s)", "together (s)", "budget (s)"]
    figures = [f"{figure:.2f}" for figure in (build.compiled, build.built, build.seconds)]
    return _aligned([head, [f"{build.beans:,} beans", *figures, f"{BUDGET * build.beans / 1000:.2f}"]])


def chains(plain: Row, streamed: Row) -> str:
    """What each chain costs: the first in CPU time of a turn, the others as ratios to it, and what they add."""
    first, *others = plain.seconds
    lines = [["client CPU of a turn", plain.scenario, "added (µs)", streamed.scenario, "added (ms)"]]
    lines.append([first, f"{plain.seconds[first] * 1e6:.0f} µs", "", f"{streamed.seconds[first] * 1e3:.1f} ms", ""])
    for who in others:
        more, longer = ((row.ratios[who] - 1) * row.seconds[first] for row in (plain, streamed))
        ratios = f"{plain.ratios[who]:.2f}", f"{streamed.ratios[who]:.2f}"
        lines.append([who, ratios[0], f"{more * 1e6:.0f}", ratios[1], f"{longer * 1e3:.2f}"])
    return _aligned(lines)


def held(found: Held) -> str:
    """What is left after each thousand turns at once."""
    lines = [["1,000 turns at once, repeated", "objects left", "KiB more than at first"]]
    for number, (objects, size) in enumerate(zip(found.objects, found.kibibytes, strict=True), 1):
        lines.append([f"after {number},000", f"{objects:,}", str(size - found.kibibytes[0])])
    return _aligned(lines)


def hits(found: Mapping[str, Figures]) -> str:
    """How many questions find their tool, for each index and catalogue."""
    lines = [["the tool among 300", "first", "first five", "English", "Chinese", "to index (ms)", "a search (µs)"]]
    for name, figures in found.items():
        half = figures.asked // 2
        lines.append(
            [
                name,
                f"{figures.first} of {figures.asked}",
                f"{figures.among_five} of {figures.asked}",
                f"{figures.english} of {half}",
                f"{figures.chinese} of {half}",
                f"{figures.milliseconds_to_index:.0f}",
                f"{figures.microseconds_to_search:.0f}",
            ]
        )
    return _aligned(lines)


def saved(found: Saved) -> str:
    """What a turn costs that uses one tool of 300, on average over all questions."""
    return _aligned(
        [
            ["a turn that uses one tool of 300", "requests", "estimated tokens of input"],
            ["all tools in each request", str(found.requests_with_all), f"{found.with_all:,}"],
            ["with a search", str(found.requests_with_search), f"{found.with_search:,}"],
            ["saved", "", f"{found.share:.1%}"],
        ]
    )


def _growth(ten: float, fifty: float) -> str:
    return f"{math.log(fifty / ten) / math.log(5):.2f}"


def _aligned(lines: Sequence[Sequence[str]]) -> str:
    widths = [max(len(line[column]) for line in lines) for column in range(len(lines[0]))]
    rows = [
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    ]
    return "\n".join([rows[0], "-" * len(rows[0]), *rows[1:], ""])
