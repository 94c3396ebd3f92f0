"""A transport without a network, and short ways to ask what a model would send and what it makes of an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
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
from agentforge.provider import Answering
from agentforge_ollama import OllamaChatModel, OllamaRow
from agentforge_ollama.wire.response import decode_response
from agentforge_ollama.wire.stream import StreamDecoder
from tests.support.listed_answers import ListedAnswers

#: One retry that does not wait.
AT_ONCE = RetryPolicy(max_retries=1, base=0.001, cap=0.001)

#: Whose opaque state it is, in the answers that are decoded here.
OWNER = "ollama/chat"

END = {"done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2, "total_duration": 1_500_000}
HEAD = {"model": "qwen3", "created_at": "2026-08-21T18:48:22.1Z"}
GOOD = {**HEAD, "message": {"role": "assistant", "content": "ok"}, **END}

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
    transport: FakeTransport | None = None, vendor: str | OllamaRow = "ollama", **options: Any
) -> OllamaChatModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    options.setdefault("model", "qwen3")
    options.setdefault("environment", {})
    if vendor == "generic":
        options.setdefault("base_url", "http://gpu-box.example:11434")
    if vendor == "ollama-cloud":
        options.setdefault("api_key", "key-for-tests")
    transport = transport if transport is not None else FakeTransport()
    return OllamaChatModel(vendor=vendor, transport=transport, max_retries=options.pop("max_retries", 0), **options)


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


def notices_of(
    messages: str | Sequence[ChatMessage] = "Hello", parameters: ChatRequestParameters | None = None, **options: Any
) -> list[str]:
    """The codes of the response's notices."""
    return [notice.code for notice in exchange(messages, parameters, **options)[1].notices]


def answering(**changes: Any) -> Answering:
    """What decoding needs, with the ids ``made_1``, ``made_2``, ... so that replies can be compared."""
    numbers = count(1)
    return Answering(**{"provider": OWNER, "new_id": lambda: f"made_{next(numbers)}", **changes})


def plain(body: Mapping[str, Any] | bytes, **changes: Any) -> ChatResponse:
    """A plain body decoded."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode_response(content, answering(**changes))


def reply(content: str = "", end: Mapping[str, Any] = END, **message: Any) -> dict[str, Any]:
    """A plain body with this message."""
    return {**HEAD, "message": {"role": "assistant", "content": content, **message}, **end}


def call(name: str = "get_weather", arguments: Any = None, *, index: int = 0, **more: Any) -> dict[str, Any]:
    """One call as it is on the wire."""
    arguments = {"city": "Oslo"} if arguments is None else arguments
    return {**more, "function": {"index": index, "name": name, "arguments": arguments}}


def line(content: str = "", **message: Any) -> bytes:
    """One line of a stream."""
    return dumped({**HEAD, "message": {"role": "assistant", "content": content, **message}, "done": False})


def last(content: str = "", end: Mapping[str, Any] = END, **message: Any) -> bytes:
    """The line that ends a stream."""
    return dumped(reply(content, end, **message))


def dumped(value: object) -> bytes:
    """A value as a line."""
    return json.dumps(value, ensure_ascii=False).encode() + b"\n"


def events_in(*pieces: bytes, **changes: Any) -> list[ChatEvent]:
    """All events of a stream's body, which comes in these pieces."""
    decoder = StreamDecoder(answering(**changes))
    return [*(event for piece in pieces for event in decoder.feed(piece)), *decoder.finish()]


def streamed(*pieces: bytes, **changes: Any) -> ChatResponse:
    """The response of a stream's body."""
    done = events_in(*pieces, **changes)[-1]
    assert isinstance(done, ResponseDone)
    return done.response


def calls_of(response: ChatResponse) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each call."""
    return [(c.id, c.name, c.arguments) for c in response.ai_message.tool_execution_requests]
