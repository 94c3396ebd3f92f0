"""Errors of this form: a text, in the body of a failed answer, or as a line of a stream under status 200.

The text alone says what went wrong. That of the program which runs the model may hold an error of its own, as JSON.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from agentforge.errors import (
    AuthenticationError,
    ContextLengthError,
    InvalidRequestError,
    ModelError,
    NotFoundError,
    OverloadedError,
    RateLimitError,
    ToolUseFailedError,
)
from agentforge.http import ErrorRule, error_from_payload, error_from_response, parse_error_payload
from agentforge.masking import Secrets

__all__ = ("error_in_answer", "holds_error", "parse_error")

_NO_HEADERS: Mapping[str, str] = {}
_MAX_READ = 1024 * 1024  # a body that is larger is not looked into
# Classes that say little: a server answers 500 to much, and a line of a stream has no status at all.
_VAGUE = (ModelError, InvalidRequestError, OverloadedError)

# What the model made of a call that the server could not read, in the text of its error.
_GENERATION = re.compile(r"raw='(.*)', err=", re.DOTALL)

_RULES = (
    ErrorRule(
        ToolUseFailedError,
        words=r"error parsing tool call|failed to parse (?:json|xml|arguments|function call|\w+ json tool call)\b"
        r"|xml syntax error on line",
        among=_VAGUE,
    ),
    ErrorRule(
        ContextLengthError,
        words=r"context (?:length|size|window)|longer than the context",
        among=_VAGUE,
        next_step="Raise num_ctx, which servers keep small, or send less: trim the memory, offer fewer tools, cap "
        "results.",
    ),
    ErrorRule(
        InvalidRequestError,
        words="does not support tools",
        among=_VAGUE,
        next_step="Take a model with tools (`ollama show NAME` lists what it can), or set tool_mode: json_schema.",
    ),
    ErrorRule(
        InvalidRequestError,
        words="does not support thinking|invalid think value",
        among=_VAGUE,
        next_step="Leave reasoning_effort unset; `ollama show NAME` lists what the model can.",
    ),
    ErrorRule(
        NotFoundError,
        words="model .{1,200} not found",
        among=(*_VAGUE, NotFoundError),
        next_step="Load it where the server runs (`ollama pull NAME`); `ollama list` shows what is there.",
    ),
    ErrorRule(
        AuthenticationError,
        words="unauthorized",
        among=(*_VAGUE, AuthenticationError),
        next_step="For Ollama's cloud set OLLAMA_API_KEY and vendor: ollama-cloud; or run `ollama signin` where the "
        "server runs.",
    ),
    ErrorRule(
        words=r"out[- ]of[- ]memory|requires more (?:system )?memory",
        next_step="The server has no room for the model: take a smaller one, or lower num_ctx.",
    ),
    ErrorRule(OverloadedError, words="server busy", among=(ModelError,)),
    ErrorRule(RateLimitError, words="rate limit|too many requests|usage limit", among=(ModelError,)),
    ErrorRule(InvalidRequestError, words="does not support", among=(ModelError,)),
)


def holds_error(body: Mapping[str, object]) -> bool:
    """Whether a body or line of status 200 is a failure."""
    return bool(body.get("error"))


def error_in_answer(
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
    partial_text: str = "",
) -> ModelError:
    """The error that a body or line of status 200 means."""
    error = error_from_payload(_opened(body), headers=headers, secrets=secrets, rules=_RULES)
    if error is None:
        error = ModelError("the answer holds an error without any detail")
    error = _with_generation(error, body, secrets)
    if partial_text:
        error.details = {**error.details, "partial_text": partial_text}
    return error


def parse_error(
    status: int, headers: Mapping[str, str], content: bytes, *, secrets: Secrets | None = None
) -> ModelError:
    """The error of a failed answer, in the taxonomy of `agentforge.errors`."""
    if b"{\\" in content and len(content) <= _MAX_READ:
        with suppress(ValueError, RecursionError):
            content = json.dumps(_opened(json.loads(content))).encode()
    error = error_from_response(status, headers, content, secrets=secrets, rules=_RULES)
    return _with_generation(error, content, secrets)


def _with_generation(error: ModelError, body: Any, secrets: Secrets | None) -> ModelError:
    """The error of a call that could not be read, with what the model had made."""
    if not isinstance(error, ToolUseFailedError):
        return error
    if isinstance(body, bytes):
        with suppress(ValueError, RecursionError):
            body = json.loads(body[:_MAX_READ])
    text = body.get("error") if isinstance(body, Mapping) else None
    if isinstance(text, str) and (found := _GENERATION.search(text)):
        made = found[1] if secrets is None else secrets.mask(found[1])
        error.details = {**error.details, "failed_generation": made}
    return error


def _opened(body: Any) -> Any:
    """The error inside of an error's text, where it holds one."""
    text = body.get("error") if isinstance(body, Mapping) else None
    if not isinstance(text, str) or text[:1] != "{":
        return body
    try:
        inner = json.loads(text)
    except (ValueError, RecursionError):
        return body
    return inner if parse_error_payload(inner) is not None else body
