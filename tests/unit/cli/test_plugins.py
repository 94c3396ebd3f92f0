"""`agentforge plugins`, and the commands that plugins bring."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

GOOD = """
from agentforge.plugin import Command, hookimpl

def _show(words):
    print("shown", *words)
    return 3 if "three" in words else 0

def _fail(words):
    raise ValueError("no such thing")

def _leave(words):
    raise SystemExit(int(words[0]) if words and words[0].isdigit() else " ".join(words) or None)

def _arguments(parser):
    parser.add_argument("name")
    parser.add_argument("--loud", action="store_true")

def _look(options, console):
    shown = {"name": options.name, "loud": options.loud, "config": options.config}
    if console.json:
        console.data(shown)
    else:
        console.out(" ".join(f"{key}={value}" for key, value in shown.items()))
    return 1 if options.name == "wrong" else 0

@hookimpl
def agentforge_commands(register):
    register(Command("look", "Looks at one.", _look, "NAME", _arguments))
    register(Command("show", "Shows its words.", _show))
    register(Command("fail", "Fails.", _fail))
    register(Command("leave", "Leaves.", _leave))
"""


@pytest.fixture
def plugins(project: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Three installed distributions: a good plugin, a broken one, and one without commands."""
    modules = {"desk_good": GOOD, "desk_broken": "raise RuntimeError('out of order')", "desk_quiet": "QUIET = True"}
    for module, text in modules.items():
        project.write(f"{module}.py", text)
        project.install(module.removeprefix("desk_"), module)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    for module in modules:
        sys.modules.pop(module, None)


@pytest.mark.usefixtures("plugins")
def test_the_list_imports_no_plugin(project: Any) -> None:
    """With `--no-load` name, distribution, version and state come from metadata."""
    ended = project.run("plugins", "--no-load")
    rows = {line.split()[0]: line.split()[1:] for line in ended.out.splitlines()}

    assert ended.code == 0
    assert rows["good"] == ["agentforge-plugin-good", "1.2", "found", "-"]
    assert rows["broken"] == ["agentforge-plugin-broken", "1.2", "found", "-"]
    assert not {"desk_good", "desk_broken"} & set(sys.modules)


@pytest.mark.usefixtures("plugins")
def test_loading_all_shows_what_they_bring_and_what_is_wrong(project: Any) -> None:
    """And ends with 1 when one cannot be used."""
    ended = project.run("plugins")

    assert ended.code == 1
    assert "good implements agentforge_commands" in ended.out
    assert "broken has failed: RuntimeError: out of order" in ended.out


@pytest.mark.usefixtures("plugins")
def test_the_list_as_data(project: Any) -> None:
    """One object a plugin."""
    states = {state["name"]: state for state in json.loads(project.run("plugins", "--json").out)}

    assert states["good"]["state"] == "active" and states["good"]["hooks"] == ["agentforge_commands"]
    assert states["broken"]["state"] == "failed" and states["broken"]["reason"].startswith(
        "RuntimeError: out of order ("
    )


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    "environment", [{"AGENTFORGE_DISABLE_PLUGINS": "other, broken"}, {"AGENTFORGE_LOAD_PLUGINS": "good"}]
)
def test_a_plugin_that_is_switched_off_is_not_loaded(project: Any, environment: dict[str, str]) -> None:
    """And says so."""
    states = {
        state["name"]: state["state"]
        for state in json.loads(project.run("plugins", "--json", environment=environment).out)
    }

    assert (states["good"], states["broken"]) == ("active", "blocked")


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("words", "code", "shown"),
    [
        (["good", "show", "a", "--json", "-x"], 0, "shown a --json -x\n"),
        (["--config", "f.yaml", "good", "--set", "a=1", "show", "b"], 0, "shown --config f.yaml --set a=1 b\n"),
        (["good", "show", "three"], 3, "shown three\n"),
        (["good", "leave"], 0, ""),
        (["good", "leave", "4"], 4, ""),
        (["good", "leave", "in a hurry"], 1, ""),
    ],
)
def test_a_plugins_command_gets_its_words(
    project: Any, capsys: pytest.CaptureFixture[str], words: list[str], code: int, shown: str
) -> None:
    """Untouched, with the options before it in front; its exit code is the program's. Other plugins stay unloaded."""
    assert project.run(*words).code == code
    assert capsys.readouterr().out == shown
    assert "desk_broken" not in sys.modules


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (["good"], 2, "One of look, show, fail, leave."),
        (["good", "shwo"], 2, "Did you mean 'show'?"),
        (["quiet", "show"], 2, "the plugin brings no commands"),
        (["broken", "show"], 1, "RuntimeError: out of order"),
        (["good", "fail"], 1, "[AF000] ValueError: no such thing\n  next: Run it again with --debug"),
        (["godo", "show"], 2, "Did you mean 'good'?"),
    ],
)
def test_a_plugins_command_that_cannot_run(project: Any, words: list[str], code: int, said: str) -> None:
    """Is one readable block."""
    ended = project.run(*words)

    assert ended.code == code
    assert said in ended.err and "Traceback" not in ended.err


