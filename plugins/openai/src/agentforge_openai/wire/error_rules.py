"""What vendors of this family mean by codes and words of their own, as data; the first rule that fits an error counts.

They stand in one table for all rows, as gateways pass on the errors of any vendor. What holds whoever speaks (a prompt
that is too long, a key refused as a bad request, no credit) is in the core.
"""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.errors import (
    ContentFilterError,
    ContextLengthError,
    InvalidRequestError,
    ModelError,
    OverloadedError,
    RateLimitError,
    ToolUseFailedError,
)
from agentforge.http import ErrorRule

__all__ = ("BASE_RESP", "RULES")

RULES: tuple[ErrorRule, ...] = (
    # Groq: what the model made is in the details.
    ErrorRule(ToolUseFailedError, codes=("tool_use_failed",)),
    ErrorRule(
        codes=("json_validate_failed",),
        next_step="The model's answer had not the form that was asked for; ask again, or use a simpler schema.",
    ),
    # Its flex tier (status 498), which is full at the moment.
    ErrorRule(OverloadedError, codes=("capacity_exceeded",)),
    # DashScope's inspection of prompts and answers.
    ErrorRule(ContentFilterError, codes=("data_inspection_failed", "datainspectionfailed")),
    ErrorRule(
        RateLimitError,
        codes=("arrearage",),
        retryable=False,
        next_step="The account is in arrears: waiting does not help. Check the plan and billing of this key.",
    ),
    # LiteLLM puts the class of its own error in front of the words of the server behind it.
    ErrorRule(ContextLengthError, words=r"litellm\.ContextWindowExceededError"),
    ErrorRule(ContentFilterError, words=r"litellm\.ContentPolicyViolationError"),
    ErrorRule(
        words=r"litellm\.UnsupportedParamsError",
        next_step="The proxy's model has no such parameter: leave it out, or set drop_params in the proxy.",
    ),
    # vLLM and its like.
    ErrorRule(
        words="enable-auto-tool-choice",
        next_step="Start the server with --enable-auto-tool-choice and --tool-call-parser, or set tool_mode: "
        "json_schema, which needs neither.",
    ),
    ErrorRule(
        words="must contain the word 'json'",
        next_step="Say in a message that the answer is to be JSON; JSON mode wants the word to stand there.",
    ),
    # A Hugging Face model that no provider of the account serves.
    ErrorRule(
        codes=("model_not_supported",),
        among=(InvalidRequestError, ModelError),
        next_step="No provider that the account has enabled serves this model: enable one, or take another model.",
    ),
)

#: MiniMax: the status that stands for a code of ``base_resp``, and the kind of the failure.
BASE_RESP: Mapping[int, tuple[int, str]] = {
    1000: (500, "unknown_error"),
    1001: (504, "timeout"),
    1002: (429, "rate_limited"),
    1004: (401, "authentication_error"),
    1008: (402, "insufficient_balance"),
    1024: (500, "internal_error"),
    1026: (400, "content_filter"),
    1027: (400, "content_filter"),
    1033: (500, "internal_error"),
    1039: (429, "rate_limited"),
    1041: (429, "rate_limited"),
    1042: (400, "invalid_request_error"),
    2013: (400, "invalid_request_error"),
    2045: (429, "rate_limited"),
    2049: (401, "authentication_error"),
    2056: (429, "insufficient_quota"),
}
