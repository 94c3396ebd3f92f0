"""Requests of ours fit the types of a request in the official package, in which unknown keys are forbidden.

The package is behind the server in a few places. What it does not know is listed here by its place; each entry is in
the server's own types, and each is needed.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    ImageContent,
    ProviderState,
    ResponseFormat,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from plugins.ollama.tests.support import OWNER, body_of
from tests.support import request_table
from tests.support.wire_exchange import TIME, WEATHER

#: Place and key of what the server has and the package has not.
BEYOND = (
    ("request", "truncate"),
    ("message", "tool_call_id"),
    ("call", "id"),
    ("function of a call", "index"),
    ("property", "anyOf"),
    ("property", "properties"),
    ("property", "required"),
)


def objects(body: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """The objects of a request that the list names, with their places."""
    yield "request", body
    for message in body["messages"]:
        yield "message", message
        for call in message.get("tool_calls", ()):
            yield "call", call
            yield "function of a call", call["function"]
    for tool in body.get("tools", ()):
        for inner in tool["function"]["parameters"]["properties"].values():
            yield "property", inner


def without(body: dict[str, Any], beyond: tuple[tuple[str, str], ...] = BEYOND) -> dict[str, Any]:
    made = copy.deepcopy(body)
    for place, found in objects(made):
        for key in [key for where, key in beyond if where == place]:
            found.pop(key, None)
    return made


def check(body: dict[str, Any]) -> None:
    """Raise `ValueError` for what the package refuses, and for what it would not send on."""
    from ollama._types import ChatRequest, Message, Tool

    # Messages one by one, as the type of a request also takes any mapping for one.
    said = [("message", Message, message) for message in body["messages"]]
    said += [("tool", Tool, tool) for tool in body.get("tools", ())]
    said.append(("request", ChatRequest, {**body, "messages": [], "tools": []}))
    for what, kind, value in said:
        # An image is wrapped by the package's client, which sends what is in it.
        images = {"images": [{"value": data} for data in value["images"]]} if "images" in value else {}
        back = kind.model_validate({**value, **images}).model_dump(by_alias=True, exclude_unset=True)
        if back != value:
            raise ValueError(f"of a {what} only {back} is known: {value}")


NESTED = ToolSpecification(
    "nested",
    "takes much",
    ToolParameters(
        {
            "type": "object",
            "properties": {
                "unit": {"type": "string", "enum": ["a", "b"]},
                "where": {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/Point"}], "description": "a place"},
                "points": {"type": "array", "items": {"$ref": "#/$defs/Point"}, "minItems": 1},
                "from": {"$ref": "#/$defs/Point"},
                "maybe": {"type": ["integer", "null"], "minimum": 1, "default": 3},
            },
            "required": ["unit"],
            "additionalProperties": False,
            "$defs": {"Point": {"type": "object", "properties": {"x": {"type": "number"}}, "required": ["x"]}},
        }
    ),
)
OWN = ProviderState(OWNER, {"field": "thinking"})
CALL = ToolExecutionRequest("call_1", "get_weather", '{"city": "Oslo"}')

HISTORIES: dict[str, list[ChatMessage]] = {
    "a question": [UserMessage("q")],
    "instructions": [SystemMessage("be brief"), UserMessage("q"), AiMessage("a"), SystemMessage("be briefer")],
    "images": [UserMessage([TextContent("see"), ImageContent(data="QUJD")])],
    "a loop": [
        UserMessage("q"),
        AiMessage(
            [ThinkingContent("hm", OWN), TextContent("I look."), CALL, ToolExecutionRequest("c", "get_time", "")]
        ),
        ToolExecutionResultMessage("call_1", "get_weather", [TextContent("see"), ImageContent(data="QUJD")]),
        ToolExecutionResultMessage("c", "get_time", "no clock", is_error=True),
    ],
    "foreign": [
        UserMessage("q"),
        AiMessage([ThinkingContent("t", ProviderState("other", {"x": 1})), ToolExecutionRequest("|", "a/b", "{bad")]),
        ToolExecutionResultMessage("|", "a/b", "x"),
    ],
}
PARAMETERS: dict[str, dict[str, Any]] = {
    **request_table.PARAMETERS,
    "sampling": {"temperature": 0.5, "top_p": 0.9, "max_output_tokens": 9, "stop": ["END"], "seed": 7},
    "tools": {"tools": [WEATHER, TIME, NESTED]},
    "json": {"response_format": ResponseFormat.JSON},
    "a level": {"reasoning_effort": "high"},
    "no thinking": {"reasoning_effort": "none"},
    "the server's own": {
        "custom_parameters": {"keep_alive": "10m", "options": {"num_ctx": 4096, "top_k": 40}, "logprobs": True}
    },
}


@pytest.mark.parametrize(("history", "asked"), list(itertools.product(HISTORIES, PARAMETERS)))
def test_every_request_fits_the_types(history: str, asked: str) -> None:
    check(without(body_of(HISTORIES[history], ChatRequestParameters(**PARAMETERS[asked]))))


@pytest.mark.parametrize("left", BEYOND)
def test_each_entry_of_the_list_is_needed(left: tuple[str, str]) -> None:
    """Without it, some request would not fit."""
    body = body_of(HISTORIES["a loop"], ChatRequestParameters(**PARAMETERS["tools"]))
    with pytest.raises(ValueError, match=f"is known: .*'{left[1]}'"):
        check(without(body, tuple(entry for entry in BEYOND if entry != left)))


@pytest.mark.parametrize(
    "change",
    [
        {"surplus": 1},
        {"tool_choice": "required"},
        {"stream": "yes, please"},
        {"messages": [{"role": "user", "content": "q", "surplus": 1}]},
        {"messages": [{"role": "user", "content": [{"type": "text", "text": "q"}]}]},
        {"messages": [{"role": "assistant", "tool_calls": [{"function": {"name": "a", "arguments": "{}"}}]}]},
        {"tools": [{"type": "function", "function": {"name": "a", "strict": True}}]},
        {"tools": [{"function": {"parameters": {"properties": {"a": {"type": "string", "default": 1}}}}}]},
    ],
)
def test_the_check_finds_what_does_not_fit(change: dict[str, Any]) -> None:
    """A test of the test: unknown keys and wrong values, at every depth."""
    with pytest.raises(ValueError, match=r"known|validation error"):
        check({**without(body_of("q")), **change})


@settings(max_examples=40, deadline=None)
@given(request_table.histories(ThinkingContent("t", OWN), characters=st.characters(codec="utf-8")))
def test_any_history_becomes_a_valid_request(history: list[ChatMessage]) -> None:
    """Results follow their calls, in their order, by ids that no other call has."""
    body = body_of([*history, UserMessage("and?")])
    check(without(body))
    waiting: list[str] = []
    seen: list[str] = []
    for message in body["messages"]:
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
            continue
        assert not waiting
        waiting = [call["id"] for call in message.get("tool_calls", ())]
        seen += waiting
    assert len(set(seen)) == len(seen) and not waiting
