"""Parts of the tables of requests that are held against a vendor's own types, and histories of any kind."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ProviderState,
    ResponseFormat,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolChoice,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from tests.support.wire_exchange import TIME, WEATHER

__all__ = ("FOREIGN", "PARAMETERS", "STRICT", "histories")

STRICT = ToolSpecification(WEATHER.name, WEATHER.description, WEATHER.parameters, strict=True)
_SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"], "additionalProperties": False}

#: What every wire has a place for.
PARAMETERS: dict[str, dict[str, Any]] = {
    "nothing": {},
    "none": {"tools": [WEATHER], "tool_choice": "none"},
    "allowed": {"tools": [WEATHER, TIME], "tool_choice": ToolChoice.allowed(["get_time"])},
    "schema": {"response_format": ResponseFormat.json_schema(_SCHEMA)},
}

#: A round of another provider, with state, a name and arguments that go nowhere as they are.
FOREIGN: list[ChatMessage] = [
    AiMessage(
        [
            ThinkingContent("t", ProviderState("other", {"x": 1})),
            ToolExecutionRequest("call|1", "files/read", "{bad", provider_state=ProviderState("other", {"y": 1})),
        ],
        provider_state=ProviderState("other", {"z": 1}),
    ),
    ToolExecutionResultMessage("call|1", "files/read", "x"),
]


def histories(*own: Any, characters: Any = None) -> st.SearchStrategy[list[ChatMessage]]:
    """Messages in any order; replies have texts, foreign thinking, calls of one id, and the wire's ``own`` parts."""
    texts = st.text(max_size=20) if characters is None else st.text(characters, max_size=20)
    arguments = st.sampled_from(["{}", "", "{bad", '{"a": 1}', "[]"])
    parts = st.one_of(
        st.builds(TextContent, texts),
        *map(st.just, own),
        st.just(ThinkingContent("t", ProviderState("other", {"x": 1}))),
        st.builds(lambda text: ToolExecutionRequest("c", "get_weather", text), arguments),
    )
    messages: st.SearchStrategy[ChatMessage] = st.one_of(
        st.builds(UserMessage, texts),
        st.builds(SystemMessage, texts),
        st.builds(AiMessage, st.lists(parts, max_size=4)),
        st.builds(lambda text: ToolExecutionResultMessage("c", "get_weather", text), texts),
    )
    return st.lists(messages, max_size=6)
