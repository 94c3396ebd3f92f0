"""Ours to the wire and back: what an assistant turn holds is what comes out of an answer that is that turn's bytes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatRequestParameters,
    ProviderState,
    ResponseDone,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    ToolSpecification,
    UserMessage,
)
from agentforge.provider import alias_map, alias_of
from agentforge_openai.wire.stream import StreamDecoder
from plugins.openai.tests.support import FakeTransport, answering, model_on, plain, sse

PROVIDER = "generic@llm.example/v1"

words = st.text(st.characters(codec="utf-8"), min_size=1, max_size=20)
names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=70).filter(lambda name: name.strip() == name)
objects = st.dictionaries(words, st.one_of(st.none(), st.booleans(), st.integers(), words, st.lists(words)), max_size=3)


@st.composite
def turns(draw: st.DrawFn) -> AiMessage:
    """A turn in the order that this wire has: reasoning, one text, one refusal or calls."""
    parts: list[Any] = []
    if draw(st.booleans()):
        field = draw(st.sampled_from(["reasoning_content", "reasoning_details"]))
        text = draw(words)
        value: Any = text if field == "reasoning_content" else [{"type": "reasoning.text", "text": text, "data": "s"}]
        parts.append(ThinkingContent(text, ProviderState(PROVIDER, {field: value})))
    if draw(st.booleans()):
        parts.append(TextContent(draw(words)))
    ids = draw(st.lists(words.filter(lambda text: not text.isspace()), max_size=3, unique=True))
    for identity in ids:
        state = {"extra_content": {"signature": draw(words)}} if draw(st.booleans()) else None
        parts.append(
            ToolExecutionRequest(
                identity,
                draw(names),
                json.dumps(draw(objects), ensure_ascii=draw(st.booleans())),
                True,
                ProviderState(PROVIDER, state) if state else None,
            )
        )
    if not ids and draw(st.booleans()):
        parts.append(TextContent(draw(words), ProviderState(PROVIDER, {"refusal": True})))
    extras = {"thinking_blocks": [{"signature": draw(words)}]} if draw(st.booleans()) else None
    return AiMessage(parts, provider_state=ProviderState(PROVIDER, extras) if extras else None)


def wire_of(turn: AiMessage) -> tuple[dict[str, Any], dict[str, str]]:
    """The turn as it is sent, and the aliases of its request."""
    calls = turn.tool_execution_requests
    results = [ToolExecutionResultMessage(call.id, call.name, "r") for call in calls]
    tools = [ToolSpecification(name) for name in dict.fromkeys(call.name for call in calls)]
    request = ChatRequest([UserMessage("q"), turn, *results], ChatRequestParameters(tools=tools))
    body, notices = model_on(FakeTransport()).preview(request)
    assert notices == ()
    sent: dict[str, Any] = json.loads(body)["messages"][1]
    back = alias_map([tool.name for tool in tools], r"^[a-zA-Z0-9_-]{1,64}$")
    return sent, dict(back)


@settings(max_examples=150, deadline=None)
@given(turns())
def test_a_turn_that_is_sent_and_answered_back_is_the_same_turn(turn: AiMessage) -> None:
    """Whole and streamed: nothing is lost, renamed or put elsewhere. And so it goes out again as the same bytes: a
    conversation keeps its beginning, which servers cache."""
    sent, aliases = wire_of(turn)
    whole = {"choices": [{"index": 0, "message": sent, "finish_reason": "stop"}]}
    answered = plain(whole, provider=PROVIDER, aliases=aliases).ai_message
    assert answered == turn
    assert list(wire_of(answered)[0].items()) == list(sent.items())
    calls = [{"index": at, **call} for at, call in enumerate(sent.get("tool_calls", ()))]
    delta = {**sent, "tool_calls": calls} if calls else sent
    chunk = {"choices": [{"index": 0, "delta": delta, "finish_reason": "stop"}]}
    decoder = StreamDecoder(answering(provider=PROVIDER, aliases=aliases))
    last = [*decoder.feed(sse(chunk)), *decoder.finish()][-1]
    assert isinstance(last, ResponseDone)
    assert last.response.ai_message == turn


@given(st.lists(st.text(max_size=70), unique=True, max_size=20))
def test_names_and_their_aliases_are_one_to_one(given_names: list[str]) -> None:
    """Each name has one alias, whatever stands beside it, and no two names share one."""
    rule = r"^[a-zA-Z0-9_-]{1,64}$"
    each = {name: alias_of(name, rule) for name in given_names}
    try:
        back = alias_map(given_names, rule)
    except UnsupportedFeatureError:
        assert len(set(each.values())) < len(each)
        return
    assert len(set(each.values())) == len(each)
    assert {back.get(alias, alias): alias for alias in each.values()} == each
    assert {alias_of(name, rule) for name in reversed(given_names)} == set(each.values())


@pytest.mark.parametrize(
    ("turn", "wire"),
    [
        (
            AiMessage([TextContent("a"), ToolExecutionRequest("c1", "look", "{}"), TextContent("b")]),
            {"content": "ab"},
        ),
        (AiMessage([TextContent("a"), TextContent("b")]), {"content": "ab"}),
        (AiMessage([ThinkingContent("hm")]), {"content": ""}),
    ],
)
def test_what_the_wire_cannot_carry_is_joined_or_left_away(turn: AiMessage, wire: dict[str, Any]) -> None:
    """Its one text stands before the calls, and reasoning without a field to go back in does not go back."""
    sent, _ = wire_of(turn)
    assert {key: value for key, value in sent.items() if key not in ("role", "tool_calls")} == wire
