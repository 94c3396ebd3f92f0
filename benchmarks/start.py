"""What a fresh process needs up to its first answer."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

__all__ = ("Start", "measure_start")

_PROGRAM = "import sys; from benchmarks.first_answer import main; main(*sys.argv[1:])"


@dataclass(frozen=True, slots=True)
class Start:
    """Modules after the imports and after the answer, CPU seconds of the whole process, and its peak memory (MB)."""

    imported: int
    modules: int
    seconds: float
    megabytes: float


def measure_start(who: str, base_url: str, *, repetitions: int) -> Start:
    """Start that many processes, one after the other; medians."""
    starts = [_start(who, base_url) for _ in range(repetitions)]
    return Start(
        starts[0].imported,
        starts[0].modules,
        median(start.seconds for start in starts),
        median(start.megabytes for start in starts),
    )


def _start(who: str, base_url: str) -> Start:
    # Not `with`: the child is waited for by wait4, which alone tells what this one process used.
    command = [sys.executable, "-c", _PROGRAM, who, base_url]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=Path(__file__).parents[1])
    assert child.stdout is not None
    told = child.stdout.read()
    child.stdout.close()
    _, status, used = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode:
        raise RuntimeError(f"{who}: the process ended with {child.returncode}")
    imported, modules, peak = map(int, told.split())
    return Start(imported, modules, used.ru_utime + used.ru_stime, peak / 1024)
