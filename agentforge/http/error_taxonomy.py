"""From a failed answer to one of our errors: the same taxonomy for every provider.

The status decides, a known code decides over it, then the rules of `agentforge.http.error_rules`; the words are the
provider's own: one line, bounded, masked. A provider's plugin that knows better gives these functions rules of its own.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

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
from agentforge.http.display import is_secret_member, one_line, without_credentials
from agentforge.http.error_body import ErrorBody, parse_error_body, parse_error_payload
from agentforge.http.error_rules import COMMON_RULES, NO_QUOTA, ErrorRule, next_step_of, ruled
from agentforge.http.retry import parse_retry_after
from agentforge.masking import MASK, Secrets

__all__ = ("error_from_payload", "error_from_response", "request_id_of", "unexpected_answer")

_BY_STATUS: dict[int, type[ModelError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    402: RateLimitError,
    403: PermissionDeniedError,
    404: NotFoundError,
    408: ModelTimeoutError,
    409: OverloadedError,
    413: ContextLengthError,
    422: InvalidRequestError,
    429: RateLimitError,
}
# These say more than any status does.
_BY_CODE: dict[str, type[ModelError]] = {
    "context_length_exceeded": ContextLengthError,
    "context_window_exceeded": ContextLengthError,
    "content_filter": ContentFilterError,
    "content_policy_violation": ContentFilterError,
    "insufficient_quota": RateLimitError,
    "insufficient_balance": RateLimitError,
    "billing_error": RateLimitError,
}
# These say more than 400 does, which some gateways answer for everything.
_BY_CODE_OF_400: dict[str, type[ModelError]] = {
    "invalid_api_key": AuthenticationError,
    "authentication_error": AuthenticationError,
    "unauthenticated": AuthenticationError,
    "permission_error": PermissionDeniedError,
    "permission_denied": PermissionDeniedError,
    "not_found_error": NotFoundError,
    "model_not_found": NotFoundError,
    "request_too_large": ContextLengthError,
    "rate_limit_error": RateLimitError,
    "rate_limit_exceeded": RateLimitError,
    "resource_exhausted": RateLimitError,
}
# These count only where there is no status, as in a stream: elsewhere servers call anything an api_error.
_BY_CODE_ALONE: dict[str, type[ModelError]] = {
    **_BY_CODE_OF_400,
    "authenticationerror": AuthenticationError,
    "unauthorized": AuthenticationError,
    "permissiondeniederror": PermissionDeniedError,
    "notfounderror": NotFoundError,
    "not_found": NotFoundError,
    "badrequesterror": InvalidRequestError,
    "invalid_argument": InvalidRequestError,
    "invalid_value": InvalidRequestError,
    "tool_use_failed": InvalidRequestError,
    "rate_limited": RateLimitError,
    "ratelimiterror": RateLimitError,
    "too_many_requests": RateLimitError,
    "overloaded_error": OverloadedError,
    "overloaded": OverloadedError,
    "unavailable": OverloadedError,
    "service_unavailable": OverloadedError,
    "internal_error": OverloadedError,
    "internal_server_error": OverloadedError,
    "internalservererror": OverloadedError,
    "timeout_error": OverloadedError,
    "timeout": OverloadedError,
}
# And these only where no other code stands beside them: some servers call a refused key an invalid request.
_BY_VAGUE_CODE: dict[str, type[ModelError]] = {
    "invalid_request_error": InvalidRequestError,
    "api_error": OverloadedError,
    "server_error": OverloadedError,
}
# Where a body under a good status names the one that it would have.
_STATUS_MEMBERS = ("code", "status", "status_code", "statusCode", "http_code", "http_status", "http_status_code")
_THREE_DIGITS = re.compile(r"[0-9]{3}")
_REQUEST_IDS = ("x-request-id", "request-id", "apim-request-id")
# A code that says so whatever the status is.
_NO_QUOTA = frozenset({"insufficient_quota", "insufficient_balance", "billing_error"})
_SHOWN = 200  # characters of a body that is not understood
_MESSAGE = 2_000  # characters of a provider's own message
_DETAIL = 64 * 1024  # characters of one text in the details


def error_from_response(
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    *,
    secrets: Secrets | None = None,
    vendor_hint: str | None = None,
    now: float | None = None,
    rules: Sequence[ErrorRule] = (),
) -> ModelError:
    """The error for an answer whose status is not 2xx; header names are lower case.

    ``vendor_hint`` is a name to begin the message with; ``now`` (seconds since the epoch) is what a date in
    ``retry-after`` is counted from, the system's clock by default. ``rules`` go before the common ones.

    >>> error = error_from_response(429, {"retry-after": "2"}, b'{"error": {"message": "slow down"}}')
    >>> type(error).__name__, error.message, error.retry_after
    ('RateLimitError', 'status 429: slow down', 2.0)
    """
    secrets = secrets if secrets is not None else Secrets()
    if 300 <= status < 400:
        return _redirect(status, headers, vendor_hint)
    body = parse_error_body(content)
    if body is None:
        body = ErrorBody(message=_shown(content, secrets))
    if now is None:
        import time

        now = time.time()
    wait = parse_retry_after(headers, now)
    return _build(status, headers, body, secrets, vendor_hint, body.retry_after if wait is None else wait, rules)


def error_from_payload(
    payload: object,
    *,
    status: int | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: Secrets | None = None,
    vendor_hint: str | None = None,
    rules: Sequence[ErrorRule] = (),
) -> ModelError | None:
    """The error that decoded JSON under a good status carries, as streams and gateways send them; ``None`` without one.

    A code that is an HTTP status stands for the status.

    >>> error_from_payload({"error": {"message": "queue is full", "code": 503}}).code
    'AF308'
    >>> error_from_payload({"choices": []}) is None
    True
    """
    body = parse_error_payload(payload)
    if body is None:
        return None
    if status is None:
        status = _status_in(payload)
    secrets = secrets if secrets is not None else Secrets()
    return _build(status, headers or {}, body, secrets, vendor_hint, body.retry_after, rules)


def unexpected_answer(
    status: int,
    headers: Mapping[str, str],
    content: bytes,
    *,
    expected: str = "JSON",
    secrets: Secrets | None = None,
) -> ProtocolError:
    """The error for a good status over a body that is not what was asked for, such as a proxy's HTML page."""
    secrets = secrets if secrets is not None else Secrets()
    kind = one_line(headers.get("content-type", "no content type"), 80)
    return ProtocolError(
        f"the answer is not {expected} (status {status}, {kind}): {_shown(content, secrets)}",
        status=status,
        request_id=request_id_of(headers),
        next_step="Check base_url, and whether a proxy or a login page answers in place of the model.",
    )


