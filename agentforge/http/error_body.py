"""The body of a failed answer, read without knowing whose it is.

Providers agree on little: an ``error`` that is an object or a text, a ``detail`` that is a text or a list, a message
at the top, a list that holds one of these, HTML of a gateway, or nothing. This reads them all into one value; what the
failure means is decided in `agentforge.http.error_taxonomy`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

__all__ = ("ErrorBody", "parse_error_body", "parse_error_payload")

_DETAILS = ("type", "param", "failed_generation", "innererror", "metadata", "details", "content_filter_result")
_MAX_PARSED = 1024 * 1024  # an error that is larger is not read as JSON


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What a provider said: ``message`` (empty when it said nothing), its ``code``, further kinds (``type``), its id
    for the request, and the other parts of its error as they came."""

    message: str = ""
    code: str | None = None
    type: str | None = None
    request_id: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def codes(self) -> tuple[str, ...]:
        """Everything that names the kind of failure, lower case."""
        return tuple(text.lower() for text in (self.code, self.type) if text)


def parse_error_body(content: bytes) -> ErrorBody | None:
    """The error in a body; ``None`` when it holds none that is understood (HTML, plain text, empty)."""
    if not content.strip() or len(content) > _MAX_PARSED:
        return None
    try:
        payload = json.loads(content)
    except (ValueError, RecursionError):
        return None
    return parse_error_payload(payload)


def parse_error_payload(payload: object) -> ErrorBody | None:
    """The error in decoded JSON: a body, or an event of a stream. ``None`` when there is none.

    >>> parse_error_payload({"error": {"message": "no such model", "code": "model_not_found"}}).code
    'model_not_found'
    >>> parse_error_payload({"detail": [{"loc": ["body", "model"], "msg": "field required"}]}).message
    'body.model: field required'
    """
    if isinstance(payload, list):
        for item in payload:
            if isinstance(item, Mapping) and (found := parse_error_payload(item)) is not None:
                return found
        return None
    if not isinstance(payload, Mapping):
        return None
    error = payload.get("error")
    if isinstance(error, list):
        return parse_error_payload(error)
    if isinstance(error, Mapping):
        return _from_object(error, payload)
    if isinstance(error, str) and error:
        return _from_object({**payload, "message": payload.get("message") or error}, payload)
    if detail := payload.get("detail"):
        if isinstance(detail, Mapping):
            return _from_object(detail, payload)
        return _from_object({**payload, "message": _detail_text(detail)}, payload)
    if isinstance(payload.get("message"), str):
        return _from_object(payload, payload)
    return None


def _from_object(error: Mapping[str, object], payload: Mapping[str, object]) -> ErrorBody:
    message = error.get("message") or error.get("msg") or error.get("detail") or ""
    code, kind = _text(error.get("code")), _text(error.get("type"))
    kind = kind or _text(error.get("error_type"))
    if code is None or code.isdigit():
        # A number only repeats the status; the words of the other members say more.
        code = _text(error.get("status")) or kind or code
    details = {name: error[name] for name in _DETAILS if error.get(name)}
    request_id = _text(payload.get("request_id")) or _text(error.get("request_id"))
    return ErrorBody(message if isinstance(message, str) else _compact(message), code, kind, request_id, details)


def _detail_text(detail: object) -> str:
    if isinstance(detail, str):
        return detail
    if not isinstance(detail, list):
        return _compact(detail)
    parts: list[str] = []
    for item in detail:
        if isinstance(item, Mapping) and isinstance(text := item.get("msg") or item.get("message"), str):
            place = item.get("loc")
            dotted = ".".join(str(step) for step in place) if isinstance(place, list) else ""
            parts.append(f"{dotted}: {text}" if dotted else text)
        else:
            parts.append(item if isinstance(item, str) else _compact(item))
    return "; ".join(parts)


def _text(value: object) -> str | None:
    if isinstance(value, bool) or value is None:
        return None
    return str(value) if isinstance(value, str | int) and value != "" else None


def _compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, default=str)
