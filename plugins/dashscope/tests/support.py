"""A transport without a network, and short ways to ask what a model would send and what it makes of an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentforge.model import ChatRequestParameters, Message
from agentforge_dashscope import DashScopeChatModel, DashScopeRow
from agentforge_dashscope.wire.reply import GenerationAnswering
from agentforge_dashscope.wire.response import decode_response
from agentforge_dashscope.wire.stream import StreamDecoder
from tests.support.listed_answers import ListedAnswers
from tests.support.wire_exchange import KEY, Asking, Reading, offline

#: Whose opaque state it is, in the answers that are decoded here.
OWNER = "dashscope/generation"

USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}

GOOD: dict[str, Any] = {
    "output": {"choices": [{"message": {"role": "assistant", "content": "ok"}, "index": 0, "finish_reason": "stop"}]},
    "usage": USAGE,
    "request_id": "r-1",
}


class FakeTransport(ListedAnswers):
    """Answers in this form."""

    GOOD = GOOD


def model_on(
    transport: FakeTransport | None = None, vendor: str | DashScopeRow = "dashscope", **options: Any
) -> DashScopeChatModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    usual = {"model": "qwen-plus", "api_key": KEY}
    if vendor == "generic":
        usual["base_url"] = "https://llm.example/api/v1"
    return offline(DashScopeChatModel, transport or FakeTransport(), vendor=vendor, **{**usual, **options})


ASKING = Asking(model_on, FakeTransport)
exchange, body_of, notice_codes = ASKING.exchange, ASKING.body_of, ASKING.notice_codes

READING = Reading(OWNER, GenerationAnswering, decode_response, StreamDecoder)
answering, plain, events_in, streamed = READING.answering, READING.plain, READING.events_in, READING.streamed


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
