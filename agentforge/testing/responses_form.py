"""A scripted reply in the Responses form: one object, or the events of a stream."""

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
from agentforge.testing.wire_form import WireForm, dumped, mappings_in, pieces_of

__all__ = ("ResponsesForm",)

_CREATED = 1_760_000_000
_INCOMPLETE = {FinishReason.LENGTH: "max_output_tokens", FinishReason.CONTENT_FILTER: "content_filter"}


class ResponsesForm(WireForm):
    """Items in, items out. Reasoning is given encrypted where the request asks for it."""

    id_prefix = "resp_"

    def call_ids(self, body: Mapping[str, Any]) -> Iterator[str]:
        """The ids of all calls in a request's input."""
        for item in mappings_in(body.get("input")):
            if item.get("type") in ("function_call", "custom_tool_call") and isinstance(item.get("call_id"), str):
                yield item["call_id"]

    def characters(self, body: Mapping[str, Any]) -> int:
        """The characters of a request's texts, calls and results, as a scripted model counts them."""
        total = len(body.get("instructions") or "")
        given = body.get("input")
        if isinstance(given, str):
            return total + len(given)
        for item in mappings_in(given):
            for key in ("content", "output", "input", "name", "arguments"):
                value = item.get(key)
                if isinstance(value, str):
                    total += len(value)
                else:
                    total += sum(len(part.get("text") or "") for part in mappings_in(value))
        return total

    def reply(self, response: ChatResponse, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a plain answer."""
        return _object(response, body, status=_status(response), output=list(_items(response, body)))

    def events(self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None) -> Iterator[bytes]:
        """The events of a streamed answer; with ``error`` an event that carries it ends them."""
        for number, (kind, data) in enumerate(self._events(response, body, error)):
            event = {"type": kind, "sequence_number": number, **data}
            content = dumped(event).encode()
            yield b"event: " + kind.encode() + b"\ndata: " + content + b"\n\n"

    def _events(
        self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None
    ) -> Iterator[tuple[str, dict[str, Any]]]:
        begun = {"response": _object(response, body, status="in_progress", output=[])}
        yield "response.created", begun
        yield "response.in_progress", begun
        output = list(_items(response, body))
        for index, item in enumerate(output):
            yield from _item_events(index, item)
        if error is not None:
            said = error_object(error)
            yield "error", {name: said[name] for name in ("code", "message", "param")}
            return
        status = _status(response)
        yield f"response.{status}", {"response": _object(response, body, status=status, output=output)}


def _status(response: ChatResponse) -> str:
    return "incomplete" if response.finish_reason in _INCOMPLETE else "completed"


def _object(
    response: ChatResponse, body: Mapping[str, Any], *, status: str, output: list[dict[str, Any]]
) -> dict[str, Any]:
    ended = status != "in_progress"
    details = {"reason": _INCOMPLETE[response.finish_reason]} if status == "incomplete" else None
    return {
        "id": response.id,
        "object": "response",
        "created_at": _CREATED,
        "status": status,
        "error": None,
        "incomplete_details": details,
        "instructions": body.get("instructions"),
        "model": response.model_name,
        "output": output,
        "parallel_tool_calls": body.get("parallel_tool_calls", True),
        "previous_response_id": body.get("previous_response_id"),
        "store": body.get("store", True),
        "tool_choice": body.get("tool_choice", "auto"),
        "tools": body.get("tools", []),
        "usage": _usage(response.token_usage) if ended else None,
    }


def _items(response: ChatResponse, body: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    stem = (response.id or "resp").removeprefix("resp_")
    refused = response.finish_reason is FinishReason.REFUSAL
    citations = list(response.citations)
    asked = body.get("include")
    encrypted = isinstance(asked, list) and "reasoning.encrypted_content" in asked
    for position, part in enumerate(response.ai_message.contents):
        key = f"{stem}_{position}"
        if isinstance(part, ThinkingContent):
            summary = [{"type": "summary_text", "text": part.text}] if part.text else []
            item = {"id": f"rs_{key}", "type": "reasoning", "summary": summary}
            yield {**item, "encrypted_content": f"encrypted_{key}"} if encrypted else item
        elif isinstance(part, ToolExecutionRequest):
            yield {
                "id": f"fc_{key}",
                "type": "function_call",
                "status": "completed",
                "arguments": part.arguments,
                "call_id": part.id,
                "name": part.name,
            }
        elif isinstance(part, TextContent):
            annotations = [_annotation(citation) for citation in citations]
            citations = []
            said = (
                {"type": "refusal", "refusal": part.text}
                if refused
                else {"type": "output_text", "annotations": annotations, "logprobs": [], "text": part.text}
            )
            yield {
                "id": f"msg_{key}",
                "type": "message",
                "status": "completed",
                "content": [said],
                "role": "assistant",
            }


def _item_events(index: int, item: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    place = {"item_id": item["id"], "output_index": index}
    begun = {**item, "status": "in_progress"}
    if item["type"] == "message":
        part = item["content"][0]
        kind, key = ("refusal", "refusal") if part["type"] == "refusal" else ("output_text", "text")
        yield "response.output_item.added", {"output_index": index, "item": {**begun, "content": []}}
        yield "response.content_part.added", {**place, "content_index": 0, "part": {**part, key: ""}}
        for piece in pieces_of(part[key]):
            yield f"response.{kind}.delta", {**place, "content_index": 0, "delta": piece}
        yield f"response.{kind}.done", {**place, "content_index": 0, key: part[key]}
        yield "response.content_part.done", {**place, "content_index": 0, "part": part}
    elif item["type"] == "reasoning":
        yield "response.output_item.added", {"output_index": index, "item": {**item, "summary": []}}
        for at, part in enumerate(item["summary"]):
            here = {**place, "summary_index": at}
            yield "response.reasoning_summary_part.added", {**here, "part": {**part, "text": ""}}
            for piece in pieces_of(part["text"]):
                yield "response.reasoning_summary_text.delta", {**here, "delta": piece}
            yield "response.reasoning_summary_text.done", {**here, "text": part["text"]}
            yield "response.reasoning_summary_part.done", {**here, "part": part}
    else:
        yield "response.output_item.added", {"output_index": index, "item": {**begun, "arguments": ""}}
        for piece in pieces_of(item["arguments"]):
            yield "response.function_call_arguments.delta", {**place, "delta": piece}
        yield "response.function_call_arguments.done", {**place, "arguments": item["arguments"]}
    yield "response.output_item.done", {"output_index": index, "item": item}


def _annotation(citation: Citation) -> dict[str, Any]:
    said = {
        "type": "url_citation",
        "url": citation.url,
        "title": citation.title,
        "start_index": citation.start,
        "end_index": citation.end,
    }
    return {name: value for name, value in said.items() if value is not None}


def _usage(usage: TokenUsage) -> dict[str, Any]:
    return {
        "input_tokens": usage.input_tokens or 0,
        "input_tokens_details": {
            "cached_tokens": usage.cached_input_tokens or 0,
            "cache_write_tokens": usage.cache_write_tokens or 0,
        },
        "output_tokens": usage.output_tokens or 0,
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
        "total_tokens": usage.total_tokens or (usage.input_tokens or 0) + (usage.output_tokens or 0),
    }
