"""A plain answer to a `ChatResponse`."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.errors import ProtocolError, StreamTruncatedError
from agentforge.http import request_id_of, unexpected_answer
from agentforge.masking import Secrets
from agentforge.model import ChatEvent, ChatResponse
from agentforge.provider import Answering
from agentforge_gemini.wire.errors import error_in_answer, holds_error
from agentforge_gemini.wire.reading import read_json
from agentforge_gemini.wire.reply import Reply

__all__ = ("decode_response",)

_NO_HEADERS: Mapping[str, str] = {}


def decode_response(
    content: bytes,
    answering: Answering,
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
) -> ChatResponse:
    """The reply in a body of status 2xx: one object, or the list of them that a stream is without events.

    Raises `ProtocolError` for what is no answer of this form, the error that a body with ``error`` means, and
    `StreamTruncatedError` for a list without an end.
    """
    body, mended = read_json(content)
    found = body if isinstance(body, list) else [body]
    if not found or not all(isinstance(each, dict) for each in found):
        raise unexpected_answer(200, headers, content, expected="a JSON object", secrets=secrets)
    reply = Reply(answering)
    reply.mended = mended
    shown: list[ChatEvent] = []  # a plain reply shows nothing before it is whole
    for each in found:
        if holds_error(each):
            raise error_in_answer(each, headers=headers, secrets=secrets, partial_text=reply.text)
        reply.take(each, shown)
    if not reply.has_begun:
        raise ProtocolError(
            "the answer has no candidates, and no reason why",
            request_id=request_id_of(headers),
            next_step="Check that base_url points at a Gemini API.",
        )
    if isinstance(body, list) and not reply.has_ended:
        raise StreamTruncatedError(
            "the list of answers ended before the reply did: no finishReason",
            partial_text=reply.text,
            request_id=request_id_of(headers),
        )
    reply.end(shown)
    return reply.response(raw_body=content)
