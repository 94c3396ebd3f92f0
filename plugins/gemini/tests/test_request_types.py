"""Requests of ours fit the official package's types, in which unknown keys are forbidden."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    AudioContent,
    ChatMessage,
    ChatRequestParameters,
    FileContent,
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
from plugins.gemini.tests.support import OWNER, body_of, own
from tests.support import request_table
from tests.support.gemini_types import check_request
from tests.support.wire_exchange import TIME, WEATHER

RICH = ToolSpecification(
    "rich",
    "everything",
    ToolParameters(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "type": "object",
            "properties": {
                "a": {"type": "integer", "exclusiveMinimum": 1, "multipleOf": 2, "examples": [4]},
                "b": {"const": "x"},
                "c": {"oneOf": [{"type": "string"}, {"type": "null"}]},
                "d": {"type": "object", "patternProperties": {"^x": {"type": "string"}}},
                "e": {"type": "array", "uniqueItems": True},
                "f": {},
                "g": {"enum": [1, "two", None]},
                "h": {"$ref": "#/$defs/n", "description": "a node"},
                "i": {"type": ["string", "null"], "pattern": "^a", "maxLength": 3, "format": "uri"},
                "j": {"not": {"type": "string"}, "allOf": [{"type": "integer"}, {"minimum": 3}]},
            },
            "required": ["a"],
            "$defs": {
                "n": {"type": "object", "properties": {"kids": {"type": "array", "items": {"$ref": "#/$defs/n"}}}}
            },
        }
    ),
)
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="


HISTORIES: dict[str, list[ChatMessage]] = {
    "a question": [UserMessage("q")],
    "instructions": [SystemMessage("be brief"), UserMessage("q"), SystemMessage("and kind"), AiMessage("a")],
    "media": [
        UserMessage(
            [
                TextContent("see"),
                ImageContent(url="https://pics.example/a.png"),
                ImageContent(data=PIXEL),
                AudioContent(data="QUJD"),
                FileContent(data="QUJD", name="a.pdf"),
                FileContent(url="gs://bucket/a.pdf"),
                FileContent(data="QUJD", media_type="text/plain"),
            ]
        )
    ],
    "a loop": [
        UserMessage("q"),
        AiMessage(
            [
                ThinkingContent("hm", own(thoughtSignature="c2ln")),
                TextContent("I look.", own(thoughtSignature="c2ln")),
                ToolExecutionRequest(
                    "x", "get_weather", "{}", provider_state=own(thoughtSignature="c2ln", functionCall={"id": "x"})
                ),
                ToolExecutionRequest("y", "get_time", "{}"),
            ]
        ),
        ToolExecutionResultMessage("x", "get_weather", [TextContent("see"), ImageContent(data=PIXEL)]),
        ToolExecutionResultMessage(
            "y", "get_time", [TextContent("no clock"), AudioContent(data="QUJD")], is_error=True
        ),
    ],
    "tools of the vendor": [
        UserMessage("q"),
        AiMessage(
            [
                ThinkingContent("", own(part={"executableCode": {"language": "PYTHON", "code": "1"}})),
                ThinkingContent("", own(part={"codeExecutionResult": {"outcome": "OUTCOME_OK", "output": "1"}})),
                ImageContent(data=PIXEL),
            ],
            provider_state=ProviderState(
                OWNER, {"parts": {"2": {"thoughtSignature": "c2ln"}}, "groundingMetadata": {}}
            ),
        ),
        UserMessage("and?"),
    ],
    "foreign": request_table.FOREIGN,
}
PARAMETERS: dict[str, dict[str, Any]] = {
    **request_table.PARAMETERS,
    "settings": {"max_output_tokens": 5000, "stop": ["END"], "temperature": 0.5, "top_p": 0.9, "seed": 3},
    "tools": {"tools": [WEATHER, TIME, RICH]},
    "strict": {"tools": [request_table.STRICT]},
    "forced": {"tools": [WEATHER], "tool_choice": "required"},
    "one tool": {"tools": [WEATHER], "tool_choice": "get_weather"},
    "json": {"response_format": ResponseFormat.JSON},
    "thinking": {"reasoning_effort": "high"},
    "the vendor's own": {
        "tools": [WEATHER],
        "custom_parameters": {
            "tools": [{"googleSearch": {}}, {"codeExecution": {}}],
            "safetySettings": [{"category": "HARM_CATEGORY_HARASSMENT", "threshold": "BLOCK_NONE"}],
            "cachedContent": "cachedContents/1",
            "generationConfig": {"responseModalities": ["TEXT"], "thinkingConfig": {"includeThoughts": True}},
        },
    },
}
MODELS = ("gemini-3.5-flash", "gemini-2.5-flash", "gemini-2.0-flash")
#: What the models differ in is not the matter here.
LENIENT = {"unsupported": dict.fromkeys(("strict_tools", "reasoning_effort", "own_tools_with_tools"), "drop")}


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("asked", PARAMETERS)
def test_every_request_fits_the_types(model: str, asked: str) -> None:
    """Every history with every set of parameters."""
    parameters = ChatRequestParameters(**PARAMETERS[asked])
    for history in HISTORIES.values():
        check_request(body_of(history, parameters, model=model, profile_overrides=LENIENT, include_thoughts=True))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"surplus": 1}, "surplus"),
        ({"contents": [{"role": "user", "parts": [{"text": "q", "surplus": 1}]}]}, "contents.0.parts.0.surplus"),
        ({"tools": [{"functionDeclarations": [{"name": "a", "parameters": {"const": 1}}]}]}, "parameters.const"),
        (
            {"tools": [{"functionDeclarations": [{"name": "a", "parameters": {"properties": {"x": {"oneOf": []}}}}]}]},
            "properties.x.oneOf",
        ),
        ({"toolConfig": {"functionCallingConfig": {"mode": "REQUIRED"}}}, "REQUIRED"),
        ({"generationConfig": {"reasoningEffort": "low"}}, "reasoningEffort"),
        ({"generationConfig": {"response_mime_type": "x"}}, "response_mime_type"),
    ],
)
def test_the_check_finds_what_does_not_fit(change: dict[str, Any], what: str) -> None:
    """A test of the test: unknown keys at every depth, in schemas too, unknown words, the package's own spelling."""
    with pytest.raises((ValueError, UserWarning)) as caught:
        check_request({**body_of("q"), **change})
    assert what in str(caught.value)


