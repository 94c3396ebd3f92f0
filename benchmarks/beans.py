"""What it costs to compile and build a configuration of many beans: CPU seconds of a fresh process, by step.

The beans are of every common form: plain ones, components with constructors that are filled by type and by name,
sources of tools, lists of references, and clients with a model in place.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.measure import cpu_seconds

__all__ = ("BUDGET", "Build", "configuration", "main", "measure_beans")

#: CPU seconds that 1,000 beans may take to be compiled and built.
BUDGET = 0.5

_PROGRAM = "import sys; from benchmarks.beans import main; main(*sys.argv[1:])"
_PARTS = """
from agentforge import tool


class Store:
    def __init__(self, name: str, size: int = 1) -> None:
        self.name, self.size = name, size


class Desk:
    def __init__(self, store: Store, label: str = "") -> None:
        self.store, self.label = store, label

    @tool
    def look_up(self, item: str) -> str:
        "What is known of an item."
        return f"{self.store.name}: {item}"
"""
# One group: ten beans that refer to one another, and to the group before.
_GROUP = """
  store_{n}: {{type: component, component: Store, arguments: {{name: "store {n}", size: {n}}}}}
  spare_{n}: {{type: component, component: Store, arguments: {{name: "${{NAME:spare}} {n}"}}}}
  desk_{n}: {{type: python_tools, component: Desk, arguments: {{store: store_{n}, label: desk}}, prefix: d{n}_}}
  tools_{n}: {{type: python_tools, component: Desk, arguments: {{store: {{ref: spare_{n}}}}}, prefix: t{n}_}}
  model_{n}: {{type: scripted, turns: [Hello., "Good bye."], repeat: true}}
  mask_{n}: {{type: mask}}
  words_{n}: {{type: template, text: "{{{{tool}}}} failed: {{{{message}}}}"}}
  service_{n}: {{type: tool_service, tools: [desk_{n}, tools_{n}], max_concurrent_tools: 4, tool_timeout: 10s}}
  client_{n}:
    type: chat_client
    model: model_{n}
    tools: [desk_{n}, tools_{before}]
    error_handlers: {{arguments: mask_{n}, execution: words_{n}, unknown_tool: list_known_tools}}
"""


@dataclass(frozen=True, slots=True)
class Build:
    """CPU seconds of a process, and how many beans there were, those in place among them."""

    beans: int
    imported: float
    compiled: float
    built: float

    @property
    def seconds(self) -> float:
        """What the budget bounds: compiled and built."""
        return self.compiled + self.built


def configuration(folder: Path, beans: int) -> Path:
    """Write a configuration of about so many beans, with its components beside it; returns the file."""
    (folder / "benchmark_parts.py").write_text(_PARTS, "utf-8")
    groups = max(1, beans // 10)  # nine that are declared, one in place
    text = "".join(_GROUP.format(n=number, before=max(0, number - 1)) for number in range(groups))
    file = folder / "agentforge.yaml"
    file.write_text(f"scan: [benchmark_parts]\nbeans:{text}", "utf-8")
    return file


def measure_beans(beans: int = 1000, *, repetitions: int = 5) -> Build:
    """The medians of some fresh processes."""
    root = Path(__file__).parents[1]
    with tempfile.TemporaryDirectory() as folder:
        file = configuration(Path(folder), beans)
        runs = []
        for _ in range(repetitions):
            ended = subprocess.run(
                [sys.executable, "-c", _PROGRAM, str(file)],
                check=True,
                capture_output=True,
                text=True,
                cwd=root,
                env={**os.environ, "PYTHONHASHSEED": "0"},
            )
            runs.append([float(word) for word in ended.stdout.split()])
    count, imported, compiled, built = (median(column) for column in zip(*runs, strict=True))
    return Build(int(count), imported, compiled, built)


def main(file: str) -> None:
    """Compile and build the file; print the number of beans and the CPU seconds of each step."""
    asyncio.run(_run(Path(file)))


async def _run(file: Path) -> None:
    started = cpu_seconds()
    import yaml
    from dependency_injector import containers  # brings what is installed of its friends, such as web frameworks

    from agentforge.container import AgentForge, compiler, providers
    from agentforge.plugin import Plugins, builtin

    assert yaml and containers and compiler and providers and builtin
    imported = cpu_seconds()
    app = AgentForge.load(file, environment={}, plugins=Plugins(entry_points=()))
    beans = len(app.plan.beans)
    compiled = cpu_seconds()
    await app.start()
    built = cpu_seconds()
    await app.stop()
    print(beans, imported - started, compiled - imported, built - compiled)
