"""Compare our loop with one written by hand and print the ratios, and what many beans and advisors cost, and what a
search for tools finds; progress goes to standard error."""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from benchmarks import table
from benchmarks.advisors import hold_many, measure_advisors
from benchmarks.beans import measure_beans
from benchmarks.by_hand import ByHand
from benchmarks.measure import SCENARIOS, Contender, Row, Scenario, compare
from benchmarks.ours import Ours
from benchmarks.search import measure_search
from benchmarks.start import measure_start
from benchmarks.stub_server import running

__all__ = ("CONTENDERS", "main")

# The first is what the others are compared with.
CONTENDERS: Mapping[str, Callable[..., Contender]] = {
    "by hand": ByHand,
    "httpx": partial(Ours, transport="httpx"),
    "aiohttp": partial(Ours, transport="aiohttp"),
}

START = "start"
BEANS = "beans"
ADVISORS = "advisors"
SEARCH = "search"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure what the command line asks for."""
    options = _parser().parse_args(arguments)
    chosen = options.only or [*SCENARIOS, START, BEANS, ADVISORS, SEARCH]
    print(f"Measuring {', '.join(chosen)}: a minute or two for all of it ...", file=sys.stderr)
    with running() as base_url:
        rows = asyncio.run(_measure(base_url, [name for name in chosen if name in SCENARIOS], options))
        if rows:
            print(table.conversations(rows))
        if START in chosen:
            print(
                table.starts({who: measure_start(who, base_url, repetitions=options.repetitions) for who in CONTENDERS})
            )
    if BEANS in chosen:
        print(table.builds(measure_beans(options.beans, repetitions=options.repetitions)))
    if ADVISORS in chosen:
        spend = options.spend
        rows = asyncio.run(measure_advisors(repetitions=options.repetitions, spend=spend, report=_progress))
        _progress("")
        print(table.chains(*rows))
        print(table.held(asyncio.run(hold_many())))
    if SEARCH in chosen:
        figures, saved = asyncio.run(measure_search())
        print(table.hits(figures))
        print(table.saved(saved))
    return 0


async def _measure(base_url: str, names: Sequence[str], options: argparse.Namespace) -> list[Row]:
    rows = []
    for name in names:
        contenders = {who: _made(make, base_url, SCENARIOS[name]) for who, make in CONTENDERS.items()}
        try:
            rows.append(
                await compare(name, contenders, repetitions=options.repetitions, spend=options.spend, report=_progress)
            )
        finally:
            for contender in contenders.values():
                await contender.aclose()
    _progress("")
    return rows


def _made(make: Callable[..., Contender], base_url: str, scenario: Scenario) -> Contender:
    return make(base_url, scenario.script.name, streamed=scenario.streamed)


def _progress(text: str) -> None:
    """Say how far it is, on one line of a terminal that is written over."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--repetitions", type=int, default=7, metavar="N", help="paired runs of each scenario (7)")
    parser.add_argument("--spend", type=float, default=0.25, metavar="S", help="CPU seconds of one measurement (0.25)")
    parser.add_argument(
        "--only",
        action="append",
        choices=(*SCENARIOS, START, BEANS, ADVISORS, SEARCH),
        help="one of them; may be repeated",
    )
    parser.add_argument("--beans", type=int, default=1000, metavar="N", help="how many beans are built (1,000)")
    return parser


if __name__ == "__main__":
    sys.exit(main())
