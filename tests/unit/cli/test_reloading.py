"""``/reload`` and ``--watch`` put a session on the configuration as it is now; its conversation goes on."""

from __future__ import annotations

import io
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentforge import AgentForge, ScriptedChatModel
from agentforge.cli.console import Console
from agentforge.cli.conversation import Conversation
from agentforge.cli.reloading import Reloader
from agentforge.cli.view import TextView
from tests.support.programs import python_m_agentforge


class Typing:
    """A terminal whose lines are typed one by one; what is no text is done first."""

    def __init__(self, *lines: str | Callable[[], object]) -> None:
        self.lines = list(lines)

    def isatty(self) -> bool:
        """A terminal."""
        return True

    def readline(self, size: int = -1) -> str:
        """The next line."""
        while self.lines:
            line = self.lines.pop(0)
            if isinstance(line, str):
                return f"{line}\n"
            line()
        return ""


def _changed(project: Any, old: str, new: str) -> Callable[[], object]:
    def change() -> None:
        path = Path(project.file)
        text = path.read_text("utf-8")
        assert old in text
        path.write_text(text.replace(old, new), "utf-8")

    return change


def test_reload_goes_on_with_the_changed_file(project: Any) -> None:
    """It says so, and answers come from the new beans; a session says that there is the word."""
    project.script("[before, never]")
    typed = Typing("one?", _changed(project, "[before, never]", "[after]"), "/reload", "two?")
    ended = project.run("chat", stdin=typed)

    assert (ended.code, ended.out) == (0, "before\nafter\n")
    assert "/reload reads the configuration again" in ended.err
    assert "reloaded: assistant, model scripted\n" in ended.err


FAULTY: dict[str, tuple[str, str, str]] = {
    "a fault": ("type: scripted", "type: scriptd", "[AF211]"),
    "no client any more": ("type: chat_client, model: model", "type: tool_service", "has no chat client"),
}


@pytest.mark.parametrize(("old", "new", "said"), FAULTY.values(), ids=FAULTY.keys())
def test_a_file_that_will_not_do_is_told_and_the_session_goes_on(project: Any, old: str, new: str, said: str) -> None:
    """With the beans of before, until the file is right again."""
    project.script("[before, still before]")
    typed = Typing(
        "one?",
        _changed(project, old, new),
        "/reload",
        "two?",
        _changed(project, new, old),
        _changed(project, "[before, still before]", "[after]"),
        "/reload",
        "three?",
    )
    ended = project.run("chat", stdin=typed)

    assert (ended.code, ended.out) == (0, "before\nstill before\nafter\n")
    assert said in ended.err and "not reloaded; the conversation goes on with the beans of before" in ended.err
    assert ended.err.count("reloaded: assistant") == 1


def test_a_start_that_fails_is_told_and_the_session_goes_on(project: Any) -> None:
    project.script("[before, still before]")
    module = Path(project.folder) / f"{project.module}.py"
    module.write_text(
        module.read_text("utf-8") + "\nclass Broken:\n    def start(self):\n        raise ValueError('no')\n", "utf-8"
    )
    broken = "beans:\n  broken: {type: component, component: Broken}"
    typed = Typing("one?", _changed(project, "beans:", broken), "/reload", "two?")
    ended = project.run("chat", stdin=typed)

    assert (ended.code, ended.out) == (0, "before\nstill before\n")
    assert "the bean 'broken' (component) could not be started: ValueError: no" in ended.err


