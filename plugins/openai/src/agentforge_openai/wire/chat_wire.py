"""The Chat Completions wire, towards the provider: its pure functions in one object."""

from __future__ import annotations

from typing import Any

from agentforge.model import (
    AiMessage,
    ChatMessage,
    ChatRequestParameters,
    Notice,
    ToolExecutionResultMessage,
    ToolSpecification,
)
from agentforge.provider import Endpoint, Head, Pieces, Settled, ToolBlock, Wire
from agentforge_openai.capabilities import settle_chat
from agentforge_openai.wire.head import encode_head
from agentforge_openai.wire.shape import ChatTurnShape
from agentforge_openai.wire.tools import encode_tools
from agentforge_openai.wire.turns import encode_result_media, encode_turn

__all__ = ("ChatWire",)


class ChatWire(Wire[ChatTurnShape]):
    """Requests in the Chat Completions form."""

    RESERVED = ("messages", "stream", "stream_options")

    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        return settle_chat(parameters, endpoint, reserved=self.RESERVED)

    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        return encode_tools(tools, endpoint)

    def encode_head(
        self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool
    ) -> Head[ChatTurnShape]:
        return encode_head(settled, endpoint, tools, with_tools=with_tools)

    def encode_turn(self, message: ChatMessage, shape: ChatTurnShape, notices: list[Notice]) -> bytes:
        return encode_turn(message, shape, notices)

    def join(self, pieces: Pieces, shape: ChatTurnShape) -> bytes:
        return super().join(_with_between(_prefixed(pieces, shape), shape), shape)

    def extended(self, joined: bytes, last: ChatMessage, pieces: Pieces, shape: ChatTurnShape) -> bytes | None:
        if shape.prefix and (isinstance(last, AiMessage) or (pieces and isinstance(pieces[-1][0], AiMessage))):
            return None  # the mark of the last message is not that of another
        if shape.between and pieces and (isinstance(last, ToolExecutionResultMessage) or _has_results(pieces)):
            return None
        return super().extended(joined, last, pieces, shape)

    def encode_follow_up(self, message: ChatMessage, shape: ChatTurnShape, notices: list[Notice]) -> bytes:
        return encode_result_media(message, shape, notices) if isinstance(message, ToolExecutionResultMessage) else b""


def _has_results(pieces: Pieces) -> bool:
    return any(isinstance(message, ToolExecutionResultMessage) for message, _ in pieces)


def _prefixed(pieces: Pieces, shape: ChatTurnShape) -> Pieces:
    """The pieces, the last of which says that it is to be gone on with where the model has begun to speak in it."""
    if not shape.prefix or not pieces or not isinstance(pieces[-1][0], AiMessage):
        return pieces
    message, piece = pieces[-1]
    return [*pieces[:-1], (message, b"%b%b}" % (piece[:-1], shape.prefix))]


def _with_between(pieces: Pieces, shape: ChatTurnShape) -> Pieces:
    """The pieces with a word of the assistant wherever a message of the user follows a result."""
    if not shape.between:
        return pieces
    made: list[tuple[ChatMessage, bytes]] = []
    for message, piece in pieces:
        if made and made[-1][1].startswith(_RESULT) and piece.startswith(_USER):
            made.append((made[-1][0], shape.between))
        made.append((message, piece))
    return made


_RESULT, _USER = b'{"role":"tool"', b'{"role":"user"'
