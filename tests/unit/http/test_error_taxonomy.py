"""From a failed answer to one of our errors: statuses, bodies of all kinds, and what is never shown."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentforge.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    ModelError,
    ModelTimeoutError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    ProtocolError,
    RateLimitError,
)
from agentforge.http import error_from_payload, error_from_response, parse_error_body, unexpected_answer
from agentforge.masking import Secrets


def error(status: int, body: Any = None, headers: dict[str, str] | None = None, **options: Any) -> ModelError:
    content = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
    return error_from_response(status, headers or {}, content, **options)


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, InvalidRequestError, False),
        (401, AuthenticationError, False),
        (402, RateLimitError, False),
        (403, PermissionDeniedError, False),
        (404, NotFoundError, False),
        (405, InvalidRequestError, False),
        (408, ModelTimeoutError, True),
        (409, OverloadedError, True),
        (413, ContextLengthError, False),
        (418, InvalidRequestError, False),
        (422, InvalidRequestError, False),
        (429, RateLimitError, True),
        (500, OverloadedError, True),
        (502, OverloadedError, True),
        (503, OverloadedError, True),
        (504, OverloadedError, True),
        (529, OverloadedError, True),
        (302, ProtocolError, False),
        (100, ModelError, False),
    ],
)
def test_the_status_decides(status: int, kind: type[ModelError], retryable: bool) -> None:
    """Also over an empty body."""
    made = error(status)
    assert type(made) is kind
    assert (made.status, made.retryable) == (status, retryable)


@pytest.mark.parametrize(
    ("status", "code", "kind", "retryable"),
    [
        (400, "context_length_exceeded", ContextLengthError, False),
        (500, "context_length_exceeded", ContextLengthError, False),
        (400, "content_filter", ContentFilterError, False),
        (400, "invalid_api_key", AuthenticationError, False),
        (400, "model_not_found", NotFoundError, False),
        (429, "insufficient_quota", RateLimitError, False),
        (500, "insufficient_balance", RateLimitError, False),
        (413, "rate_limit_exceeded", ContextLengthError, False),
        (404, "api_error", NotFoundError, False),
        (403, "invalid_api_key", PermissionDeniedError, False),
        (503, "rate_limit_exceeded", OverloadedError, True),
    ],
)
def test_a_known_code_decides_over_a_vague_status(
    status: int, code: str, kind: type[ModelError], retryable: bool
) -> None:
    """And never over a clear one."""
    made = error(status, {"error": {"message": "no", "code": code}})
    assert type(made) is kind
    assert (made.provider_code, made.retryable) == (code, retryable)


@pytest.mark.parametrize(
    ("body", "message", "code"),
    [
        pytest.param({"error": {"message": "M", "type": "T", "code": "C", "param": None}}, "M", "C", id="an object"),
        pytest.param({"error": {"message": "M", "type": "T", "code": None}}, "M", "T", id="a type and no code"),
        pytest.param({"error": {"code": 400, "message": "M", "status": "S"}}, "M", "S", id="a number and a status"),
        pytest.param({"error": {"code": "404", "message": "M"}}, "M", "404", id="digits as text"),
        pytest.param({"error": {"code": 503, "message": "M"}}, "M", "503", id="a number"),
        pytest.param({"type": "error", "error": {"type": "T", "message": "M"}}, "M", "T", id="typed twice"),
        pytest.param({"code": "C", "error": "M"}, "M", "C", id="a text beside a code"),
        pytest.param({"error": "M"}, "M", None, id="a text"),
        pytest.param({"error": [{"error": {"message": "M"}}]}, "M", None, id="a list inside"),
        pytest.param([{"error": {"message": "M", "code": 400, "status": "S"}}], "M", "S", id="a list around"),
        pytest.param({"detail": "M"}, "M", None, id="a detail"),
        pytest.param({"detail": {"message": "M"}}, "M", None, id="a detail that is an object"),
        pytest.param(
            {"detail": [{"loc": ["body", "tools", 0], "msg": "M"}, {"msg": "N"}, "O", 1]},
            "body.tools.0: M; N; O; 1",
            None,
            id="details",
        ),
        pytest.param(
            {"object": "error", "message": "M", "type": "T", "code": 400}, "M", "T", id="a message at the top"
        ),
        pytest.param({"id": "i", "message": "M"}, "M", None, id="only a message"),
        pytest.param({"error_type": "T", "message": "M"}, "M", "T", id="an error type"),
        pytest.param(
            {"error": {"message": {"reason": "M"}}}, '{"reason": "M"}', None, id="a message that is an object"
        ),
        pytest.param({"message": {"detail": [{"loc": ["body"], "msg": "M"}]}}, "body: M", None, id="details in it"),
        pytest.param({"statusCode": 400, "message": "M"}, "M", None, id="a status beside a message"),
        pytest.param(
            {"error": {"message": "O", "code": 400, "metadata": {"raw": '{"error": "M"}', "provider_name": "P"}}},
            "O (P): M",
            "400",
            id="another's error in JSON",
        ),
        pytest.param({"error": {"message": "O", "metadata": {"raw": "M"}}}, "O: M", None, id="another's words"),
        pytest.param(
            {"error": {"message": "O", "metadata": {"raw": {"detail": "M"}}}}, "O: M", None, id="another's object"
        ),
        pytest.param({"error": {"message": "O: M", "metadata": {"raw": "M"}}}, "O: M", None, id="words said already"),
        pytest.param({"error": {"metadata": {"raw": "M"}}}, "M", None, id="nothing but another's words"),
        pytest.param(
            {"error": {"message": "O", "metadata": {"raw": "[" * 5000}}}, "O: " + "[" * 1996 + "…", None, id="deep"
        ),
        pytest.param({"error": {}}, "the endpoint gave no message", None, id="an empty object"),
        pytest.param(b"", "the body is empty", None, id="empty"),
        pytest.param(b" \n ", "the body is empty", None, id="blank"),
        pytest.param(b"<html>\n<h1>Bad\tgateway</h1>", "<html> <h1>Bad gateway</h1>", None, id="a page"),
        pytest.param(b'{"cut', '{"cut', None, id="JSON that is cut"),
        pytest.param(b"[" * 5000, "[" * 199 + "…", None, id="JSON that is too deep"),
        pytest.param(b'"text"', '"text"', None, id="JSON that is a text"),
        pytest.param(b"\xff\xfe", "\ufffd\ufffd", None, id="bytes"),
        pytest.param([1, {"a": 1}], '[1, {"a": 1}]', None, id="a list without an error"),
    ],
)
def test_bodies_of_all_kinds(body: Any, message: str, code: str | None) -> None:
    """The provider's words and code are found wherever they stand; a body that is not understood is shown."""
    made = error(400, body)
    assert made.message == f"status 400: {message}"
    assert made.provider_code == code


