"""No recording is left out: each file is read by the tests of the one plugin that speaks its form, or is named here."""

from __future__ import annotations

import importlib
import json
from collections import Counter
from operator import attrgetter
from pathlib import Path

import pytest

#: By wire form: the module whose tests read every answer of it, and its function that goes through the files.
READERS = {
    "chat_completions": ("plugins.openai.tests.test_cassettes", "answers"),
    "responses": ("plugins.openai.tests.responses.test_recorded_answers", "answers"),
    "messages": ("plugins.anthropic.tests.test_cassettes", "answers"),
    "gemini": ("plugins.gemini.tests.test_cassettes", "RECORDINGS.interactions"),
    "ollama": ("plugins.ollama.tests.test_cassettes", "RECORDINGS.interactions"),
    "dashscope": ("plugins.dashscope.tests.test_cassettes", "answers"),
}

#: Forms that nothing here speaks, with the number of their files and why.
NOT_SPOKEN = {
    "cohere_v2": (2, "Cohere is asked in the Chat Completions form, which it offers as well; its own has no adapter"),
}


def recordings(shared: Path) -> dict[Path, str]:
    """Every recording with its form."""
    return {file: json.loads(file.read_text())["api"] for file in sorted((shared / "cassettes").glob("*/*.json"))}


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The files whose text is read."""
    found: list[Path] = []
    read_text = Path.read_text

    def noting(self: Path, *arguments: object, **options: object) -> str:
        found.append(self)
        return read_text(self, *arguments, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Path, "read_text", noting)
    return found


@pytest.mark.parametrize("form", READERS)
def test_a_plugin_reads_every_file_of_its_form_and_no_other(form: str, shared: Path, opened: list[Path]) -> None:
    """What its tests go through, against what lies there."""
    module, name = READERS[form]
    files = sorted(file for file, api in recordings(shared).items() if api == form)
    assert files, form
    opened.clear()

    for _ in attrgetter(name)(importlib.import_module(module))(shared):
        pass

    assert sorted(set(opened)) == files


def test_every_form_has_a_reader_or_a_reason(shared: Path) -> None:
    forms = Counter(recordings(shared).values())
    assert set(forms) == READERS.keys() | NOT_SPOKEN.keys()
    assert {form: forms[form] for form in NOT_SPOKEN} == {form: number for form, (number, _) in NOT_SPOKEN.items()}
    assert sum(forms.values()) == 120
