"""One message of ours to the bytes of its items.

Decisions the wire leaves to us:

- A system message inside the conversation is an item in its place; those at its beginning are the instructions (see
  `agentforge_openai.responses.joining`).
- Errors of tools and unreadable arguments are told as in the other form; see `agentforge_openai.wire.turns`.
"""

from __future__ import annotations

from agentforge.model import (
    ChatMessage,
    Notice,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.provider import call_id_of, dump_bytes, dump_text, utf8
from agentforge_openai.responses.assistant import assistant_items
from agentforge_openai.responses.content import content_of, wire_part
from agentforge_openai.responses.shape import ItemShape
from agentforge_openai.wire.media import media_of
from agentforge_openai.wire.turns import attached_to, lacks_error_mark, result_text

__all__ = ("RESULT", "encode_media", "encode_turn")

#: How the item of a result begins; that of a custom tool's result begins otherwise, which only its turn knows.
RESULT = b'{"type":"function_call_output"'


def encode_turn(message: ChatMessage, shape: ItemShape, notices: list[Notice]) -> bytes:
    """The items of the message, joined by commas; what had to be left out is appended to ``notices``.

    Raises `UnsupportedFeatureError` for content that the endpoint cannot take.
    """
    if isinstance(message, ToolExecutionResultMessage):
        identity = dump_text(call_id_of(message.id, shape.call_id_pattern))
        output = dump_text(_output(message, shape, notices))
        return RESULT + utf8(f',"call_id":{identity},"output":{output}}}')
    if isinstance(message, SystemMessage):
        return dump_bytes({"role": shape.system_role, "content": content_of(message.contents, shape, notices)})
    if isinstance(message, UserMessage):
        if message.name is not None:
            notices.append(
                Notice("user_name_left_out", f"{shape.vendor} has no place for the name of a user; it was left out")
            )
        return dump_bytes({"role": "user", "content": content_of(message.contents, shape, notices)})
    return dump_bytes(assistant_items(message, shape, notices))[1:-1]


def encode_media(message: ToolExecutionResultMessage, shape: ItemShape, notices: list[Notice]) -> bytes:
    """The user message that carries a result's media where they cannot stand in the result; else empty."""
    media = media_of(message.contents)
    if not media or shape.output_media:
        return b""
    head = {"type": "input_text", "text": attached_to(message, shape)}
    return dump_bytes({"role": "user", "content": [head, *(wire_part(part, shape, notices) for part in media)]})


def _output(message: ToolExecutionResultMessage, shape: ItemShape, notices: list[Notice]) -> object:
    if not (shape.output_media and media_of(message.contents)):
        return result_text(message)
    content = content_of(message.contents, shape, notices)
    return [{"type": "input_text", "text": "Error:"}, *content] if lacks_error_mark(message) else content
