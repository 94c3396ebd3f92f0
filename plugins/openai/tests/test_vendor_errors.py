"""Every vendor's bodies of errors, to the one taxonomy: class, whether and when to ask again, words, id, what to do.

Where a recording or a vendor's page shows a body it is in that form; all values are made up.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
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
    NotFoundError,
    OverloadedError,
    PermissionDeniedError,
    RateLimitError,
    ToolUseFailedError,
)
from agentforge_openai.responses import errors as responses
from agentforge_openai.responses.response import decode_response
from agentforge_openai.wire.errors import error_in_answer, holds_error, parse_error
from plugins.openai.tests.responses.support import answering, event
from plugins.openai.tests.responses.support import events_in as events_of
from plugins.openai.tests.support import delta, events_in, plain, sse


@dataclass(frozen=True)
class Case:
    """One failed answer, and what becomes of it. ``inside`` is its class under status 200, where it may come there."""

    vendor: str
    status: int
    body: Any
    kind: type[ModelError]
    message: str
    retryable: bool = False
    retry_after: float | None = None
    request_id: str | None = None
    next_step: str = ""
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    inside: type[ModelError] | None = None

    @property
    def content(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


def said(message: str, kind: str | None = None, code: Any = None, **more: Any) -> dict[str, Any]:
    """The usual form."""
    return {"error": {"message": message, "type": kind, "param": None, "code": code, **more}}


FILTER = {"hate": {"filtered": True, "severity": "high"}}
TOO_LONG = "Send less"
KEY = "Check the API key"
QUOTA = "Check the plan and billing"
ID = {"x-request-id": "req_1"}
FASTAPI = [{"type": "missing", "loc": ["body", "tools", 0], "msg": "Field required", "input": {}}]


def provider_returned(code: int, raw: Any, name: str = "Acme") -> dict[str, Any]:
    """A gateway that quotes the provider behind it."""
    metadata = {"raw": raw if isinstance(raw, str) else json.dumps(raw), "provider_name": name}
    return {"error": {"message": "Provider returned error", "code": code, "metadata": metadata}, "user_id": "u"}


CASES = [
    # -- OpenAI
    Case("openai", 401, said("Incorrect API key provided: sk-…", "invalid_request_error", "invalid_api_key"),
         AuthenticationError, "Incorrect API key", code="invalid_api_key", headers=ID, request_id="req_1",
         next_step=KEY, inside=AuthenticationError),
    Case("openai", 404, said("The model `gpt-0` does not exist", "invalid_request_error", "model_not_found"),
         NotFoundError, "does not exist", next_step="base_url", inside=NotFoundError),
    Case("openai", 400, said("This model's maximum context length is 8192 tokens.", "invalid_request_error",
                             "context_length_exceeded"),
         ContextLengthError, "8192", next_step=TOO_LONG, inside=ContextLengthError),
    Case("openai", 400, said("Your input exceeds the context window of this model.", "invalid_request_error"),
         ContextLengthError, "context window", next_step=TOO_LONG, inside=ContextLengthError),
    Case("openai", 429, said("You exceeded your current quota", "insufficient_quota", "insufficient_quota"),
         RateLimitError, "quota", next_step=QUOTA, headers={"retry-after": "20"}, retry_after=20.0,
         inside=RateLimitError),
    Case("openai", 429, said("Rate limit reached for gpt-4o in organization", "tokens", "rate_limit_exceeded"),
         RateLimitError, "Rate limit", retryable=True, headers={"retry-after-ms": "150"}, retry_after=0.15,
         inside=RateLimitError),
    Case("openai", 400, said("'messages' must contain the word 'json'", "invalid_request_error"),
         InvalidRequestError, "json", next_step="JSON mode wants", inside=InvalidRequestError),
    Case("openai", 400, said("max_tokens is too large: 9. This model supports at most 8", "invalid_request_error"),
         InvalidRequestError, "too large", inside=InvalidRequestError),
    Case("openai", 500, said("The server had an error", "server_error"), OverloadedError, "had an error",
         retryable=True, inside=OverloadedError),
    Case("openai", 503, said("Slow down", "server_error"), OverloadedError, "Slow down", retryable=True,
         headers={"retry-after": "1.5"}, retry_after=1.5, inside=OverloadedError),
    # -- Azure
    Case("azure", 401, {"error": {"code": "401", "message": "Access denied due to invalid subscription key"}},
         AuthenticationError, "Access denied", headers={"apim-request-id": "apim-1"}, request_id="apim-1",
         code="401", next_step=KEY, inside=AuthenticationError),
    Case("azure", 401, {"statusCode": 401, "message": "Unauthorized. Access token is missing"}, AuthenticationError,
         "Access token is missing", next_step=KEY, inside=AuthenticationError),
    Case("azure", 404, {"error": {"code": "DeploymentNotFound", "message": "The API deployment does not exist"}},
         NotFoundError, "deployment", code="DeploymentNotFound", next_step="base_url"),
    Case("azure", 429, {"error": {"code": "429", "message": "Requests have exceeded call rate limit"}},
         RateLimitError, "call rate", retryable=True, inside=RateLimitError,
         headers={"retry-after-ms": "0", "retry-after": "1"}, retry_after=1.0),
    Case("azure", 429, {"error": {"code": "RateLimitReached", "message": "exceeded rate limit", "details": "same"}},
         RateLimitError, "exceeded rate limit", retryable=True, code="RateLimitReached"),
    Case("azure", 400,
         {"error": {"message": "The response was filtered", "type": None, "param": "prompt", "code": "content_filter",
                    "status": 400, "innererror": {"code": "ResponsibleAIPolicyViolation",
                                                  "content_filter_result": FILTER}}},
         ContentFilterError, "filtered", next_step="details", code="content_filter", inside=ContentFilterError),
    Case("azure", 400, {"error": {"message": "filtered", "innererror": {"content_filter_result": FILTER}}},
         ContentFilterError, "filtered", next_step="details", inside=ContentFilterError),
    # -- DeepSeek: the kinds are mixed
    Case("deepseek", 401, said("Authentication Fails, your api key is invalid", "authentication_error",
                               "invalid_request_error"),
         AuthenticationError, "Authentication Fails", next_step=KEY, inside=AuthenticationError),
    Case("deepseek", 402, said("Insufficient Balance", "unknown_error", "invalid_request_error"),
         RateLimitError, "Insufficient Balance", next_step=QUOTA, inside=RateLimitError),
    Case("deepseek", 400, said("This model's maximum context length is 131072 tokens. However, you requested more",
                               "invalid_request_error", "invalid_request_error"),
         ContextLengthError, "131072", next_step=TOO_LONG, inside=ContextLengthError),
    Case("deepseek", 400, said("The `reasoning_content` in the thinking mode must be passed back to the API.",
                               "invalid_request_error", "invalid_request_error"),
         InvalidRequestError, "reasoning_content", inside=InvalidRequestError),
    # -- Qwen
    Case("qwen", 401, {**said("Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
                       "request_id": "rq-1"},
         AuthenticationError, "Incorrect API key", request_id="rq-1", next_step=KEY, inside=AuthenticationError),
    Case("qwen", 400, {**said("Range of input length should be [1, 129024]", "invalid_request_error",
                              "invalid_parameter_error"), "request_id": "rq-2"},
         ContextLengthError, "129024", request_id="rq-2", next_step=TOO_LONG, inside=ContextLengthError),
    Case("qwen", 400, said("Input data may contain inappropriate content.", "data_inspection_failed",
                           "data_inspection_failed"),
         ContentFilterError, "inappropriate", next_step="filter", inside=ContentFilterError),
    Case("qwen", 400, said("Access denied, please make sure your account is in good standing.", "Arrearage",
                           "Arrearage"),
         RateLimitError, "good standing", next_step="arrears", inside=RateLimitError),
    # -- Mistral
    Case("mistral", 401, {"detail": "Unauthorized"}, AuthenticationError, "Unauthorized", next_step=KEY),
    Case("mistral", 422, {"detail": FASTAPI}, InvalidRequestError, "body.tools.0: Field required"),
    Case("mistral", 422, {"object": "error", "message": {"detail": FASTAPI}, "type": "invalid_request_error",
                          "param": None, "code": None},
         InvalidRequestError, "body.tools.0: Field required", inside=InvalidRequestError),
    Case("mistral", 429, {"object": "error", "message": "Rate limit exceeded", "type": "rate_limited", "code": "1300"},
         RateLimitError, "Rate limit", retryable=True, code="rate_limited", inside=RateLimitError),
    Case("mistral", 400, {"object": "error", "type": "invalid_request_prompt", "code": "3051",
                          "message": "Prompt contains 40000 tokens, too large for model with 32768 maximum context "
                                     "length"},
         ContextLengthError, "32768", next_step=TOO_LONG, inside=ContextLengthError),
    # -- xAI: a refused key is a bad request
    Case("xai", 400, {"code": "Client specified an invalid argument",
                      "error": "Incorrect API key provided: xa***ey. You can obtain one from the console."},
         AuthenticationError, "Incorrect API key", code="Client specified an invalid argument", next_step=KEY,
         inside=AuthenticationError),
    Case("xai", 400, {"code": "Client specified an invalid argument", "error": "Incorrect%20API%20key%20provided"},
         AuthenticationError, "Incorrect", next_step=KEY, inside=AuthenticationError),
    Case("xai", 400, {"code": "Client specified an invalid argument",
                      "error": "This model's maximum prompt length is 131072 but the request contains 200000 tokens."},
         ContextLengthError, "131072", next_step=TOO_LONG, inside=ContextLengthError),
    Case("xai", 403, {"code": "The caller does not have permission to execute the specified operation",
                      "error": "Your team has either used all available credits or reached its spending limit."},
         RateLimitError, "credits", next_step=QUOTA, inside=RateLimitError),
    Case("xai", 403, {"code": "The caller does not have permission", "error": "The API key may not do this."},
         PermissionDeniedError, "may not", next_step="rights"),
    # -- Cohere
    Case("cohere", 401, {"id": "co-1", "message": "invalid api token"}, AuthenticationError, "invalid api token",
         request_id="co-1", next_step=KEY, inside=AuthenticationError),
    Case("cohere", 400, {"id": "co-2", "message": "too many tokens: size limit exceeded by 512 tokens."},
         ContextLengthError, "too many tokens", request_id="co-2", next_step=TOO_LONG, inside=ContextLengthError),
    Case("cohere", 422, {"error_type": "invalid_request", "message": "invalid tool"}, InvalidRequestError,
         "invalid tool", code="invalid_request"),
    # -- vLLM, of two ages
    Case("vllm", 400, said("max_tokens must be at least 1", "BadRequestError", 400), InvalidRequestError, "at least 1",
         code="BadRequestError", inside=InvalidRequestError),
    Case("vllm", 400, {"object": "error", "type": "BadRequestError", "param": None, "code": 400,
                       "message": "This model's maximum context length is 4096 tokens. However, you requested 5000"},
         ContextLengthError, "4096", next_step=TOO_LONG, inside=ContextLengthError),
    Case("vllm", 404, {"object": "error", "message": "The model `x` does not exist.", "type": "NotFoundError",
                       "code": 404}, NotFoundError, "does not exist", next_step="base_url", inside=NotFoundError),
    Case("vllm", 400, said('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
                           "BadRequestError", 400),
         InvalidRequestError, "auto", next_step="--tool-call-parser, or set tool_mode: json_schema",
         inside=InvalidRequestError),
    Case("vllm", 401, {"error": "Unauthorized"}, AuthenticationError, "Unauthorized", next_step=KEY),
    # -- Groq
    Case("groq", 400, said("Tool call validation failed", "invalid_request_error", "tool_use_failed",
                           failed_generation='{"name": "x"}'),
         ToolUseFailedError, "validation failed", code="tool_use_failed", next_step="ask again",
         inside=ToolUseFailedError),
    Case("groq", 400, said("Failed to generate JSON.", "invalid_request_error", "json_validate_failed",
                           failed_generation="{"),
         InvalidRequestError, "generate JSON", next_step="simpler schema", inside=InvalidRequestError),
    Case("groq", 498, said("Flex tier capacity exceeded", "invalid_request_error", "capacity_exceeded"),
         OverloadedError, "Flex tier", retryable=True, inside=OverloadedError),
    # -- OpenRouter: what the provider behind it said
    Case("openrouter", 400, provider_returned(400, said("too big", None, "context_length_exceeded")),
         ContextLengthError, "Provider returned error (Acme): too big", next_step=TOO_LONG, inside=ContextLengthError),
    Case("openrouter", 400, provider_returned(400, {"object": "error", "message": "bad tool", "code": 400}),
         InvalidRequestError, "Provider returned error (Acme): bad tool", inside=InvalidRequestError),
    Case("openrouter", 429, provider_returned(429, "glm is temporarily rate-limited upstream"), RateLimitError,
         "(Acme): glm is temporarily", retryable=True, inside=RateLimitError),
    Case("openrouter", 502, provider_returned(502, "{"), OverloadedError, "Provider returned error (Acme): {",
         retryable=True, inside=OverloadedError),
    Case("openrouter", 402, {"error": {"code": 402, "message": "This request requires more credits"}}, RateLimitError,
         "more credits", next_step=QUOTA, inside=RateLimitError),
    Case("openrouter", 403, {"error": {"code": 403, "message": "Your input was flagged",
                                       "metadata": {"reasons": ["violence"], "flagged_input": "hit …"}}},
         ContentFilterError, "flagged", next_step="filter", inside=ContentFilterError),
    Case("openrouter", 408, {"error": {"code": 408, "message": "Timed out"}}, ModelError, "Timed out", retryable=True,
         inside=ModelError),
    # -- MiniMax
    Case("minimax", 401, {"base_resp": {"status_code": 1004, "status_msg": "login fail"}, "id": "mm-1"},
         AuthenticationError, "login fail (1004)", request_id="mm-1", next_step=KEY, inside=AuthenticationError),
    Case("minimax", 429, {"base_resp": {"status_code": 1002, "status_msg": "rate limit"}}, RateLimitError,
         "rate limit (1002)", retryable=True, inside=RateLimitError),
    Case("minimax", 500, {"base_resp": {"status_code": 1008, "status_msg": "insufficient balance (1008)"}},
         RateLimitError, "insufficient balance (1008)", next_step=QUOTA, inside=RateLimitError),
    Case("minimax", 429, {"error": {"http_code": "429", "message": "insufficient balance (1008)",
                                    "type": "insufficient_balance_error"}, "request_id": "mm-2"},
         RateLimitError, "insufficient balance", request_id="mm-2", next_step=QUOTA, inside=RateLimitError),
    Case("minimax", 400, {"base_resp": {"status_code": 1026, "status_msg": "input new_sensitive"}}, ContentFilterError,
         "sensitive", next_step="filter", inside=ContentFilterError),
    Case("minimax", 400, {"base_resp": {"status_code": 2013, "status_msg": "invalid params, context window exceeds "
                                                                          "limit"}},
         ContextLengthError, "context window", next_step=TOO_LONG, inside=ContextLengthError),
    Case("minimax", 400, {"base_resp": {"status_code": 2013, "status_msg": "invalid params"}}, InvalidRequestError,
         "invalid params", inside=InvalidRequestError),
    # -- LiteLLM: the words of the server behind it
    Case("litellm", 400, said('litellm.BadRequestError: AcmeException - {"error":{"message":"prompt is too long: 9 > 8 '
                              'maximum"}}. Received Model Group=acme', None, "400"),
         ContextLengthError, "prompt is too long", next_step=TOO_LONG, inside=ContextLengthError),
    Case("litellm", 400, said("litellm.ContextWindowExceededError: AcmeException - no room", None, "400"),
         ContextLengthError, "no room", next_step=TOO_LONG, inside=ContextLengthError),
    Case("litellm", 400, said("litellm.ContentPolicyViolationError: AcmeException - no", None, "400"),
         ContentFilterError, "no", next_step="filter", inside=ContentFilterError),
    Case("litellm", 400, said("litellm.UnsupportedParamsError: no such parameters: ['seed']", None, "400"),
         InvalidRequestError, "seed", next_step="drop_params", inside=InvalidRequestError),
    Case("litellm", 429, said("litellm.RateLimitError: No deployments available", None, "429"), RateLimitError,
         "No deployments", retryable=True, headers={"retry-after": "5"}, retry_after=5.0, inside=RateLimitError),
    # -- Hugging Face, Together
    Case("huggingface", 401, {"error": "Invalid username or password."}, AuthenticationError, "Invalid username",
         next_step=KEY),
    Case("huggingface", 402, {"error": "You have exceeded your monthly included credits for Inference Providers."},
         RateLimitError, "monthly", next_step=QUOTA, inside=RateLimitError),
    Case("huggingface", 400, said("The requested model is not supported by any provider", "invalid_request_error",
                                  "model_not_supported"),
         InvalidRequestError, "not supported", next_step="another model", inside=InvalidRequestError),
    Case("huggingface", 503, {"error": "Model x is currently loading", "estimated_time": 20.0}, OverloadedError,
         "loading", retryable=True),
    Case("together", 422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4097",
                           "error_type": "validation"},
         ContextLengthError, "4097", next_step=TOO_LONG, inside=ContextLengthError),
    Case("together", 401, {"id": "to-1", **said("Invalid API key provided", "invalid_request_error",
                                                "invalid_api_key")},
         AuthenticationError, "Invalid API key", next_step=KEY, inside=AuthenticationError),
    Case("together", 400, said("The input (140000 tokens) is longer than the model's context length (131072 tokens).",
                               "invalid_request_error"),
         ContextLengthError, "131072", next_step=TOO_LONG, inside=ContextLengthError),
    # -- Snowflake, Ollama, Kimi, Zhipu, Cerebras, llama.cpp
    Case("snowflake", 400, {"message": 'unknown model "x"', "request_id": "sf-1"}, InvalidRequestError,
         "unknown model", request_id="sf-1"),
    Case("snowflake", 401, {"code": "390318", "message": "OAuth access token expired."}, AuthenticationError,
         "expired", code="390318", next_step=KEY),
    Case("ollama", 401, said("Unauthorized", "api_error"), AuthenticationError, "Unauthorized", next_step=KEY),
    Case("ollama", 404, said("model 'x' not found", "not_found_error"), NotFoundError, "not found",
         next_step="base_url", inside=NotFoundError),
    Case("kimi", 400, said("Invalid request: Your request exceeded model token limit: 8192", "invalid_request_error"),
         ContextLengthError, "8192", next_step=TOO_LONG, inside=ContextLengthError),
    Case("zhipu", 400, said("Prompt exceeds max length", None, "1261"), ContextLengthError, "max length",
         next_step=TOO_LONG, inside=ContextLengthError),
    Case("cerebras", 400, {"message": "Please reduce the length of the messages or completion.", "param": "messages",
                           "type": "invalid_request_error", "code": "context_length_exceeded"},
         ContextLengthError, "reduce the length", next_step=TOO_LONG, inside=ContextLengthError),
    Case("llama.cpp", 500, said("the request exceeds the available context size", "server_error", 500),
         ContextLengthError, "available context", next_step=TOO_LONG, inside=ContextLengthError),
    # -- Gemini's layer of this form
    Case("gemini", 400, [{"error": {"code": 400, "message": "API key not valid. Please pass a valid API key.",
                                    "status": "INVALID_ARGUMENT", "details": [{"reason": "API_KEY_INVALID"}]}}],
         AuthenticationError, "API key not valid", code="INVALID_ARGUMENT", next_step=KEY),
    Case("gemini", 429, [{"error": {"code": 429, "message": "You exceeded your current quota. Retry in 31.5s.",
                                    "status": "RESOURCE_EXHAUSTED", "details": [{"retryDelay": "31.5s"}]}}],
         RateLimitError, "current quota", retryable=True, retry_after=31.5, code="RESOURCE_EXHAUSTED"),
    Case("gemini", 400, [{"error": {"code": 400, "status": "INVALID_ARGUMENT", "message":
                                    "The input token count (9) exceeds the maximum number of tokens allowed (8)."}}],
         ContextLengthError, "token count", next_step=TOO_LONG),
    # -- what stands in front of any of them
    Case("a gateway", 502, "<html><h1>Bad Gateway</h1></html>", OverloadedError, "Bad Gateway", retryable=True),
    Case("a gateway", 504, "", OverloadedError, "the body is empty", retryable=True),
    Case("a gateway", 403, '{"message": "Forbidden"}', PermissionDeniedError, "Forbidden", next_step="rights"),
    Case("a gateway", 413, "<html>Request Entity Too Large</html>", ContextLengthError, "Too Large",
         next_step=TOO_LONG),
]  # fmt: skip


def names(cases: list[Case]) -> list[str]:
    return [f"{case.vendor} {case.status} {case.message[:30]}" for case in cases]


@pytest.mark.parametrize("case", CASES, ids=names(CASES))
@pytest.mark.parametrize("parse", [parse_error, responses.parse_error], ids=["chat", "responses"])
def test_a_failed_answer(case: Case, parse: Any) -> None:
    """On both APIs of this family."""
    error = parse(case.status, case.headers, case.content)
    assert isinstance(error, case.kind)
    assert case.kind is ModelError or type(error) is case.kind
    assert case.message in error.message
    assert (error.status, error.retryable, error.retry_after) == (case.status, case.retryable, case.retry_after)
    assert error.request_id == case.request_id
    assert case.next_step in (error.next_step or "")
    assert bool(case.next_step) == bool(error.next_step), error.next_step
    assert case.code in (None, error.provider_code)


INSIDE = [case for case in CASES if case.inside is not None]


@pytest.mark.parametrize("case", INSIDE, ids=names(INSIDE))
def test_the_same_inside_an_answer_of_status_200(case: Case) -> None:
    """Whole, as a chunk behind text, and as an event that is named an error: of the same class, with the text so far;
    and where it would be worth asking again, it says so."""
    assert isinstance(case.body, dict) and case.inside is not None
    assert holds_error(case.body)
    with pytest.raises(case.inside) as whole:
        plain(case.body)
    named = b"event: error\ndata: " + case.content + b"\n\n"
    for events in (sse(delta(content="so far"), case.body), sse(delta(content="so far"), named, done=False)):
        with pytest.raises(case.inside) as streamed:
            events_in(events)
        assert type(streamed.value) is type(whole.value)
        assert streamed.value.details["partial_text"] == "so far"
    error = whole.value
    assert case.message in error.message
    assert (error.retryable, error.retry_after) == (case.retryable, None)
    assert case.next_step in (error.next_step or "")
    assert error.request_id in (None, case.request_id)


@pytest.mark.parametrize("case", INSIDE, ids=names(INSIDE))
def test_the_same_inside_a_response_of_status_200(case: Case) -> None:
    """The other API, whole, and as an event with and without a name."""
    assert case.inside is not None
    text = event("response.output_text.delta", item_id="m", output_index=0, content_index=0, delta="so far")
    with pytest.raises(case.inside) as whole:
        decode_response(case.content, answering())
    for name in (b"", b"event: error\n"):
        with pytest.raises(case.inside) as streamed:
            events_of(text + name + b"data: " + case.content + b"\n\n")
        assert type(streamed.value) is type(whole.value)
        assert streamed.value.details["partial_text"] == "so far"
    assert (whole.value.retryable, case.message in whole.value.message) == (case.retryable, True)


def test_what_a_gateways_moderation_found_is_in_the_details() -> None:
    (case,) = (case for case in CASES if case.vendor == "openrouter" and case.kind is ContentFilterError)
    found = parse_error(case.status, {}, case.content).details["content_filter_result"]
    assert found == {"reasons": ["violence"], "flagged_input": "hit …"}


@pytest.mark.parametrize("raw", [None, "", [], {}, "x" * 10, {"error": 7}, '{"error": {"metadata": {"raw": "{}"}}}'])
def test_nothing_that_a_gateway_quotes_breaks_the_reading(raw: Any) -> None:
    body = {"error": {"message": "m", "code": 400, "metadata": {"raw": raw, "provider_name": ["x"]}}}
    assert parse_error(400, {}, json.dumps(body).encode()).message.startswith("status 400: m")


def test_a_code_of_a_gateway_that_nobody_knows_is_shown() -> None:
    error = error_in_answer({"base_resp": {"status_code": 9999, "status_msg": "?"}})
    assert (type(error), error.message, error.provider_code) == (ModelError, "error in the answer: ? (9999)", "9999")


MEMBERS = [
    *("error", "message", "code", "type", "detail", "id", "choices", "metadata", "raw", "reasons"),
    *("base_resp", "status_code", "status_msg", "innererror", "content_filter_result", "failed_generation"),
]
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-10, 3000) | st.text(max_size=8) | st.sampled_from(["429", "1008", "{}"]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(MEMBERS), JSON, max_size=5), st.sampled_from([200, 400, 401, 429, 500]))
def test_whatever_a_body_holds_it_becomes_one_error_on_one_line(body: dict[str, Any], status: int) -> None:
    """In both APIs, with a bad status and with a good one."""
    content = json.dumps(body).encode()
    made = [parse_error(status, {}, content), responses.parse_error(status, {}, content), error_in_answer(body)]
    if responses.holds_error(body):
        made.append(responses.error_of(body))
    for error in made:
        assert isinstance(error, ModelError)
        assert error.message and error.message.isprintable()


def test_every_vendor_that_is_named_has_a_case() -> None:
    """OpenAI's form as it is spoken elsewhere; those of native APIs are in plugins of their own."""
    assert {case.vendor for case in CASES} >= {
        "azure", "cohere", "deepseek", "groq", "huggingface", "litellm", "minimax", "mistral", "openai", "openrouter",
        "qwen", "snowflake", "together", "vllm", "xai",
    }  # fmt: skip
