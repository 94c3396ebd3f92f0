"""Errors of the Chat Completions family, in the body of a failed answer or inside one with status 200.

The core reads the usual forms; here is what only these vendors have: results of a gateway in a good answer, what a
content filter found, and `agentforge_openai.wire.error_rules`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentforge.errors import ContentFilterError, ModelError, PermissionDeniedError
from agentforge.http import error_from_payload, error_from_response, reclassed
from agentforge.masking import Secrets
from agentforge_openai.wire.error_rules import BASE_RESP, RULES

__all__ = ("error_in_answer", "holds_error", "parse_error")

_NO_HEADERS: Mapping[str, str] = {}
# What a moderation in front of the model says of the prompt that it held back.
_FLAGGED = ("flagged_input", "reasons")


def holds_error(body: Mapping[str, object]) -> bool:
    """Whether a body or chunk of status 200 is a failure: it has an ``error``, or no choices and a failure's form."""
    if body.get("error"):
        return True
    if body.get("choices"):
        return False
    if _base_resp(body) is not None:
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
    error = error_from_payload(_usual_form(body), headers=headers, secrets=secrets, rules=RULES)
    error = _with_filter(error if error is not None else ModelError("the answer holds an error without any detail"))
    if partial_text:
        error.details = {**error.details, "partial_text": partial_text}
    return error


def parse_error(
    status: int, headers: Mapping[str, str], content: bytes, *, secrets: Secrets | None = None
) -> ModelError:
    """The error of a failed answer, in the taxonomy of `agentforge.errors`."""
    if b'"base_resp"' in content:
        content = _without_base_resp(content)
    return _with_filter(error_from_response(status, headers, content, secrets=secrets, rules=RULES))


def _base_resp(body: Mapping[str, object]) -> Mapping[str, object] | None:
    base = body.get("base_resp")
    return base if isinstance(base, Mapping) and base.get("status_code") else None


def _usual_form(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """The body; the result of a call in ``base_resp`` as an error object."""
    base = _base_resp(body)
    if base is None or body.get("error"):
        return body
    code = base["status_code"]
    number = int(code) if isinstance(code, int | str) and str(code).isdecimal() else 0
    status, kind = BASE_RESP.get(number, (None, None))
    words = str(base.get("status_msg") or "")
    # Often the code stands in the words already.
    said = words if str(code) in words else f"{words} ({code})".strip()
    error = {"message": said, "code": None if status is None else status, "type": kind or str(code)}
    return {"error": error, "request_id": body.get("request_id") or body.get("id")}


def _without_base_resp(content: bytes) -> bytes:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        return content
    return json.dumps(_usual_form(body)).encode() if isinstance(body, dict) else content


def _with_filter(error: ModelError) -> ModelError:
    """The error; that of a content filter with what it found."""
    details = error.details
    more, flagged = details.get("innererror"), details.get("metadata")
    found = details.get("content_filter_result")
    if found is None and isinstance(more, Mapping):
        found = more.get("content_filter_result")
    if found is None and isinstance(flagged, Mapping) and type(error) in (PermissionDeniedError, ContentFilterError):
        found = {name: flagged[name] for name in _FLAGGED if flagged.get(name)}
    if not found:
        return error
    if not isinstance(error, ContentFilterError):
        error = reclassed(error, ContentFilterError)
    error.details = {**details, "content_filter_result": found}
    return error
