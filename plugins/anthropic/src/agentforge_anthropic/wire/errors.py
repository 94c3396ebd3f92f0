"""Errors of the Messages form, in the body of a failed answer, or as an event under status 200.

In a stream the status is always 200, so the error's ``type`` decides; it has the status here that it has elsewhere.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.http import error_from_payload, error_from_response
from agentforge.masking import Secrets

__all__ = ("error_in_answer", "holds_error", "parse_error")

_NO_HEADERS: Mapping[str, str] = {}
_STATUS_OF_TYPE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}


def holds_error(body: Mapping[str, object]) -> bool:
    """Whether a body or event of status 200 is a failure."""
    return body.get("type") == "error" or bool(body.get("error"))


def error_in_answer(
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
    partial_text: str = "",
) -> ModelError:
    """The error that a body or event of status 200 means."""
    inner = body.get("error")
    kind = inner.get("type") if isinstance(inner, Mapping) else None
    status = _STATUS_OF_TYPE.get(kind) if isinstance(kind, str) else None
    error = error_from_payload(body, status=status, headers=headers, secrets=secrets)
    error = error if error is not None else ModelError("the answer holds an error without any detail")
    if partial_text:
        error.details = {**error.details, "partial_text": partial_text}
    return error


def parse_error(
    status: int, headers: Mapping[str, str], content: bytes, *, secrets: Secrets | None = None
) -> ModelError:
    """The error of a failed answer, in the taxonomy of `agentforge.errors`."""
    return error_from_response(status, headers, content, secrets=secrets)
