"""The wire of the Responses API, towards the provider."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from agentforge.model import ChatMessage, ChatRequestParameters, Notice, ToolExecutionResultMessage, ToolSpecification
from agentforge.provider import Endpoint, Head, Pieces, Settled, ToolBlock, Wire, dump_bytes, leave_out, settle
from agentforge_openai.capabilities import is_thinking
from agentforge_openai.responses.form import reasons
from agentforge_openai.responses.head import ENCRYPTED, body_fields, tool_list
from agentforge_openai.responses.joining import extend_input, join_input
from agentforge_openai.responses.shape import ItemShape
from agentforge_openai.responses.tools import encode_tools
from agentforge_openai.responses.turns import encode_media, encode_turn
from agentforge_openai.wire.head import joined_fields

__all__ = ("ResponsesWire",)


class ResponsesWire(Wire[ItemShape]):
    """``chained``: the server keeps the responses, and each request names the last one; else every request holds the
    whole conversation. ``encrypted_reasoning`` is the user's word on what the row says by the model's name;
    ``reasoning_summary`` asks for readable reasoning."""

    RESERVED: ClassVar[tuple[str, ...]] = (
        "input",
        "instructions",
        "stream",
        "previous_response_id",
        "conversation",
        "background",
    )

    def __init__(
        self,
        *,
        chained: bool = False,
        encrypted_reasoning: bool | None = None,
        reasoning_summary: Literal["auto", "concise", "detailed"] | None = None,
    ) -> None:
        self._chained = chained
        self._encrypted = encrypted_reasoning
        self._summary = reasoning_summary

    def settle(self, parameters: ChatRequestParameters, endpoint: Endpoint[Any]) -> Settled:
        """The parameters as this endpoint can take them. Raises `UnsupportedFeatureError`."""
        thinking = is_thinking(parameters, endpoint.row, endpoint.model)
        settled = settle(parameters, endpoint, thinking=thinking, reserved=self.RESERVED)
        if settled.parameters.stop:
            leave_out(settled, endpoint, "stop", "stop texts on this API", "Leave stop unset.")
            settled.change(stop=None)
        return settled

    def encode_tools(self, tools: tuple[ToolSpecification, ...], endpoint: Endpoint[Any]) -> ToolBlock:
        """All tools as one JSON array. Raises `UnsupportedFeatureError` when two names collide on the wire."""
        return encode_tools(tools, endpoint)

    def encode_head(
        self, settled: Settled, endpoint: Endpoint[Any], tools: ToolBlock, *, with_tools: bool
    ) -> Head[ItemShape]:
        """The head for parameters that are settled already."""
        form = endpoint.row.responses
        notices = [*settled.notices, *tools.notices]
        asks, takes = reasons(form, endpoint.model, self._encrypted)
        own: dict[str, object] = {}
        if form.sends_store or self._chained:
            own["store"] = self._chained
        if asks and not self._chained:
            own["include"] = [ENCRYPTED]
        if self._summary is not None:
            own["reasoning"] = {"summary": self._summary}
        body = body_fields(settled, endpoint, tools, notices, **own)
        options = body.pop("stream_options", None)
        block = tool_list(settled, endpoint, tools)
        rest = joined_fields(body, block)
        stream = b',"stream":true'
        if isinstance(options, Mapping):
            stream += b',"stream_options":' + dump_bytes(options)
        model = settled.parameters.custom_parameters.get("model", endpoint.model)
        return Head(
            opening=b'{"model":' + dump_bytes(model) + b",",
            plain=b"]" + rest + b"}",
            streamed=b"]" + rest + stream + b"}",
            shape=ItemShape.of(endpoint, form, reasoning=takes, chained=self._chained),
            tools=tools if block == tools.body else ToolBlock(block, tools.aliases, tools.strict, tools.notices),
            notices=tuple(notices),
            base_url=settled.base_url,
            model=endpoint.model,
        )

    def encode_turn(self, message: ChatMessage, shape: ItemShape, notices: list[Notice]) -> bytes:
        """The items of a message. Raises `UnsupportedFeatureError` for content that the endpoint cannot take."""
        return encode_turn(message, shape, notices)

    def encode_follow_up(self, message: ChatMessage, shape: ItemShape, notices: list[Notice]) -> bytes:
        """The media of a result where they cannot stand in it."""
        return encode_media(message, shape, notices) if isinstance(message, ToolExecutionResultMessage) else b""

    def join(self, pieces: Pieces, shape: ItemShape) -> bytes:
        """Instructions, the id of the last kept turn, and the input."""
        return join_input(pieces, shape)

    def extended(self, joined: bytes, last: ChatMessage, pieces: Pieces, shape: ItemShape) -> bytes | None:
        """``joined`` with further turns; ``None`` where what stands before the input changes."""
        return extend_input(joined, last, pieces, shape)
