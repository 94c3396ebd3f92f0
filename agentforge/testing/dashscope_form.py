"""A scripted reply in the form of DashScope's generation API: one object, or the events of a stream."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.model.content import TextContent, ThinkingContent
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage
from agentforge.testing.endpoint_turn import error_object
from agentforge.testing.wire_form import MessagesWireForm, dumped, finish_word, mappings_in, pieces_of

__all__ = ("DashScopeForm",)

_FINISH = {
    FinishReason.STOP: "stop",
    FinishReason.LENGTH: "length",
    FinishReason.TOOL_EXECUTION: "tool_calls",
    FinishReason.REFUSAL: "stop",
}


class DashScopeForm(MessagesWireForm):
    """Messages in, an output out. A stream is asked for by a header; its events hold what is new where the request says
    ``incremental_output: true``, else everything so far. Contents are lists of parts where those of the request are."""

    def streams(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> bool:
        """Whether the header asks for a stream."""
        return headers.get("x-dashscope-sse") == "enable"

    def error(self, error: ModelError) -> dict[str, Any]:
        """The body of a plain answer that failed."""
        said = error_object(error)
        return {"code": said["code"] or said["type"], "message": said["message"], "request_id": "scripted"}

    def messages_in(self, body: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        """The messages, which stand in the input."""
        return _messages(body)

    def reply(self, response: ChatResponse, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a plain answer."""
        message = {"content": response.ai_message.text or ""}
        if response.ai_message.thinking is not None:
            message["reasoning_content"] = response.ai_message.thinking
        calls = [_call(at, one) for at, one in enumerate(response.ai_message.tool_execution_requests)]
        said = {**message, "tool_calls": calls} if calls else message
        return _answer(response, _spoken(said, body), finish_word(response, _FINISH))

    def events(self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None) -> Iterator[bytes]:
        """The events of a streamed answer; with ``error`` an event that carries it ends them."""
        parameters = body.get("parameters")
        grows = isinstance(parameters, Mapping) and parameters.get("incremental_output") is True
        number, so_far = 0, _Said()
        for number, delta in enumerate(_deltas(response), 1):
            so_far.add(delta)
            yield _event(number, _answer(response, _spoken(delta if grows else so_far.message(), body), "null"))
        if error is None:
            last = {"content": ""} if grows else so_far.message()
            yield _event(number + 1, _answer(response, _spoken(last, body), finish_word(response, _FINISH)))
        else:
            yield _event(number + 1, self.error(error), kind="error", status=error.status or 500)


class _Said:
    """A message as far as it was said."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {"content": ""}
        self._calls: list[dict[str, Any]] = []

    def add(self, delta: Mapping[str, Any]) -> None:
        """Take what is new."""
        for name in ("reasoning_content", "content"):
            if name in delta:
                self._texts[name] = self._texts.get(name, "") + delta[name]
        for call in delta.get("tool_calls", ()):
            if call["index"] == len(self._calls):
                self._calls.append(json.loads(json.dumps(call)))
            else:
                self._calls[call["index"]]["function"]["arguments"] += call["function"]["arguments"]

    def message(self) -> dict[str, Any]:
        """All of it."""
        return {**self._texts, "tool_calls": self._calls} if self._calls else dict(self._texts)


def _messages(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    given = body.get("input")
    yield from mappings_in(given.get("messages") if isinstance(given, Mapping) else None)


def _spoken(message: Mapping[str, Any], body: Mapping[str, Any]) -> dict[str, Any]:
    """The message, with its text as a list of parts where the request's contents are lists."""
    content = message.get("content", "")
    if any(isinstance(each.get("content"), list) for each in _messages(body)):
        content = [{"text": content}] if content else []
    return {**message, "role": "assistant", "content": content}


def _answer(response: ChatResponse, message: Mapping[str, Any], finish: str) -> dict[str, Any]:
    output: dict[str, Any] = {"choices": [{"message": message, "index": 0, "finish_reason": finish}]}
    if response.citations:
        found = [{"index": at, "url": one.url, "title": one.title} for at, one in enumerate(response.citations, 1)]
        output["search_info"] = {"search_results": found}
    return {"output": output, "usage": _usage(response.token_usage), "request_id": response.id}


def _deltas(response: ChatResponse) -> Iterator[dict[str, Any]]:
    index = 0
    for part in response.ai_message.contents:
        if isinstance(part, TextContent):
            yield from ({"content": piece} for piece in pieces_of(part.text))
        elif isinstance(part, ThinkingContent):
            yield from ({"content": "", "reasoning_content": piece} for piece in pieces_of(part.text))
        elif isinstance(part, ToolExecutionRequest):
            begin, *rest = [*pieces_of(part.arguments)] or [""]
            yield {"content": "", "tool_calls": [_call(index, part, begin)]}
            for piece in rest:
                further = {"index": index, "id": "", "type": "function", "function": {"arguments": piece}}
                yield {"content": "", "tool_calls": [further]}
            index += 1


def _call(index: int, call: ToolExecutionRequest, arguments: str | None = None) -> dict[str, Any]:
    function = {"name": call.name, "arguments": call.arguments if arguments is None else arguments}
    return {"index": index, "id": call.id, "type": "function", "function": function}


def _event(number: int, data: object, *, kind: str = "result", status: int = 200) -> bytes:
    said = dumped(data)
    return f"id:{number}\nevent:{kind}\n:HTTP_STATUS/{status}\ndata:{said}\n\n".encode()


def _usage(usage: TokenUsage) -> dict[str, Any]:
    written = {} if usage.cache_write_tokens is None else {"cache_creation_input_tokens": usage.cache_write_tokens}
    return {
        "input_tokens": usage.input_tokens or 0,
        "output_tokens": usage.output_tokens or 0,
        "total_tokens": usage.total_tokens or (usage.input_tokens or 0) + (usage.output_tokens or 0),
        "prompt_tokens_details": {"cached_tokens": usage.cached_input_tokens or 0, **written},
        "output_tokens_details": {"reasoning_tokens": usage.reasoning_tokens or 0},
    }
