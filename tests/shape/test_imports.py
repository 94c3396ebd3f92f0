"""Starting is cheap: what a program does not use is not imported. Names are counted in a fresh process, never time."""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache

import pytest

HEAVY = (
    "pydantic",
    "httpx",
    "httpx2",
    "aiohttp",
    "anyio",
    "dependency_injector",
    "docstring_parser",
    "jmespath",
    "jsonschema_rs",
    "mcp",
    "pluggy",
    "yaml",
)
# What a program may need to be loaded, the standard library's modules (asyncio alone: a hundred) among them.
# To list plugins takes the metadata of distributions, which is half of an e-mail library.
MODULES = {
    "import agentforge_anthropic": 290,
    "import agentforge_dashscope": 290,
    "import agentforge_gemini": 290,
    "import agentforge_ollama": 290,
    "import agentforge_openai": 290,
    "import agentforge.testing": 260,  # no program needs it
    "import agentforge.plugin; agentforge.plugin.Plugins().states()": 300,
}
MODULES_OF_THE_CORE = 250

STATEMENTS = (
    "import agentforge",
    "import agentforge.errors",
    "import agentforge.model",
    "import agentforge.tool",
    "import agentforge.http",
    "import agentforge.memory",
    "import agentforge.advisor",
    "import agentforge.client",
    "import agentforge.config",
    "import agentforge.plugin; agentforge.plugin.Plugins().states()",
    "import agentforge.container",
    "import agentforge.testing",
    "import agentforge_anthropic",
    "import agentforge_dashscope",
    "import agentforge_gemini",
    "import agentforge_http",
    "import agentforge_local",
    "import agentforge_mcp",
    "import agentforge_ollama",
    "import agentforge_openai",
)
# Each in a child of one process, which had imported what all of them import.
LISTING = """
import os, sys
before = set(sys.modules)
import agentforge
for statement in sys.argv[1:]:
    if not hasattr(os, "fork") or not os.fork():
        exec(statement)
        print(*sorted(set(sys.modules) - before), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0
"""


@cache
def _loaded() -> dict[str, set[str]]:
    """The modules that each statement brings in, in a process that had done nothing but `import agentforge`."""
    statements = [*STATEMENTS, "import pydantic"]
    lines: list[str] = []
    for together in [statements] if hasattr(os, "fork") else [[each] for each in statements]:
        command = [sys.executable, "-I", "-c", LISTING, *together]
        lines += subprocess.run(command, check=True, capture_output=True, text=True, timeout=60).stdout.splitlines()
    return {statement: set(line.split()) for statement, line in zip(statements, lines, strict=True)}


def _loaded_by(statement: str) -> set[str]:
    return _loaded()[statement]


@pytest.mark.parametrize("statement", STATEMENTS)
def test_importing_loads_no_third_party(statement: str) -> None:
    """Neither the core nor a package of it, nor a plugin, loads a heavy library before it is used."""
    loaded = _loaded_by(statement)

    assert sorted(loaded & set(HEAVY)) == []
    assert len(loaded) <= MODULES.get(statement, MODULES_OF_THE_CORE), f"{len(loaded)} modules"


@pytest.mark.parametrize(
    "plugin",
    [
        "agentforge_anthropic",
        "agentforge_dashscope",
        "agentforge_gemini",
        "agentforge_http",
        "agentforge_local",
        "agentforge_mcp",
        "agentforge_ollama",
        "agentforge_openai",
    ],
)
def test_the_core_does_not_load_a_plugin(plugin: str) -> None:
    """`import agentforge` leaves every plugin alone."""
    assert plugin not in _loaded_by("import agentforge")


def test_the_measure_itself_sees_a_heavy_import() -> None:
    """The check would notice: a statement that does load a library is seen to."""
    assert "pydantic" in _loaded_by("import pydantic")


def test_importing_starts_nothing() -> None:
    """Loading every package makes no thread, no event loop and no handler of logs."""
    work = (
        "import agentforge, agentforge.model, agentforge.tool, agentforge.http, agentforge.testing;"
        "import agentforge.client, agentforge.config, agentforge.plugin, agentforge.container;"
        "import logging, threading;"
        "assert threading.active_count() == 1, threading.enumerate();"
        "assert not logging.getLogger().handlers;"
        "import asyncio; assert asyncio._get_running_loop() is None"
    )
    subprocess.run([sys.executable, "-I", "-c", work], check=True, capture_output=True, timeout=60)
