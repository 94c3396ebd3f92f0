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


def deaf(asked: Asked, turn: Turn) -> Turn:
    """No system message is heard, calls are lost in streams, and one call comes at a time."""
    if asked.system:
        return {"text": "Paris."}
    if asked.streamed and "calls" in turn:
        return {"text": ""}
    return {**turn, "calls": turn["calls"][:1]} if "calls" in turn else turn


def test_what_no_row_can_say_is_said_beside_it(project: Any) -> None:
    """In the comments, on standard error and as data; what the row holds is not among it."""
    with ScriptedEndpoint([disguised(deaf)], repeat=True) as endpoint:
        for_people = written(project, endpoint, ", vendor: openai", "agentforge-a.yaml")
        for_programs = written(project, endpoint, ", vendor: openai", "agentforge-b.yaml", "--json")
        again = project.run("probe", "model", "--profile", "a", "--json")

    text = (project.folder / "agentforge-a.yaml").read_text("utf-8")
    left_out = ["system", "streamed_calls"]
    assert "# No row can say this, so it is not in this one: system, streamed_calls.\n" in text
    assert text.count("(the profile said yes; not in the row)\n") == 2
    assert "the row cannot say this: system, streamed_calls\n" in for_people.err
    assert json.loads(for_programs.out)["not_in_file"] == left_out
    assert [each["name"] for each in json.loads(again.out)["capabilities"] if each["agrees"] is False] == left_out


def test_what_keeps_a_row_from_holding_is_told_too(project: Any) -> None:
    """The bean's own ``tool_mode`` goes before a row's."""
    with ScriptedEndpoint([disguised()], repeat=True) as endpoint:
        ended = written(
            project, endpoint, ", vendor: openai, tool_mode: json_schema", "agentforge-a.yaml", "--only", "tools"
        )

    assert "the row cannot say this: tools\n" in ended.err


@pytest.mark.parametrize("none", ["refused", "ignored"])
def test_a_choice_that_has_another_way_stays_mapped(project: Any, none: str) -> None:
    """No tools are offered for ``none``, fewer for a list of allowed ones; neither is refused with the row."""

    def only_auto(asked: Asked, turn: Turn) -> Turn:
        if asked.mode in ("required", "tool", "allowed") or (asked.mode == "none" and none == "refused"):
            return refusal("only auto is taken")
        if asked.mode == "none" and asked.tools:
            return {"calls": [{"name": "get_weather", "args": {"city": "Oslo"}}]}
        return turn

    with ScriptedEndpoint([disguised(only_auto)], repeat=True) as endpoint:
        first = written(project, endpoint, ", vendor: openai", "agentforge-found.yaml")
        second = project.run("probe", "model", "--profile", "found", "--json")

    vendor = yaml.safe_load((project.folder / "agentforge-found.yaml").read_text("utf-8"))["beans"]["model"]["vendor"]
    assert vendor["capabilities"]["tool_choice"] == ["auto"]
    assert vendor["capabilities"]["unsupported"] == {"tool_choice.none": "map", "tool_choice.allowed": "map"}
    says = {each["name"]: each["profile"] for each in json.loads(second.out)["capabilities"]}
    assert (says["tool_choice.none"], says["tool_choice.allowed"]) == ("mapped", "mapped")
    assert (first.code, second.code) == (1, 0)


def test_a_policy_of_the_bean_for_a_choice_stays(project: Any) -> None:
    """Who wants an error, or a notice, gets that."""

    def no_ban(asked: Asked, turn: Turn) -> Turn:
        return refusal("none is not taken") if asked.mode == "none" else turn

    own = ", vendor: {like: openai, name: house, capabilities: {unsupported: {tool_choice.none: drop}}}"
    with ScriptedEndpoint([disguised(no_ban)], repeat=True) as endpoint:
        written(project, endpoint, own, "agentforge-found.yaml")

    vendor = yaml.safe_load((project.folder / "agentforge-found.yaml").read_text("utf-8"))["beans"]["model"]["vendor"]
    assert "none" not in vendor["capabilities"]["tool_choice"] and "unsupported" not in vendor["capabilities"]


def test_where_nothing_was_found_that_a_row_could_say_there_is_no_file(project: Any) -> None:
    with ScriptedEndpoint([disguised()], repeat=True) as endpoint:
        ended = written(project, endpoint, ", vendor: openai", "agentforge-x.yaml", "--only", "streamed_calls")
        data = written(project, endpoint, ", vendor: openai", "agentforge-x.yaml", "--only", "stream", "--json")

    assert ended.code == 0 and not (project.folder / "agentforge-x.yaml").exists()
    assert "not written, as nothing was found that a row could say" in ended.err and "written" not in ended.out
    assert json.loads(data.out)["file"] is None


def test_a_row_in_which_nothing_differs_says_so(project: Any) -> None:
    """It is written, as it holds what was found against later changes of ours."""
    with ScriptedEndpoint([disguised()], repeat=True) as endpoint:
        ended = written(project, endpoint, ", vendor: openai", "agentforge-x.yaml", "--only", "tools")

    assert ended.out.endswith("written, though nothing differs from the profile\n")
    assert "# Nothing differs from the profile of that day" in (project.folder / "agentforge-x.yaml").read_text("utf-8")


def test_a_profile_has_the_name_of_its_own_configuration(project: Any) -> None:
    """Of ``--config mine.yaml`` it is ``mine-NAME.yaml``; another name is no profile, and that is said."""
    with ScriptedEndpoint([disguised()], repeat=True) as endpoint:
        bean = f'{{type: openai.chat, model: m, vendor: openai, base_url: "{endpoint.base_url}", api_key: k}}'
        mine = project.write("mine.yaml", f"agentforge: 1\nbeans:\n  model: {bean}\n")
        words = ("probe", "model", "--only", "tools", "--config", str(mine), "--write")
        other = project.run(*words, str(project.folder / "agentforge-found.yaml"))
        right = project.run(*words, str(project.folder / "mine-found.yaml"))

    assert "name it mine-NAME.yaml beside mine.yaml" in other.err
    assert right.err.endswith("next: agentforge check --profile found\n")
    assert project.run("check", "--config", str(mine), "--profile", "found").code == 0


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
