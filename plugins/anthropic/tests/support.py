"""A transport without a network, and short ways to ask what a model would send and what it makes of an answer."""

from __future__ import annotations

import json
from functools import cache
from typing import Any

from agentforge_anthropic import AnthropicChatModel, MessagesRow
from agentforge_anthropic.wire.reply import MessagesAnswering
from agentforge_anthropic.wire.response import decode_response
from agentforge_anthropic.wire.stream import StreamDecoder
from tests.support.listed_answers import ListedAnswers
from tests.support.official_types import StrictAdapter, strict_adapter
from tests.support.wire_exchange import KEY, Asking, Reading, offline

USAGE = {"input_tokens": 3, "output_tokens": 2}

GOOD = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "claude-test",
    "content": [{"type": "text", "text": "ok"}],
    "stop_reason": "end_turn",
    "stop_sequence": None,
    "usage": USAGE,
}


class FakeTransport(ListedAnswers):
    """Answers in this form."""

    GOOD = GOOD


def model_on(
    transport: FakeTransport | None = None, vendor: str | MessagesRow = "anthropic", **options: Any
) -> AnthropicChatModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    usual = {"model": "claude-sonnet-4-5", "api_key": KEY}
    if vendor == "generic":
        usual["base_url"] = "https://llm.example/anthropic"
    return offline(AnthropicChatModel, transport or FakeTransport(), vendor=vendor, **{**usual, **options})


ASKING = Asking(model_on, FakeTransport)
exchange, body_of, notice_codes = ASKING.exchange, ASKING.body_of, ASKING.notice_codes

READING = Reading("anthropic/messages", MessagesAnswering, decode_response, StreamDecoder)
answering, plain, events_in, streamed = READING.answering, READING.plain, READING.events_in, READING.streamed


@cache
def request_types(beta: bool = False) -> StrictAdapter:
    """The types of a request in the official package, in which unknown keys are forbidden."""
    if beta:
        from anthropic.types.beta.message_create_params import MessageCreateParams as BetaParams

        return strict_adapter(BetaParams)
    from anthropic.types.message_create_params import MessageCreateParams

    return strict_adapter(MessageCreateParams)


def message(*blocks: dict[str, Any], stop: str | None = "end_turn", **fields: Any) -> dict[str, Any]:
    """A plain body with these blocks."""
    return {**GOOD, "content": list(blocks), "stop_reason": stop, **fields}


def event(kind: str, **data: Any) -> bytes:
    """One event of a stream."""
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n".encode()


def started(**fields: Any) -> bytes:
    """The event that begins a message."""
    begun = {**GOOD, "content": [], "stop_reason": None, "usage": {"input_tokens": 3, "output_tokens": 1}, **fields}
    return event("message_start", message=begun)


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> bytes:
    """The events of one block."""
    parts = [event("content_block_start", index=index, content_block=start)]
    parts += [event("content_block_delta", index=index, delta=delta) for delta in deltas]
    return b"".join([*parts, event("content_block_stop", index=index)])


def ended(stop: str = "end_turn", **fields: Any) -> bytes:
    """The events that end a message."""
    delta = {"stop_reason": stop, "stop_sequence": None, **fields}
    return event("message_delta", delta=delta, usage={"output_tokens": 2}) + event("message_stop")


def text_block(index: int, *texts: str) -> bytes:
    """A block of text in pieces."""
    return block(index, {"type": "text", "text": ""}, *({"type": "text_delta", "text": text} for text in texts))


def call_block(index: int, *pieces: str, id: str = "toolu_1", name: str = "get_weather", **more: Any) -> bytes:
    """A call whose arguments come in pieces."""
    start = {"type": "tool_use", "id": id, "name": name, "input": {}, **more}
    return block(index, start, *({"type": "input_json_delta", "partial_json": piece} for piece in pieces))
