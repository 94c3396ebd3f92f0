"""Parameters in a file that the model would refuse in every request are found when the file is checked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from agentforge.config import ConfigurationFaults, Diagnostic
from agentforge.container import AgentForge
from agentforge.model import ChatRequestParameters
from agentforge_ollama import OllamaChatModel

LOCAL = "local: {type: ollama.chat, model: qwen3}\n"


class Clock:
    """Tools that are known before anything is made."""

    def known_tools(self) -> tuple[Any, ...]:
        from agentforge.model import ToolSpecification

        return (ToolSpecification("now", "The time."), ToolSpecification("zone", "The zone."))

    async def tools(self, run: object) -> list[Any]:
        raise AssertionError("nothing is asked")


class Remote:
    """Tools that are not."""

    async def tools(self, run: object) -> list[Any]:
        raise AssertionError("nothing is asked")


def faults(beans: str, **given: object) -> tuple[Diagnostic, ...]:
    """What `agentforge check` finds; ``clock``, ``remote`` and those of ``given`` are objects of the program."""
    objects = {"clock": Clock(), "remote": Remote(), **given}

    def filled(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: filled(each) for name, each in value.items()}
        if isinstance(value, list):
            return [filled(each) for each in value]
        return objects.get(value, value) if isinstance(value, str) else value

    return found_in(AgentForge.from_mapping({"beans": filled(yaml.safe_load(beans))}, environment={}))


def found_in(app: AgentForge) -> tuple[Diagnostic, ...]:
    """All faults of an application."""
    try:
        app.check()
    except ConfigurationFaults as error:
        return error.diagnostics
    return ()


def told(found: tuple[Diagnostic, ...]) -> list[tuple[str, str]]:
    """Their codes and places."""
    return [(each.code, each.path or "") for each in found]


@pytest.mark.parametrize(
    ("defaults", "refused"),
    [
        ("tool_choice: required", ["tool_choice"]),
        ("tool_choice: find", ["tool_choice"]),
        ("tool_choice: auto", []),
        ("tool_choice: none", []),
        ("tool_choice: [find, look]", []),
        ("parallel_tool_calls: false", ["parallel_tool_calls"]),
        ("parallel_tool_calls: true", []),
        ("response_format: json", []),  # beside tools only
        ("seed: 1, temperature: 0", []),
        ("custom_parameters: {messages: []}", ["custom_parameters.messages"]),
        (
            "parallel_tool_calls: false, tool_choice: required, custom_parameters: {stream: true}",
            ["custom_parameters.stream", "tool_choice", "parallel_tool_calls"],
        ),
    ],
)
def test_defaults_of_a_model(defaults: str, refused: list[str]) -> None:
    """Each that is always refused, at its place; the others pass."""
    found = faults(f"it: {{type: ollama.chat, model: qwen3, defaults: {{{defaults}}}}}\n")

    assert sorted(told(found)) == sorted(("AF313", f"beans.it.defaults.{name}") for name in refused)
    assert all(each.next_step for each in found)


@pytest.mark.parametrize(
    ("client", "refused"),
    [
        ("tools: [clock], tool_choice: required", ["tool_choice"]),
        ("tools: [clock], tool_choice: now", ["tool_choice"]),
        ("tools: [clock], parameters: {tool_choice: required}", ["parameters.tool_choice"]),
        ("tools: [clock], tool_choice: auto, parameters: {tool_choice: required}", []),
        ("tools: [clock], parameters: {parallel_tool_calls: false}", ["parameters.parallel_tool_calls"]),
        ("parameters: {parallel_tool_calls: false}", []),  # without tools it says nothing
        ("tools: [clock], parameters: {response_format: json}", ["parameters.response_format"]),
        ("parameters: {response_format: json}", []),
        ("tools: [remote], tool_choice: required", ["tool_choice"]),
        ("tools: [remote], parameters: {response_format: json}", []),  # it may offer none
        ("tools: [clock], tool_choice: none", []),
        ("tools: [clock]", []),
    ],
)
def test_parameters_of_a_client(client: str, refused: list[str]) -> None:
    """Beside its model, and beside its tools where it is known whether there are any."""
    found = faults(f"{LOCAL}it: {{type: chat_client, model: local, {client}}}\n")

    assert told(found) == [("AF313", f"beans.it.{name}") for name in refused]


def test_the_place_is_that_of_the_parameter_and_the_way_out_is_that_of_the_model(tmp_path: Path) -> None:
    file = tmp_path / "agentforge.yaml"
    file.write_text(
        "beans:\n"
        "  local:\n"
        "    type: ollama.chat\n"
        "    model: qwen3\n"
        "    defaults:\n"
        "      seed: 1\n"
        "      tool_choice: required\n",
        encoding="utf-8",
    )
    [found] = found_in(AgentForge.load(file, environment={}))

    assert str(found.mark) == f"{file}:7:20"
    assert "tool_choice: auto" in (found.next_step or "") and "drop" in (found.next_step or "")


@pytest.mark.parametrize(
    "model",
    [
        "{type: ollama.chat, model: qwen3, profile_overrides: {unsupported: {tool_choice: drop}}}",
        "{type: ollama.chat, model: qwen3, tool_mode: json_schema}",
        "{type: scripted, turns: [x]}",
    ],
    ids=["left out", "tools in the prompt", "a model that cannot tell"],
)
def test_what_the_model_makes_of_it_otherwise_is_no_fault(model: str) -> None:
    client = "it: {type: chat_client, model: local, tools: [clock], tool_choice: required}\n"

    assert faults(f"local: {model}\n{client}") == ()


def test_a_model_of_the_program_is_asked_too(tmp_path: Path) -> None:
    client = "it: {type: chat_client, model: mine, tools: [clock], tool_choice: required}\n"
    mine = OllamaChatModel(model="qwen3", environment={})

    assert told(faults(client, mine=mine)) == [("AF313", "beans.it.tool_choice")]


def test_a_model_says_why_it_refuses_parameters_and_sends_nothing() -> None:
    model = OllamaChatModel(model="qwen3", defaults=ChatRequestParameters(seed=1), environment={})
    refused = model.refusal(ChatRequestParameters(custom_parameters={"messages": []}))

    assert refused is not None and "'messages'" in refused.message
    assert model.refusal(ChatRequestParameters(temperature=0)) is None
