"""Errors of this form, in the body of a failed answer (which may be a list), or in an event under status 200."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentforge.errors import AuthenticationError, ContextLengthError, InvalidRequestError, ModelError
from agentforge.http import error_from_payload, error_from_response, reclassed
from agentforge.masking import Secrets

__all__ = ("error_in_answer", "holds_error", "parse_error")

_NO_HEADERS: Mapping[str, str] = {}
#: What the vendor says of a prompt that is too long, beside what every vendor says.
_TOO_LONG = re.compile(r"input token count (?:is \d+ but|exceeds)", re.IGNORECASE)
#: Reasons in the details of an error that say that the key is at fault; the status of these is 400 or 403.
_BAD_KEY = frozenset({"API_KEY_INVALID", "API_KEY_EXPIRED", "ACCESS_TOKEN_EXPIRED", "CREDENTIALS_MISSING"})


def holds_error(body: Mapping[str, object]) -> bool:
    """Whether a body or event of status 200 is a failure."""
    return bool(body.get("error"))


def error_in_answer(
    body: object,
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
    partial_text: str = "",
) -> ModelError:
    """The error that a body or event of status 200 means; its own code stands for the status."""
    error = error_from_payload(body, headers=headers, secrets=secrets)
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
    if type(error) is InvalidRequestError and _TOO_LONG.search(error.message):
        return reclassed(error, ContextLengthError)
    if isinstance(error, AuthenticationError) or _BAD_KEY.isdisjoint(_reasons(error.details.get("details"))):
        return error
    return reclassed(error, AuthenticationError)


def _reasons(details: Any) -> set[str]:
    found = [each.get("reason") for each in details if isinstance(each, Mapping)] if isinstance(details, list) else []
    return {reason for reason in found if isinstance(reason, str)}
