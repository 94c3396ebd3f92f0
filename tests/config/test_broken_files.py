"""Every way in which a configuration can be wrong, as folders: what a user sees, and the nearest that is right.

A folder of ``broken`` is one case: ``case.yaml`` says what it is about and how the program is called, ``broken`` are
the files with the mistake, ``diagnostics.txt`` is all that a user reads about it (``{folder}`` is where the files are),
``twin`` are the nearest files without it, and ``resolved.txt`` is what those become.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentforge.config import ConfigurationFaults
from agentforge.config import codes as config_codes
from agentforge.container import AgentForge
from agentforge.container import codes as container_codes
from agentforge.plugin import Found, Plugins
from tests.config.resolved import resolved

FOLDER = Path(__file__).with_name("broken")
CASES = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
#: How a case may call the program, beside the file itself.
OPTIONS = {"environment", "profiles", "sets", "trust"}
#: Field cases that no broken file shows: opening and closing (22 to 26), a plugin that is found twice, `explain`.
ELSEWHERE = {"CF-20", "CF-22", "CF-23", "CF-24", "CF-25", "CF-26", "CF-29"}
CODES = {
    code: name for module in (config_codes, container_codes) for name in module.__all__ for code in [vars(module)[name]]
}


def options_of(case: str, *, twin: bool) -> dict[str, Any]:
    """What ``case.yaml`` says; its ``twin`` may say some of it differently."""
    said = yaml.safe_load((FOLDER / case / "case.yaml").read_text("utf-8"))
    changed = said.pop("twin", {})
    return {**said, **changed} if twin else dict(said)


def text_of(case: str, name: str) -> str:
    """An expected text, without the last line break."""
    return (FOLDER / case / name).read_text("utf-8").removesuffix("\n")


def application(case: str, tmp_path: Path, *, twin: bool = False) -> AgentForge:
    """The application of a case's files, copied to where a program may write beside them."""
    folder = tmp_path / "project"
    shutil.copytree(FOLDER / case / ("twin" if twin else "broken"), folder)
    options = options_of(case, twin=twin)
    installed = [
        Found(name, f"tests.config.plugins.{name}", f"agentforge-plugin-{name}", "1.0")
        for name in options.get("plugins", ())
    ]
    called = {key: value for key, value in options.items() if key in OPTIONS}
    environment = {
        name: str(text).replace("{folder}", str(folder)) for name, text in called.pop("environment", {}).items()
    }
    return AgentForge.load(
        folder / "agentforge.yaml", environment=environment, plugins=Plugins(entry_points=installed), **called
    )


def diagnostics(case: str, tmp_path: Path) -> str:
    """What a user reads."""
    with pytest.raises(ConfigurationFaults) as raised:
        application(case, tmp_path).check()
    return placeless(str(raised.value), tmp_path)


def placeless(text: str, tmp_path: Path) -> str:
    """A text without the paths of this machine."""
    return text.replace(str(tmp_path / "project"), "{folder}").replace(str(Path(__file__).parent), "{tests}")


@pytest.fixture(autouse=True)
def forgotten_modules(tmp_path: Path) -> Iterator[None]:
    """Modules that a case's ``scan`` imported are not there for the next."""
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("case", CASES)
def test_a_broken_file_shows_all_that_is_wrong_with_it(case: str, tmp_path: Path) -> None:
    """With place, line, and what to do: the whole text, character by character."""
    assert diagnostics(case, tmp_path) == text_of(case, "diagnostics.txt")


@pytest.mark.parametrize("case", CASES)
def test_its_twin_is_compiled(case: str, tmp_path: Path) -> None:
    """And what becomes of it is what is written beside it."""
    plan = application(case, tmp_path, twin=True).plan

    assert placeless(resolved(plan), tmp_path) == text_of(case, "resolved.txt")


@pytest.mark.parametrize("case", CASES)
def test_a_case_explains_itself(case: str) -> None:
    """It says what it is about, holds what it needs and nothing else, and every block says what to do."""
    said = yaml.safe_load((FOLDER / case / "case.yaml").read_text("utf-8"))

    assert isinstance(said.pop("about"), str)
    assert said.keys() <= {"plugins", "rows", "twin", *OPTIONS}
    assert said.get("twin", {}).keys() <= {"plugins", *OPTIONS}
    assert sorted(path.name for path in (FOLDER / case).iterdir()) == [
        "broken",
        "case.yaml",
        "diagnostics.txt",
        "resolved.txt",
        "twin",
    ]
    blocks = text_of(case, "diagnostics.txt").split("\n\n")
    # What a setting's own validator says holds what to do.
    assert all(block.startswith("[AF") and ("\n  next: " in block or "does not fit: " in block) for block in blocks)
    assert "Input should" not in text_of(case, "diagnostics.txt")


@pytest.mark.parametrize("code", CODES, ids=lambda code: f"{code} {CODES[code]}")
def test_every_code_of_a_configuration_is_shown_by_some_case(code: str) -> None:
    assert any(f"[{code}] " in text_of(case, "diagnostics.txt") for case in CASES)


def test_every_recorded_mistake_in_a_file_has_its_case() -> None:
    """Those of the field cases; what is left is about the life of beans and about installed distributions."""
    shown = {row for case in CASES for row in options_of(case, twin=False).get("rows", ())}
    recorded = yaml.safe_load((Path(__file__).parents[1] / "cases" / "config.yaml").read_text("utf-8"))["cases"]

    assert {row["id"] for row in recorded} - shown == ELSEWHERE
    assert shown <= {row["id"] for row in recorded}


def test_no_case_shows_a_secret(tmp_path: Path) -> None:
    """All secrets of the cases hold the same word."""
    texts = [text_of(case, name) for case in CASES for name in ("diagnostics.txt", "resolved.txt")]

    assert any("k-from" in path.read_text("utf-8", "replace") for path in FOLDER.rglob("*.yaml"))
    assert not any("k-from" in text for text in texts)


def test_a_missing_file_says_which_and_what_to_do(tmp_path: Path) -> None:
    """There is no line to show; the path is the place."""
    with pytest.raises(ConfigurationFaults) as raised:
        AgentForge.load(tmp_path / "none.yaml", environment={}).check()

    assert str(raised.value) == (
        f"[AF101] {tmp_path / 'none.yaml'}: the file '{tmp_path / 'none.yaml'}' does not exist\n"
        "  next: Check the path, name another file with --config, or begin a project with agentforge init."
    )


def test_a_file_beyond_its_bound_is_refused_unread(tmp_path: Path) -> None:
    """One megabyte of text is no configuration."""
    (tmp_path / "agentforge.yaml").write_bytes(b"#" * (1024 * 1024 + 1))

    with pytest.raises(ConfigurationFaults) as raised:
        AgentForge.load(tmp_path / "agentforge.yaml", environment={}).check()

    [fault] = raised.value.diagnostics
    assert (fault.code, fault.mark.line, fault.mark.column) == ("AF104", 1, 1)
