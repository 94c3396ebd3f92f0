"""The words of the command line, and the ways in which the program ends."""

from __future__ import annotations

import importlib.metadata
import io
import json
import logging
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import agentforge
from agentforge.cli.ending import ended_in_order
from agentforge.cli.main import run
from tests.support.programs import REAL_MODULE, python_m_agentforge

HEAVY = ("pydantic", "httpx", "aiohttp", "dependency_injector", "jsonschema_rs", "yaml", "docstring_parser", "pluggy")
COMMANDS = ("chat", "check", "plugins", "tools list", "tools show", "tools call")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "say which command"),
        (("chta", "hello"), "Did you mean 'chat'?"),
        (("tool",), "Did you mean 'tools'?"),
        (("tools",), "list | show | call"),
        (("tools", "shwo", "x"), "Did you mean 'show'?"),
        (("tools", "show"), "NAME"),
        (("check", "--profil", "x"), "Did you mean '--profile'?"),
        (("--colour", "check"), "there is no option '--colour'"),
        (("check", "--con", "x"), "there is no option '--con'"),
        (("check", "surplus"), "there are words too many: surplus"),
        (("chat", "What", "is", "it?"), "Put the whole question into quotes."),
        (("check", "--config"), "--config"),
    ],
)
def test_wrong_usage_ends_with_2_and_says_what_to_do(project: Any, words: tuple[str, ...], said: str) -> None:
    """On standard error, with the near miss of a word that does not exist; standard output stays empty."""
    ended = project.run(*words)

    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err and "Traceback" not in ended.err


def test_wrong_usage_is_data_when_data_was_asked_for(project: Any) -> None:
    """One JSON object on standard error."""
    ended = project.run("--json", "chta")

    assert json.loads(ended.err)["error"] == {
        "code": "usage",
        "message": "agentforge: there is no command 'chta'",
        "location": None,
        "next_step": "Did you mean 'chat'?",
    }


@pytest.mark.parametrize(
    "words",
    [
        (
            "--config",
            "FILE",
            "--set",
            "beans.model.name=one",
            "check",
            "--set",
            "beans.assistant.model=model",
            "--json",
        ),
        ("check", "--json", "--config=FILE", "--set=beans.model.name=one", "--set", "beans.assistant.model=model"),
        ("--json", "--", "check", "--config", "FILE"),
    ],
)
def test_common_options_stand_before_or_after_the_command(project: Any, words: tuple[str, ...]) -> None:
    """And add up where they may be repeated."""
    given = [word.replace("FILE", project.file) for word in words]
    ended = project.run(*given, environment={"AGENTFORGE_CONFIG": "elsewhere.yaml"})

    assert json.loads(ended.out)["ok"] is True


def test_repeated_options_before_and_after_all_count(project: Any) -> None:
    """A value set before the command is not forgotten over one set after it."""
    ended = project.run("--set", "beans.model.first=1", "check", "--set", "beans.model.second=2")

    assert ended.code == 1
    assert "first" in ended.err and "second" in ended.err


@pytest.mark.parametrize("command", [*COMMANDS, "tools"])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_explains_itself(project: Any, command: str, flag: str) -> None:
    """On standard output, with the common options, and with 0."""
    ended = project.run(*command.split(), flag)

    assert (ended.code, ended.err) == (0, "")
    assert f"agentforge {command}" in ended.out and "--config FILE" in ended.out


def test_help_lists_the_commands_and_the_plugins(project: Any) -> None:
    """The plugins by their names, from metadata."""
    page = project.run("--help").out

    assert all(f"  {command}" in page for command in COMMANDS)
    assert "agentforge PLUGIN COMMAND" in page


def test_the_version(project: Any) -> None:
    """Is the distribution's."""
    assert project.run("--version").out == f"agentforge {agentforge.__version__}\n"


LIGHT = ("--help", "--version", "chat --help", "plugins --no-load", "plugins --no-load --json")
# Each in a child of a process that has imported nothing but the program.
LISTING = """
import os, sys
from agentforge.cli.main import run
for words in sys.argv[1:]:
    if not os.fork():
        code = run(words.split())
        print(code, *sorted(sys.modules), file=sys.stderr, flush=True)
        sys.exit(not sys.stdout.flush())
    os.wait()
"""


