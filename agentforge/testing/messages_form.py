"""A scripted reply in the Messages form: one object, or the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.model.citation import Citation
from agentforge.model.content import TextContent, ThinkingContent
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage
from agentforge.testing.endpoint_turn import error_object
from agentforge.testing.wire_form import WireForm, dumped, finish_word, mappings_in, pieces_of

__all__ = ("MessagesForm",)

_FINISH = {
    FinishReason.STOP: "end_turn",
    FinishReason.LENGTH: "max_tokens",
    FinishReason.TOOL_EXECUTION: "tool_use",
    FinishReason.REFUSAL: "refusal",
    FinishReason.PAUSE: "pause_turn",
}
_GROWING = {"text": "text", "thinking": "thinking", "tool_use": "input"}


class MessagesForm(WireForm):
    """Messages of blocks in, blocks out. Thinking is signed, and the calls' arguments are objects; text that is no JSON
    object goes as a text, which no server sends but a script may ask for."""

    id_prefix = "msg_"

    def call_ids(self, body: Mapping[str, Any]) -> Iterator[str]:
        """The ids of all calls in a request's messages."""
        for block in _blocks(body):
            if block.get("type") == "tool_use" and isinstance(block.get("id"), str):
                yield block["id"]

    def characters(self, body: Mapping[str, Any]) -> int:
        """The characters of a request's texts, calls and results, as a scripted model counts them."""
        system = body.get("system")
        total = len(system) if isinstance(system, str) else sum(_length(block) for block in mappings_in(system))
        return total + sum(_length(block) for block in _blocks(body))

    def reply(self, response: ChatResponse, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a plain answer."""
        return {
            **_message(response),
            "content": list(_content(response)),
            "stop_reason": finish_word(response, _FINISH),
            "usage": _usage(response.token_usage),
        }

    def events(self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None) -> Iterator[bytes]:
        """The events of a streamed answer; with ``error`` an event that carries it ends them."""
        usage = _usage(response.token_usage)
        yield _event("message_start", {"message": {**_message(response), "usage": {**usage, "output_tokens": 1}}})
        yield _event("ping", {})
        for index, block in enumerate(_content(response)):
            yield from _block_events(index, block)
        if error is not None:
            said = error_object(error)
            yield _event("error", {"error": {**said, "type": said["code"] or said["type"]}})
            return
        delta = {"stop_reason": finish_word(response, _FINISH), "stop_sequence": None}
        yield _event("message_delta", {"delta": delta, "usage": {"output_tokens": usage["output_tokens"]}})
        yield _event("message_stop", {})


def _blocks(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for message in mappings_in(body.get("messages")):
        content = message.get("content")
        if isinstance(content, str):
            yield {"type": "text", "text": content}
        yield from mappings_in(content)


def _length(block: Mapping[str, Any]) -> int:
    if block.get("type") == "tool_use":
        return len(str(block.get("name", ""))) + len(dumped(block.get("input")))
    content = block.get("content")
    inner = len(content) if isinstance(content, str) else sum(_length(part) for part in mappings_in(content))
    return inner + len(block.get("text") or "")


def _message(response: ChatResponse) -> dict[str, Any]:
    return {
        "id": response.id,
        "type": "message",
        "role": "assistant",
        "model": response.model_name,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
    }


def _content(response: ChatResponse) -> Iterator[dict[str, Any]]:
    citations = list(response.citations)
    for part in response.ai_message.contents:
        if isinstance(part, TextContent):
            block: dict[str, Any] = {"type": "text", "text": part.text}
            if citations:
                block["citations"] = [_citation(citation) for citation in citations]
                citations = []
            yield block
        elif isinstance(part, ThinkingContent):
            yield {"type": "thinking", "thinking": part.text, "signature": f"signed:{len(part.text)}"}
        elif isinstance(part, ToolExecutionRequest):
            yield {"type": "tool_use", "id": part.id, "name": part.name, "input": _input(part.arguments)}


def _block_events(index: int, block: dict[str, Any]) -> Iterator[bytes]:
    kind = block["type"]
    late = {"signature": "", "citations": None}
    begun = {name: late.get(name, value) for name, value in block.items()}
    begun[_GROWING[kind]] = {} if kind == "tool_use" else ""
    yield _event("content_block_start", {"index": index, "content_block": begun})
    if kind == "tool_use":
        text = block["input"] if isinstance(block["input"], str) else dumped(block["input"])
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in ("", *pieces_of(text))]
    else:
        deltas = [{"type": f"{kind}_delta", kind: piece} for piece in pieces_of(block[kind])]
    if block.get("signature"):
        deltas.append({"type": "signature_delta", "signature": block["signature"]})
    deltas += [{"type": "citations_delta", "citation": citation} for citation in block.get("citations") or ()]
    for delta in deltas:
        yield _event("content_block_delta", {"index": index, "delta": delta})
    yield _event("content_block_stop", {"index": index})


def _input(arguments: str) -> object:
    try:
        value = json.loads(arguments or "{}")
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments


def _citation(citation: Citation) -> dict[str, Any]:
    return {
        "type": "web_search_result_location",
        "url": citation.url,
        "title": citation.title,
        "cited_text": citation.text,
        "encrypted_index": "scripted",
    }


def _event(kind: str, data: Mapping[str, Any]) -> bytes:
    return b"event: " + kind.encode() + b"\ndata: " + dumped({"type": kind, **data}).encode() + b"\n\n"


def _usage(usage: TokenUsage) -> dict[str, Any]:
    cached, written = usage.cached_input_tokens or 0, usage.cache_write_tokens or 0
    return {
        "input_tokens": max((usage.input_tokens or 0) - cached - written, 0),
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
        "output_tokens": usage.output_tokens or 0,
        "output_tokens_details": {"thinking_tokens": usage.reasoning_tokens or 0},
    }
