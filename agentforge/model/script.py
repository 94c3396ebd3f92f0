"""The turns of a script: what a test may write for a reply, brought into one form.

A script is data (Python values or YAML), so a mistake in it is found when the script is read, not when its turn comes,
and is reported with the turn and the key.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from agentforge import errors
from agentforge.errors import ConfigurationError, ModelError
from agentforge.model.call_ids import next_call_number
from agentforge.model.citation import Citation
from agentforge.model.content import Content, TextContent, ThinkingContent
from agentforge.model.events import Notice
from agentforge.model.messages import AiMessage
from agentforge.model.response import ChatResponse, FinishReason
from agentforge.model.tool_call import ToolExecutionRequest
from agentforge.model.usage import TokenUsage

__all__ = (
    "ScriptError",
    "ScriptPath",
    "ScriptedReply",
    "Turn",
    "call",
    "calls",
    "characters_of",
    "only_keys",
    "read_turn",
    "resolve_turn",
)

Turn: TypeAlias = (
    "str | AiMessage | ChatResponse | ToolExecutionRequest | Sequence[ToolExecutionRequest | Mapping[str, Any]]"
    " | Mapping[str, Any] | BaseException | ScriptedReply | Callable[[Any], Any]"
)
"""Whatever may stand for a reply in a script; see `read_turn`."""

ScriptPath: TypeAlias = tuple[str | int, ...]
"""The way to a place in a script: positions and keys."""
_Reply = TypeVar("_Reply")
_FINISH_REASONS = {reason.value: reason for reason in FinishReason}
_USAGE = {
    "input": "input_tokens",
    "output": "output_tokens",
    "total": "total_tokens",
    "cached_input": "cached_input_tokens",
    "cache_write": "cache_write_tokens",
    "reasoning": "reasoning_tokens",
}
_ERRORS: Mapping[str, type[ModelError]] = {
    "model": errors.ModelError,
    "authentication": errors.AuthenticationError,
    "permission": errors.PermissionDeniedError,
    "not_found": errors.NotFoundError,
    "invalid_request": errors.InvalidRequestError,
    "context_length": errors.ContextLengthError,
    "tool_use_failed": errors.ToolUseFailedError,
    "content_filter": errors.ContentFilterError,
    "rate_limit": errors.RateLimitError,
    "overloaded": errors.OverloadedError,
    "timeout": errors.ModelTimeoutError,
    "connection": errors.ModelConnectionError,
    "protocol": errors.ProtocolError,
}


@dataclass(frozen=True, slots=True)
class ScriptedReply:
    """One turn in its normal form. What is ``None`` is filled in when the turn comes. With ``error`` the turn fails;
    a stream shows the message's parts first."""

    message: AiMessage
    finish_reason: FinishReason | None = None
    usage: TokenUsage | None = None
    id: str | None = None
    model_name: str | None = None
    raw_finish_reason: str | None = None
    notices: tuple[Notice, ...] = ()
    error: BaseException | None = None
    citations: tuple[Citation, ...] = ()

    def with_ids(self, taken: Iterable[str]) -> ScriptedReply:
        """The reply with ``call_1``, ``call_2``, ... for calls without an id, above all ids ``taken`` before it."""
        if all(request.id for request in self.message.tool_execution_requests):
            return self
        number = next_call_number((*taken, *(request.id for request in self.message.tool_execution_requests)))
        contents: list[Content | ToolExecutionRequest] = []
        for part in self.message.contents:
            if isinstance(part, ToolExecutionRequest) and not part.id:
                part = replace(part, id=f"call_{number}")
                number += 1
            contents.append(part)
        return replace(self, message=AiMessage(contents, provider_state=self.message.provider_state))

    def response(
        self, *, input_characters: int = 0, id: str = "scripted", model_name: str = "scripted"
    ) -> ChatResponse:
        """The whole response; usage that the script leaves open is a quarter of the characters, rounded up."""
        finish = self.finish_reason
        if finish is None:
            finish = FinishReason.TOOL_EXECUTION if self.message.has_tool_execution_requests else FinishReason.STOP
        usage = self.usage
        if usage is None:
            spent, made = -(-input_characters // 4), -(-characters_of(self.message) // 4)
            usage = TokenUsage(spent, made, spent + made)
        return ChatResponse(
            self.message,
            finish,
            usage,
            self.id if self.id is not None else id,
            self.model_name if self.model_name is not None else model_name,
            self.raw_finish_reason,
            self.notices,
            citations=self.citations,
        )


def characters_of(message: Any) -> int:
    """The characters of a message's texts, calls included: the base of the made-up usage."""
    total = 0
    for part in message.contents:
        if isinstance(part, ToolExecutionRequest):
            total += len(part.name) + len(part.arguments)
        else:
            total += len(getattr(part, "text", ""))
    return total


def call(name: str, arguments: str | Mapping[str, object] | None = None, /, **values: object) -> ToolExecutionRequest:
    """A call for a script: arguments as keywords, as a mapping, or as raw text that need not be JSON.

    Its id is made up when its turn comes; give a `ToolExecutionRequest` to choose one.

    >>> call("get_weather", city="杭州").arguments
    '{"city":"杭州"}'
    >>> call("get_weather", "{broken").arguments
    '{broken'
    """
    if isinstance(arguments, str):
        if values:
            raise ConfigurationError("call() takes raw argument text or keyword arguments, not both")
        return ToolExecutionRequest("", name, arguments)
    return ToolExecutionRequest("", name, _arguments_text({**(arguments or {}), **values}, ("arguments",)))


def calls(*requests: ToolExecutionRequest, text: str | None = None, thinking: str | None = None) -> AiMessage:
    """A turn with several calls, after ``thinking`` and ``text`` where given.

    >>> [request.name for request in calls(call("now"), call("today")).tool_execution_requests]
    ['now', 'today']
    """
    return _message(thinking, text, requests)


def read_turn(turn: Turn, path: ScriptPath = ()) -> ScriptedReply | Callable[[Any], Any]:
    """One turn in its normal form; a callable is returned as it is, to be asked when its turn comes.

    A text is an answer; a call, a list of calls or an `AiMessage` is that message; a `ChatResponse` is used as it is;
    an exception instance is raised; a mapping has the keys ``text``, ``thinking``, ``calls`` (each with ``name`` and
    ``args``, or ``arguments`` as raw text, and ``id``), ``finish_reason``, ``usage`` and ``error``. Raises
    `ConfigurationError` for anything else.
    """
    if isinstance(turn, ScriptedReply):
        return turn
    if isinstance(turn, str):
        return ScriptedReply(AiMessage(turn))
    if isinstance(turn, AiMessage):
        return ScriptedReply(turn)
    if isinstance(turn, ToolExecutionRequest):
        return ScriptedReply(AiMessage([turn]))
    if isinstance(turn, ChatResponse):
        return ScriptedReply(
            turn.ai_message,
            turn.finish_reason,
            turn.token_usage,
            turn.id,
            turn.model_name,
            turn.raw_finish_reason,
            turn.notices,
            citations=turn.citations,
        )
    if isinstance(turn, BaseException):
        return ScriptedReply(AiMessage(), error=turn)
    if isinstance(turn, Mapping):
        return _mapping(turn, path)
    if isinstance(turn, Sequence) and not isinstance(turn, (bytes, bytearray)):
        return ScriptedReply(AiMessage(_calls(turn, path)))
    if callable(turn) and not (isinstance(turn, type) and issubclass(turn, BaseException)):
        return turn
    shown = turn.__name__ if isinstance(turn, type) else type(turn).__name__
    raise ScriptError(
        path, f"{shown} is not a turn", "Give a text, a call, a message, a mapping or an exception instance."
    )


async def resolve_turn(
    turn: _Reply | Callable[[Any], Any],
    argument: object,
    path: ScriptPath,
    read: Callable[[Any, ScriptPath], _Reply | Callable[[Any], Any]],
) -> _Reply:
    """The reply of a turn that ``read`` has read: a callable is asked with ``argument``, its answer read again."""
    for _ in range(8):
        if not callable(turn):
            return turn
        answer = turn(argument)
        turn = read(await answer if inspect.isawaitable(answer) else answer, path)
    raise ScriptError(path, "a callable keeps answering with another callable", "Answer with a turn.")


class ScriptError(ConfigurationError):
    """A mistake in a script; ``path`` leads to it, so that the reader of a file can tell the line."""

    def __init__(self, path: ScriptPath, message: str, next_step: str | None = None) -> None:
        super().__init__(message, location=_place(path) or None, next_step=next_step)
        self.path = path


def _place(path: ScriptPath) -> str:
    """The place in words, everything counted from 1.

    >>> _place(("turns", 1, "calls", 0, "name"))
    'turn 2, call 1, name'
    """
    words: list[str] = []
    for key in path[1:] if path[:1] == ("turns",) else path:
        if isinstance(key, str):
            words.append(key)
            continue
        if words and words[-1] == "calls":
            words.pop()
        words.append(f"call {key + 1}" if words else f"turn {key + 1}")
    return ", ".join(words)


def only_keys(data: Mapping[Any, Any], known: Sequence[str], path: ScriptPath) -> None:
    """Raise `ScriptError` for a key that is not ``known``, with the nearest one that is."""
    for key in data:
        if key not in known:
            import difflib

            near = difflib.get_close_matches(str(key), known, 1)
            if near:
                step = f"Did you mean {near[0]!r}?"
            elif " " in str(key):
                step = "A text that holds ': ' needs quotes."
            else:
                step = f"Known keys: {', '.join(known)}."
            raise ScriptError((*path, str(key)), f"unknown key {key!r}", step)


def _text(value: object, path: ScriptPath) -> str | None:
    if value is not None and not isinstance(value, str):
        raise ScriptError(path, f"a text is needed, not {type(value).__name__}", "Put the value in quotes.")
    return value


def _message(thinking: str | None, text: str | None, requests: Iterable[ToolExecutionRequest]) -> AiMessage:
    parts: list[Content | ToolExecutionRequest] = []
    if thinking is not None:
        parts.append(ThinkingContent(thinking))
    if text is not None:
        parts.append(TextContent(text))
    return AiMessage([*parts, *requests])


def _mapping(turn: Mapping[Any, Any], path: ScriptPath) -> ScriptedReply:
    only_keys(turn, ("text", "thinking", "calls", "finish_reason", "usage", "error"), path)
    if not turn:
        raise ScriptError(path, "the turn is empty", "Give it a text, calls or an error.")
    listed = turn.get("calls") or ()
    if not isinstance(listed, Sequence) or isinstance(listed, str):
        raise ScriptError((*path, "calls"), "'calls' must be a list", "Write one list item for each call.")
    finish = turn.get("finish_reason")
    if isinstance(finish, str):
        if finish.lower() not in _FINISH_REASONS:
            raise ScriptError(
                (*path, "finish_reason"), f"unknown finish reason {finish!r}", f"One of: {', '.join(_FINISH_REASONS)}."
            )
        finish = _FINISH_REASONS[finish.lower()]
    elif finish is not None and not isinstance(finish, FinishReason):
        raise ScriptError(
            (*path, "finish_reason"), "a finish reason is a text", f"One of: {', '.join(_FINISH_REASONS)}."
        )
    return ScriptedReply(
        _message(
            _text(turn.get("thinking"), (*path, "thinking")),
            _text(turn.get("text"), (*path, "text")),
            _calls(listed, (*path, "calls")),
        ),
        finish,
        _usage(turn.get("usage"), (*path, "usage")),
        error=_error(turn.get("error"), (*path, "error")),
    )


def _calls(items: Sequence[Any], path: ScriptPath) -> list[ToolExecutionRequest]:
    out: list[ToolExecutionRequest] = []
    for position, item in enumerate(items):
        at = (*path, position)
        if isinstance(item, ToolExecutionRequest):
            out.append(item)
            continue
        if not isinstance(item, Mapping):
            raise ScriptError(at, f"a call is a mapping, not {type(item).__name__}", "Give it a name and args.")
        only_keys(item, ("name", "args", "arguments", "id"), at)
        name = _text(item.get("name"), (*at, "name"))
        if not name:
            raise ScriptError(at, "the call has no name", "Add the tool's name as 'name'.")
        if "args" in item and "arguments" in item:
            raise ScriptError(
                at, "'args' and 'arguments' exclude each other", "Keep 'args' (a mapping) or 'arguments' (text)."
            )
        if isinstance(item.get("arguments"), Mapping):
            arguments = _arguments_text(item["arguments"], (*at, "arguments"))
        elif "arguments" in item:
            arguments = _text(item["arguments"], (*at, "arguments")) or ""
        else:
            arguments = _arguments_text(item.get("args") or {}, (*at, "args"))
        out.append(ToolExecutionRequest(_text(item.get("id"), (*at, "id")) or "", name, arguments))
    return out


def _arguments_text(values: object, path: ScriptPath) -> str:
    if not isinstance(values, Mapping):
        raise ScriptError(
            path, f"arguments are a mapping, not {type(values).__name__}", "Use 'arguments' for raw text."
        )
    try:
        return json.dumps(dict(values), ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ScriptError(
            path, f"the arguments are not JSON: {error}", "Use texts, numbers, lists and mappings."
        ) from None


def _usage(value: object, path: ScriptPath) -> TokenUsage | None:
    if value is None or isinstance(value, TokenUsage):
        return value
    if not isinstance(value, Mapping):
        raise ScriptError(path, "usage is a mapping", "For example {input: 10, output: 5}.")
    only_keys(value, tuple(_USAGE), path)
    for key, count in value.items():
        if not isinstance(count, int) or isinstance(count, bool) or count < 0:
            raise ScriptError((*path, key), f"{key!r} must be a whole number from 0", None)
    counts = {_USAGE[key]: count for key, count in value.items()}
    if "total_tokens" not in counts and {"input_tokens", "output_tokens"} <= counts.keys():
        counts["total_tokens"] = counts["input_tokens"] + counts["output_tokens"]
    return TokenUsage(**counts)


def _error(value: object, path: ScriptPath) -> BaseException | None:
    if value is None or isinstance(value, BaseException):
        return value
    if not isinstance(value, Mapping):
        raise ScriptError(
            path, "an error is a mapping", "For example {type: rate_limit, message: slow down, retry_after: 2}."
        )
    only_keys(value, ("type", "message", "status", "retry_after", "provider_code"), path)
    kind = value.get("type", "model")
    if kind not in _ERRORS:
        raise ScriptError((*path, "type"), f"unknown error type {kind!r}", f"One of: {', '.join(_ERRORS)}.")
    status, wait = value.get("status"), value.get("retry_after")
    if status is not None and (not isinstance(status, int) or isinstance(status, bool)):
        raise ScriptError((*path, "status"), "an HTTP status is a whole number", None)
    if wait is not None and (not isinstance(wait, (int, float)) or isinstance(wait, bool)):
        raise ScriptError((*path, "retry_after"), "'retry_after' is a number of seconds", None)
    return _ERRORS[kind](
        _text(value.get("message"), (*path, "message")) or f"scripted {kind} error",
        status=status,
        retry_after=wait,
        provider_code=_text(value.get("provider_code"), (*path, "provider_code")),
    )
