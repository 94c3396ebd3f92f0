"""What an endpoint may be told to do with a request: answer as scripted, answer with raw bytes, or fail on the wire."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from agentforge import errors
from agentforge.model.messages import AiMessage
from agentforge.model.script import ScriptedReply, ScriptError, ScriptPath, Turn, only_keys, read_turn

__all__ = ("EndpointReply", "EndpointTurn", "error_object", "read_endpoint_turn")

EndpointTurn: TypeAlias = "Turn | EndpointReply"
"""A turn of a script, or a mapping with the wire's own keys; see `read_endpoint_turn`."""

_REPLY_KEYS = ("text", "thinking", "calls", "finish_reason", "usage", "error")
_RAW_KEYS = ("status", "headers", "body")
_FAULT_KEYS = ("disconnect", "stall", "disconnect_after", "truncate_after", "stall_after")
# The status that stands for an error of the taxonomy which names none.
_STATUS: Mapping[type[errors.ModelError], int] = {
    errors.AuthenticationError: 401,
    errors.PermissionDeniedError: 403,
    errors.NotFoundError: 404,
    errors.InvalidRequestError: 400,
    errors.ContextLengthError: 400,
    errors.ContentFilterError: 400,
    errors.RateLimitError: 429,
    errors.OverloadedError: 503,
    errors.ModelTimeoutError: 504,
    errors.ModelError: 500,
}
_CODE: Mapping[type[errors.ModelError], str] = {
    errors.ContextLengthError: "context_length_exceeded",
    errors.ContentFilterError: "content_filter",
    errors.ToolUseFailedError: "tool_use_failed",
}


@dataclass(frozen=True, slots=True)
class EndpointReply:
    """One turn of an endpoint in its normal form: a ``reply`` of the model, or ``status``, ``headers`` and ``body``.

    ``disconnect`` resets the connection and ``stall`` waits before a single byte; the three ``..._after`` do so, or end
    the stream in silence (``truncate_after``), after that many events of a streamed reply.
    """

    reply: ScriptedReply | None = None
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    body: object = None
    disconnect: bool = False
    stall: bool = False
    disconnect_after: int | None = None
    truncate_after: int | None = None
    stall_after: int | None = None

    @property
    def breaks_after(self) -> int | None:
        """After how many events of a stream the fault comes; ``None`` for a stream that ends well."""
        found = [n for n in (self.disconnect_after, self.truncate_after, self.stall_after) if n is not None]
        return found[0] if found else None


def read_endpoint_turn(turn: EndpointTurn, path: ScriptPath = ()) -> EndpointReply | Callable[[Any], Any]:
    """One turn in its normal form. Beyond what `agentforge.model.script.read_turn` takes, a mapping may have:

    ``status``, ``headers`` and ``body`` (an object for JSON, or text) for an answer that is no reply of a model;
    ``disconnect: true`` or ``stall: true``; and beside a reply ``disconnect_after``, ``truncate_after`` or
    ``stall_after`` with a number of stream events. An error of the taxonomy becomes the status and body that stand for
    it. Raises `ConfigurationError`.
    """
    if isinstance(turn, EndpointReply):
        return turn
    if isinstance(turn, Mapping):
        return _mapping(turn, path)
    read = read_turn(turn, path)
    return _reply(read, path) if isinstance(read, ScriptedReply) else read


def _mapping(turn: Mapping[Any, Any], path: ScriptPath) -> EndpointReply:
    only_keys(turn, (*_REPLY_KEYS, *_RAW_KEYS, *_FAULT_KEYS), path)
    spoken = {key: value for key, value in turn.items() if key in _REPLY_KEYS}
    raw = {key: value for key, value in turn.items() if key in _RAW_KEYS}
    faults = {key: value for key, value in turn.items() if key in _FAULT_KEYS}
    if spoken and raw:
        raise ScriptError(path, "a reply and a raw answer exclude each other", f"Keep {min(spoken)!r} or {min(raw)!r}.")
    if len(faults) > 1:
        raise ScriptError(path, f"{' and '.join(map(repr, faults))} exclude each other", "Keep one of them.")
    for key, value in faults.items():
        _check_fault((*path, key), key, value, has_reply=bool(spoken))
    if raw:
        return replace(_raw(raw, path), **faults)
    if spoken or not faults:
        reply = read_turn(spoken, path)
        assert isinstance(reply, ScriptedReply)
        return replace(_reply(reply, path), **faults)
    return EndpointReply(**faults)


def _check_fault(path: ScriptPath, key: str, value: object, *, has_reply: bool) -> None:
    if key in ("disconnect", "stall"):
        if value is not True:
            raise ScriptError(path, f"{key!r} is true or left out")
    elif not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ScriptError(path, f"{key!r} is a number of stream events from 0")
    elif not has_reply:
        raise ScriptError(path, f"{key!r} needs a reply to break", "Add a text or calls to the turn.")


def _raw(turn: Mapping[str, Any], path: ScriptPath) -> EndpointReply:
    status, headers, body = turn.get("status", 200), turn.get("headers") or {}, turn.get("body")
    if not isinstance(status, int) or isinstance(status, bool) or not 200 <= status <= 599:
        raise ScriptError((*path, "status"), "an HTTP status is a number from 200 to 599")
    if not isinstance(headers, Mapping) or any("\n" in f"{name}{value}" for name, value in headers.items()):
        raise ScriptError((*path, "headers"), "headers are a mapping of one-line texts")
    return EndpointReply(status=status, headers={str(k).lower(): str(v) for k, v in headers.items()}, body=body)


def _reply(reply: ScriptedReply, path: ScriptPath) -> EndpointReply:
    error = reply.error
    if error is None or reply.message != AiMessage():
        if error is not None and not isinstance(error, errors.ModelError):
            raise _no_wire_form(error, path)
        return EndpointReply(reply)
    if isinstance(error, errors.ModelConnectionError):
        return EndpointReply(disconnect=True)
    if isinstance(error, errors.ProtocolError):
        return EndpointReply(headers={"content-type": "text/html"}, body="<html>not a reply</html>")
    if not isinstance(error, errors.ModelError):
        raise _no_wire_form(error, path)
    status = error.status
    if status is None:
        status = next((_STATUS[kind] for kind in type(error).__mro__ if kind in _STATUS), 500)
    headers = {} if error.retry_after is None else {"retry-after": f"{error.retry_after:g}"}
    return EndpointReply(status=status, headers=headers, body={"error": error_object(error)})


def error_object(error: errors.ModelError) -> dict[str, object]:
    """The error as the wire's ``error`` object."""
    code = error.provider_code
    if code is None:
        code = next((_CODE[kind] for kind in type(error).__mro__ if kind in _CODE), None)
    made: dict[str, object] = {"message": error.message, "type": "scripted_error", "param": None, "code": code}
    if isinstance(error, errors.ToolUseFailedError):
        made["failed_generation"] = error.failed_generation
    return made


def _no_wire_form(error: BaseException, path: ScriptPath) -> ScriptError:
    return ScriptError(
        path,
        f"{type(error).__name__} has no form on the wire",
        "Give an error of the model's taxonomy, or status, headers and body.",
    )
