"""No row of the sheet is forgotten: each is a test, a stated difference, or named as a later part's.

The numbers come from the sheet itself, the tests from pytest's own collection, the differences from the page.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "differences.md"
SHEET = "cases/java-behaviour.md"
SECTIONS = "ABCDEFGHIJKLMNO"
LATER = ""
GUARDRAILS = {362, 363, 365, 366}
"""The rows of section P that are not about compensation."""
LOOP = {226, 227, 230, 231, 232, 233, 236, 237, 239, 240, 241}
"""The rows of section I that concern the bare loop."""
# A response holds one reply by its type, so that there is nothing to run.
WITHOUT_A_TEST = {241}


def sheet_rows(text: str) -> Mapping[str, set[int]]:
    """The numbers of each section of the sheet, by the section's letter."""
    found: dict[str, set[int]] = {}
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            heading = re.match(r"## ([A-Z])\. ", line)
            section = heading[1] if heading else ""
        elif section and (number := re.match(r"\|\s*(\d+)\s*\|", line)):
            found.setdefault(section, set()).add(int(number[1]))
    return found


def page_rows(text: str, heading: str) -> set[int]:
    """The numbers in the last column of the table below a heading of the page."""
    part = text.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    cells = [line.strip().strip("|").rpartition("|")[2] for line in part.splitlines() if line.startswith("|")]
    return {int(number) for cell in cells[2:] for number in re.findall(r"\d+", cell)}


def collected_rows(listing: str) -> tuple[set[int], set[int]]:
    """The numbers of the tests that hold as the anchors' do, and of those that pin a difference."""
    same = {int(number) for number in re.findall(r"\[(\d+)-", listing)}
    return same, {int(number) for number in re.findall(r"\[differs-(\d+)-", listing)}


@pytest.fixture(scope="module")
def sheet(shared: Path) -> Mapping[str, set[int]]:
    """The sheet's rows."""
    return sheet_rows((shared / SHEET).read_text("utf-8"))


@pytest.fixture(scope="module")
def wanted(sheet: Mapping[str, set[int]]) -> set[int]:
    """The rows that have to be somewhere."""
    return {number for letter in SECTIONS for number in sheet[letter]} | (sheet["P"] & GUARDRAILS)


@pytest.fixture(scope="module")
def tested() -> tuple[set[int], set[int]]:
    """What pytest collects in this folder."""
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", "tests/anchors"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120)
    return collected_rows(done.stdout)


@pytest.fixture(scope="module")
def differences() -> set[int]:
    """The rows that the page decides otherwise."""
    return page_rows(PAGE.read_text("utf-8"), "Differences")


@pytest.fixture(scope="module")
def later() -> set[int]:
    """The rows that the page leaves to a later part."""
    return page_rows(PAGE.read_text("utf-8"), "Comes with a later part")


def test_every_row_is_a_test_a_difference_or_a_later_parts(
    wanted: set[int], tested: tuple[set[int], set[int]], differences: set[int], later: set[int]
) -> None:
    """None is in neither place."""
    assert sorted(wanted - tested[0] - differences - later) == []
    assert wanted >= GUARDRAILS


def test_every_loop_row_is_here_already(
    sheet: Mapping[str, set[int]], tested: tuple[set[int], set[int]], differences: set[int]
) -> None:
    """The bare loop leaves nothing to a later part."""
    assert sheet["I"] >= LOOP
    assert sorted(LOOP - tested[0] - differences) == []


def test_a_later_part_takes_only_the_sections_that_are_its_own(
    sheet: Mapping[str, set[int]], tested: tuple[set[int], set[int]], later: set[int]
) -> None:
    """Nothing of sections A to O is put off."""
    assert later == {number for letter in LATER for number in sheet[letter]}
    assert sorted(later & (tested[0] | tested[1])) == []


def test_every_stated_difference_is_pinned_by_a_test(
    wanted: set[int], tested: tuple[set[int], set[int]], differences: set[int]
) -> None:
    """What the page says that we do is what we do, and no test pins a difference that the page does not state."""
    assert sorted((differences & wanted) - tested[1] - WITHOUT_A_TEST) == []
    assert sorted(tested[1] - differences) == []


def test_no_number_is_made_up(
    sheet: Mapping[str, set[int]], tested: tuple[set[int], set[int]], differences: set[int], later: set[int]
) -> None:
    """Each number in an id or on the page is a row of the sheet."""
    assert sorted((tested[0] | tested[1] | differences | later) - set().union(*sheet.values())) == []


# -- the measure itself --------------------------------------------------------------------------

TEXT = "## A. One\n\n| # | x |\n|---|---|\n| 1 | a |\n| 12 | b 7 |\n\n## Notes\n\n| 3 | c |\n\n## B. Two\n| 4 | d |\n"


def test_the_sheet_is_read_by_its_sections() -> None:
    """Numbers are first cells of tables in lettered sections, and nothing else."""
    assert sheet_rows(TEXT) == {"A": {1, 12}, "B": {4}}


def test_the_page_is_read_by_its_last_column() -> None:
    """Of the table below the heading; numbers elsewhere on the page do not count."""
    table = "\n\n| a | rows |\n| --- | --- |\n"
    page = f"## Differences{table}| 2 of x | 1, 12 |\n| y | – |\n\n## More{table}| 3 | 9 |\n"
    assert (page_rows(page, "Differences"), page_rows(page, "More")) == ({1, 12}, {9})


def test_ids_are_told_apart() -> None:
    """A plain number holds as the anchors' suites do; a pinned difference is another thing."""
    listing = "tests/a.py::test_x[12-T,I-blocking]\ntests/a.py::test_y[differs-7-x]\ntests/a.py::test_z[strict-9-a]\n"
    assert collected_rows(listing) == ({12}, {7})
