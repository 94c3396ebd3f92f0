"""Messages and responses as JSON, and back, without loss: what memory and durable runs store.

The form is ours and versioned; it is no vendor's wire form. Reading is strict: an unknown version, kind or field is
refused with its place (`RunStateError`). Fields at their default are left out, so a plain message stays small.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, cast

from agentforge.model.citation import Citation
from agentforge.model.content import (
    AudioContent,
    Content,
    FileContent,
    ImageContent,
    ProviderState,
    TextContent,
    ThinkingContent,
)
from agentforge.model.events import Notice
from agentforge.model.json_object import JsonObject, load_json, refuse, to_json_value
from agentforge.model.messages import (
    AiMessage,
    ChatMessage,
    SystemMessage,
    ToolExecutionResultMessage,
    UserMessage,
)
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage

__all__ = (
    "MESSAGE_FORMAT_VERSION",
    "citation_to_json",
    "content_from_json",
    "content_to_json",
    "message_from_json",
    "message_to_json",
    "messages_from_json",
    "messages_to_json",
    "provider_state_from_json",
    "provider_state_to_json",
    "response_from_json",
    "response_to_json",
    "tool_execution_request_from_json",
    "tool_execution_request_to_json",
    "usage_from_json",
    "usage_to_json",
)

MESSAGE_FORMAT_VERSION = 1
"""The version that is written, and the only one that is read."""

_COUNTS = (
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cached_input_tokens",
    "cache_write_tokens",
    "reasoning_tokens",
)
_AMOUNT = re.compile(r"-?[0-9]{1,60}(\.[0-9]{1,60})?")
_FINISH_REASONS = {reason.value: reason for reason in FinishReason}
_RESPONSE_FIELDS = (
    "version",
    "ai_message",
    "finish_reason",
    "token_usage",
    "id",
    "model_name",
    "raw_finish_reason",
    "notices",
    "citations",
)
_CITATION_FIELDS = ("url", "title", "text", "start", "end")


# -- messages --------------------------------------------------------------------------------------------------


def messages_to_json(messages: Iterable[ChatMessage]) -> dict[str, Any]:
    """A whole conversation: ``{"version": 1, "messages": [...]}``. Raises `RunStateError` naming what JSON cannot hold.

    >>> messages_to_json([UserMessage("Hi")])
    {'version': 1, 'messages': [{'type': 'user', 'contents': [{'type': 'text', 'text': 'Hi'}]}]}
    """
    return {
        "version": MESSAGE_FORMAT_VERSION,
        "messages": [_message_to_json(message, f"messages[{at}]") for at, message in enumerate(messages)],
    }


def messages_from_json(data: Mapping[str, Any] | str | bytes) -> tuple[ChatMessage, ...]:
    """Read what `messages_to_json` made, as an object or as JSON text; raises `RunStateError` with the place.

    >>> messages_from_json('{"version": 1, "messages": [{"type": "user", "contents": []}]}')
    (UserMessage(contents=(), name=None),)
    """
    source = JsonObject(load_json(data) if isinstance(data, (str, bytes)) else data, "")
    source.version(MESSAGE_FORMAT_VERSION, required=True)
    source.only(("version", "messages"))
    return tuple(_message_from_json(item, path) for item, path in source.items("messages"))


def message_to_json(message: ChatMessage) -> dict[str, Any]:
    """One message that is stored by itself, with the version of the form."""
    return {"version": MESSAGE_FORMAT_VERSION, **_message_to_json(message, "message")}


def message_from_json(data: Mapping[str, Any]) -> ChatMessage:
    """Read what `message_to_json` made; a message taken out of `messages_to_json` is read too."""
    source = JsonObject(data, "message")
    source.version(MESSAGE_FORMAT_VERSION, required=False)
    return _message_from_json({key: value for key, value in data.items() if key != "version"}, "message")


def _message_to_json(message: ChatMessage, path: str) -> dict[str, Any]:
    kind = _MESSAGE_KINDS.get(type(message))
    if kind is None:
        refuse(path, f"{type(message).__name__} is not a message", "Store the four kinds of message only.")
    out: dict[str, Any] = {"type": kind}
    if isinstance(message, ToolExecutionResultMessage):
        out.update(id=message.id, tool_name=message.tool_name)
    elif isinstance(message, UserMessage) and message.name is not None:
        out["name"] = message.name
    out["contents"] = [_part_to_json(part, f"{path}.contents[{at}]") for at, part in enumerate(message.contents)]
    if isinstance(message, AiMessage):
        _put_state(out, message.provider_state, path)
    elif isinstance(message, ToolExecutionResultMessage):
        if message.is_error:
            out["is_error"] = True
        if message.attributes:
            out["attributes"] = to_json_value(message.attributes, f"{path}.attributes")
    return out


def _message_from_json(data: object, path: str) -> ChatMessage:
    source = JsonObject(data, path)
    kind = source.choice("type", _MESSAGE_FIELDS)
    source.only(("type", "contents", *_MESSAGE_FIELDS[kind]))
    if kind == "ai":
        parts = [_part_from_json(item, at, with_calls=True) for item, at in source.items("contents")]
        return AiMessage(parts, provider_state=_state(source))
    contents = [cast("Content", _part_from_json(item, at, with_calls=False)) for item, at in source.items("contents")]
    if kind == "system":
        return SystemMessage(contents)
    if kind == "user":
        return UserMessage(contents, name=source.optional_text("name"))
    return ToolExecutionResultMessage(
        source.text("id"),
        source.text("tool_name"),
        contents,
        is_error=source.flag("is_error", default=False),
        attributes=source.mapping("attributes") or {},
    )


_MESSAGE_KINDS: Mapping[type, str] = {
    SystemMessage: "system",
    UserMessage: "user",
    AiMessage: "ai",
    ToolExecutionResultMessage: "tool_result",
}
_MESSAGE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "system": (),
    "user": ("name",),
    "ai": ("provider_state",),
    "tool_result": ("id", "tool_name", "is_error", "attributes"),
}


# -- parts, calls, provider state ------------------------------------------------------------------------------


def content_to_json(content: Content) -> dict[str, Any]:
    """One content part."""
    if isinstance(content, ToolExecutionRequest):
        refuse("content", "a call is not a content part", "Use tool_execution_request_to_json.")
    return _part_to_json(content, "content")


def content_from_json(data: Mapping[str, Any]) -> Content:
    """Read what `content_to_json` made."""
    return cast("Content", _part_from_json(data, "content", with_calls=False))


def tool_execution_request_to_json(request: ToolExecutionRequest) -> dict[str, Any]:
    """One call."""
    return _part_to_json(request, "call")


def tool_execution_request_from_json(data: Mapping[str, Any]) -> ToolExecutionRequest:
    """Read what `tool_execution_request_to_json` made."""
    JsonObject(data, "call").choice("type", ("call",))
    return cast("ToolExecutionRequest", _part_from_json(data, "call", with_calls=True))


def provider_state_to_json(state: ProviderState) -> dict[str, Any]:
    """A provider's opaque state, verbatim."""
    return _state_to_json(state, "provider_state")


