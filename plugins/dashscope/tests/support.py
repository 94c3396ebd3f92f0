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
    Message,
    ResponseDone,
    ToolParameters,
    ToolSpecification,
)
from agentforge_dashscope import DashScopeChatModel, DashScopeRow
from agentforge_dashscope.wire.reply import GenerationAnswering
from agentforge_dashscope.wire.response import decode_response
from agentforge_dashscope.wire.stream import StreamDecoder
from tests.support.listed_answers import ListedAnswers

#: One retry that does not wait.
AT_ONCE = RetryPolicy(max_retries=1, base=0.001, cap=0.001)

#: Whose opaque state it is, in the answers that are decoded here.
OWNER = "dashscope/generation"

USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}

GOOD: dict[str, Any] = {
    "output": {"choices": [{"message": {"role": "assistant", "content": "ok"}, "index": 0, "finish_reason": "stop"}]},
    "usage": USAGE,
    "request_id": "r-1",
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
    transport: FakeTransport | None = None, vendor: str | DashScopeRow = "dashscope", **options: Any
) -> DashScopeChatModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    options.setdefault("model", "qwen-plus")
    options.setdefault("api_key", "key-for-tests")
    options.setdefault("environment", {})
    if vendor == "generic":
        options.setdefault("base_url", "https://llm.example/api/v1")
    transport = transport if transport is not None else FakeTransport()
    return DashScopeChatModel(vendor=vendor, transport=transport, max_retries=options.pop("max_retries", 0), **options)


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
    messages: str | Sequence[Message] = "Hello",
    parameters: ChatRequestParameters | None = None,
    *,
    stream: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """The body that a request would have."""
    content, _ = model_on(**options).preview(ChatRequest(messages, parameters), stream=stream)  # type: ignore[arg-type]
    found: dict[str, Any] = json.loads(content)
    return found


def parameters_of(
    parameters: ChatRequestParameters | None = None, *, stream: bool = False, **options: Any
) -> dict[str, Any]:
    """The ``parameters`` of the body, without the one that is always there."""
    found: dict[str, Any] = body_of("Hello", parameters, stream=stream, **options)["parameters"]
    assert found.pop("result_format") == "message"
    return found


def messages_of(*messages: Message, **options: Any) -> list[dict[str, Any]]:
    """The messages of the body."""
    found: list[dict[str, Any]] = body_of(messages, **options)["input"]["messages"]
    return found


def notice_codes(
    messages: str | Sequence[ChatMessage] = "Hello", parameters: ChatRequestParameters | None = None, **options: Any
) -> list[str]:
    """The codes of what is told of a request."""
    _, notices = model_on(**options).preview(ChatRequest(messages, parameters))
    return [notice.code for notice in notices]


def numbered_ids() -> Any:
    """Ids ``made_1``, ``made_2``, ... so that replies can be compared."""
    numbers = count(1)
    return lambda: f"made_{next(numbers)}"


def answering(**changes: Any) -> GenerationAnswering:
    """What decoding needs, with predictable ids."""
    return GenerationAnswering(**{"provider": OWNER, "new_id": numbered_ids(), **changes})


def plain(body: Mapping[str, Any] | bytes, **changes: Any) -> ChatResponse:
    """A plain body decoded."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode_response(content, answering(**changes))


def reply(finish: Any = "stop", **message: Any) -> dict[str, Any]:
    """A plain body, or the data of an event, with this message."""
    said = {"role": "assistant", "content": "", **message}
    output = {"choices": [{"message": said, "index": 0, "finish_reason": finish}]}
    return {"output": output, "usage": USAGE, "request_id": "r-1"}


def call_piece(arguments: Any, *, index: Any = 0, id: str = "", name: str | None = None) -> dict[str, Any]:
    """A piece of a call; without a name one that goes on."""
    function = {"arguments": arguments} if name is None else {"name": name, "arguments": arguments}
    return {"index": index, "id": id, "type": "function", "function": function}


def event(data: Any, number: int = 1, *, kind: str = "result", status: int | None = 200) -> bytes:
    """One event of a stream, in the way in which it was recorded."""
    comment = "" if status is None else f":HTTP_STATUS/{status}\n"
    said = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    return f"id:{number}\nevent:{kind}\n{comment}data:{said}\n\n".encode()


def events(*bodies: Mapping[str, Any]) -> bytes:
    """A stream of these bodies."""
    return b"".join(event(body, number) for number, body in enumerate(bodies, 1))


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
