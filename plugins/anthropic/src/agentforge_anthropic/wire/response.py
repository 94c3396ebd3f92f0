"""A plain answer to a `ChatResponse`."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.errors import ProtocolError
from agentforge.http import request_id_of, unexpected_answer
from agentforge.masking import Secrets
from agentforge.model import ChatResponse
from agentforge.provider import Answering
from agentforge_anthropic.wire.errors import error_in_answer, holds_error
from agentforge_anthropic.wire.reading import read_object
from agentforge_anthropic.wire.reply import Reply

__all__ = ("decode_response",)

_NO_HEADERS: Mapping[str, str] = {}


def decode_response(
    content: bytes,
    answering: Answering,
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
) -> ChatResponse:
    """The reply in a body of status 2xx.

    Raises `ProtocolError` for what is no Messages answer, and the error that a body of type ``error`` means.
    """
    body, mended = read_object(content)
    if body is None:
        raise unexpected_answer(200, headers, content, expected="a JSON object", secrets=secrets)
    if holds_error(body):
        raise error_in_answer(body, headers=headers, secrets=secrets)
    blocks = body.get("content")
    if not isinstance(blocks, list):
        raise ProtocolError(
            "the answer has no content",
            request_id=request_id_of(headers),
            next_step="Check that base_url points at a Messages API.",
        )
    reply = Reply(answering)
    reply.mended = mended
    reply.add_head(body)
    for block in blocks:
        if isinstance(block, dict):
            reply.open(block)
    return reply.response(raw_body=content)
