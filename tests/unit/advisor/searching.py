"""What the tests of tool search share: a few tools, and turns over either face."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from agentforge import ChatRequest
from agentforge.model import ToolExecutionRequest
from agentforge.model.scripted import call

__all__ = ("TOOLS", "cancel_order", "get_weather", "list_rooms", "offered", "search")


def cancel_order(order_id: str) -> str:
    "Cancel an order."
    return f"{order_id} is cancelled"


def get_weather(city: str) -> str:
    "Weather of a city."
    return f"{city}: sunny"


def list_rooms(hotel: str) -> str:
    "Free rooms of a hotel."
    return f"{hotel}: none"


TOOLS = (cancel_order, get_weather, list_rooms)


def search(query: str, **more: Any) -> ToolExecutionRequest:
    """A call of the search tool."""
    return call("search_tools", query=query, **more)


def offered(requests: Sequence[ChatRequest]) -> list[list[str]]:
    """The names of the tools of each request."""
    return [[tool.name for tool in request.parameters.tools] for request in requests]
