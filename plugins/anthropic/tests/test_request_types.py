"""Requests of ours fit the official package's request types, in which unknown keys are forbidden."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    FileContent,
    ImageContent,
    ProviderState,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge_anthropic.rows import VERSIONS
from plugins.anthropic.tests.support import body_of, request_types
from tests.support import request_table
from tests.support.wire_exchange import TIME, WEATHER

CALL = ToolExecutionRequest(
    "toolu_1",
    "get_weather",
    '{"city": "Oslo"}',
    provider_state=ProviderState("anthropic/messages", {"caller": {"type": "direct"}}),
)


def state(**data: Any) -> ProviderState:
    return ProviderState("anthropic/messages", data)


HISTORIES: dict[str, list[ChatMessage]] = {
    "a question": [UserMessage("q")],
    "instructions": [SystemMessage("be brief"), UserMessage("q")],
    "later instructions": [UserMessage("q"), SystemMessage("be brief"), AiMessage("a"), UserMessage("q")],
    "media": [
        UserMessage(
            [
                TextContent("see"),
                ImageContent(url="https://pics.example/a.png"),
                ImageContent(data="QUJD"),
                FileContent(data="QUJD", name="a.pdf"),
                FileContent(url="https://docs.example/a.pdf"),
                FileContent(data="QUJD", media_type="text/plain"),
            ]
        )
    ],
    "a loop": [
        UserMessage("q"),
        AiMessage(
            [
                ThinkingContent("hm", state(type="thinking", signature="s==")),
                ThinkingContent("", state(type="redacted_thinking", data="x==")),
                TextContent("I look."),
                CALL,
                ToolExecutionRequest("toolu_2", "get_time", "{}"),
            ]
        ),
        ToolExecutionResultMessage("toolu_1", "get_weather", [TextContent("see"), ImageContent(data="QUJD")]),
        ToolExecutionResultMessage("toolu_2", "get_time", "no clock", is_error=True),
    ],
    "tools of the provider": [
        UserMessage("q"),
        AiMessage(
            [
                ThinkingContent(
                    "", state(type="server_tool_use", id="srvtoolu_1", name="web_search", input={"query": "x"})
                ),
                ThinkingContent(
                    "",
                    state(
                        type="web_search_tool_result",
                        tool_use_id="srvtoolu_1",
                        content=[
                            {
                                "type": "web_search_result",
                                "title": "t",
                                "url": "https://a.example",
                                "encrypted_content": "x==",
                                "page_age": None,
                            }
                        ],
                    ),
                ),
                TextContent(
                    "rain",
                    state(
                        citations=[
                            {
                                "type": "web_search_result_location",
                                "url": "https://a.example",
                                "title": "t",
                                "cited_text": "rain",
                                "encrypted_index": "x==",
                            }
                        ]
                    ),
                ),
            ]
        ),
        UserMessage("and?"),
    ],
    "the model first": [AiMessage("Hello!"), UserMessage("q")],
    "foreign": [UserMessage("q"), *request_table.FOREIGN],
}
PARAMETERS: dict[str, dict[str, Any]] = {
    **request_table.PARAMETERS,
    "limits": {"max_output_tokens": 5000, "stop": ["END"]},
    "sampling": {"temperature": 0.5},
    "tools": {"tools": [WEATHER, TIME]},
    "strict": {"tools": [request_table.STRICT]},
    "one at a time": {"tools": [WEATHER], "parallel_tool_calls": False},
    "forced": {"tools": [WEATHER], "tool_choice": "required", "parallel_tool_calls": False},
    "one tool": {"tools": [WEATHER], "tool_choice": "get_weather"},
    "allowed": {"tools": [WEATHER, TIME], "tool_choice": ToolChoice.allowed(["get_time"], required=True)},
    "thinking": {"reasoning_effort": "high"},
    "no thinking": {"reasoning_effort": "none"},
    "the provider's own": {
        "tools": [WEATHER],
        "custom_parameters": {
            "tools": [{"type": "web_search_20250305", "name": "web_search", "max_uses": 2}],
            "metadata": {"user_id": "u"},
            "service_tier": "auto",
        },
    },
}
MODELS = ("claude-sonnet-4-5", "claude-opus-4-6", "claude-haiku-5-5")


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("asked", PARAMETERS)
def test_every_request_fits_the_types(model: str, asked: str) -> None:
    """Every history with every set of parameters, with all marks of the cache."""
    parameters = ChatRequestParameters(**PARAMETERS[asked])
    settings: dict[str, Any] = {"version": VERSIONS[-1], "cache": "all", "cache_ttl": "1h"}
    for history in HISTORIES.values():
        body = body_of(history, parameters, model=model, profile_overrides=LENIENT, **settings)
        request_types().validate_python(body)


#: What the models differ in is not the matter here; nor is sampling, which the types' version of the API has not.
LENIENT = {"unsupported": {"sampling": "drop", "forced_choice_with_thinking": "drop"}}


@pytest.mark.parametrize(
    ("history", "asked"), list(itertools.product(("a loop", "media"), ("thinking", "schema", "strict")))
)
def test_the_beta_types_take_them_too(history: str, asked: str) -> None:
    parameters = ChatRequestParameters(**PARAMETERS[asked])
    request_types(beta=True).validate_python(body_of(HISTORIES[history], parameters, model="claude-opus-4-8"))


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"surplus": 1}, "unknown key 'surplus'"),
        ({"max_tokens": None}, "max_tokens: null"),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "q", "surplus": 1}]}]},
            r"messages\[0\].content\[0\]: unknown key 'surplus'",
        ),
        ({"tools": [{"name": "a", "input_schema": {"type": "object"}, "parameters": {}}]}, "unknown key 'parameters'"),
        ({"tool_choice": {"type": "required"}}, "tool_choice"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {}, "name": "x"}}}, "unknown key 'name'"),
    ],
)
def test_the_check_finds_what_does_not_fit(change: dict[str, Any], what: str) -> None:
    """A test of the test: unknown keys, missing and wrong ones, at every depth."""
    with pytest.raises(ValueError, match=what):
        request_types().validate_python({**body_of("q"), **change})


@settings(max_examples=40, deadline=None)
@given(request_table.histories(ThinkingContent("t", state(type="thinking", signature="s"))), st.sampled_from(MODELS))
def test_any_history_becomes_a_valid_request(history: list[ChatMessage], model: str) -> None:
    """Roles alternate, results stand first and answer the calls before them, no text is empty."""
    body = body_of([*history, UserMessage("and?")], model=model)
    request_types().validate_python(body)
    turns = [entry for entry in body["messages"] if entry["role"] != "system"]
    assert [entry["role"] for entry in turns] == ["user", "assistant"] * (len(turns) // 2) + ["user"]
    waiting: list[str] = []
    for entry in turns:
        kinds = [block["type"] for block in entry["content"]]
        results = [block["tool_use_id"] for block in entry["content"] if block["type"] == "tool_result"]
        assert kinds[: len(results)] == ["tool_result"] * len(results)
        if entry["role"] == "user":
            assert results == waiting
        waiting = [block["id"] for block in entry["content"] if block["type"] == "tool_use"]
        assert len(set(waiting)) == len(waiting)
        assert all(block["text"].strip() for block in entry["content"] if block["type"] == "text")
