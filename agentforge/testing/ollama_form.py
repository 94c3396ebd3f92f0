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
from agentforge.testing.wire_form import MessagesWireForm, dumped, finish_word, pieces_of

__all__ = ("OllamaForm",)

_CREATED = "2026-08-21T18:48:22.000000Z"
_FINISH = {FinishReason.STOP: "stop", FinishReason.LENGTH: "length", FinishReason.TOOL_EXECUTION: "stop"}


class OllamaForm(MessagesWireForm):
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
            yield dumped({"error": error.message}).encode() + b"\n"
            return
        yield _line(response, {"content": ""}, **_end(response))


def _head(response: ChatResponse) -> dict[str, Any]:
    return {"model": response.model_name, "created_at": _CREATED}


def _line(response: ChatResponse, message: Mapping[str, Any], **end: Any) -> bytes:
    said = {"message": {"role": "assistant", **message}, **(end or {"done": False})}
    return dumped({**_head(response), **said}).encode() + b"\n"


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
    return {"done": True, "done_reason": finish_word(response, _FINISH), **_usage(response.token_usage)}


def _usage(usage: TokenUsage) -> dict[str, int]:
    counts = {"prompt_eval_count": usage.input_tokens, "eval_count": usage.output_tokens}
    return {"total_duration": 1_000_000, **{name: count for name, count in counts.items() if count is not None}}
