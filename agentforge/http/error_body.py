"""The body of a failed answer, read without knowing whose it is.

Providers agree on little: an ``error`` that is an object or a text, a ``detail`` that is a text or a list, a message
at the top, a list that holds one of these, another's error quoted in their own, HTML of a gateway, or nothing. This
reads them all into one value; what the failure means is decided in `agentforge.http.error_taxonomy`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

__all__ = ("ErrorBody", "parse_error_body", "parse_error_payload")

_DETAILS = ("type", "param", "failed_generation", "innererror", "metadata", "details", "content_filter_result")
_MAX_PARSED = 1024 * 1024  # an error that is larger is not read as JSON
_MAX_NESTED = 3  # errors that quote each other
_SECONDS = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)s", re.ASCII)


@dataclass(frozen=True, slots=True)
class ErrorBody:
    """What a provider said: ``message`` (empty when it said nothing), its ``code``, further kinds (``type``), its id
    for the request, the wait in seconds that it asks for, and the other parts of its error as they came. ``quoted`` is
    the error of the provider behind it, which a gateway passed on, and ``behind`` that one's name."""

    message: str = ""
    code: str | None = None
    type: str | None = None
    request_id: str | None = None
    details: Mapping[str, object] = field(default_factory=dict)
    retry_after: float | None = None
    quoted: ErrorBody | None = None
    behind: str = ""

    @property
    def codes(self) -> tuple[str, ...]:
        """Everything that names the kind of failure, lower case; what is quoted last."""
        own = tuple(text.lower() for text in (self.code, self.type) if text)
        return own if self.quoted is None else (*own, *self.quoted.codes)

    @property
    def words(self) -> str:
        """The message, with that of the error that is quoted.

        >>> ErrorBody("Provider returned error", quoted=ErrorBody("no such model"), behind="Acme").words
        'Provider returned error (Acme): no such model'
        """
        if self.quoted is None or not self.quoted.words or self.quoted.words in self.message:
            return self.message
        return f"{self.message}{f' ({self.behind})' if self.behind else ''}: {self.quoted.words}".removeprefix(": ")


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
    return _parse(payload, _MAX_NESTED)


def _parse(payload: object, depth: int) -> ErrorBody | None:
    if isinstance(payload, list):
        for item in payload:
            if isinstance(item, Mapping) and (found := _parse(item, depth)) is not None:
                return found
        return None
    if not isinstance(payload, Mapping):
        return None
    error = payload.get("error")
    if isinstance(error, list):
        return _parse(error, depth)
    if isinstance(error, Mapping):
        return _from_object(error, payload, depth)
    if isinstance(error, str) and error:
        said = payload.get("message")
        return _from_object({**payload, "message": said if isinstance(said, str) and said else error}, payload, depth)
    if detail := payload.get("detail"):
        if isinstance(detail, Mapping):
            return _from_object(detail, payload, depth)
        return _from_object({**payload, "message": _detail_text(detail)}, payload, depth)
    message = payload.get("message")
    if isinstance(message, str) or (isinstance(message, Mapping) and message.get("detail")):
        found = _from_object(payload, payload, depth)
        # Where nothing else stands around the message, the id beside it is the request's.
        return found if found.request_id else replace(found, request_id=_text(payload.get("id")))
    return None


def _from_object(error: Mapping[str, object], payload: Mapping[str, object], depth: int) -> ErrorBody:
    message = error.get("message") or error.get("msg") or error.get("detail") or ""
    if isinstance(message, Mapping) and message.get("detail"):
        message = _detail_text(message["detail"])
    code, kind = _text(error.get("code")), _text(error.get("type"))
    kind = kind or _text(error.get("error_type"))
    if code is None or code.isdigit():
        # A number only repeats the status; the words of the other members say more.
        code = _text(error.get("status")) or kind or code
    details = {name: error[name] for name in _DETAILS if error.get(name)}
    request_id = _text(payload.get("request_id")) or _text(error.get("request_id"))
    quoted, behind = _quoted(error.get("metadata"), depth)
    return ErrorBody(
        message if isinstance(message, str) else _compact(message),
        code,
        kind,
        request_id,
        details,
        _wait_in(error.get("details")),
        quoted,
        behind,
    )


def _quoted(metadata: object, depth: int) -> tuple[ErrorBody | None, str]:
    """The error of the provider behind a gateway, as its JSON or its words, and that provider's name."""
    raw = metadata.get("raw") if isinstance(metadata, Mapping) else None
    if not raw or not isinstance(metadata, Mapping) or not depth:
        return None, ""
    behind = metadata.get("provider_name")
    found: ErrorBody | None = None
    if not isinstance(raw, str):
        found = _parse(raw, depth - 1)
    elif len(raw) <= _MAX_PARSED:
        try:
            found = _parse(json.loads(raw), depth - 1)
        except (ValueError, RecursionError):
            found = ErrorBody(raw)
    return found, behind if isinstance(behind, str) else ""


def _wait_in(details: object) -> float | None:
    """The wait that one of the details names as a duration, such as ``"31s"``."""
    for item in details if isinstance(details, list) else ():
        delay = item.get("retryDelay") if isinstance(item, Mapping) else None
        if isinstance(delay, str) and (found := _SECONDS.fullmatch(delay)):
            return float(found[1]) or None
    return None


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
