"""A scripted reply in the form of Ollama's chat API: one object, or the lines of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.model.content import TextContent, ThinkingContent
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage
from agentforge.testing.wire_form import WireForm, mappings_in, pieces_of

__all__ = ("OllamaForm",)

_CREATED = "2026-08-21T18:48:22.000000Z"
_FINISH = {FinishReason.STOP: "stop", FinishReason.LENGTH: "length", FinishReason.TOOL_EXECUTION: "stop"}


class OllamaForm(WireForm):
    """Messages in, one message out. A stream is what a request asks for that says nothing of it; a call comes whole in
    a line of its own, with its arguments as an object. Text that is no JSON object goes as a text, which no server
    sends but a script may ask for."""

    stream_type = "application/x-ndjson"

    def streams(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> bool:
        """Whether the request asks for a stream: it does unless it says otherwise."""
        return body.get("stream") is not False

    def error(self, error: ModelError) -> dict[str, Any]:
        """The body of a plain answer that failed: a text."""
        return {"error": error.message}

    def call_ids(self, body: Mapping[str, Any]) -> Iterator[str]:
        """The ids of all calls in a request's messages."""
        for message in mappings_in(body.get("messages")):
            for call in mappings_in(message.get("tool_calls")):
                if isinstance(call.get("id"), str):
                    yield call["id"]

    def characters(self, body: Mapping[str, Any]) -> int:
        """The characters of a request's texts and calls, as a scripted model counts them."""
        total = 0
        for message in mappings_in(body.get("messages")):
            content = message.get("content")
            total += len(content) if isinstance(content, str) else 0
            for call in mappings_in(message.get("tool_calls")):
                function = call.get("function")
                if isinstance(function, Mapping):
                    total += len(str(function.get("name", ""))) + len(_dumped(function.get("arguments")))
        return total

    def reply(self, response: ChatResponse, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a plain answer."""
        message = response.ai_message
        made: dict[str, Any] = {"role": "assistant", "content": message.text or ""}
        if message.thinking is not None:
            made["thinking"] = message.thinking
        if message.has_tool_execution_requests:
            made["tool_calls"] = [_call(call, at) for at, call in enumerate(message.tool_execution_requests)]
        return {**_head(response), "message": made, **_end(response)}

    def events(self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None) -> Iterator[bytes]:
        """The lines of a streamed answer, the last of which is done; ``error`` ends them by a line that carries it."""
        index = 0
        for part in response.ai_message.contents:
            if isinstance(part, TextContent):
                for piece in pieces_of(part.text):
                    yield _line(response, {"content": piece})
            elif isinstance(part, ThinkingContent):
                for piece in pieces_of(part.text):
                    yield _line(response, {"content": "", "thinking": piece})
            elif isinstance(part, ToolExecutionRequest):
                yield _line(response, {"content": "", "tool_calls": [_call(part, index)]})
                index += 1
        if error is not None:
            yield _dumped({"error": error.message}).encode() + b"\n"
            return
        yield _line(response, {"content": ""}, **_end(response))


def _head(response: ChatResponse) -> dict[str, Any]:
    return {"model": response.model_name, "created_at": _CREATED}


def _line(response: ChatResponse, message: Mapping[str, Any], **end: Any) -> bytes:
    said = {"message": {"role": "assistant", **message}, **(end or {"done": False})}
    return _dumped({**_head(response), **said}).encode() + b"\n"


def _call(call: ToolExecutionRequest, index: int) -> dict[str, Any]:
    return {
        "id": call.id,
        "function": {"index": index, "name": call.name, "arguments": _arguments(call.arguments)},
    }


def _arguments(text: str) -> object:
    try:
        value = json.loads(text or "{}")
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, dict) else text


def _end(response: ChatResponse) -> dict[str, Any]:
    word = response.raw_finish_reason
    if word is None:
        word = _FINISH.get(response.finish_reason, response.finish_reason.value)
    return {"done": True, "done_reason": word, **_usage(response.token_usage)}


def _usage(usage: TokenUsage) -> dict[str, int]:
    counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
    return {"total_duration": 1_000_000, **{name: count for name, count in counts.items() if count is not None}}


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
