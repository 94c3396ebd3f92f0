"""A transport without a network, and short ways to ask what a model would send and what it makes of an answer."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any

from agentforge.http import RetryPolicy
from agentforge.model import (
    AiMessage,
    ChatEvent,
    ChatMessage,
    ChatRequest,
    ChatRequestParameters,
    ChatResponse,
    ProviderState,
    ResponseDone,
    ToolParameters,
    ToolSpecification,
)
from agentforge.provider import Answering
from agentforge_gemini import GeminiChatModel, GeminiRow
from agentforge_gemini.wire.response import decode_response
from agentforge_gemini.wire.stream import StreamDecoder
from tests.support.listed_answers import ListedAnswers

#: One retry that does not wait.
AT_ONCE = RetryPolicy(max_retries=1, base=0.001, cap=0.001)

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
    transport: FakeTransport | None = None, vendor: str | GeminiRow = "gemini", **options: Any
) -> GeminiChatModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    options.setdefault("model", MODEL)
    options.setdefault("api_key", "key-for-tests")
    options.setdefault("environment", {})
    if vendor == "generic":
        options.setdefault("base_url", "https://llm.example/gemini")
    if vendor == "vertexai":
        options.setdefault("project", "shop")
    transport = transport if transport is not None else FakeTransport()
    return GeminiChatModel(vendor=vendor, transport=transport, max_retries=options.pop("max_retries", 0), **options)


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
    model = model_on(**options)
    found: dict[str, Any] = json.loads(model.preview(ChatRequest(messages, parameters))[0])
    return found


def notice_codes(
    messages: str | Sequence[ChatMessage] = "Hello", parameters: ChatRequestParameters | None = None, **options: Any
) -> list[str]:
    """The codes of the notices that a request makes."""
    _, notices = model_on(**options).preview(ChatRequest(messages, parameters))
    return [notice.code for notice in notices]


def own(**data: Any) -> ProviderState:
    """State that the model of most tests reads."""
    return ProviderState(OWNER, data)


def numbered_ids() -> Any:
    """Ids ``made_1``, ``made_2``, ... so that replies can be compared."""
    numbers = count(1)
    return lambda: f"made_{next(numbers)}"


def answering(**changes: Any) -> Answering:
    """What decoding needs, with predictable ids."""
    return Answering(**{"provider": OWNER, "new_id": numbered_ids(), **changes})


def plain(body: Any, **changes: Any) -> ChatResponse:
    """A plain body decoded."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return decode_response(content, answering(**changes))


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


def events_in(content: bytes, **changes: Any) -> list[ChatEvent]:
    """All events of a stream's body."""
    decoder = StreamDecoder(answering(**changes))
    return [*decoder.feed(content), *decoder.finish()]


def streamed(content: bytes, **changes: Any) -> ChatResponse:
    """The response of a stream's body."""
    last = events_in(content, **changes)[-1]
    assert isinstance(last, ResponseDone)
    return last.response


def call_part(name: str = "get_weather", args: Any = None, **more: Any) -> dict[str, Any]:
    """A call of the wire; ``id`` goes into it, all else beside it."""
    call: dict[str, Any] = {"name": name}
    if args is not None:
        call["args"] = args
    if "id" in more:
        call["id"] = more.pop("id")
    return {"functionCall": call, **more}


def calls_of(response: ChatResponse) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each call."""
    return [(c.id, c.name, c.arguments) for c in response.ai_message.tool_execution_requests]


def contents_of(message: AiMessage, *rest: ChatMessage, **options: Any) -> list[dict[str, Any]]:
    """The contents of a request in which ``message`` answers a question, with what follows."""
    from agentforge.model import UserMessage

    found: list[dict[str, Any]] = body_of([UserMessage("q"), message, *rest, UserMessage("and?")], **options)[
        "contents"
    ]
    return found


def cassettes(shared: Path) -> list[Path]:
    """The recordings of this form, of both APIs."""
    found = sorted(
        path for name in ("gemini", "vertexai") for path in (shared / "cassettes" / name).glob("gemini-*.json")
    )
    assert len(found) == 15
    return found
