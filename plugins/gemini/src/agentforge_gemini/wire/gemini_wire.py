"""The generateContent wire, towards the vendor: its pure functions in one object."""

from __future__ import annotations

from typing import Any

from agentforge.model import ChatMessage, ChatRequestParameters, Notice, ToolExecutionResultMessage, ToolSpecification
from agentforge.provider import Endpoint, Head, Pieces, Settled, ToolBlock, Wire
from agentforge_gemini.wire.head import encode_head
from agentforge_gemini.wire.joining import extended_turns, join_turns
from agentforge_gemini.wire.settling import GeminiSettled, settle_gemini
from agentforge_gemini.wire.shape import GeminiTurnShape
from agentforge_gemini.wire.tools import encode_tools
from agentforge_gemini.wire.turns import encode_media, encode_turn

__all__ = ("GeminiWire",)


class GeminiWire(Wire[GeminiTurnShape]):
    """Requests in the generateContent form. ``include_thoughts``: whether the vendor returns the text of thoughts."""

    RESERVED = ("contents", "systemInstruction")

    def __init__(self, *, include_thoughts: bool | None = None) -> None:
        self._include_thoughts = include_thoughts

    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        return settle_gemini(parameters, endpoint, reserved=self.RESERVED, include_thoughts=self._include_thoughts)

    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        return encode_tools(tools, endpoint)

    def encode_head(
        self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool
    ) -> Head[GeminiTurnShape]:
        assert isinstance(settled, GeminiSettled)
        return encode_head(settled, endpoint, tools)

    def encode_turn(self, message: ChatMessage, shape: GeminiTurnShape, notices: list[Notice]) -> bytes:
        return encode_turn(message, shape, notices)

    def encode_follow_up(self, message: ChatMessage, shape: GeminiTurnShape, notices: list[Notice]) -> bytes:
        return encode_media(message, shape) if isinstance(message, ToolExecutionResultMessage) else b""

    def join(self, pieces: Pieces, shape: GeminiTurnShape) -> bytes:
        return join_turns(pieces, shape)

    def extended(self, joined: bytes, last: ChatMessage, pieces: Pieces, shape: GeminiTurnShape) -> bytes | None:
        return extended_turns(joined, last, pieces, shape)
