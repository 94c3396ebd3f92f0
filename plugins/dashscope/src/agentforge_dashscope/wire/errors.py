"""Errors of this API: flat objects of ``code``, ``message`` and ``request_id``, in the body of a failed answer, in an
event of a stream under status 200, or in a failed answer that is such an event."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.http import error_from_payload, error_from_response
from agentforge.masking import Secrets

__all__ = ("error_in_answer", "holds_error", "parse_error")

_NO_HEADERS: Mapping[str, str] = {}
_GOOD = ("", "200", "success")
_DATA = re.compile(rb"^data: ?(\{.*)$", re.MULTILINE)


def holds_error(body: Mapping[str, object]) -> bool:
    """Whether a body or event of status 200 is a failure: it has an ``error``, or a code beside no answer, or a message
    alone.

    >>> holds_error({"code": "InvalidApiKey", "message": "no"}), holds_error({"code": "", "output": {}})
    (True, False)
    """
    if body.get("error"):
        return True
    output = body.get("output")
    if isinstance(output, Mapping) and (output.get("choices") or output.get("text")):
        return False
    code, message = body.get("code"), body.get("message")
    if isinstance(code, str) and code.lower() not in _GOOD:
        return True
    return isinstance(message, str) and bool(message) and not output and not body.get("usage")


def error_in_answer(
    body: Mapping[str, Any],
    *,
    status: int | None = None,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
    partial_text: str = "",
) -> ModelError:
    """The error that a body or event of status 200 means; ``status`` is the one that it names itself, else the code's
    own."""
    from agentforge_dashscope.wire.error_rules import RULES, status_of  # only what failed needs them

    inner = body.get("error")
    code = (inner if isinstance(inner, Mapping) else body).get("code")
    if status is None and isinstance(code, str):
        status = status_of(code)
    error = error_from_payload(body, status=status, headers=headers, secrets=secrets, rules=RULES)
    if error is None:
        error = ModelError("the answer holds an error without any detail", status=status)
    if partial_text:
        error.details = {**error.details, "partial_text": partial_text}
    return error


def parse_error(
    status: int, headers: Mapping[str, str], content: bytes, *, secrets: Secrets | None = None
) -> ModelError:
    """The error of a failed answer, in the taxonomy of `agentforge.errors`; what a streamed request failed with may be
    an event."""
    from agentforge_dashscope.wire.error_rules import RULES

    if content.lstrip()[:1] != b"{" and (event := _DATA.search(content)):
        content = event[1]
    return error_from_response(status, headers, content, secrets=secrets, rules=RULES)
