"""The program in a pseudo-terminal, as a person meets it."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.programs import python_m_agentforge

# The program makes the terminal its own, so that Ctrl-C typed there reaches it as a signal: a real one at its start, a
# forked one when it imports its tools.
_OWN = "import fcntl, os, sys, termios; {} fcntl.ioctl(0, termios.TIOCSCTTY, 0)\n"
_REAL = (sys.executable, "-c", _OWN.format("") + "from agentforge.cli.main import run; sys.exit(run())")
_PATIENCE = 60.0


class Screen:
    """A pseudo-terminal with the program in it; ``text`` is all that was on the screen."""

    def __init__(self, command: list[str]) -> None:
        self._master, slave = os.openpty()
        self.text = ""
        self._process = subprocess.Popen(
            command,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            env={name: text for name, text in os.environ.items() if not name.startswith("AGENTFORGE_")}
            | {"TERM": "xterm"},
        )
        os.close(slave)

    def wait_for(self, words: str) -> None:
        """Read until the words are there."""
        self._until(lambda: words in self.text, words)

    def wait_for_prompt(self) -> None:
        """Read until the program waits for a line."""
        self._until(lambda: self.text.endswith("\n> "), "the prompt")

    def _until(self, there: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + _PATIENCE
        while not there():
            assert time.monotonic() < end, f"{what!r} did not come; there is {self.text!r}"
            assert self._read(), f"{what!r} did not come before the end; there is {self.text!r}"

    def type(self, keys: str) -> None:
        """Press keys."""
        os.write(self._master, keys.encode())

    def insist(self, key: str) -> None:
        """Press a key until something happens: between two keys the line editor does not notice a signal."""
        while True:
            self.type(key)
            if select.select([self._master], [], [], 1.0)[0]:
                return

    def end(self) -> int:
        """Read to the end; the exit code."""
        while self._read():
            pass
        return self._process.wait(_PATIENCE)

    def close(self) -> None:
        """End whatever is still there."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait(_PATIENCE)
        os.close(self._master)

    def _read(self) -> bool:
        ready, _, _ = select.select([self._master], [], [], _PATIENCE)
        assert ready, f"nothing more came; there is {self.text!r}"
        try:
            piece = os.read(self._master, 4096)
        except OSError:  # how Linux tells that the other side is closed
            return False
        self.text += piece.decode("utf-8", "replace")
        return bool(piece)


@pytest.fixture
def waiting(project: Any, tmp_path: Path) -> Iterator[Any]:
    """Starts the program with a model that calls a tool which waits for a file, and then answers."""
    arguments = json.dumps({"file": str(tmp_path / "go")})
    turns = "[{text: Let me look., calls: [{name: wait_for, arguments: '%s'}]}, The end., Here again.]"
    project.script(turns % arguments, component="WaitingTools")
    screens: list[Screen] = []

    def start(*words: str, real: bool = False) -> Screen:
        if not real:
            module = project.folder / f"{project.module}.py"
            module.write_text(_OWN.format("os.setsid();") + module.read_text("utf-8"), "utf-8")
        program = _REAL if real else python_m_agentforge()
        screens.append(Screen([*program, "--config", project.file, "chat", *words]))
        return screens[-1]

    yield start
    for screen in screens:
        screen.close()


def test_what_happens_is_on_the_screen_before_the_end_is_made(waiting: Any, tmp_path: Path) -> None:
    """The text and the call are there while the tool still waits, and the answer is not."""
    screen = waiting("wait for it")
    screen.wait_for("-> wait_for")
    assert "Let me look." in screen.text and "The end." not in screen.text

    (tmp_path / "go").touch()
    screen.wait_for("The end.")
    screen.wait_for("2 rounds, 1 call")
    assert screen.end() == 0


def test_ctrl_c_ends_the_turn_and_not_the_session(waiting: Any) -> None:
    """The next question is answered, and Ctrl-D ends the session."""
    screen = waiting(real=True)
    screen.wait_for_prompt()
    screen.type("wait for it\n")
    screen.wait_for("-> wait_for")
    screen.type("\x03")
    screen.wait_for("interrupted")
    screen.wait_for_prompt()
    screen.type("and now?\n")
    screen.wait_for("The end.")
    screen.wait_for("1 round, 0 calls")
    screen.wait_for_prompt()
    screen.type("\x04")

    assert screen.end() == 0
    assert "Traceback" not in screen.text


def test_ctrl_c_at_the_prompt_begins_the_line_anew(waiting: Any, tmp_path: Path) -> None:
    """What was typed is not asked."""
    (tmp_path / "go").touch()
    screen = waiting()
    screen.wait_for_prompt()
    screen.type("never mind")
    screen.wait_for("never mind")
    screen.insist("\x03")
    screen.wait_for_prompt()
    screen.type("go\n")
    screen.wait_for("2 rounds, 1 call")
    screen.wait_for_prompt()
    screen.type("exit\n")

    assert screen.end() == 0
    assert "Traceback" not in screen.text


def test_ctrl_c_ends_a_single_question_with_130(waiting: Any) -> None:
    """Without a traceback."""
    screen = waiting("wait for it")
    screen.wait_for("-> wait_for")
    screen.type("\x03")

    assert screen.end() == 130
    assert "interrupted" in screen.text and "Traceback" not in screen.text


def test_events_in_a_pipe_are_there_before_the_last_is_made(project: Any, waiting: Any, tmp_path: Path) -> None:
    """`--stream --json`: a reader has the call while the tool still waits."""
    command = [*python_m_agentforge(), "chat", "wait", "--stream", "--json", "--config", project.file]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        names = []
        for line in process.stdout:
            names.append(json.loads(line)["event"])
            if names[-1] == "tool_started":
                (tmp_path / "go").touch()

    assert process.returncode == 0
    assert names[-1] == "run_finished" and names.index("tool_started") < names.index("tool_finished")
