"""Errors in this form: in failed answers, in responses that failed under status 200, in the ``error`` event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.masking import Secrets
from agentforge_openai.wire import errors as family

__all__ = ("error_of", "parse_error")

_NO_HEADERS: Mapping[str, str] = {}
_UNSAID = "the response failed and the server did not say why"
# Codes of a failed response that blame the request; the others are the server's own, or known to the core.
_OF_THE_REQUEST = ("invalid_", "image_", "empty_image", "unsupported_image", "failed_to_download_image")
_NEXT_STEPS = (
    (
        ("previous_response_not_found", "Previous response with id"),
        "The server no longer has that response: use state='replay', which sends the whole history.",
    ),
    (
        ("Encrypted content is not supported",),
        "This model does not reason: set encrypted_reasoning=False.",
    ),
    (
        ("Reasoning input items can only be provided",),
        "This model takes no reasoning of another: set encrypted_reasoning=False, which leaves it out.",
    ),
)


def error_of(
    said: Mapping[str, Any],
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
    partial_text: str = "",
) -> ModelError:
    """The error that a failed response, or an ``error`` event, means; its class comes from the code.

    >>> type(error_of({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"})).__name__
    'RateLimitError'
    """
    inner = said.get("error")
    if isinstance(inner, str):
        inner = {"message": inner, "code": said.get("code")}
    if not isinstance(inner, Mapping):
        inner = {key: value for key, value in said.items() if key in ("code", "message", "param")}
    code = inner.get("code")
    if isinstance(code, str) and code.startswith(_OF_THE_REQUEST):
        inner = {"type": "invalid_request_error", **inner}
    inner = {**inner, "message": inner.get("message") or _UNSAID}
    return _refined(
        family.error_in_answer({"error": inner}, headers=headers, secrets=secrets, partial_text=partial_text)
    )


def parse_error(
    status: int, headers: Mapping[str, str], content: bytes, *, secrets: Secrets | None = None
) -> ModelError:
    """The error of a failed answer, in the taxonomy of `agentforge.errors`."""
    return _refined(family.parse_error(status, headers, content, secrets=secrets))


def _refined(error: ModelError) -> ModelError:
    text = f"{error.provider_code} {error.message}"
    for signs, step in _NEXT_STEPS:
        if any(sign in text for sign in signs):
            error.next_step = step
    return error
