"""The benchmark of advisors measures chains that answer, and as many turns as it says."""

from __future__ import annotations

import pytest

from benchmarks import table
from benchmarks.__main__ import main
from benchmarks.advisors import CHAINS, Held, contenders, hold_many
from benchmarks.measure import Row, Scenario, converse
from benchmarks.script import Script


@pytest.mark.parametrize("streamed", [False, True], ids=["plain", "streamed"])
async def test_every_chain_answers(streamed: bool) -> None:
    """With the whole answer, plain and in pieces, turn after turn."""
    made = contenders(streamed=streamed)

    assert list(made)[: len(CHAINS)] == list(CHAINS)
    for each in made.values():
        await converse(each, Scenario("a turn", Script(0, 0), streamed=streamed), 2)
        await each.aclose()


async def test_many_turns_leave_nothing_but_their_conversations() -> None:
    """The count of objects does not grow, but for those of the count itself."""
    held = await hold_many(50, 3)

    assert len(held.objects) == len(held.kibibytes) == 3
    assert held.objects[-1] - held.objects[0] < 50  # fewer is what other tests had left


def test_the_tables_show_ratios_and_what_is_added() -> None:
    row = Row("a turn", {"0 advisors": 0.0001, "logger": 0.00015}, {"0 advisors": 1.0, "logger": 1.5})
    streamed = Row("2,000 streamed deltas", {"0 advisors": 0.002, "logger": 0.003}, {"0 advisors": 1.0, "logger": 1.5})

    first, second = table.chains(row, streamed).splitlines()[2:4]
    assert first.split() == ["0", "advisors", "100", "µs", "2.0", "ms"]
    assert second.split() == ["logger", "1.50", "50", "1.50", "1.00"]
    assert table.held(Held([10_000, 10_001], [40, 41])).splitlines()[3].split() == ["after", "2,000", "10,001", "1"]


def test_the_program_measures_advisors_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def few() -> Held:
        return await hold_many(10, 1)

    monkeypatch.setattr("benchmarks.__main__.hold_many", few)
    assert main(["--only", "advisors", "--repetitions", "1", "--spend", "0.001"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[2].startswith("0 advisors ") and lines[-2].startswith("after 1,000 ")
