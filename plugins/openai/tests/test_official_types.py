"""What we send is what the vendor's own package would send: its request types take it, with no key that they do not
name. Each history with each set of parameters, for the rows that these types are of."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

import pytest

from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    FileContent,
    ImageContent,
    ProviderState,
    ResponseFormat,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolParameters,
    ToolSpecification,
    UserMessage,
)
from agentforge.provider import provider_id
from agentforge_openai import VENDORS
from plugins.openai.tests.support import FakeTransport, model_on
from tests.support.official_types import StrictAdapter, strict_adapter

PERSON = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1},
        "born": {"type": "string", "format": "date"},
        "home": {"$ref": "#/$defs/place"},
        "tags": {"type": "array", "items": {"type": "string"}},
    },
    "required": ["name"],
    "$defs": {"place": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
FIND = ToolSpecification("find", "finds a person", ToolParameters(PERSON))
LOOK = ToolSpecification("look", parameters=ToolParameters({}))
STRICT = ToolSpecification("store", "stores a person", ToolParameters(PERSON), True)
DOTTED = ToolSpecification("files/read file", "reads")
TOOLS = (FIND, LOOK, DOTTED)

PARAMETERS: dict[str, dict[str, Any]] = {
    "none": {},
    "sampling": {"temperature": 0, "top_p": 0.5, "max_output_tokens": 9, "seed": 7, "stop": ["a", "b"]},
    "one stop": {"stop": "a"},
    "tools": {"tools": TOOLS},
    "strict tools": {"tools": (STRICT, FIND)},
    "strict where it can be": {"tools": [ToolSpecification("a", "does", ToolParameters(PERSON), "auto")]},
    "strict as everywhere": {"tools": [ToolSpecification("a", "does", ToolParameters(PERSON), "portable")]},
    "auto": {"tools": TOOLS, "tool_choice": "auto", "parallel_tool_calls": True},
    "no call": {"tools": TOOLS, "tool_choice": "none", "parallel_tool_calls": False},
    "any call": {"tools": TOOLS, "tool_choice": "required"},
    "one tool": {"tools": TOOLS, "tool_choice": "look"},
    "one tool with an alias": {"tools": TOOLS, "tool_choice": "files/read file"},
    "allowed": {"tools": TOOLS, "tool_choice": ToolChoice.allowed(["look", "files/read file"])},
    "one of the allowed": {"tools": TOOLS, "tool_choice": ToolChoice.allowed(["look"], required=True)},
    "text": {"response_format": ResponseFormat.TEXT},
    "JSON": {"response_format": ResponseFormat.JSON},
    "a schema": {"response_format": ResponseFormat.json_schema(PERSON, name="person", description="d")},
    "a schema beside tools": {
        "response_format": ResponseFormat.json_schema({"type": "object"}, strict=None),
        "tools": TOOLS,
    },
    **{
        f"effort {effort}": {"reasoning_effort": effort}
        for effort in ("none", "minimal", "low", "medium", "high", "xhigh", "max")
    },
    "what only this vendor has": {
        "custom_parameters": {"store": False, "service_tier": "flex", "metadata": {"a": "b"}, "logprobs": True}
    },
    "the vendor's own tools": {
        "tools": TOOLS,
        "custom_parameters": {"tools": [{"type": "custom", "custom": {"name": "sh", "description": "runs"}}]},
    },
}

IMAGE = ImageContent(data="QUJD")
CALL = ToolExecutionRequest("c1", "find", '{"name": "Ann"}')
ALIASED = ToolExecutionRequest("c2", "files/read file", "{}")


def turn(*parts: Any, results: list[ToolExecutionResultMessage] | None = None) -> list[ChatMessage]:
    calls = [part for part in parts if isinstance(part, ToolExecutionRequest)]
    answered = results or [ToolExecutionResultMessage(call.id, call.name, "found") for call in calls]
    return [UserMessage("q"), AiMessage(list(parts)), *answered]


def result(*parts: Any, error: bool = False) -> ToolExecutionResultMessage:
    return ToolExecutionResultMessage("c1", "find", list(parts), is_error=error)


#: Where `model_on` says that such a vendor is.
NO_ADDRESS = {"azure": "https://desk.example"}


def histories(vendor: str) -> dict[str, list[ChatMessage]]:
    """Histories with state of this vendor, and of another."""
    row = VENDORS[vendor]
    state = provider_id(row, row.base_url or NO_ADDRESS.get(vendor, "https://llm.example/v1"))
    return {
        "a question": [UserMessage("q")],
        "a system text in two parts": [SystemMessage("be brief"), UserMessage("q"), SystemMessage("or not")],
        "a named user": [UserMessage("q", name="ann")],
        "images": [UserMessage([TextContent("see"), IMAGE, ImageContent(url="https://x.example/a.png", detail="low")])],
        "sound": [UserMessage([AudioContent(data="QUJD"), AudioContent(data="QUJD", media_type="audio/mpeg")])],
        "a file": [UserMessage([FileContent(data="QUJD", name="a.pdf"), FileContent(data="QUJD")])],
        "answers": [*turn(TextContent("hello")), *turn()],
        "calls": turn(CALL, ALIASED),
        "text and calls": turn(TextContent("wait"), CALL),
        "an error": turn(CALL, results=[result(TextContent("no such person"), error=True)]),
        "media in results": turn(CALL, results=[result(TextContent("a map"), IMAGE, AudioContent(data="QUJD"))]),
        "only media in a result": turn(CALL, results=[result(FileContent(data="QUJD"))]),
        "a result of several texts": turn(CALL, results=[result(TextContent("a"), TextContent("b"))]),
        "an empty result": turn(CALL, results=[result()]),
        "arguments that are no JSON": turn(ToolExecutionRequest("c1", "find", '{"name": ')),
        "ids that are too long": turn(ToolExecutionRequest("fc_" + "0" * 60, "find", "{}")),
        "ids that are the same": turn(CALL, ToolExecutionRequest("c1", "look", "{}")),
        "a refusal": turn(TextContent("I will not", ProviderState(state, {"refusal": True}))),
        "reasoning of its own": turn(ThinkingContent("hm", ProviderState(state, {"reasoning_content": "hm"})), CALL),
        "another provider's state": [
            UserMessage("q"),
            AiMessage(
                [
                    ThinkingContent("hm", ProviderState("elsewhere", {"reasoning_content": "hm", "signature": "s"})),
                    TextContent("so", ProviderState("elsewhere", {"refusal": True})),
                    ToolExecutionRequest("c1", "find", "{}", True, ProviderState("elsewhere", {"signature": "s"})),
                ],
                provider_state=ProviderState("elsewhere", {"extra_content": {"s": 1}}),
            ),
            result(TextContent("found")),
        ],
    }


@cache
def adapter(stream: bool) -> StrictAdapter:
    from openai.types.chat import completion_create_params as types

    return strict_adapter(types.CompletionCreateParamsStreaming if stream else types.CompletionCreateParamsNonStreaming)


@pytest.mark.parametrize("stream", [False, True], ids=["plain", "streamed"])
@pytest.mark.parametrize("vendor", ["openai", "azure"])
@pytest.mark.parametrize("name", list(PARAMETERS))
def test_every_request_fits_the_official_types(name: str, vendor: str, stream: bool) -> None:
    model = model_on(FakeTransport(), vendor, model="gpt-x")
    parameters = ChatRequestParameters(**PARAMETERS[name])
    for messages in histories(vendor).values():
        body, _ = model.preview(ChatRequest(messages, parameters), stream=stream)
        adapter(stream).validate_json(body)


GOOD: dict[str, Any] = {"model": "m", "messages": [{"role": "user", "content": "q"}]}


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"max_output_tokens": 3}, "unknown key 'max_output_tokens'"),
        ({"messages": [{"role": "assistant", "content": None, "reasoning_content": "x"}]}, "'reasoning_content'"),
        ({"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {"detail": "low"}}]}]}, "'url'"),
        ({"messages": [{"role": "tool", "content": "x"}]}, "no key 'tool_call_id'"),
        ({"tools": [{"type": "function", "function": {"name": "a", "strickt": True}}]}, "unknown key 'strickt'"),
        ({"tool_choice": {"type": "allowed_tools", "mode": "auto", "tools": []}}, "tool_choice"),
        ({"tool_choice": "any"}, "'required'"),
        ({"temperature": "0"}, "is no float"),
        ({"seed": True}, "is no int"),
        ({"stop": [1]}, r"stop\[0\]"),
        ({"stream": True}, "stream: true"),
        ({"model": None}, "model: null is no str"),
    ],
)
def test_the_types_are_held_to_the_letter(changes: dict[str, Any], what: str) -> None:
    """The check above can fail: each of these is near to a request and is none."""
    adapter(False).validate_python(GOOD)
    with pytest.raises(ValueError, match=what):
        adapter(False).validate_json(json.dumps({**GOOD, **changes}))
