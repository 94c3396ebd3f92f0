"""A transport without a network, and short ways to ask what a model would send and what it makes of an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from functools import cache
from itertools import count
from typing import Any

from agentforge.http import RetryPolicy
from agentforge.model import (
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    ResponseDone,
    ToolParameters,
    ToolSpecification,
)
from agentforge_anthropic import AnthropicChatModel, MessagesRow
from agentforge_anthropic.wire.reply import MessagesAnswering
from agentforge_anthropic.wire.response import decode_response
from agentforge_anthropic.wire.stream import StreamDecoder
from tests.support.listed_answers import ListedAnswers
from tests.support.official_types import StrictAdapter, strict_adapter

#: One retry that does not wait.
AT_ONCE = RetryPolicy(max_retries=1, base=0.001, cap=0.001)

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

WEATHER = ToolSpecification(
    "get_weather",
    "current weather of a city",
    ToolParameters.builder().add_property("city", "string", "name of the city", required=True).build(),
)
TIME = ToolSpecification(
    "get_time", "the time in a city", ToolParameters.builder().add_property("city", "string", required=True).build()
)


class FakeTransport(ListedAnswers):
    """Answers in this form."""

    GOOD = GOOD


def model_on(
    transport: FakeTransport | None = None, vendor: str | MessagesRow = "anthropic", **options: Any
) -> AnthropicChatModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    options.setdefault("model", "claude-sonnet-4-5")
    options.setdefault("api_key", "key-for-tests")
    options.setdefault("environment", {})
    if vendor == "generic":
        options.setdefault("base_url", "https://llm.example/anthropic")
    transport = transport if transport is not None else FakeTransport()
    return AnthropicChatModel(vendor=vendor, transport=transport, max_retries=options.pop("max_retries", 0), **options)


def exchange(
    messages: str | Sequence[ChatMessage] = "Hello",
    parameters: ChatRequestParameters | None = None,
    answer: Any = GOOD,
    **options: Any,
) -> tuple[dict[str, Any], ChatResponse]:
    """The body that one plain request makes, and the response to ``answer``."""
    transport = FakeTransport(answer)
    response = asyncio.run(model_on(transport, **options).chat(ChatRequest(messages, parameters)))
    return transport.bodies[-1], response


def body_of(
    messages: str | Sequence[ChatMessage] = "Hello", parameters: ChatRequestParameters | None = None, **options: Any
) -> dict[str, Any]:
    """Only the body."""
    return exchange(messages, parameters, **options)[0]


def notice_codes(
    messages: str | Sequence[ChatMessage] = "Hello", parameters: ChatRequestParameters | None = None, **options: Any
) -> list[str]:
    """The codes of the response's notices."""
    return [notice.code for notice in exchange(messages, parameters, **options)[1].notices]


@cache
def request_types(beta: bool = False) -> StrictAdapter:
    """The types of a request in the official package, in which unknown keys are forbidden."""
    if beta:
        from anthropic.types.beta.message_create_params import MessageCreateParams as BetaParams

        return strict_adapter(BetaParams)
    from anthropic.types.message_create_params import MessageCreateParams

    return strict_adapter(MessageCreateParams)


def numbered_ids() -> Any:
    """Ids ``made_1``, ``made_2``, ... so that replies can be compared."""
    numbers = count(1)
    return lambda: f"made_{next(numbers)}"


def answering(**changes: Any) -> MessagesAnswering:
    """What decoding needs, with predictable ids."""
    return MessagesAnswering(**{"provider": "anthropic/messages", "new_id": numbered_ids(), **changes})


def plain(body: Mapping[str, Any] | bytes, **changes: Any) -> ChatResponse:
    """A plain body decoded."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode_response(content, answering(**changes))


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


def events_in(body: bytes, **changes: Any) -> list[ChatEvent]:
    """All events of a stream's body."""
    decoder = StreamDecoder(answering(**changes))
    return [*decoder.feed(body), *decoder.finish()]


def streamed(body: bytes, **changes: Any) -> ChatResponse:
    """The response of a stream's body."""
    last = events_in(body, **changes)[-1]
    assert isinstance(last, ResponseDone)
    return last.response


def calls_of(response: ChatResponse) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each call."""
    return [(c.id, c.name, c.arguments) for c in response.ai_message.tool_execution_requests]
