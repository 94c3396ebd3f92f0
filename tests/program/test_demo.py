"""What `make demo` runs, as a user runs it: the program in a process of its own, with the files of ``config/``.

Once with the real model inside that process, once with a Chat Completions endpoint that is not ours, once scripted.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.support.mock_provider import mock_provider
from tests.support.programs import python_m_agentforge

ROOT = Path(__file__).parents[2]
CONFIG = ROOT / "config" / "agentforge.yaml"
ENGLISH = "What is the weather in Hangzhou today?"
CHINESE = "杭州今天天气怎么样？"


def agentforge(*words: str, environment: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """The program's end, with what it wrote."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENTFORGE_", "OPENAI_"))}
    return subprocess.run(
        [*python_m_agentforge(), *words, "--config", str(CONFIG)],
        env={**kept, **(environment or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )


def answered(*words: str, environment: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What `chat --json` says of a turn that came to its end."""
    done = agentforge("chat", *words, "--json", "--no-stream", environment=environment)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(("question", "city", "weather"), [(ENGLISH, "hangzhou", "22 °C"), (CHINESE, "杭州", "22℃")])
def test_the_model_in_the_process_calls_the_tool_and_answers(question: str, city: str, weather: str) -> None:
    """A real language model reads the question and fills in the city; the tool runs; the answer holds its result."""
    done = answered(question)

    [execution] = done["tool_executions"]
    assert (execution["name"], execution["outcome"]) == ("get_weather", "ok")
    assert execution["arguments"]["city"].casefold() == city
    assert weather in execution["result"]
    assert weather in done["text"]
    assert done["usage"]["total_tokens"] > 100
    assert done["rounds"] == 2
    assert "smollm2" in done["model"]


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    """The base address of an endpoint that is not ours."""
    with mock_provider() as url:
        yield f"{url}/v1"


@pytest.mark.parametrize("question", [ENGLISH, CHINESE])
def test_the_profile_openai_is_another_model_for_the_same_file(provider: str, question: str) -> None:
    """Key, address and model come from the environment; the tool of the file is called over the wire."""
    environment = {"OPENAI_BASE_URL": provider, "OPENAI_API_KEY": "sk-example-0123456789", "OPENAI_MODEL": "gpt-4o"}
    done = answered(question, "--profile", "openai", environment=environment)

    assert [each["name"] for each in done["tool_executions"]] == ["get_weather"]
    assert done["text"]
    assert done["rounds"] == 2


def test_the_environment_alone_makes_another_model_too(provider: str) -> None:
    """No profile and no other file: variables name the type and its settings."""
    environment = {
        "AGENTFORGE_BEANS__MODEL__TYPE": "openai.chat",
        "AGENTFORGE_BEANS__MODEL__BASE_URL": provider,
        "AGENTFORGE_BEANS__MODEL__API_KEY": "sk-example-0123456789",
        "AGENTFORGE_BEANS__MODEL__MODEL": "gpt-4o",
    }
    assert [each["name"] for each in answered(ENGLISH, environment=environment)["tool_executions"]] == ["get_weather"]


def test_a_terminal_shows_the_call_its_result_the_answer_and_a_summary() -> None:
    """The answer alone goes to standard output, so that it can be piped; all else is beside it."""
    done = agentforge("chat", ENGLISH, "--profile", "scripted")

    assert done.returncode == 0
    assert done.stdout == "Hangzhou (杭州): 22 °C, sunny.\n"
    lines = [line for line in done.stderr.splitlines() if not line.startswith("!")]
    assert lines[0] == '-> get_weather {"city":"Hangzhou"}'
    assert re.fullmatch(r"<- get_weather \(\d+\.\d+ s\) 22 °C, sunny", lines[1])
    assert re.fullmatch(r"-- 2 rounds, 1 call, \d+ tokens .*, model scripted", lines[2])


def test_a_missing_key_says_which_variable_where_and_how_to_set_it() -> None:
    """One block with code, file, line and the next step, and no traceback."""
    done = agentforge("chat", ENGLISH, "--profile", "openai")

    assert (done.returncode, done.stdout) == (1, "")
    first, *rest = done.stderr.splitlines()
    assert re.fullmatch(r"\[AF113\] .*config/agentforge-openai\.yaml:8:14: the secret OPENAI_API_KEY is not set", first)
    assert rest[-2].strip().startswith("next: Set OPENAI_API_KEY in the environment")
    assert rest[-1] == "help: agentforge explain AF113 (docs/reference/errors.md#af113)"
    assert "Traceback" not in done.stderr


def test_every_file_of_the_folder_is_without_faults() -> None:
    """`check` compiles the file alone and under each profile."""
    profiles = [path.stem.removeprefix("agentforge-") for path in CONFIG.parent.glob("agentforge-*.yaml")]
    assert sorted(profiles) == ["openai", "scripted"]
    for profile in ([], *(["--profile", name] for name in profiles)):
        done = agentforge("check", *profile, environment={"OPENAI_API_KEY": "sk-example-0123456789"})
        assert done.returncode == 0, done.stderr


def test_make_demo_asks_in_english_and_chinese() -> None:
    """The Makefile runs the program with this file and both questions."""
    recipe = (ROOT / "Makefile").read_text("utf-8")

    assert "chat --config config/agentforge.yaml" in recipe
    assert ENGLISH in recipe and CHINESE in recipe


@pytest.mark.parametrize(
    ("words", "engine", "said"),
    [
        ([], "false", "The local model's engine is not installed here: this is the scripted model.\n"),
        (["MODEL=scripted"], "true", ""),
    ],
    ids=["no engine", "at will"],
)
def test_make_demo_uses_the_scripted_model_never_in_silence(
    tmp_path: Path, words: list[str], engine: str, said: str
) -> None:
    """Where the engine cannot be imported it says so first; which model answered stands below each answer."""
    for name, command in (("python", engine), ("agentforge", f'exec {shlex.join(python_m_agentforge())} "$@"')):
        (tmp_path / name).write_text(f"#!/bin/sh\n{command}\n", "utf-8")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "installed").touch()
    done = subprocess.run(
        ["make", "-s", "-C", str(ROOT), "demo", f"BIN={tmp_path}", f"INSTALLED={tmp_path / 'installed'}", *words],
        env={
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AGENTFORGE_", "MAKE", "MFLAGS", "MODEL"))
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr.startswith(f"{said}-> get_weather")
    assert done.stdout.count("Hangzhou (杭州): 22 °C, sunny.\n") == done.stderr.count(", model scripted\n") == 2
