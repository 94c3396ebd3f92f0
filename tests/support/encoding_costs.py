"""What a round costs to encode, which may not grow with the conversation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from agentforge.model import ChatMessage, ChatRequestParameters, UserMessage
from agentforge.provider import Endpoint, EndpointRow, RequestEncoder, Wire, profile_of
from tests.support.wire_exchange import WEATHER

__all__ = ("costs_of_rounds", "encoder_of")


def encoder_of(wire: Wire[Any], row: EndpointRow, model: str, base_url: str) -> RequestEncoder:
    """What encodes requests to that model."""

    def endpoint(name: str | None) -> Endpoint[Any]:
        return Endpoint(row, profile_of(row, name or model, base_url=base_url), name or model, base_url)

    return RequestEncoder(wire, endpoint)


def costs_of_rounds(encoder: RequestEncoder, round_of: Callable[[int], list[ChatMessage]]) -> tuple[list[int], bytes]:
    """The bytes that each of 60 rounds made anew, and the last body."""
    history: list[ChatMessage] = [UserMessage("q")]
    parameters = ChatRequestParameters(tools=(WEATHER,))
    body = encoder.encode(history, parameters).body
    costs = []
    for number in range(60):
        history += round_of(number)
        before = encoder.encoded_bytes
        body = encoder.encode(history, parameters).body
        costs.append(encoder.encoded_bytes - before)
    return costs, body
