"""Errors of the Chat Completions family, in the body of a failed answer or inside one with status 200.

The core reads the usual forms; here is what only these vendors say: Azure's content filter, a call that a server
refused to hand out, kinds of error without a status, results of a gateway in a good answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ContentFilterError, InvalidRequestError, ModelError
from agentforge.http import error_from_payload, error_from_response
from agentforge.masking import Secrets

__all__ = ("error_in_answer", "holds_error", "parse_error")

_NO_HEADERS: Mapping[str, str] = {}
#: The status that a kind of error has where one is sent; a stream's status is always 200.
_STATUS_OF_KIND = {
    "invalid_request_error": 400,
    "tool_use_failed": 400,
    "invalid_value": 400,
    "overloaded": 503,
    "internal_error": 500,
    "internal_server_error": 500,
    "timeout_error": 504,
    "timeout": 504,
}


def holds_error(body: Mapping[str, object]) -> bool:
    """Whether a body or chunk of status 200 is a failure: it has an ``error``, or no choices and a failure's form."""
    if body.get("error"):
        return True
    if body.get("choices"):
        return False
    base = body.get("base_resp")
    if isinstance(base, Mapping) and base.get("status_code"):
        return True
    if body.get("object") == "error" or body.get("type") == "error":
        return True
    message = body.get("message")
    return not body.get("usage") and bool(body.get("detail") or (message and isinstance(message, str)))


def error_in_answer(
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
    partial_text: str = "",
) -> ModelError:
    """The error that a body or chunk of status 200 means; its class comes from what the body says."""
    base = body.get("base_resp")
    if not body.get("error") and isinstance(base, Mapping):
        body = {"error": {"message": base.get("status_msg"), "code": str(base.get("status_code"))}}
    inner = body.get("error")
    where = inner if isinstance(inner, Mapping) else body
    kinds = [where.get("code"), where.get("type")]
    status = None
    if not any(isinstance(kind, int) for kind in kinds):
        status = next(
            (_STATUS_OF_KIND[kind] for kind in kinds if isinstance(kind, str) and kind in _STATUS_OF_KIND), None
        )
    error = error_from_payload(body, status=status, headers=headers, secrets=secrets)
    error = _refined(error if error is not None else ModelError("the answer holds an error without any detail"))
    if partial_text:
        error.details = {**error.details, "partial_text": partial_text}
    return error


def parse_error(
    status: int, headers: Mapping[str, str], content: bytes, *, secrets: Secrets | None = None
) -> ModelError:
    """The error of a failed answer, in the taxonomy of `agentforge.errors`."""
    return _refined(error_from_response(status, headers, content, secrets=secrets))


def _refined(error: ModelError) -> ModelError:
    details = error.details
    more = details.get("innererror")
    filtered = details.get("content_filter_result")
    if filtered is None and isinstance(more, Mapping):
        filtered = more.get("content_filter_result")
    if filtered and not isinstance(error, ContentFilterError):
        error = _as(ContentFilterError, error)
    if filtered:
        error.details = {**details, "content_filter_result": filtered}
    elif error.provider_code == "tool_use_failed" or "failed_generation" in details:
        # The model, not the request, was at fault: what it made is in the details.
        if type(error) is not InvalidRequestError:
            error = _as(InvalidRequestError, error)
        error.next_step = "The model made a call that its tools do not allow; ask again, or loosen tool_choice."
    elif "must contain the word 'json'" in error.message:
        error.next_step = "Say in a message that the answer is to be JSON; JSON mode wants the word to stand there."
    elif "enable-auto-tool-choice" in error.message:
        error.next_step = (
            "Start the server with --enable-auto-tool-choice and --tool-call-parser, or use tool_mode='json_schema'."
        )
    return error


def _as(kind: type[ModelError], error: ModelError) -> ModelError:
    made = kind(
        error.message,
        status=error.status,
        request_id=error.request_id,
        provider_code=error.provider_code,
        retry_after=error.retry_after,
        details=error.details,
        location=error.location,
        next_step=error.next_step,
    )
    made.attempts = error.attempts
    return made
