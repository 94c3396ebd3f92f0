"""One message of ours to its parts on the wire, separated by commas; `agentforge_gemini.wire.joining` puts roles around
them, as neighbours of one role become one message.

Decisions the wire leaves to us:

- What a part had beside its text, its name and its arguments (a signature, the vendor's id of a call) goes back to the
  same model at the same endpoint in its place; to another it does not go at all.
- Thoughts are summaries for people: one goes back only with a signature of its own.
- Models that want a signature on the first call of a turn get the vendor's own stand-in for one where the turn came
  from elsewhere. They look at turns since the user's last message only; it is in all of them, so that the bytes of a
  turn never change.
- The arguments of a call are an object. Argument text that our own check of arguments refuses stays visible to the
  model as ``{"invalid_arguments": "the text"}``.
- A result is an object with ``output``, or ``error`` for a failed call. Media that it cannot hold follow in parts of
  their own behind the results of the turn.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from agentforge.errors import ToolArgumentsError
from agentforge.model import (
    AiMessage,
    ChatMessage,
    FileContent,
    Notice,
    ProviderState,
    SystemMessage,
    TextContent,
    ThinkingContent,
    ToolExecutionRequest,
    ToolExecutionResultMessage,
)
from agentforge.provider import dump_bytes, dump_text, is_object, utf8
from agentforge_gemini.wire.media import content_parts, file_line, is_said, media_part, stands_in_result
from agentforge_gemini.wire.reply import MEDIA_STATE, PART
from agentforge_gemini.wire.shape import GeminiTurnShape

__all__ = ("INVALID_ARGUMENTS", "NO_SIGNATURE", "encode_media", "encode_turn", "given_ids", "is_sent")

#: The key under which the text of unreadable arguments is replayed.
INVALID_ARGUMENTS = "invalid_arguments"
#: The vendor's stand-in for the signature of a call that another model made.
NO_SIGNATURE = "skip_thought_signature_validator"
_SIGNATURE = "thoughtSignature"
_NO_TEXT = "The tool failed and said nothing about it."


def encode_turn(message: ChatMessage, shape: GeminiTurnShape, notices: list[Notice]) -> bytes:
    """The parts of the message; what had to be left out is appended to ``notices``.

    Raises `UnsupportedFeatureError` for content that the endpoint cannot take.
    """
    if isinstance(message, AiMessage):
        return b",".join(_model_parts(message, shape, notices))
    if isinstance(message, ToolExecutionResultMessage):
        return _result(message, shape, notices)
    if isinstance(message, SystemMessage):
        return b",".join(_instructions(message, shape, notices))
    if message.name is not None:
        notices.append(
            Notice(
                "user_name_left_out",
                f"{shape.vendor} has no place for the name of a user; {message.name!r} was left out",
                {"name": message.name},
            )
        )
    return b",".join([dump_bytes(part) for part in content_parts(message.contents, shape, notices)])


def encode_media(message: ToolExecutionResultMessage, shape: GeminiTurnShape) -> bytes:
    """The parts that carry the media which a result cannot hold; empty when there are none."""
    behind = _split(message, shape, []).behind
    if not behind:
        return b""
    head = {"text": f"Attached to the result of {shape.wire_name(message.tool_name)}:"}
    return b",".join([dump_bytes(part) for part in (head, *behind)])


def is_sent(message: ChatMessage, shape: GeminiTurnShape) -> bool:
    """Whether the message has any part on this wire."""
    if isinstance(message, ToolExecutionResultMessage):
        return True
    if not isinstance(message, AiMessage):
        return any(is_said(part) for part in message.contents)
    for part in message.contents:
        if isinstance(part, ThinkingContent):
            if _thought(part, shape) is not None:
                return True
        elif not isinstance(part, TextContent) or part.text or _own(part.provider_state, shape) is not None:
            return True
    return False


def given_ids(message: AiMessage, shape: GeminiTurnShape) -> list[bytes]:
    """The vendor's own id of each call, as a member of its result; empty for a call that came without one."""
    return [_id_member(_own(call.provider_state, shape)) for call in message.tool_execution_requests]


def _id_member(state: ProviderState | None) -> bytes:
    said = state.data.get("functionCall") if state is not None else None
    identity = said.get("id") if isinstance(said, Mapping) else None
    return b'"id":%b,' % dump_bytes(identity) if isinstance(identity, str) else b""


