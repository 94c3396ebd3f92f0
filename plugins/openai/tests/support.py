"""A transport without a network, and short ways to ask what a model would send and what it makes of an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import count
from typing import Any

from agentforge.model import ChatEvent, ChatRequest, ChatResponse, ResponseDone, ToolParameters, ToolSpecification
from agentforge_openai import OpenAiChatModel, VendorRow, vendor_row
from agentforge_openai.wire.reply import ChatAnswering
from agentforge_openai.wire.response import decode_response
from agentforge_openai.wire.stream import StreamDecoder
from tests.support.listed_answers import ListedAnswers

GOOD = {"choices": [{"index": 0, "message": {"role": "assistant", "content": "ok"}, "finish_reason": "stop"}]}

USAGE = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}

WEATHER = ToolSpecification(
    "get_weather",
    "current weather of a city",
    ToolParameters.builder().add_property("city", "string", "name of the city", required=True).build(),
)


class FakeTransport(ListedAnswers):
    """Answers in this form."""

    GOOD = GOOD


def model_on(transport: FakeTransport, vendor: str | VendorRow = "generic", **options: Any) -> OpenAiChatModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    options.setdefault("model", "some-model")
    options.setdefault("api_key", "key-for-tests")
    if vendor_row(vendor).base_url is None:
        options.setdefault("base_url", "https://desk.example" if vendor == "azure" else "https://llm.example/v1")
    return OpenAiChatModel(vendor=vendor, transport=transport, max_retries=options.pop("max_retries", 0), **options)


def exchange(
    request: ChatRequest, vendor: str = "generic", answer: Any = GOOD, **options: Any
) -> tuple[dict[str, Any], ChatResponse]:
    """The body that one plain request makes, and the response to ``answer``."""
    transport = FakeTransport(answer)
    response = asyncio.run(model_on(transport, vendor, **options).chat(request))
    return transport.bodies[0], response


def numbered_ids() -> Any:
    """Ids ``made_1``, ``made_2``, ... so that replies can be compared."""
    numbers = count(1)
    return lambda: f"made_{next(numbers)}"


def answering(**changes: Any) -> ChatAnswering:
    """What decoding needs, with predictable ids."""
    return ChatAnswering(**{"provider": "tests", "new_id": numbered_ids(), **changes})


def plain(body: Mapping[str, Any] | bytes, **changes: Any) -> ChatResponse:
    """A plain body decoded."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode_response(content, answering(**changes))


def message(finish: str | None = "stop", **fields: Any) -> dict[str, Any]:
    """A plain body with one message."""
    return {"choices": [{"index": 0, "message": {"role": "assistant", **fields}, "finish_reason": finish}]}


def sse(*chunks: Any, done: bool = True) -> bytes:
    """Chunks (objects, or bytes as they are) as the body of a stream."""
    parts = [c if isinstance(c, bytes) else b"data: " + json.dumps(c).encode() + b"\n\n" for c in chunks]
    return b"".join(parts) + (b"data: [DONE]\n\n" if done else b"")


def delta(finish: str | None = None, **fields: Any) -> dict[str, Any]:
    """One chunk with one choice."""
    return {"choices": [{"index": 0, "delta": fields, "finish_reason": finish}]}


def call_delta(*items: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
    """One chunk with pieces of calls."""
    return delta(finish, tool_calls=list(items))


def piece(name: Any = None, arguments: Any = None, **fields: Any) -> dict[str, Any]:
    """One piece of a call; ``None`` leaves the member out."""
    function = {key: value for key, value in (("name", name), ("arguments", arguments)) if value is not None}
    return {**fields, "function": function}


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
