"""The Chat Completions form as a scripted endpoint speaks it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from agentforge.errors import ModelError
from agentforge.model.response import ChatResponse
from agentforge.testing.chat_completions import call_ids_of, characters_in, reply_object, stream_events

__all__ = ("ChatForm",)


class ChatForm:
    """Messages in, choices out. The usage comes last in a stream, where the request asks for it."""

    id_prefix = "chatcmpl-"

    def call_ids(self, body: Mapping[str, Any]) -> Iterator[str]:
        """The ids of all calls in a request's messages."""
        return call_ids_of(body)

    def characters(self, body: Mapping[str, Any]) -> int:
        """The characters of a request's texts and calls, as a scripted model counts them."""
        return characters_in(body)

    def reply(self, response: ChatResponse, body: Mapping[str, Any]) -> dict[str, Any]:
        """The body of a plain answer."""
        return reply_object(response)

    def events(self, response: ChatResponse, body: Mapping[str, Any], error: ModelError | None) -> Iterator[bytes]:
        """The events of a streamed answer; with ``error`` an event that carries it ends them."""
        options = body.get("stream_options")
        include_usage = isinstance(options, Mapping) and options.get("include_usage") is True
        return stream_events(response, include_usage=include_usage, error=error)
