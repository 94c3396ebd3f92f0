"""No round costs more because the conversation is long, and a grown conversation has the bytes of one joined anew."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    ProviderState,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.provider import RequestEncoder
from agentforge_anthropic.rows import ANTHROPIC, row_for
from agentforge_anthropic.wire.caching import CacheMarks
from agentforge_anthropic.wire.messages_wire import MessagesWire
from tests.support.encoding_costs import costs_of_rounds, encoder_of
from tests.support.wire_exchange import WEATHER

BASE = "https://api.anthropic.com"


def encoder(model: str = "claude-sonnet-4-5", cache: str = "off") -> RequestEncoder:
    return encoder_of(MessagesWire(caching=CacheMarks(cache)), row_for(ANTHROPIC, model), model, BASE)


def round_of(number: int) -> list[ChatMessage]:
    call = ToolExecutionRequest(f"c{number:04}", "get_weather", '{"city": "x"}')
    return [AiMessage([call]), ToolExecutionResultMessage(call.id, call.name, "fine")]


def test_the_bytes_encoded_in_a_round_do_not_grow_with_the_history() -> None:
    costs, _ = costs_of_rounds(encoder(), round_of)
    assert len(set(costs)) == 1 and 0 < costs[0] < 300


texts = st.sampled_from(["a", "b ", " ", "", '{"role":"system","content":['])
own = st.just(ThinkingContent("t", ProviderState("anthropic/messages", {"type": "thinking", "signature": "s"})))
foreign = st.just(ThinkingContent("t", ProviderState("other", {})))
replies = st.lists(st.one_of(st.builds(TextContent, texts), own, foreign), max_size=3)
single = st.one_of(
    st.builds(UserMessage, texts).map(lambda message: [message]),
    st.builds(SystemMessage, texts).map(lambda message: [message]),
    st.builds(AiMessage, replies).map(lambda message: [message]),
    st.integers(0, 99).map(round_of),
)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(single, min_size=1, max_size=5),
    st.sampled_from(["claude-sonnet-4-5", "claude-opus-4-8"]),
    st.sampled_from(["off", "all"]),
)
def test_a_grown_conversation_is_the_one_that_is_made_anew(
    steps: list[list[ChatMessage]], model: str, cache: str
) -> None:
    """After each step, whatever came before: empty turns, white space, instructions in between."""
    grown = encoder(model, cache)
    history: list[ChatMessage] = [UserMessage("q")]
    parameters = ChatRequestParameters(tools=(WEATHER,))
    for step in steps:
        history += step
        body = grown.encode(history, parameters).body
        assert body == encoder(model, cache).encode(history, parameters).body
        assert json.loads(body)["messages"][0]["role"] == "user"


def test_only_what_is_new_is_joined_to_what_was() -> None:
    """With empty turns, with neighbours of one role, and where instructions keep the two apart."""
    wire = MessagesWire()
    shape = encoder("claude-opus-4-8").encode([UserMessage("q")], ChatRequestParameters()).head.shape

    def piece(message: ChatMessage) -> tuple[ChatMessage, bytes]:
        return message, wire.encode_turn(message, shape, [])

    ask, answer, late = UserMessage("q"), AiMessage("a"), SystemMessage("s")
    first = wire.join([piece(ask)], shape)
    assert wire.extended(first, ask, [piece(AiMessage())], shape) == first
    assert wire.extended(first, ask, [piece(ask)], shape) == wire.join([piece(ask)] * 2, shape)
    both = wire.join([piece(ask), piece(answer), piece(ask)], shape)
    assert wire.extended(first, ask, [piece(answer), piece(ask)], shape) == both
    assert wire.extended(first, ask, [piece(late)], shape) is None
    assert wire.extended(wire.join([piece(ask), piece(late)], shape), late, [piece(answer)], shape) is None
    between = wire.join([piece(ask), piece(late), piece(ask)], shape)
    assert wire.extended(between, ask, [piece(ask)], shape) is None
    assert wire.extended(first, AiMessage("a "), [piece(ask)], shape) is None
    assert wire.extended(first, AiMessage(), [piece(ask)], shape) is None


def test_a_trimmed_or_branched_history_is_never_stale() -> None:
    encode = encoder()
    parameters = ChatRequestParameters()
    turns = [UserMessage(str(n)) for n in range(6)]
    for picked in ([0, 1, 2, 3], [2, 3], [3, 2], [0, 4, 5], [5], [1, 1]):
        body = json.loads(encode.encode([turns[n] for n in picked], parameters).body)
        assert [block["text"] for block in body["messages"][0]["content"]] == [str(n) for n in picked]
