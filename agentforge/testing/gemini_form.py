"""A scripted reply in the generateContent form: one object, or the events of a stream."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.model.citation import Citation
from agentforge.model.content import TextContent, ThinkingContent
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage
from agentforge.testing.endpoint_turn import error_object
from agentforge.testing.wire_form import WireForm, dumped, mappings_in, pieces_of

__all__ = ("GeminiForm",)

_FINISH = {
    FinishReason.STOP: "STOP",
    FinishReason.TOOL_EXECUTION: "STOP",
    FinishReason.LENGTH: "MAX_TOKENS",
    FinishReason.CONTENT_FILTER: "SAFETY",
    FinishReason.ERROR: "MALFORMED_FUNCTION_CALL",
    FinishReason.OTHER: "OTHER",
}
_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    408: "DEADLINE_EXCEEDED",
    429: "RESOURCE_EXHAUSTED",
    503: "UNAVAILABLE",
}


class GeminiForm(WireForm):
    """Contents of parts in, parts out. Thoughts are signed, and so is the first call; arguments are objects. Text that
    is no JSON object goes as a text, which no server sends but a script may ask for. The model and whether the answer
    is streamed stand in the path."""

    def streams(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> bool:
        """Whether the request asks for a stream."""
        return path.endswith(":streamGenerateContent")

    def model_name(self, path: str, body: Mapping[str, Any]) -> object:
        """The model that the request asks for."""
        return path.rpartition("/")[2].rpartition(":")[0]

    def error(self, error: ModelError) -> dict[str, Any]:
        """The body of a plain answer that failed, and of the event that ends a stream."""
        said = error_object(error)
        code = error.status or 500
        status = str(said["code"] or _STATUS.get(code, "INTERNAL"))
        return {"error": {"code": code, "message": error.message, "status": status.upper()}}

    def call_ids(self, body: Mapping[str, Any]) -> Iterator[str]:
        """The ids of all calls in a request's contents; most have none."""
        for part in _parts(body):
            call = part.get("functionCall")
            if isinstance(call, Mapping) and isinstance(call.get("id"), str):
                yield call["id"]

    def characters(self, body: Mapping[str, Any]) -> int:
        """The characters of a request's texts, calls and results, as a scripted model counts them."""
        system = body.get("systemInstruction")
        parts = mappings_in(system.get("parts")) if isinstance(system, Mapping) else ()
        return sum(map(_length, (*parts, *_parts(body))))

    def reply(self, response: ChatResponse, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a plain answer."""
        return _answer(response, list(_made(response)), ends=True)

    def events(self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None) -> Iterator[bytes]:
        """The events of a streamed answer; with ``error`` an event that carries it ends them."""
        for part in _made(response):
            plain = part.keys() == {"text"}
            for piece in pieces_of(part["text"]) if plain else (None,):
                yield _event(_answer(response, [part if piece is None else {"text": piece}], ends=False))
        yield _event(self.error(error) if error is not None else _answer(response, [{"text": ""}], ends=True))


def _parts(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for content in mappings_in(body.get("contents")):
        yield from mappings_in(content.get("parts"))


def _length(part: Mapping[str, Any]) -> int:
    total = len(part.get("text") or "")
    call, result = part.get("functionCall"), part.get("functionResponse")
    if isinstance(call, Mapping):
        total += len(str(call.get("name", ""))) + len(dumped(call.get("args")))
    if isinstance(result, Mapping) and isinstance(said := result.get("response"), Mapping):
        total += len(str(said.get("output", said.get("error", ""))))
    return total


def _made(response: ChatResponse) -> Iterator[dict[str, Any]]:
    is_first = True
    for part in response.ai_message.contents:
        if isinstance(part, TextContent):
            yield {"text": part.text}
        elif isinstance(part, ThinkingContent):
            yield {"text": part.text, "thought": True, "thoughtSignature": _signature(part.text)}
        elif isinstance(part, ToolExecutionRequest):
            call = {"functionCall": {"name": part.name, "args": _args(part.arguments), "id": part.id}}
            yield {**call, "thoughtSignature": _signature(part.name)} if is_first else call
            is_first = False


def _answer(response: ChatResponse, parts: list[dict[str, Any]], *, ends: bool) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"parts": parts, "role": "model"}, "index": 0}
    made: dict[str, Any] = {"candidates": [candidate]}
    if ends:
        candidate["finishReason"] = _finish(response)
        if response.citations:
            candidate["groundingMetadata"] = _grounding(response.citations)
        made["usageMetadata"] = _usage(response.token_usage)
    return {**made, "modelVersion": response.model_name, "responseId": response.id}


def _finish(response: ChatResponse) -> str:
    if response.raw_finish_reason is not None:
        return response.raw_finish_reason
    return _FINISH.get(response.finish_reason, response.finish_reason.value.upper())


def _usage(usage: TokenUsage) -> dict[str, Any]:
    thoughts = usage.reasoning_tokens or 0
    return {
        "promptTokenCount": usage.input_tokens or 0,
        "cachedContentTokenCount": usage.cached_input_tokens or 0,
        "candidatesTokenCount": max((usage.output_tokens or 0) - thoughts, 0),
        "thoughtsTokenCount": thoughts,
        "totalTokenCount": usage.total_tokens or (usage.input_tokens or 0) + (usage.output_tokens or 0),
    }


def _grounding(citations: tuple[Citation, ...]) -> dict[str, Any]:
    return {"groundingChunks": [{"web": {"uri": each.url, "title": each.title}} for each in citations]}


def _args(arguments: str) -> object:
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments


def _signature(text: str) -> str:
    return b64encode(f"signed:{len(text)}".encode()).decode()


def _event(data: Mapping[str, Any]) -> bytes:
    return b"data: " + dumped(data).encode() + b"\r\n\r\n"
