"""What must not be written anywhere: a machine's paths, an index's host, a vendor in the core, a hidden gap."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest

# What tools leave behind (see .gitignore); hidden folders are theirs as well, but for `.ci`.
LEFT_BEHIND = {"__pycache__", "build", "dist", "htmlcov"}
TEXTS = {".py", ".md", ".toml", ".txt", ".yaml", ".yml", ".json", ".cfg", ".sh", ""}

# Split, so that this file does not find itself.
ANYWHERE = {
    "a path of somebody's machine": r"(?<![\w.:/])/(?:" + "home" + r"|root|Users|work)/\w",
    "the host of a package index": r"(?:" + "pypi" + r"\.org|python" + r"hosted\.org|npmjs\.(?:org|com)|crates\.io)",
    "a pragma that hides code from the coverage": r"#\s*pra" + r"gma\s*:?\s*no\s*(?:cover|branch)",
    "an unfinished place": r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b",
}
VENDORS = (
    r"(?<![a-z])(?:openai|anthropic|claude|gemini|vertex ?ai|ollama|deepseek|dashscope|qwen|azure|bedrock|mistral|groq"
    r"|cohere(?!n)|moonshot|kimi|minimax|zhipu|openrouter|cerebras|xai|grok|hugging ?face|vllm)"
)


@cache
def _texts(top: Path) -> tuple[Path, ...]:
    """All of ours below; a folder of somebody else's (an environment, what npm installs) is not walked through."""
    found: list[Path] = []
    for folder, folders, names in os.walk(top):
        folders[:] = filter(_ours, folders)
        found += [Path(folder, name) for name in filter(_ours, names) if os.path.splitext(name)[1] in TEXTS]
    return tuple(sorted(path for path in found if path.is_file()))


def _ours(name: str) -> bool:
    return name not in LEFT_BEHIND and (not name.startswith(".") or name in {".ci", ".gitignore"})


def _hits(house: Any, paths: Iterable[Path], pattern: re.Pattern[str]) -> list[str]:
    return [
        f"{house.name_of(path)}:{number}: {line.strip()[:100]}"
        for path in paths
        if pattern.search(text := _text(path))
        for number, line in enumerate(text.splitlines(), 1)
        if pattern.search(line)
    ]


@cache
def _text(path: Path) -> str:
    return path.read_text("utf-8", errors="replace")


@pytest.mark.parametrize("what", ANYWHERE)
def test_no_file_holds(house: Any, what: str) -> None:
    """Neither code, tests, pages nor settings."""
    assert _hits(house, _texts(house.root), re.compile(ANYWHERE[what])) == []


@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("a path of somebody's machine", "see /ho" + "me/someone/notes"),
        ("the host of a package index", "pip install --index-url https://py" + "pi.org/simple"),
        ("a pragma that hides code from the coverage", "x = 1  # prag" + "ma: no cover"),
        ("an unfinished place", "# TO" + "DO later"),
    ],
)
def test_the_rules_would_notice(what: str, text: str) -> None:
    """Each pattern finds what it is named for."""
    assert re.search(ANYWHERE[what], text)


def test_the_core_names_no_vendor(house: Any) -> None:
    """The core package knows wire forms only in `testing`; vendors live in plugins."""
    paths = [path for path in _texts(house.core) if "testing" not in path.relative_to(house.core).parts]

    assert _hits(house, paths, re.compile(VENDORS, re.IGNORECASE)) == []


@pytest.mark.parametrize("text", ["agentforge_openai", "OpenAI's form", "as DeepSeek does", "vertexai"])
def test_the_rule_for_vendors_would_notice(text: str) -> None:
    """A vendor is found whatever its case and wherever its name is part of another."""
    assert re.search(VENDORS, text, re.IGNORECASE)


@pytest.mark.parametrize("text", ["a coherent whole", "Google docstrings", "the vertex of a graph"])
def test_the_rule_for_vendors_knows_plain_words(text: str) -> None:
    """Words that only look like a vendor's name are left alone."""
    assert not re.search(VENDORS, text, re.IGNORECASE)


def test_shipped_code_has_no_gap(house: Any) -> None:
    """No function that only says it will be written one day."""
    assert _hits(house, house.sources(), re.compile(r"\bNotImplementedError\b")) == []
