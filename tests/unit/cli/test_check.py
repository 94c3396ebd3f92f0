"""`agentforge check`: everything is looked at, nothing is built."""

from __future__ import annotations

import json
from typing import Any

import pytest


def test_a_good_file_lists_its_beans_in_the_order_they_are_built(project: Any) -> None:
    """With the number of beans."""
    ended = project.run("check")

    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines() == [
        f"{project.file}: 3 beans, no faults",
        "id         type",
        "model      scripted",
        "weather    python_tools",
        "assistant  chat_client",
    ]


def test_all_faults_are_shown_at_once(project: Any) -> None:
    """On standard error, each with its place, and counted; standard output stays empty."""
    project.write("agentforge.yaml", "agentforge: 1\nbeans:\n  a: {type: scripte}\n  b: {type: scripted, turn: []}\n")
    ended = project.run("check")

    assert (ended.code, ended.out) == (1, "")
    assert "agentforge.yaml:3:13" in ended.err and "agentforge.yaml:4:23" in ended.err
    assert ended.err.splitlines()[-2].endswith("agentforge.yaml: 2 faults")


@pytest.mark.parametrize(
    ("beans", "said"),
    [
        ("a: {type: scripte}\n  b: {type: scripte}", "help: agentforge explain AF211 (docs/reference/errors.md#af211)"),
        (
            "a: {type: scripte}\n  b: {type: scripted, turn: []}",
            "help: agentforge explain CODE, for AF107, AF211 (docs/reference/errors.md)",
        ),
    ],
)
def test_where_codes_are_explained_is_said_once(project: Any, beans: str, said: str) -> None:
    """However many faults there are."""
    project.write("agentforge.yaml", f"agentforge: 1\nbeans:\n  {beans}\n")
    lines = project.run("check").err.splitlines()

    assert [line for line in lines if line.startswith("help:")] == [said]


def test_the_result_as_data(project: Any) -> None:
    """One JSON object, good or bad."""
    good = json.loads(project.run("check", "--json").out)
    project.write("agentforge.yaml", "agentforge: 1\nbeans:\n  a: {type: scripte}\n")
    ended = project.run("check", "--json")
    bad = json.loads(ended.out)

    assert [bean["id"] for bean in good["beans"]] == ["model", "weather", "assistant"]
    assert (good["ok"], good["faults"]) == (True, [])
    assert (ended.code, ended.err, bad["ok"], bad["beans"]) == (1, "", False, [])
    assert bad["faults"][0]["line"] == 3 and bad["faults"][0]["file"] == project.file
    assert set(bad["faults"][0]) == {"code", "message", "file", "line", "column", "path", "next_step", "help"}
    assert bad["faults"][0]["help"] == "docs/reference/errors.md#af211"


def test_a_warning_is_no_fault(project: Any) -> None:
    """A variable that names nothing is said and changes nothing."""
    ended = project.run("check", environment={"AGENTFORGE_BEENS__MODEL": "x"})

    assert ended.code == 0
    assert "warning: AGENTFORGE_BEENS__MODEL has no effect" in ended.err


def test_set_and_profile_reach_the_configuration(project: Any) -> None:
    """As the layers over the file."""
    project.write("agentforge-night.yaml", "beans: {model: {nome: x}}\n")
    ended = project.run("check", "--profile", "night", "--set", "beans.weather.onli=x")

    assert ended.code == 1
    assert "'nome'" in ended.err and "'onli'" in ended.err


@pytest.mark.parametrize(
    ("words", "read"), [([], {"night"}), (["--profile", "day"], {"day"})], ids=["variable", "option"]
)
def test_profiles_of_the_environment_are_for_a_command_that_names_none(
    project: Any, words: list[str], read: set[str]
) -> None:
    """AGENTFORGE_PROFILES is the default of `--profile`."""
    for name in ("day", "night"):
        project.write(f"agentforge-{name}.yaml", f"beans: {{model: {{{name}: x}}}}\n")
    ended = project.run("check", *words, environment={"AGENTFORGE_PROFILES": "night"})

    assert {name for name in ("day", "night") if f"'{name}'" in ended.err} == read


def test_nothing_is_built(project: Any) -> None:
    """A script file that is not there is found when the bean is made, not before."""
    project.write("agentforge.yaml", "agentforge: 1\nbeans:\n  model: {type: scripted, file: nowhere.yaml}\n")

    assert project.run("check").code == 0
