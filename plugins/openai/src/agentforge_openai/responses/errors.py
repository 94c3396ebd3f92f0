"""Errors in this form: in failed answers, in responses that failed under status 200, in the ``error`` event."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.http import ErrorRule, ruled
from agentforge.masking import Secrets
from agentforge_openai.wire import errors as family

__all__ = ("error_of", "holds_error", "parse_error")

_NO_HEADERS: Mapping[str, str] = {}
_UNSAID = "the response failed and the server did not say why"
# Codes of a failed response that blame the request; the others are the server's own, or known to the core.
_OF_THE_REQUEST = ("invalid_", "image_", "empty_image", "unsupported_image", "failed_to_download_image")
_RULES = (
    ErrorRule(
        codes=("previous_response_not_found",),
        words="Previous response with id",
        next_step="The server no longer has that response: use state='replay', which sends the whole history.",
    ),
    ErrorRule(
        words="Encrypted content is not supported",
        next_step="This model does not reason: set encrypted_reasoning=False.",
    ),
    ErrorRule(
        words="Reasoning input items can only be provided",
        next_step="This model takes no reasoning of another: set encrypted_reasoning=False, which leaves it out.",
    ),
)


def holds_error(body: Mapping[str, object]) -> bool:
    """Whether a body or event of status 200 is a failure: of this form, or of a gateway that has its own."""
    if body.get("error") or body.get("status") == "failed" or body.get("type") == "error":
        return True
    return "output" not in body and family.holds_error(body)


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
    if not inner and (said.get("type") != "error" or said.get("base_resp")) and family.holds_error(said):
        return ruled(family.error_in_answer(said, headers=headers, secrets=secrets, partial_text=partial_text), _RULES)
    if isinstance(inner, str):
        inner = {"message": inner, "code": said.get("code")}
    if not isinstance(inner, Mapping):
        inner = {key: value for key, value in said.items() if key in ("code", "message", "param")}
    code = inner.get("code")
    if isinstance(code, str) and code.startswith(_OF_THE_REQUEST):
        inner = {"type": "invalid_request_error", **inner}
    inner = {**inner, "message": inner.get("message") or _UNSAID}
    error = family.error_in_answer({"error": inner}, headers=headers, secrets=secrets, partial_text=partial_text)
    return ruled(error, _RULES)


def parse_error(
    status: int, headers: Mapping[str, str], content: bytes, *, secrets: Secrets | None = None
) -> ModelError:
    """The error of a failed answer, in the taxonomy of `agentforge.errors`."""
    return ruled(family.parse_error(status, headers, content, secrets=secrets), _RULES)
