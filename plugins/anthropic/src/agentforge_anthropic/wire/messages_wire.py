"""The Messages wire, towards the provider: its pure functions in one object."""

from __future__ import annotations

from typing import Any

from agentforge.model import ChatMessage, ChatRequestParameters, Notice, ToolExecutionResultMessage, ToolSpecification
from agentforge.provider import Endpoint, Head, Pieces, Settled, ToolBlock, Wire
from agentforge_anthropic.wire.caching import CacheMarks
from agentforge_anthropic.wire.head import encode_head
from agentforge_anthropic.wire.joining import extended_turns, join_turns
from agentforge_anthropic.wire.settling import MessagesSettled, settle_messages
from agentforge_anthropic.wire.shape import MessagesTurnShape
from agentforge_anthropic.wire.tools import encode_tools
from agentforge_anthropic.wire.turns import encode_error_media, encode_turn

__all__ = ("MessagesWire",)


class MessagesWire(Wire[MessagesTurnShape]):
    """Requests in the Messages form. ``caching`` are the marks for the provider's cache, ``display`` whether it returns
    the text of thinking."""

    RESERVED = ("messages", "stream", "system")
    distinct_in_request = True

    def __init__(self, *, caching: CacheMarks | None = None, display: str | None = None) -> None:
        self._caching = caching if caching is not None else CacheMarks()
        self._display = display

    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        return settle_messages(parameters, endpoint, reserved=self.RESERVED, display=self._display)

    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        return encode_tools(tools, endpoint)

    def encode_head(
        self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool
    ) -> Head[MessagesTurnShape]:
        assert isinstance(settled, MessagesSettled)
        return encode_head(settled, endpoint, tools, self._caching)

    def encode_turn(self, message: ChatMessage, shape: MessagesTurnShape, notices: list[Notice]) -> bytes:
        return encode_turn(message, shape, notices)

    def encode_follow_up(self, message: ChatMessage, shape: MessagesTurnShape, notices: list[Notice]) -> bytes:
        return encode_error_media(message, shape) if isinstance(message, ToolExecutionResultMessage) else b""

    def join(self, pieces: Pieces, shape: MessagesTurnShape) -> bytes:
        return join_turns(pieces, shape)

    def extended(self, joined: bytes, last: ChatMessage, pieces: Pieces, shape: MessagesTurnShape) -> bytes | None:
        return extended_turns(joined, last, pieces, shape)