def provider_state_from_json(data: Mapping[str, Any]) -> ProviderState:
    """Read what `provider_state_to_json` made."""
    return _state_from_json(data, "provider_state")


def _state_to_json(state: ProviderState, path: str) -> dict[str, Any]:
    return {"provider": state.provider, "data": to_json_value(state.data, f"{path}.data")}


def _state_from_json(data: object, path: str) -> ProviderState:
    source = JsonObject(data, path, ("provider", "data"))
    stored = source.mapping("data")
    if stored is None:
        refuse(f"{path}.data", "the field is missing")
    return ProviderState(source.text("provider"), stored)


def _put_state(out: dict[str, Any], state: ProviderState | None, path: str) -> None:
    if state is not None:
        out["provider_state"] = _state_to_json(state, f"{path}.provider_state")


def _state(source: JsonObject) -> ProviderState | None:
    if "provider_state" not in source.data:
        return None
    return _state_from_json(source.data["provider_state"], f"{source.path}.provider_state")


def _part_to_json(part: Content | ToolExecutionRequest, path: str) -> dict[str, Any]:
    kind = _PART_KINDS.get(type(part))
    if kind is None:
        refuse(path, f"{type(part).__name__} is not a content part")
    out: dict[str, Any] = {"type": kind}
    for name in _PART_FIELDS[kind]:
        value = getattr(part, name)
        if name == "provider_state":
            _put_state(out, value, path)
        elif value is not None and not (name == "id_was_given" and value is True):
            out[name] = value
    return out


