"""What a scripted endpoint needs to know of a protocol: how to read a request, and how to say a reply."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from agentforge.errors import ModelError
from agentforge.model.response import ChatResponse

__all__ = ("WireForm", "mappings_in", "pieces_of")

_PIECE = 8


class WireForm(Protocol):
    """One protocol. The ``body`` is that of the request, parsed."""

    #: How ids of replies begin.
    id_prefix: str

    def call_ids(self, body: Mapping[str, Any]) -> Iterable[str]:
        """The ids of all calls in a request."""

    def characters(self, body: Mapping[str, Any]) -> int:
        """The characters of a request's texts and calls, as a scripted model counts them."""

    def reply(self, response: ChatResponse, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a plain answer."""

    def events(self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None) -> Iterable[bytes]:
        """The events of a streamed answer; with ``error`` one that carries it ends them."""


def mappings_in(value: object) -> Iterable[Mapping[str, Any]]:
    """The objects in a list of a request; of what is no list, none."""
    return [item for item in value if isinstance(item, Mapping)] if isinstance(value, list) else ()


def pieces_of(text: str) -> Iterator[str]:
    """A text in the pieces in which it is streamed."""
    return (text[start : start + _PIECE] for start in range(0, len(text), _PIECE))