def test_a_lazy_client_that_cannot_be_made_is_told_and_the_session_goes_on(
    project: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """With the beans of before, which were not closed meanwhile."""
    turns = "[{calls: [{name: use}]}, before, {calls: [{name: use}]}, still before]"
    project.script(turns, component="Kept")
    module = Path(project.folder) / f"{project.module}.py"
    module.write_text(
        module.read_text("utf-8")
        + "\nclass Kept:\n    @tool\n    async def use(self) -> str:\n        'Used.'\n        print('used')\n"
        + "        return 'yes'\n    def close(self):\n        print('closed')\n"
        + "\nclass Broken(Kept):\n    def __init__(self):\n        raise ValueError('no')\n",
        "utf-8",
    )

    def change() -> None:
        _changed(project, "component: Kept}", "component: Broken, bean: {lazy: true}}")()
        _changed(project, "tools: [desk]", "tools: [desk], bean: {lazy: true}")()

    ended = project.run("chat", stdin=Typing("one?", change, "/reload", "two?"))

    assert (ended.code, ended.out) == (0, "before\nstill before\n")
    assert "the bean 'desk' (python_tools) could not be made: ValueError: no" in ended.err
    assert "not reloaded; the conversation goes on with the beans of before" in ended.err
    assert capsys.readouterr().out == "used\nused\nclosed\n"


def test_watched_files_are_reloaded_before_the_next_turn(project: Any) -> None:
    """Each change once, with the name of the file; without a change nothing is."""
    project.script("[one, two]")
    typed = Typing("one?", "two?", _changed(project, "[one, two]", "[three, four]"), "three?", "four?")
    ended = project.run("chat", "--watch", stdin=typed)

    assert (ended.code, ended.out) == (0, "one\ntwo\nthree\nfour\n")
    assert ended.err.count("agentforge.yaml changed\n") == 1
    assert ended.err.count("reloaded: assistant, model scripted\n") == 1


def test_a_watched_file_with_faults_is_told_once(project: Any) -> None:
    """And reloaded when it has changed again."""
    project.script("[one, two, three]")
    typed = Typing(
        "one?",
        _changed(project, "type: scripted", "type: scriptd"),
        "two?",
        "three?",
        _changed(project, "type: scriptd, turns: [one, two, three]", "type: scripted, turns: [four]"),
        "four?",
    )
    ended = project.run("chat", "--watch", stdin=typed)

    assert (ended.code, ended.out) == (0, "one\ntwo\nthree\nfour\n")
    assert ended.err.count("[AF211]") == 1
    assert ended.err.count("reloaded: ") == 1


def test_the_word_sees_to_a_change_of_watched_files_as_well(project: Any) -> None:
    """Which is then not reloaded again; what has no effect is warned of."""
    project.script("[one, two]")
    change = _changed(project, "[one, two]", "[three, four]")
    project.environment["AGENTFORGE_BEENS__MODEL"] = "x"
    ended = project.run("chat", "--watch", stdin=Typing("one?", change, "/reload", "three?", "four?"))

    assert (ended.code, ended.out) == (0, "one\nthree\nfour\n")
    assert ended.err.count("reloaded: ") == 1
    assert ended.err.count("warning: ") == 2


def test_without_watch_a_change_is_left_alone(project: Any) -> None:
    project.script("[one, two]")
    ended = project.run("chat", stdin=Typing("one?", _changed(project, "[one, two]", "[three]"), "two?"))

    assert ended.out == "one\ntwo\n"


def test_watch_is_for_a_session(project: Any) -> None:
    ended = project.run("chat", "--watch", "one?")

    assert ended.code == 2
    assert "--watch is for a session" in ended.err


async def test_the_history_goes_on(tmp_path: Path) -> None:
    """The new client's model sees what was said to the old one, and the new system message is for new conversations."""
    path = tmp_path / "agentforge.yaml"
    path.write_text("beans:\n  model: {type: scripted}\n  bot: {type: chat_client, model: model}\n", "utf-8")
    model: Any = ScriptedChatModel(["First.", "Second."])
    console = Console(io.StringIO(), io.StringIO(), io.StringIO(), {})
    async with AgentForge.load(path, environment={}).override("model", model) as app:
        conversation = Conversation(app.get("bot"), TextView(console, "scripted"), streamed=False)
        reloader = Reloader(app, conversation, console, wanted="bot", show=lambda client: TextView(console, "scripted"))
        await conversation.ask("One?")
        before = app.get("bot")
        await reloader.reload()
        assert app.get("bot") is not before
        await conversation.ask("Two?")

    assert [message.text for message in model.requests[-1].messages] == ["One?", "First.", "Two?"]


def test_ctrl_c_ends_a_reload_and_not_the_session(project: Any) -> None:
    """The beans of before stay."""
    project.script("[before, still before]")
    module = Path(project.folder) / f"{project.module}.py"
    module.write_text(
        module.read_text("utf-8")
        + "\nimport signal\nclass Slow:\n    async def start(self):\n"
        + "        signal.raise_signal(signal.SIGINT)\n        await asyncio.Event().wait()\n",
        "utf-8",
    )
    slow = "beans:\n  slow: {type: component, component: Slow}"
    ended = project.run("chat", stdin=Typing("one?", _changed(project, "beans:", slow), "/reload", "two?"))

    assert (ended.code, ended.out) == (0, "before\nstill before\n")
    assert "interrupted; the conversation goes on" in ended.err


class Twice(io.StringIO):
    """Output on which Ctrl-C is pressed once more while the first one is answered."""

    pressed = False

    def write(self, text: str) -> int:
        """Write, and press it the second time where it is due."""
        if self.pressed:
            self.pressed = False
            signal.raise_signal(signal.SIGINT)
        return super().write(text)


def test_ctrl_c_pressed_twice_at_the_prompt_begins_the_line_anew(project: Any) -> None:
    project.script("[one]")
    err = Twice()

    def press() -> None:
        err.pressed = True
        signal.raise_signal(signal.SIGINT)

    ended = project.run("chat", stdin=Typing(press, "one?"), stderr=err)

    assert (ended.code, ended.out, err.pressed) == (0, "one\n", False)


def test_a_program_that_is_ended_at_its_prompt_closes_its_beans(
    project: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    """The exit code says by which signal."""
    module = Path(project.folder) / f"{project.module}.py"
    module.write_text(
        module.read_text("utf-8") + "\nclass Kept:\n    async def aclose(self):\n        print('closed', flush=True)\n",
        "utf-8",
    )
    project.script("[before]")
    _changed(project, "beans:", "beans:\n  kept: {type: component, component: Kept}")()
    ended = project.run("chat", stdin=Typing("one?", lambda: signal.raise_signal(signal.SIGTERM), "two?"))

    assert (ended.code, ended.out) == (128 + signal.SIGTERM, "before\n")
    assert capsys.readouterr().out == "closed\n"


# -- ended from outside -------------------------------------------------------------------------------

KEPT = """
import asyncio
import os
from pathlib import Path
from agentforge import tool

class Noting:
    def __init__(self, folder: str) -> None:
        self.folder = Path(folder)

    def note(self, text: str) -> None:
        with (self.folder / "log").open("a") as log:
            log.write(text + "\\n")

class Base(Noting):
    async def __aenter__(self):
        self.note("enter base")

    async def __aexit__(self, *error):
        await asyncio.sleep(0.01)
        self.note("leave base")

class Slow(Noting):
    def __init__(self, folder: str, base: Base) -> None:
        super().__init__(folder)

    async def __aenter__(self):
        self.note("enter slow")

    async def __aexit__(self, *error):
        await asyncio.sleep(0.01)
        self.note("leave slow")

    @tool
    async def wait(self) -> str:
        "Waits for ever."
        (self.folder / "begun").write_text(str(os.getpid()))
        await asyncio.Event().wait()
        return "never"

class Stuck(Noting):
    async def start(self):
        (self.folder / "begun").write_text(str(os.getpid()))
        await asyncio.Event().wait()
"""


@pytest.mark.parametrize("during", ["a turn", "a reload"])
@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT"])
def test_a_program_that_is_ended_leaves_context_managers_in_order(tmp_path: Path, name: str, during: str) -> None:
    """Though they are in tasks of their own, which nobody ends before their turn; also while new beans start."""
    number = getattr(signal, name)
    (tmp_path / "kept_tools.py").write_text(KEPT, "utf-8")
    given = {"folder": str(tmp_path)}
    beans: dict[str, Any] = {
        "base": {"type": "component", "component": "Base", "arguments": given},
        "slow": {"type": "python_tools", "component": "Slow", "arguments": given},
        "model": {"type": "scripted", "turns": [{"calls": [{"name": "wait"}]}]},
        "bot": {"type": "chat_client", "model": "model", "tools": ["slow"], "tool_timeout": None},
    }
    path = tmp_path / "agentforge.yaml"
    path.write_text(json.dumps({"scan": ["kept_tools"], "beans": beans}), "utf-8")
    beans["stuck"] = {"type": "component", "component": "Stuck", "arguments": given, "bean": {"depends_on": ["slow"]}}
    (tmp_path / "new.yaml").write_text(json.dumps({"scan": ["kept_tools"], "beans": beans}), "utf-8")
    begun, (terminal, inside) = tmp_path / "begun", os.openpty()
    command = [*python_m_agentforge(), "chat", "--config", str(path)]
    with subprocess.Popen(
        command, stdin=inside, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:

        def wait_for(file: Path) -> str:
            while not (text := file.read_text("utf-8") if file.exists() else ""):
                assert process.poll() is None
                time.sleep(0.02)
            return text

        if during == "a reload":
            wait_for(tmp_path / "log")  # the first beans have started, of the file as it was
            shutil.copy(tmp_path / "new.yaml", path)
        os.write(terminal, b"go\nexit\n" if during == "a turn" else b"/reload\nexit\n")
        os.kill(int(wait_for(begun)), number)
        _, said = process.communicate(timeout=60)
    for each in (terminal, inside):
        os.close(each)

    steps = (tmp_path / "log").read_text("utf-8").split("\n")[:-1]
    one = ["enter base", "enter slow"]
    if during == "a turn":
        assert steps == [*one, "leave slow", "leave base"]
    else:
        assert steps == [*one, *one, "leave slow", "leave base", "leave slow", "leave base"]
    assert process.returncode == (128 + number if name == "SIGTERM" else 0)  # an interrupt ends what is going on
    assert "Traceback" not in said
