"""The page on writing a provider shows a whole one, and its tests pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "writing-a-provider.md"
BLOCK = re.compile(r"^```python\n# (?P<name>\S+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_provider_of_the_page_keeps_the_contract(tmp_path: Path) -> None:
    """Its tests are run as the page says; none is skipped."""
    for found in BLOCK.finditer(PAGE.read_text("utf-8")):
        (tmp_path / found["name"]).write_text(found["text"], "utf-8")

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_acme.py"]
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
        capture_output=True,
        text=True,
        timeout=120,
    )

    assert done.returncode == 0, done.stdout
    assert re.search(r"^\d+ passed in", done.stdout, re.MULTILINE), done.stdout
