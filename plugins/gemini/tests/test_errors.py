"""Failed answers of this form, in our taxonomy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    ContextLengthError,
    InvalidRequestError,
    ModelError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    RateLimitError,
)
from agentforge.masking import Secrets
from agentforge_gemini.wire.errors import parse_error

REASON = {"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": "API_KEY_INVALID"}
RETRY = {"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "31.5s"}


def said(code: int, status: str, message: str = "says no", *details: dict[str, Any]) -> dict[str, Any]:
    error: dict[str, Any] = {"code": code, "message": message, "status": status}
    return {"error": {**error, "details": list(details)} if details else error}


CASES: dict[str, tuple[int, Any, type[ModelError]]] = {
    "a key that is none": (
        400,
        said(400, "INVALID_ARGUMENT", "API key not valid. Please pass a valid API key.", REASON),
        AuthenticationError,
    ),
    "a key that expired": (
        400,
        said(400, "INVALID_ARGUMENT", "renew it", {"reason": "API_KEY_EXPIRED"}),
        AuthenticationError,
    ),
    "a token that expired": (401, said(401, "UNAUTHENTICATED"), AuthenticationError),
    "a bad request": (400, said(400, "INVALID_ARGUMENT"), InvalidRequestError),
    "a condition": (400, said(400, "FAILED_PRECONDITION"), InvalidRequestError),
    "too long": (
        400,
        said(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum number of tokens allowed (8)."),
        ContextLengthError,
    ),
    "too long, at Vertex AI": (
        400,
        said(400, "INVALID_ARGUMENT", "Cannot submit: the input token count is 9 but model only supports up to 8."),
        ContextLengthError,
    ),
    "too long, without counts": (
        400,
        said(400, "INVALID_ARGUMENT", "The input token count exceeds the maximum number of tokens allowed 8."),
        ContextLengthError,
    ),
    "no right": (403, said(403, "PERMISSION_DENIED"), PermissionDeniedError),
    "no model": (404, said(404, "NOT_FOUND"), NotFoundError),
    "too many": (429, said(429, "RESOURCE_EXHAUSTED"), RateLimitError),
    "inside": (500, said(500, "INTERNAL"), OverloadedError),
    "overloaded": (503, said(503, "UNAVAILABLE"), OverloadedError),
    "too late": (504, said(504, "DEADLINE_EXCEEDED"), OverloadedError),
    "in a list": (404, [said(404, "NOT_FOUND")], NotFoundError),
    "a key in a list": (400, [said(400, "INVALID_ARGUMENT", "no", REASON)], AuthenticationError),
}


@pytest.mark.parametrize(("status", "answer", "kind"), CASES.values(), ids=CASES)
def test_failed_answers(status: int, answer: Any, kind: type[ModelError]) -> None:
    """By status and code; the body may be a list."""
    error = parse_error(status, {}, json.dumps(answer).encode())
    assert type(error) is kind
    inner = (answer[0] if isinstance(answer, list) else answer)["error"]
    assert inner["message"] in error.message and error.status == status
    assert error.provider_code == inner["status"]


def test_the_wait_of_a_rate_limit_stands_in_its_details() -> None:
    """A header would go before."""
    content = json.dumps(said(429, "RESOURCE_EXHAUSTED", "slow down", RETRY)).encode()
    assert parse_error(429, {}, content).retry_after == 31.5
    assert parse_error(429, {"retry-after": "2"}, content).retry_after == 2


def test_a_refused_key_says_what_to_do_and_is_not_shown() -> None:
    message = "API key not valid: key-for-tests-0815"
    content = json.dumps(said(400, "INVALID_ARGUMENT", message, REASON)).encode()
    error = parse_error(400, {}, content, secrets=Secrets(["key-for-tests-0815"]))
    assert "0815" not in str(error) and "key" in str(error.next_step)
    assert not error.retryable


def test_a_page_of_a_gateway_is_shown_in_part() -> None:
    error = parse_error(502, {}, b"<html>Bad gateway</html>")
    assert type(error) is OverloadedError and "Bad gateway" in error.message
