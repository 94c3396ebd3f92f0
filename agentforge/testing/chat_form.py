"""A scripted reply in the Chat Completions form: one object, or the events of a stream."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.model.citation import Citation
from agentforge.model.content import TextContent, ThinkingContent
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage
from agentforge.testing.endpoint_turn import error_object
from agentforge.testing.wire_form import MessagesWireForm, dumped, finish_word, pieces_of

__all__ = ("ChatForm",)

_CREATED = 1_760_000_000
_FINISH = {
    FinishReason.STOP: "stop",
    FinishReason.LENGTH: "length",
    FinishReason.TOOL_EXECUTION: "tool_calls",
    FinishReason.CONTENT_FILTER: "content_filter",
    FinishReason.REFUSAL: "stop",
}


class ChatForm(MessagesWireForm):
    """Messages in, choices out. The usage comes last in a stream, where the request asks for it."""

    id_prefix = "chatcmpl-"

    def reply(self, response: ChatResponse, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a plain answer."""
        message: dict[str, Any] = {"role": "assistant", "content": response.ai_message.text, "refusal": None}
        if response.finish_reason is FinishReason.REFUSAL:
            message["content"], message["refusal"] = None, response.ai_message.text
        if response.ai_message.thinking is not None:
            message["reasoning_content"] = response.ai_message.thinking
        if response.ai_message.has_tool_execution_requests:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in response.ai_message.tool_execution_requests
            ]
        if response.citations:
            message["annotations"] = [_annotation(citation) for citation in response.citations]
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": finish_word(response, _FINISH)}
        return {**_head(response, "chat.completion"), "choices": [choice], "usage": _usage(response.token_usage)}

    def events(self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None) -> Iterator[bytes]:
        """The events of a streamed answer, ``[DONE]`` last; with ``error`` an event that carries it ends them."""
        options = body.get("stream_options")
        include_usage = isinstance(options, Mapping) and options.get("include_usage") is True
        yield _event(_chunk(response, {"role": "assistant", "content": ""}, include_usage=include_usage))
        for delta in _deltas(response):
            yield _event(_chunk(response, delta, include_usage=include_usage))
        if error is not None:
            yield _event({"error": error_object(error)})
            return
        yield _event(_chunk(response, {}, finish=finish_word(response, _FINISH), include_usage=include_usage))
        if include_usage:
            yield _event(
                {**_head(response, "chat.completion.chunk"), "choices": [], "usage": _usage(response.token_usage)}
            )
        yield b"data: [DONE]\n\n"


def _deltas(response: ChatResponse) -> Iterator[dict[str, Any]]:
    spoken = "refusal" if response.finish_reason is FinishReason.REFUSAL else "content"
    index = 0
    for part in response.ai_message.contents:
        if isinstance(part, TextContent):
            yield from ({spoken: piece} for piece in pieces_of(part.text))
        elif isinstance(part, ThinkingContent):
            yield from ({"reasoning_content": piece} for piece in pieces_of(part.text))
        elif isinstance(part, ToolExecutionRequest):
            function: dict[str, Any] = {"name": part.name, "arguments": ""}
            yield {"tool_calls": [{"index": index, "id": part.id, "type": "function", "function": function}]}
            for piece in pieces_of(part.arguments):
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
            index += 1
    if response.citations:
        yield {"annotations": [_annotation(citation) for citation in response.citations]}


def _annotation(citation: Citation) -> dict[str, Any]:
    said = {
        "url": citation.url,
        "title": citation.title,
        "content": citation.text,
        "start_index": citation.start,
        "end_index": citation.end,
    }
    return {"type": "url_citation", "url_citation": {name: value for name, value in said.items() if value is not None}}


def _head(response: ChatResponse, kind: str) -> dict[str, Any]:
    return {"id": response.id, "object": kind, "created": _CREATED, "model": response.model_name}


def _chunk(
    response: ChatResponse, delta: dict[str, Any], *, include_usage: bool, finish: str | None = None
) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    usage = {"usage": None} if include_usage else {}
    return {**_head(response, "chat.completion.chunk"), "choices": [choice], **usage}


def _event(data: object) -> bytes:
    return b"data: " + dumped(data).encode() + b"\n\n"


def _usage(usage: TokenUsage) -> dict[str, Any]:
    written = {} if usage.cache_write_tokens is None else {"cache_write_tokens": usage.cache_write_tokens}
    return {
        "prompt_tokens": usage.input_tokens or 0,
        "completion_tokens": usage.output_tokens or 0,
        "total_tokens": usage.total_tokens or (usage.input_tokens or 0) + (usage.output_tokens or 0),
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens or 0, **written},
        "completion_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
    }
