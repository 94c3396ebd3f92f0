"""The page on writing a provider shows a whole one, and its tests pass."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from agentforge.provider import EndpointRow

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "writing-a-provider.md"
BLOCK = re.compile(r"^```python\n# (?P<name>\S+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_providers_of_the_page_keep_the_contract(tmp_path: Path) -> None:
    """Their tests are run as the page says; none is skipped."""
    for found in BLOCK.finditer(PAGE.read_text("utf-8")):
        (tmp_path / found["name"]).write_text(found["text"], "utf-8")

    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_acme.py", "test_acme_merged.py"]
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


def test_the_page_names_every_field_of_a_row() -> None:
    """Each once, and none that is not there; one is no setting."""
    table = PAGE.read_text("utf-8").partition("## The row\n")[2].partition("\n## ")[0]
    named = [
        name
        for line in table.splitlines()
        if line.startswith("| `")
        for name in re.findall(r"`(\w+)`", line.split("|")[1])
    ]

    assert sorted(named) == sorted(item.name for item in fields(EndpointRow) if item.name != "named_by_user")
