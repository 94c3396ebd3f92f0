"""A transport without a network, and short ways to ask what a model would send and what it makes of an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentforge.provider import Answering
from agentforge_ollama import OllamaChatModel, OllamaRow
from agentforge_ollama.wire.response import decode_response
from agentforge_ollama.wire.stream import StreamDecoder
from tests.support.listed_answers import ListedAnswers
from tests.support.wire_exchange import KEY, Asking, Reading, offline

#: Whose opaque state it is, in the answers that are decoded here.
OWNER = "ollama/chat"

END = {"done": True, "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2, "total_duration": 1_500_000}
HEAD = {"model": "qwen3", "created_at": "2026-08-21T18:48:22.1Z"}
GOOD = {**HEAD, "message": {"role": "assistant", "content": "ok"}, **END}


class FakeTransport(ListedAnswers):
    """Answers in this form."""

    GOOD = GOOD


def model_on(
    transport: FakeTransport | None = None, vendor: str | OllamaRow = "ollama", **options: Any
) -> OllamaChatModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    usual = {"model": "qwen3"}
    if vendor == "generic":
        usual["base_url"] = "http://gpu-box.example:11434"
    if vendor == "ollama-cloud":
        usual["api_key"] = KEY
    return offline(OllamaChatModel, transport or FakeTransport(), vendor=vendor, **{**usual, **options})


ASKING = Asking(model_on, FakeTransport)
exchange, body_of, notices_of = ASKING.exchange, ASKING.body_of, ASKING.notice_codes

READING = Reading(OWNER, Answering, decode_response, StreamDecoder)
answering, plain, events_in, streamed = READING.answering, READING.plain, READING.events_in, READING.streamed


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
