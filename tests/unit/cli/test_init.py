"""`agentforge init`: what it writes, what it never touches, and which names it takes."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from agentforge.cli.commands import COMMANDS
from agentforge.cli.main import run
from agentforge.cli.scaffold import rendered, write_new
from agentforge.errors import ConfigurationError

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def run_cli() -> Run:
    """Runs the program; gives its exit code, its output, and what stands beside it."""

    def made(*words: str) -> tuple[int, str, str]:
        out, err = io.StringIO(), io.StringIO()
        code = run(words, stdin=io.StringIO(), stdout=out, stderr=err, environment={})
        return code, out.getvalue(), err.getvalue()

    return made


def written(folder: Path) -> dict[str, str]:
    """The files below a folder."""
    found = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in sorted(found)}


def test_a_project_is_written_into_the_working_folder(
    run_cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each file is named on standard output; beside it stands what to do next."""
    monkeypatch.chdir(tmp_path)
    code, out, err = run_cli("init")

    assert (code, out.split()) == (0, list(written(tmp_path)))
    assert err.split("next:\n")[1].split("\n")[:3] == [
        "  agentforge check",
        '  agentforge chat "What is tea?"',
        "  python -m pytest",
    ]


def test_a_folder_is_made_and_gone_to(run_cli: Run, tmp_path: Path) -> None:
    """With quotes where a shell needs them."""
    code, _, err = run_cli("init", str(tmp_path / "my desk" / "first"))

    assert code == 0 and "agentforge.yaml" in written(tmp_path / "my desk" / "first")
    assert f"  cd '{tmp_path}/my desk/first'\n" in err


