"""One message of ours to its blocks on the wire, separated by commas; `agentforge_anthropic.wire.joining` puts roles
around them, as neighbours of one role become one message.

Decisions the wire leaves to us:

- Thinking and whatever the provider made of its own goes back to the same provider in its place, as it came; to
  another it does not go at all.
- The input of a call is an object. Argument text that our own check of arguments refuses stays visible to the model as
  ``{"invalid_arguments": "the text"}``.
- An error result holds text only, and some. Its media follow in blocks of their own behind the results of the turn.
- A turn of which nothing is left (an empty reply, thinking of another provider) is left out, as the API refuses empty
  messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from agentforge.errors import ToolArgumentsError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    Content,
    Notice,
    ProviderState,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
)
from agentforge.provider import call_id_of, dump_bytes, dump_text, is_object, utf8
from agentforge_anthropic.wire.media import content_blocks, is_said
from agentforge_anthropic.wire.shape import MessagesTurnShape

__all__ = ("INVALID_ARGUMENTS", "encode_error_media", "encode_turn", "has_own_thinking", "is_sent")

#: The key under which the text of unreadable arguments is replayed.
INVALID_ARGUMENTS = "invalid_arguments"
_THINKING = ("thinking", "redacted_thinking")
_NO_TEXT = "The tool failed and said nothing about it."
_FOLLOWS = "The tool failed; what it gave follows."


def encode_turn(message: ChatMessage, shape: MessagesTurnShape, notices: list[Notice]) -> bytes:
    """The blocks of the message; what had to be left out is appended to ``notices``.

    Raises `UnsupportedFeatureError` for content that the endpoint cannot take.
    """
    if isinstance(message, AiMessage):
        return b",".join(_assistant(message, shape, notices))
    if isinstance(message, ToolExecutionResultMessage):
        return _result(message, shape, notices)
    if isinstance(message, SystemMessage):
        return b",".join(_system(message, shape, notices))
    if message.name is not None:
        notices.append(
            Notice(
                "user_name_left_out",
                f"{shape.vendor} has no place for the name of a user; {message.name!r} was left out",
                {"name": message.name},
            )
        )
    return b",".join([dump_bytes(block) for block in content_blocks(message.contents, shape, notices)])


def is_sent(message: ChatMessage, shape: MessagesTurnShape) -> bool:
    """Whether the message has any block on this wire."""
    if isinstance(message, ToolExecutionResultMessage):
        return True
    if not isinstance(message, AiMessage):
        return any(is_said(part) for part in message.contents)
    for part in message.contents:
        if isinstance(part, ToolExecutionRequest):
            return True
        if isinstance(part, ThinkingContent):
            if _own_block(part, shape) is not None:
                return True
        elif isinstance(part, TextContent) and is_said(part):
            return True
    return False


def has_own_thinking(message: AiMessage, provider: str) -> bool:
    """Whether the turn begins with thinking of this provider, as a turn with calls must where there is a budget."""
    for part in message.contents:
        state = part.provider_state if isinstance(part, ThinkingContent) else None
        if state is not None and state.provider == provider and state.data.get("type") in _THINKING:
            return True
        if isinstance(part, ToolExecutionRequest) or (isinstance(part, TextContent) and is_said(part)):
            return False
    return False


def _assistant(message: AiMessage, shape: MessagesTurnShape, notices: list[Notice]) -> Iterator[bytes]:
    for part in message.contents:
        if isinstance(part, ToolExecutionRequest):
            yield _call(part, shape)
            continue
        if isinstance(part, TextContent):
            if is_said(part):
                state = _own(part.provider_state, shape)
                more = state.data if state is not None else {}
                yield dump_bytes({"type": "text", "text": part.text, **_citations(more.get("citations"))})
        elif isinstance(part, ThinkingContent):
            state = _own_block(part, shape)
            if state is not None:
                yield dump_bytes(_block(part, state))
        else:
            notices.append(_media_left_out(part, shape))


def _block(part: ThinkingContent, state: ProviderState) -> dict[str, object]:
    """The block that the part was made of; sources stand on texts only."""
    if state.data.get("type") == "thinking":
        return {**state.data, "thinking": part.text}
    return {name: value for name, value in state.data.items() if name != "citations"}


def _citations(found: object) -> dict[str, object]:
    """The sources of a text without what only answers have."""
    if not isinstance(found, list):
        return {}
    taken = [one for one in found if isinstance(one, Mapping)]
    return {"citations": [{name: value for name, value in one.items() if name != "file_id"} for one in taken]}


def _own_block(part: ThinkingContent, shape: MessagesTurnShape) -> ProviderState | None:
    """The state of a part that is a block of this provider."""
    state = _own(part.provider_state, shape)
    return state if state is not None and isinstance(state.data.get("type"), str) else None


def _own(state: ProviderState | None, shape: MessagesTurnShape) -> ProviderState | None:
    return state if state is not None and state.provider == shape.provider else None


def _media_left_out(part: Content, shape: MessagesTurnShape) -> Notice:
    return Notice(
        "assistant_media_left_out",
        f"{type(part).__name__} of an earlier reply cannot be sent back to {shape.vendor}; it was left out",
    )


def _call(call: ToolExecutionRequest, shape: MessagesTurnShape) -> bytes:
    identity, name = call_id_of(call.id, shape.call_id_pattern), shape.wire_name(call.name)
    state = _own(call.provider_state, shape)
    more = (
        "" if state is None else "".join(f",{dump_text(key)}:{dump_text(value)}" for key, value in state.data.items())
    )
    return utf8(
        f'{{"type":"tool_use","id":{dump_text(identity)},"name":{dump_text(name)},"input":{_input(call)}{more}}}'
    )


def _input(call: ToolExecutionRequest) -> str:
    text = call.arguments
    try:
        arguments = call.arguments_as_map()
    except ToolArgumentsError:
        return dump_text({INVALID_ARGUMENTS: text})
    return text if is_object(text) else dump_text(arguments)  # as it came, or as it was mended when it was read


def _result(message: ToolExecutionResultMessage, shape: MessagesTurnShape, notices: list[Notice]) -> bytes:
    block: dict[str, object] = {"type": "tool_result", "tool_use_id": call_id_of(message.id, shape.call_id_pattern)}
    said = [part for part in message.contents if is_said(part)]
    only_text = all(isinstance(part, TextContent) for part in said)
    if message.is_error:
        if only_text:
            block["content"] = message.text if said else _NO_TEXT
        else:
            made = list(content_blocks(said, shape, notices))
            block["content"] = [one for one in made if one["type"] == "text"] or _FOLLOWS
        block["is_error"] = True
    elif said:
        block["content"] = message.text if only_text else list(content_blocks(said, shape, notices))
    return dump_bytes(block)


def encode_error_media(message: ToolExecutionResultMessage, shape: MessagesTurnShape) -> bytes:
    """The blocks that carry the media of an error result; empty when it has none."""
    if not message.is_error or all(isinstance(part, (TextContent, ThinkingContent)) for part in message.contents):
        return b""
    media = [block for block in content_blocks(message.contents, shape, []) if block["type"] != "text"]
    if not media:
        return b""
    tool, identity = shape.wire_name(message.tool_name), call_id_of(message.id, shape.call_id_pattern)
    head = {"type": "text", "text": f"Attached to the result of {tool} (call {identity}):"}
    return b",".join([dump_bytes(block) for block in (head, *media)])


def _system(message: SystemMessage, shape: MessagesTurnShape, notices: list[Notice]) -> Iterator[bytes]:
    for block in content_blocks(message.contents, shape, notices):
        if block["type"] == "text":
            yield dump_bytes(block)
        else:
            kind = "files" if block["type"] == "document" else "images"
            yield dump_bytes({"type": "text", "text": shape.left_out(kind, f"{kind} in instructions", notices)})