@pytest.mark.usefixtures("plugins")
def test_a_plugin_explains_its_commands(project: Any) -> None:
    """`agentforge PLUGIN --help`; `agentforge --help` names the plugin without importing it."""
    page = project.run("--help").out
    assert "good ..." in page and "desk_good" not in sys.modules

    ended = project.run("good", "--help")
    assert ended.code == 0 and "show" in ended.out and "Shows its words." in ended.out


@pytest.mark.usefixtures("plugins")
@pytest.mark.parametrize(
    ("words", "code", "out", "err"),
    [
        (["good", "look", "it"], 0, "name=it loud=False config=None\n", ""),
        (["--config", "f.yaml", "good", "look", "--loud", "it"], 0, "name=it loud=True config=f.yaml\n", ""),
        (["good", "--config", "f.yaml", "look", "it", "--json"], 0, '"config": "f.yaml"', ""),
        (["good", "look", "wrong"], 1, "name=wrong", ""),
        (["good", "look"], 2, "", "agentforge good look: the following arguments are required: name"),
        (["good", "look", "it", "--lout"], 2, "", "Did you mean '--loud'?"),
        (["good", "look", "--help"], 0, "usage: agentforge good look", ""),
    ],
)
def test_a_plugins_command_with_arguments_is_read_like_the_programs_own(
    project: Any, words: list[str], code: int, out: str, err: str
) -> None:
    """The options of every command with it, wherever they stand; it writes on the program's console."""
    ended = project.run(*words)

    assert ended.code == code
    assert out in ended.out and err in ended.err


@pytest.mark.usefixtures("plugins")
def test_a_switched_off_plugin_runs_no_command(project: Any) -> None:
    """Though it is installed."""
    ended = project.run("good", "show", environment={"AGENTFORGE_DISABLE_PLUGINS": "good"})

    assert ended.code == 1 and "blocked" in ended.err and "desk_good" not in sys.modules


def test_no_plugins(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is no fault, and no list either."""
    monkeypatch.setattr(importlib.metadata, "entry_points", lambda **_: ())

    assert (project.run("plugins").code, project.run("plugins").out) == (0, "")
    assert json.loads(project.run("plugins", "--json").out) == []


@pytest.mark.usefixtures("plugins")
def test_a_named_file_switches_plugins_as_well(project: Any) -> None:
    """The one that is named, or the one that lies there; without loading the environment alone counts."""
    project.write("agentforge.yaml", "agentforge: 1\nplugins: {disabled: [broken]}\nbeans: {}\n")
    words = ("plugins", "--json")
    states = {
        case: {each["name"]: each["state"] for each in json.loads(project.run(*words, *more).out)}
        for case, more in (("named", ("--config", project.file)), ("there", ()), ("unloaded", ("--no-load",)))
    }

    assert {case: found["broken"] for case, found in states.items()} == {
        "named": "blocked",
        "there": "blocked",
        "unloaded": "found",
    }
    assert states["named"]["good"] == "active"


@pytest.mark.usefixtures("plugins")
def test_faults_of_the_file_are_another_matter(project: Any) -> None:
    """They are said, and the plugins listed all the same."""
    project.write("agentforge.yaml", "agentforge: 1\nplugins: {disabled: [broken]}\nbens: {}\n")
    ended = project.run("plugins", "--config", project.file)

    assert "warning: the configuration has faults" in ended.err and "broken is blocked" in ended.out
