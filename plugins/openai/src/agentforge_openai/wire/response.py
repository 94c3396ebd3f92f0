"""A plain answer to a `ChatResponse`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agentforge.errors import ProtocolError
from agentforge.http import request_id_of, unexpected_answer
from agentforge.masking import Secrets
from agentforge.model import ChatResponse
from agentforge_openai.wire.calls import CallCollector
from agentforge_openai.wire.errors import error_in_answer, holds_error
from agentforge_openai.wire.reply import Answering, Reply, whole_call

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

    Raises `ProtocolError` for what is no Chat Completions answer, and the error that an ``error`` in the body means.
    """
    body = _object(content, headers, secrets)
    if holds_error(body):
        raise error_in_answer(body, headers=headers, secrets=secrets)
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ProtocolError(
            "the answer has no choices with a message",
            request_id=request_id_of(headers),
            next_step="Check that base_url points at a Chat Completions API.",
        )
    if holds_error(choice):
        raise error_in_answer(choice, headers=headers, secrets=secrets)
    reply = Reply()
    reply.add_identity(body)
    if not reply.add_usage(body):
        groq = body.get("x_groq")
        reply.add_usage(groq if isinstance(groq, dict) else None, choice)
    reply.finish_word = word if isinstance(word := choice.get("finish_reason"), str) else None
    reply.add_reasoning(message, whole=True)
    _content(message, reply)
    _calls(message, reply, answering)
    reply.add_extras(message)
    return reply.response(answering, raw_body=content)


def _object(content: bytes, headers: Mapping[str, str], secrets: Secrets | None) -> dict[str, Any]:
    try:
        body = json.loads(content)
    except (ValueError, RecursionError):
        body = None
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    if not isinstance(body, dict):
        raise unexpected_answer(200, headers, content, expected="a JSON object", secrets=secrets)
    return body


def _content(message: Mapping[str, Any], reply: Reply) -> None:
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, str):
        if content:
            reply.texts.append(content)
    elif isinstance(content, list):
        reply.add_parts(content)
    if isinstance(refusal, str) and refusal:
        reply.refusal.append(refusal)


def _calls(message: Mapping[str, Any], reply: Reply, answering: Answering) -> None:
    items = message.get("tool_calls")
    old = message.get("function_call")
    if not items and isinstance(old, dict) and old.get("name"):
        items = [{"function": old}]
    if isinstance(items, list):
        for item in items:
            if isinstance(item, dict):
                if (plain := whole_call(item)) is not None:
                    reply.calls.append(plain)
                    continue
                # Each item of a whole reply is a call of its own, whatever its id or index says.
                one = CallCollector([], splits_names=answering.splits_names)
                one.add(item)
                reply.calls += one.calls
