"""Rules: what codes and words say where a status does not, and words that must not be taken for them."""

from __future__ import annotations

import re

import pytest

from agentforge.errors import (
    AuthenticationError,
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    ModelError,
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    RateLimitError,
)
from agentforge.http import ErrorRule, error_from_payload, error_from_response, reclassed, ruled

TOO_LONG = [
    "This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    "prompt is too long: 213462 tokens > 200000 maximum",
    "input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000",
    "The input token count (1196265) exceeds the maximum number of tokens allowed (1048575).",
    "The input token count exceeds the maximum number of tokens allowed (1048576).",
    "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
    "Please reduce the length of the messages or completion.",
    "Input length 300000 exceeds the maximum allowed input length of 262144 tokens.",
    "The input (140000 tokens) is longer than the model's context length (131072 tokens).",
    "the request exceeds the available context size, try increasing it",
    "tokens to keep from the initial prompt is greater than the context length",
    "invalid params, context window exceeds limit",
    "Invalid request: Your request exceeded model token limit: 262144 (requested: 300000)",
    "Prompt contains 140000 tokens and 0 draft tokens, too large for model with 131072 maximum context length",
    "Prompt has 70000 tokens, but the configured context size is 65536 tokens",
    "Range of input length should be [1, 129024]",
    "context_length_exceeded: no room",
    "prompt too long; exceeded max context length by 500 tokens",
    "However, the model's context length is only 4096 tokens",
    "Input is too long for requested model.",
    "too many tokens: size limit exceeded by 12 tokens",
    "`inputs` tokens + `max_new_tokens` must be <= 4097. Given: 5000 `inputs` tokens",
    "Prompt exceeds max length",
]
NOT_TOO_LONG = [
    "max_tokens is too large: 100000. This model supports at most 16384 completion tokens",
    "max_tokens must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the "
    "`context_window` for this model",
    "Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024",
    "Invalid 'user': string is too long",
    "The maximum number of tools is 128",
    "context is required",
    "You passed too many tokens of type 'stop'",
]


@pytest.mark.parametrize("words", TOO_LONG)
@pytest.mark.parametrize("status", [400, 422, 500, None])
def test_a_conversation_that_is_too_long_is_known_by_its_words(words: str, status: int | None) -> None:
    """Asking again does not help then, whatever the status says."""
    body = {"error": {"message": words}}
    error = error_from_payload(body) if status is None else error_from_payload(body, status=status)
    assert type(error) is ContextLengthError
    assert not error.retryable
    assert "trim the memory" in (error.next_step or "")


@pytest.mark.parametrize("words", NOT_TOO_LONG)
def test_other_words_about_length_are_not_taken_for_that(words: str) -> None:
    assert type(error_from_payload({"error": {"message": words}}, status=400)) is InvalidRequestError


@pytest.mark.parametrize(
    ("status", "kind"),
    [(401, AuthenticationError), (403, PermissionDeniedError), (429, RateLimitError), (404, NotFoundError)],
)
def test_a_clear_status_goes_before_words(status: int, kind: type[ModelError]) -> None:
    assert type(error_from_payload({"error": {"message": TOO_LONG[0]}}, status=status)) is kind


@pytest.mark.parametrize(
    "words",
    ["Incorrect API key provided: k", "Incorrect%20API%20key%20provided", "API key not valid.", "API_KEY_INVALID",
     "invalid api key", "Invalid API token"],
)  # fmt: skip
def test_a_key_that_is_refused_as_a_bad_request(words: str) -> None:
    error = error_from_response(400, {}, b'{"error": "%b"}' % words.encode())
    assert type(error) is AuthenticationError
    assert "API key" in (error.next_step or "")


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (400, "Your credit balance is too low to access the API."),
        (403, "Your team has used all available credits"),
        (429, "insufficient balance (1008)"),
        (500, "insufficient balance (1008)"),
        (402, "This request requires more credits"),
    ],
)
def test_no_credit_is_no_matter_of_waiting(status: int, words: str) -> None:
    error = error_from_response(status, {"retry-after": "3"}, b'{"message": "%b"}' % words.encode())
    assert (type(error), error.retryable, error.retry_after) == (RateLimitError, False, 3.0)
    assert "plan and billing" in (error.next_step or "")


def test_a_quota_that_comes_back_by_itself_is_waited_for() -> None:
    error = error_from_payload({"error": {"message": "You exceeded your current quota, retry in 31s"}}, status=429)
    assert error is not None and error.retryable


def test_the_first_rule_that_fits_counts() -> None:
    rules = [
        ErrorRule(NotFoundError, words="gone", among=(RateLimitError,)),
        ErrorRule(NotFoundError, codes=("gone",), next_step="Look elsewhere."),
        ErrorRule(words="GONE", next_step="never"),
    ]
    by_code = ruled(InvalidRequestError("it is gone", provider_code="Gone"), rules)
    by_words = ruled(InvalidRequestError("it is gone"), rules)
    assert (type(by_code), by_code.next_step) == (NotFoundError, "Look elsewhere.")
    assert (type(by_words), by_words.next_step) == (InvalidRequestError, "never")
    assert type(ruled(InvalidRequestError("x", details={"type": "gone"}), rules)) is NotFoundError


def test_a_rule_that_fits_nothing_leaves_the_error_as_it_is() -> None:
    error = InvalidRequestError("m", next_step="s")
    assert ruled(error, [ErrorRule(NotFoundError)]) is error
    assert ruled(error, [ErrorRule(words="m")]).next_step == "s"


def test_own_rules_go_before_the_common_ones() -> None:
    rules = (ErrorRule(ContentFilterError, words="maximum context length is"),)
    body = {"error": {"message": TOO_LONG[0]}}
    assert type(error_from_payload(body, status=400, rules=rules)) is ContentFilterError
    assert (
        type(error_from_response(400, {}, b'{"message": "maximum context length is 1"}', rules=rules))
        is ContentFilterError
    )


def test_a_rule_may_say_whether_asking_again_helps() -> None:
    assert not ruled(OverloadedError("m", provider_code="c"), [ErrorRule(codes=("c",), retryable=False)]).retryable
    assert ruled(InvalidRequestError("m", provider_code="c"), [ErrorRule(codes=("c",), retryable=True)]).retryable


def test_an_error_of_another_class_keeps_all_that_it_holds() -> None:
    """But for the next step, which is that of its new class."""
    error = InvalidRequestError(
        "m",
        status=400,
        request_id="r",
        provider_code="c",
        retry_after=1.0,
        details={"a": 1},
        location="l",
        next_step="s",
    )
    error.attempts, error.sent, error.local = 3, False, True
    made = reclassed(error, ContextLengthError)
    assert {**vars(made), "next_step": "s"} == vars(error)
    assert made.next_step and str(made).startswith("[AF305] m (l)")


def test_a_wrong_pattern_of_a_rule_is_found_when_it_is_used() -> None:
    with pytest.raises(re.error):
        ruled(ModelError("m"), [ErrorRule(words="(")])
