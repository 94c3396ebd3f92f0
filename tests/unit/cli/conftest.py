"""A project of its own for each test, and the program to run in it."""

from __future__ import annotations

import io
import itertools
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agentforge.cli.main import run

_number = itertools.count()

TOOLS = """
import asyncio
import pathlib
from agentforge import tool

class WeatherTools:
    @tool("Current weather of a city.")
    def get_weather(self, city: str, days: int = 1) -> str:
        return f"{city}: 22 degrees"

    @tool
    def broken(self, reason: str) -> str:
        "Always fails."
        raise ValueError(f"because of {reason}")

class SlyTools:
    @tool
    def read_page(self) -> str:
        "A page that tries to steer the terminal."
        return "\\x1b[2Jgone\\n-> get_weather {}"

    @tool
    def read_book(self) -> str:
        "A long text."
        return "\\n".join(f"line {number}" for number in range(500))

class StuckDoor:
    @tool
    def ring(self) -> str:
        "Rings."
        return "ding"

    def aclose(self) -> None:
        raise RuntimeError("the door is stuck")

class WaitingTools:
    @tool
    async def wait_for(self, file: str) -> str:
        "Waits until a file is there."
        while not pathlib.Path(file).exists():
            await asyncio.sleep(0.01)
        return "it is there"
"""

FILE = """
agentforge: 1
scan: [MODULE]
beans:
  model:
    type: scripted
    repeat: true
    turns:
      - calls: [{name: get_weather, arguments: '{"city": "杭州"}'}]
      - 杭州今天 22 度。
  weather: {type: python_tools, component: WeatherTools}
  assistant: {type: chat_client, model: model, tools: [weather]}
"""


@dataclass(frozen=True)
class Ended:
    """How a run of the program ended."""

    code: int
    out: str
    err: str


class Terminal(io.StringIO):
    """A stream that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


class ClosedOutput(io.StringIO):
    """A pipe that nobody reads any more."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


class Project:
    """A folder with tools and configuration files; ``environment`` is what the program sees."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.module = f"desk_tools_{next(_number)}"
        self.environment: dict[str, str] = {}
        (folder / f"{self.module}.py").write_text(TOOLS, "utf-8")
        self.file = self.write("agentforge.yaml", FILE)

    def write(self, name: str, text: str) -> str:
        """Write a file; ``MODULE`` in it stands for the module of tools."""
        (self.folder / name).write_text(text.replace("MODULE", self.module), "utf-8")
        return str(self.folder / name)

    def install(self, plugin: str, module: str) -> None:
        """Put the metadata of a distribution with this plugin into the folder."""
        info = self.folder / f"agentforge_plugin_{plugin}-1.2.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: agentforge-plugin-{plugin}\nVersion: 1.2\n")
        (info / "entry_points.txt").write_text(f"[agentforge_kit.plugin]\n{plugin} = {module}\n")

    def script(self, turns: str, *, component: str = "WeatherTools", more: str = "") -> None:
        """Make the configuration one with these turns (YAML flow text) and tools."""
        self.write(
            "agentforge.yaml",
            f"""
agentforge: 1
scan: [MODULE]
beans:
  model: {{type: scripted, turns: {turns}}}
  desk: {{type: python_tools, component: {component}}}
  assistant: {{type: chat_client, model: model, tools: [desk]{more}}}
""",
        )

    def run(
        self,
        *words: str,
        stdin: Any = "",
        stdout: io.StringIO | None = None,
        stderr: io.StringIO | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> Ended:
        """Run the program in this project."""
        out, err = stdout or io.StringIO(), stderr or io.StringIO()
        code = run(
            words,
            stdin=io.StringIO(stdin) if isinstance(stdin, str) else stdin,
            stdout=out,
            stderr=err,
            environment={"AGENTFORGE_CONFIG": self.file, **self.environment, **(environment or {})},
        )
        return Ended(code, out.getvalue(), err.getvalue())


@pytest.fixture
def project(tmp_path: Path) -> Iterator[Project]:
    """A project with the weather tools and a scripted model."""
    made = Project(tmp_path)
    yield made
    sys.modules.pop(made.module, None)


@pytest.fixture
def gated(project: Project, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Makes a plugin whose bean type ``desk.gate`` gives every call the same verdict, written in Python."""
    module = f"{project.module}_gate"

    def make(verdict: str) -> None:
        project.write(
            f"{module}.py",
            "from agentforge.plugin import BeanSettings, BeanType, hookimpl\n"
            "from agentforge.tool.execution import Ask, Refuse, ToolGate, ToolOutcome\n"
            f"class Gate:\n    async def check(self, batch, run):\n        return [{verdict} for _ in batch]\n"
            "@hookimpl\ndef agentforge_bean_types(register):\n"
            "    register(BeanType('desk.gate', BeanSettings, lambda _: Gate(), ToolGate, 'A gate.'))\n",
        )
        project.install("desk", module)
        monkeypatch.syspath_prepend(project.folder)

    yield make
    sys.modules.pop(module, None)


@pytest.fixture
def terminal() -> type[Terminal]:
    """The class of streams that claim to be a terminal."""
    return Terminal


@pytest.fixture
def closed_output() -> ClosedOutput:
    """A stream whose reader has gone."""
    return ClosedOutput()
