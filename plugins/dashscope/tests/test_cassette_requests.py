"""Recorded requests, asked again from our own history: our reading of the recorded answers, encoded, is what was
recorded, but for what clients wrote in another way. So what answers carry comes back complete and in place, as the
server accepted it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    SystemMessage,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.dashscope.tests.support import body_of
from plugins.dashscope.tests.test_cassettes import decoded

Change = Callable[[dict[str, Any]], None]


def no_stream_in_the_body(body: dict[str, Any]) -> None:
    """The vendor's library says there as well whether it streams, for which there is a header."""
    body["parameters"].pop("stream", None)


def no_text_is_an_empty_one(body: dict[str, Any]) -> None:
    """Beside calls, one client leaves the content out and one writes an empty list; the answers have an empty text."""
    for message in body["input"]["messages"]:
        if message["role"] == "assistant" and not message.get("content"):
            message["content"] = ""


def results_name_their_call(body: dict[str, Any]) -> None:
    """One client gives the id of the call in members of its own."""
    for message in body["input"]["messages"]:
        if message["role"] == "tool" and "tool_call_id" not in message:
            message["tool_call_id"] = message.pop("id")
            del message["extra"]


def schemas_are_objects(body: dict[str, Any]) -> None:
    """One client lists the parameters of a tool in a form of its own."""
    for tool in body["parameters"]["tools"]:
        if isinstance(tool["function"]["parameters"], list):
            tool["function"]["parameters"] = schema_of(tool["function"]["parameters"])


NORMALISED: Mapping[str, Change] = {
    change.__name__: change
    for change in (no_stream_in_the_body, no_text_is_an_empty_one, results_name_their_call, schemas_are_objects)
}


def schema_of(parameters: Any) -> dict[str, Any]:
    if isinstance(parameters, dict):
        return parameters
    properties = {each["name"]: {"type": each["type"], "description": each["description"]} for each in parameters}
    return {
        "type": "object",
        "properties": properties,
        "required": [each["name"] for each in parameters if each["required"]],
    }


def requests(shared: Path) -> Iterator[tuple[str, dict[str, Any], dict[str, Any], int]]:
    """File and position, the recorded body, ours, and how many turns in it are our reading of an answer."""
    for file in sorted((shared / "cassettes" / "dashscope").glob("dashscope-*.json")):
        answers: list[AiMessage] = []
        for position, interaction in enumerate(json.loads(file.read_text())["interactions"]):
            body = interaction["request"]["body"]
            streams = isinstance(interaction["response"]["body"], str)
            history, read = ours(body["input"]["messages"], answers)
            yield f"{file.stem} {position}", body, sent(body, history, streams), read
            answers.append(decoded(interaction["response"]["body"]).ai_message)


def ours(messages: list[dict[str, Any]], answers: list[AiMessage]) -> tuple[list[ChatMessage], int]:
    made: list[ChatMessage] = []
    waiting = iter(answers)
    for message in messages:
        text = message.get("content") or ""
        if message["role"] == "system":
            made.append(SystemMessage(text))
        elif message["role"] == "user":
            made.append(UserMessage(text))
        elif message["role"] == "tool":
            made.append(ToolExecutionResultMessage(message.get("tool_call_id") or message["id"], message["name"], text))
        else:
            made.append(next(waiting))
    return made, sum(isinstance(each, AiMessage) for each in made)


def sent(body: dict[str, Any], history: list[ChatMessage], streams: bool) -> dict[str, Any]:
    given = body["parameters"]
    tools = [
        ToolSpecification(
            tool["function"]["name"],
            tool["function"]["description"],
            ToolParameters(schema_of(tool["function"]["parameters"])),
        )
        for tool in given["tools"]
    ]
    custom = {"incremental_output": given["incremental_output"]}
    parameters = ChatRequestParameters(tools=tools, seed=given.get("seed"), custom_parameters=custom)
    return body_of(history, parameters, model=body["model"], stream=streams)


def normalised(body: dict[str, Any], without: str = "") -> dict[str, Any]:
    made = deepcopy(body)
    for name, change in NORMALISED.items():
        if name != without:
            change(made)
    return made


def test_every_recorded_request_is_encoded_as_it_was(shared: Path) -> None:
    count = turns = 0
    for where, recorded, made, read in requests(shared):
        assert normalised(recorded) == made, where
        count, turns = count + 1, turns + read
    assert (count, turns) == (8, 5)


@pytest.mark.parametrize("name", NORMALISED)
def test_each_normalisation_is_needed(shared: Path, name: str) -> None:
    """Without it, some request differs."""
    assert any(normalised(recorded, without=name) != made for _, recorded, made, _ in requests(shared))
