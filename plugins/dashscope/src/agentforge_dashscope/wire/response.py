"""A plain answer to a `ChatResponse`; and how answers are read as JSON."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from agentforge.errors import ProtocolError
from agentforge.http import request_id_of, unexpected_answer
from agentforge.masking import Secrets
from agentforge.model import ChatResponse, ResponseDone
from agentforge.provider import load, load_mended
from agentforge_dashscope.wire.errors import error_in_answer, holds_error
from agentforge_dashscope.wire.growing import Appended
from agentforge_dashscope.wire.reply import GenerationAnswering, Reply

__all__ = ("decode_response", "no_output", "read_body")

_NO_HEADERS: Mapping[str, str] = {}
_EVENTS = re.compile(rb"(?:\xef\xbb\xbf)?\s*(?:data|event|id|retry)?:")


def decode_response(
    content: bytes,
    answering: GenerationAnswering,
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
) -> ChatResponse:
    """The reply in a body of status 2xx, which may be a stream that nobody asked for.

    Raises `ProtocolError` for what is no answer of this API, and the error that a ``code`` in the body means.
    """
    body, mended = read_body(content)
    if not isinstance(body, dict):
        if _EVENTS.match(content):
            return _joined(content, answering, headers, secrets)
        raise unexpected_answer(200, headers, content, expected="a JSON object", secrets=secrets)
    if holds_error(body):
        raise error_in_answer(body, headers=headers, secrets=secrets)
    reply = Reply(answering, Appended, whole=True)
    reply.mended = mended
    reply.add(body, [])
    if not reply.has_output:
        raise no_output("answer", headers)
    return reply.response(content)


def _joined(
    content: bytes, answering: GenerationAnswering, headers: Mapping[str, str], secrets: Secrets | None
) -> ChatResponse:
    """The reply of a whole stream. What its events hold was not said: everything so far, unless one takes back what
    another said."""
    from agentforge_dashscope.wire.stream import StreamDecoder  # which reads bodies with this module

    responses: list[ChatResponse] = []
    for cumulative in (True, False):
        form = replace(answering, cumulative=cumulative)
        decoder = StreamDecoder(form, headers=headers, secrets=secrets, max_bytes=len(content))
        events = [*decoder.feed(content), *decoder.finish()]
        responses = [event.response for event in events if isinstance(event, ResponseDone)]
        if all(notice.code != "stream_revised" for notice in responses[0].notices):
            break
    return replace(responses[0], raw_body=content)


def read_body(content: bytes) -> tuple[Any, bool]:
    """The value of a body or an event, and whether numbers in it were replaced, as JSON has none like them; ``None``
    for no JSON at all.

    >>> read_body(b'{"cost": NaN}'), read_body(b"<html>")
    (({'cost': None}, True), (None, False))
    """
    try:
        return load(content.decode()), False
    except (ValueError, RecursionError):
        pass
    try:
        return load_mended(content)
    except (ValueError, RecursionError):
        return None, False


def no_output(what: str, headers: Mapping[str, str]) -> ProtocolError:
    """The error for an answer in which the model said nothing at all, not even an empty text."""
    return ProtocolError(
        f"the {what} has no output with a message",
        request_id=request_id_of(headers),
        next_step="Check that base_url points at DashScope's own API; its compatible one is openai.chat.",
    )
