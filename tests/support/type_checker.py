"""mypy for tests that ask it about a few lines: what it knows of our sources it keeps, for the next test and the next
run."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

__all__ = ("mypy",)

_CACHE = Path(__file__).parents[2] / ".mypy_cache" / "of_tests"


def mypy(*sources: Path) -> subprocess.CompletedProcess[str]:
    """What it says of these, by its strict rules and no configuration of ours."""
    words = ["--strict", "--config-file=", "--no-error-summary", "--cache-dir", str(_CACHE), *map(str, sources)]
    return subprocess.run([sys.executable, "-m", "mypy", *words], capture_output=True, text=True, timeout=240)
