"""A transport without a network, and short ways to ask what a model would send and what it makes of an answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentforge.model import AiMessage, ChatMessage, ProviderState
from agentforge.provider import Answering
from agentforge_gemini import GeminiChatModel, GeminiRow
from agentforge_gemini.wire.response import decode_response
from agentforge_gemini.wire.stream import StreamDecoder
from tests.support.cassette_checks import Recordings
from tests.support.listed_answers import ListedAnswers
from tests.support.wire_exchange import KEY, Asking, Reading, offline

USAGE = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}

#: The model that most tests ask, and who reads its state.
MODEL = "gemini-3.5-flash"
OWNER = f"gemini/generateContent/{MODEL}"

GOOD = {
    "candidates": [{"content": {"parts": [{"text": "ok"}], "role": "model"}, "finishReason": "STOP", "index": 0}],
    "usageMetadata": USAGE,
    "modelVersion": MODEL,
    "responseId": "r1",
}


class FakeTransport(ListedAnswers):
    """Answers in this form."""

    GOOD = GOOD


def model_on(
    transport: FakeTransport | None = None, vendor: str | GeminiRow = "gemini", **options: Any
) -> GeminiChatModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    usual = {"model": MODEL, "api_key": KEY}
    if vendor == "generic":
        usual["base_url"] = "https://llm.example/gemini"
    if vendor == "vertexai":
        usual["project"] = "shop"
    return offline(GeminiChatModel, transport or FakeTransport(), vendor=vendor, **{**usual, **options})


ASKING = Asking(model_on, FakeTransport)
exchange, body_of, notice_codes = ASKING.exchange, ASKING.body_of, ASKING.notice_codes

READING = Reading(OWNER, Answering, decode_response, StreamDecoder)
answering, plain, events_in, streamed = READING.answering, READING.plain, READING.events_in, READING.streamed

#: Of both APIs.
RECORDINGS = Recordings(READING, "gemini", "gemini", "vertexai", files=15)


def own(**data: Any) -> ProviderState:
    """State that the model of most tests reads."""
    return ProviderState(OWNER, data)


def body(*parts: Mapping[str, Any], finish: str | None = "STOP", **fields: Any) -> dict[str, Any]:
    """An answer with these parts; ``fields`` are of its candidate."""
    candidate: dict[str, Any] = {"content": {"parts": list(parts), "role": "model"}, "index": 0, **fields}
    if finish is not None:
        candidate["finishReason"] = finish
    return {**GOOD, "candidates": [candidate]}


def event(data: Mapping[str, Any]) -> bytes:
    """One event of a stream."""
    return b"data: " + json.dumps(data).encode() + b"\r\n\r\n"


def piece(*parts: Mapping[str, Any], finish: str | None = None, **fields: Any) -> bytes:
    """The event of a stream with these parts."""
    return event(body(*parts, finish=finish, **fields))


def call_part(name: str = "get_weather", args: Any = None, **more: Any) -> dict[str, Any]:
    """A call of the wire; ``id`` goes into it, all else beside it."""
    call: dict[str, Any] = {"name": name}
    if args is not None:
        call["args"] = args
    if "id" in more:
        call["id"] = more.pop("id")
    return {"functionCall": call, **more}


def contents_of(message: AiMessage, *rest: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    """The contents of a request in which ``message`` answers a question, with what follows."""
    from agentforge.model import UserMessage

    found: list[dict[str, Any]] = body_of([UserMessage("q"), message, *rest, UserMessage("and?")], **options)[
        "contents"
    ]
    return found
