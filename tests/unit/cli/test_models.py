"""`agentforge models`: the models of a configuration, and the vendors that the plugins know."""

from __future__ import annotations

import json
import re
from typing import Any

FILE = """
agentforge: 1
beans:
  main: {type: openai.chat, model: gpt-4.1, api_key: sk-of-the-tests-0123456789}
  house:
    type: openai.chat
    model: large
    base_url: "https://llm.example/v1"
    vendor: {like: generic, name: house, capabilities: {images: false}}
  other: {type: anthropic.messages, model: claude-opus-4-8, api_key: "sk-of-the-tests-0123456789"}
  vectors: {type: openai.embeddings, model: text-embedding-3-small, api_key: "sk-of-the-tests-0123456789"}
  both: {type: fallback, models: [main, other]}
  script: {type: scripted, turns: [Hello.], name: rehearsal}
  assistant: {type: chat_client, model: both}
"""


def test_every_model_of_the_file_with_where_it_is_asked(project: Any) -> None:
    """In the order of the file; a group by its members, a model without an endpoint by its name; no key."""
    project.write("agentforge.yaml", FILE)
    ended = project.run("models")

    assert (ended.code, ended.err) == (0, "")
    assert [line.split() for line in ended.out.splitlines()] == [
        ["id", "type", "model", "vendor", "endpoint"],
        ["main", "openai.chat", "gpt-4.1", "openai", "https://api.openai.com/v1"],
        ["house", "openai.chat", "large", "house", "https://llm.example/v1"],
        ["other", "anthropic.messages", "claude-opus-4-8", "anthropic", "https://api.anthropic.com"],
        ["vectors", "openai.embeddings", "text-embedding-3-small", "openai", "https://api.openai.com/v1"],
        ["both", "fallback", "main,", "other", "-", "-"],
        ["script", "scripted", "rehearsal", "-", "-"],
    ]


def test_as_data_with_what_each_can_do(project: Any) -> None:
    """Every field of the profile, sets as sorted lists; of what has no profile, none."""
    project.write("agentforge.yaml", FILE)
    ended = project.run("models", "--json")
    models = {each["id"]: each for each in json.loads(ended.out)}

    assert models["house"]["profile"]["images"] is False
    assert models["house"]["profile"]["tool_choice"] == ["auto", "none", "required", "tool"]
    assert models["house"]["profile"]["unsupported"] == {"tool_name": "map", "tool_choice.allowed": "map"}
    assert models["vectors"]["profile"] is None and models["both"]["profile"] is None
    assert "sk-of-the-tests" not in ended.out


def test_a_file_without_models_has_none(project: Any) -> None:
    project.write("agentforge.yaml", "agentforge: 1\nbeans: {}\n")

    assert project.run("models").err == "the configuration has no models\n"
    assert project.run("models", "--json").out == "[]\n"


def test_the_vendors_that_are_known_need_no_configuration(project: Any) -> None:
    """One line a vendor and type, with what its models can do unless a bean says otherwise."""
    ended = project.run("models", "--profiles", environment={"AGENTFORGE_CONFIG": "there-is-none.yaml"})
    head, *lines = [re.split(r" {2,}", line.rstrip()) for line in ended.out.splitlines()]
    rows = {(line[0], line[1]): dict(zip(head, line, strict=True)) for line in lines}

    assert ended.code == 0
    said = rows["ollama", "openai.chat"]
    assert said["tools"] == "native" and said["parallel calls"] == "always" and said["strict"] == "no"
    assert said["choices"] == "auto, none (mapped), allowed (mapped)"
    assert (said["calls in pieces"], said["media"], said["sent back"]) == ("yes", "images", "reasoning")
    deepseek = rows["deepseek", "openai.chat"]
    assert (deepseek["address"], deepseek["key"]) == ("https://api.deepseek.com", "DEEPSEEK_API_KEY (needed)")
    assert rows["perplexity", "openai.chat"]["choices"] == "\N{EN DASH}"
    assert ("openai", "openai.responses") in rows and ("perplexity", "openai.responses") not in rows


def test_a_vendor_of_the_list_can_be_named_for_the_other_api_all_the_same(project: Any) -> None:
    """What no page says may be so; the list only does not promise it."""
    project.write(
        "agentforge.yaml",
        "agentforge: 1\nbeans:\n  m: {type: openai.responses, model: m, vendor: groq, api_key: not-a-real-one}\n",
    )

    assert project.run("check").code == 0


def test_the_vendors_as_data_say_where_they_live_and_who_brought_them(project: Any) -> None:
    found = json.loads(project.run("models", "--profiles", "--json").out)
    [row] = [each for each in found if (each["type"], each["vendor"]) == ("openai.chat", "deepseek")]

    assert row | {"profile": None} == {
        "type": "openai.chat",
        "vendor": "deepseek",
        "plugin": "openai",
        "endpoint": "https://api.deepseek.com",
        "key_variable": "DEEPSEEK_API_KEY",
        "key_required": True,
        "profile": None,
    }
    assert row["profile"]["replay"] == ["reasoning_content"]


def test_a_vendor_that_a_plugin_brings_is_among_them(project: Any, monkeypatch: Any) -> None:
    """With its plugin; one that is wrong is said and left out."""
    module = f"{project.module}_vendors"
    project.write(
        f"{module}.py",
        "from agentforge.plugin import hookimpl\n\n\n"
        "@hookimpl\n"
        "def agentforge_vendor_profiles(register):\n"
        "    register('openai', 'house', {'base_url': 'https://llm.example/v1', 'capabilities': {'images': False}})\n"
        "    register('openai', 'broken', {'base_url': 'https://llm.example/v1', 'capabilities': {'imagse': False}})\n",
    )
    project.install("houses", module)
    monkeypatch.syspath_prepend(project.folder)
    ended = project.run("models", "--profiles", "--json")
    found = {(each["type"], each["vendor"]): each for each in json.loads(ended.out)}

    assert found["openai.chat", "house"]["plugin"] == "houses"
    assert found["openai.chat", "house"]["profile"]["images"] is False
    assert ("openai.chat", "broken") not in found
    assert "the vendor 'broken' of openai.chat is left out" in ended.err and "imagse" in ended.err
