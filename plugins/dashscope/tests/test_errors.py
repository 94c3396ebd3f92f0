"""Every code that the vendor lists, as an error of the taxonomy: in a failed answer, in a good one, in an event."""

from __future__ import annotations

import json
from typing import Any

import pytest

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
from agentforge_dashscope.wire.errors import error_in_answer, parse_error
from plugins.dashscope.tests.support import event, plain

#: Status, code, message, the class, and whether the same request may succeed later.
LISTED: list[tuple[int, str, str, type[ModelError], bool]] = [
    (400, "InvalidParameter", "Required parameter(s) missing or invalid.", InvalidRequestError, False),
    (400, "InvalidParameter.DataInspection", "Unable to download the media resource.", InvalidRequestError, False),
    (400, "InvalidParameter.NotSupportEnableThinking", "not support enable_thinking.", InvalidRequestError, False),
    (400, "InvalidParameter", "Range of input length should be [1, 129024]", ContextLengthError, False),
    (400, "InvalidParameter", "Total message token length exceed model limit (10000000).", ContextLengthError, False),
    (400, "InvalidParameter", "Model not exist.", NotFoundError, False),
    (400, "BadRequest.EmptyInput", "Required input parameter missing.", InvalidRequestError, False),
    (400, "BadRequest.TooLarge", "Payload Too Large.", ContextLengthError, False),
    (413, "BadRequest.TooLarge", "Payload Too Large.", ContextLengthError, False),
    (400, "InvalidURL", "Invalid URL provided in your request.", InvalidRequestError, False),
    (400, "InvalidFile.Size", "Invalid file size.", InvalidRequestError, False),
    (400, "UnsupportedOperation", "The operation is unsupported.", InvalidRequestError, False),
    (400, "FlowNotPublished", "Flow has not published yet.", InvalidRequestError, False),
    (400, "ServiceUnavailableError", "Content length must be greater than 0", InvalidRequestError, False),
    (400, "Arrearage", "Access denied, please make sure your account is in good standing.", RateLimitError, False),
    (400, "DataInspectionFailed", "Input data may contain inappropriate content.", ContentFilterError, False),
    (400, "data_inspection_failed", "Output data may contain inappropriate content.", ContentFilterError, False),
    (400, "FaqRuleBlocked", "Input or output data is blocked by faq rule.", ContentFilterError, False),
    (400, "CustomRoleBlocked", "custom rule", ContentFilterError, False),
    (400, "IPInfringementSuspect", "suspected", ContentFilterError, False),
    (401, "InvalidApiKey", "Invalid API-key provided.", AuthenticationError, False),
    (400, "InvalidApiKey", "Invalid API-key provided.", AuthenticationError, False),
    (401, "NOT AUTHORIZED", "Access denied: not authorized to this workspace", PermissionDeniedError, False),
    (403, "AccessDenied", "Access denied.", PermissionDeniedError, False),
    (403, "AccessDenied.Unpurchased", "Access to model denied.", PermissionDeniedError, False),
    (403, "Model.AccessDenied", "Model access denied.", PermissionDeniedError, False),
    (403, "Workspace.AccessDenied", "Workspace access denied.", PermissionDeniedError, False),
    (403, "AllocationQuota.FreeTierOnly", "The free tier of the model has been exhausted.", RateLimitError, False),
    (404, "ModelNotFound", "Model can not be found.", NotFoundError, False),
    (404, "WorkSpaceNotFound", "WorkSpace can not be found.", NotFoundError, False),
    (408, "RequestTimeOut", "Request timed out, please try again later.", ModelTimeoutError, True),
    (500, "RequestTimeOut", "Response timeout!", ModelTimeoutError, True),
    (409, "Conflict", "Model instance already exists.", InvalidRequestError, False),
    (429, "Throttling", "Requests throttling triggered.", RateLimitError, True),
    (429, "Throttling.RateQuota", "Requests rate limit exceeded.", RateLimitError, True),
    (429, "Throttling.BurstRate", "Request rate increased too quickly.", RateLimitError, True),
    (429, "Throttling.AllocationQuota", "Allocated quota exceeded.", RateLimitError, True),
    (429, "Throttling.AllocationQuota", "Free allocated quota exceeded.", RateLimitError, False),
    (400, "Throttling.AllocationQuota", "Allocated quota exceeded.", RateLimitError, True),
    (429, "Throttling.ServiceOverloaded", "busy", OverloadedError, True),
    (429, "Throttling.SomethingNew", "slow", RateLimitError, True),
    (429, "LimitRequests", "You exceeded your current requests list.", RateLimitError, True),
    (429, "PrepaidBillOverdue", "The prepaid bill is overdue.", RateLimitError, False),
    (429, "PostpaidBillOverdue", "The postpaid bill is overdue.", RateLimitError, False),
    (429, "CommodityNotPurchased", "Commodity has not purchased yet.", RateLimitError, False),
    (500, "InternalError", "An internal error has occured.", OverloadedError, True),
    (500, "InternalError.Algo", "inference internal error.", OverloadedError, True),
    (500, "InternalError.Timeout", "An internal timeout error has occured.", ModelTimeoutError, True),
    (500, "InternalError.Algo", "<400> InternalError.Algo.InvalidParameter: top_p", InvalidRequestError, False),
    (
        400,
        "InvalidParameter",
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 204800]",
        ContextLengthError,
        False,
    ),
    (
        400,
        "InvalidParameter",
        "<400> InternalError.Algo.DataInspectionFailed: Output data may contain inappropriate content.",
        ContentFilterError,
        False,
    ),
    (500, "SystemError", "An system error has occured.", OverloadedError, True),
    (500, "ModelServiceFailed", "Failed to request model service.", OverloadedError, True),
    (503, "ModelServingError", "Too many requests.", OverloadedError, True),
    (503, "ModelUnavailable", "Model is unavailable.", OverloadedError, True),
    (418, "Surprise", "Something new.", InvalidRequestError, False),
]


