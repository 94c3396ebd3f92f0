"""A plain answer to a `ChatResponse`; and how answers are read as JSON, whatever their form."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agentforge.errors import ProtocolError
from agentforge.http import request_id_of, unexpected_answer
from agentforge.masking import Secrets
from agentforge.model import ChatResponse
from agentforge.provider import load, load_mended
from agentforge_openai.wire.calls import CallCollector
from agentforge_openai.wire.errors import error_in_answer, holds_error
from agentforge_openai.wire.reply import ChatAnswering, Reply, first_choice, whole_call

__all__ = ("decode_response", "read_body", "read_mended")

_NO_HEADERS: Mapping[str, str] = {}


def decode_response(
    content: bytes,
    answering: ChatAnswering,
    *,
    headers: Mapping[str, str] = _NO_HEADERS,
    secrets: Secrets | None = None,
) -> ChatResponse:
    """The reply in a body of status 2xx.

    Raises `ProtocolError` for what is no Chat Completions answer, and the error that an ``error`` in the body means.
    """
    body, mended = read_body(content)
    if isinstance(body, list) and len(body) == 1:
        body = body[0]
    if not isinstance(body, dict):
        raise unexpected_answer(200, headers, content, expected="a JSON object", secrets=secrets)
    if holds_error(body):
        raise error_in_answer(body, headers=headers, secrets=secrets)
    choices = body.get("choices")
    choice = first_choice(choices)
    message = choice.get("message") if choice is not None else None
    if choice is None or not isinstance(message, dict):
        raise ProtocolError(
            "the answer has no choices with a message",
            request_id=request_id_of(headers),
            next_step="Check that base_url points at a Chat Completions API.",
        )
    if choice.get("error"):
        raise error_in_answer(choice, headers=headers, secrets=secrets)
    reply = Reply()
    reply.mended = mended
    reply.add_identity(body)
    if not reply.add_usage(body):
        groq = body.get("x_groq")
        reply.add_usage(groq if isinstance(groq, dict) else None, choice)
    reply.finish_word = word if isinstance(word := choice.get("finish_reason"), str) else None
    reply.add_reasoning(message, whole=True)
    _content(message, reply)
    _calls(message, reply, answering)
    reply.add_extras(message)
    reply.add_sources(message)
    reply.add_source_lists(body)
    return reply.response(answering, raw_body=content)


def _content(message: Mapping[str, Any], reply: Reply) -> None:
    content, refusal = message.get("content"), message.get("refusal")
    if isinstance(content, str):
        if content:
            reply.texts.append(content)
    elif isinstance(content, list):
        reply.add_parts(content, whole=True)
    if isinstance(refusal, str) and refusal:
        reply.refusal.append(refusal)


def _calls(message: Mapping[str, Any], reply: Reply, answering: ChatAnswering) -> None:
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


def read_body(content: bytes) -> tuple[Any, bool]:
    """The value of a plain answer's body, and whether numbers in it were replaced; ``None`` for no JSON at all."""
    try:
        return load(content.decode()), False
    except (ValueError, RecursionError):
        return read_mended(content)


def read_mended(content: bytes | str) -> tuple[Any, bool]:
    """What could not be read strictly: another encoding, or numbers that are none, which become null, and whether
    there was one; ``None`` for no JSON at all.

    >>> read_mended('{"cost": NaN}'), read_mended("<html>")
    (({'cost': None}, True), (None, False))
    """
    try:
        return load_mended(content)
    except (ValueError, RecursionError):
        return None, False
