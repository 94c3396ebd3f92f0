"""Short ways to say what a Responses server says, and to ask what our model sends."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agentforge.model import ChatEvent, ChatMessage, ChatRequest, ChatRequestParameters, ChatResponse, ResponseDone
from agentforge_openai import OpenAiResponsesModel, VendorRow
from agentforge_openai.responses.reply import ResponsesAnswering
from agentforge_openai.responses.response import decode_response
from agentforge_openai.responses.stream import ResponsesDecoder
from plugins.openai.tests.support import FakeTransport, numbered_ids

OWNER = "generic@llm.example/v1/responses"
USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5}


def text_item(*parts: str | dict[str, Any], id: str = "msg_1", **fields: Any) -> dict[str, Any]:
    """A message; a text is a part of its own."""
    content = [
        {"type": "output_text", "annotations": [], "logprobs": [], "text": part} if isinstance(part, str) else part
        for part in parts
    ]
    return {"id": id, "type": "message", "status": "completed", "content": content, "role": "assistant", **fields}


def call_item(
    name: str = "get_weather", arguments: str = '{"city":"Oslo"}', n: int = 1, **fields: Any
) -> dict[str, Any]:
    """A call of a function."""
    return {
        "id": f"fc_{n}",
        "type": "function_call",
        "status": "completed",
        "arguments": arguments,
        "call_id": f"call_{n}",
        "name": name,
        **fields,
    }


def custom_item(input: str = "SELECT 1", n: int = 1, **fields: Any) -> dict[str, Any]:
    """A call of a custom tool."""
    return {
        "id": f"ctc_{n}",
        "type": "custom_tool_call",
        "status": "completed",
        "call_id": f"call_{n}",
        "name": "run_sql",
        "input": input,
        **fields,
    }


def reasoning_item(*summary: str, n: int = 1, **fields: Any) -> dict[str, Any]:
    """Reasoning with its encrypted content."""
    return {
        "id": f"rs_{n}",
        "type": "reasoning",
        "summary": [{"type": "summary_text", "text": text} for text in summary],
        "encrypted_content": f"opaque-{n}",
        **fields,
    }


SEARCH = {
    "id": "ws_1",
    "type": "web_search_call",
    "status": "completed",
    "action": {"type": "search", "query": "weather in Oslo"},
}


def answer(*items: dict[str, Any], **fields: Any) -> dict[str, Any]:
    """The body of an answer."""
    return {
        "id": "resp_1",
        "object": "response",
        "status": "completed",
        "error": None,
        "incomplete_details": None,
        "model": "some-model-1",
        "output": list(items),
        "store": False,
        "usage": USAGE,
        **fields,
    }


def event(kind: str, **data: Any) -> bytes:
    """One event of a stream."""
    content = json.dumps({"type": kind, **data}, ensure_ascii=False)
    return f"event: {kind}\ndata: {content}\n\n".encode()


def item_events(index: int, item: dict[str, Any]) -> Iterator[bytes]:
    """The events of one item, its texts in two pieces."""
    place = {"item_id": item.get("id"), "output_index": index}
    kind = item["type"]
    if kind == "message":
        yield event("response.output_item.added", output_index=index, item={**item, "content": []})
        for at, part in enumerate(item["content"]):
            name, key = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
            for piece in halves(part[key]):
                yield event(f"response.{name}.delta", **place, content_index=at, delta=piece)
            yield event(f"response.{name}.done", **place, content_index=at, **{key: part[key]})
    elif kind == "reasoning":
        yield event("response.output_item.added", output_index=index, item={**item, "summary": []})
        for at, part in enumerate(item.get("summary") or ()):
            yield event("response.reasoning_summary_part.added", **place, summary_index=at, part={**part, "text": ""})
            for piece in halves(part["text"]):
                yield event("response.reasoning_summary_text.delta", **place, summary_index=at, delta=piece)
        for at, part in enumerate(item.get("content") or ()):
            for piece in halves(part["text"]):
                yield event("response.reasoning_text.delta", **place, content_index=at, delta=piece)
    elif kind in ("function_call", "custom_tool_call"):
        key, name = (
            ("arguments", "function_call_arguments") if kind == "function_call" else ("input", "custom_tool_call_input")
        )
        yield event("response.output_item.added", output_index=index, item={**item, key: "", "status": "in_progress"})
        for piece in halves(item[key]):
            yield event(f"response.{name}.delta", **place, delta=piece)
        yield event(f"response.{name}.done", **place, **{key: item[key]})
    else:
        yield event("response.output_item.added", output_index=index, item={**item, "status": "in_progress"})
        yield event(f"response.{kind}.in_progress", **place)
    yield event("response.output_item.done", output_index=index, item=item)


def halves(text: str) -> list[str]:
    """The text in two pieces."""
    middle = len(text) // 2
    return [piece for piece in (text[:middle], text[middle:]) if piece]


def stream_of(body: Mapping[str, Any], *, end: str | None = None) -> list[bytes]:
    """The events that say what a plain answer says."""
    begun = {**body, "status": "in_progress", "output": [], "usage": None}
    events = [event("response.created", response=begun), event("response.in_progress", response=begun)]
    for index, item in enumerate(body["output"]):
        events += item_events(index, item)
    events.append(event(end or f"response.{body['status']}", response=body))
    return events


def answering(**changes: Any) -> ResponsesAnswering:
    """What decoding needs, with predictable ids."""
    return ResponsesAnswering(**{"provider": OWNER, "new_id": numbered_ids(), **changes})


def plain(*items: dict[str, Any], asked: Mapping[str, Any] | None = None, **fields: Any) -> ChatResponse:
    """A plain answer decoded."""
    return decode_response(json.dumps(answer(*items, **fields)).encode(), answering(**(asked or {})))


def events_in(stream: Sequence[bytes] | bytes, **changes: Any) -> list[ChatEvent]:
    """All events of a stream."""
    decoder = ResponsesDecoder(answering(**changes))
    content = stream if isinstance(stream, bytes) else b"".join(stream)
    return [*decoder.feed(content), *decoder.finish()]


def streamed(stream: Sequence[bytes] | bytes, **changes: Any) -> ChatResponse:
    """The response of a stream."""
    last = events_in(stream, **changes)[-1]
    assert isinstance(last, ResponseDone)
    return last.response


def model_on(
    transport: FakeTransport | None = None, vendor: str | VendorRow = "generic", **options: Any
) -> OpenAiResponsesModel:
    """A model of that vendor over the transport, with an address and a key where the row needs them."""
    options.setdefault("model", "some-model")
    options.setdefault("api_key", "key-for-tests")
    if vendor in ("generic", "azure"):
        options.setdefault("base_url", "https://llm.example/v1" if vendor == "generic" else "https://desk.example")
    return OpenAiResponsesModel(vendor=vendor, transport=transport or FakeTransport(), max_retries=0, **options)


def body_of(
    messages: str | Sequence[ChatMessage],
    parameters: ChatRequestParameters | None = None,
    *,
    stream: bool = False,
    vendor: str | VendorRow = "generic",
    **options: Any,
) -> dict[str, Any]:
    """The body that a request makes."""
    model = model_on(None, vendor, **options)
    body, _ = model.preview(ChatRequest(messages, parameters), stream=stream)
    made: dict[str, Any] = json.loads(body)
    return made


def notices_of(messages: Sequence[ChatMessage], vendor: str | VendorRow = "generic", **options: Any) -> list[str]:
    """The codes of the notices of a request."""
    made = model_on(None, vendor, **options).preview(ChatRequest(messages))
    return [notice.code for notice in made[1]]


def exchange(
    messages: str | Sequence[ChatMessage],
    body: Mapping[str, Any],
    parameters: ChatRequestParameters | None = None,
    *,
    vendor: str | VendorRow = "generic",
    **options: Any,
) -> ChatResponse:
    """The response to one plain request."""
    transport = FakeTransport(dict(body))
    return asyncio.run(model_on(transport, vendor, **options).chat(ChatRequest(messages, parameters)))


def calls_of(response: ChatResponse) -> list[tuple[str, str, str]]:
    """Id, name and argument text of each call."""
    return [(c.id, c.name, c.arguments) for c in response.ai_message.tool_execution_requests]
