"""Parameters of requests in a file: what a program can say of the choice of tools and of the form of answers."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from agentforge import AgentForge
from agentforge.client import ChatClient
from agentforge.config import ConfigurationFaults
from agentforge.model import ChatRequestParameters, ResponseFormat, ToolChoice

P = ChatRequestParameters
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}


def application(text: str, key: str = "parameters") -> AgentForge:
    """A client with these parameters, and two tools."""
    bot = {"type": "chat_client", "model": "model", "tools": ["tools"], key: yaml.safe_load(text)}
    tools = {"type": "declared_tools", "executor": "runner", "tools": [{"name": "look"}, {"name": "book"}]}
    model = {"type": "scripted", "turns": ["Hi"]}
    return AgentForge.from_mapping(
        {"beans": {"model": model, "runner": {"type": "return_to_model"}, "tools": tools, "bot": bot}}, environment={}
    )


def faults(text: str, key: str = "parameters") -> list[tuple[str, str | None]]:
    """What `check` finds, without what is wrong with the tools' executor."""
    try:
        application(text, key).check()
    except ConfigurationFaults as found:
        return [(each.message, each.next_step) for each in found.diagnostics if each.path.startswith("beans.bot")]
    return []


SAID = {
    "nothing": ("{}", P()),
    "no calls": ("tool_choice: none", P(tool_choice=ToolChoice.NONE)),
    "as the model likes": ("tool_choice: auto", P(tool_choice=ToolChoice.AUTO)),
    "any call": ("tool_choice: required", P(tool_choice=ToolChoice.REQUIRED)),
    "one tool": ("tool_choice: look", P(tool_choice=ToolChoice.tool("look"))),
    "a list": ("tool_choice: [look, book]", P(tool_choice=ToolChoice.allowed(["look", "book"]))),
    "a list of one": ("tool_choice: [look]", P(tool_choice=ToolChoice.allowed(["look"]))),
    "allowed": ("tool_choice: {allowed: [look]}", P(tool_choice=ToolChoice.allowed(["look"]))),
    "one of the allowed": (
        "tool_choice: {allowed: [look, book], required: true}",
        P(tool_choice=ToolChoice.allowed(["look", "book"], required=True)),
    ),
    "text": ("response_format: text", P(response_format=ResponseFormat.TEXT)),
    "any JSON": ("response_format: json", P(response_format=ResponseFormat.JSON)),
    "a schema": (
        "response_format: {json_schema: {type: object, properties: {city: {type: string}}}}",
        P(response_format=ResponseFormat.json_schema(SCHEMA)),
    ),
    "a schema with all there is": (
        "response_format: {json_schema: {type: object}, name: place, strict: null, description: A place.}",
        P(
            response_format=ResponseFormat.json_schema(
                {"type": "object"}, name="place", strict=None, description="A place."
            )
        ),
    ),
    "the most effort": ("reasoning_effort: max", P(reasoning_effort="max")),
}


@pytest.mark.parametrize("case", SAID)
def test_a_file_says_what_a_program_can(case: str) -> None:
    from agentforge.plugin import ParameterSettings

    text, parameters = SAID[case]
    made = ParameterSettings.model_validate(yaml.safe_load(text)).made()

    assert made == parameters and made.response_format == parameters.response_format
    if made.response_format is not None and parameters.response_format is not None:
        assert made.response_format.schema == parameters.response_format.schema
    assert faults(text) == []


REFUSED = {
    "a choice in capitals": (
        "tool_choice: Required",
        "'tool_choice' does not fit: it is auto, none, required or names",
        "Did you mean 'required'?",
    ),
    "no name": (
        "tool_choice: ''",
        "'tool_choice' does not fit: a name of a tool is empty",
        "Write auto, none, required, the name of a tool, or a list of names.",
    ),
    "no names": ("tool_choice: []", "'tool_choice' does not fit: it names no tool", "Write auto, none, required"),
    "an empty name": ("tool_choice: [look, '']", "a name of a tool is empty", "Write auto"),
    "nothing allowed": ("tool_choice: {allowed: []}", "'allowed' has at least 1 item", "Write at least 1 item."),
    "a misspelt key": (
        "tool_choice: {allowed: [look], requird: true}",
        "unknown setting 'requird'",
        "Did you mean 'required'?",
    ),
    "a truth that is none": (
        "tool_choice: {allowed: [look], required: maybe}",
        "'required' is true or false",
        "Write true or false.",
    ),
    "a tool that is not there": (
        "tool_choice: [look, bok]",
        "'tool_choice' names 'bok', and no tool of this client has that name",
        "Did you mean 'book'?",
    ),
    "a form that is none": (
        "response_format: jsn",
        "'response_format' is 'text' or 'json' or a mapping",
        "Did you mean 'json'?",
    ),
    "a form without a schema": (
        "response_format: {name: place}",
        "the setting 'json_schema' is missing",
        "Add 'json_schema: …'.",
    ),
    "a schema that is none": (
        "response_format: {json_schema: {type: objekt}}",
        "'json_schema' does not fit: the mapping cannot be the type of an answer",
        "Correct the schema.",
    ),
    "a wire's own words": (
        "response_format: {type: json_schema, json_schema: {type: object}}",
        "unknown setting 'type'",
        "Known here: json_schema, name, strict, description.",
    ),
    "a name that no wire takes": (
        "response_format: {json_schema: {type: object}, name: my place}",
        "'name' is a text of the form",
        "Correct the text.",
    ),
    "an effort that is none": (
        "reasoning_effort: hgih",
        "'reasoning_effort' is 'none', 'minimal', 'low', 'medium', 'high', 'xhigh' or 'max'",
        "Did you mean 'high'?",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_is_one_fault_with_a_way_out(case: str) -> None:
    text, message, step = REFUSED[case]
    [(found, next_step)] = faults(text)

    assert message in found
    assert next_step is not None and next_step.startswith(step)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("none", []),
        ("look", []),
        ("[look, book]", []),
        ("{allowed: [look], required: true}", []),
        ("Required", ["'tool_choice' does not fit: it is auto, none, required or names"]),
        ("''", ["'tool_choice' does not fit: a name of a tool is empty"]),
        ("[lok]", ["'tool_choice' names 'lok', and no tool of this client has that name"]),
    ],
)
def test_the_choice_of_a_client_is_said_in_the_same_words(text: str, found: list[str]) -> None:
    assert [message for message, _ in faults(text, "tool_choice")] == found


async def test_a_clients_own_choice_stands_over_that_of_its_parameters() -> None:
    """And each reaches the requests."""
    bot: dict[str, Any] = {"type": "chat_client", "model": {"type": "scripted", "turns": ["Hi"]}}
    beans = {
        "one": {**bot, "parameters": {"tool_choice": "none", "response_format": "json"}},
        "two": {**bot, "parameters": {"tool_choice": "none"}, "tool_choice": "auto"},
    }
    async with AgentForge.from_mapping({"beans": beans}, environment={}) as app:
        one, two = app.get("one"), app.get("two")
        assert isinstance(one, ChatClient) and isinstance(two, ChatClient)

        assert (one.tool_choice, two.tool_choice) == (ToolChoice.NONE, ToolChoice.AUTO)
        assert one.parameters.response_format == ResponseFormat.JSON