def test_help_version_and_the_list_of_plugins_load_nothing_heavy() -> None:
    """Neither a library nor a plugin: names are looked at in a fresh process."""
    command = [sys.executable, "-I", "-c", LISTING, *LIGHT]
    ended = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    lines = ended.stderr.splitlines()

    assert len(lines) == len(LIGHT) and ended.stdout
    for words, (code, *names) in zip(LIGHT, map(str.split, lines), strict=True):
        loaded = {name.partition(".")[0] for name in names}
        assert (words, code, sorted(loaded & {*HEAVY, "agentforge_openai", "agentforge_local"})) == (words, "0", [])


def test_python_m_is_the_same_program() -> None:
    """`python -m agentforge`."""
    ended = subprocess.run(
        [sys.executable, "-m", "agentforge", "--version"], capture_output=True, text=True, check=True, timeout=60
    )

    assert ended.stdout == f"agentforge {agentforge.__version__}\n"


def test_a_closed_pipe_ends_quietly(project: Any) -> None:
    """`agentforge ... | head -1`: no word on standard error."""
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe:
        ended = subprocess.run(
            [sys.executable, "-m", "agentforge", "check", "--config", project.file],
            env={name: value for name, value in os.environ.items() if not name.startswith("AGENTFORGE_")},
            stdout=pipe,
            stderr=subprocess.PIPE,
            text=True,
            timeout=60,
        )

    assert (ended.returncode, ended.stderr) == (0, "")


ENDED = '''
import asyncio
import os
from pathlib import Path

from agentforge import tool


class Slow:
    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    @tool
    async def wait(self) -> str:
        """Wait for ever."""
        (self.folder / "begun").write_text(str(os.getpid()))
        await asyncio.Event().wait()
        return "never"

    async def aclose(self) -> None:
        (self.folder / "closed").touch()
'''


@pytest.mark.parametrize(
    ("name", "program"), [("SIGTERM", lambda: REAL_MODULE), ("SIGHUP", python_m_agentforge)], ids=["SIGTERM", "SIGHUP"]
)
def test_a_program_that_is_ended_closes_its_beans(
    tmp_path: Path, name: str, program: Callable[[], tuple[str, ...]]
) -> None:
    """By a supervisor, or with its terminal; the exit code says by which signal."""
    number = getattr(signal, name)
    (tmp_path / "slow_tools.py").write_text(ENDED, "utf-8")
    configuration = {
        "scan": ["slow_tools"],
        "beans": {
            "slow": {"type": "python_tools", "component": "Slow", "arguments": {"folder": str(tmp_path)}},
            "model": {"type": "scripted", "turns": [{"calls": [{"name": "wait"}]}]},
            "bot": {"type": "chat_client", "model": "model", "tools": ["slow"], "tool_timeout": None},
        },
    }
    (tmp_path / "agentforge.yaml").write_text(json.dumps(configuration), "utf-8")
    command, begun = [*program(), "chat", "go", "--config", str(tmp_path / "agentforge.yaml")], tmp_path / "begun"
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
        while not (begun.exists() and begun.read_text("utf-8")):
            assert process.poll() is None
            time.sleep(0.02)
        os.kill(int(begun.read_text("utf-8")), number)
        _, said = process.communicate(timeout=60)

    assert process.returncode == 128 + number
    assert (tmp_path / "closed").exists()
    assert "Traceback" not in said


@pytest.mark.parametrize("handler", [signal.SIG_DFL, signal.SIG_IGN, lambda *_: None], ids=["none", "ignored", "own"])
def test_a_signal_is_taken_only_where_nobody_has_it_and_given_back(handler: Any) -> None:
    """Under `nohup` a closed terminal ends nothing; a program that runs a command keeps its own handlers."""
    before = signal.signal(signal.SIGHUP, handler)
    try:
        with ended_in_order():
            during = signal.getsignal(signal.SIGHUP)
        after = signal.getsignal(signal.SIGHUP)
    finally:
        signal.signal(signal.SIGHUP, before)

    assert (during is handler) is (handler is not signal.SIG_DFL)
    assert after is handler


