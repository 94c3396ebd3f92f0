"""No round costs more because the conversation is long."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    ImageContent,
    SystemMessage,
    TextContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.provider import RequestEncoder
from agentforge_gemini.rows import GOOGLE, row_for
from agentforge_gemini.wire.gemini_wire import GeminiWire
from plugins.gemini.tests.support import own
from tests.support.encoding_costs import costs_of_rounds, encoder_of

BASE = "https://generativelanguage.googleapis.com/v1beta"


def encoder(model: str = "gemini-3.5-flash") -> RequestEncoder:
    return encoder_of(GeminiWire(), row_for(GOOGLE, model), model, BASE)


def round_of(number: int) -> list[ChatMessage]:
    call = ToolExecutionRequest(
        f"c{number:04}", "get_weather", '{"city": "x"}', provider_state=own(functionCall={"id": f"{number:04}"})
    )
    return [AiMessage([call]), ToolExecutionResultMessage(call.id, call.name, "fine")]


def test_the_bytes_encoded_in_a_round_do_not_grow_with_the_history() -> None:
    costs, body = costs_of_rounds(encoder(), round_of)
    assert len(set(costs)) == 1 and 0 < costs[0] < 400
    assert all(body.count(b'"id":"%04d"' % number) == 2 for number in range(60))


texts = st.sampled_from(["a", " ", "", '{"role":"user","parts":['])
odd = '{"role":"model","parts":[{"functionResponse":{"a":1}}]}'


def turn(text: str, count: int, said: bool) -> list[ChatMessage]:
    calls = [ToolExecutionRequest(f"c{n}", "get_weather", odd) for n in range(count)]
    parts: list[Any] = [TextContent("x"), ImageContent(data="QUJD", media_type="image/heic")] if said else ["fine"]
    results = [ToolExecutionResultMessage(call.id, call.name, parts) for call in calls]
    return [AiMessage(text, tool_execution_requests=calls), *results]


steps = st.one_of(
    st.builds(lambda text: [UserMessage(text)], texts),
    st.builds(lambda text: [SystemMessage(text)], texts),
    st.builds(turn, texts, st.integers(0, 2), st.booleans()),
)


@settings(max_examples=40, deadline=None)
@given(st.lists(steps, min_size=1, max_size=8), st.sampled_from(["gemini-3.5-flash", "gemini-2.5-flash"]))
def test_a_conversation_that_grew_has_the_bytes_of_one_joined_anew(grown: list[list[ChatMessage]], model: str) -> None:
    """Step by step, whatever its neighbours are; media behind results, and arguments that look like the wire."""
    encode, history = encoder(model), [UserMessage("q")]
    parameters = ChatRequestParameters()
    encode.encode(history, parameters)
    for step in grown:
        history = [*history, *step]
        assert encode.encode(history, parameters).body == encoder(model).encode(history, parameters).body
