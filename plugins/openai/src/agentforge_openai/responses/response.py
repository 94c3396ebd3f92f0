"""A plain answer to a `ChatResponse`."""

from __future__ import annotations

from collections.abc import Mapping

from agentforge.errors import ProtocolError
from agentforge.http import request_id_of, unexpected_answer
from agentforge.masking import Secrets
from agentforge.model import ChatResponse
from agentforge_openai.responses.errors import error_of, holds_error
from agentforge_openai.responses.reply import Reply, ResponsesAnswering
from agentforge_openai.wire.response import read_body

__all__ = ("decode_response",)

_NO_HEADERS: Mapping[str, str] = {}


def decode_response(
    content: bytes,
    answering: ResponsesAnswering,
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
) -> ChatResponse:
    """The reply in a body of status 2xx.

    Raises `ProtocolError` for what is no answer of this form, and the error that a failed response means.
    """
    body, mended = read_body(content)
    if not isinstance(body, dict):
        raise unexpected_answer(200, headers, content, expected="a JSON object", secrets=secrets)
    if holds_error(body):
        raise error_of(body, headers=headers, secrets=secrets)
    if not isinstance(body.get("output"), list):
        raise ProtocolError(
            "the answer has no list of output items",
            request_id=request_id_of(headers),
            next_step="Check that base_url points at a Responses API; for Chat Completions use openai.chat.",
        )
    reply = Reply(answering)
    reply.mended = mended
    reply.add_body(body)
    reply.add_output()
    return reply.response(raw_body=content)
