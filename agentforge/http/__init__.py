"""The one HTTP seam: a transport protocol, two transports, a client with retries, stream decoders, error taxonomy.

Importing this package loads neither httpx nor aiohttp; the transport that is used does, when it is made.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from agentforge.http.address import parse_base_url
from agentforge.http.client import ErrorParser, HttpClient
from agentforge.http.display import is_secret_header, safe_url, without_credentials
from agentforge.http.error_body import ErrorBody, parse_error_body, parse_error_payload
from agentforge.http.error_rules import ErrorRule, reclassed, ruled
from agentforge.http.error_taxonomy import error_from_payload, error_from_response, request_id_of, unexpected_answer
from agentforge.http.factory import TRANSPORTS, make_transport
from agentforge.http.failures import plain_reason
from agentforge.http.httpx_transport import HttpxTransport
from agentforge.http.passage import Gate, Passage, PassageNotice
from agentforge.http.retry import RetryPolicy, parse_retry_after, parse_should_retry
from agentforge.http.sse import SseDecoder, SseEvent
from agentforge.http.transport import HttpRequest, HttpResponse, HttpStream, HttpTimeouts, HttpTransport
from agentforge.later import loaded_later

if TYPE_CHECKING:
    from agentforge.http.aiohttp_transport import AiohttpTransport
    from agentforge.http.circuit import CircuitBreaker, CircuitState
    from agentforge.http.ndjson import NdjsonDecoder
    from agentforge.http.outages import Outages
    from agentforge.http.rate_limit import RateLimit, RateLimiter
    from agentforge.http.retry_budget import RetryBudget

__all__ = (
    "TRANSPORTS",
    "AiohttpTransport",
    "CircuitBreaker",
    "CircuitState",
    "ErrorBody",
    "ErrorParser",
    "ErrorRule",
    "Gate",
    "HttpClient",
    "HttpRequest",
    "HttpResponse",
    "HttpStream",
    "HttpTimeouts",
    "HttpTransport",
    "HttpxTransport",
    "NdjsonDecoder",
    "Outages",
    "Passage",
    "PassageNotice",
    "RateLimit",
    "RateLimiter",
    "RetryBudget",
    "RetryPolicy",
    "SseDecoder",
    "SseEvent",
    "error_from_payload",
    "error_from_response",
    "is_secret_header",
    "make_transport",
    "parse_base_url",
    "parse_error_body",
    "parse_error_payload",
    "parse_retry_after",
    "parse_should_retry",
    "plain_reason",
    "reclassed",
    "request_id_of",
    "ruled",
    "safe_url",
    "unexpected_answer",
    "without_credentials",
)

# What only the settings of a model need.
_HOME = {
    "AiohttpTransport": "aiohttp_transport",
    "CircuitBreaker": "circuit",
    "CircuitState": "circuit",
    "NdjsonDecoder": "ndjson",
    "Outages": "outages",
    "RateLimit": "rate_limit",
    "RateLimiter": "rate_limit",
    "RetryBudget": "retry_budget",
}

__getattr__, __dir__ = loaded_later(globals(), _HOME)

del TYPE_CHECKING, loaded_later  # what is visible here is public
