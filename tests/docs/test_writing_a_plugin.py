"""The page on writing a plugin shows the files that `agentforge init --plugin` writes, each whole, and no others."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from agentforge import __version__
from agentforge.cli.scaffold import rendered

PAGE = Path(__file__).parents[2] / "docs" / "guides" / "writing-a-plugin.md"
NAME = "words"
#: Files that the page need not show: they hold nothing of the plugin's work.
UNSHOWN = {".gitignore", "README.md", f"src/agentforge_{NAME}/py.typed"}
BLOCK = re.compile(r"^```(?:python|toml)\n# (?P<name>\S+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def files() -> dict[str, str]:
    """What the command writes for this name."""
    marks = {
        "__NAME__": NAME,
        "__MODULE__": f"agentforge_{NAME}",
        "__DISTRIBUTION__": f"agentforge-plugin-{NAME}",
        "__VERSION__": __version__,
    }
    return rendered("plugin", marks)


def test_each_block_is_the_file_that_it_names(files: dict[str, str]) -> None:
    """To the letter, below the line with its name."""
    shown = {found["name"]: found["text"] for found in BLOCK.finditer(PAGE.read_text("utf-8"))}

    assert set(shown) == set(files) - UNSHOWN
    for name, text in shown.items():
        assert text == files[name], name


def test_the_page_has_no_python_of_its_own() -> None:
    """Every Python block is one of the scaffold's files."""
    text = PAGE.read_text("utf-8")

    assert text.count("```python") == len(re.findall(r"^```python\n# \S+\.py\n", text, re.MULTILINE))


def test_the_page_shows_the_list_of_files_as_the_command_prints_it(files: dict[str, str]) -> None:
    """Below the folder that the command makes."""
    text = PAGE.read_text("utf-8")

    assert "".join(f"agentforge-plugin-{NAME}/{name}\n" for name in files) in text
