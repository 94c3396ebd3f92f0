"""Thinking that a vendor writes as parts of the content: read whole or in pieces, shown, and given back as it came."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.model import (
    AiMessage,
    ChatRequest,
    ChatResponse,
    ResponseDone,
    ThinkingContent,
    ThinkingDelta,
    UserMessage,
)
from plugins.openai.tests.support import FakeTransport, delta, events_in, message, model_on, sse


def thinking(text: Any, **more: Any) -> dict[str, Any]:
    """One part."""
    return {"type": "thinking", "thinking": text, **more}


def texts(*said: str) -> list[dict[str, Any]]:
    return [{"type": "text", "text": each} for each in said]


WHOLE = [thinking(texts("Let me see."), closed=True), *texts("It is noon.")]


async def told(content: list[Any]) -> ChatResponse:
    """A plain answer with this content."""
    return await model_on(FakeTransport(message(content=content)), "mistral").chat(ChatRequest("q"))


async def sent_back(turn: AiMessage, vendor: str = "mistral") -> Any:
    transport = FakeTransport()
    await model_on(transport, vendor).chat(ChatRequest([UserMessage("q"), turn, UserMessage("q")]))
    return transport.bodies[0]["messages"][1]["content"]


async def test_a_part_is_thinking_and_goes_back_in_front_of_the_text() -> None:
    """To the vendor that it is of; another gets the text."""
    response = await told(WHOLE)
    assert response.ai_message.text == "It is noon."
    assert response.ai_message.thinking == "Let me see."
    assert await sent_back(response.ai_message) == WHOLE
    assert await sent_back(response.ai_message, "generic") == "It is noon."


@pytest.mark.parametrize(
    "parts",
    [
        [thinking(texts("a")), thinking(texts("b"), closed=True)],
        [thinking(texts("a"), signature="s"), thinking("b")],
        [thinking([*texts("a"), {"type": "reference", "reference_ids": [1]}], closed=True)],
    ],
)
async def test_parts_of_a_whole_answer_stay_as_they_are(parts: list[Any]) -> None:
    assert await sent_back((await told([*parts, *texts("so")])).ai_message) == [*parts, *texts("so")]


@pytest.mark.parametrize("part", [thinking(3), thinking(None), thinking([]), thinking(texts("")), {"type": "thinking"}])
async def test_a_part_without_a_word_is_none(part: dict[str, Any]) -> None:
    response = await told([part, *texts("so")])
    assert response.ai_message.contents == AiMessage("so").contents


PIECES: list[tuple[list[Any], list[Any]]] = [
    (
        [thinking(texts("Let ")), thinking(texts("me see."), closed=True)],
        [thinking(texts("Let me see."), closed=True)],
    ),
    ([thinking("Let "), thinking("me see.")], [thinking("Let me see.")]),
    (
        [thinking(texts("a"), closed=True), thinking(texts("b")), thinking(texts("c"), signature="s")],
        [thinking(texts("a"), closed=True), thinking(texts("bc"), signature="s")],
    ),
    (
        [thinking(texts("a")), thinking([{"type": "reference", "reference_ids": [1]}]), thinking(texts("b"))],
        [thinking([*texts("a"), {"type": "reference", "reference_ids": [1]}, *texts("b")])],
    ),
]


@pytest.mark.parametrize(("pieces", "parts"), PIECES)
async def test_pieces_of_a_stream_become_the_part_that_they_are_of(pieces: list[Any], parts: list[Any]) -> None:
    """A closed part does not go on."""
    chunks = [delta(content=[piece]) for piece in pieces]
    transport = FakeTransport([sse(*chunks, delta(content="so"), delta("stop"))])
    events = [event async for event in model_on(transport, "mistral").stream(ChatRequest("q"))]
    last = events[-1]
    assert isinstance(last, ResponseDone)
    shown = "".join(event.text for event in events if isinstance(event, ThinkingDelta))
    assert shown == last.response.ai_message.thinking
    assert await sent_back(last.response.ai_message) == [*parts, *texts("so")]


@given(st.lists(st.text(min_size=1), min_size=1, max_size=6))
def test_however_a_text_is_cut_it_is_the_same(pieces: list[str]) -> None:
    chunks = [delta(content=[thinking(texts(piece))]) for piece in pieces]
    last = events_in(sse(*chunks, delta("stop", content="so")))[-1]
    assert isinstance(last, ResponseDone)
    [thought] = [part for part in last.response.ai_message.contents if isinstance(part, ThinkingContent)]
    assert thought.text == "".join(pieces)
    assert thought.provider_state is not None
    assert thought.provider_state.data["thinking_parts"] == [thinking(texts("".join(pieces)))]
