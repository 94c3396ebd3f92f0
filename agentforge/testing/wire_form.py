"""What a scripted endpoint needs to know of a protocol: how to read a request, and how to say a reply."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, ClassVar

from agentforge.errors import ModelError
from agentforge.model.response import ChatResponse
from agentforge.testing.endpoint_turn import error_object

__all__ = ("WireForm", "mappings_in", "pieces_of")

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


def mappings_in(value: object) -> Iterable[Mapping[str, Any]]:
    """The objects in a list of a request; of what is no list, none."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else ()


def pieces_of(text: str) -> Iterator[str]:
    """A text in the pieces in which it is streamed."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