@pytest.mark.parametrize(("status", "code", "message", "kind", "retryable"), LISTED)
def test_a_failed_answer_is_an_error_of_its_code(
    status: int, code: str, message: str, kind: type[ModelError], retryable: bool
) -> None:
    """With the vendor's words, code and id of the request."""
    body = {"code": code, "message": message, "request_id": "r-7"}
    error = parse_error(status, {}, json.dumps(body).encode())
    assert (type(error), error.retryable) == (kind, retryable)
    assert (error.status, error.provider_code, error.request_id) == (status, code, "r-7")
    assert message in error.message
    again = error_in_answer(body, status=status)
    assert (type(again), again.retryable, again.status) == (kind, retryable, status)


@pytest.mark.parametrize(
    ("code", "message", "kind"),
    [(code, message, kind) for status, code, message, kind, _ in LISTED if code != "Surprise" and status != 413],
)
def test_a_code_alone_says_as_much(code: str, message: str, kind: type[ModelError]) -> None:
    """In a good answer, or in an event without a status of its own."""
    with pytest.raises(ModelError) as caught:
        plain({"code": code, "message": message, "request_id": "r-7"})
    assert type(caught.value) is kind and caught.value.status is not None and caught.value.request_id == "r-7"


@pytest.mark.parametrize(
    ("message", "step"),
    [
        ("url error, please check url！ For details, see: https://help.example/error-code#error-url", "multimodal"),
        ("This model only support stream mode, please enable the stream parameter to access the model.", "stream()"),
        ("parameter.enable_thinking must be set to false for non-streaming calls", "stream()"),
        ("current user api does not support http call.", "stream()"),
        ("The incremental_output parameter of this model cannot be set to False.", "incremental_output"),
        ("The tool_choice parameter does not support being set to required or object in thinking mode", "'auto'"),
        ('tool_choice is one of the strings that should be ["none", "auto"]', "'auto'"),
        ("Json mode response is not supported when enable_thinking is true", "reasoning_effort='none'"),
        ("'messages' must contain the word 'json' in some form, to use 'response_format'", "JSON"),
        ("The tool call is not supported.", "tool_mode: json_schema"),
        ("The model xxx does not support enable_thinking.", "reasoning_effort"),
        ("The value of the enable_thinking parameter is restricted to True.", "reasoning_effort"),
    ],
)
def test_what_to_do_is_said_where_it_is_known(message: str, step: str) -> None:
    body = {"code": "InvalidParameter", "message": message, "request_id": "r-7"}
    error = parse_error(400, {}, json.dumps(body).encode())
    assert type(error) is InvalidRequestError and step in (error.next_step or "")


def test_a_failed_answer_may_be_an_event() -> None:
    """As a refused stream answers: the status is the answer's own."""
    said = {"code": "Arrearage", "type": "Arrearage", "message": "in arrears", "request_id": "r-7"}
    error = parse_error(400, {"content-type": "text/event-stream"}, event(said, kind="error", status=400))
    assert (type(error), error.provider_code, error.retryable) == (RateLimitError, "Arrearage", False)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<html>Bad Gateway</html>", "status 502: <html>Bad Gateway</html>"),
        (b"", "status 502: the body is empty"),
        (b"data: not json", "status 502: data: not json"),
    ],
)
def test_a_failed_answer_of_a_gateway_is_shown(content: bytes, message: str) -> None:
    error = parse_error(502, {}, content)
    assert (type(error), error.message) == (OverloadedError, message)


@pytest.mark.parametrize(
    "body",
    [
        {"status_code": 200, "code": "", "message": "", "output": {"text": "ok", "finish_reason": "stop"}},
        {"code": "200", "message": "Success", "output": {"text": "ok"}},
        {"code": None, "output": {"text": "ok"}, "usage": None},
    ],
)
def test_a_code_beside_an_output_is_no_error(body: dict[str, Any]) -> None:
    assert plain(body).ai_message.text == "ok"
