"""The wire of Ollama's chat API, towards the server: its pure functions in one object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.model import ChatMessage, ChatRequestParameters, Notice, ToolSpecification
from agentforge.provider import Endpoint, Head, Settled, ToolBlock, Wire
from agentforge_ollama.wire.head import encode_head
from agentforge_ollama.wire.settling import settle_chat
from agentforge_ollama.wire.shape import OllamaTurnShape
from agentforge_ollama.wire.tools import encode_tools
from agentforge_ollama.wire.turns import encode_turn

__all__ = ("OllamaWire",)


class OllamaWire(Wire[OllamaTurnShape]):
    """Requests in Ollama's form. ``options`` and ``fields`` of the body stand in every request; a request's own go
    before them."""

    RESERVED = ("messages", "model", "stream")
    STREAMS_JSON = True
    distinct_in_request = True

    def __init__(self, *, options: Mapping[str, object], fields: Mapping[str, object]) -> None:
        self._options = dict(options)
        self._fields = dict(fields)

    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        return settle_chat(parameters, endpoint, reserved=self.RESERVED)

    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        return encode_tools(tools, endpoint)

    def encode_head(
        self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool
    ) -> Head[OllamaTurnShape]:
        return encode_head(settled, endpoint, tools, options=self._options, fields=self._fields)

    def encode_turn(self, message: ChatMessage, shape: OllamaTurnShape, notices: list[Notice]) -> bytes:
        return encode_turn(message, shape, notices)
