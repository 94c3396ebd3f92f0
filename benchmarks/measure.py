"""Client CPU of conversations, in pairs: all contenders take turns in each repetition, and a ratio is formed within it.

CPU is user and system time of this process (`getrusage`), the server being another one. Other programs on the
machine slow all contenders alike, so ratios keep where milliseconds do not.
"""

from __future__ import annotations

import asyncio
import gc
import resource
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Protocol

from benchmarks.script import Script
from benchmarks.tools import PROMPT, Tally

__all__ = ("SCENARIOS", "Contender", "Row", "Scenario", "WrongAnswerError", "compare", "converse", "cpu_seconds")


class Contender(Protocol):
    """Whoever holds conversations, with tools that count."""

    tally: Tally

    async def ask(self, prompt: str) -> str:
        """One whole conversation; the last answer's text."""
        ...

    async def aclose(self) -> None:
        """Close the connections."""
        ...


@dataclass(frozen=True, slots=True)
class Scenario:
    """What one row of the table measures; ``at_once`` conversations run side by side."""

    title: str
    script: Script
    at_once: int = 1
    streamed: bool = False


SCENARIOS: Mapping[str, Scenario] = {
    "one": Scenario("one round", Script(1, 1)),
    "ten": Scenario("10 rounds", Script(10, 1)),
    "parallel": Scenario("10 rounds of 4 calls", Script(10, 4)),
    "fifty": Scenario("50 rounds", Script(50, 1)),
    "crowd": Scenario("64 at once, 3 rounds", Script(3, 1), at_once=64),
    "deltas": Scenario("2,000 streamed deltas", Script(1, 1, 2000), streamed=True),
}


_TICK = 1e-9


@dataclass(frozen=True, slots=True)
class Row:
    """The result of a scenario: CPU seconds of a conversation (medians), and ratios to the first contender."""

    scenario: str
    seconds: Mapping[str, float]
    ratios: Mapping[str, float]


class WrongAnswerError(AssertionError):
    """A contender ended with another text, or ran another number of tools, than the script asks for."""


def cpu_seconds() -> float:
    """User and system time of this process so far."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


async def converse(contender: Contender, scenario: Scenario, count: int) -> float:
    """Hold ``count`` conversations; the CPU seconds each of them took. Wrong results are a `WrongAnswerError`."""
    script = scenario.script
    before = contender.tally.executed
    gc.collect()
    start = cpu_seconds()
    for done in range(0, count, scenario.at_once):
        answers = await asyncio.gather(*(contender.ask(PROMPT) for _ in range(min(scenario.at_once, count - done))))
        for answer in answers:
            if answer != script.farewell:
                raise WrongAnswerError(f"{scenario.title}: the last answer was {answer!r}, not {script.farewell!r}")
    used = cpu_seconds() - start
    ran, expected = contender.tally.executed - before, count * script.executions
    if ran != expected:
        raise WrongAnswerError(f"{scenario.title}: {ran} tools ran, not {expected}")
    return used / count


async def compare(
    name: str,
    contenders: Mapping[str, Contender],
    *,
    repetitions: int,
    spend: float,
    scenario: Scenario | None = None,
    most: int = 400,
    report: Callable[[str], None] = lambda text: None,
) -> Row:
    """Measure one scenario, of this name where none is given. ``spend`` is the CPU seconds that a single measurement
    aims at, with at most ``most`` conversations (one after the other)."""
    scenario = SCENARIOS[name] if scenario is None else scenario
    counts: dict[str, int] = {}
    for who, contender in contenders.items():
        await converse(contender, scenario, scenario.at_once)  # connections, caches
        trial = await converse(contender, scenario, scenario.at_once)
        rounds = max(1, round(spend / max(trial, 1e-5) / scenario.at_once))
        counts[who] = min(rounds, most) * scenario.at_once
    samples: dict[str, list[float]] = {who: [] for who in contenders}
    for repetition in range(repetitions):
        report(f"{scenario.title}: {repetition + 1} of {repetitions}")
        for who, contender in contenders.items():
            await converse(contender, scenario, scenario.at_once)  # what expired while the others ran
            samples[who].append(await converse(contender, scenario, counts[who]))
    base = next(iter(samples.values()))
    return Row(
        name,
        {who: statistics.median(values) for who, values in samples.items()},
        {who: statistics.median(map(_ratio, values, base)) for who, values in samples.items()},
    )


def _ratio(seconds: float, base: float) -> float:
    """The ratio of two measurements, also where the clock was too coarse to see one."""
    return max(seconds, _TICK) / max(base, _TICK)
