"""What the provider says of a failure becomes the error of our taxonomy."""

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
from agentforge.model import ChatRequest
from agentforge_anthropic.wire.errors import error_in_answer, parse_error
from plugins.anthropic.tests.support import GOOD, FakeTransport, event, model_on
from tests.support.wire_exchange import AT_ONCE

#: Every type of error that the API documents, with its status.
DOCUMENTED = [
    ("invalid_request_error", 400, InvalidRequestError, False),
    ("authentication_error", 401, AuthenticationError, False),
    ("billing_error", 402, RateLimitError, False),
    ("permission_error", 403, PermissionDeniedError, False),
    ("not_found_error", 404, NotFoundError, False),
    ("request_too_large", 413, ContextLengthError, False),
    ("rate_limit_error", 429, RateLimitError, True),
    ("api_error", 500, OverloadedError, True),
    ("timeout_error", 504, OverloadedError, True),
    ("overloaded_error", 529, OverloadedError, True),
]


def body_of(kind: str, words: str = "said so") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": words}, "request_id": "req_body"}


@pytest.mark.parametrize(("kind", "status", "error", "retryable"), DOCUMENTED)
def test_a_failed_answer_has_its_class(kind: str, status: int, error: type[ModelError], retryable: bool) -> None:
    made = parse_error(status, {"request-id": "req_header"}, json.dumps(body_of(kind)).encode())
    assert type(made) is error
    assert made.retryable is retryable
    assert (made.status, made.request_id, made.provider_code) == (status, "req_header", kind)
    assert made.message == f"status {status}: said so"


@pytest.mark.parametrize(("kind", "status", "error", "retryable"), DOCUMENTED)
def test_the_same_under_status_200_goes_by_its_type(
    kind: str, status: int, error: type[ModelError], retryable: bool
) -> None:
    made = error_in_answer(body_of(kind))
    assert type(made) is error
    assert made.retryable is retryable
    assert made.request_id == "req_body"


@pytest.mark.parametrize(
    "words",
    [
        "prompt is too long: 213462 tokens > 200000 maximum",
        "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    ],
)
def test_a_conversation_that_is_too_long_is_known_by_its_words(words: str) -> None:
    made = parse_error(400, {}, json.dumps(body_of("invalid_request_error", words)).encode())
    assert type(made) is ContextLengthError
    assert made.next_step and "trim the memory" in made.next_step


@pytest.mark.parametrize(
    ("status", "kind", "words"),
    [
        (400, "invalid_request_error", "Your credit balance is too low to access the API."),
        (402, "billing_error", "Your organization is out of credit."),
        # MiniMax, which speaks this form too.
        (500, "api_error", "insufficient balance (1008)"),
    ],
)
def test_an_empty_account_is_said_to_need_more_than_patience(status: int, kind: str, words: str) -> None:
    """Whatever the status is; in a stream as well."""
    body = body_of(kind, words)
    for made in (parse_error(status, {}, json.dumps(body).encode()), error_in_answer(body)):
        assert (type(made), made.retryable) == (RateLimitError, False)
        assert made.next_step and "billing" in made.next_step


@pytest.mark.parametrize("body", [{"type": "error"}, {"type": "error", "error": None}, {"error": "gone"}])
def test_an_error_without_words_is_an_error(body: dict[str, Any]) -> None:
    assert error_in_answer(body).message


def test_secrets_are_masked() -> None:
    made = parse_error(
        401, {}, json.dumps(body_of("authentication_error", "bad sk-12345")).encode(), secrets=Secrets(["sk-12345"])
    )
    assert "sk-12345" not in str(made)


@pytest.mark.parametrize(("kind", "status", "error", "retryable"), DOCUMENTED)
async def test_an_error_event_behind_text_has_its_class_and_the_text(
    kind: str, status: int, error: type[ModelError], retryable: bool
) -> None:
    """It is not asked again by itself, as something was shown."""
    chunks = [event("content_block_delta", index=0, delta={"type": "text_delta", "text": "so far"})]
    transport = FakeTransport([*chunks, event("error", error={"type": kind, "message": "said so"})])
    with pytest.raises(error) as caught:
        async for _ in model_on(transport, retry=AT_ONCE).stream(ChatRequest("q")):
            pass
    assert (caught.value.retryable, caught.value.details["partial_text"]) == (retryable, "so far")
    assert len(transport.requests) == 1


@pytest.mark.parametrize(("kind", "status", "error", "retryable"), DOCUMENTED)
async def test_an_error_in_the_place_of_a_plain_answer_has_its_class(
    kind: str, status: int, error: type[ModelError], retryable: bool
) -> None:
    with pytest.raises(error):
        await model_on(FakeTransport(body_of(kind)), retry=AT_ONCE).chat(ChatRequest("q"))


async def test_an_overloaded_provider_is_asked_again_and_told_apart_from_a_refusal() -> None:
    """529 is tried again, 400 is not."""
    busy = FakeTransport((529, body_of("overloaded_error")), GOOD)
    assert (await model_on(busy, retry=AT_ONCE).chat(ChatRequest("q"))).ai_message.text == "ok"
    assert len(busy.requests) == 2
    refused = FakeTransport((400, body_of("invalid_request_error")), GOOD)
    with pytest.raises(InvalidRequestError):
        await model_on(refused, retry=AT_ONCE).chat(ChatRequest("q"))
    assert len(refused.requests) == 1
