"""`agentforge tools show NAME --provider X`: a tool as a provider would get it, without a request."""

from __future__ import annotations

import json
from typing import Any

import pytest

FILE = """
agentforge: 1
scan: [MODULE]
beans:
  model: {type: scripted, turns: []}
  mine: {type: openai.chat, model: m, base_url: "http://127.0.0.1:9/v1", names: error}
  weather: {type: python_tools, component: WeatherTools, rename: {get_weather: "weather.now"}}
  assistant: {type: chat_client, model: model, tools: [weather]}
"""


def shown(project: Any, provider: str, *more: str) -> Any:
    """What the command prints of the one tool."""
    project.write("agentforge.yaml", FILE)
    return project.run("tools", "show", "weather.now", "--provider", provider, *more)


def test_a_vendor_gets_the_tool_in_its_own_form(project: Any) -> None:
    """The name it can take, and a word on that it is another."""
    ended = shown(project, "deepseek")

    assert ended.code == 0
    assert "\nas openai.chat of deepseek gets it:\n" in ended.out
    assert '"name": "weather_now_' in ended.out
    assert "tool_name: the tool 'weather.now' goes under the name 'weather_now_" in ended.out


@pytest.mark.parametrize("name", ["openai", "openai.chat"])
def test_a_plugin_and_a_type_are_providers_too(project: Any, name: str) -> None:
    """As data: each model that the name stands for."""
    found = json.loads(shown(project, name, "--json").out)
    chat = next(each for each in found["providers"] if each["model"] == "openai.chat")

    assert found["name"] == "weather.now"
    assert chat["tool"]["function"]["parameters"]["required"] == ["city"]
    assert [change["code"] for change in chat["changed"]] == ["tool_name"]
    assert chat["refused"] is None


@pytest.mark.parametrize(
    ("provider", "refusal"),
    [
        ("mine", "the tool name 'weather.now'; names must match"),
        ("dashscope", "the tool name 'weather.now'; names must match"),
    ],
)
def test_what_would_be_refused_is_said(project: Any, provider: str, refusal: str) -> None:
    """With the way out; a model of the file with its own settings."""
    ended = shown(project, provider)

    assert ended.code == 1
    assert refusal in ended.out
    assert "Rename the tool" in ended.out

    [found] = json.loads(shown(project, provider, "--json").out)["providers"][:1]
    assert refusal in found["refused"] and "Rename the tool" in found["next_step"]


@pytest.mark.parametrize(
    ("provider", "words"),
    [("deepsek", "Did you mean 'deepseek'?"), ("model", "it is a ScriptedChatModel")],
)
def test_a_name_that_stands_for_no_provider_is_an_error(project: Any, provider: str, words: str) -> None:
    """Also a model that asks none."""
    ended = shown(project, provider)

    assert ended.code == 1
    assert words in ended.err


def test_what_an_automatic_strict_form_changes_is_shown_though_no_request_says_it(project: Any) -> None:
    """It is nobody's wish, so that a reply says nothing; whoever looks wants to know."""
    project.write(
        "auto_tools.py",
        "from typing import Annotated\n\nfrom pydantic import Field\n\nfrom agentforge import tool\n\n\n"
        "class AutoTools:\n"
        '    @tool("Pays.", strict="auto")\n'
        "    def pay(self, note: Annotated[str, Field(min_length=2)]) -> str:\n"
        '        return "paid"\n',
    )
    project.write(
        "agentforge.yaml",
        "agentforge: 1\nscan: [auto_tools]\nbeans:\n  model: {type: scripted, turns: []}\n"
        "  pay: {type: python_tools, component: AutoTools}\n"
        "  assistant: {type: chat_client, model: model, tools: [pay]}\n",
    )
    found = json.loads(project.run("tools", "show", "pay", "--provider", "anthropic", "--json").out)["providers"][0]
    assert found["tool"]["strict"] is True
    assert [change["code"] for change in found["changed"]] == ["schema_narrowed"]
