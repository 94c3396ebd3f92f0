"""Output items to the parts of a message, in their order, with what has to go back.

An item that is no text and no call of ours stands in the message as a thinking part without text, so that it keeps its
place and goes back to the same provider.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeGuard

from agentforge.model import ProviderState, TextContent, ThinkingContent
from agentforge.provider import dump_arguments
from agentforge_openai.responses.state import INPUT, TEXT_KEYS

__all__ = (
    "CALLS",
    "arguments_of",
    "call_state",
    "is_item",
    "may_wrap",
    "message_parts",
    "opaque",
    "reasoning_part",
    "reasoning_text",
    "wrapped",
)

#: The items that are calls of tools which the server does not run, and where their arguments stand.
CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_WRAPPER = "parallel"


def is_item(value: object) -> TypeGuard[dict[str, Any]]:
    """Whether this is an item at all; what it is may be unknown."""
    return isinstance(value, dict) and (value.get("type") is None or isinstance(value["type"], str))


def reasoning_part(item: Mapping[str, Any], provider: str) -> ThinkingContent:
    """Reasoning: its readable text, and the whole item."""
    return ThinkingContent(reasoning_text(item), ProviderState(provider, {"item": item}))


def reasoning_text(item: Mapping[str, Any]) -> str:
    """The summary where there is one, else the text of the reasoning; parts are apart by a blank line."""
    for key in ("summary", "content"):
        parts = item.get(key)
        texts = [part["text"] for part in _objects(parts) if isinstance(part.get("text"), str) and part["text"]]
        if texts:
            return "\n\n".join(texts)
    return ""


def opaque(item: Mapping[str, Any], provider: str) -> ThinkingContent:
    """An item that only the provider understands, in its place."""
    return ThinkingContent("", ProviderState(provider, {"item": item}))


def message_parts(item: Mapping[str, Any], provider: str) -> Iterator[TextContent | ThinkingContent]:
    """The texts and refusals of a message; one without any stays as it is."""
    around = {key: value for key, value in item.items() if key != "content"}
    found = False
    for part in _objects(item.get("content")):
        key = TEXT_KEYS.get(str(part.get("type")))
        if key is None or not isinstance(part.get(key), str):
            continue
        found = True
        rest = {name: value for name, value in part.items() if name != key}
        yield TextContent(part[key], ProviderState(provider, {"message": around, "part": rest}))
    if not found:
        yield opaque(item, provider)


def arguments_of(item: Mapping[str, Any]) -> str:
    """The argument text of a call; the free text of a custom tool becomes the argument ``input``.

    >>> arguments_of({"type": "custom_tool_call", "input": "SELECT 1"})
    '{"input":"SELECT 1"}'
    """
    value = item.get(CALLS[item["type"]])
    if item["type"] == "custom_tool_call":
        return dump_arguments({INPUT: value if isinstance(value, str) else ""})
    if value is not None and not isinstance(value, str):
        return dump_arguments(value)
    return value if value and not value.isspace() else "{}"


def call_state(item: Mapping[str, Any], provider: str) -> ProviderState:
    """What goes back with a call, its arguments apart."""
    left_out = CALLS[item["type"]]
    return ProviderState(provider, {"item": {key: value for key, value in item.items() if key != left_out}})


def may_wrap(item: Mapping[str, Any], offered: bytes) -> bool:
    """Whether this is a call of the tool ``parallel``, and no tool of that name was ``offered``."""
    return item.get("name") == _WRAPPER and item["type"] == "function_call" and b'"name":"parallel"' not in offered


def wrapped(item: Mapping[str, Any], offered: bytes) -> list[tuple[str, str]] | None:
    """The calls (name and arguments) inside one of the tool ``parallel``, which models make up now and then; ``None``
    for any other."""
    if not may_wrap(item, offered):
        return None
    try:
        uses = json.loads(item.get("arguments") or "")["tool_uses"]
        found = [(str(use["recipient_name"]), use.get("parameters") or {}) for use in uses]
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if not found:
        return None
    return [(name.removeprefix("functions."), dump_arguments(parameters)) for name, parameters in found]


def _objects(value: object) -> list[dict[str, Any]]:
    return [part for part in value if isinstance(part, dict)] if isinstance(value, list) else []
