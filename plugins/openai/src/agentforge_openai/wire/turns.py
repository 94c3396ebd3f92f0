"""One message of ours to the bytes of one message on the wire.

Decisions the wire leaves to us:

- Only OpenAI-family text can go into a tool message, so media of a result follow in a user message of their own, which
  names the call; it is sent after the last result of the turn, as a user message between results is refused.
- The wire has no error flag. An error result starts with ``Error: `` unless its first 80 characters say "error".
- Argument text that is not a JSON object would make every later request fail. What our parser can read is sent as it
  was read; anything else stays visible to the model as ``{"invalid_arguments": "the text"}``.

The last two hold of the Responses form as well, which takes them from here.
"""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn

from agentforge.errors import ToolArgumentsError, UnsupportedFeatureError
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
from agentforge.provider import TurnShape, alias_of, call_id_of, dump_bytes, dump_text, utf8
from agentforge_openai.wire.media import media_of, user_content, wire_part
from agentforge_openai.wire.reasoning import THINKING_PARTS
from agentforge_openai.wire.reply import CALL_EXTRAS, MESSAGE_EXTRAS
from agentforge_openai.wire.shape import ChatTurnShape

__all__ = (
    "attached_to",
    "encode_result_media",
    "encode_turn",
    "lacks_error_mark",
    "result_text",
    "sent_arguments",
)

_INVALID_ARGUMENTS = "invalid_arguments"


def encode_turn(message: ChatMessage, shape: ChatTurnShape, notices: list[Notice]) -> bytes:
    """The message as JSON; what had to be left out is appended to ``notices``.

    Raises `UnsupportedFeatureError` for content that the endpoint cannot take.
    """
    if isinstance(message, AiMessage):
        return dump_bytes(_assistant(message, shape, notices))
    if isinstance(message, ToolExecutionResultMessage):
        identity = call_id_of(message.id, shape.call_id_pattern)
        content = dump_text(result_text(message))
        name = f',"name":{dump_text(shape.wire_name(message.tool_name))}' if shape.names_results else ""
        return utf8(f'{{"role":"tool","tool_call_id":{dump_text(identity)},"content":{content}{name}}}')
    if isinstance(message, SystemMessage):
        return dump_bytes({"role": "system", "content": _system_text(message, shape)})
    wire: dict[str, object] = {"role": "user", "content": user_content(message.contents, shape, notices)}
    if message.name is not None and shape.user_names:
        wire["name"] = _user_name(message.name, shape, notices)
    elif message.name is not None:
        notices.append(
            Notice("user_name_left_out", f"{shape.vendor} has no place for the name of a user; it was left out")
        )
    return dump_bytes(wire)


def _user_name(name: str, shape: ChatTurnShape, notices: list[Notice]) -> str:
    if shape.user_name_pattern is None or re.fullmatch(shape.user_name_pattern, name):
        return name
    sent = alias_of(name, shape.user_name_pattern)
    notices.append(
        Notice(
            "user_name_changed",
            f"{shape.vendor} does not take the name {name!r} of a user; it was sent as {sent!r}",
            {"name": name, "sent": sent},
        )
    )
    return sent


def encode_result_media(message: ToolExecutionResultMessage, shape: ChatTurnShape, notices: list[Notice]) -> bytes:
    """The user message that carries a result's media; empty when it has none."""
    media = media_of(message.contents)
    if not media:
        return b""
    head = {"type": "text", "text": attached_to(message, shape)}
    return dump_bytes({"role": "user", "content": [head, *(wire_part(part, shape, notices) for part in media)]})


def _system_text(message: SystemMessage, shape: ChatTurnShape) -> str:
    if any(not isinstance(part, (TextContent, ThinkingContent)) for part in message.contents):
        raise UnsupportedFeatureError(
            f"{shape.vendor} model {shape.model!r} does not support media in a system message (system_media)",
            provider_code="unsupported_feature",
            details={"vendor": shape.vendor, "model": shape.model, "feature": "system_media"},
            next_step="Send images, sound and files in a user message.",
        )
    return message.text


