"""What the vendor's codes and words mean, as data, from its list of errors (2026); the first rule that fits counts.

In a failed answer the status says most, and these say the rest. An event of a stream has a status of its own in a
comment; where it has none, its code stands for one. What holds whoever speaks (a conversation that is too long, no
credit) is in the core.
"""

from __future__ import annotations

from collections.abc import Mapping

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
    RateLimitError,
)
from agentforge.http import ErrorRule

__all__ = ("RULES", "status_of")

_PAY = "Waiting does not help: check the bills, the quota and the plan of this account."
_VAGUE = (ModelError, InvalidRequestError, OverloadedError)

RULES: tuple[ErrorRule, ...] = (
    # -- what only the words say -----------------------------------------------------------------
    ErrorRule(ContextLengthError, words=r"range of input length|token length exceed model", among=_VAGUE),
    ErrorRule(
        NotFoundError,
        words=r"model not exist",
        among=_VAGUE,
        next_step="Check the model's name; the names of open models elsewhere are not those here.",
    ),
    ErrorRule(RateLimitError, words=r"free allocated quota exceeded", retryable=False, next_step=_PAY),
    ErrorRule(
        words=r"url error, please check url",
        next_step="This model is asked at the other of the two paths: set multimodal to true, or to false for a model "
        "that takes texts only.",
    ),
    ErrorRule(
        words=r"only support stream|for non-streaming calls|non-streaming mode does not|does not support http call",
        next_step="This model answers streams only: ask it with stream(), or turn its thinking off "
        "(reasoning_effort='none').",
    ),
    ErrorRule(
        words=r"incremental_output",
        next_step="This model streams in increments only: leave incremental_output unset.",
    ),
    ErrorRule(
        words=r"tool_choice parameter does not support|tool_choice is one of the strings",
        next_step="Use tool_choice='auto', or turn thinking off for this request (reasoning_effort='none').",
    ),
    ErrorRule(
        words=r"json mode response is not supported when enable_thinking",
        next_step="Turn thinking off for this request (reasoning_effort='none').",
    ),
    ErrorRule(
        words=r"must contain the word 'json'",
        next_step="Say in a message that the answer is to be JSON; JSON mode wants the word to stand there.",
    ),
    ErrorRule(words=r"tool call is not supported", next_step="Use a model with tools, or tool_mode: json_schema."),
    ErrorRule(
        words=r"not support enable_thinking|enable_thinking parameter is restricted",
        next_step="Leave reasoning_effort unset for this model.",
    ),
    # -- codes, also those of the engine behind, which stand in the message -----------------------
    ErrorRule(
        ContentFilterError,
        codes=(
            "datainspectionfailed",
            "data_inspection_failed",
            "customroleblocked",
            "faqruleblocked",
            "ipinfringementsuspect",
        ),
        words=r"InternalError\.Algo\.DataInspection",
        next_step="The provider's inspection blocked the request or its answer: change what is said.",
    ),
    ErrorRule(
        AuthenticationError,
        codes=("invalidapikey", "invalid_api_key"),
        next_step="Check the API key: is it set, whole, and of the region of base_url? Each region has its own keys.",
    ),
    ErrorRule(
        PermissionDeniedError,
        codes=(
            "accessdenied",
            "access_denied",
            "accessdenied.unpurchased",
            "app.accessdenied",
            "model.accessdenied",
            "workspace.accessdenied",
            "not authorized",
        ),
        next_step="The key is known but may not do this: check the model's and the workspace's rights, and the region.",
    ),
    ErrorRule(
        RateLimitError,
        codes=(
            "arrearage",
            "allocationquota.freetieronly",
            "budgetlimitexceeded",
            "commoditynotpurchased",
            "postpaidbilloverdue",
            "prepaidbilloverdue",
        ),
        retryable=False,
        next_step=_PAY,
    ),
    ErrorRule(OverloadedError, codes=("throttling.serviceoverloaded",)),
    ErrorRule(
        RateLimitError,
        codes=(
            "throttling",
            "throttling.allocationquota",
            "throttling.burstrate",
            "throttling.ratelimit",
            "throttling.ratequota",
            "limitrequests",
            "limit_requests",
            "limit_burst_rate",
        ),
    ),
    ErrorRule(
        NotFoundError,
        codes=("modelnotfound", "model_not_found", "model_not_supported", "notfound"),
        next_step="Check the model's name; the names of open models elsewhere are not those here.",
    ),
    ErrorRule(NotFoundError, codes=("workspacenotfound",), next_step="Check the workspace of this model."),
    ErrorRule(ContextLengthError, codes=("badrequest.toolarge",)),
    ErrorRule(
        ModelTimeoutError,
        codes=("requesttimeout", "responsetimeout", "internalerror.timeout"),
        next_step="Ask with a stream: the endpoint ends plain requests after a while.",
    ),
    ErrorRule(
        InvalidRequestError,
        codes=("conflict", "internalerror.algo.invalidparameter", "serviceunavailableerror"),
        words=r"InternalError\.Algo\.InvalidParameter",
        among=_VAGUE,
    ),
)

#: By the code up to its first dot.
_STATUS: Mapping[str, int] = {
    "accessdenied": 403,
    "access_denied": 403,
    "allocationquota": 403,
    "app": 403,
    "appprocessfailed": 500,
    "budgetlimitexceeded": 429,
    "commoditynotpurchased": 429,
    "conflict": 409,
    "internal_error": 500,
    "internalerror": 500,
    "invalid_api_key": 401,
    "invalidapikey": 401,
    "invokepluginfailed": 500,
    "limit_burst_rate": 429,
    "limit_requests": 429,
    "limitrequests": 429,
    "model": 403,
    "model_not_found": 404,
    "model_not_supported": 404,
    "modelnotfound": 404,
    "modelservicefailed": 500,
    "modelservingerror": 503,
    "modelunavailable": 503,
    "not authorized": 401,
    "notfound": 404,
    "postpaidbilloverdue": 429,
    "prepaidbilloverdue": 429,
    "requesttimeout": 500,
    "responsetimeout": 500,
    "retrivalfailed": 500,
    "rewritefailed": 500,
    "serviceunavailable": 503,
    "serviceunavailableerror": 400,  # messages without content, in spite of its name
    "systemerror": 500,
    "throttling": 429,
    "workspace": 403,
    "workspacenotfound": 404,
}
_REFUSED = ("arrearage", "badrequest", "custom", "data", "faqrule", "flow", "invalid", "ipinfringement", "unsupported")


def status_of(code: str) -> int | None:
    """The status that a code has where one is sent; ``None`` for a code that nothing is known of.

    >>> status_of("Throttling.RateQuota"), status_of("InvalidFile.Size"), status_of("Surprise")
    (429, 400, None)
    """
    first = code.lower().partition(".")[0]
    return _STATUS.get(first) or (400 if first.startswith(_REFUSED) else None)
