"""`agentforge probe --write`: what was found as a vendor's row, which the bean then has."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from agentforge import AgentForge
from agentforge.testing import ScriptedEndpoint
from tests.support.disguises import Asked, Turn, disguised, refusal


def simple(asked: Asked, turn: Turn) -> Turn:
    """No forced calls, one call at a time, no schemas for answers."""
    if asked.mode in ("required", "tool", "allowed"):
        return refusal("only auto and none are taken\x1b[2J")
    if asked.answer == "json_schema":
        return refusal("json_schema is not taken")
    return {**turn, "calls": turn["calls"][:1]} if "calls" in turn else turn


def written(project: Any, endpoint: ScriptedEndpoint, settings: str, file: str, *words: str) -> Any:
    """Probe and write."""
    bean = f'{{type: openai.chat, model: m, base_url: "{endpoint.base_url}", api_key: k{settings}}}'
    project.write("agentforge.yaml", f"agentforge: 1\nbeans:\n  model: {bean}\n")
    return project.run("probe", "model", "--write", str(project.folder / file), *words)


@pytest.mark.parametrize(
    "settings",
    [
        ", vendor: openai",
        "",
        ", vendor: deepseek",
        ", vendor: openai, profile_overrides: {tool_choice: [auto, required], parallel_tool_calls: always}",
        ", vendor: {like: openai, name: house, capabilities: {seed: false}}",
    ],
    ids=["a row", "no row named", "a row with a strict base", "overrides of the bean", "a row of the file"],
)
def test_the_bean_then_is_what_was_found(project: Any, settings: str) -> None:
    """The file is a profile; with it the configuration has no fault, and the next probe no difference."""
    with ScriptedEndpoint([disguised(simple)], repeat=True) as endpoint:
        first = written(project, endpoint, settings, "agentforge-found.yaml")
        checked = project.run("check", "--profile", "found")
        second = project.run("probe", "model", "--profile", "found")

    assert (first.code, checked.code) == (1, 0), checked.err
    assert first.err.endswith("next: agentforge check --profile found\n")
    assert first.out.splitlines()[-1] == f"{project.folder / 'agentforge-found.yaml'}: written"
    assert second.code == 0, second.out
    assert "the profile agrees" in second.out


def test_a_limit_of_thinking_that_does_not_hold_is_lifted(project: Any) -> None:
    """The row refused forced calls of this model before they were sent; now they go out."""
    with ScriptedEndpoint([disguised()], repeat=True) as endpoint:
        first = written(project, endpoint, ", vendor: deepseek", "agentforge-found.yaml")
        second = project.run("probe", "model", "--profile", "found", "--only", "tool_choice.required")

    vendor = yaml.safe_load((project.folder / "agentforge-found.yaml").read_text("utf-8"))["beans"]["model"]["vendor"]
    assert vendor["thinking"] == {"forced_choice": True}
    assert (first.code, second.code) == (1, 0), second.out


def test_the_file_is_a_row_with_what_was_seen_as_comments(project: Any) -> None:
    """It says which row it starts from, what it is called, and what can be done; nothing in it steers a terminal."""
    with ScriptedEndpoint([disguised(simple)], repeat=True) as endpoint:
        written(project, endpoint, ", vendor: openai", "agentforge-found.yaml")
    text = (project.folder / "agentforge-found.yaml").read_text("utf-8")

    vendor = yaml.safe_load(text)["beans"]["model"].pop("vendor")
    assert (vendor["like"], vendor["name"]) == ("openai", "found")
    assert vendor["capabilities"]["tool_choice"] == ["auto", "none"]
    assert vendor["capabilities"]["parallel_tool_calls"] == "never"
    assert vendor["capabilities"]["response_formats"] == ["text", "json"]
    assert vendor["capabilities"]["strict_tools"] is True
    lines = text.splitlines()
    assert lines[0].startswith("# What agentforge probe found of the model 'm' at http://127.0.0.1:")
    [required] = [line for line in lines if line.startswith("#   tool_choice.required ")]
    assert required.endswith("refused: status 400: only auto and none are taken\\x1b[2J (the profile said yes)")


def test_what_must_go_back_is_in_the_row(project: Any) -> None:
    """Reasoning that the row did not send back, and without which the second round is refused."""

    def wants_reasoning(asked: Asked, turn: Turn) -> Turn:
        missing = asked.has_result and asked.thinks and not any("reasoning_content" in each for each in asked.turns)
        return refusal("reasoning_content must be passed back") if missing else turn

    with ScriptedEndpoint([disguised(wants_reasoning)], repeat=True) as endpoint:
        first = written(project, endpoint, ", vendor: openai", "agentforge-found.yaml")
        second = project.run("probe", "model", "--profile", "found", "--json")

    vendor = yaml.safe_load((project.folder / "agentforge-found.yaml").read_text("utf-8"))["beans"]["model"]["vendor"]
    assert vendor["replay_fields"] == ["reasoning_content"]
    assert vendor["replay_required"] == "reasoning_content"
    assert (first.code, second.code) == (1, 0)
    assert json.loads(second.out)["agrees"] is True


def test_a_program_gets_the_row_too(project: Any) -> None:
    """The profile of the bean, without a request."""
    with ScriptedEndpoint([disguised(simple)], repeat=True) as endpoint:
        written(project, endpoint, ", vendor: openai", "agentforge-found.yaml")
    with AgentForge.load(project.file, profiles=["found"], environment={}) as app:
        profile = app.get("model").profile

    assert profile.name == "found"
    assert profile.tool_choice == {"auto", "none"} and profile.response_formats == {"text", "json"}


def test_a_file_that_is_there_stays_but_for_force(project: Any) -> None:
    """Said before anything is asked."""
    project.write("agentforge-found.yaml", "mine: true\n")
    with ScriptedEndpoint([disguised()], repeat=True) as endpoint:
        refused = written(project, endpoint, ", vendor: openai", "agentforge-found.yaml")
        asked = len(endpoint.requests)
        kept = (project.folder / "agentforge-found.yaml").read_text("utf-8")
        forced = written(project, endpoint, ", vendor: openai", "agentforge-found.yaml", "--force")

    assert (refused.code, asked, kept) == (1, 0, "mine: true\n")
    assert "is there already" in refused.err and "--force" in refused.err
    assert forced.code == 0
    assert "like: openai" in (project.folder / "agentforge-found.yaml").read_text("utf-8")


@pytest.mark.parametrize(("file", "name"), [("agentforge-openai.yaml", "openai-probed"), ("7 Rows.yaml", "row-7-rows")])
def test_the_name_of_the_row_is_one_that_it_can_have(project: Any, file: str, name: str) -> None:
    """Made of the file's; a file that is no profile is written too, and it is said what to do with it."""
    with ScriptedEndpoint([disguised()], repeat=True) as endpoint:
        ended = written(project, endpoint, ", vendor: openai", file, "--only", "tools")
    row = yaml.safe_load((project.folder / file).read_text("utf-8"))["beans"]["model"]["vendor"]

    assert row == {"like": "openai", "name": name, "capabilities": {"tool_mode": "native"}}
    assert ("--profile openai" in ended.err) is (name == "openai-probed")
    assert ("To use it name it agentforge-NAME.yaml" in ended.err) is (name != "openai-probed")


def test_a_model_without_rows_has_none_to_write(project: Any) -> None:
    """Nothing is asked of it then."""
    ended = project.run("probe", "model", "--write", str(Path(project.folder) / "agentforge-x.yaml"))

    assert ended.code == 1
    assert "has no vendor row that could be written: its type is scripted" in ended.err


def test_the_key_is_not_in_the_file(project: Any) -> None:
    """Also where the server says it."""
    key = "sk-of-the-tests-0123456789"

    def tells(asked: Asked, turn: Turn) -> Turn:
        return refusal(f"{key} may not do this") if asked.strict else turn

    with ScriptedEndpoint([disguised(tells)], repeat=True) as endpoint:
        bean = f'{{type: openai.chat, model: m, vendor: openai, base_url: "{endpoint.base_url}", api_key: {key}}}'
        project.write("agentforge.yaml", f"agentforge: 1\nbeans:\n  model: {bean}\n")
        ended = project.run("probe", "model", "--write", str(project.folder / "agentforge-x.yaml"))

    text = (project.folder / "agentforge-x.yaml").read_text("utf-8")
    assert "may not do this" in text and "may not do this" in ended.out
    assert key not in text + ended.out + ended.err
