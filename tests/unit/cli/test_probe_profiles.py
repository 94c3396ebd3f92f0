"""What a probe compares with, what it asks at all, and models that are no endpoint."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.testing import ScriptedEndpoint
from tests.support.disguises import Asked, Turn, disguised, refusal


def found(project: Any, beans: str, *words: str, turn: Any = None, bean: str = "model") -> tuple[int, dict[str, Any]]:
    """The exit code, and the capabilities by name; ``URL`` in the beans is the endpoint's address."""
    with ScriptedEndpoint([turn or disguised()], repeat=True) as endpoint:
        project.write("agentforge.yaml", f"agentforge: 1\nbeans:\n{beans.replace('URL', endpoint.base_url)}\n")
        ended = project.run("probe", bean, "--json", *words)
    assert ended.out, ended.err
    return ended.code, {each["name"]: each for each in json.loads(ended.out)["capabilities"]}


CAUTIOUS = (
    '  model: {type: openai.chat, model: m, vendor: generic, base_url: "URL", profile_overrides: {tool_choice: [auto], '
    "strict_tools: false, response_formats: [text], unsupported: {strict_tools: drop, tool_choice.none: map}}}"
)


def test_what_a_profile_refuses_is_asked_all_the_same(project: Any) -> None:
    """More than the profile says is a difference too; what it drops is as if it were not there, what it maps is no
    loss."""
    code, capabilities = found(project, CAUTIOUS)

    assert code == 1
    said = {name: (each["profile"], each["found"], each["agrees"]) for name, each in capabilities.items()}
    assert said["tool_choice.required"] == ("no", "yes", False)
    assert said["strict_tools"] == ("dropped", "yes", False)
    assert said["tool_choice.none"] == ("mapped", "yes", True)
    assert said["tool_choice.allowed"] == ("mapped", "yes", True)
    assert said["response_format.json"] == ("no", "yes", False)


def thinks_and_refuses_forced_calls(asked: Asked, turn: Turn) -> Turn:
    """As some vendors' models do while they think."""
    return refusal("tool_choice is not supported while thinking") if asked.mode in ("required", "tool") else turn


@pytest.mark.parametrize(
    ("disguises", "agrees"), [((thinks_and_refuses_forced_calls,), True), ((), False)], ids=["refuses", "takes"]
)
def test_a_rule_of_the_row_counts_as_what_is_said(project: Any, disguises: tuple[Any, ...], agrees: bool) -> None:
    """A row may refuse while its model thinks what the profile allows; the question is sent all the same."""
    beans = '  model: {type: openai.chat, model: deepseek-reasoner, vendor: deepseek, base_url: "URL", api_key: k}'
    _, capabilities = found(project, beans, turn=disguised(*disguises))
    required = capabilities["tool_choice.required"]

    assert required["profile"] == "no"
    assert required["agrees"] is agrees
    assert ("while thinking" in required["note"]) is agrees


def test_one_capability_is_asked_alone(project: Any) -> None:
    """After the question whether anything comes; a second round asks for the call that it goes on from."""
    beans = '  model: {type: openai.chat, model: m, vendor: openai, base_url: "URL", api_key: k}'
    code, capabilities = found(project, beans, "--only", "tool_result", "--only", "replay")

    assert code == 0
    assert {name: each["found"] for name, each in capabilities.items()} == {
        "answer": "yes",
        "tool_result": "yes",
        "replay": "yes",
    }


def test_a_capability_that_does_not_exist_is_wrong_usage(project: Any) -> None:
    """With the near miss; nothing is asked."""
    ended = project.run("probe", "model", "--only", "tool_choice.require")

    assert ended.code == 2
    assert "Did you mean 'tool_choice.required'?" in ended.err


@pytest.mark.parametrize("option", [("--tries", "0"), ("--max-tokens", "few"), ("--timeout", "-1")])
def test_a_number_that_cannot_be_is_wrong_usage(project: Any, option: tuple[str, str]) -> None:
    ended = project.run("probe", "model", *option)

    assert ended.code == 2 and option[0] in ended.err


@pytest.mark.parametrize(
    ("name", "words"), [("modle", "Did you mean 'model'?"), ("weather", "the bean 'weather' is no chat model")]
)
def test_a_bean_that_is_no_model_is_said(project: Any, name: str, words: str) -> None:
    ended = project.run("probe", name)

    assert ended.code == 1 and words in ended.err