def test_a_body_that_is_not_understood_is_shown_in_part() -> None:
    """F14: its first 200 characters, on one line."""
    made = error(502, b"<p>\n" * 1000)
    assert made.message == "status 502: " + ("<p> " * 50)[:199] + "…"


@pytest.mark.parametrize(
    ("headers", "body", "found"),
    [
        ({"x-request-id": "r1", "request-id": "r2"}, None, "r1"),
        ({"request-id": "r2"}, None, "r2"),
        ({"apim-request-id": "r3"}, None, "r3"),
        ({}, {"error": {"message": "M"}, "request_id": "r4"}, "r4"),
        ({}, {"id": "r5", "message": "M"}, "r5"),
        ({}, {"id": "no", "error": {"message": "M"}}, None),
        ({"x-request-id": "a\nb\x1b"}, None, "a b\\x1b"),
        ({}, None, None),
    ],
)
def test_the_providers_id_of_the_request(headers: dict[str, str], body: Any, found: str | None) -> None:
    """From the headers that are in use for it, else from the body."""
    assert error(500, body, headers).request_id == found


def test_details_are_kept() -> None:
    """What may be fed back to the model, or explains a filter, comes along, masked."""
    filtered = {"content_filter_result": {"violence": {"filtered": True}}}
    body = {
        "message": "M",
        "failed_generation": '<f>{"a": "canary-key"}',
        "param": "p",
        "innererror": filtered,
        "metadata": {"password": {"v": "canary"}, "api_key": "canary", "max_tokens": 5, "secret": None},
        "x": [1],
    }
    shown = {"password": "***", "api_key": "***", "max_tokens": 5, "secret": None}
    made = error(400, {"error": body}, secrets=Secrets(["canary-key"]))
    assert made.details == {
        "failed_generation": '<f>{"a": "***"}',
        "param": "p",
        "innererror": filtered,
        "metadata": shown,
    }


