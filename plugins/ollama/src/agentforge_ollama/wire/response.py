"""A plain answer to a `ChatResponse`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agentforge.errors import ProtocolError
from agentforge.http import request_id_of, unexpected_answer
from agentforge.masking import Secrets
from agentforge.model import ChatResponse, ResponseDone
from agentforge.provider import Answering
from agentforge_ollama.wire.errors import error_in_answer, holds_error
from agentforge_ollama.wire.reading import read_object
from agentforge_ollama.wire.reply import Reply

__all__ = ("decode_response", "no_message")

_NO_HEADERS: Mapping[str, str] = {}


def decode_response(
    content: bytes,
    answering: Answering,
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
) -> ChatResponse:
    """The reply in a body of status 2xx, which may be a stream that nobody asked for.

    Raises `ProtocolError` for what is no chat answer or not a whole one, and the error that an ``error`` in the body
    means.
    """
    body, mended = read_object(content)
    if body is None:
        first, _, more = content.strip().partition(b"\n")
        if more and read_object(first)[0] is not None:
            return _joined(content, answering, headers, secrets)
        raise unexpected_answer(200, headers, content, expected="a JSON object", secrets=secrets)
    if holds_error(body):
        raise error_in_answer(body, headers=headers, secrets=secrets)
    message = body.get("message")
    if not isinstance(message, dict):
        raise no_message(headers)
    if body.get("done") is False:
        raise ProtocolError(
            "the answer is only the beginning of one: its 'done' is false",
            request_id=request_id_of(headers),
            next_step="Look for a proxy that cuts answers.",
        )
    reply = Reply(answering)
    reply.mended = mended
    if isinstance(model := body.get("model"), str):
        reply.model = model
    for pieces, text in ((reply.thinking, message.get("thinking")), (reply.texts, message.get("content"))):
        if isinstance(text, str) and text:
            pieces.append(text)
    reply.add_calls(message.get("tool_calls"))
    reply.add_end(body)
    return reply.response(raw_body=content)


def no_message(headers: Mapping[str, str]) -> ProtocolError:
    """The error for an answer of something else."""
    return ProtocolError(
        "the answer has no message",
        request_id=request_id_of(headers),
        next_step="Check that base_url points at Ollama's own API; its OpenAI form is for openai.chat.",
    )


def _joined(content: bytes, answering: Answering, headers: Mapping[str, str], secrets: Secrets | None) -> ChatResponse:
    from agentforge_ollama.wire.stream import StreamDecoder  # which reads whole answers with this module

    decoder = StreamDecoder(answering, headers=headers, secrets=secrets, max_bytes=len(content))
    done = [*decoder.feed(content), *decoder.finish()][-1]
    assert isinstance(done, ResponseDone)
    return replace(done.response, raw_body=content)