def test_a_model_that_goes_along_at_the_second_try_can(project: Any) -> None:
    """A question is repeated while the answer says nothing; ``--tries 1`` is content with the first."""
    beans = '  model: {type: openai.chat, model: m, vendor: openai, base_url: "URL", api_key: k}'

    def moody() -> Any:
        seen: list[int] = []

        def disguise(asked: Asked, turn: Turn) -> Turn:
            if asked.tools:
                seen.append(1)
            return {"text": "Let me think."} if len(seen) == 1 and asked.tools else turn

        return disguised(disguise)

    assert found(project, beans, "--only", "tools", turn=moody())[1]["tools"]["found"] == "yes"
    assert found(project, beans, "--only", "tools", "--tries", "1", turn=moody())[1]["tools"]["found"] == "no"


def test_an_answer_that_was_cut_says_nothing(project: Any) -> None:
    """The limit of tokens is ours, so what is missing is no difference."""

    def wordy(asked: Asked, turn: Turn) -> Turn:
        return {"text": "Well, let me", "finish_reason": "length"} if asked.tools else turn

    beans = '  model: {type: openai.chat, model: m, vendor: openai, base_url: "URL", api_key: k}'
    code, capabilities = found(project, beans, "--only", "tools", turn=disguised(wordy))

    assert (code, capabilities["tools"]["found"]) == (0, "unsure")
    assert "--max-tokens" in capabilities["tools"]["note"]


def test_a_picture_is_asked_for_where_the_profile_has_it_or_it_is_named(project: Any) -> None:
    beans = (
        '  model: {type: openai.chat, model: m, vendor: openai, base_url: "URL", api_key: k, '
        "profile_overrides: {images: false}}"
    )
    assert "images" not in found(project, beans)[1]
    assert found(project, beans, "--only", "images")[1]["images"]["agrees"] is False


def test_the_defaults_of_a_bean_hold_but_for_those_that_are_asked(project: Any) -> None:
    """A default choice or format would be part of every question."""
    seen: list[Any] = []

    def noting(request: Any) -> Any:
        seen.append(request.body)
        return disguised()(request)

    beans = (
        '  model: {type: openai.chat, model: m, vendor: openai, base_url: "URL", api_key: k, defaults: '
        "{temperature: 0, tool_choice: required, response_format: json, seed: 3, max_output_tokens: 9, stop: [x]}}"
    )
    code, _ = found(project, beans, "--only", "tools", "--max-tokens", "77", turn=noting)

    assert code == 0
    assert [body["temperature"] for body in seen] == [0, 0]
    assert [body["max_completion_tokens"] for body in seen] == [77, 77]
    assert not {"tool_choice", "response_format", "seed", "stop"}.intersection(*seen)


# -- other models ------------------------------------------------------------------------------------------------------


def test_a_fallback_is_asked_as_a_whole(project: Any) -> None:
    """What its first member cannot answer the next one does; only the models that it needs are made."""
    beans = (
        '  first: {type: openai.chat, model: a, vendor: openai, base_url: "http://127.0.0.1:9/v1", api_key: k, '
        "max_retries: 0}\n"
        '  second: {type: openai.chat, model: b, vendor: openai, base_url: "URL", api_key: k}\n'
        "  both: {type: fallback, models: [first, second]}\n"
        "  never: {type: scripted, file: there-is-none.yaml}"
    )
    code, capabilities = found(project, beans, "--only", "tools", "--only", "tool_choice.required", bean="both")

    assert code == 0
    assert capabilities["tools"]["found"] == capabilities["tool_choice.required"]["found"] == "yes"


def test_a_scripted_model_is_asked_as_it_is(project: Any) -> None:
    """It has no endpoint, and says what it says."""
    project.write("agentforge.yaml", "agentforge: 1\nbeans:\n  model: {type: scripted, turns: [ready], repeat: true}\n")
    ended = project.run("probe", "model")

    assert ended.code == 1
    assert "model: it has no endpoint, so only what it lets through is asked" in ended.err
    assert "\ntools                        yes      no <-" in ended.out


def test_tools_in_the_prompt_are_another_matter(project: Any) -> None:
    """A bean that describes its tools in the prompt claims no native ones; that there are some is found."""
    beans = (
        '  model: {type: openai.chat, model: m, vendor: openai, base_url: "URL", api_key: k, tool_mode: json_schema}'
    )
    _, capabilities = found(project, beans, "--only", "tools")

    assert capabilities["tools"] | {"note": ""} == {
        "name": "tools",
        "profile": "by schema",
        "found": "yes",
        "agrees": False,
        "note": "",
    }