def _part_from_json(data: object, path: str, *, with_calls: bool) -> Content | ToolExecutionRequest:
    source = JsonObject(data, path)
    kind = source.choice("type", _PART_FIELDS if with_calls else [kind for kind in _PART_FIELDS if kind != "call"])
    source.only(("type", *_PART_FIELDS[kind]))
    try:
        return _PART_READERS[kind](source)
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        refuse(path, str(error))


_PART_KINDS: Mapping[type, str] = {
    TextContent: "text",
    ImageContent: "image",
    AudioContent: "audio",
    FileContent: "file",
    ThinkingContent: "thinking",
    ToolExecutionRequest: "call",
}
_PART_FIELDS: Mapping[str, tuple[str, ...]] = {
    "text": ("text", "provider_state"),
    "image": ("url", "data", "media_type", "detail"),
    "audio": ("url", "data", "media_type"),
    "file": ("url", "data", "media_type", "name"),
    "thinking": ("text", "provider_state"),
    "call": ("id", "name", "arguments", "id_was_given", "provider_state"),
}


def _image(source: JsonObject) -> ImageContent:
    detail = source.choice("detail", ("auto", "low", "high")) if "detail" in source.data else None
    return ImageContent(
        source.optional_text("url"),
        source.optional_text("data"),
        source.text("media_type"),
        cast("Any", detail),
    )


_PART_READERS: Mapping[str, Callable[[JsonObject], Content | ToolExecutionRequest]] = {
    "text": lambda source: TextContent(source.text("text"), _state(source)),
    "image": _image,
    "audio": lambda source: AudioContent(
        source.optional_text("url"), source.optional_text("data"), source.text("media_type")
    ),
    "file": lambda source: FileContent(
        source.optional_text("url"),
        source.optional_text("data"),
        source.text("media_type"),
        source.optional_text("name"),
    ),
    "thinking": lambda source: ThinkingContent(source.text("text"), _state(source)),
    "call": lambda source: ToolExecutionRequest(
        source.text("id"),
        source.text("name"),
        source.text("arguments"),
        source.flag("id_was_given", default=True),
        _state(source),
    ),
}


# -- usage and responses ---------------------------------------------------------------------------------------


def usage_to_json(usage: TokenUsage) -> dict[str, Any]:
    """Token counts, those that were reported, and the cost; amounts are texts, as JSON's numbers are not exact."""
    return _usage_to_json(usage, "token_usage")


def usage_from_json(data: Mapping[str, Any]) -> TokenUsage:
    """Read what `usage_to_json` made.

    >>> usage_from_json({"input_tokens": 3}).output_tokens is None
    True
    """
    return _usage_from_json(data, "token_usage")


def _usage_to_json(usage: TokenUsage, path: str) -> dict[str, Any]:
    out: dict[str, Any] = {name: value for name in _COUNTS if (value := getattr(usage, name)) is not None}
    if usage.cost is not None:
        out.update(cost=format(usage.cost, "f"), currency=usage.currency)
    if usage.partial_costs:
        out["partial_costs"] = {currency: format(cost, "f") for currency, cost in usage.partial_costs}
    if usage.raw is not None:
        out["raw"] = to_json_value(usage.raw, f"{path}.raw")
    return out


