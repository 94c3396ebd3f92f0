"""What a reply was read as goes back as it came: neutral to wire to neutral, and wire to neutral to wire."""

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
from plugins.anthropic.tests.support import body_of, message, plain

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), min_size=1, max_size=30)
spoken = words.filter(lambda text: not text.isspace())
names = st.from_regex(r"\A[a-zA-Z_][a-zA-Z0-9_-]{0,40}\Z")
values = st.recursive(
    st.none() | st.booleans() | st.integers() | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(words, values, max_size=4)
blocks = st.one_of(
    st.fixed_dictionaries({"type": st.just("text"), "text": spoken}),
    st.fixed_dictionaries(
        {"type": st.just("text"), "text": spoken, "citations": st.lists(objects, min_size=1, max_size=2)}
    ),
    st.fixed_dictionaries({"type": st.just("thinking"), "thinking": st.just("") | words, "signature": words}),
    st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": words}),
    st.fixed_dictionaries({"type": st.just("server_tool_use"), "id": words, "name": names, "input": objects}),
    st.fixed_dictionaries({"type": st.just("web_search_tool_result"), "tool_use_id": words, "content": values}),
    st.fixed_dictionaries({"type": st.just("newer"), "rays": values}),
)


def uses(count: int) -> st.SearchStrategy[list[dict[str, Any]]]:
    return st.tuples(
        *(
            st.fixed_dictionaries(
                {"type": st.just("tool_use"), "id": st.just(f"toolu_{number}"), "name": names, "input": objects},
                optional={"caller": objects.filter(bool)},
            )
            for number in range(count)
        )
    ).map(list)


replies = st.tuples(st.lists(blocks, max_size=4), st.integers(0, 3).flatmap(uses), st.randoms(use_true_random=False))


@settings(max_examples=40, deadline=None)
@given(replies)
def test_the_blocks_of_a_reply_go_back_as_they_came(parts: tuple[list[Any], list[Any], Any]) -> None:
    """In their order, whatever they are; and what is read of them anew is the same message."""
    others, calls, random = parts
    content = [*others, *calls]
    random.shuffle(content)
    reply = plain(message(*content)).ai_message
    results = [ToolExecutionResultMessage(call.id, call.name, "ok") for call in reply.tool_execution_requests]
    sent = body_of([UserMessage("q"), reply, *results, UserMessage("and?")])["messages"]
    assert (sent[1]["content"] if content else []) == content
    assert plain(message(*content)).ai_message == reply


parts = st.one_of(
    st.builds(TextContent, spoken),
    st.builds(
        lambda text, signature: ThinkingContent(
            text, ProviderState("anthropic/messages", {"type": "thinking", "signature": signature})
        ),
        words,
        words,
    ),
    st.builds(
        lambda name, arguments: (name, json.dumps(arguments, separators=(",", ":"), ensure_ascii=False)), names, objects
    ),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(parts, min_size=1, max_size=5))
def test_a_message_of_ours_is_read_as_it_was(given_parts: list[Any]) -> None:
    """Through the bytes of a request and back through an answer of the same blocks."""
    made = [
        ToolExecutionRequest(f"toolu_{at}", *part) if isinstance(part, tuple) else part
        for at, part in enumerate(given_parts)
    ]
    turn = AiMessage(made)
    results = [ToolExecutionResultMessage(call.id, call.name, "ok") for call in turn.tool_execution_requests]
    sent = body_of([UserMessage("q"), turn, *results, UserMessage("and?")])["messages"][1]["content"]
    assert plain(message(*sent)).ai_message == turn
