"""Streams that are JSON themselves: a wire says so, and its stream is not taken for a whole answer."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import ModelError
from agentforge.model import ChatRequest, ResponseDone
from tests.unit.testing.small_wire import SmallModel, SmallSide, SmallWire


def lines(self: SmallSide, item: Any) -> bytes:
    """An event as a line of JSON, as some protocols stream."""
    return json.dumps(item).encode() + b"\n"


async def test_a_stream_of_json_lines_is_read_as_a_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SmallSide, "line", lines)
    monkeypatch.setattr(SmallWire, "STREAMS_JSON", True)
    events = [event async for event in SmallModel(["Hello there."]).stream(ChatRequest("Hi"))]

    assert isinstance(events[-1], ResponseDone)
    assert events[-1].response.ai_message.text == "Hello there."


async def test_without_that_word_json_is_a_whole_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Some servers answer whole where a stream was asked for."""
    monkeypatch.setattr(SmallSide, "line", lines)

    with pytest.raises(ModelError):
        [event async for event in SmallModel(["Hello there."]).stream(ChatRequest("Hi"))]