def test_the_wait_comes_from_the_headers() -> None:
    """Counted from the given moment."""
    made = error(429, None, {"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, now=90.0)
    assert made.retry_after == 10.0


@pytest.mark.parametrize(
    ("details", "wait"),
    [
        ([{"@type": "info"}, {"retryDelay": "31s"}], 31.0),
        ([{"retryDelay": "0.5s"}], 0.5),
        ([{"retryDelay": "0s"}], None),
        ([{"retryDelay": "soon"}], None),
        ([{"retryDelay": 3}], None),
        ("31s", None),
        ([7], None),
    ],
)
def test_the_wait_may_stand_in_the_body(details: Any, wait: float | None) -> None:
    """And a header goes before it."""
    body = {"error": {"message": "M", "code": 429, "details": details}}
    assert error(429, body).retry_after == wait
    inside = error_from_payload(body)
    assert inside is not None and inside.retry_after == wait
    assert error(429, body, {"retry-after": "2"}).retry_after == 2.0


def test_errors_that_quote_each_other_are_read_only_so_far() -> None:
    body: dict[str, Any] = {"error": {"message": "the innermost"}}
    for depth in range(9):
        body = {"error": {"message": f"m{depth}", "metadata": {"raw": json.dumps(body)}}}
    assert error(400, body).message == "status 400: m8: m7: m6: m5"


def test_the_next_step() -> None:
    """What to do is said where it is known; a quota is not a matter of waiting."""
    assert "API key" in (error(401).next_step or "")
    assert "plan and billing" in (error(429, {"error": {"code": "insufficient_quota", "message": "M"}}).next_step or "")


def test_a_hint_begins_the_message() -> None:
    """The name that a provider's plugin gives."""
    assert error(500, vendor_hint="acme").message == "acme: status 500: the body is empty"
    assert error(301, vendor_hint="acme").message.startswith("acme: status 301")


@pytest.mark.parametrize(
    ("location", "shown"),
    [
        ("https://user:canary-key@login.test/a?token=canary-key", "to 'login.test'"),
        ("/login?token=canary-key", "to another path"),
        ("", "without a location"),
    ],
)
def test_a_redirect_names_the_host_only(location: str, shown: str) -> None:
    """Its path and query may hold the request."""
    made = error(302, b"<a href='canary-key'>", {"location": location})
    assert isinstance(made, ProtocolError)
    assert shown in made.message
    assert "canary-key" not in str(made)


@pytest.mark.parametrize(
    "body",
    [
        {"error": {"message": "Incorrect API key provided: canary-key", "code": "canary-key", "param": "canary-key"}},
        {"detail": "canary-key"},
        {"error": {"message": "M", "metadata": {"raw": ["canary-key"], "n": 1}}, "request_id": "canary-key"},
        {"message": '{"password": "canary-other"}'},
        {"error": {"message": "M", "metadata": {"canary-key": {"canary-key": 1}}}},
        b"<html>canary-key",
        b"x" * 190 + b"canary-key",
    ],
)
def test_no_secret_is_shown(body: Any) -> None:
    """S9, F12: registered values are masked whole before anything is cut, and so is what is named like a credential."""
    made = error(401, body, secrets=Secrets(["canary-key"]))
    assert "canary" not in f"{made} {made!r} {made.details} {made.request_id} {made.provider_code}"


@pytest.mark.parametrize(
    ("payload", "kind"),
    [
        ({"error": {"message": "queue is full", "type": "overloaded", "code": 503}}, OverloadedError),
        ({"error": {"message": "M", "code": "429"}}, RateLimitError),
        ({"error": {"message": "M", "code": 401, "metadata": {}}}, AuthenticationError),
        ({"type": "error", "error": {"type": "overloaded_error", "message": "M"}}, OverloadedError),
        ({"error": {"message": "M", "code": "context_length_exceeded"}}, ContextLengthError),
        ([{"error": {"code": 400, "message": "M", "status": "INVALID_ARGUMENT"}}], InvalidRequestError),
        ({"error": "M"}, ModelError),
        ({"error": {"message": "M", "http_code": "429"}}, RateLimitError),
        ({"statusCode": 401, "message": "M"}, AuthenticationError),
        (
            {"error": {"message": "M", "type": "authentication_error", "code": "invalid_request_error"}},
            AuthenticationError,
        ),
        ({"error": {"message": "M", "type": "server_error", "code": None}}, OverloadedError),
        ({"error": {"message": "M", "type": "billing_error"}}, RateLimitError),
    ],
)
def test_an_error_under_a_good_status(payload: Any, kind: type[ModelError]) -> None:
    """Streams and gateways send errors in the body; a code that is a status stands for it."""
    assert type(error_from_payload(payload)) is kind


@pytest.mark.parametrize(
    "payload", [{"choices": []}, {"error": None, "choices": []}, {"message": {"role": "a"}}, [], "a", 1, None]
)
def test_an_answer_is_no_error(payload: Any) -> None:
    """What carries none gives none."""
    assert error_from_payload(payload) is None


def test_an_answer_that_is_not_json() -> None:
    """F14: HTML under 200 says what it is, where it may come from, and shows its beginning, masked."""
    page = b"<html>Sign in, canary-key</html>"
    made = unexpected_answer(
        200, {"content-type": "text/html", "x-request-id": "r"}, page, secrets=Secrets(["canary-key"])
    )
    assert made.message == "the answer is not JSON (status 200, text/html): <html>Sign in, ***</html>"
    assert (made.status, made.request_id) == (200, "r")
    assert "base_url" in (made.next_step or "")


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "error",
                    "message",
                    "detail",
                    "code",
                    "type",
                    "loc",
                    "msg",
                    "metadata",
                    "raw",
                    "details",
                    "retryDelay",
                    "id",
                ]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(st.one_of(st.binary(max_size=100), JSON.map(lambda value: json.dumps(value).encode())), st.integers(100, 999))
def test_no_body_breaks_the_parser(content: bytes, status: int) -> None:
    """Whatever comes, the result is one error on one line."""
    made = error_from_response(status, {}, content)
    assert made.message.isprintable()
    parse_error_body(content)