def _model_parts(message: AiMessage, shape: GeminiTurnShape, notices: list[Notice]) -> Iterator[bytes]:
    turn = _own(message.provider_state, shape)
    media = turn.data.get(MEDIA_STATE) if turn is not None else None
    must_sign = shape.signatures
    for place, part in enumerate(message.contents):
        if isinstance(part, ToolExecutionRequest):
            yield _call(part, shape, must_sign=must_sign)
            must_sign = False
        elif isinstance(part, TextContent):
            state = _own(part.provider_state, shape)
            if part.text or state is not None:
                yield dump_bytes({"text": part.text, **(state.data if state is not None else {})})
        elif isinstance(part, ThinkingContent):
            own = _thought(part, shape)
            if own is not None:
                yield dump_bytes(own)
        else:
            more = media.get(str(place)) if isinstance(media, Mapping) else None
            made = media_part(part, shape.for_results(), notices)
            yield dump_bytes({**made, **more} if isinstance(more, Mapping) and "text" not in made else made)


def _thought(part: ThinkingContent, shape: GeminiTurnShape) -> Mapping[str, object] | None:
    """A signed thought, or the vendor's own part; ``None`` for what does not go back."""
    state = _own(part.provider_state, shape)
    if state is None:
        return None
    own = state.data.get(PART)
    if isinstance(own, Mapping):
        return own
    return {"text": part.text, "thought": True, **state.data} if _SIGNATURE in state.data else None


def _own(state: ProviderState | None, shape: GeminiTurnShape) -> ProviderState | None:
    return state if state is not None and state.provider == shape.provider else None


def _call(call: ToolExecutionRequest, shape: GeminiTurnShape, *, must_sign: bool) -> bytes:
    state = _own(call.provider_state, shape)
    data = dict(state.data) if state is not None else {}
    own = data.pop("functionCall", None)
    if must_sign:
        data.setdefault(_SIGNATURE, NO_SIGNATURE)
    inner = "".join(_members(own)) if isinstance(own, Mapping) else ""
    name = dump_text(shape.wire_name(call.name))
    return utf8(f'{{"functionCall":{{"name":{name},"args":{_args(call)}{inner}}}{"".join(_members(data))}}}')


def _members(data: Mapping[str, object]) -> Iterator[str]:
    return (f",{dump_text(key)}:{dump_text(value)}" for key, value in data.items())


def _args(call: ToolExecutionRequest) -> str:
    text = call.arguments
    try:
        arguments = call.arguments_as_map()
    except ToolArgumentsError:
        return dump_text({INVALID_ARGUMENTS: text})
    return text if is_object(text) else dump_text(arguments)  # as it came, or as it was mended when it was read


class _Split(NamedTuple):
    """A result: its words, the media in it, and those behind the results of the turn."""

    texts: list[str]
    inside: list[dict[str, object]]
    behind: list[dict[str, object]]


def _split(message: ToolExecutionResultMessage, shape: GeminiTurnShape, notices: list[Notice]) -> _Split:
    made = _Split([], [], [])
    for part in message.contents:
        if isinstance(part, TextContent):
            made.texts.append(part.text)
        elif is_said(part):
            media = media_part(part, shape, notices)
            name = part.name if isinstance(part, FileContent) else None
            if "text" in media:
                made.texts.append(str(media["text"]))
            elif shape.result_media and stands_in_result(media):
                made.inside.append(media)
                made.texts.extend([file_line(name)] if name else [])
            else:
                made.behind.extend([{"text": file_line(name)}, media] if name else [media])
    return made


def _result(message: ToolExecutionResultMessage, shape: GeminiTurnShape, notices: list[Notice]) -> bytes:
    texts, media, behind = _split(message, shape, notices)
    text = "\n".join(filter(None, texts)) if media or behind else "".join(texts)
    response = {"error": text or _NO_TEXT} if message.is_error else {"output": text}
    result: dict[str, object] = {"name": shape.wire_name(message.tool_name), "response": response}
    if media:
        result["parts"] = media
    return b'{"functionResponse":%b}' % dump_bytes(result)


def _instructions(message: SystemMessage, shape: GeminiTurnShape, notices: list[Notice]) -> Iterator[bytes]:
    for part in message.contents:
        if isinstance(part, TextContent):
            if part.text:
                yield dump_bytes({"text": part.text})
        elif is_said(part):
            kind = type(part).__name__.removesuffix("Content").lower()
            feature = {"image": "images", "file": "files"}.get(kind, kind)
            yield dump_bytes({"text": shape.left_out(feature, f"{feature} in instructions", notices)})