def _assistant(message: AiMessage, shape: ChatTurnShape, notices: list[Notice]) -> dict[str, Any]:
    wire: dict[str, Any] = {"role": "assistant", "content": None}
    texts: list[str] = []
    thoughts: list[Any] = []
    calls: list[dict[str, Any]] = []
    for part in message.contents:
        if isinstance(part, ToolExecutionRequest):
            calls.append(_call(part, shape))
            continue
        state = part.provider_state if isinstance(part, (TextContent, ThinkingContent)) else None
        ours = state.data if state is not None and state.provider == shape.provider else {}
        if isinstance(part, TextContent):
            if ours.get("refusal"):
                wire["refusal"] = wire.get("refusal", "") + part.text
            else:
                texts.append(part.text)
        elif isinstance(part, ThinkingContent):
            if ours and shape.replay_in_tags:
                texts.append(f"<think>{part.text}</think>")
                continue
            for name in shape.replay_fields:
                if name == THINKING_PARTS:
                    parts = ours.get(name)
                    thoughts += parts if isinstance(parts, list) else ()
                elif name in ours:
                    # Texts and lists both grow by adding; a turn has more than one such part only if it was merged.
                    wire[name] = wire[name] + ours[name] if name in wire else ours[name]
        else:
            notices.append(
                Notice(
                    "assistant_media_left_out",
                    f"{type(part).__name__} of an earlier reply cannot be sent back to {shape.vendor}; it was left out",
                )
            )
    if shape.replay_required is not None:
        wire.setdefault(shape.replay_required, "")
    if thoughts:
        said = [{"type": "text", "text": "".join(texts)}] if texts else []
        wire["content"] = [*thoughts, *said]
    elif texts:
        wire["content"] = "".join(texts)
    elif not calls and "refusal" not in wire:
        wire["content"] = ""
    if calls:
        if shape.call_extra is not None and all(CALL_EXTRAS.isdisjoint(call) for call in calls):
            calls[0].update(json.loads(shape.call_extra))
        wire["tool_calls"] = calls
    state = message.provider_state
    if shape.replay_extras and state is not None and state.provider == shape.provider:
        wire.update({name: value for name, value in state.data.items() if name in MESSAGE_EXTRAS})
    return wire


def _call(call: ToolExecutionRequest, shape: ChatTurnShape) -> dict[str, Any]:
    wire: dict[str, Any] = {
        "id": call_id_of(call.id, shape.call_id_pattern),
        "type": "function",
        "function": {"name": shape.wire_name(call.name), "arguments": sent_arguments(call)},
    }
    state = call.provider_state
    if shape.replay_extras and state is not None and state.provider == shape.provider:
        wire.update({name: value for name, value in state.data.items() if name in CALL_EXTRAS})
    return wire


def sent_arguments(call: ToolExecutionRequest) -> str:
    """The text of a JSON object, the call's own where it is one.

    >>> sent_arguments(ToolExecutionRequest("c", "a", '{"x":'))
    '{"invalid_arguments":"{\\\\"x\\\\":"}'
    """
    text = call.arguments
    try:
        if isinstance(_load(text), dict):
            return text
    except (ValueError, RecursionError):
        pass
    try:
        return dump_text(call.arguments_as_map())
    except ToolArgumentsError:
        return dump_text({_INVALID_ARGUMENTS: text})


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


_load = json.JSONDecoder(parse_constant=_no_constant).decode


def lacks_error_mark(message: ToolExecutionResultMessage) -> bool:
    """Whether this is an error whose first 80 characters do not say so."""
    return message.is_error and "error" not in message.text[:80].lower()


def result_text(message: ToolExecutionResultMessage) -> str:
    """The text; of an error it starts with ``Error: `` unless it says so itself, and where there are only media it says
    where they are."""
    text = message.text
    if not text and media_of(message.contents):
        text = "The result follows in the next user message."
    return f"Error: {text}" if lacks_error_mark(message) else text


def attached_to(message: ToolExecutionResultMessage, shape: TurnShape) -> str:
    """What stands before the media of a result that follow in a user message of their own."""
    identity = call_id_of(message.id, shape.call_id_pattern)
    return f"Attached to the result of {shape.wire_name(message.tool_name)} (call {identity}):"
