"""`agentforge check`: everything is looked at, nothing is built."""

from __future__ import annotations

import errno
import io
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


LOUD = """
print("imported")
from agentforge import tool

class Loud:
    @tool
    def shout(self) -> str:
        "Shouts."
        print("called")
        return "hey"
"""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("check", "--json"), "imported"),
        (("explain", "--format", "json"), "imported"),
        (("tools", "list", "--json"), "imported"),
        (("tools", "call", "shout", "--json"), "called"),
    ],
)
def test_what_a_project_s_modules_print_is_no_result(project: Any, words: tuple[str, ...], said: str) -> None:
    """It goes to standard error, so that standard output is what was asked for and nothing else."""
    project.write(f"{project.module}.py", LOUD)
    project.write(
        "agentforge.yaml",
        "scan: [MODULE]\nbeans:\n  loud: {type: python_tools, component: Loud}\n"
        "  model: {type: scripted, turns: [a]}\n  desk: {type: chat_client, model: model, tools: [loud]}\n",
    )
    ended = project.run(*words)

    assert ended.code == 0
    assert json.loads(ended.out)
    assert said in ended.err


SIDE_EFFECTS = """
from __future__ import annotations
from agentforge import tool

class Store:
    def __init__(self, size: int = 1) -> None:
        raise AssertionError("a component was made")

    @property
    def content(self):
        raise AssertionError("a property was read")

class Tools:
    def __init__(self, store: Store) -> None:
        raise AssertionError("a component was made")

    @tool
    def look(self) -> str:
        "Looks."
        raise AssertionError("a tool was called")

    @property
    def handle(self):
        raise AssertionError("a property was read")

def store() -> Store:
    raise AssertionError("a factory was called")

@tool
def alone() -> str:
    "Alone."
    raise AssertionError("a tool was called")
"""

WATCHED = """
scan: [MODULE]
beans:
  first: {type: component, component: Store, arguments: {size: 3}, bean: {primary: true}}
  second: {type: factory, function: store}
  tools: {type: python_tools, component: Tools}
  alone: {type: python_tools, component: alone}
  model: {type: openai.chat, vendor: openai, model: m, api_key: k-test-789, base_url: "http://127.0.0.1:9/v1"}
  history: {type: sqlite_store, path: history.db}
  memory: {type: chat_memory, store: history}
  desk: {type: chat_client, model: model, tools: [tools, alone], advisors: [{type: message_memory, memory: memory}]}
"""

WATCHING = """
import sys
from agentforge.cli.main import run

seen = []

def watch(event, arguments):
    if event.startswith(("socket.", "subprocess.", "os.system", "os.exec", "os.posix_spawn", "os.fork", "sqlite3.")):
        seen.append((event, arguments))
    if event == "open" and isinstance(arguments[1], str) and set(arguments[1]) & set("wax+"):
        seen.append((event, arguments))

sys.dont_write_bytecode = True
sys.addaudithook(watch)
codes = [run(["check"]), run(["explain"]), run(["doctor"])]
print(codes, seen)
"""


def test_checking_builds_nothing_and_calls_nothing(project: Any) -> None:
    """No class, factory, tool or property of the project; no socket, no process, no database, no file written. The same
    holds for `explain`, and for `doctor` without ``--online``."""
    import subprocess
    import sys

    project.write(f"{project.module}.py", SIDE_EFFECTS)
    project.write("agentforge.yaml", WATCHED)
    ended = subprocess.run([sys.executable, "-c", WATCHING], cwd=project.folder, capture_output=True, text=True)

    assert ended.returncode == 0, ended.stderr
    assert "AssertionError" not in ended.stdout + ended.stderr
    assert ended.stdout.splitlines()[-1] == "[0, 0, 0] []"
    assert not (project.folder / "history.db").exists()


MANY = 1_500
#: Files in which nothing is right, each so that another kind of name is looked for.
ALL_WRONG = {
    "beans that are not there": ("  bean_{0}: {{type: chat_client, model: model_{0}}}", "AF212"),
    "beans of another kind": ("  bean_{0}: {{type: chat_client, model: bean_0}}", "AF213"),
    "bases that are not there": ("  bean_{0}: {{bean: {{extends: base_{0}}}}}", "AF120"),
}


@pytest.mark.no_cover  # thousands of faults pass the lines of a few
@pytest.mark.parametrize(("line", "code"), ALL_WRONG.values(), ids=ALL_WRONG.keys())
def test_a_file_in_which_nothing_is_right_is_told_in_full(project: Any, line: str, code: str) -> None:
    """The nearest of all names for each of all faults would take minutes: nobody would wait for this test."""
    project.write("agentforge.yaml", "beans:\n" + "\n".join(line.format(number) for number in range(MANY)))
    ended = project.run("check", "--json")

    faults = json.loads(ended.out)["faults"]
    assert ended.code == 1
    assert sum(fault["code"] == code for fault in faults) >= MANY - 1


def test_what_is_no_number_of_json_is_a_text(project: Any) -> None:
    """Readers of JSON stop at NaN and Infinity."""
    project.write(f"{project.module}.py", "class Held:\n    def __init__(self, x, y): ...\n")
    project.write(
        "agentforge.yaml",
        "scan: [MODULE]\nbeans:\n  a: {type: component, component: Held, arguments: {x: .nan, y: [-.inf]}}\n",
    )

    def refuse(word: str) -> None:
        raise AssertionError(word)

    found = json.loads(project.run("explain", "beans.a.arguments", "--json").out, parse_constant=refuse)
    assert found["value"] == {"x": "nan", "y": ["-inf"]}


class _Full(io.StringIO):
    """A disk without room."""

    def write(self, text: str) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize("words", [("check",), ("explain", "--json"), ("schema",), ("--version",)])
def test_a_full_disk_is_said_in_words(project: Any, words: tuple[str, ...]) -> None:
    ended = project.run(*words, stdout=_Full())

    assert ended.code == 1
    assert "standard output cannot be written: No space left on device" in ended.err
    assert "Traceback" not in ended.err and "AF000" not in ended.err
