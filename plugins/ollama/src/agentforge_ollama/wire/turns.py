"""One message of ours to the bytes of one message on the wire.

Decisions the wire leaves to us:

- A turn has one text, one thinking and one list of calls; their order among each other has no place.
- The arguments of a call are an object, as a text is refused. What our own check of arguments refuses stays visible to
  the model as ``{"invalid_arguments": "the text"}``.
- Ids of calls and of results are sent even where the server gave none; older servers pass them over.
- There is no error flag. An error result starts with ``Error: `` unless its first 80 characters say "error".
"""

from __future__ import annotations

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
    UserMessage,
)
from agentforge.provider import call_id_of, dump_bytes, dump_text, sent_arguments, utf8
from agentforge_ollama.wire.media import text_and_images
from agentforge_ollama.wire.shape import OllamaTurnShape

__all__ = ("encode_turn",)


def encode_turn(message: ChatMessage, shape: OllamaTurnShape, notices: list[Notice]) -> bytes:
    """The message as JSON; what had to be left out is appended to ``notices``.

    Raises `UnsupportedFeatureError` for content that the endpoint cannot take.
    """
    if isinstance(message, AiMessage):
        return _assistant(message, shape, notices)
    if isinstance(message, ToolExecutionResultMessage):
        return _result(message, shape, notices)
    if isinstance(message, SystemMessage):
        return dump_bytes({"role": "system", "content": _system_text(message, shape)})
    return _user(message, shape, notices)


def _user(message: UserMessage, shape: OllamaTurnShape, notices: list[Notice]) -> bytes:
    if message.name is not None:
        notices.append(
            Notice(
                "user_name_left_out",
                f"{shape.vendor} has no place for the name of a user; {message.name!r} was left out",
                {"name": message.name},
            )
        )
    text, images = text_and_images(message.contents, shape, notices)
    return dump_bytes({"role": "user", "content": text, **({"images": images} if images else {})})


def _system_text(message: SystemMessage, shape: OllamaTurnShape) -> str:
    if any(not isinstance(part, (TextContent, ThinkingContent)) for part in message.contents):
        raise UnsupportedFeatureError(
            f"{shape.vendor} model {shape.model!r} does not support media in a system message (system_media)",
            provider_code="unsupported_feature",
            details={"vendor": shape.vendor, "model": shape.model, "feature": "system_media"},
            next_step="Send images in a user message.",
        )
    return message.text


def _assistant(message: AiMessage, shape: OllamaTurnShape, notices: list[Notice]) -> bytes:
    texts: list[str] = []
    thinking: list[str] = []
    calls: list[str] = []
    for part in message.contents:
        if isinstance(part, ToolExecutionRequest):
            calls.append(_call(part, len(calls), shape))
        elif isinstance(part, TextContent):
            texts.append(part.text)
        elif isinstance(part, ThinkingContent):
            state = part.provider_state
            if shape.replays_thinking and state is not None and state.provider == shape.provider:
                thinking.append(part.text)
        else:
            notices.append(
                Notice(
                    "assistant_media_left_out",
                    f"{type(part).__name__} of an earlier reply cannot be sent back to {shape.vendor}; it was left out",
                )
            )
    thought = f',"thinking":{dump_text("".join(thinking))}' if any(thinking) else ""
    asked = f',"tool_calls":[{",".join(calls)}]' if calls else ""
    return utf8(f'{{"role":"assistant","content":{dump_text("".join(texts))}{thought}{asked}}}')


def _call(call: ToolExecutionRequest, index: int, shape: OllamaTurnShape) -> str:
    identity, name = call_id_of(call.id, shape.call_id_pattern), shape.wire_name(call.name)
    function = f'{{"index":{index},"name":{dump_text(name)},"arguments":{sent_arguments(call)}}}'
    return f'{{"id":{dump_text(identity)},"function":{function}}}'


def _result(message: ToolExecutionResultMessage, shape: OllamaTurnShape, notices: list[Notice]) -> bytes:
    text, images = text_and_images(message.contents, shape, notices)
    if message.is_error and "error" not in text[:80].lower():
        text = f"Error: {text}"
    wire: dict[str, object] = {
        "role": "tool",
        "tool_name": shape.wire_name(message.tool_name),
        "tool_call_id": call_id_of(message.id, shape.call_id_pattern),
        "content": text,
    }
    if images:
        wire["images"] = images
    return dump_bytes(wire)
