"""What holds of requests on every wire, around the wire: media in results, the vendor's own tools, notices."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from agentforge.model import (
    ChatMessage,
    ChatRequestParameters,
    Notice,
    TextContent,
    ThinkingContent,
    ToolExecutionResultMessage,
    ToolSpecification,
)
from agentforge.provider.endpoint import Endpoint
from agentforge.provider.settling import Settled
from agentforge.provider.turn_shape import TurnShape
from agentforge.provider.wire import Head, Pieces, ToolBlock, Wire

__all__ = ("RequestWire",)


class RequestWire(Wire[TurnShape]):
    """A wire as the encoder uses it; what is not said here is the ``wire``'s."""

    def __init__(self, wire: Wire[Any]) -> None:
        self._wire = wire
        self.distinct_in_request = wire.distinct_in_request

    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        """The parameters as this endpoint can take them."""
        return self._wire.settle(parameters, endpoint)

    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        """All tools as one JSON array."""
        return self._wire.encode_tools(tools, endpoint)

    def encode_head(
        self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool
    ) -> Head[Any]:
        """The head; a conversation in which only the vendor's own tools are offered is one with tools too, and what is
        told twice of one request is told once."""
        head = self._wire.encode_head(settled, endpoint, tools, with_tools=with_tools or bool(settled.own_tools))
        return replace(head, notices=_once(head.notices)) if len(head.notices) > 1 else head

    def encode_turn(self, message: ChatMessage, shape: TurnShape, notices: list[Notice]) -> bytes:
        """The message; media of a result that the endpoint cannot take become a note."""
        return self._wire.encode_turn(message, _shape_for(message, shape), notices)

    def encode_follow_up(self, message: ChatMessage, shape: TurnShape, notices: list[Notice]) -> bytes:
        """The media of a result where they cannot stand in it, in the same way."""
        return self._wire.encode_follow_up(message, _shape_for(message, shape), notices)

    def join(self, pieces: Pieces, shape: TurnShape) -> bytes:
        """All turns as they stand between opening and closing."""
        return self._wire.join(pieces, shape)

    def extended(self, joined: bytes, last: ChatMessage, pieces: Pieces, shape: TurnShape) -> bytes | None:
        """``joined`` with further turns."""
        return self._wire.extended(joined, last, pieces, shape)


def _shape_for(message: ChatMessage, shape: TurnShape) -> TurnShape:
    if type(message) is not ToolExecutionResultMessage:
        return shape
    is_text = all(isinstance(part, (TextContent, ThinkingContent)) for part in message.contents)
    return shape if is_text else shape.for_results()


def _once(notices: Iterable[Notice]) -> tuple[Notice, ...]:
    found: list[Notice] = []
    for notice in notices:
        if notice not in found:
            found.append(notice)
    return tuple(found)
