"""What the server says of a failure becomes the error of our taxonomy, with what to do about it."""

from __future__ import annotations

import json

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
    ToolUseFailedError,
)
from agentforge.masking import Secrets
from agentforge_ollama.wire.errors import error_in_answer, parse_error

#: Texts of the server's code with their status; what each becomes, whether it is tried again, a word of its next step.
SAID = [
    (400, "missing request body", InvalidRequestError, False, None),
    (400, "registry.example/library/phi:latest does not support tools", InvalidRequestError, False, "json_schema"),
    (400, '"phi" does not support thinking', InvalidRequestError, False, "reasoning_effort"),
    (400, 'invalid think value: "minimal" (must be "high", "medium", "low")', InvalidRequestError, False, "reasoning"),
    (
        400,
        "the prompt is longer than the context length currently available to the model; shorten the prompt",
        ContextLengthError,
        False,
        "num_ctx",
    ),
    (400, "the input length exceeds the context length", ContextLengthError, False, "num_ctx"),
    (
        400,
        '{"error":{"code":400,"message":"request (302 tokens) exceeds the available context size (256 tokens), '
        'try increasing it","type":"exceed_context_size_error"}}',
        ContextLengthError,
        False,
        "num_ctx",
    ),
    (500, "input exceeds maximum context length and cannot be truncated further", ContextLengthError, False, "num_ctx"),
    (401, "unauthorized", AuthenticationError, False, "OLLAMA_API_KEY"),
    (403, "remote inference is unavailable", PermissionDeniedError, False, None),
    (404, "model 'phi' not found", NotFoundError, False, "ollama pull"),
    (404, 'model "phi" not found, try pulling it first', NotFoundError, False, "ollama pull"),
    (429, "you have reached your usage limit", RateLimitError, True, None),
    (500, "model requires more system memory (9.0 GiB) than is available (4.0 GiB)", OverloadedError, True, "num_ctx"),
    (500, "llama-server reported out-of-memory during startup: cudaMalloc", OverloadedError, True, "smaller"),
    (500, "error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input", ToolUseFailedError, False, None),
    (500, "failed to parse JSON: unexpected end of JSON input", ToolUseFailedError, False, None),
    (500, "failed to parse XML: XML syntax error on line 1", ToolUseFailedError, False, None),
    (502, "upstream is away", OverloadedError, True, None),
    (503, "server busy, please try again.  maximum pending requests exceeded", OverloadedError, True, None),
]


@pytest.mark.parametrize(("status", "text", "kind", "retryable", "step"), SAID)
def test_a_failed_answer_has_its_class(
    status: int, text: str, kind: type[ModelError], retryable: bool, step: str | None
) -> None:
    made = parse_error(status, {}, json.dumps({"error": text}).encode())
    assert type(made) is kind
    assert (made.status, made.retryable) == (status, retryable)
    assert step is None or step in (made.next_step or "")


def test_the_error_inside_of_an_error_is_what_is_told() -> None:
    inner = json.dumps({"error": {"message": "request (302 tokens) exceeds the available context size"}})
    made = parse_error(400, {}, json.dumps({"error": inner}).encode())
    assert made.message == "status 400: request (302 tokens) exceeds the available context size"


@pytest.mark.parametrize("text", ["{broken", "{}", '{"a": 1}'])
def test_what_only_looks_like_one_is_told_as_it_is(text: str) -> None:
    for made in (parse_error(400, {}, json.dumps({"error": text}).encode()), error_in_answer({"error": text})):
        assert text in made.message


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("unauthorized", AuthenticationError),
        ("model 'phi' not found", NotFoundError),
        ("server busy, please try again", OverloadedError),
        ("rate limit exceeded", RateLimitError),
        ('"phi" does not support thinking', InvalidRequestError),
        ("the input length exceeds the context length", ContextLengthError),
        ("an error was encountered while running the model: unexpected EOF", ModelError),
    ],
)
def test_without_a_status_the_words_decide(text: str, kind: type[ModelError]) -> None:
    """As in a line of a stream, whose status is 200."""
    assert type(error_in_answer({"error": text})) is kind


@pytest.mark.parametrize("content", [b"<html>gateway</html>", b"", b'{"error": {"\\"'])
def test_bodies_of_gateways_are_errors_too(content: bytes) -> None:
    assert type(parse_error(502, {}, content)) is OverloadedError


def test_a_key_in_an_error_is_masked() -> None:
    secrets = Secrets(["key-for-tests"])
    body = {"error": "bad key key-for-tests"}
    for made in (
        parse_error(401, {}, json.dumps(body).encode(), secrets=secrets),
        error_in_answer(body, secrets=secrets),
    ):
        assert "key-for-tests" not in str(made)


def test_a_call_that_the_server_could_not_read_is_there_to_be_told() -> None:
    """In a plain answer and in a line, whatever words stand in it, and masked."""
    text = 'error parsing tool call: raw=\'{"note": "unauthorized, key-for-tests\\n\', err=unexpected end'
    body, secrets = {"error": text}, Secrets(["key-for-tests"])
    for made in (
        parse_error(500, {}, json.dumps(body).encode(), secrets=secrets),
        error_in_answer(body, secrets=secrets, partial_text="so far"),
    ):
        assert isinstance(made, ToolUseFailedError)
        assert made.failed_generation == '{"note": "unauthorized, ***\\n'
    unsaid = error_in_answer({"error": "failed to parse JSON: cut"}, partial_text="so far")
    assert isinstance(unsaid, ToolUseFailedError) and unsaid.failed_generation == "so far"
