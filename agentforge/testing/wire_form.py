"""What a scripted endpoint needs to know of a protocol: how to read a request, and how to say a reply."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from agentforge.errors import ModelError
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.testing.endpoint_turn import error_object

__all__ = ("MessagesWireForm", "WireForm", "dumped", "finish_word", "mappings_in", "pieces_of")

_PIECE = 8


class WireForm(ABC):
    """One protocol. The ``body`` is that of the request, parsed; ``path`` its path without a query."""

    #: How ids of replies begin.
    id_prefix: ClassVar[str] = "reply-"
    #: The content type of a streamed answer.
    stream_type: ClassVar[str] = "text/event-stream; charset=utf-8"

    def streams(self, path: str, headers: Mapping[str, str], body: Mapping[str, Any]) -> bool:
        """Whether the request asks for a stream; names of headers are in lower case."""
        return body.get("stream") is True

    def model_name(self, path: str, body: Mapping[str, Any]) -> object:
        """The model that the request asks for."""
        return body.get("model")

    def error(self, error: ModelError) -> dict[str, Any]:
        """The body of a plain answer that failed."""
        return {"error": error_object(error)}

    @abstractmethod
    def call_ids(self, body: Mapping[str, Any]) -> Iterable[str]:
        """The ids of all calls in a request."""

    @abstractmethod
    def characters(self, body: Mapping[str, Any]) -> int:
        """The characters of a request's texts and calls, as a scripted model counts them."""

    @abstractmethod
    def reply(self, response: ChatResponse, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a plain answer."""

    @abstractmethod
    def events(self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None) -> Iterable[bytes]:
        """The events of a streamed answer; with ``error`` one that carries it ends them."""


class MessagesWireForm(WireForm):
    """A protocol whose requests hold messages with a ``content`` and ``tool_calls``."""

    def messages_in(self, body: Mapping[str, Any]) -> Iterable[Mapping[str, Any]]:
        """The messages of a request."""
        return mappings_in(body.get("messages"))

    def call_ids(self, body: Mapping[str, Any]) -> Iterator[str]:
        """The ids of all calls in a request's messages."""
        for message in self.messages_in(body):
            for call in mappings_in(message.get("tool_calls")):
                if isinstance(call.get("id"), str):
                    yield call["id"]

    def characters(self, body: Mapping[str, Any]) -> int:
        """The characters of a request's texts and calls, as a scripted model counts them."""
        return sum(map(_length, self.messages_in(body)))


def _length(message: Mapping[str, Any]) -> int:
    content = message.get("content")
    total = len(content) if isinstance(content, str) else sum(len(p.get("text") or "") for p in mappings_in(content))
    for call in mappings_in(message.get("tool_calls")):
        function = call.get("function")
        if isinstance(function, Mapping):
            arguments = function.get("arguments", "")
            total += len(str(function.get("name", "")))
            total += len(arguments if isinstance(arguments, str) else dumped(arguments))
    return total


def finish_word(response: ChatResponse, words: Mapping[FinishReason, str]) -> str:
    """Why a reply ended: the word that it was given, else the protocol's."""
    if response.raw_finish_reason is not None:
        return response.raw_finish_reason
    return words.get(response.finish_reason, response.finish_reason.value)


def dumped(value: object) -> str:
    """Compact JSON."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def mappings_in(value: object) -> Iterable[Mapping[str, Any]]:
    """The objects in a list of a request; of what is no list, none."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else ()


def pieces_of(text: str) -> Iterator[str]:
    """A text in the pieces in which it is streamed."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