def test_the_file_of_the_folder_is_the_default(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where neither an option nor a variable names one: `agentforge.yaml`."""
    monkeypatch.chdir(project.folder)

    assert project.run("check", environment={"AGENTFORGE_CONFIG": ""}).out.startswith("agentforge.yaml: 3 beans")


def test_a_missing_file_is_one_readable_block(project: Any) -> None:
    """With its code and what to do, and without a traceback."""
    ended = project.run("chat", "hello", "--config", "nowhere.yaml")

    assert ended.code == 1
    assert ended.err.startswith("[AF101]") and "nowhere.yaml" in ended.err and "Traceback" not in ended.err


def test_debug_shows_the_traceback(project: Any) -> None:
    """After the block."""
    ended = project.run("chat", "hello", "--config", "nowhere.yaml", "--debug")

    assert ended.err.startswith("[AF101]") and "Traceback (most recent call last)" in ended.err


def test_output_that_cannot_show_a_character_does_not_end_the_program(project: Any) -> None:
    """Under an ASCII locale Chinese is written out; JSON stays JSON."""
    environment = {"PYTHONIOENCODING": "ascii", "PATH": os.environ["PATH"]}
    command = [sys.executable, "-m", "agentforge", "chat", "hello", "--config", project.file]
    text = subprocess.run(command, capture_output=True, env=environment, check=True, timeout=60)
    data = subprocess.run([*command, "--json"], capture_output=True, env=environment, check=True, timeout=60)

    assert b"\\u676d\\u5dde" in text.stdout
    assert json.loads(data.stdout)["text"] == "杭州今天 22 度。"


def test_every_error_of_a_group_is_a_block(project: Any) -> None:
    """Two beans that cannot be closed are two faults, each with the bean's name and place."""
    project.write(
        f"{project.module}.py",
        "from agentforge import tool\n"
        "class Tools:\n    @tool('Acts.')\n    def act(self) -> str:\n        return ''\n"
        "    def close(self) -> None:\n        raise ValueError('it is stuck')\n",
    )
    project.write(
        "agentforge.yaml",
        """
agentforge: 1
scan: [MODULE]
beans:
  model: {type: scripted, turns: [hello]}
  one: {type: python_tools, component: Tools}
  two: {type: python_tools, component: Tools}
  assistant: {type: chat_client, model: model, tools: [one]}
""",
    )
    ended = project.run("chat", "hello", "--json", environment={"AGENTFORGE_LOG_LEVEL": "critical"})
    errors = [json.loads(line)["error"] for line in ended.err.splitlines()]
    shown = project.run("chat", "hello", environment={"AGENTFORGE_LOG_LEVEL": "critical"}).err

    assert ended.code == 1 and json.loads(ended.out)["text"] == "hello"
    assert [error["message"] for error in errors] == ["ValueError: it is stuck"] * 2
    notes = [f"closing the bean '{name}' ({project.file}:{line}:3)" for name, line in (("two", 7), ("one", 6))]
    assert [error["notes"] for error in errors] == [[note] for note in notes]
    assert [line for line in shown.splitlines() if "note:" in line] == [f"  note: {note}" for note in notes]


def test_a_closed_standard_error_loses_only_what_is_said_there(project: Any) -> None:
    """The answer comes all the same."""
    err = io.StringIO()
    err.close()
    out = io.StringIO()
    code = run(
        ["chat", "hello"],
        stdin=io.StringIO(),
        stdout=out,
        stderr=err,
        environment={"AGENTFORGE_CONFIG": project.file},
    )

    assert (code, out.getvalue()) == (0, "杭州今天 22 度。\n")


@pytest.mark.parametrize("words", [["--help"], ["check"]])
def test_nobody_reads_the_output(project: Any, closed_output: io.StringIO, words: list[str]) -> None:
    """Which is no fault."""
    ended = project.run(*words, stdout=closed_output)

    assert (ended.code, ended.err) == (0, "")


def test_a_process_without_streams(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a window program of some systems has none: the exit code says it all."""
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)

    assert run(["check"], environment={"AGENTFORGE_CONFIG": project.file}) == 0
    assert run(["chat"], environment={"AGENTFORGE_CONFIG": project.file}) == 2


def test_metadata_that_cannot_be_read_keeps_nobody_from_the_help(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plugins are missing on the page, and nothing else."""

    def broken(**_: object) -> None:
        raise OSError("no such disk")

    monkeypatch.setattr(importlib.metadata, "entry_points", broken)
    ended = project.run("--help")

    assert ended.code == 0 and "chat [TEXT]" in ended.out and "agentforge PLUGIN COMMAND" not in ended.out


@pytest.mark.parametrize(("level", "shown"), [("warning", False), ("debug", True), ("nonsense", False)])
def test_logs_are_lines_on_standard_error(project: Any, level: str, shown: bool) -> None:
    """From the level of AGENTFORGE_LOG_LEVEL on; of other libraries only what is a warning."""
    project.write(
        f"{project.module}.py",
        "import logging\nfrom agentforge import tool\n"
        "@tool('Logs.')\ndef get_weather(city: str) -> str:\n"
        "    logging.getLogger('agentforge.desk').debug('looking at %s', city)\n"
        "    logging.getLogger('other').debug('noise')\n    logging.getLogger('other').warning('odd')\n"
        "    return ''\n",
    )
    project.script('[{calls: [{name: get_weather, arguments: \'{"city": "Paris"}\'}]}, x]', component="get_weather")
    root = logging.getLogger()
    before = root.level, [*root.handlers]
    ended = project.run("chat", "hello", environment={"AGENTFORGE_LOG_LEVEL": level})

    assert (root.level, root.handlers) == before, "logging is as it was"
    assert ended.code == (1 if level == "nonsense" else 0)
    assert ("debug: looking at Paris" in ended.err) is shown and "noise" not in ended.err
    assert ("warning: odd" in ended.err) is (level != "nonsense")


@pytest.mark.parametrize(
    ("logger", "shown"),
    [("MODULE", True), ("MODULE.deeper", True), ("MODULE_of_others", False), ("other.MODULE", False)],
)
def test_modules_of_the_application_log_as_the_framework_does(project: Any, logger: str, shown: bool) -> None:
    """Those that ``scan`` names, and all below them; from the same level on."""
    logger = logger.replace("MODULE", project.module)
    project.write(
        f"{project.module}.py",
        "import logging\nfrom agentforge import tool\n"
        f"@tool('Logs.')\ndef look() -> str:\n    log = logging.getLogger({logger!r})\n"
        "    log.debug('thinking')\n    log.info('looking')\n    return ''\n",
    )
    project.script("[]", component="look")
    ended = project.run("tools", "call", "look", environment={"AGENTFORGE_LOG_LEVEL": "info"})

    assert ended.code == 0
    assert ("info: looking" in ended.err) is shown and "thinking" not in ended.err


def test_the_level_of_the_log_may_stand_in_the_env_file(project: Any) -> None:
    """Which is read with the configuration."""
    project.write(
        f"{project.module}.py",
        "import logging\nfrom agentforge import tool\n"
        "@tool('Logs.')\ndef look() -> str:\n    logging.getLogger('agentforge.desk').info('looking')\n"
        "    return ''\n",
    )
    project.script("[{calls: [{name: look}]}, x]", component="look")
    assert "looking" not in project.run("chat", "hello").err

    project.write(".env", "AGENTFORGE_LOG_LEVEL=info\n")
    assert "info: looking\n" in project.run("chat", "hello").err


def test_an_error_whose_own_words_fail_still_has_a_name(project: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """And is one block like any other."""

    class Mute(Exception):  # noqa: N818 - it says so
        def __str__(self) -> str:
            raise RuntimeError("no words")

    def broken(*_: object) -> int:
        raise Mute

    monkeypatch.setattr("agentforge.cli.check.run", broken)
    ended = project.run("check")

    assert ended.code == 1 and ended.err.startswith("[AF000] Mute\n")


class Full(io.StringIO):
    """A device without room."""

    def write(self, text: str) -> int:
        """Fails as such a device does."""
        raise OSError(28, "No space left on device")


@pytest.mark.parametrize("words", [["--help"], ["--version"], ["plugins", "--no-load"]])
def test_an_output_without_room_is_one_readable_block(words: list[str]) -> None:
    said = io.StringIO()

    assert run(words, stdout=Full(), stderr=said, environment={}) == 1
    assert "No space left on device" in said.getvalue() and "Traceback" not in said.getvalue()