def request_id_of(headers: Mapping[str, str]) -> str | None:
    """The provider's id for the request, from the headers that are in use for it."""
    for name in _REQUEST_IDS:
        if value := headers.get(name):
            return one_line(value, 200)
    return None


def _build(
    status: int | None,
    headers: Mapping[str, str],
    body: ErrorBody,
    secrets: Secrets,
    hint: str | None,
    retry_after: float | None,
    rules: Sequence[ErrorRule],
) -> ModelError:
    kind = _class_of(status, body)
    message = one_line(without_credentials(body.words, secrets), _MESSAGE) or "the endpoint gave no message"
    where = f"status {status}" if status is not None else "error in the answer"
    code = one_line(secrets.mask(body.code), 200) if body.code else None
    request_id = request_id_of(headers) or body.request_id
    error = kind(
        f"{hint}: {where}: {message}" if hint else f"{where}: {message}",
        status=status,
        request_id=one_line(secrets.mask(request_id), 200) if request_id else None,
        provider_code=code,
        retry_after=retry_after,
        details={name: _masked(value, secrets) for name, value in body.details.items()},
        next_step=next_step_of(kind),
    )
    if status == 402 or not _NO_QUOTA.isdisjoint(body.codes):
        error.retryable = False
        error.next_step = NO_QUOTA
        return error
    return ruled(error, (*rules, *COMMON_RULES))


def _class_of(status: int | None, body: ErrorBody) -> type[ModelError]:
    known = status is not None and status >= 400
    tables = [_BY_CODE]
    if not known:
        tables += [_BY_CODE_ALONE, _BY_VAGUE_CODE]
    elif status == 400:
        tables.append(_BY_CODE_OF_400)
    for table in tables:
        for code in body.codes:
            if code in table:
                return table[code]
    if status is None or not known:
        return ModelError
    if status >= 500:
        return OverloadedError
    return _BY_STATUS.get(status, InvalidRequestError)


def _redirect(status: int, headers: Mapping[str, str], hint: str | None) -> ProtocolError:
    location = headers.get("location", "")
    # Only the host: a redirect to a login page carries the whole request in its query.
    host = location.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2] if location else ""
    target = f"to {one_line(host, 200)!r}" if host else "to another path" if location else "without a location"
    return ProtocolError(
        f"{hint + ': ' if hint else ''}status {status}: the endpoint redirects {target}, which is not followed",
        status=status,
        request_id=request_id_of(headers),
        next_step="Set base_url to the address that the endpoint really has.",
    )


def _status_in(payload: object) -> int | None:
    if isinstance(payload, list):
        return next((found for item in payload if (found := _status_in(item)) is not None), None)
    if not isinstance(payload, Mapping):
        return None
    error = payload.get("error")
    for place in (error, payload):
        if isinstance(place, Mapping):
            for name in _STATUS_MEMBERS:
                value = place.get(name)
                if isinstance(value, str) and _THREE_DIGITS.fullmatch(value):
                    value = int(value)
                if isinstance(value, int) and 400 <= value <= 599:
                    return value
    return None


def _shown(content: bytes, secrets: Secrets) -> str:
    # Masked before it is cut, so that no half of a secret is left at the edge.
    text = without_credentials(content[:16_384].decode("utf-8", "replace"), secrets)
    return one_line(text, _SHOWN) or "the body is empty"


def _masked(value: object, secrets: Secrets) -> object:
    if isinstance(value, str):
        return without_credentials(value, secrets)[:_DETAIL]
    if isinstance(value, Mapping):
        return {
            without_credentials(str(name), secrets): _masked_member(str(name), item, secrets)
            for name, item in value.items()
        }
    if isinstance(value, list):
        return [_masked(item, secrets) for item in value]
    return value


def _masked_member(name: str, value: object, secrets: Secrets) -> object:
    if value is None or isinstance(value, bool) or not is_secret_member(name, number=isinstance(value, int | float)):
        return _masked(value, secrets)
    return MASK