def test_a_plugin_goes_into_a_folder_of_its_distributions_name(
    run_cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name is everywhere where it belongs, and no mark of a template is left."""
    monkeypatch.chdir(tmp_path)
    code, out, _ = run_cli("init", "--plugin", "my_notes", "--json")
    said = json.loads(out)
    found = written(tmp_path / "agentforge-plugin-my-notes")

    assert (code, said["folder"], said["files"]) == (0, "agentforge-plugin-my-notes", list(found))
    assert said["next"][0] == "cd agentforge-plugin-my-notes"
    assert {"pyproject.toml", "README.md", "src/agentforge_my_notes/plugin.py", "tests/test_contracts.py"} <= set(found)
    assert 'name = "agentforge-plugin-my-notes"' in found["pyproject.toml"]
    assert 'my_notes = "agentforge_my_notes.plugin"' in found["pyproject.toml"]
    assert "my_notes.echo" in found["src/agentforge_my_notes/plugin.py"]
    assert [name for name, text in found.items() if re.search("__[A-Z]+__", text)] == []


@pytest.mark.parametrize(("name", "warned"), [("openai", True), ("my_notes", False)])
def test_a_name_that_an_installed_plugin_has_is_a_warning(
    run_cli: Run, tmp_path: Path, name: str, warned: bool
) -> None:
    """Both would be set aside; the files are written all the same, for an installation of its own."""
    code, _, err = run_cli("init", "--plugin", name, str(tmp_path / "new"))

    said = "warning: agentforge-plugin-openai brings a plugin 'openai' already; of two distributions with one name"
    assert (code, said in err) == (0, warned)
    assert "pyproject.toml" in written(tmp_path / "new")


@pytest.mark.parametrize("there", ["agentforge.yaml", "tests/test_assistant.py", ".gitignore"])
def test_a_file_that_is_there_stays_and_nothing_is_written(run_cli: Run, tmp_path: Path, there: str) -> None:
    """It is named; a folder may hold other files."""
    (tmp_path / "tests").mkdir()
    (tmp_path / there).write_text("mine", "utf-8")
    (tmp_path / "notes.txt").write_text("mine too", "utf-8")
    code, out, err = run_cli("init", str(tmp_path))

    assert (code, out) == (1, "")
    assert f"'{tmp_path}' has {there} already; nothing was written" in err
    assert written(tmp_path) == {there: "mine", "notes.txt": "mine too"}


def test_a_dangling_link_is_a_file_that_is_there(run_cli: Run, tmp_path: Path) -> None:
    """Nothing is written through it."""
    (tmp_path / "agentforge.yaml").symlink_to(tmp_path / "elsewhere" / "agentforge.yaml")
    code, _, err = run_cli("init", str(tmp_path))

    assert code == 1 and "has agentforge.yaml already" in err


def test_beside_other_files_a_project_is_written(run_cli: Run, tmp_path: Path) -> None:
    """A folder that is not empty is none to refuse."""
    (tmp_path / "LICENSE").write_text("mine", "utf-8")

    assert run_cli("init", str(tmp_path))[0] == 0
    assert written(tmp_path)["LICENSE"] == "mine"


def test_a_folder_that_cannot_be_made_leaves_nothing_behind(run_cli: Run, tmp_path: Path) -> None:
    """A file where a folder has to be."""
    (tmp_path / "tests").write_text("no folder", "utf-8")
    code, _, err = run_cli("init", str(tmp_path))

    assert code == 1 and "cannot be written" in err and "nothing was kept" in err
    assert written(tmp_path) == {"tests": "no folder"}


def test_folders_that_were_made_go_with_what_was_written(tmp_path: Path) -> None:
    """After a failure the folder is as it was, and was not there if it was not."""
    texts = {"a/b/one.txt": "1", "a/two.txt": "2", "a/two.txt/three.txt": "3"}
    with pytest.raises(ConfigurationError, match="nothing was kept"):
        write_new(tmp_path / "new" / "folder", texts)

    assert list(tmp_path.iterdir()) == []


NAMES = [
    ("My-Notes", "no name of a plugin", "--plugin my_notes"),
    ("agentforge-plugin-notes", "no name of a plugin", "--plugin notes"),
    ("1notes", "no name of a plugin", "--plugin notes"),
    ("notes.more", "no name of a plugin", "--plugin notes_more"),
    ("../x", "no name of a plugin", "--plugin x"),
    ("", "no name of a plugin", "--plugin notes"),
    ("ä", "no name of a plugin", "--plugin notes"),
    ("chat", "is a command of the program", "--plugin my_chat"),
    ("tools", "is a command of the program", "--plugin my_tools"),
    ("init", "is a command of the program", "--plugin my_init"),
]


@pytest.mark.parametrize(("name", "words", "step"), NAMES)
def test_a_name_that_no_plugin_can_have_is_refused(
    run_cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, words: str, step: str
) -> None:
    """As wrong usage, with one that it could have."""
    monkeypatch.chdir(tmp_path)
    code, _, err = run_cli("init", "--plugin", name)

    assert code == 2 and words in err and step in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["x", "notes", "my_notes_2", "class", "agentforge"])
def test_other_names_are_taken(run_cli: Run, tmp_path: Path, name: str) -> None:
    """The distribution's folder can be another."""
    assert run_cli("init", "--plugin", name, str(tmp_path / "here"))[0] == 0
    assert f"src/agentforge_{name}/plugin.py" in written(tmp_path / "here")


def test_every_file_of_a_template_is_text_that_ends_its_last_line() -> None:
    """Or empty, as the mark of a typed package is."""
    for template in ("project", "plugin"):
        for path, text in rendered(template, {}).items():
            assert text == "" or (text.endswith("\n") and not text.endswith("\n\n")), path
            assert all(len(line) <= 120 for line in text.splitlines()), path


def test_the_command_is_known() -> None:
    """By `--help` and by the page of the commands."""
    assert COMMANDS["init"].form == "[DIR] [--plugin NAME]"


def test_the_overview_keeps_names_and_summaries_apart(run_cli: Run) -> None:
    """However long a command's arguments are."""
    [line] = [line for line in run_cli("--help")[1].splitlines() if line.startswith("  init ")]

    assert re.search(r"\[--plugin NAME\] {2,}begin", line)
