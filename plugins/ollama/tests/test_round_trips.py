"""What a reply was read as goes back as it came: wire to neutral to wire, and neutral to wire to neutral."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ProviderState,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from plugins.ollama.tests.support import OWNER, body_of, plain, reply

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)
names = st.from_regex(r"\A[a-zA-Z_][a-zA-Z0-9_-]{0,40}\Z")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, values, max_size=4)
spoken = st.just("") | words
calls = st.lists(st.tuples(names, objects), max_size=3).map(
    lambda made: [
        {"id": f"call_{at}", "function": {"index": at, "name": name, "arguments": arguments}}
        for at, (name, arguments) in enumerate(made)
    ]
)


def sent_back(turn: AiMessage) -> dict[str, Any]:
    """The turn in the request that follows it."""
    results = [ToolExecutionResultMessage(call.id, call.name, "ok") for call in turn.tool_execution_requests]
    found: dict[str, Any] = body_of([UserMessage("q"), turn, *results, UserMessage("and?")])["messages"][1]
    return found


@settings(max_examples=40, deadline=None)
@given(spoken, spoken, calls)
def test_the_message_of_a_reply_goes_back_as_it_came(content: str, thinking: str, made: list[Any]) -> None:
    body = reply(content, **({"thinking": thinking} if thinking else {}), **({"tool_calls": made} if made else {}))
    assert sent_back(plain(body).ai_message) == body["message"]


@settings(max_examples=40, deadline=None)
@given(spoken, spoken, st.lists(st.tuples(names, objects), max_size=3))
def test_a_message_of_ours_is_read_as_it_was(content: str, thinking: str, made: list[Any]) -> None:
    """Through the bytes of a request and back through an answer of the same message."""
    parts: list[Any] = []
    if thinking:
        parts.append(ThinkingContent(thinking, ProviderState(OWNER, {"field": "thinking"})))
    if content:
        parts.append(TextContent(content))
    for at, (name, arguments) in enumerate(made):
        text = json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)
        parts.append(ToolExecutionRequest(f"call_{at}", name, text))
    turn = AiMessage(parts)
    message = sent_back(turn)
    assert plain({"message": message, "done": True}).ai_message == turn
