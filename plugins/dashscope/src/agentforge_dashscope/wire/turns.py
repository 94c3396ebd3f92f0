"""One message of ours to the bytes of one message on the wire.

Decisions the wire leaves to us:

- The content of a result is text, so media of a result follow in a user message of their own, which names the call; it
  is sent after the last result of the turn.
- The wire has no error flag. An error result starts with ``Error: `` unless its first 80 characters say "error".
- Reasoning is the vendor's to forget: it goes back only to models that want it, and only where it came from.
"""

from __future__ import annotations

from typing import Any

from agentforge.errors import UnsupportedFeatureError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    Notice,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
)
from agentforge.provider import call_id_of, dump_bytes, sent_arguments
from agentforge_dashscope.wire.media import content_of, media_of, text_content
from agentforge_dashscope.wire.shape import DashScopeTurnShape

__all__ = ("encode_result_media", "encode_turn")


def encode_turn(message: ChatMessage, shape: DashScopeTurnShape, notices: list[Notice]) -> bytes:
    """The message as JSON; what had to be left out is appended to ``notices``.

    Raises `UnsupportedFeatureError` for content that the endpoint cannot take.
    """
    if isinstance(message, AiMessage):
        return dump_bytes(_assistant(message, shape, notices))
    if isinstance(message, ToolExecutionResultMessage):
        return dump_bytes(
            {
                "role": "tool",
                "content": text_content(_result_text(message), shape),
                "tool_call_id": call_id_of(message.id, shape.call_id_pattern),
                "name": shape.wire_name(message.tool_name),
            }
        )
    if isinstance(message, SystemMessage):
        return dump_bytes({"role": "system", "content": text_content(_system_text(message, shape), shape)})
    if message.name is not None:
        notices.append(
            Notice(
                "user_name_left_out",
                f"{shape.vendor} has no place for the name of a user; {message.name!r} was left out",
                {"name": message.name},
            )
        )
    return dump_bytes({"role": "user", "content": content_of(message.contents, shape, notices)})


def encode_result_media(message: ToolExecutionResultMessage, shape: DashScopeTurnShape, notices: list[Notice]) -> bytes:
    """The user message that carries a result's media; empty when it has none."""
    media = media_of(message.contents)
    if not media:
        return b""
    identity = call_id_of(message.id, shape.call_id_pattern)
    head = TextContent(f"Attached to the result of {shape.wire_name(message.tool_name)} (call {identity}): ")
    return dump_bytes({"role": "user", "content": content_of([head, *media], shape, notices)})


def _system_text(message: SystemMessage, shape: DashScopeTurnShape) -> str:
    if media_of(message.contents):
        raise UnsupportedFeatureError(
            f"{shape.vendor} model {shape.model!r} does not support media in a system message (system_media)",
            provider_code="unsupported_feature",
            details={"vendor": shape.vendor, "model": shape.model, "feature": "system_media"},
            next_step="Send images, sound and files in a user message.",
        )
    return message.text


def _assistant(message: AiMessage, shape: DashScopeTurnShape, notices: list[Notice]) -> dict[str, Any]:
    texts: list[str] = []
    thoughts: list[str] = []
    calls: list[dict[str, Any]] = []
    for part in message.contents:
        if isinstance(part, ToolExecutionRequest):
            function = {"name": shape.wire_name(part.name), "arguments": sent_arguments(part)}
            identity = call_id_of(part.id, shape.call_id_pattern)
            calls.append({"id": identity, "type": "function", "function": function})
        elif isinstance(part, TextContent):
            texts.append(part.text)
        elif isinstance(part, ThinkingContent):
            state = part.provider_state
            thought = state.data.get("reasoning_content") if state and state.provider == shape.provider else None
            if shape.replays and isinstance(thought, str):
                thoughts.append(thought)
        else:
            notices.append(
                Notice(
                    "assistant_media_left_out",
                    f"{type(part).__name__} of an earlier reply cannot be sent back to {shape.vendor}; it was left out",
                )
            )
    wire: dict[str, Any] = {"role": "assistant", "content": text_content("".join(texts), shape)}
    if thoughts:
        wire["reasoning_content"] = "".join(thoughts)
    if calls:
        wire["tool_calls"] = calls
    return wire


def _result_text(message: ToolExecutionResultMessage) -> str:
    text = message.text
    if not text and media_of(message.contents):
        text = "The result follows in the next user message."
    return f"Error: {text}" if message.is_error and "error" not in text[:80].lower() else text
