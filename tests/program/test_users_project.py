"""A project of a user's own, far from this checkout: wheels in a clean environment, a package, a file, a plugin.

The environment has the third-party libraries of this one and nothing else: none of our sources, no editable install.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.support.installing import build

ROOT = Path(__file__).parents[2]

FILES = {
    "shop/agentforge.yaml": """
agentforge: 1
scan: [shop_tools]
plugins: [audit]
beans:
  model:
    type: scripted
    turns:
      - calls: [{name: price, args: {article: tea}}]
      - It is 4.50.
  prices: {type: component, component: PriceList, arguments: {currency: EUR}}
  shop: {type: python_tools, component: Shop}
  echo: {type: audit.echo, prefix: "> "}
  assistant: {type: chat_client, model: model, tools: [shop]}
""",
    "shop/shop_tools/__init__.py": "",
    "shop/shop_tools/prices.py": """
class PriceList:
    def __init__(self, currency: str) -> None:
        self.currency = currency

    def of(self, article: str) -> str:
        return f"{article}: 4.50 {self.currency}"
""",
    "shop/shop_tools/tools.py": '''
from agentforge import tool
from shop_tools.prices import PriceList


class Shop:
    def __init__(self, prices: PriceList) -> None:
        self.prices = prices

    @tool
    def price(self, article: str) -> str:
        """The price of an article."""
        return self.prices.of(article)
''',
    "shop/ask.py": """
import asyncio, json
from agentforge import AgentForge, ChatClient, ScriptedChatModel

async def main():
    async with AgentForge.load("agentforge.yaml") as app:
        result = await app.get(ChatClient).chat("What is tea?")
    with_another = AgentForge.load("agentforge.yaml").override("model", ScriptedChatModel(["Nothing."]))
    async with with_another as app:
        other = await app.get("assistant").chat("What is tea?")
    return [result.text, result.tool_executions[0].result_text(), other.text]

print(json.dumps(asyncio.run(main())))
""",
    "audit/pyproject.toml": """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "shop-audit"
version = "1.0"

[project.entry-points."agentforge_kit.plugin"]
audit = "shop_audit"

[tool.hatch.build.targets.wheel]
packages = ["shop_audit"]
""",
    "audit/shop_audit/__init__.py": '''
"""A plugin with a bean type and an observing hook."""

import os

from agentforge.model.scripted import ScriptedChatModel
from agentforge.model import ChatModel
from agentforge.plugin import BeanSettings, BeanType, hookimpl


class EchoSettings(BeanSettings):
    prefix: str = ""
    """Text in front of the answer."""


@hookimpl
def agentforge_bean_types(register):
    make = lambda settings: ScriptedChatModel([settings.prefix + "echo"])
    register(BeanType("audit.echo", EchoSettings, make, ChatModel, "Says echo."))


@hookimpl
def agentforge_tool_called(execution):
    with open(os.environ["AUDIT_FILE"], "a", encoding="utf-8") as file:
        file.write(f"{execution.request.name} {execution.outcome.value}\\n")
''',
}


def run(*words: str | Path, cwd: Path, **environment: str) -> str:
    """What a command wrote; it must succeed."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTFORGE_", "PYTHON"))}
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the project; its environment is in ``venv``."""
    folder = tmp_path_factory.mktemp("project")
    for name, text in FILES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.lstrip("\n"), "utf-8")
    wheels = build([ROOT, ROOT / "plugins" / "openai", folder / "audit"], folder)
    venv.create(folder / "venv", with_pip=False, symlinks=True)
    python = folder / "venv" / "bin" / "python"
    site = Path(run(python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))", cwd=folder).strip())
    for item in Path(sysconfig.get_path("purelib")).iterdir():
        if (
            not item.name.startswith(("agentforge", "__editable__", "_editable", "_virtualenv"))
            and item.suffix != ".pth"
        ):
            (site / item.name).symlink_to(item)
    install = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--python", python, "install", "--quiet"]
    run(*install, "--no-index", "--no-deps", "--no-compile", *wheels, cwd=folder)
    return folder


def test_the_installed_package_is_not_this_checkout(project: Path) -> None:
    """The environment is clean: what is imported comes from the wheel."""
    where = run(project / "venv/bin/python", "-c", "import agentforge; print(agentforge.__file__)", cwd=project)

    assert Path(where.strip()).is_relative_to(project)


def test_the_program_runs_the_users_tools_and_tells_the_users_plugin(project: Path) -> None:
    """The class of the scanned package is filled with another component; the plugin's hook sees the call."""
    audit = project / "audit.txt"
    program = project / "venv" / "bin" / "agentforge"
    done = json.loads(
        run(program, "chat", "What is tea?", "--json", "--no-stream", cwd=project / "shop", AUDIT_FILE=str(audit))
    )

    assert done["text"] == "It is 4.50."
    assert [each["result"] for each in done["tool_executions"]] == ["tea: 4.50 EUR"]
    assert audit.read_text("utf-8") == "price ok\n"


def test_the_program_lists_the_users_plugin(project: Path) -> None:
    """From its distribution's metadata, and with its types when it is loaded."""
    found = run(project / "venv" / "bin" / "agentforge", "plugins", "--load", cwd=project / "shop")

    assert "shop-audit" in found
    assert "audit.echo" in found


def test_python_code_loads_the_same_file(project: Path) -> None:
    """By type, and with another model in its place."""
    python = project / "venv" / "bin" / "python"
    done = run(python, "ask.py", cwd=project / "shop", AUDIT_FILE=str(project / "other.txt"))

    assert json.loads(done) == ["It is 4.50.", "tea: 4.50 EUR", "Nothing."]
