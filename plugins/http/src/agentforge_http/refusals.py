"""What a failed exchange is called: errors whose words are about the API, for the model and for whoever runs it.

Below is the core's HTTP client, whose errors speak of a model's endpoint; here each becomes an error of a tool.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentforge.errors import (
    ConfigurationError,
    ModelError,
    ModelTimeoutError,
    ProtocolError,
    ToolExecutionError,
    ToolInDoubtError,
    ToolTimeoutError,
)
from agentforge_http.body import is_json_type
from agentforge_http.call_secrets import CallSecrets
from agentforge_http.html_words import html_words

__all__ = ("REDIRECTS", "HttpStatusError", "HttpTimeoutError", "StatusRefused", "status_error", "transport_error")

_SHOWN = 2_000  # characters of a body
_HTML_SHOWN = 200
_READ = 16_384  # bytes that are masked before they are cut
REDIRECTS = frozenset({301, 302, 303, 307, 308})
"""The statuses that lead elsewhere."""
_MAY_PASS = frozenset({408, 425, 429, 500, 502, 503, 504})
_STEPS: Mapping[int, str] = {
    401: "Check auth of the bean: is the credential set, whole, and for this API?",
    403: "The credential is known but may not do this: check its rights.",
    404: "Check the address of the tool; or what was asked for is not there.",
    407: "Check proxy of the bean and its credentials.",
}


class HttpStatusError(ToolExecutionError):
    """The API answered with a status that is not 2xx."""

    def __init__(self, message: str, status: int, *, tool: str, location: str, next_step: str | None) -> None:
        super().__init__(message, tool=tool, location=location, next_step=next_step)
        #: The status.
        self.status = status

    def __reduce__(self) -> Any:
        return _status_error_again, (self.message, self.status, self.tool, self.location, self.next_step)


class HttpTimeoutError(ToolTimeoutError, ToolExecutionError):
    """The API did not answer in time, after it had been asked."""

    code = "AF406"


class StatusRefused(ModelError):  # noqa: N818  (stays inside the package)
    """An answer that is not 2xx on its way through the core's client; never leaves the package."""

    def __init__(self, status: int, headers: Mapping[str, str], content: bytes) -> None:
        super().__init__(f"status {status}", status=status)
        self.headers = headers
        self.content = content
        self.retryable = status in _MAY_PASS


def _status_error_again(message: str, status: int, tool: str, location: str, next_step: str | None) -> HttpStatusError:
    return HttpStatusError(message, status, tool=tool, location=location, next_step=next_step)


def status_error(refused: StatusRefused, tool: str, location: str, secrets: CallSecrets) -> HttpStatusError:
    """The error for a status that is not 2xx, with a part of the body, masked; of headers only the wait is told."""
    status = refused.status or 0
    words = _body_words(refused.content, refused.headers.get("content-type", ""), secrets)
    step = _STEPS.get(status)
    if status in REDIRECTS:
        words = _redirect_words(refused.headers)
        step = "Write the address that the API really has; follow_redirects follows within the same origin."
    message = f"the API answered with status {status}"
    if refused.retry_after is not None:
        message += f" (it asks to wait {refused.retry_after:g} s)"
    return HttpStatusError(f"{message}: {words}", status, tool=tool, location=location, next_step=step)


def transport_error(
    error: ModelError | ConfigurationError, tool: str, location: str, host: str, *, reads: bool, limit: int
) -> ToolExecutionError:
    """The error for an exchange without an answer. ``reads``: the tool only reads, so that nothing is in doubt."""
    if isinstance(error, ConfigurationError):
        return ToolExecutionError(error.message, tool=tool, location=location, next_step=error.next_step)
    if isinstance(error, ProtocolError):
        words, step = _protocol_words(error, host, limit)
        kind = ToolExecutionError if reads else ToolInDoubtError
        return kind(words, tool=tool, location=location, next_step=step)
    if not error.sent:
        return ToolExecutionError(error.message, tool=tool, location=location, next_step=error.next_step)
    if isinstance(error, ModelTimeoutError):
        words = f"the API at {host} did not answer in time: {error.message}"
        step = "Raise timeouts of the bean if the API may take longer than this."
        return HttpTimeoutError(words, tool=tool, location=location, next_step=step)
    if reads:
        return ToolExecutionError(error.message, tool=tool, location=location, next_step="Try again.")
    return ToolInDoubtError(
        f"{error.message}; it is not known whether the API acted",
        tool=tool,
        location=location,
        next_step="Look at the API whether it happened before it is tried again.",
    )


def _protocol_words(error: ProtocolError, host: str, limit: int) -> tuple[str, str | None]:
    if "larger than" in error.message:
        return (
            f"the answer of {host} is too large: {error.message}",
            f"Raise max_response_bytes (now {limit:,}) of the bean if the API really sends answers of this size.",
        )
    return error.message.replace("the endpoint", "the API"), error.next_step


def _redirect_words(headers: Mapping[str, str]) -> str:
    location = headers.get("location", "")
    # Only the host: a redirect to a login page carries the whole request in its query.
    host = location.partition("://")[2].partition("/")[0].partition("?")[0].rpartition("@")[2]
    target = f"to {_short(host, 200)!r}" if host else "to another path" if location else "without saying where"
    return f"it redirects {target}, which is not followed"


def _body_words(content: bytes, content_type: str, secrets: CallSecrets) -> str:
    if not content:
        return "the body is empty"
    text = content[:_READ].decode("utf-8", "replace")
    if "\0" in text or text.count("\ufffd") > len(text) // 10:
        return f"{len(content):,} bytes that are no text"
    if "html" in content_type or text.lstrip()[:200].lower().startswith(("<!doctype html", "<html")):
        text, shown = html_words(text), _HTML_SHOWN
    else:
        shown = _SHOWN
        if is_json_type(content_type) or text.lstrip()[:1] in ("{", "["):
            text = _compact(text)
    return _short(secrets.mask_members(text), shown) or "the body is blank"


def _compact(text: str) -> str:
    try:
        return json.dumps(json.loads(text), ensure_ascii=False)
    except (ValueError, RecursionError):
        return text


def _short(text: str, limit: int) -> str:
    text = " ".join(text.split())
    text = "".join(each if each.isprintable() else "\ufffd" for each in text)
    return text if len(text) <= limit else f"{text[: limit - 1]}…"
