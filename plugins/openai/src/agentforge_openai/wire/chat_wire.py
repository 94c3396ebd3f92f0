"""The Chat Completions wire, towards the provider: its pure functions in one object."""

from __future__ import annotations

from typing import Any

from agentforge.model import ChatMessage, ChatRequestParameters, Notice, ToolExecutionResultMessage, ToolSpecification
from agentforge.provider import Endpoint, Head, Settled, ToolBlock, Wire
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

    def encode_follow_up(self, message: ChatMessage, shape: ChatTurnShape, notices: list[Notice]) -> bytes:
        return encode_result_media(message, shape, notices) if isinstance(message, ToolExecutionResultMessage) else b""
