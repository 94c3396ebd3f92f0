"""The benchmark compares like with like: every contender holds the whole scripted conversation, or it is no result."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from benchmarks import table
from benchmarks.__main__ import CONTENDERS, main
from benchmarks.measure import SCENARIOS, Row, Scenario, WrongAnswerError, compare, converse
from benchmarks.script import Script
from benchmarks.start import Start
from benchmarks.stub_server import running
from benchmarks.tools import Tally


@pytest.fixture(scope="module")
def base_url() -> Iterator[str]:
    """A stub server for the tests of this file."""
    with running() as url:
        yield url


@pytest.mark.parametrize("who", CONTENDERS)
@pytest.mark.parametrize("name", SCENARIOS)
async def test_every_contender_holds_every_conversation(base_url: str, who: str, name: str) -> None:
    """The last answer and the number of tools that ran are the script's."""
    scenario = SCENARIOS[name]
    contender = CONTENDERS[who](base_url, scenario.script.name, streamed=scenario.streamed)
    try:
        await converse(contender, scenario, scenario.at_once)
    finally:
        await contender.aclose()

    assert contender.tally.executed == scenario.at_once * scenario.script.executions


class Fake:
    """A contender that answers at once, with whatever it is told to."""

    def __init__(self, answer: str, executed: int) -> None:
        self.tally = Tally()
        self._answer, self._executed = answer, executed

    async def ask(self, prompt: str) -> str:
        """Count and answer."""
        self.tally.executed += self._executed
        return self._answer

    async def aclose(self) -> None:
        """Nothing is open."""


SCENARIO = Scenario("two rounds", Script(2, 3))


@pytest.mark.parametrize(
    ("answer", "executed", "complaint"),
    [("That took 1 rounds.", 6, "the last answer was"), ("That took 2 rounds.", 5, "5 tools ran, not 6")],
)
async def test_a_wrong_result_is_refused(answer: str, executed: int, complaint: str) -> None:
    """A contender that does less than the script asks for is not measured."""
    with pytest.raises(WrongAnswerError, match=complaint):
        await converse(Fake(answer, executed), SCENARIO, 1)


async def test_the_first_contender_is_the_measure_of_the_others() -> None:
    """Its own ratio is one; every contender has seconds and a ratio."""
    fakes = {who: Fake("That took 1 rounds.", 1) for who in ("by hand", "other")}

    row = await compare("one", fakes, repetitions=3, spend=0.01)

    assert row.ratios["by hand"] == 1
    assert set(row.seconds) == set(row.ratios) == {"by hand", "other"}


def test_the_table_shows_ratios_and_growth() -> None:
    """Milliseconds for the first contender, ratios for the others, the exponent for all."""
    rows = [
        Row("ten", {"by hand": 0.010, "ours": 0.005}, {"by hand": 1.0, "ours": 0.5}),
        Row("fifty", {"by hand": 0.050, "ours": 0.125}, {"by hand": 1.0, "ours": 2.5}),
    ]

    assert table.conversations(rows).splitlines() == [
        "client CPU of a conversation      by hand (ms)  ours",
        "----------------------------------------------------",
        "10 rounds                                10.00  0.50",
        "50 rounds                                50.00  2.50",
        "growth exponent, 10 to 50 rounds          1.00  2.00",
    ]


def test_the_start_is_shown_beside_the_first_contenders() -> None:
    """CPU as a ratio, the rest as it is."""
    shown = table.starts({"by hand": Start(170, 180, 0.2, 40), "ours": Start(60, 220, 0.25, 45)})

    assert [line.split()[-4:] for line in shown.splitlines()[2:]] == [
        ["1.00", "40", "170", "180"],
        ["1.25", "45", "60", "220"],
    ]


def test_the_program_measures_what_was_asked_for_and_prints_ratios(capsys: pytest.CaptureFixture[str]) -> None:
    """`make bench` in small: one scenario and the start, each contender in processes of its own."""
    assert main(["--only", "one", "--only", "start", "--repetitions", "1", "--spend", "0.001"]) == 0

    shown, progress = capsys.readouterr()
    head, _, one, _, start, _, *processes = shown.rstrip().splitlines()
    assert head.split()[-4:] == ["hand", "(ms)", "httpx", "aiohttp"] and one.startswith("one round ")
    assert all(float(figure) > 0 for figure in one.split()[2:])
    assert start.startswith("start to first answer ")
    assert [line.rsplit(maxsplit=4)[0] for line in processes] == list(CONTENDERS)
    assert all(float(figure) > 0 for line in processes for figure in line.split()[-4:])
    assert progress.startswith("Measuring one, start")
