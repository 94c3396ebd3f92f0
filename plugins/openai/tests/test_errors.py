"""What is read out of the errors of this family, in failed answers and in good ones; each vendor's bodies are in
`plugins.openai.tests.test_vendor_errors`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agentforge.errors import (
    AuthenticationError,
    InvalidRequestError,
    ModelError,
    OverloadedError,
    RateLimitError,
    ToolUseFailedError,
)
from agentforge.masking import Secrets
from agentforge_openai.elsewhere import with_way_out
from agentforge_openai.wire.errors import error_in_answer, holds_error, parse_error
from plugins.openai.tests.support import plain

FILTER = {"hate": {"filtered": True, "severity": "high"}}


def test_what_the_filter_found_is_in_the_details() -> None:
    body = {"error": {"message": "m", "code": "content_filter", "innererror": {"content_filter_result": FILTER}}}
    assert parse_error(400, {}, json.dumps(body).encode()).details["content_filter_result"] == FILTER


def test_a_refused_call_keeps_what_the_model_made_and_is_no_bug_of_the_client() -> None:
    body = {"error": {"message": "m", "code": "tool_use_failed", "failed_generation": '{"name": "x"}'}}
    error = parse_error(400, {}, json.dumps(body).encode())
    assert isinstance(error, ToolUseFailedError)
    assert error.provider_code == "tool_use_failed"
    assert error.details["failed_generation"] == error.failed_generation == '{"name": "x"}'
    assert "ask again" in (error.next_step or "")


def test_a_model_that_refuses_tools_beside_effort_is_told_how_to_go_on() -> None:
    body = {"error": {"message": "use /v1/responses", "param": "reasoning_effort", "type": "invalid_request_error"}}
    assert "reasoning_effort='none'" in str(with_way_out(parse_error(400, {}, json.dumps(body).encode())))


def test_an_effort_that_a_model_does_not_know_is_no_matter_of_the_other_api() -> None:
    said = "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model."
    body = {"error": {"message": said, "param": "reasoning_effort", "code": "unsupported_value"}}
    assert "Responses" not in str(with_way_out(parse_error(400, {}, json.dumps(body).encode())))


def test_a_refused_call_is_one_whatever_its_status() -> None:
    body = {"error": {"message": "m", "code": "tool_use_failed", "failed_generation": "x"}}
    error = parse_error(500, {"x-request-id": "r"}, json.dumps(body).encode())
    assert (type(error), error.status, error.request_id) == (ToolUseFailedError, 500, "r")


def test_what_the_model_made_is_bounded_and_where_a_stream_showed_it_that_is_it() -> None:
    body = {"error": {"message": "m", "code": "tool_use_failed", "failed_generation": "x" * 100_000}}
    error = parse_error(400, {}, json.dumps(body).encode())
    assert isinstance(error, ToolUseFailedError)
    assert len(error.failed_generation) == 64 * 1024
    shown = error_in_answer({"error": {"message": "m", "code": "tool_use_failed"}}, partial_text="maybe")
    assert isinstance(shown, ToolUseFailedError)
    assert shown.failed_generation == "maybe"


def test_secrets_are_masked_in_message_and_details() -> None:
    body = {"error": {"message": "key sk-abcdef", "code": "tool_use_failed", "failed_generation": "sk-abcdef"}}
    error = parse_error(400, {}, json.dumps(body).encode(), secrets=Secrets(["sk-abcdef"]))
    assert "sk-abcdef" not in str(error)
    assert error.details["failed_generation"] == "***"


INSIDE: list[Any] = [
    ({"error": {"message": "slow", "code": 429}}, RateLimitError),
    ({"error": {"message": "slow", "code": "rate_limit_exceeded"}}, RateLimitError),
    ({"error": {"message": "bad", "type": "invalid_request_error"}}, InvalidRequestError),
    ({"error": {"message": "bad", "type": "invalid_request_error", "status_code": 400}}, InvalidRequestError),
    ({"error": {"message": "busy", "type": "overloaded"}}, OverloadedError),
    ({"error": {"message": "down", "code": 502}, "choices": []}, OverloadedError),
    ({"error": {"message": "key", "code": "invalid_api_key"}}, AuthenticationError),
    ({"code": "Bad", "error": "text"}, ModelError),
    ({"error": True}, ModelError),
    ({"base_resp": {"status_code": 1004, "status_msg": "login fail"}}, ModelError),
    (
        {"object": "error", "message": "CUDA", "type": "InternalServerError", "param": None, "code": 500},
        OverloadedError,
    ),
    ({"object": "error", "message": "bad", "type": "invalid_request_error"}, InvalidRequestError),
    ({"detail": "Unauthorized"}, ModelError),
    ({"code": "Throttling", "message": "slow", "request_id": "r"}, ModelError),
]


@pytest.mark.parametrize(("body", "kind"), INSIDE)
def test_an_error_in_a_good_answer_is_raised_by_what_it_says(body: dict[str, Any], kind: type[ModelError]) -> None:
    """The status is 200 there, so only the words can tell."""
    assert holds_error(body)
    assert isinstance(error_in_answer(body), kind)
    with pytest.raises(kind):
        plain(body)


@pytest.mark.parametrize(
    "body",
    [
        {"error": None, "choices": []},
        {"error": "", "choices": []},
        {"base_resp": {"status_code": 0}},
        {"base_resp": {"status_code": 7}, "choices": [1]},
        {"message": "", "detail": []},
        {"message": "m", "detail": "d", "choices": [1]},
    ],
)
def test_an_empty_error_is_none(body: dict[str, Any]) -> None:
    assert not holds_error(body)


def test_the_words_of_an_error_in_a_good_answer_are_kept() -> None:
    with pytest.raises(OverloadedError, match="CUDA out of memory"):
        plain({"object": "error", "message": "CUDA out of memory", "code": 500})


def test_an_error_in_a_choice_is_raised() -> None:
    with pytest.raises(OverloadedError, match="upstream"):
        plain({"choices": [{"error": {"code": 502, "message": "upstream"}, "message": {"content": ""}}]})


def test_the_wait_of_a_good_answers_header_is_not_the_errors() -> None:
    """Some vendors send ``retry-after`` on every answer."""
    error = error_in_answer({"error": {"message": "m", "code": 429}}, headers={"retry-after": "7", "x-request-id": "r"})
    assert (error.retry_after, error.request_id) == (None, "r")
