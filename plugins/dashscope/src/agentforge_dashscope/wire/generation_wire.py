"""The generation wire, towards the provider: its pure functions in one object."""

from __future__ import annotations

from typing import Any

from agentforge.model import ChatMessage, ChatRequestParameters, Notice, ToolExecutionResultMessage, ToolSpecification
from agentforge.provider import Endpoint, Head, Settled, ToolBlock, Wire
from agentforge_dashscope.wire.head import encode_head
from agentforge_dashscope.wire.settling import settle_generation
from agentforge_dashscope.wire.shape import DashScopeTurnShape
from agentforge_dashscope.wire.tools import encode_tools
from agentforge_dashscope.wire.turns import encode_result_media, encode_turn

__all__ = ("GenerationWire",)


class GenerationWire(Wire[DashScopeTurnShape]):
    """Requests in the form of the generation API. ``incremental`` says whether events of streams hold only what is new
    (true) or everything so far; ``None``: as the row says."""

    RESERVED = ("input", "messages", "model", "parameters", "result_format", "stream")

    def __init__(self, *, incremental: bool | None = None) -> None:
        self._incremental = incremental

    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        return settle_generation(parameters, endpoint, reserved=self.RESERVED)

    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        return encode_tools(tools, endpoint)

    def encode_head(
        self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool
    ) -> Head[DashScopeTurnShape]:
        return encode_head(settled, endpoint, tools, incremental=self._incremental)

    def encode_turn(self, message: ChatMessage, shape: DashScopeTurnShape, notices: list[Notice]) -> bytes:
        return encode_turn(message, shape, notices)

    def encode_follow_up(self, message: ChatMessage, shape: DashScopeTurnShape, notices: list[Notice]) -> bytes:
        return encode_result_media(message, shape, notices) if isinstance(message, ToolExecutionResultMessage) else b""