def _usage_from_json(data: object, path: str) -> TokenUsage:
    source = JsonObject(data, path, (*_COUNTS, "cost", "currency", "partial_costs", "raw"))
    counts: dict[str, Any] = {name: source.count(name) for name in _COUNTS}
    cost = source.optional_text("cost")
    partial = source.mapping("partial_costs") or {}
    try:
        return TokenUsage(
            **counts,
            raw=source.mapping("raw"),
            cost=None if cost is None else _amount(cost, f"{path}.cost"),
            currency=source.optional_text("currency"),
            partial_costs=tuple(
                (name, _amount(text, f"{path}.partial_costs")) for name, text in sorted(partial.items())
            ),
        )
    except ValueError as error:
        if type(error) is not ValueError:
            raise
        refuse(path, str(error))


def _amount(text: object, path: str) -> Decimal:
    if not isinstance(text, str) or not _AMOUNT.fullmatch(text):
        refuse(path, "an amount is a text such as '0.25'")
    return Decimal(text)


def response_to_json(response: ChatResponse) -> dict[str, Any]:
    """A whole reply with the version of the form; the provider's ``raw`` body is left out."""
    path = "response"
    out: dict[str, Any] = {
        "version": MESSAGE_FORMAT_VERSION,
        "ai_message": _message_to_json(response.ai_message, f"{path}.ai_message"),
        "finish_reason": response.finish_reason.value,
        "token_usage": _usage_to_json(response.token_usage, f"{path}.token_usage"),
    }
    for name in ("id", "model_name", "raw_finish_reason"):
        if getattr(response, name) is not None:
            out[name] = getattr(response, name)
    if response.notices:
        out["notices"] = [
            {
                "code": notice.code,
                "message": notice.message,
                "details": to_json_value(notice.details, f"{path}.notices[{at}].details"),
            }
            for at, notice in enumerate(response.notices)
        ]
    if response.citations:
        out["citations"] = [citation_to_json(citation) for citation in response.citations]
    return out


def response_from_json(data: Mapping[str, Any] | str | bytes) -> ChatResponse:
    """Read what `response_to_json` made, as an object or as JSON text; raises `RunStateError` with the place."""
    source = JsonObject(load_json(data) if isinstance(data, (str, bytes)) else data, "response")
    source.version(MESSAGE_FORMAT_VERSION, required=True)
    source.only(_RESPONSE_FIELDS)
    message = _message_from_json(source.data.get("ai_message"), "response.ai_message")
    if not isinstance(message, AiMessage):
        refuse("response.ai_message.type", "a reply is a message of kind 'ai'")
    notices = []
    for item, path in source.items("notices") if "notices" in source.data else ():
        notice = JsonObject(item, path, ("code", "message", "details"))
        notices.append(Notice(notice.text("code"), notice.text("message"), notice.mapping("details") or {}))
    citations = source.items("citations") if "citations" in source.data else ()
    return ChatResponse(
        message,
        _FINISH_REASONS[source.choice("finish_reason", _FINISH_REASONS)],
        _usage_from_json(source.data.get("token_usage"), "response.token_usage"),
        source.optional_text("id"),
        source.optional_text("model_name"),
        source.optional_text("raw_finish_reason"),
        tuple(notices),
        citations=tuple(_citation_from_json(item, path) for item, path in citations),
    )


def citation_to_json(citation: Citation) -> dict[str, Any]:
    """One source: what the provider says of it."""
    return {name: value for name in _CITATION_FIELDS if (value := getattr(citation, name)) is not None}


def _citation_from_json(data: object, path: str) -> Citation:
    source = JsonObject(data, path, _CITATION_FIELDS)
    url, title, text = (source.optional_text(name) for name in ("url", "title", "text"))
    return Citation(url, title, text, source.count("start"), source.count("end"))
