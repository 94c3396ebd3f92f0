"""Two tools, and a request that offers them, for the tests of tools over a schema."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from agentforge.model.messages import ChatMessage
from agentforge.model.request import ChatRequest, ChatRequestParameters
from agentforge.model.specification import ToolParameters, ToolSpecification

__all__ = ("NOW", "WEATHER", "request_for")

WEATHER = ToolSpecification(
    "get_weather",
    "Current weather\nof a city.",
    ToolParameters(
        {
            "type": "object",
            "properties": {
                "city": {"type": "string", "description": "name of the city"},
                "unit": {"type": "string", "enum": ["c", "f"], "default": "c"},
            },
            "required": ["city"],
            "additionalProperties": False,
        }
    ),
)
NOW = ToolSpecification("now")


def request_for(
    *tools: ToolSpecification, messages: str | Iterable[ChatMessage] = "Weather in Hangzhou?", **parameters: Any
) -> ChatRequest:
    return ChatRequest(messages, ChatRequestParameters(tools=tools, **parameters))
