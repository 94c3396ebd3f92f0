"""What `agentforge init` writes runs at once: the project's check, chat and tests, and a plugin installed for real."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest

from tests.support.installing import build, install, program, python
from tests.support.type_checker import mypy

ROOT = Path(__file__).parents[2]
PLAIN = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # neither needs a plugin of the test runner's
PROJECT = [".env.example", ".gitignore", "agentforge.yaml", "assistant_tools.py", "tests/test_assistant.py"]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new project."""
    folder = tmp_path_factory.mktemp("project")
    done = program("init", "desk", "--json", cwd=folder)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["folder"], said["files"]) == ("desk", PROJECT)
    return folder / "desk"


def test_a_project_has_no_faults(project: Path) -> None:
    """And nothing to warn of."""
    done = program("check", cwd=project)

    assert (done.returncode, done.stderr) == (0, "")
    assert "agentforge.yaml: 6 beans, no faults" in done.stdout


def test_a_project_answers_at_once(project: Path) -> None:
    """Its own tool is called, and again with the next question."""
    done = program("chat", "What is tea?", "--json", "--no-stream", cwd=project)

    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert [(each["name"], each["result"]) for each in said["tool_executions"]] == [("price_of", "tea: 4.50 euros")]
    assert said["text"].startswith("Tea is 4.50 euros.")


def test_a_projects_tests_pass(project: Path) -> None:
    """As its owner runs them."""
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=project, **PLAIN)

    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


@pytest.mark.parametrize(
    "line",
    [
        "{type: local.llama}",
        "{type: openai.chat, model: gpt-5-mini}",
        "{type: openai.chat, vendor: deepseek, model: deepseek-chat}",
        '{type: openai.chat, model: NAME, base_url: "http://localhost:11434/v1"}',
    ],
)
def test_each_model_that_the_file_proposes_can_take_the_scripts_place(project: Path, tmp_path: Path, line: str) -> None:
    """Put where the comment says, it is without faults."""
    text = (project / "agentforge.yaml").read_text("utf-8")
    assert f"#   model: {line}\n" in text
    before, _, rest = text.partition("  model:\n    type: scripted")
    after = rest[rest.index("\n\n  # Your own tools") :]
    (tmp_path / "agentforge.yaml").write_text(f"{before}  model: {line}{after}", "utf-8")
    (tmp_path / "assistant_tools.py").write_text((project / "assistant_tools.py").read_text("utf-8"), "utf-8")

    done = program("check", cwd=tmp_path, OPENAI_API_KEY="sk-0123456789", DEEPSEEK_API_KEY="sk-0123456789")
    assert done.returncode == 0, done.stderr


def test_the_example_of_variables_is_one_of_the_program(project: Path) -> None:
    """With the marks of a comment taken away, its lines are read and set what they say."""
    text = (project / ".env.example").read_text("utf-8")
    lines = [line.removeprefix("# ") for line in text.splitlines() if line.startswith("# AGENTFORGE_")]
    assert len(lines) == 2
    settings = dict(line.split("=", 1) for line in lines)
    done = program("check", "--json", cwd=project, **settings)

    found = {bean["id"]: bean["type"] for bean in json.loads(done.stdout)["beans"]}
    assert (done.returncode, found["model"]) == (0, "local.llama")
    assert ".env\n" in (project / ".gitignore").read_text("utf-8")


# -- the plugin ------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def plugin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new plugin, installed into the folder ``target`` beside it."""
    folder = tmp_path_factory.mktemp("plugin")
    done = program("init", "--plugin", "my_words", cwd=folder)
    assert done.returncode == 0, done.stderr
    install([folder / "agentforge-plugin-my-words"], folder / "target")
    return folder / "agentforge-plugin-my-words"


def test_a_plugin_passes_the_contract_suites_as_it_stands(plugin: Path) -> None:
    """Its own tests, against what was installed; some of the suites' tests do not concern it."""
    done = python("-m", "pytest", "-q", "-p", "no:cacheprovider", cwd=plugin, target=plugin.parent / "target", **PLAIN)

    assert done.returncode == 0, done.stdout
    assert " passed" in done.stdout and "failed" not in done.stdout


def test_a_plugin_is_listed_with_its_types(plugin: Path) -> None:
    """From the metadata of its installation."""
    done = program("plugins", "--load", "--json", cwd=plugin, target=plugin.parent / "target")

    found = {each["name"]: each for each in json.loads(done.stdout)}
    assert done.returncode == 0
    assert found["my_words"]["distribution"] == "agentforge-plugin-my-words"
    assert (found["my_words"]["state"], found["my_words"]["types"]) == ("active", ["my_words.echo", "my_words.texts"])


def test_a_plugins_readme_shows_a_file_that_runs(plugin: Path, tmp_path: Path) -> None:
    """Its YAML is checked, and its model answers."""
    text = (plugin / "README.md").read_text("utf-8")
    (tmp_path / "agentforge.yaml").write_text(text.split("```yaml\n")[1].split("```")[0], "utf-8")

    done = program("chat", "Hello", "--no-stream", cwd=tmp_path, target=plugin.parent / "target")
    assert (done.returncode, done.stdout) == (0, "You said: Hello\n"), done.stderr


def test_a_plugin_is_well_typed_and_well_formed(plugin: Path) -> None:
    """By the rules that this project has for itself."""
    sources = [str(plugin / "src"), str(plugin / "tests")]
    config = ["--config", str(ROOT / "pyproject.toml")]
    rules = ["--isolated", "--line-length", "120", "--select", "E,F,B,UP,SIM"]
    for command in (["check", *rules], ["format", "--check", *config]):
        done = python("-m", "ruff", *command, "--no-cache", *sources, cwd=plugin)
        assert done.returncode == 0, done.stdout + done.stderr
    done = mypy(plugin / "src")
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_templates_are_in_the_wheel(tmp_path: Path) -> None:
    """What is installed can make the same files as this checkout."""
    [wheel] = build([ROOT], tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        packed = {name for name in archive.namelist() if name.endswith(".template")}

    top = ROOT / "agentforge"
    assert packed == {path.relative_to(ROOT).as_posix() for path in top.rglob("*.template")}
    assert len(packed) > len(PROJECT)