@settings(max_examples=25, deadline=None)
@given(
    request_table.histories(
        TextContent("", own(thoughtSignature="c2ln")), ThinkingContent("t", own(thoughtSignature="c2ln"))
    ),
    st.sampled_from(MODELS),
)
def test_any_history_becomes_a_valid_request(history: list[ChatMessage], model: str) -> None:
    """A user's content first; results alone, as many as the calls right before them; no part is empty; the first call
    of each turn is signed where that is wanted."""
    body = body_of([*history, UserMessage("and?")], model=model)
    check_request(body)
    contents = body["contents"]
    assert contents[0]["role"] == "user" and all(content["parts"] for content in contents)
    waiting: list[str] = []
    for content in contents:
        results = [part["functionResponse"]["name"] for part in content["parts"] if "functionResponse" in part]
        if waiting or results:
            assert results == waiting and len(results) == len(content["parts"])
        calls = [part for part in content["parts"] if "functionCall" in part]
        waiting = [part["functionCall"]["name"] for part in calls]
        if calls and model == MODELS[0]:
            assert "thoughtSignature" in calls[0] and not any("thoughtSignature" in each for each in calls[1:])
        assert all(part["text"] or "thoughtSignature" in part for part in content["parts"] if "text" in part)
    assert not waiting
    pairs = itertools.pairwise(contents)
    assert all(one["role"] != other["role"] or "functionResponse" in one["parts"][0] for one, other in pairs)
